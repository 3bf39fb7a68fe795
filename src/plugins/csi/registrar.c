/* The registration of one socket: its calls and its state machine (registration.h).
 *
 * Invariants: at most one call is in flight per socket; between calls it waits for API objects, for its
 * delay, or for a change of the socket. The table contains a driver from `describing` until it leaves. */
#include "plugins/csi/registration_int.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/reach.h"

#define GET_INFO_LIMIT_NS (1 * NS_PER_S)
#define NOTIFY_LIMIT_NS (5 * NS_PER_S)
#define BACKOFF_NS (500 * NS_PER_MS)
#define BACKOFF_NS_MAX (122 * NS_PER_S)
/* Of configured drivers: no event tells when they appear. */
#define CONFIGURED_BACKOFF_NS_MAX (5 * NS_PER_S)
#define CONFIGURED_VERSION "1.0.0"

static void begin_refuse(struct registrar *registrar);
static void forget_driver(struct registrar *registrar);

void csi_report_failure(const struct csi_registration *g, const char *about, const char *what)
{
    char message[ERROR_MSG_BYTES_MAX + 2048];

    if (!g->o.complain)
        return;
    (void)snprintf(message, sizeof message, "%s: %s", about, what);
    g->o.complain(g->o.ctx, message);
}

/* --- States --- */

/* Schedules a pass over all registrars, because one of them may wait for this. */
static void set_state(struct registrar *registrar, enum registrar_state next)
{
    reach_move(REACH_REGISTRAR, REGISTRAR_STATE_COUNT, registrar->state, next);
    registrar->state = next;
    loop_defer(&registrar->owner->pump);
}

void csi_retry_later(struct timer *t, uint64_t *backoff_ns, uint64_t first_ns, uint64_t max_ns)
{
    *backoff_ns = *backoff_ns ? *backoff_ns * 2 : first_ns;
    if (*backoff_ns > max_ns)
        *backoff_ns = max_ns;
    timer_arm_after(t, *backoff_ns);
}

static void retry_registrar(struct registrar *registrar)
{
    csi_retry_later(&registrar->retry, &registrar->backoff_ns, BACKOFF_NS,
                    registrar->configured ? CONFIGURED_BACKOFF_NS_MAX : BACKOFF_NS_MAX);
}

static void enter_idle_after_failure(struct registrar *registrar)
{
    retry_registrar(registrar);
    set_state(registrar, REGISTRAR_IDLE);
}

static void drop_info(struct registrar *registrar)
{
    if (registrar->info)
        protobuf_c_message_free_unpacked(&registrar->info->base, NULL);
    registrar->info = NULL;
}

bool registrar_has_other(const struct registrar *registrar)
{
    for (size_t i = 0; i < registrar->owner->all.count; i++) {
        const struct registrar *y = registrar->owner->all.items[i];
        if (y != registrar && strcmp(y->driver, registrar->driver) == 0)
            return true;
    }
    return false;
}

/* --- Calls --- */

static void on_call(struct rpc_call *call, const struct rpc_result *result);

/* refusal: the error of a notification; NULL: success. */
static int call_begin(struct registrar *registrar, enum csi_method method, const char *socket,
                      uint64_t limit_ns, const char *refusal, struct error *err)
{
    Csi__V1__Nothing nothing = CSI__V1__NOTHING__INIT;
    Pluginregistration__RegistrationStatus status;
    const ProtobufCMessage *request = &nothing.base;

    if (method == CSI_REGISTRATION_NOTIFY) {
        pluginregistration__registration_status__init(&status);
        status.plugin_registered = !refusal;
        status.error = (char *)(uintptr_t)(refusal ? refusal : "");
        request = &status.base;
    }
    registrar->method = method;
    registrar->call.done = on_call;
    return csi_call_start(registrar->owner->o.rpc, method, socket, limit_ns, request, &registrar->call, err);
}

/* --- Steps: each starts a call and sets the state --- */

void registrar_ask(struct registrar *registrar)
{
    struct error err = { 0 };

    registrar->served = registrar->current;
    if (call_begin(registrar, registrar->configured ? CSI_IDENTITY_INFO : CSI_REGISTRATION_INFO,
                   registrar->path, GET_INFO_LIMIT_NS, NULL, &err) < 0) {
        csi_report_failure(registrar->owner, registrar->path, err.msg);
        enter_idle_after_failure(registrar);
        return;
    }
    set_state(registrar, REGISTRAR_ASKING);
}

/* A registered driver stays registered: only the refresh of its data failed. */
static void fail_registration(struct registrar *registrar, const char *why)
{
    (void)snprintf(registrar->refusal, sizeof registrar->refusal,
                   "RegisterPlugin error -- plugin registration failed with err: %s", why);
    drop_info(registrar);
    if (!registrar->is_notified) { /* removes the driver and its API objects */
        forget_driver(registrar);
        set_state(registrar, REGISTRAR_UNDOING);
        return;
    }
    if (!registrar->configured || rpc_watch_is_active(&registrar->watch)) /* else it is not running */
        csi_report_failure(registrar->owner, registrar->path, why);
    set_state(registrar, REGISTRAR_REGISTERED);
}

void registrar_describe(struct registrar *registrar)
{
    struct error err = { 0 };

    if (call_begin(registrar, CSI_NODE_INFO, registrar->endpoint, CSI_CALL_LIMIT_NS, NULL, &err) < 0)
        fail_registration(registrar, err.msg);
    else
        set_state(registrar, REGISTRAR_DESCRIBING);
}

/* Removes the driver from the table. Another socket of the same driver registers again, because the table has
 * one entry per driver. */
static void forget_driver(struct registrar *registrar)
{
    struct csi_registration *g = registrar->owner;

    csi_drivers_remove(g->o.drivers, registrar->driver);
    for (size_t i = 0; i < g->all.count; i++) {
        struct registrar *y = g->all.items[i];
        if (y != registrar && strcmp(y->driver, registrar->driver) == 0)
            y->must_restart = true;
    }
}

void registrar_leave(struct registrar *registrar)
{
    struct csi_registration *g = registrar->owner;

    forget_driver(registrar);
    if (g->o.on_change && registrar->is_notified)
        g->o.on_change(g->o.ctx, registrar->driver, false);
    registrar->is_notified = registrar->must_restart = registrar->is_watched = false;
    rpc_watch_stop(&registrar->watch);
    set_state(registrar, REGISTRAR_LEAVING);
}

static void on_confirmed(struct registrar *registrar, int r);

static void begin_confirm(struct registrar *registrar)
{
    struct error err = { 0 };

    if (registrar->configured)
        on_confirmed(registrar, 0); /* nobody to notify */
    else if (call_begin(registrar, CSI_REGISTRATION_NOTIFY, registrar->path, NOTIFY_LIMIT_NS, NULL, &err) < 0)
        registrar_leave(registrar);
    else
        set_state(registrar, REGISTRAR_CONFIRMING);
}

/* The driver is queried again later, whether it gets this notification or not. */
static void begin_refuse(struct registrar *registrar)
{
    struct error err = { 0 };

    csi_report_failure(registrar->owner, registrar->path, registrar->refusal);
    if (registrar->configured)
        enter_idle_after_failure(registrar); /* nobody to notify */
    else if (call_begin(registrar, CSI_REGISTRATION_NOTIFY, registrar->path, NOTIFY_LIMIT_NS,
                        registrar->refusal, &err) < 0)
        enter_idle_after_failure(registrar);
    else
        set_state(registrar, REGISTRAR_REFUSING);
}

/* --- Results of calls --- */

static int take_in(struct registrar *registrar, const char *name, const char *endpoint, struct texts versions,
                   struct error *err)
{
    struct csi_drivers *drivers = registrar->owner->o.drivers;
    struct csi_version version;
    int r = csi_drivers_check(drivers, "ValidatePlugin", name, versions, &version, err);

    if (r < 0)
        return r;
    (void)snprintf(registrar->endpoint, sizeof registrar->endpoint, "%s",
                   endpoint[0] ? endpoint : registrar->path);
    r = csi_drivers_put(drivers, name, registrar->endpoint, version, err);
    if (r == 0)
        (void)snprintf(registrar->driver, sizeof registrar->driver, "%s", name);
    return r;
}

static void go_on_asked(struct registrar *registrar, int r, const struct error *err)
{
    if (r == 0) {
        registrar_describe(registrar);
        return;
    }
    (void)snprintf(registrar->refusal, sizeof registrar->refusal,
                   "RegisterPlugin error -- plugin validation failed with err: %s", err->msg);
    begin_refuse(registrar);
}

static void on_identified(struct registrar *registrar, const Csi__V1__GetPluginInfoResponse *m)
{
    static const char *const versions[] = { CONFIGURED_VERSION };
    const char *expected = registrar->configured->driver;
    struct error err = { 0 };
    int r = 0;

    if (strcmp(m->name, expected) != 0)
        r = error_set(&err, ERR_INVALID, "the driver reports the name \"%.64s\", expected \"%s\"", m->name,
                      expected);
    if (r == 0)
        r = take_in(registrar, m->name, "", (struct texts){ versions, ARRAY_LEN(versions) }, &err);
    go_on_asked(registrar, r, &err);
}

static void on_asked(struct registrar *registrar, const Pluginregistration__PluginInfo *m)
{
    const struct texts versions = { (const char *const *)m->supported_versions,
                                    (uint32_t)m->n_supported_versions };
    struct error err = { 0 };

    if (strcmp(m->type, "CSIPlugin") != 0) {
        (void)snprintf(registrar->refusal, sizeof registrar->refusal,
                       "RegisterPlugin error -- no handler registered for plugin type: %.64s at socket %s",
                       m->type, registrar->path);
        begin_refuse(registrar);
    } else {
        go_on_asked(registrar, take_in(registrar, m->name, m->endpoint, versions, &err), &err);
    }
}

static void on_confirmed(struct registrar *registrar, int r)
{
    struct csi_registration *g = registrar->owner;

    if (r < 0) {
        registrar->backoff_ns =
            registrar->backoff_ns ? registrar->backoff_ns : BACKOFF_NS / 2; /* doubled when it has left */
        registrar_leave(registrar);
        return;
    }
    registrar->backoff_ns = 0;
    registrar->is_notified = true;
    set_state(registrar, REGISTRAR_REGISTERED);
    if (g->o.on_change)
        g->o.on_change(g->o.ctx, registrar->driver, true);
}

static void on_call(struct rpc_call *call, const struct rpc_result *result)
{
    struct registrar *registrar = CONTAINER_OF(call, struct registrar, call);
    _cleanup_(rpc_message_free) ProtobufCMessage *answer = NULL;
    struct error err = *result->err;
    int r = result->r;

    if (r == 0)
        r = csi_answer_read(registrar->method, result->message, &answer, &err);
    if (registrar->state == REGISTRAR_ASKING && r == 0 && registrar->configured) {
        on_identified(registrar, (const Csi__V1__GetPluginInfoResponse *)(const void *)answer);
    } else if (registrar->state == REGISTRAR_ASKING && r == 0) {
        on_asked(registrar, (const Pluginregistration__PluginInfo *)(const void *)answer);
    } else if (registrar->state == REGISTRAR_ASKING) {
        csi_report_failure(registrar->owner, registrar->path, err.msg);
        enter_idle_after_failure(registrar);
    } else if (registrar->state == REGISTRAR_DESCRIBING && r == 0) {
        registrar->info = (Csi__V1__NodeGetInfoResponse *)(void *)TAKE(answer);
        if (registrar->info->max_volumes_per_node < 0)
            csi_report_failure(registrar->owner, registrar->driver, "reported volume limit is negative");
        set_state(registrar, REGISTRAR_INSTALLING);
    } else if (registrar->state == REGISTRAR_DESCRIBING) {
        fail_registration(registrar, err.msg);
    } else if (registrar->state == REGISTRAR_CONFIRMING) {
        on_confirmed(registrar, r);
    } else {
        assert(registrar->state == REGISTRAR_REFUSING);
        enter_idle_after_failure(registrar);
    }
}

/* --- API objects --- */

static void on_left(struct registrar *registrar, int r, const struct error *err)
{
    if (r < 0 && !registrar->socket_exists) {
        csi_report_failure(registrar->owner, registrar->path, err->msg);
        retry_registrar(registrar);
        return;
    }
    registrar->driver[0] = '\0';
    if (registrar->socket_exists && socket_id_is_same(&registrar->current, &registrar->served) &&
        registrar->backoff_ns)
        retry_registrar(registrar); /* the API objects could not be updated */
    set_state(registrar, REGISTRAR_IDLE);
}

void registrar_on_installed(struct registrar *registrar, int r, const struct error *err)
{
    if (registrar->state == REGISTRAR_UNDOING) {
        /* The failure is already reported; leftover API objects are the same as before. */
        registrar->driver[0] = '\0';
        begin_refuse(registrar);
    } else if (registrar->state == REGISTRAR_LEAVING) {
        on_left(registrar, r, err);
    } else if (r < 0) {
        assert(registrar->state == REGISTRAR_INSTALLING);
        fail_registration(registrar, err->msg);
    } else if (registrar->is_notified) { /* the data of a registered driver was refreshed */
        registrar->backoff_ns = 0;
        drop_info(registrar);
        set_state(registrar, REGISTRAR_REGISTERED);
    } else {
        drop_info(registrar);
        begin_confirm(registrar);
    }
}

/* --- Lifecycle --- */

static void on_retry(void *ctx)
{
    struct registrar *registrar = ctx;

    loop_defer(&registrar->owner->pump);
}

static void on_session_ended(struct rpc_watch *w, const char *why)
{
    struct registrar *registrar = CONTAINER_OF(w, struct registrar, watch);

    (void)why; /* of a driver that stays registered */
    retry_registrar(registrar);
}

void registrar_reconnect(struct registrar *registrar)
{
    struct error err = { 0 };

    registrar->watch.ended = on_session_ended;
    if (rpc_watch_start(registrar->owner->o.rpc, registrar->endpoint, &registrar->watch, &err) < 0) {
        csi_report_failure(registrar->owner, registrar->path, err.msg);
        retry_registrar(registrar);
    } else if (registrar->is_watched) {
        registrar_describe(registrar);
    }
    registrar->is_watched = true;
}

struct registrar *registrar_new(struct csi_registration *g, const char *path,
                                const struct csi_configured_driver *configured)
{
    size_t len = strlen(path) + 1;
    struct registrar *registrar = calloc(1, sizeof *registrar + len);

    if (!registrar)
        return NULL;
    registrar->owner = g;
    memcpy(registrar->path, path, len);
    registrar->configured = configured;
    registrar->socket_exists = configured != NULL;
    timer_init(&registrar->retry, g->o.loop, on_retry, registrar);
    return registrar;
}

struct registrar *registrar_free(struct registrar *registrar)
{
    if (!registrar)
        return NULL;
    rpc_call_cancel(&registrar->call);
    rpc_watch_stop(&registrar->watch);
    timer_disarm(&registrar->retry);
    drop_info(registrar);
    free(registrar);
    return NULL;
}

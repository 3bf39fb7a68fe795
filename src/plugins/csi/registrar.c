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

static void begin_refuse(struct registrar *reg);
static void forget_driver(struct registrar *reg);

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
static void set_state(struct registrar *reg, enum registrar_state next)
{
    reach_move(REACH_REGISTRAR, REGISTRAR_STATE_COUNT, reg->state, next);
    reg->state = next;
    loop_defer(&reg->owner->pump);
}

void csi_retry_later(struct timer *t, uint64_t *backoff_ns, uint64_t first_ns, uint64_t max_ns)
{
    *backoff_ns = *backoff_ns ? *backoff_ns * 2 : first_ns;
    if (*backoff_ns > max_ns)
        *backoff_ns = max_ns;
    timer_arm_after(t, *backoff_ns);
}

static void retry_registrar(struct registrar *reg)
{
    csi_retry_later(&reg->retry, &reg->backoff_ns, BACKOFF_NS,
                    reg->configured ? CONFIGURED_BACKOFF_NS_MAX : BACKOFF_NS_MAX);
}

static void enter_idle_after_failure(struct registrar *reg)
{
    retry_registrar(reg);
    set_state(reg, REGISTRAR_IDLE);
}

static void drop_info(struct registrar *reg)
{
    if (reg->info)
        protobuf_c_message_free_unpacked(&reg->info->base, NULL);
    reg->info = NULL;
}

bool registrar_has_other(const struct registrar *reg)
{
    for (size_t i = 0; i < reg->owner->all.count; i++) {
        const struct registrar *y = reg->owner->all.items[i];
        if (y != reg && strcmp(y->driver, reg->driver) == 0)
            return true;
    }
    return false;
}

/* --- Calls --- */

static void on_call(struct rpc_call *call, const struct rpc_result *result);

/* refusal: the error of a notification; NULL: success. */
static int call_begin(struct registrar *reg, enum csi_method method, const char *socket, uint64_t limit_ns,
                      const char *refusal, struct error *err)
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
    reg->method = method;
    reg->call.done = on_call;
    return csi_call_start(reg->owner->o.rpc, method, socket, limit_ns, request, &reg->call, err);
}

/* --- Steps: each starts a call and sets the state --- */

void registrar_ask(struct registrar *reg)
{
    struct error err = { 0 };

    reg->served = reg->there;
    if (call_begin(reg, reg->configured ? CSI_IDENTITY_INFO : CSI_REGISTRATION_INFO, reg->path,
                   GET_INFO_LIMIT_NS, NULL, &err) < 0) {
        csi_report_failure(reg->owner, reg->path, err.msg);
        enter_idle_after_failure(reg);
        return;
    }
    set_state(reg, REGISTRAR_ASKING);
}

/* A registered driver stays registered: only the refresh of its data failed. */
static void fail_registration(struct registrar *reg, const char *why)
{
    (void)snprintf(reg->refusal, sizeof reg->refusal,
                   "RegisterPlugin error -- plugin registration failed with err: %s", why);
    drop_info(reg);
    if (!reg->is_notified) { /* removes the driver and its API objects */
        forget_driver(reg);
        set_state(reg, REGISTRAR_UNDOING);
        return;
    }
    if (!reg->configured || rpc_watch_is_active(&reg->watch)) /* else it is not running */
        csi_report_failure(reg->owner, reg->path, why);
    set_state(reg, REGISTRAR_REGISTERED);
}

void registrar_describe(struct registrar *reg)
{
    struct error err = { 0 };

    if (call_begin(reg, CSI_NODE_INFO, reg->endpoint, CSI_CALL_LIMIT_NS, NULL, &err) < 0)
        fail_registration(reg, err.msg);
    else
        set_state(reg, REGISTRAR_DESCRIBING);
}

/* Removes the driver from the table. Another socket of the same driver registers again, because the table has
 * one entry per driver. */
static void forget_driver(struct registrar *reg)
{
    struct csi_registration *g = reg->owner;

    csi_drivers_remove(g->o.drivers, reg->driver);
    for (size_t i = 0; i < g->all.count; i++) {
        struct registrar *y = g->all.items[i];
        if (y != reg && strcmp(y->driver, reg->driver) == 0)
            y->must_restart = true;
    }
}

void registrar_leave(struct registrar *reg)
{
    struct csi_registration *g = reg->owner;

    forget_driver(reg);
    if (g->o.on_change && reg->is_notified)
        g->o.on_change(g->o.ctx, reg->driver, false);
    reg->is_notified = reg->must_restart = reg->is_watched = false;
    rpc_watch_stop(&reg->watch);
    set_state(reg, REGISTRAR_LEAVING);
}

static void on_confirmed(struct registrar *reg, int r);

static void begin_confirm(struct registrar *reg)
{
    struct error err = { 0 };

    if (reg->configured)
        on_confirmed(reg, 0); /* nobody to notify */
    else if (call_begin(reg, CSI_REGISTRATION_NOTIFY, reg->path, NOTIFY_LIMIT_NS, NULL, &err) < 0)
        registrar_leave(reg);
    else
        set_state(reg, REGISTRAR_CONFIRMING);
}

/* The driver is queried again later, whether it gets this notification or not. */
static void begin_refuse(struct registrar *reg)
{
    struct error err = { 0 };

    csi_report_failure(reg->owner, reg->path, reg->refusal);
    if (reg->configured)
        enter_idle_after_failure(reg); /* nobody to notify */
    else if (call_begin(reg, CSI_REGISTRATION_NOTIFY, reg->path, NOTIFY_LIMIT_NS, reg->refusal, &err) < 0)
        enter_idle_after_failure(reg);
    else
        set_state(reg, REGISTRAR_REFUSING);
}

/* --- Results of calls --- */

static int take_in(struct registrar *reg, const char *name, const char *endpoint, struct texts versions,
                   struct error *err)
{
    struct csi_drivers *drivers = reg->owner->o.drivers;
    struct csi_version version;
    int r = csi_drivers_check(drivers, "ValidatePlugin", name, versions, &version, err);

    if (r < 0)
        return r;
    (void)snprintf(reg->endpoint, sizeof reg->endpoint, "%s", endpoint[0] ? endpoint : reg->path);
    r = csi_drivers_put(drivers, name, reg->endpoint, version, err);
    if (r == 0)
        (void)snprintf(reg->driver, sizeof reg->driver, "%s", name);
    return r;
}

static void go_on_asked(struct registrar *reg, int r, const struct error *err)
{
    if (r == 0) {
        registrar_describe(reg);
        return;
    }
    (void)snprintf(reg->refusal, sizeof reg->refusal,
                   "RegisterPlugin error -- plugin validation failed with err: %s", err->msg);
    begin_refuse(reg);
}

static void on_identified(struct registrar *reg, const Csi__V1__GetPluginInfoResponse *m)
{
    static const char *const versions[] = { CONFIGURED_VERSION };
    const char *expected = reg->configured->driver;
    struct error err = { 0 };
    int r = 0;

    if (strcmp(m->name, expected) != 0)
        r = error_set(&err, ERR_INVALID, "the driver reports the name \"%.64s\", expected \"%s\"", m->name,
                      expected);
    if (r == 0)
        r = take_in(reg, m->name, "", (struct texts){ versions, ARRAY_LEN(versions) }, &err);
    go_on_asked(reg, r, &err);
}

static void on_asked(struct registrar *reg, const Pluginregistration__PluginInfo *m)
{
    const struct texts versions = { (const char *const *)m->supported_versions,
                                    (uint32_t)m->n_supported_versions };
    struct error err = { 0 };

    if (strcmp(m->type, "CSIPlugin") != 0) {
        (void)snprintf(reg->refusal, sizeof reg->refusal,
                       "RegisterPlugin error -- no handler registered for plugin type: %.64s at socket %s",
                       m->type, reg->path);
        begin_refuse(reg);
    } else {
        go_on_asked(reg, take_in(reg, m->name, m->endpoint, versions, &err), &err);
    }
}

static void on_confirmed(struct registrar *reg, int r)
{
    struct csi_registration *g = reg->owner;

    if (r < 0) {
        reg->backoff_ns = reg->backoff_ns ? reg->backoff_ns : BACKOFF_NS / 2; /* doubled when it has left */
        registrar_leave(reg);
        return;
    }
    reg->backoff_ns = 0;
    reg->is_notified = true;
    set_state(reg, REGISTRAR_REGISTERED);
    if (g->o.on_change)
        g->o.on_change(g->o.ctx, reg->driver, true);
}

static void on_call(struct rpc_call *call, const struct rpc_result *result)
{
    struct registrar *reg = CONTAINER_OF(call, struct registrar, call);
    _cleanup_(rpc_message_free) ProtobufCMessage *answer = NULL;
    struct error err = *result->err;
    int r = result->r;

    if (r == 0)
        r = csi_answer_read(reg->method, result->message, &answer, &err);
    if (reg->state == REGISTRAR_ASKING && r == 0 && reg->configured) {
        on_identified(reg, (const Csi__V1__GetPluginInfoResponse *)(const void *)answer);
    } else if (reg->state == REGISTRAR_ASKING && r == 0) {
        on_asked(reg, (const Pluginregistration__PluginInfo *)(const void *)answer);
    } else if (reg->state == REGISTRAR_ASKING) {
        csi_report_failure(reg->owner, reg->path, err.msg);
        enter_idle_after_failure(reg);
    } else if (reg->state == REGISTRAR_DESCRIBING && r == 0) {
        reg->info = (Csi__V1__NodeGetInfoResponse *)(void *)TAKE(answer);
        if (reg->info->max_volumes_per_node < 0)
            csi_report_failure(reg->owner, reg->driver, "reported volume limit is negative");
        set_state(reg, REGISTRAR_INSTALLING);
    } else if (reg->state == REGISTRAR_DESCRIBING) {
        fail_registration(reg, err.msg);
    } else if (reg->state == REGISTRAR_CONFIRMING) {
        on_confirmed(reg, r);
    } else {
        assert(reg->state == REGISTRAR_REFUSING);
        enter_idle_after_failure(reg);
    }
}

/* --- API objects --- */

static void on_left(struct registrar *reg, int r, const struct error *err)
{
    if (r < 0 && !reg->is_there) {
        csi_report_failure(reg->owner, reg->path, err->msg);
        retry_registrar(reg);
        return;
    }
    reg->driver[0] = '\0';
    if (reg->is_there && socket_id_is_same(&reg->there, &reg->served) && reg->backoff_ns)
        retry_registrar(reg); /* the API objects could not be updated */
    set_state(reg, REGISTRAR_IDLE);
}

void registrar_on_installed(struct registrar *reg, int r, const struct error *err)
{
    if (reg->state == REGISTRAR_UNDOING) {
        /* The failure is already reported; leftover API objects are the same as before. */
        reg->driver[0] = '\0';
        begin_refuse(reg);
    } else if (reg->state == REGISTRAR_LEAVING) {
        on_left(reg, r, err);
    } else if (r < 0) {
        assert(reg->state == REGISTRAR_INSTALLING);
        fail_registration(reg, err->msg);
    } else if (reg->is_notified) { /* the data of a registered driver was refreshed */
        reg->backoff_ns = 0;
        drop_info(reg);
        set_state(reg, REGISTRAR_REGISTERED);
    } else {
        drop_info(reg);
        begin_confirm(reg);
    }
}

/* --- Lifecycle --- */

static void on_retry(void *ctx)
{
    struct registrar *reg = ctx;

    loop_defer(&reg->owner->pump);
}

static void on_session_ended(struct rpc_watch *w, const char *why)
{
    struct registrar *reg = CONTAINER_OF(w, struct registrar, watch);

    (void)why; /* of a driver that stays registered */
    retry_registrar(reg);
}

void registrar_reconnect(struct registrar *reg)
{
    struct error err = { 0 };

    reg->watch.ended = on_session_ended;
    if (rpc_watch_start(reg->owner->o.rpc, reg->endpoint, &reg->watch, &err) < 0) {
        csi_report_failure(reg->owner, reg->path, err.msg);
        retry_registrar(reg);
    } else if (reg->is_watched) {
        registrar_describe(reg);
    }
    reg->is_watched = true;
}

struct registrar *registrar_new(struct csi_registration *g, const char *path,
                                const struct csi_configured_driver *configured)
{
    size_t len = strlen(path) + 1;
    struct registrar *reg = calloc(1, sizeof *reg + len);

    if (!reg)
        return NULL;
    reg->owner = g;
    memcpy(reg->path, path, len);
    reg->configured = configured;
    reg->is_there = configured != NULL;
    timer_init(&reg->retry, g->o.loop, on_retry, reg);
    return reg;
}

struct registrar *registrar_free(struct registrar *reg)
{
    if (!reg)
        return NULL;
    rpc_call_cancel(&reg->call);
    rpc_watch_stop(&reg->watch);
    timer_disarm(&reg->retry);
    drop_info(reg);
    free(reg);
    return NULL;
}

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

static void begin_refuse(struct registrar *x);
static void forget_driver(struct registrar *x);

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
static void set_state(struct registrar *x, enum registrar_state next)
{
    reach_move(REACH_REGISTRAR, REGISTRAR_STATE_COUNT, x->state, next);
    x->state = next;
    loop_defer(&x->owner->pump);
}

void csi_retry_later(struct timer *t, uint64_t *backoff_ns, uint64_t first_ns, uint64_t max_ns)
{
    *backoff_ns = *backoff_ns ? *backoff_ns * 2 : first_ns;
    if (*backoff_ns > max_ns)
        *backoff_ns = max_ns;
    timer_arm_after(t, *backoff_ns);
}

static void enter_idle_after_failure(struct registrar *x)
{
    csi_retry_later(&x->retry, &x->backoff_ns, BACKOFF_NS, BACKOFF_NS_MAX);
    set_state(x, REGISTRAR_IDLE);
}

static void drop_info(struct registrar *x)
{
    if (x->info)
        protobuf_c_message_free_unpacked(&x->info->base, NULL);
    x->info = NULL;
}

bool registrar_has_other(const struct registrar *x)
{
    for (size_t i = 0; i < x->owner->all.count; i++) {
        const struct registrar *y = x->owner->all.items[i];
        if (y != x && strcmp(y->driver, x->driver) == 0)
            return true;
    }
    return false;
}

/* --- Calls --- */

static void on_call(struct rpc_call *call, const struct rpc_result *result);

/* refusal: the error of a notification; NULL: success. */
static int call_begin(struct registrar *x, enum csi_method method, const char *socket, uint64_t limit_ns,
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
    x->method = method;
    x->call.done = on_call;
    return csi_call_start(x->owner->o.rpc, method, socket, limit_ns, request, &x->call, err);
}

/* --- Steps: each starts a call and sets the state --- */

void registrar_ask(struct registrar *x)
{
    struct error err = { 0 };

    x->served = x->there;
    if (call_begin(x, CSI_REGISTRATION_INFO, x->path, GET_INFO_LIMIT_NS, NULL, &err) < 0) {
        csi_report_failure(x->owner, x->path, err.msg);
        enter_idle_after_failure(x);
        return;
    }
    set_state(x, REGISTRAR_ASKING);
}

/* A registered driver stays registered: only the refresh of its data failed. */
static void fail_registration(struct registrar *x, const char *why)
{
    (void)snprintf(x->refusal, sizeof x->refusal,
                   "RegisterPlugin error -- plugin registration failed with err: %s", why);
    drop_info(x);
    if (!x->is_notified) { /* removes the driver and its API objects */
        forget_driver(x);
        set_state(x, REGISTRAR_UNDOING);
        return;
    }
    csi_report_failure(x->owner, x->path, why);
    set_state(x, REGISTRAR_REGISTERED);
}

void registrar_describe(struct registrar *x)
{
    struct error err = { 0 };

    if (call_begin(x, CSI_NODE_INFO, x->endpoint, CSI_CALL_LIMIT_NS, NULL, &err) < 0)
        fail_registration(x, err.msg);
    else
        set_state(x, REGISTRAR_DESCRIBING);
}

/* Removes the driver from the table. Another socket of the same driver registers again, because the table has
 * one entry per driver. */
static void forget_driver(struct registrar *x)
{
    struct csi_registration *g = x->owner;

    csi_drivers_remove(g->o.drivers, x->driver);
    for (size_t i = 0; i < g->all.count; i++) {
        struct registrar *y = g->all.items[i];
        if (y != x && strcmp(y->driver, x->driver) == 0)
            y->must_restart = true;
    }
}

void registrar_leave(struct registrar *x)
{
    struct csi_registration *g = x->owner;

    forget_driver(x);
    if (g->o.on_change && x->is_notified)
        g->o.on_change(g->o.ctx, x->driver, false);
    x->is_notified = x->must_restart = false;
    set_state(x, REGISTRAR_LEAVING);
}

static void begin_confirm(struct registrar *x)
{
    struct error err = { 0 };

    if (call_begin(x, CSI_REGISTRATION_NOTIFY, x->path, NOTIFY_LIMIT_NS, NULL, &err) < 0)
        registrar_leave(x);
    else
        set_state(x, REGISTRAR_CONFIRMING);
}

/* The driver is queried again later, whether it gets this notification or not. */
static void begin_refuse(struct registrar *x)
{
    struct error err = { 0 };

    csi_report_failure(x->owner, x->path, x->refusal);
    if (call_begin(x, CSI_REGISTRATION_NOTIFY, x->path, NOTIFY_LIMIT_NS, x->refusal, &err) < 0)
        enter_idle_after_failure(x);
    else
        set_state(x, REGISTRAR_REFUSING);
}

/* --- Results of calls --- */

static int take_in(struct registrar *x, const Pluginregistration__PluginInfo *m, struct error *err)
{
    const struct texts versions = { (const char *const *)m->supported_versions,
                                    (uint32_t)m->n_supported_versions };
    struct csi_drivers *drivers = x->owner->o.drivers;
    struct csi_version version;
    int r = csi_drivers_check(drivers, "ValidatePlugin", m->name, versions, &version, err);

    if (r < 0)
        return r;
    (void)snprintf(x->endpoint, sizeof x->endpoint, "%s", m->endpoint[0] ? m->endpoint : x->path);
    r = csi_drivers_put(drivers, m->name, x->endpoint, version, err);
    if (r == 0)
        (void)snprintf(x->driver, sizeof x->driver, "%s", m->name);
    return r;
}

static void on_asked(struct registrar *x, const Pluginregistration__PluginInfo *m)
{
    struct error err = { 0 };

    if (strcmp(m->type, "CSIPlugin") != 0) {
        (void)snprintf(x->refusal, sizeof x->refusal,
                       "RegisterPlugin error -- no handler registered for plugin type: %.64s at socket %s",
                       m->type, x->path);
        begin_refuse(x);
    } else if (take_in(x, m, &err) < 0) {
        (void)snprintf(x->refusal, sizeof x->refusal,
                       "RegisterPlugin error -- plugin validation failed with err: %s", err.msg);
        begin_refuse(x);
    } else {
        registrar_describe(x);
    }
}

static void on_confirmed(struct registrar *x, int r)
{
    struct csi_registration *g = x->owner;

    if (r < 0) {
        x->backoff_ns = x->backoff_ns ? x->backoff_ns : BACKOFF_NS / 2; /* doubled when it has left */
        registrar_leave(x);
        return;
    }
    x->backoff_ns = 0;
    x->is_notified = true;
    set_state(x, REGISTRAR_REGISTERED);
    if (g->o.on_change)
        g->o.on_change(g->o.ctx, x->driver, true);
}

static void on_call(struct rpc_call *call, const struct rpc_result *result)
{
    struct registrar *x = CONTAINER_OF(call, struct registrar, call);
    _cleanup_(rpc_message_free) ProtobufCMessage *answer = NULL;
    struct error err = *result->err;
    int r = result->r;

    if (r == 0)
        r = csi_answer_read(x->method, result->message, &answer, &err);
    if (x->state == REGISTRAR_ASKING && r == 0) {
        on_asked(x, (const Pluginregistration__PluginInfo *)(const void *)answer);
    } else if (x->state == REGISTRAR_ASKING) {
        csi_report_failure(x->owner, x->path, err.msg);
        enter_idle_after_failure(x);
    } else if (x->state == REGISTRAR_DESCRIBING && r == 0) {
        x->info = (Csi__V1__NodeGetInfoResponse *)(void *)TAKE(answer);
        if (x->info->max_volumes_per_node < 0)
            csi_report_failure(x->owner, x->driver, "reported volume limit is negative");
        set_state(x, REGISTRAR_INSTALLING);
    } else if (x->state == REGISTRAR_DESCRIBING) {
        fail_registration(x, err.msg);
    } else if (x->state == REGISTRAR_CONFIRMING) {
        on_confirmed(x, r);
    } else {
        assert(x->state == REGISTRAR_REFUSING);
        enter_idle_after_failure(x);
    }
}

/* --- API objects --- */

static void on_left(struct registrar *x, int r, const struct error *err)
{
    if (r < 0 && !x->is_there) {
        csi_report_failure(x->owner, x->path, err->msg);
        csi_retry_later(&x->retry, &x->backoff_ns, BACKOFF_NS, BACKOFF_NS_MAX);
        return;
    }
    x->driver[0] = '\0';
    if (x->is_there && socket_id_is_same(&x->there, &x->served) && x->backoff_ns)
        csi_retry_later(&x->retry, &x->backoff_ns, BACKOFF_NS,
                        BACKOFF_NS_MAX); /* the API objects could not be updated */
    set_state(x, REGISTRAR_IDLE);
}

void registrar_on_installed(struct registrar *x, int r, const struct error *err)
{
    if (x->state == REGISTRAR_UNDOING) {
        /* The failure is already reported; leftover API objects are the same as before. */
        x->driver[0] = '\0';
        begin_refuse(x);
    } else if (x->state == REGISTRAR_LEAVING) {
        on_left(x, r, err);
    } else if (r < 0) {
        assert(x->state == REGISTRAR_INSTALLING);
        fail_registration(x, err->msg);
    } else if (x->is_notified) { /* the data of a registered driver was refreshed */
        drop_info(x);
        set_state(x, REGISTRAR_REGISTERED);
    } else {
        drop_info(x);
        begin_confirm(x);
    }
}

/* --- Lifecycle --- */

static void on_retry(void *ctx)
{
    struct registrar *x = ctx;

    loop_defer(&x->owner->pump);
}

struct registrar *registrar_new(struct csi_registration *g, const char *path)
{
    size_t len = strlen(path) + 1;
    struct registrar *x = calloc(1, sizeof *x + len);

    if (!x)
        return NULL;
    x->owner = g;
    memcpy(x->path, path, len);
    timer_init(&x->retry, g->o.loop, on_retry, x);
    return x;
}

struct registrar *registrar_free(struct registrar *x)
{
    if (!x)
        return NULL;
    rpc_call_cancel(&x->call);
    timer_disarm(&x->retry);
    drop_info(x);
    free(x);
    return NULL;
}

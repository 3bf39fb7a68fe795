/* One CSI driver: connecting, probing, its capabilities, and the calls of its controllers.
 *
 * Invariants: a driver is ready only while its session is watched and its capabilities were read through that
 * session. At most one question of the peer itself (probe, name, capabilities) is in flight. A call of an
 * owner is in exactly one list: refused, waiting for its method, or in flight. Owners are called from
 * on_refused() and on_rpc_done() only, after the peer's own state is up to date.
 *
 * Costs: O(1) per call; no timer is armed for a driver that is ready. */
#include "controllers/csi/csi_peer.h"

#include <assert.h>
#include <rpc/proto/csi.pb-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controllers/csi/csi_failures.h"
#include "rpc/message.h"

#define PROBE_NS (1 * NS_PER_S)
#define PROBE_LIMIT_NS (3 * NS_PER_S)
#define QUESTION_LIMIT_NS (10 * NS_PER_S)
#define CONNECT_BACKOFF_NS (20 * NS_PER_MS)
#define CONNECT_BACKOFF_NS_MAX (1 * NS_PER_S)
#define NAME_BYTES_MAX 63
#define REQUEST_BYTES_MAX RPC_MESSAGE_BYTES_MAX

#define UNKNOWN_DRIVER "unknown-driver" /* a label of metrics */

const char *const csi_peer_state_names[] = {
    [CSI_PEER_ABSENT] = "absent",   [CSI_PEER_CONNECTING] = "connecting",
    [CSI_PEER_PROBING] = "probing", [CSI_PEER_READY] = "ready",
    [CSI_PEER_LOST] = "lost",
};
static_assert(ARRAY_LEN(csi_peer_state_names) == CSI_PEER_STATE_COUNT, "name every state");

const char *const csi_ability_names[] = {
    [CSI_ABILITY_CONTROLLER] = "CONTROLLER_SERVICE",
    [CSI_ABILITY_TOPOLOGY] = "VOLUME_ACCESSIBILITY_CONSTRAINTS",
    [CSI_ABILITY_CREATE_DELETE_VOLUME] = "CREATE_DELETE_VOLUME",
    [CSI_ABILITY_PUBLISH] = "PUBLISH_UNPUBLISH_VOLUME",
    [CSI_ABILITY_LIST_VOLUMES] = "LIST_VOLUMES",
    [CSI_ABILITY_GET_CAPACITY] = "GET_CAPACITY",
    [CSI_ABILITY_CREATE_DELETE_SNAPSHOT] = "CREATE_DELETE_SNAPSHOT",
    [CSI_ABILITY_LIST_SNAPSHOTS] = "LIST_SNAPSHOTS",
    [CSI_ABILITY_CLONE_VOLUME] = "CLONE_VOLUME",
    [CSI_ABILITY_PUBLISH_READONLY] = "PUBLISH_READONLY",
    [CSI_ABILITY_EXPAND_VOLUME] = "EXPAND_VOLUME",
    [CSI_ABILITY_LIST_PUBLISHED_NODES] = "LIST_VOLUMES_PUBLISHED_NODES",
    [CSI_ABILITY_VOLUME_CONDITION] = "VOLUME_CONDITION",
    [CSI_ABILITY_GET_VOLUME] = "GET_VOLUME",
    [CSI_ABILITY_SINGLE_NODE_MULTI_WRITER] = "SINGLE_NODE_MULTI_WRITER",
    [CSI_ABILITY_MODIFY_VOLUME] = "MODIFY_VOLUME",
    [CSI_ABILITY_NODE_EXPAND] = "EXPAND_VOLUME (node)",
};
static_assert(ARRAY_LEN(csi_ability_names) == CSI_ABILITY_COUNT, "name every ability");

#define IDENTITY(name) .path = "/csi.v1.Identity/" name
#define CONTROLLER(name) .path = "/csi.v1.Controller/" name
#define ANSWER(type) .answer = &csi__v1__##type##__descriptor

static const struct {
    const char *path;
    const ProtobufCMessageDescriptor *answer;
} peer_methods[] = {
    [CSI_PROBE] = { IDENTITY("Probe"), ANSWER(probe_response) },
    [CSI_GET_PLUGIN_INFO] = { IDENTITY("GetPluginInfo"), ANSWER(get_plugin_info_response) },
    [CSI_GET_PLUGIN_CAPABILITIES] = { IDENTITY("GetPluginCapabilities"),
                                      ANSWER(get_plugin_capabilities_response) },
    [CSI_CONTROLLER_GET_CAPABILITIES] = { CONTROLLER("ControllerGetCapabilities"),
                                          ANSWER(controller_get_capabilities_response) },
    [CSI_PEER_NODE_GET_CAPABILITIES] = { .path = "/csi.v1.Node/NodeGetCapabilities",
                                         ANSWER(node_get_capabilities_response) },
    [CSI_CREATE_VOLUME] = { CONTROLLER("CreateVolume"), ANSWER(create_volume_response) },
    [CSI_DELETE_VOLUME] = { CONTROLLER("DeleteVolume"), ANSWER(nothing) },
    [CSI_CONTROLLER_PUBLISH] = { CONTROLLER("ControllerPublishVolume"),
                                 ANSWER(controller_publish_volume_response) },
    [CSI_CONTROLLER_UNPUBLISH] = { CONTROLLER("ControllerUnpublishVolume"), ANSWER(nothing) },
    [CSI_LIST_VOLUMES] = { CONTROLLER("ListVolumes"), ANSWER(list_volumes_response) },
    [CSI_GET_CAPACITY] = { CONTROLLER("GetCapacity"), ANSWER(get_capacity_response) },
    [CSI_CONTROLLER_EXPAND] = { CONTROLLER("ControllerExpandVolume"),
                                ANSWER(controller_expand_volume_response) },
    [CSI_CONTROLLER_GET_VOLUME] = { CONTROLLER("ControllerGetVolume"),
                                    ANSWER(controller_get_volume_response) },
    [CSI_CONTROLLER_MODIFY] = { CONTROLLER("ControllerModifyVolume"), ANSWER(nothing) },
    [CSI_CREATE_SNAPSHOT] = { CONTROLLER("CreateSnapshot"), ANSWER(create_snapshot_response) },
    [CSI_DELETE_SNAPSHOT] = { CONTROLLER("DeleteSnapshot"), ANSWER(nothing) },
    [CSI_LIST_SNAPSHOTS] = { CONTROLLER("ListSnapshots"), ANSWER(list_snapshots_response) },
};
static_assert(ARRAY_LEN(peer_methods) == CSI_CONTROLLER_METHOD_COUNT, "describe every method");

TAILQ_HEAD(csi_calls, csi_controller_call);

struct csi_peer {
    struct csi_peer_options o;
    char *socket;                  /* NULL: absent */
    char name[NAME_BYTES_MAX + 1]; /* "" until it is known */
    enum csi_peer_state state;
    uint64_t since_ns;
    unsigned abilities; /* 1 << CSI_ABILITY_*; as of the last time when it was ready */
    unsigned read;      /* the same, being read */
    struct error last;  /* msg "": nothing failed */
    struct rpc_watch watch;
    struct csi_controller_call question;
    struct timer retry; /* the next attempt to connect, or the next probe */
    uint64_t backoff_ns;
    struct deferred change;  /* reports a change to the owner */
    struct deferred refusal; /* reports refused calls to their owners */
    struct csi_calls refused, in_flight;
    struct csi_calls waiting[CSI_CONTROLLER_METHOD_COUNT];
    unsigned counts[CSI_CONTROLLER_METHOD_COUNT]; /* in flight */
    unsigned total;
    struct csi_failures failures;
    struct metric_family *seconds; /* NULL: not counted */
    struct metric_family *gauges;
};

const char *csi_method_name(enum csi_controller_method m)
{
    return strrchr(peer_methods[m].path, '/') + 1;
}

/* --- State --- */

static const bool may_follow[CSI_PEER_STATE_COUNT][CSI_PEER_STATE_COUNT] = {
    [CSI_PEER_ABSENT] = { [CSI_PEER_CONNECTING] = true },
    [CSI_PEER_CONNECTING] = { [CSI_PEER_ABSENT] = true, [CSI_PEER_PROBING] = true },
    [CSI_PEER_PROBING] = { [CSI_PEER_ABSENT] = true, [CSI_PEER_CONNECTING] = true, [CSI_PEER_READY] = true },
    [CSI_PEER_READY] = { [CSI_PEER_ABSENT] = true, [CSI_PEER_CONNECTING] = true, [CSI_PEER_LOST] = true },
    [CSI_PEER_LOST] = { [CSI_PEER_ABSENT] = true, [CSI_PEER_CONNECTING] = true, [CSI_PEER_PROBING] = true },
};

static void refuse_waiting(struct csi_peer *p);

static void set_state(struct csi_peer *p, enum csi_peer_state next)
{
    if (p->state == next)
        return;
    assert(may_follow[p->state][next]);
    p->state = next;
    p->since_ns = loop_now_ns(p->o.loop);
    if (next == CSI_PEER_READY) {
        p->abilities = p->read;
        p->last.msg[0] = '\0';
        p->backoff_ns = 0;
    } else {
        p->abilities = next == CSI_PEER_ABSENT ? 0 : p->abilities;
        refuse_waiting(p);
    }
    loop_defer(&p->change);
}

static void on_change(void *ctx)
{
    struct csi_peer *p = ctx;

    if (p->o.on_change)
        p->o.on_change(p->o.ctx, p);
}

static void retry_after(struct csi_peer *p, uint64_t delay_ns)
{
    timer_arm_after(&p->retry, delay_ns);
}

/* --- Calls --- */

static void set_gauge(struct csi_peer *p)
{
    if (p->gauges && p->name[0])
        metric_set(metric_of(p->gauges, p->name), p->total);
}

/* Of the methods that owners call. */
static unsigned limit_of(const struct csi_peer *p, enum csi_controller_method m)
{
    if (m == CSI_CREATE_VOLUME)
        return p->o.creates_max ? p->o.creates_max : CSI_CREATES_MAX;
    return p->o.others_max ? p->o.others_max : CSI_OTHERS_MAX;
}

static void refuse_call(struct csi_peer *p, struct csi_controller_call *c, const char *why)
{
    (void)snprintf(c->refusal, sizeof c->refusal, "%.*s", (int)sizeof c->refusal - 1, why);
    buf_done(&c->message);
    c->place = CSI_CALL_REFUSED;
    TAILQ_INSERT_TAIL(&p->refused, c, link);
    loop_defer(&p->refusal);
}

static const char *describe_not_ready(const struct csi_peer *p, char ret[CSI_REFUSAL_BYTES])
{
    const char *name = p->name[0] ? p->name : p->o.name ? p->o.name : csi_peer_socket(p);

    (void)snprintf(ret, CSI_REFUSAL_BYTES, "CSI driver %.63s is not ready (%s)%s%.128s", name,
                   csi_peer_state_names[p->state], p->last.msg[0] ? ": " : "", p->last.msg);
    return ret;
}

static void refuse_waiting(struct csi_peer *p)
{
    struct csi_controller_call *c;
    char why[CSI_REFUSAL_BYTES];

    (void)describe_not_ready(p, why);
    for (size_t m = 0; m < CSI_CONTROLLER_METHOD_COUNT; m++)
        while ((c = TAILQ_FIRST(&p->waiting[m]))) {
            TAILQ_REMOVE(&p->waiting[m], c, link);
            refuse_call(p, c, why);
        }
}

static void on_rpc_done(struct rpc_call *call, const struct rpc_result *result);

static int send_call(struct csi_peer *p, struct csi_controller_call *c, struct error *err)
{
    const struct rpc_request q = { .socket = p->socket,
                                   .method = peer_methods[c->method].path,
                                   .message = buf_str(&c->message),
                                   .limit_ns = c->limit_ns,
                                   .answer_bytes_max = CSI_ANSWER_BYTES_MAX };
    int r;

    c->rpc.done = on_rpc_done;
    c->began_ns = loop_now_ns(p->o.loop);
    r = rpc_call_start(p->o.rpc, &q, &c->rpc, err);
    buf_done(&c->message);
    return r;
}

/* Sends a call of an owner, or refuses it. */
static void begin_call(struct csi_peer *p, struct csi_controller_call *c)
{
    struct error err = { 0 };

    if (send_call(p, c, &err) < 0) {
        refuse_call(p, c, err.msg);
        return;
    }
    c->place = CSI_CALL_IN_FLIGHT;
    TAILQ_INSERT_TAIL(&p->in_flight, c, link);
    p->counts[c->method]++;
    p->total++;
    set_gauge(p);
}

static void leave_flight(struct csi_peer *p, struct csi_controller_call *c)
{
    struct csi_controller_call *next;

    TAILQ_REMOVE(&p->in_flight, c, link);
    p->counts[c->method]--;
    p->total--;
    set_gauge(p);
    while (p->counts[c->method] < limit_of(p, c->method) && (next = TAILQ_FIRST(&p->waiting[c->method]))) {
        TAILQ_REMOVE(&p->waiting[c->method], next, link);
        begin_call(p, next);
    }
}

void csi_controller_call_start(struct csi_peer *p, struct csi_controller_call *c,
                               enum csi_controller_method m, const ProtobufCMessage *request,
                               uint64_t limit_ns)
{
    char why[CSI_REFUSAL_BYTES];
    struct error err = { 0 };

    assert(!c->peer && c->done);
    c->peer = p;
    c->method = m;
    c->limit_ns = limit_ns;
    c->message = BUF_INIT(REQUEST_BYTES_MAX);
    if (p->state != CSI_PEER_READY) {
        refuse_call(p, c, describe_not_ready(p, why));
    } else if (rpc_message_pack(request, &c->message, &err) < 0) {
        refuse_call(p, c, err.msg);
    } else if (p->counts[m] < limit_of(p, m)) {
        begin_call(p, c);
    } else {
        c->place = CSI_CALL_WAITING;
        TAILQ_INSERT_TAIL(&p->waiting[m], c, link);
    }
}

void csi_controller_call_about(struct csi_controller_call *c, const struct object *o)
{
    (void)snprintf(c->about, sizeof c->about, "%s", o->uid);
}

void csi_controller_call_cancel(struct csi_controller_call *c)
{
    struct csi_peer *p = c->peer;

    if (!p)
        return;
    c->peer = NULL;
    buf_done(&c->message);
    if (c->place == CSI_CALL_REFUSED) {
        TAILQ_REMOVE(&p->refused, c, link);
    } else if (c->place == CSI_CALL_WAITING) {
        TAILQ_REMOVE(&p->waiting[c->method], c, link);
    } else {
        rpc_call_cancel(&c->rpc);
        leave_flight(p, c);
    }
}

/* Those that were refused before: an owner may call again at once. */
static void on_refused(void *ctx)
{
    struct csi_peer *p = ctx;
    struct csi_controller_call *last = TAILQ_LAST(&p->refused, csi_calls), *c;

    while ((c = TAILQ_FIRST(&p->refused))) {
        struct error err = { 0 };
        const struct csi_answer a = {
            .outcome = CSI_NOT_SENT, .code = RPC_UNAVAILABLE, .err = &err, .words = ""
        };
        bool is_last = c == last;

        (void)error_set(&err, ERR_UNAVAILABLE, "%s", c->refusal);
        TAILQ_REMOVE(&p->refused, c, link);
        csi_failures_put(&p->failures, c->about, c->method, &a, loop_now_ns(p->o.loop));
        c->peer = NULL;
        if (!TAILQ_EMPTY(&p->refused))
            loop_defer(&p->refusal);
        c->done(c, &a);
        if (is_last)
            return;
    }
}

/* --- Answers --- */

static void count_call(const struct csi_peer *p, const struct csi_controller_call *c, enum rpc_code code)
{
    if (p->seconds)
        metric_observe(metric_of(p->seconds, p->name[0] ? p->name : UNKNOWN_DRIVER,
                                 peer_methods[c->method].path, rpc_code_name(code)),
                       (double)(loop_now_ns(p->o.loop) - c->began_ns) / (double)NS_PER_S);
}

/* The driver did something if its answer cannot be read. */
static enum csi_outcome outcome_of(enum csi_controller_method m, const struct rpc_result *result)
{
    if (result->is_own)
        return result->is_unsent ? CSI_NOT_SENT : CSI_IN_PROGRESS;
    return csi_error_class(m, result->code);
}

static void on_rpc_done(struct rpc_call *call, const struct rpc_result *result)
{
    struct csi_controller_call *c = CONTAINER_OF(call, struct csi_controller_call, rpc);
    _cleanup_(rpc_message_free) ProtobufCMessage *message = NULL;
    struct csi_peer *p = c->peer;
    struct error err = *result->err;
    struct csi_answer a = { .outcome = outcome_of(c->method, result),
                            .code = result->code,
                            .err = &err,
                            .words = result->is_own ? "" : result->words };

    if (a.outcome == CSI_DONE) {
        message = rpc_message_read(peer_methods[c->method].answer, result->message);
        a.message = message;
    }
    if (a.outcome == CSI_DONE && !message) {
        a.outcome = CSI_IN_PROGRESS;
        a.code = RPC_INTERNAL;
        (void)rpc_failure(RPC_INTERNAL, "the answer cannot be decoded", &err);
    }
    count_call(p, c, a.code);
    if (a.outcome != CSI_DONE) {
        p->last = err;
        (void)error_wrap(&p->last, "%s", csi_method_name(c->method));
        loop_defer(&p->change);
    }
    csi_failures_put(&p->failures, c->about, c->method, &a, loop_now_ns(p->o.loop));
    c->peer = NULL;
    if (c != &p->question)
        leave_flight(p, c);
    c->done(c, &a);
}

/* --- The peer's own questions --- */

static void on_question(struct csi_controller_call *c, const struct csi_answer *a);

static void fail_question(struct csi_peer *p, const struct error *err, enum csi_controller_method m)
{
    p->last = *err;
    (void)error_wrap(&p->last, "%s", csi_method_name(m));
    retry_after(p, PROBE_NS);
    loop_defer(&p->change); /* its last error has changed */
}

static void ask_driver(struct csi_peer *p, enum csi_controller_method m)
{
    const Csi__V1__Nothing nothing = CSI__V1__NOTHING__INIT;
    struct csi_controller_call *c = &p->question;
    struct error err = { 0 };
    int r;

    assert(!c->peer);
    c->method = m;
    c->done = on_question;
    c->limit_ns = m == CSI_PROBE ? PROBE_LIMIT_NS : QUESTION_LIMIT_NS;
    c->message = BUF_INIT(REQUEST_BYTES_MAX);
    r = rpc_message_pack(&nothing.base, &c->message, &err);
    if (r == 0)
        r = send_call(p, c, &err);
    if (r == 0)
        c->peer = p;
    else
        fail_question(p, &err, m);
}

static void cancel_question(struct csi_peer *p)
{
    if (p->question.peer)
        rpc_call_cancel(&p->question.rpc);
    p->question.peer = NULL;
}

static bool is_name_valid(const char *name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_/";
    size_t len = strlen(name);

    return len > 0 && len <= NAME_BYTES_MAX && strspn(name, allowed) == len;
}

static int take_name(struct csi_peer *p, const char *name, struct error *err)
{
    if (!is_name_valid(name))
        return error_set(err, ERR_INVALID, "the driver at %s reports an invalid name", p->socket);
    if (p->o.name && strcmp(p->o.name, name) != 0)
        return error_set(err, ERR_INVALID, "the driver at %s reports the name \"%s\", expected \"%s\"",
                         p->socket, name, p->o.name);
    if (strcmp(p->name, name) != 0) {
        if (p->gauges && p->name[0])
            metric_set(metric_of(p->gauges, p->name), 0);
        (void)snprintf(p->name, sizeof p->name, "%s", name);
        set_gauge(p);
    }
    return 0;
}

static void add_ability(struct csi_peer *p, enum csi_ability a)
{
    p->read |= 1U << a;
}

static void read_plugin_capabilities(struct csi_peer *p, const Csi__V1__GetPluginCapabilitiesResponse *all)
{
    for (size_t i = 0; i < all->n_capabilities; i++) {
        const Csi__V1__PluginCapability *one = all->capabilities[i];

        if (one->type_case != CSI__V1__PLUGIN_CAPABILITY__TYPE_SERVICE)
            continue;
        if (one->service->type == CSI__V1__PLUGIN_CAPABILITY__SERVICE__TYPE__CONTROLLER_SERVICE)
            add_ability(p, CSI_ABILITY_CONTROLLER);
        if (one->service->type == CSI__V1__PLUGIN_CAPABILITY__SERVICE__TYPE__VOLUME_ACCESSIBILITY_CONSTRAINTS)
            add_ability(p, CSI_ABILITY_TOPOLOGY);
    }
}

static void read_controller_capabilities(struct csi_peer *p,
                                         const Csi__V1__ControllerGetCapabilitiesResponse *all)
{
#define TYPE(name) CSI__V1__CONTROLLER_SERVICE_CAPABILITY__RPC__TYPE__##name
    static const struct {
        Csi__V1__ControllerServiceCapability__RPC__Type type;
        enum csi_ability ability;
    } abilities[] = {
        { TYPE(CREATE_DELETE_VOLUME), CSI_ABILITY_CREATE_DELETE_VOLUME },
        { TYPE(PUBLISH_UNPUBLISH_VOLUME), CSI_ABILITY_PUBLISH },
        { TYPE(LIST_VOLUMES), CSI_ABILITY_LIST_VOLUMES },
        { TYPE(GET_CAPACITY), CSI_ABILITY_GET_CAPACITY },
        { TYPE(CREATE_DELETE_SNAPSHOT), CSI_ABILITY_CREATE_DELETE_SNAPSHOT },
        { TYPE(LIST_SNAPSHOTS), CSI_ABILITY_LIST_SNAPSHOTS },
        { TYPE(CLONE_VOLUME), CSI_ABILITY_CLONE_VOLUME },
        { TYPE(PUBLISH_READONLY), CSI_ABILITY_PUBLISH_READONLY },
        { TYPE(EXPAND_VOLUME), CSI_ABILITY_EXPAND_VOLUME },
        { TYPE(LIST_VOLUMES_PUBLISHED_NODES), CSI_ABILITY_LIST_PUBLISHED_NODES },
        { TYPE(VOLUME_CONDITION), CSI_ABILITY_VOLUME_CONDITION },
        { TYPE(GET_VOLUME), CSI_ABILITY_GET_VOLUME },
        { TYPE(SINGLE_NODE_MULTI_WRITER), CSI_ABILITY_SINGLE_NODE_MULTI_WRITER },
        { TYPE(MODIFY_VOLUME), CSI_ABILITY_MODIFY_VOLUME },
    };
#undef TYPE
    for (size_t i = 0; i < all->n_capabilities; i++) {
        const Csi__V1__ControllerServiceCapability *one = all->capabilities[i];

        if (one->type_case != CSI__V1__CONTROLLER_SERVICE_CAPABILITY__TYPE_RPC)
            continue;
        for (size_t k = 0; k < ARRAY_LEN(abilities); k++)
            if (one->rpc->type == abilities[k].type)
                add_ability(p, abilities[k].ability);
    }
}

static void read_node_capabilities(struct csi_peer *p, const Csi__V1__NodeGetCapabilitiesResponse *all)
{
    for (size_t i = 0; i < all->n_capabilities; i++) {
        const Csi__V1__NodeServiceCapability *one = all->capabilities[i];

        if (one->type_case == CSI__V1__NODE_SERVICE_CAPABILITY__TYPE_RPC &&
            one->rpc->type == CSI__V1__NODE_SERVICE_CAPABILITY__RPC__TYPE__EXPAND_VOLUME)
            add_ability(p, CSI_ABILITY_NODE_EXPAND);
    }
}

static void on_probed(struct csi_peer *p, const Csi__V1__ProbeResponse *m)
{
    struct error err = { 0 };

    set_state(p, CSI_PEER_PROBING);
    if (m->ready && !m->ready->value) {
        (void)error_set(&err, ERR_UNAVAILABLE, "the driver reports that it is not ready");
        fail_question(p, &err, CSI_PROBE);
        return;
    }
    p->read = 0;
    ask_driver(p, CSI_GET_PLUGIN_INFO);
}

static void on_named(struct csi_peer *p, const Csi__V1__GetPluginInfoResponse *m)
{
    struct error err = { 0 };

    if (take_name(p, m->name, &err) < 0)
        fail_question(p, &err, CSI_GET_PLUGIN_INFO);
    else
        ask_driver(p, CSI_GET_PLUGIN_CAPABILITIES);
}

static void on_question_failed(struct csi_peer *p, enum csi_controller_method m, const struct csi_answer *a)
{
    /* The controller service of a driver may run without its node service. */
    if (m == CSI_PEER_NODE_GET_CAPABILITIES && a->outcome != CSI_IN_PROGRESS && a->outcome != CSI_NOT_SENT) {
        set_state(p, CSI_PEER_READY);
        return;
    }
    if (m == CSI_PROBE && a->code != RPC_UNAVAILABLE) /* the driver has answered, or is slow */
        set_state(p, CSI_PEER_PROBING);
    fail_question(p, a->err, m);
}

static void on_question(struct csi_controller_call *c, const struct csi_answer *a)
{
    struct csi_peer *p = CONTAINER_OF(c, struct csi_peer, question);
    const void *m = a->message;

    if (a->outcome != CSI_DONE) {
        on_question_failed(p, c->method, a);
    } else if (c->method == CSI_PROBE) {
        on_probed(p, m);
    } else if (c->method == CSI_GET_PLUGIN_INFO) {
        on_named(p, m);
    } else if (c->method == CSI_GET_PLUGIN_CAPABILITIES) {
        read_plugin_capabilities(p, m);
        ask_driver(p, p->read >> CSI_ABILITY_CONTROLLER & 1 ? CSI_CONTROLLER_GET_CAPABILITIES
                                                            : CSI_PEER_NODE_GET_CAPABILITIES);
    } else if (c->method == CSI_CONTROLLER_GET_CAPABILITIES) {
        read_controller_capabilities(p, m);
        ask_driver(p, CSI_PEER_NODE_GET_CAPABILITIES);
    } else {
        assert(c->method == CSI_PEER_NODE_GET_CAPABILITIES);
        read_node_capabilities(p, m);
        set_state(p, CSI_PEER_READY);
    }
}

/* --- The session --- */

static void on_session_ended(struct rpc_watch *w, const char *why);

/* After a failure the delay is doubled each time. */
static void connect_later(struct csi_peer *p)
{
    p->backoff_ns = p->backoff_ns ? p->backoff_ns * 2 : CONNECT_BACKOFF_NS;
    if (p->backoff_ns > CONNECT_BACKOFF_NS_MAX)
        p->backoff_ns = CONNECT_BACKOFF_NS_MAX;
    retry_after(p, p->backoff_ns);
}

/* Opens the session if there is none, and begins to probe. */
static void on_retry(void *ctx)
{
    struct csi_peer *p = ctx;
    struct error err = { 0 };

    p->watch.ended = on_session_ended;
    if (!rpc_watch_is_active(&p->watch) && rpc_watch_start(p->o.rpc, p->socket, &p->watch, &err) < 0) {
        p->last = err;
        connect_later(p);
        return;
    }
    ask_driver(p, CSI_PROBE);
}

static void on_session_ended(struct rpc_watch *w, const char *why)
{
    struct csi_peer *p = CONTAINER_OF(w, struct csi_peer, watch);

    cancel_question(p);
    (void)error_set(&p->last, ERR_UNAVAILABLE, "no connection to %s: %s", p->socket, why);
    loop_defer(&p->change);
    if (p->state == CSI_PEER_READY)
        set_state(p, CSI_PEER_LOST);
    else if (p->state == CSI_PEER_PROBING)
        set_state(p, CSI_PEER_CONNECTING);
    connect_later(p);
}

static void close_session(struct csi_peer *p)
{
    cancel_question(p);
    rpc_watch_stop(&p->watch);
    timer_disarm(&p->retry);
    p->backoff_ns = 0;
}

int csi_peer_set_socket(struct csi_peer *p, const char *socket, struct error *err)
{
    bool is_same = p->socket && socket && strcmp(p->socket, socket) == 0;
    char *copy = NULL;

    if (is_same && p->state == CSI_PEER_READY)
        return 0;
    if (socket && !is_same) {
        copy = strdup(socket);
        if (!copy)
            return error_no_memory(err);
    }
    close_session(p);
    if (!is_same) {
        free(p->socket);
        p->socket = copy;
        p->last.msg[0] = '\0';
        set_state(p, CSI_PEER_ABSENT);
    }
    if (p->socket) {
        set_state(p, CSI_PEER_CONNECTING);
        retry_after(p, 0);
    }
    return 0;
}

/* --- Reading --- */

enum csi_peer_state csi_peer_state(const struct csi_peer *p)
{
    return p->state;
}

const char *csi_peer_name(const struct csi_peer *p)
{
    return p->name;
}

const char *csi_peer_socket(const struct csi_peer *p)
{
    return p->socket ? p->socket : "";
}

bool csi_peer_can(const struct csi_peer *p, enum csi_ability a)
{
    return p->abilities >> a & 1;
}

const char *csi_peer_last_error(const struct csi_peer *p)
{
    return p->last.msg;
}

uint64_t csi_peer_since_ns(const struct csi_peer *p)
{
    return p->since_ns;
}

unsigned csi_peer_calls_in_flight(const struct csi_peer *p)
{
    return p->total;
}

bool csi_peer_explain(const struct csi_peer *p, const char *uid, struct csi_work_state *ret)
{
    const struct csi_failure *failure = csi_failures_get(&p->failures, uid);
    const struct csi_controller_call *c;

    *ret = (struct csi_work_state){ .call = "", .last_error = "" };
    if (failure)
        *ret = (struct csi_work_state){ .call = csi_method_name(failure->method),
                                        .last_error = failure->words,
                                        .outcome = failure->outcome,
                                        .code = failure->code,
                                        .failed_ns = failure->at_ns };
    TAILQ_FOREACH(c, &p->in_flight, link) {
        if (strcmp(c->about, uid) != 0)
            continue;
        ret->call = csi_method_name(c->method);
        ret->is_in_flight = true;
        ret->since_ns = c->began_ns;
        return true;
    }
    return failure != NULL;
}

const char *csi_peer_check(const struct csi_peer *p)
{
    const struct csi_controller_call *c;
    unsigned counts[CSI_CONTROLLER_METHOD_COUNT] = { 0 }, total = 0;

    TAILQ_FOREACH(c, &p->in_flight, link) {
        if (c->peer != p || c->place != CSI_CALL_IN_FLIGHT || !rpc_call_is_active(&c->rpc))
            return "a call in flight is not";
        counts[c->method]++;
        total++;
    }
    if (memcmp(counts, p->counts, sizeof counts) != 0 || total != p->total)
        return "calls in flight are counted wrongly";
    for (size_t m = 0; m < CSI_CONTROLLER_METHOD_COUNT; m++)
        if (!TAILQ_EMPTY(&p->waiting[m]) &&
            (p->state != CSI_PEER_READY || p->counts[m] < limit_of(p, (enum csi_controller_method)m)))
            return "a call waits for nothing";
    if (p->state == CSI_PEER_READY && !rpc_watch_is_active(&p->watch))
        return "the session of a ready driver is not watched";
    if (p->state != CSI_PEER_READY && p->socket && !p->question.peer && !timer_is_armed(&p->retry))
        return "a driver that is not ready is not probed";
    return NULL;
}

/* --- Life --- */

static int open_metrics(struct csi_peer *p, struct error *err)
{
    static const char *const seconds_labels[] = { "driver_name", "method_name", "grpc_status_code", NULL };
    static const double seconds_bounds[] = { 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600 };
    static const struct metric_desc seconds_desc = {
        .name = "csi_sidecar_operations_seconds",
        .help = "Container Storage Interface operation duration with gRPC error code status total",
        .type = METRIC_HISTOGRAM,
        .labels = seconds_labels,
        .bounds = seconds_bounds,
        .bounds_count = ARRAY_LEN(seconds_bounds),
    };
    static const char *const gauge_labels[] = { "driver", NULL };
    static const struct metric_desc gauge_desc = {
        .name = "berth_csi_calls_in_flight",
        .help = "Calls to the controller service of a CSI driver that have not ended.",
        .type = METRIC_GAUGE,
        .labels = gauge_labels,
    };
    int r = metrics_share_family(p->o.metrics, &seconds_desc, &p->seconds, err);

    return r < 0 ? r : metrics_share_family(p->o.metrics, &gauge_desc, &p->gauges, err);
}

int csi_peer_new(const struct csi_peer_options *o, struct csi_peer **ret, struct error *err)
{
    _cleanup_(csi_peer_free_p) struct csi_peer *p = calloc(1, sizeof *p);
    int r = 0;

    if (!p)
        return error_no_memory(err);
    p->o = *o;
    TAILQ_INIT(&p->refused);
    TAILQ_INIT(&p->in_flight);
    csi_failures_init(&p->failures);
    for (size_t m = 0; m < CSI_CONTROLLER_METHOD_COUNT; m++)
        TAILQ_INIT(&p->waiting[m]);
    deferred_init(&p->change, o->loop, on_change, p);
    deferred_init(&p->refusal, o->loop, on_refused, p);
    timer_init(&p->retry, o->loop, on_retry, p);
    p->since_ns = loop_now_ns(o->loop);
    if (o->metrics)
        r = open_metrics(p, err);
    if (r == 0 && o->socket)
        r = csi_peer_set_socket(p, o->socket, err);
    if (r < 0)
        return r;
    *ret = TAKE(p);
    return 0;
}

struct csi_peer *csi_peer_free(struct csi_peer *p)
{
    if (!p)
        return NULL;
    assert(p->total == 0 && TAILQ_EMPTY(&p->refused));
    close_session(p);
    loop_undefer(&p->change);
    loop_undefer(&p->refusal);
    set_gauge(p);
    csi_failures_done(&p->failures);
    free(p->socket);
    free(p);
    return NULL;
}

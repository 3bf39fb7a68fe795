/* One round renews the lease: reads it if it is unknown, creates it if it is missing (and its namespace),
 * renews it. The result of the last round is kept, so most rounds are one request. The requests are urgent: a
 * node that queues its heartbeat behind its other requests would be considered dead. */
#include "node/node_lease.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_out.h"
#include "base/log.h"
#include "machinery/api_write.h"
#include "machinery/merge_patch.h"
#include "node/register.h"
#include "node/register_int.h"

/* Limit of requests per round: another client that creates and deletes the lease in turns makes the round
 * fail. */
#define ROUND_REQUESTS_MAX 8

enum lease_step { LEASE_READ, LEASE_CREATE, LEASE_MAKE_NAMESPACE, LEASE_RENEW, LEASE_STEP_COUNT };

struct node_lease {
    struct component_deps o;
    struct api api;
    const char *name;
    char *node_uid;       /* NULL: no Node, the lease is not renewed */
    struct object *lease; /* as last received; NULL: unknown */
    enum lease_step step; /* of the request in flight */
    struct api_write write;
    struct timer timer; /* of the next round */
    uint64_t started_ns;
    unsigned requests; /* of this round */
    struct patience patience;
};

static void on_answer(void *ctx, enum api_outcome outcome, const struct client_answer *a);

static void set_lease(struct node_lease *l, const struct object *o)
{
    struct object *taken = o ? object_ref(o) : NULL;

    (void)object_unref(l->lease);
    l->lease = taken;
}

/* --- Bodies --- */

static void write_owner(const struct node_lease *l, struct buf *out)
{
    json_out_array(out, "ownerReferences");
    json_out_object(out, NULL);
    json_out_text(out, "apiVersion", "v1");
    json_out_text(out, "kind", "Node");
    json_out_text(out, "name", l->name);
    json_out_text(out, "uid", l->node_uid);
    json_out_end_object(out);
    json_out_end_array(out);
}

static void write_spec(const struct node_lease *l, struct buf *out)
{
    json_out_object(out, NULL);
    json_out_text(out, "holderIdentity", l->name);
    json_out_int(out, "leaseDurationSeconds", NODE_LEASE_SECONDS);
    json_out_time_micro(out, "renewTime", timestamp_of_ns(clock_real_ns(l->o.clock)));
    json_out_end_object(out);
}

static void write_new(const struct node_lease *l, struct buf *out)
{
    json_out_object(out, NULL);
    json_out_text(out, "apiVersion", "coordination.k8s.io/v1");
    json_out_text(out, "kind", "Lease");
    json_out_object(out, "metadata");
    json_out_text(out, "name", l->name);
    json_out_text(out, "namespace", NODE_LEASE_NAMESPACE);
    write_owner(l, out);
    json_out_end_object(out);
    json_out_key(out, "spec");
    write_spec(l, out);
    json_out_end_object(out);
}

static void write_namespace(struct buf *out)
{
    json_out_object(out, NULL);
    json_out_text(out, "apiVersion", "v1");
    json_out_text(out, "kind", "Namespace");
    json_out_object(out, "metadata");
    json_out_text(out, "name", NODE_LEASE_NAMESPACE);
    json_out_end_object(out);
    json_out_end_object(out);
}

static enum api_decision decide_renewal(void *ctx, const struct object *now, struct buf *out,
                                        struct error *err)
{
    const struct node_lease *l = ctx;
    struct merge_patch p;

    merge_patch_begin(&p, out, now);
    if (now->owners_count != 1 || strcmp(now->owners[0].uid, l->node_uid) != 0)
        write_owner(l, out);
    merge_patch_member(&p, "spec");
    write_spec(l, out);
    return api_decision_of(merge_patch_end(&p, err));
}

/* --- A round --- */

static void send_step(struct node_lease *l, enum lease_step step)
{
    static const enum client_verb verbs[] = {
        [LEASE_READ] = CLIENT_GET,
        [LEASE_CREATE] = CLIENT_CREATE,
        [LEASE_MAKE_NAMESPACE] = CLIENT_CREATE,
        [LEASE_RENEW] = CLIENT_PATCH,
    };
    _cleanup_(buf_done_p) struct buf body = BUF_INIT((size_t)16 << 10);
    struct api_write_options w = { .api = l->api,
                                   .request = { .verb = verbs[step],
                                                .kind = kind_info(KIND_LEASE),
                                                .ns = NODE_LEASE_NAMESPACE,
                                                .name = l->name,
                                                .patch = CLIENT_PATCH_MERGE,
                                                .deadline_ns = NODE_LEASE_RENEW_NS,
                                                .is_urgent = true },
                                   .object = l->lease, /* of a renewal */
                                   .step = API_STEP_LEASE,
                                   .done = on_answer,
                                   .ctx = l };

    if (step == LEASE_CREATE) {
        write_new(l, &body);
    } else if (step == LEASE_RENEW) {
        w.decide = decide_renewal;
    } else if (step == LEASE_MAKE_NAMESPACE) {
        w.request.kind = kind_info(KIND_NAMESPACE);
        w.request.ns = NULL;
        w.request.name = NODE_LEASE_NAMESPACE;
        write_namespace(&body);
    }
    w.failed = body.failed;
    w.body = buf_str(&body);
    l->step = step;
    l->requests++;
    api_write_start(&l->write, &w);
}

static void on_round(void *ctx)
{
    struct node_lease *l = ctx;

    assert(l->node_uid);
    l->requests = 0;
    l->started_ns = loop_now_ns(l->o.loop);
    send_step(l, l->lease ? LEASE_RENEW : LEASE_READ);
}

static void end_well(struct node_lease *l, const struct object *o)
{
    set_lease(l, o);
    patience_end(&l->patience, "node lease renewed again", l->name);
    timer_arm(&l->timer, l->started_ns + NODE_LEASE_RENEW_NS);
}

/* The cached lease may be outdated after a failure. */
static void end_badly(struct node_lease *l, const struct client_answer *a)
{
    set_lease(l, NULL);
    timer_arm_after(&l->timer, patience_fail(&l->patience, "cannot renew node lease", l->name, &a->error));
}

/* The step that follows a response; LEASE_STEP_COUNT: none. */
static enum lease_step step_after(enum lease_step step, enum api_outcome outcome,
                                  const struct client_answer *a)
{
    switch (step) {
    case LEASE_READ:
        return a->r == 0 ? LEASE_RENEW : a->r == -ERR_NOT_FOUND ? LEASE_CREATE : LEASE_STEP_COUNT;
    case LEASE_CREATE: /* not found refers to the namespace */
        return a->r == -ERR_EXISTS      ? LEASE_READ
               : a->r == -ERR_NOT_FOUND ? LEASE_MAKE_NAMESPACE
                                        : LEASE_STEP_COUNT;
    case LEASE_MAKE_NAMESPACE:
        return a->r == 0 || a->r == -ERR_EXISTS ? LEASE_CREATE : LEASE_STEP_COUNT;
    case LEASE_RENEW:
        if (outcome == API_CONFLICT && a->object)
            return LEASE_RENEW;
        return a->r == -ERR_NOT_FOUND ? LEASE_READ : LEASE_STEP_COUNT;
    case LEASE_STEP_COUNT:
        break;
    }
    return LEASE_STEP_COUNT;
}

static void on_answer(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct node_lease *l = ctx;
    enum lease_step next = step_after(l->step, outcome, a);

    l->requests += outcome == API_CONFLICT; /* the read after it */
    if (outcome == API_DONE && (l->step == LEASE_CREATE || l->step == LEASE_RENEW)) {
        end_well(l, a->object);
    } else if (next != LEASE_STEP_COUNT && l->requests < ROUND_REQUESTS_MAX) {
        set_lease(l, next == LEASE_RENEW ? a->object : NULL);
        send_step(l, next);
    } else {
        end_badly(l, a);
    }
}

/* --- Start and end --- */

int node_lease_new(const struct component_deps *o, const char *name, struct node_lease **ret,
                   struct error *err)
{
    _cleanup_(node_lease_free_p) struct node_lease *l = calloc(1, sizeof *l);
    int r;

    if (!l)
        return error_no_memory(err);
    l->o = *o;
    r = component_api(o, NODE_FIELD_MANAGER, &l->api, err);
    if (r < 0)
        return r;
    l->name = name;
    patience_init(&l->patience, component_seed(o, "node lease"));
    timer_init(&l->timer, o->loop, on_round, l);
    *ret = TAKE(l);
    return 0;
}

void node_lease_pause(struct node_lease *l)
{
    api_write_cancel(&l->write);
    timer_disarm(&l->timer);
    set_lease(l, NULL);
    free(l->node_uid);
    l->node_uid = NULL;
}

struct node_lease *node_lease_free(struct node_lease *l)
{
    if (!l)
        return NULL;
    node_lease_pause(l);
    free(l);
    return NULL;
}

void node_lease_keep(struct node_lease *l, const char *node_uid)
{
    if (l->node_uid && strcmp(l->node_uid, node_uid) == 0)
        return;
    node_lease_pause(l);
    l->node_uid = strdup(node_uid);
    if (l->node_uid)
        timer_arm_after(&l->timer, 0);
}

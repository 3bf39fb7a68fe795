/* Finds local volumes whose node affinity no node matches, and records events about them.
 *
 * Affected volumes are kept in a map until a node matches again or they are deleted; their key is queued with
 * the delay of the next report. */
#include "controllers/stranded/stranded.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "api/node.h"
#include "api/volume.h"
#include "base/map.h"
#include "base/mutant.h"

#define QUEUE "stranded_volume"

/* Indexes of the caches: nodes by host name; local volumes by the host names in their affinity, or "" for a
 * term without host names. */
#define NODES_BY_HOST "stranded-host"
#define VOLUMES_BY_HOST "stranded-host"

/* A volume that no node matches. */
struct unreachable_volume {
    uint64_t report_at_ns; /* time of the next report */
    bool is_reported;
    char name[];
};

struct stranded {
    struct loop *loop;
    struct informer *nodes;
    struct informer *volumes;
    struct informer *claims;
    struct informer_handler nodes_handler;
    struct informer_handler volumes_handler;
    struct controller *controller;
    struct recorder *recorder;
    struct map unreachable; /* by volume name */
};

/* --- Matching nodes --- */

static bool is_local(const struct volume *v)
{
    return v->source.kind == SOURCE_LOCAL && v->affinity;
}

static bool node_matches(const struct object *node, const struct node_selector *sel)
{
    struct error ignored;

    return node_selector_matches(sel, node->labels.items, node->labels.count, /* node_name= */ NULL,
                                 &ignored) == 1;
}

static bool host_matches(const void *ctx, const char *host, const struct node_selector *sel)
{
    const struct stranded *s = ctx;
    struct informer_cursor at;

    for (const struct object *o = informer_first_by(s->nodes, NODES_BY_HOST, str_of(host), &at); o;
         o = informer_next(&at))
        if (node_matches(o, sel))
            return true;
    return false;
}

static bool any_node_matches(const void *ctx, const struct node_selector *sel)
{
    const struct stranded *s = ctx;
    struct informer_cursor at;

    for (const struct object *o = informer_first(s->nodes, &at); o; o = informer_next(&at))
        if (node_matches(o, sel))
            return true;
    return false;
}

static bool is_reached(const struct stranded *s, const struct volume *v)
{
    const struct node_lookup nodes = { any_node_matches, host_matches, s };

    return node_selector_is_met(v->affinity, &nodes);
}

/* --- Events --- */

/* The claim that is bound to the volume; NULL for none. */
static const struct object *claim_with(const struct stranded *s, const struct volume *v)
{
    const struct object *o = v->claim.is_set ? informer_get(s->claims, v->claim.ns, v->claim.name) : NULL;

    return o && strcmp(o->uid, v->claim.uid) == 0 && strcmp(claim_of(o)->volume_name, v->obj.name) == 0
               ? o
               : NULL;
}

static void report_node_gone(const struct stranded *s, const struct volume *v)
{
    const struct object *claim = claim_with(s, v);

    recorder_event(s->recorder, &v->obj, EVENT_WARNING, "NodeGone",
                   "no node matches the node affinity of this volume: its data is unreachable until a "
                   "matching node is registered");
    if (claim)
        recorder_event(s->recorder, claim, EVENT_WARNING, "NodeGone",
                       "no node matches the node affinity of volume \"%s\": its data is unreachable until a "
                       "matching node is registered",
                       v->obj.name);
}

static void report_node_back(const struct stranded *s, const struct volume *v)
{
    const struct object *claim = claim_with(s, v);

    recorder_event(s->recorder, &v->obj, EVENT_NORMAL, "NodeBack",
                   "a node matches the node affinity of this volume again");
    if (claim)
        recorder_event(s->recorder, claim, EVENT_NORMAL, "NodeBack",
                       "a node matches the node affinity of volume \"%s\" again", v->obj.name);
}

/* --- The sync --- */

static struct unreachable_volume *unreachable_get(struct stranded *s, struct str name)
{
    struct unreachable_volume *u = map_get(&s->unreachable, name);

    if (u)
        return u;
    u = calloc(1, sizeof *u + name.len + 1);
    if (!u)
        return NULL;
    memcpy(u->name, name.s, name.len);
    u->report_at_ns = loop_now_ns(s->loop) + (MUTANT("stranded-reports-at-once") ? 0 : STRANDED_NS);
    if (map_put(&s->unreachable, (struct str){ u->name, name.len }, u, NULL) < 0) {
        free(u);
        return NULL;
    }
    return u;
}

static enum sync_result sync_stranded_volume(void *ctx, struct str key)
{
    struct stranded *s = ctx;
    const struct object *o = informer_get_key(s->volumes, key);
    const struct volume *v = o && is_local(volume_of(o)) ? volume_of(o) : NULL;
    uint64_t now_ns = loop_now_ns(s->loop);
    struct unreachable_volume *u;

    if (!v || is_reached(s, v)) {
        u = map_remove(&s->unreachable, key);
        if (u && u->is_reported && v)
            report_node_back(s, v);
        free(u);
        return SYNC_DONE;
    }
    u = unreachable_get(s, key);
    if (!u)
        return SYNC_AGAIN; /* no memory */
    if (now_ns >= u->report_at_ns) {
        report_node_gone(s, v);
        u->is_reported = true;
        u->report_at_ns = now_ns + STRANDED_REPEAT_NS;
    }
    workqueue_add_after(controller_queue(s->controller), key, u->report_at_ns - now_ns);
    return SYNC_DONE;
}

/* --- Event handlers --- */

/* Affinity and claim of a volume may change, its source cannot. */
static void on_volume(void *ctx, const struct object *o)
{
    struct stranded *s = ctx;

    if (is_local(volume_of(o)))
        component_add(s->controller, o);
}

static void requeue_host(struct stranded *s, const char *host)
{
    struct informer_cursor at;

    for (const struct object *o = informer_first_by(s->volumes, VOLUMES_BY_HOST, str_of(host), &at); o;
         o = informer_next(&at))
        component_add(s->controller, o);
}

/* Requeues the volumes that this node may match. */
static void on_node(void *ctx, const struct object *o, bool is_initial)
{
    struct stranded *s = ctx;
    const char *host = object_label(o, LABEL_HOSTNAME);

    if (is_initial)
        return; /* all volumes are queued anyway */
    if (host && host[0])
        requeue_host(s, host);
    requeue_host(s, "");
}

static bool same_labels(const struct object *a, const struct object *b)
{
    if (a->labels.count != b->labels.count)
        return false;
    for (uint32_t i = 0; i < a->labels.count; i++)
        if (strcmp(a->labels.items[i].key, b->labels.items[i].key) != 0 ||
            strcmp(a->labels.items[i].value, b->labels.items[i].value) != 0)
            return false;
    return true;
}

static void on_node_update(void *ctx, const struct object *old, const struct object *o)
{
    if (same_labels(old, o))
        return; /* a heartbeat */
    on_node(ctx, old, /* is_initial= */ false);
    on_node(ctx, o, /* is_initial= */ false);
}

static void on_node_delete(void *ctx, const struct object *o, bool is_final_unknown)
{
    (void)is_final_unknown;
    if (!MUTANT("stranded-overlooks-nodes-that-go"))
        on_node(ctx, o, /* is_initial= */ false);
}

/* --- Lifecycle --- */

static void index_node(const struct object *o, index_emit_fn *emit, void *ctx)
{
    const char *host = object_label(o, LABEL_HOSTNAME);

    if (host)
        emit(ctx, str_of(host));
}

static void index_volume(const struct object *o, index_emit_fn *emit, void *ctx)
{
    const struct volume *v = volume_of(o);

    for (size_t i = 0; is_local(v) && i < v->affinity->count; i++) {
        const struct requirement *q = node_term_hosts(&v->affinity->terms[i]);

        if (!q)
            emit(ctx, str_of(""));
        for (size_t k = 0; q && k < q->values_count; k++)
            emit(ctx, str_of(q->values[k]));
    }
}

static const struct informer_index nodes_index = { NODES_BY_HOST, index_node };
static const struct informer_index volumes_index = { VOLUMES_BY_HOST, index_volume };

int stranded_new(const struct component_deps *o, struct stranded **ret, struct error *err)
{
    _cleanup_(stranded_free_p) struct stranded *s = calloc(1, sizeof *s);
    struct controller_options c = { .queue = { .loop = o->loop,
                                               .name = QUEUE,
                                               .metrics = o->metrics,
                                               .seed = component_seed(o, QUEUE),
                                               .max_ns = WORKQUEUE_CONTROLLER_MAX_NS },
                                    .sync = sync_stranded_volume,
                                    .ctx = s };
    int r;

    if (!s)
        return error_no_memory(err);
    s->loop = o->loop;
    map_init(&s->unreachable, (struct hash_seed){ component_seed(o, QUEUE), component_seed(o, QUEUE "-2") });
    s->nodes = component_indexed(o->informers, KIND_NODE, &nodes_index, err);
    s->volumes = s->nodes ? component_indexed(o->informers, KIND_VOLUME, &volumes_index, err) : NULL;
    s->claims = s->volumes ? informers_get(o->informers, KIND_CLAIM, err) : NULL;
    if (!s->claims)
        return -(int)err->code;
    r = component_recorder(o, "stranded-volume-controller", &s->recorder, err);
    if (r == 0)
        r = controller_new(&c, &s->controller, err);
    if (r == 0)
        *ret = TAKE(s);
    return r;
}

const char *stranded_check(const struct stranded *s)
{
    return controller_check(s->controller);
}

void stranded_start(struct stranded *s)
{
    assert(!s->nodes_handler.informer); /* once */
    s->nodes_handler = (struct informer_handler){
        .on_add = on_node, .on_update = on_node_update, .on_delete = on_node_delete, .ctx = s
    };
    s->volumes_handler =
        (struct informer_handler){ .on_upsert = on_volume, .on_removed = on_volume, .ctx = s };
    informer_add_handler(s->nodes, &s->nodes_handler);
    informer_add_handler(s->volumes, &s->volumes_handler);
}

struct stranded *stranded_free(struct stranded *s)
{
    struct unreachable_volume *u;

    if (!s)
        return NULL;
    informer_remove_handler(&s->nodes_handler);
    informer_remove_handler(&s->volumes_handler);
    controller_free(s->controller);
    recorder_free(s->recorder);
    for (size_t at = 0; (u = map_next(&s->unreachable, &at, NULL));)
        free(u);
    map_done(&s->unreachable);
    free(s);
    return NULL;
}

/* The scheduler's table of nodes and of the pods on them, with the resources in use.
 *
 * A node that was deleted stays in by_name until its last pod is removed. Sums saturate, so removing a pod
 * adds up the remaining pods of its node again: O(pods of the node). All other operations are O(log nodes).
 */
#include "scheduler/nodes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "api/migration.h"
#include "base/cleanup.h"

#define UNLIMITED (-1)

/* --- Amounts --- */

/* In thousandths, rounded up; saturated. */
static int64_t quantity_milli(const struct quantity *q)
{
    struct quantity scaled = *q;

    scaled.exponent = (int16_t)(scaled.exponent + 3);
    scaled.verbatim = false;
    return quantity_value(&scaled);
}

static int64_t amount_of(const struct amounts *a, const char *name, int64_t fallback)
{
    const struct quantity *q = amounts_get(a, name);

    if (!q)
        return fallback;
    return strcmp(name, "cpu") == 0 ? quantity_milli(q) : quantity_value(q);
}

static int64_t add_saturated(int64_t a, int64_t b)
{
    int64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static int64_t max_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Init containers run one after the other, each beside the sidecars that came before it. */
struct needs pod_needs(const struct pod *p)
{
    struct needs sum = { 0 }, peak = { 0 }, sidecars = { 0 };

    for (uint32_t i = 0; i < p->containers_count; i++) {
        const struct pod_container *c = &p->containers[i];
        int64_t cpu = amount_of(&c->requests, "cpu", 0), memory = amount_of(&c->requests, "memory", 0);

        if (c->kind == CONTAINER_EPHEMERAL)
            continue;
        if (c->kind == CONTAINER_REGULAR || c->is_sidecar) {
            sum.milli_cpu = add_saturated(sum.milli_cpu, cpu);
            sum.memory = add_saturated(sum.memory, memory);
        }
        if (c->kind == CONTAINER_INIT && c->is_sidecar) {
            sidecars.milli_cpu = add_saturated(sidecars.milli_cpu, cpu);
            sidecars.memory = add_saturated(sidecars.memory, memory);
        } else if (c->kind == CONTAINER_INIT) {
            peak.milli_cpu = max_of(peak.milli_cpu, add_saturated(sidecars.milli_cpu, cpu));
            peak.memory = max_of(peak.memory, add_saturated(sidecars.memory, memory));
        }
    }
    for (uint32_t i = 0; i < p->volumes.count; i++)
        sum.claims +=
            pod_claim_name(&p->volumes.items[i]) || migration_source(p->volumes.items[i].type) != SOURCE_NONE;
    return (struct needs){ .milli_cpu = max_of(sum.milli_cpu, peak.milli_cpu),
                           .memory = max_of(sum.memory, peak.memory),
                           .pods = 1,
                           .claims = sum.claims };
}

static void needs_add(struct needs *to, const struct needs *n)
{
    to->milli_cpu = add_saturated(to->milli_cpu, n->milli_cpu);
    to->memory = add_saturated(to->memory, n->memory);
    to->pods += n->pods;
    to->claims += n->claims;
}

/* --- Nodes --- */

void nodes_init(struct nodes *n, struct hash_seed seed)
{
    *n = (struct nodes){ 0 };
    map_init(&n->by_name, seed);
    map_init(&n->pods, seed);
}

static void node_free(struct sched_node *s)
{
    if (s->node)
        (void)object_unref((struct object *)(uintptr_t)&s->node->obj);
    vec_done(&s->pods);
    free(s->name);
    free(s);
}

static void placed_pod_free(struct placed_pod *placed)
{
    (void)object_unref((struct object *)(uintptr_t)&placed->pod->obj);
    free(placed);
}

void nodes_done(struct nodes *n)
{
    struct placed_pod *placed;
    struct sched_node *s;

    for (size_t at = 0; (placed = map_next(&n->pods, &at, NULL));)
        placed_pod_free(placed);
    for (size_t at = 0; (s = map_next(&n->by_name, &at, NULL));)
        node_free(s);
    map_done(&n->pods);
    map_done(&n->by_name);
    vec_done(&n->all);
}

/* Index of the name in the sorted list of existing nodes, or where it belongs. */
static size_t place_of(const struct nodes *n, const char *name)
{
    size_t low = 0, high = n->all.count;

    while (low < high) {
        size_t mid = (low + high) / 2;
        if (strcmp(n->all.items[mid]->name, name) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

size_t nodes_after(const struct nodes *n, const char *name)
{
    size_t at = place_of(n, name);

    return at < n->all.count && strcmp(n->all.items[at]->name, name) == 0 ? at + 1 : at;
}

/* The entry of that name, created if missing. */
static struct sched_node *node_for(struct nodes *n, const char *name)
{
    struct sched_node *s = map_get(&n->by_name, str_of(name));

    if (s)
        return s;
    s = calloc(1, sizeof *s);
    if (s)
        s->name = strdup(name);
    if (!s || !s->name || map_put(&n->by_name, str_of(s->name), s, NULL) < 0) {
        if (s)
            node_free(s);
        return NULL;
    }
    return s;
}

static void drop_if_unused(struct nodes *n, struct sched_node *s)
{
    if (s->node || s->pods.count > 0)
        return;
    (void)map_remove(&n->by_name, str_of(s->name));
    node_free(s);
}

static void set_reluctant(struct nodes *n, struct sched_node *s, const struct node *node)
{
    n->reluctant -= s->is_reluctant;
    s->is_reluctant = false;
    for (uint32_t i = 0; node && i < node->taints.count; i++)
        s->is_reluctant |= node->taints.items[i].effect == TAINT_PREFER_NO_SCHEDULE;
    n->reluctant += s->is_reluctant;
}

int nodes_put(struct nodes *n, const struct node *node)
{
    struct sched_node *s = node_for(n, node->obj.name);
    const struct node *old;

    if (!s)
        return -ERR_NO_MEMORY;
    if (!s->node && vec_insert(&n->all, place_of(n, s->name), s) < 0) {
        drop_if_unused(n, s);
        return -ERR_NO_MEMORY;
    }
    old = s->node;
    s->node = node_of(object_ref(&node->obj));
    if (old)
        (void)object_unref((struct object *)(uintptr_t)&old->obj);
    set_reluctant(n, s, node);
    s->room = (struct needs){ .milli_cpu = amount_of(&node->allocatable, "cpu", UNLIMITED),
                              .memory = amount_of(&node->allocatable, "memory", UNLIMITED),
                              .pods = amount_of(&node->allocatable, "pods", UNLIMITED),
                              .claims = UNLIMITED }; /* limited per driver by the CSINode */
    return 0;
}

void nodes_remove(struct nodes *n, const char *name)
{
    struct sched_node *s = nodes_get(n, name);

    if (!s)
        return;
    vec_remove(&n->all, place_of(n, name));
    set_reluctant(n, s, /* node= */ NULL);
    (void)object_unref((struct object *)(uintptr_t)&s->node->obj);
    s->node = NULL;
    drop_if_unused(n, s);
}

struct sched_node *nodes_get(const struct nodes *n, const char *name)
{
    struct sched_node *s = map_get(&n->by_name, str_of(name));

    return s && s->node ? s : NULL;
}

/* --- Pods --- */

static void unplace_pod(struct nodes *n, struct placed_pod *placed)
{
    struct sched_node *s = placed->node;

    assert(placed->at < s->pods.count && s->pods.items[placed->at] == placed);
    (void)map_remove(&n->pods, str_of(placed->pod->obj.uid));
    s->pods.items[placed->at] = s->pods.items[s->pods.count - 1];
    s->pods.items[placed->at]->at = placed->at;
    s->pods.count--;
    s->used = (struct needs){ 0 }; /* sums may be saturated, so nothing is subtracted */
    for (size_t i = 0; i < s->pods.count; i++)
        needs_add(&s->used, &s->pods.items[i]->needs);
    drop_if_unused(n, s);
    placed_pod_free(placed);
}

static int place_pod(struct nodes *n, const struct pod *p, const char *node_name, bool is_assumed)
{
    struct placed_pod *placed = calloc(1, sizeof *placed);
    struct sched_node *s = node_for(n, node_name);

    if (!placed || !s || vec_push(&s->pods, placed) < 0) {
        free(placed);
        if (s)
            drop_if_unused(n, s);
        return -ERR_NO_MEMORY;
    }
    *placed = (struct placed_pod){ .pod = pod_of(object_ref(&p->obj)),
                                   .node = s,
                                   .needs = pod_needs(p),
                                   .is_assumed = is_assumed,
                                   .at = s->pods.count - 1 };
    if (map_put(&n->pods, str_of(placed->pod->obj.uid), placed, NULL) < 0) {
        s->pods.count--;
        drop_if_unused(n, s);
        placed_pod_free(placed);
        return -ERR_NO_MEMORY;
    }
    needs_add(&s->used, &placed->needs);
    return 0;
}

static bool has_ended(const struct pod *p)
{
    return p->phase == POD_SUCCEEDED || p->phase == POD_FAILED;
}

int nodes_put_pod(struct nodes *n, const struct pod *p)
{
    struct placed_pod *placed = map_get(&n->pods, str_of(p->obj.uid));

    if (placed && placed->is_assumed && p->node_name[0] == '\0' && !has_ended(p))
        return 0; /* still assumed */
    if (placed)
        unplace_pod(n, placed);
    return p->node_name[0] && !has_ended(p) ? place_pod(n, p, p->node_name, /* is_assumed= */ false) : 0;
}

void nodes_remove_pod(struct nodes *n, const char *uid)
{
    struct placed_pod *placed = map_get(&n->pods, str_of(uid));

    if (placed)
        unplace_pod(n, placed);
}

int nodes_assume(struct nodes *n, const struct pod *p, const char *node_name)
{
    assert(!nodes_placed(n, p->obj.uid));
    return place_pod(n, p, node_name, /* is_assumed= */ true);
}

void nodes_forget(struct nodes *n, const char *uid)
{
    struct placed_pod *placed = map_get(&n->pods, str_of(uid));

    if (placed && placed->is_assumed)
        unplace_pod(n, placed);
}

const struct placed_pod *nodes_placed(const struct nodes *n, const char *uid)
{
    return map_get(&n->pods, str_of(uid));
}

/* --- The invariant --- */

static const char *node_check(const struct nodes *n, const struct sched_node *s)
{
    struct needs used = { 0 };

    if (!s->node && s->pods.count == 0)
        return "a deleted node without pods was not freed";
    if (s->node && (place_of(n, s->name) >= n->all.count || n->all.items[place_of(n, s->name)] != s))
        return "an existing node is not in the sorted list";
    for (size_t i = 0; i < s->pods.count; i++) {
        const struct placed_pod *placed = s->pods.items[i];

        if (placed->node != s || placed->at != i || map_get(&n->pods, str_of(placed->pod->obj.uid)) != placed)
            return "a pod is listed by a node that it is not placed on";
        needs_add(&used, &placed->needs);
    }
    return used.pods == s->used.pods && used.claims == s->used.claims
               ? NULL
               : "the used resources of a node are wrong";
}

const char *nodes_check(const struct nodes *n)
{
    size_t pods = 0, there = 0, reluctant = 0;
    const struct sched_node *s;
    const char *wrong = NULL;

    for (size_t at = 0; !wrong && (s = map_next(&n->by_name, &at, NULL));) {
        wrong = node_check(n, s);
        pods += s->pods.count;
        there += s->node != NULL;
        reluctant += s->is_reluctant;
    }
    if (wrong)
        return wrong;
    if (pods != n->pods.count)
        return "a pod is placed on no node, or on two";
    return there == n->all.count && reluctant == n->reluctant ? NULL : "the number of nodes is wrong";
}

/* Volumes, nodes and pairs in memory. A pair is in two sorted arrays, of its volume and of its node, which
 * are short and searched by bisection. All changes of a pair's state go through pair_enter(). */
#include "controllers/attach/attach_state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mutant.h"
#include "base/reach.h"
#include "controllers/attach/attach_int.h"

/* --- Volumes and nodes by name --- */

static int volume_cmp(void *ctx, const void *a, const void *b)
{
    (void)ctx;
    return strcmp(((const struct attach_volume *)a)->name, ((const struct attach_volume *)b)->name);
}

static int volume_cmp_key(void *ctx, const void *key, const void *volume)
{
    (void)ctx;
    return strcmp(key, ((const struct attach_volume *)volume)->name);
}

static int node_cmp(void *ctx, const void *a, const void *b)
{
    (void)ctx;
    return strcmp(((const struct attach_node *)a)->name, ((const struct attach_node *)b)->name);
}

static int node_cmp_key(void *ctx, const void *key, const void *node)
{
    (void)ctx;
    return strcmp(key, ((const struct attach_node *)node)->name);
}

struct attach_node *attach_node(const struct attach *a, const char *name)
{
    return omap_find(&a->state.nodes, /* rank= */ 0, name);
}

static struct attach_volume *volume_find(const struct attach *a, const char *name)
{
    return omap_find(&a->state.volumes, /* rank= */ 0, name);
}

static void volume_on_retry(void *ctx)
{
    attach_state_mark(ctx);
}

static struct attach_volume *volume_get(struct attach *a, const char *name)
{
    struct attach_volume *v = volume_find(a, name);
    size_t len = strlen(name);

    if (v)
        return v;
    v = calloc(1, sizeof *v + len + 1);
    if (!v)
        return NULL;
    memcpy(v->name, name, len + 1);
    v->attach = a;
    v->label = attach_metrics_label(name);
    timer_init(&v->retry, a->o.part.loop, volume_on_retry, v);
    if (!v->label || omap_insert(&a->state.volumes, /* rank= */ 0, v) < 0) {
        free(v->label);
        free(v);
        return NULL;
    }
    attach_metrics_volume(a, v);
    return v;
}

struct attach_node *attach_state_node_get(struct attach *a, const char *name)
{
    struct attach_node *n = attach_node(a, name);
    size_t len = strlen(name);

    if (n)
        return n;
    n = calloc(1, sizeof *n + len + 1);
    if (!n)
        return NULL;
    memcpy(n->name, name, len + 1);
    n->attach = a;
    attach_status_init(n);
    if (omap_insert(&a->state.nodes, /* rank= */ 0, n) < 0) {
        free(n);
        return NULL;
    }
    return n;
}

static void volume_free(struct attach_volume *v)
{
    if (v->is_marked)
        TAILQ_REMOVE(&v->attach->state.marked_volumes, v, link);
    timer_disarm(&v->retry);
    held_spec_clear(&v->spec);
    vec_done(&v->pairs);
    free(v->label);
    free(v);
}

static void in_use_clear(struct attach_node *n)
{
    for (size_t i = 0; i < n->in_use.count; i++)
        free(n->in_use.items[i]);
    vec_done(&n->in_use);
}

static void node_free(struct attach_node *n)
{
    attach_status_done(n);
    in_use_clear(n);
    vec_done(&n->pairs);
    free(n);
}

static void volume_settle(struct attach_volume *v)
{
    if (v->pairs.count > 0)
        return;
    (void)omap_remove(&v->attach->state.volumes, /* rank= */ 0, v);
    volume_free(v);
}

/* Not while a write of its status is in flight. */
void attach_state_node_settle(struct attach_node *n)
{
    if (n->exists || n->pairs.count > 0 || api_write_is_active(&n->write))
        return;
    (void)omap_remove(&n->attach->state.nodes, /* rank= */ 0, n);
    node_free(n);
}

/* --- Pairs --- */

/* The index of the pair with that name in the array, or where it would be inserted: by node among the pairs
 * of a volume, by volume among the pairs of a node. */
static size_t place_among(struct attach_pair *const *pairs, size_t count, const char *name, bool by_node)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct attach_pair *p = pairs[middle];

        if (strcmp(by_node ? p->node->name : p->volume->name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static size_t place_in_volume(const struct attach_volume *v, const char *node)
{
    return place_among(v->pairs.items, v->pairs.count, node, /* by_node= */ true);
}

static size_t place_in_node(const struct attach_node *n, const char *volume)
{
    return place_among(n->pairs.items, n->pairs.count, volume, /* by_node= */ false);
}

static struct attach_pair *pair_of(const struct attach_volume *v, const char *node)
{
    size_t at = place_in_volume(v, node);

    return at < v->pairs.count && strcmp(v->pairs.items[at]->node->name, node) == 0 ? v->pairs.items[at]
                                                                                    : NULL;
}

struct attach_pair *attach_pair(const struct attach *a, const char *volume, const char *node)
{
    const struct attach_volume *v = volume_find(a, volume);

    return v ? pair_of(v, node) : NULL;
}

static void pair_on_unmount_timeout(void *ctx)
{
    struct attach_pair *p = ctx;

    attach_state_mark(p->volume);
}

static struct attach_pair *pair_new(struct attach *a, struct attach_volume *v, struct attach_node *n)
{
    struct attach_pair *p = calloc(1, sizeof *p);

    assert(v->attach == a && n->attach == a && !pair_of(v, n->name));
    if (!p)
        return NULL;
    p->volume = v;
    p->node = n;
    timer_init(&p->unmount_timer, a->o.part.loop, pair_on_unmount_timeout, p);
    if (vec_reserve(&v->pairs, 1) < 0 || vec_reserve(&n->pairs, 1) < 0) {
        free(p);
        return NULL;
    }
    (void)vec_insert(&v->pairs, place_in_volume(v, n->name), p); /* room was reserved */
    if (MUTANT("attach-links-wrong-node"))
        n = omap_first(&a->state.nodes, &(struct omap_cursor){ 0 });
    (void)vec_insert(&n->pairs, place_in_node(n, v->name), p);
    return p;
}

struct attach_pair *attach_pair_get(struct attach *a, const char *volume, const char *node)
{
    struct attach_volume *v = volume_get(a, volume);
    struct attach_node *n = v ? attach_state_node_get(a, node) : NULL;
    struct attach_pair *p = n ? pair_of(v, node) : NULL;

    if (n && !p)
        p = pair_new(a, v, n);
    if (!p) {
        if (n)
            attach_state_node_settle(n);
        if (v)
            volume_settle(v);
    }
    return p;
}

static void pair_free(struct attach_pair *p)
{
    timer_disarm(&p->unmount_timer);
    for (size_t i = 0; i < p->pods.count; i++)
        (void)object_unref(p->pods.items[i]);
    vec_done(&p->pods);
    held_spec_clear(&p->wanted);
    free(p->device);
    free(p);
}

void attach_pair_settle(struct attach_pair *p)
{
    struct attach_volume *v = p->volume;
    struct attach_node *n = p->node;

    if (pair_is_wanted(p) || p->state != PAIR_DETACHED || p->is_busy)
        return;
    assert(!p->is_reported && !timer_is_armed(&p->unmount_timer));
    assert(pair_of(v, n->name) == p && n->pairs.items[place_in_node(n, v->name)] == p);
    vec_remove(&v->pairs, place_in_volume(v, n->name));
    vec_remove(&n->pairs, place_in_node(n, v->name));
    pair_free(p);
    volume_settle(v);
    attach_state_node_settle(n);
}

/* --- Marks --- */

void attach_state_mark(struct attach_volume *v)
{
    if (!v->is_marked) {
        v->is_marked = true;
        TAILQ_INSERT_TAIL(&v->attach->state.marked_volumes, v, link);
    }
    attach_wake(v->attach);
}

void attach_state_mark_at(struct attach_volume *v, uint64_t at_ns)
{
    if (!timer_is_armed(&v->retry) || v->retry.node.at_ns > at_ns)
        timer_arm(&v->retry, at_ns);
}

void attach_state_mark_node(struct attach_node *n)
{
    for (size_t i = 0; i < n->pairs.count; i++)
        attach_state_mark(n->pairs.items[i]->volume);
}

void attach_state_mark_all(struct attach *a)
{
    struct omap_cursor at;

    for (struct attach_volume *v = omap_first(&a->state.volumes, &at); v; v = omap_next(&at))
        attach_state_mark(v);
}

/* --- Desired state --- */

size_t pair_find_pod(const struct attach_pair *p, const char *uid)
{
    size_t i = 0;

    while (i < p->pods.count && strcmp(p->pods.items[i]->uid, uid) != 0)
        i++;
    return i;
}

int attach_state_want(struct attach *a, const char *node, const char *volume, const struct held_spec *spec,
                      const struct object *pod, struct error *err)
{
    struct attach_node *n = attach_node(a, node);
    struct attach_pair *p;

    if (!n || !n->is_managed)
        return error_set(err, ERR_NOT_FOUND,
                         "no node with the name \"%s\" exists in the list of managed nodes", node);
    p = attach_pair_get(a, volume, node);
    if (!p)
        return error_no_memory(err);
    if (pair_find_pod(p, pod->uid) < p->pods.count)
        return 0;
    if (vec_reserve(&p->pods, 1) < 0) {
        attach_pair_settle(p);
        return error_no_memory(err);
    }
    if (!pair_is_wanted(p)) {
        held_spec_copy(&p->wanted, spec);
        attach_metrics_wanted(p, 1);
    }
    p->pods.items[p->pods.count++] = object_ref(pod);
    attach_metrics_pod(p, 1);
    attach_state_mark(p->volume);
    return 0;
}

void attach_state_unwant_pod(struct attach_pair *p, size_t index)
{
    assert(index < p->pods.count);
    (void)object_unref(p->pods.items[index]);
    vec_remove(&p->pods, index);
    attach_metrics_pod(p, -1);
    if (pair_is_wanted(p))
        return;
    attach_metrics_wanted(p, -1);
    held_spec_clear(&p->wanted);
    p->is_multi_attach_reported = false;
    attach_state_mark(p->volume);
    attach_pair_settle(p);
}

void attach_state_unwant(struct attach_pair *p)
{
    for (size_t i = p->pods.count; i > 0; i--)
        attach_state_unwant_pod(p, i - 1);
}

void attach_state_forget_pod(struct attach *a, const char *node, const char *pod_uid)
{
    struct attach_node *n = attach_node(a, node);

    for (size_t i = n ? n->pairs.count : 0; i > 0; i--) { /* removing the last pair may free the node */
        struct attach_pair *p = n->pairs.items[i - 1];
        size_t at = pair_find_pod(p, pod_uid);

        if (at < p->pods.count)
            attach_state_unwant_pod(p, at);
    }
}

/* --- Actual state --- */

/* The only function that changes the state. */
static void pair_enter(struct attach_pair *p, enum pair_state next)
{
    bool was_annotated = attach_status_is_annotated(p);

    assert(next < PAIR_STATE_COUNT && (next == PAIR_ATTACHED || !p->is_reported));
    if (p->state == PAIR_DETACHED && next != PAIR_DETACHED) {
        p->is_assumed_in_use = true;
        attach_metrics_actual(p, 1);
    } else if (p->state != PAIR_DETACHED && next == PAIR_DETACHED) {
        p->is_assumed_in_use = false;
        p->is_detach_requested = false;
        timer_disarm(&p->unmount_timer);
        attach_metrics_actual(p, -1);
    }
    reach_move(REACH_ATTACH_PAIR, PAIR_STATE_COUNT, p->state, next);
    p->state = next;
    p->was_reported = p->was_reported && next != PAIR_DETACHED;
    p->changes = ++p->volume->attach->changes;
    if (attach_status_is_annotated(p) != was_annotated) {
        p->node->report++;
        attach_status_mark(p->node);
    }
    if (next != PAIR_UNCERTAIN) /* after a failure the caller sets the delay */
        attach_state_mark(p->volume);
}

void attach_state_set_attached(struct attach_pair *p, const struct held_spec *spec, char *device)
{
    held_spec_copy(&p->volume->spec, spec);
    free(p->device);
    p->device = device;
    pair_enter(p, PAIR_ATTACHED);
    attach_state_report(p, true);
}

void attach_state_set_uncertain(struct attach_pair *p, const struct held_spec *spec)
{
    assert(!p->is_reported); /* only attached volumes are reported */
    held_spec_copy(&p->volume->spec, spec);
    free(p->device);
    p->device = NULL;
    pair_enter(p, PAIR_UNCERTAIN);
}

void attach_state_set_detached(struct attach_pair *p)
{
    bool is_anywhere = false;

    attach_state_report(p, false);
    free(p->device);
    p->device = NULL;
    pair_enter(p, PAIR_DETACHED);
    for (size_t i = 0; i < p->volume->pairs.count; i++)
        is_anywhere = is_anywhere || p->volume->pairs.items[i]->state != PAIR_DETACHED;
    if (!is_anywhere)
        held_spec_clear(&p->volume->spec);
    attach_pair_settle(p);
}

void attach_state_report(struct attach_pair *p, bool is_reported)
{
    assert(!is_reported || p->state == PAIR_ATTACHED);
    if (p->is_reported == is_reported)
        return;
    p->is_reported = is_reported;
    p->was_reported = p->was_reported || is_reported;
    p->report = ++p->node->report;
    attach_status_mark(p->node);
}

bool attach_state_is_unreported(const struct attach_pair *p)
{
    if (MUTANT("attach-detaches-what-is-reported"))
        return !p->is_reported;
    return !p->is_reported && p->node->acknowledged >= p->report && !p->node->may_have_stale_write;
}

/* --- In use --- */

static int name_cmp(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void attach_state_confirm_in_use(struct attach_node *n)
{
    for (size_t i = 0; i < n->pairs.count; i++)
        if (n->pairs.items[i]->is_assumed_in_use) {
            n->pairs.items[i]->is_assumed_in_use = false;
            attach_state_mark(n->pairs.items[i]->volume);
        }
}

static char **sorted_names(struct texts volumes)
{
    char **names = calloc(volumes.count ? volumes.count : 1, sizeof *names);
    uint32_t count = 0;

    while (names && count < volumes.count && (names[count] = strdup(volumes.items[count])))
        count++;
    if (names && count == volumes.count) {
        if (count > 0)
            qsort(names, count, sizeof *names, name_cmp);
        return names;
    }
    while (count > 0)
        free(names[--count]);
    free(names);
    return NULL;
}

int attach_state_set_in_use(struct attach_node *n, struct texts volumes)
{
    char **names = sorted_names(volumes);
    bool is_news = n->in_use.count != volumes.count;

    if (!names)
        return -ERR_NO_MEMORY;
    for (size_t i = 0; i < volumes.count && !is_news; i++)
        is_news = strcmp(n->in_use.items[i], names[i]) != 0;
    in_use_clear(n);
    n->in_use.items = names;
    n->in_use.count = volumes.count;
    n->in_use.cap = volumes.count ? volumes.count : 1;
    if (is_news)
        attach_state_mark_node(n);
    attach_state_confirm_in_use(n);
    return 0;
}

bool attach_state_is_in_use(const struct attach_pair *p)
{
    const char *name = p->volume->name;

    if (p->is_assumed_in_use)
        return true;
    return p->node->in_use.count > 0 && bsearch(&name, p->node->in_use.items, p->node->in_use.count,
                                                sizeof p->node->in_use.items[0], name_cmp) != NULL;
}

/* --- Lifecycle --- */

void attach_state_init(struct attach *a)
{
    omap_init(&a->state.volumes, (struct omap_order){ volume_cmp, volume_cmp_key, NULL });
    omap_init(&a->state.nodes, (struct omap_order){ node_cmp, node_cmp_key, NULL });
    TAILQ_INIT(&a->state.marked_volumes);
    TAILQ_INIT(&a->state.marked_nodes);
}

void attach_state_done(struct attach *a)
{
    struct omap_cursor at;

    for (struct attach_volume *v = omap_first(&a->state.volumes, &at); v; v = omap_next(&at)) {
        for (size_t i = 0; i < v->pairs.count; i++)
            pair_free(v->pairs.items[i]);
        volume_free(v);
    }
    for (struct attach_node *n = omap_first(&a->state.nodes, &at); n; n = omap_next(&at))
        node_free(n);
    omap_done(&a->state.volumes);
    omap_done(&a->state.nodes);
}

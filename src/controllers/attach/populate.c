/* The slow pass: what was missed, and attachments that nobody knows of, once a minute; all pods, every third.
 */
#include "controllers/attach/attach_int.h"

#include <string.h>

#include "base/log.h"

#define POPULATE_NS (60 * NS_PER_S)
#define ALL_PODS_NS (180 * NS_PER_S)

static bool is_gone(const struct attach *a, const struct object *pod)
{
    const struct object *now = informer_get(a->pods, pod->ns, pod->name);

    return !now || strcmp(now->uid, pod->uid) != 0 || pod_is_terminated(pod_of(now));
}

/* A driver may have said meanwhile that its volumes need no attaching. */
static bool is_attachable(struct attach *a, const struct worlds_pair *p)
{
    struct attach_means m;
    struct error err;

    return attach_means_find(a, &p->wanted, p->node->name, &m, /* ret_name= */ NULL, &err) < 0 || m.attacher;
}

/* What is to be detached is looked at again, since a plugin may be back. May take the pair away. */
static void check_pair(struct attach *a, struct worlds_pair *p)
{
    if (!pair_is_wanted(p))
        worlds_mark(p->volume);
    if (pair_is_wanted(p) && !is_attachable(a, p)) {
        worlds_unwant(p);
        return;
    }
    for (size_t i = p->pods.count; i > 0; i--)
        if (is_gone(a, p->pods.items[i - 1]))
            worlds_unwant_pod(p, i - 1);
}

/* From the last pair to the first: whatever goes away stands behind. */
static void check_node(struct attach *a, struct worlds_node *n)
{
    for (size_t i = n->pairs.count; i > 0; i--)
        check_pair(a, n->pairs.items[i - 1]);
}

/* A node that is gone goes with its last pair: the cursor is set anew. */
static void check_wishes(struct attach *a)
{
    struct omap_cursor at;
    struct worlds_node *n = omap_first(&a->worlds.nodes, &at), *next;

    for (; n; n = next) {
        next = omap_next(&at);
        check_node(a, n);
        if (next)
            (void)omap_lower_bound(&a->worlds.nodes, /* rank= */ 0, next->name, &at);
    }
}

static void look_at_all_pods(struct attach *a)
{
    struct informer_cursor at;

    for (const struct object *o = informer_first(a->pods, &at); o; o = informer_next(&at))
        attach_inputs_pod(a, pod_of(o));
    a->all_pods_at_ns = loop_now_ns(a->o.part.loop);
}

static void on_populate(void *ctx)
{
    struct attach *a = ctx;

    timer_arm_after(&a->populate_timer, POPULATE_NS);
    check_wishes(a);
    attach_recover_attachments(a);
    if (loop_now_ns(a->o.part.loop) - a->all_pods_at_ns >= ALL_PODS_NS)
        look_at_all_pods(a);
}

void attach_populate_start(struct attach *a)
{
    timer_init(&a->populate_timer, a->o.part.loop, on_populate, a);
    timer_arm_after(&a->populate_timer, POPULATE_NS);
    a->all_pods_at_ns = loop_now_ns(a->o.part.loop);
}

void attach_populate_stop(struct attach *a)
{
    timer_disarm(&a->populate_timer);
}

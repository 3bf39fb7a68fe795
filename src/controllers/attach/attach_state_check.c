/* Checks the invariants of the attach controller's state and of its operations. For the simulator; visits all
 * pairs. */
#include "controllers/attach/attach_int.h"

#include <string.h>

#include "base/tailq.h"

/* Counted during a walk. */
struct state_sums {
    size_t pairs, marked, busy;
};

/* A detached volume is neither reported nor being detached. */
static const char *detached_check(const struct attach_pair *p)
{
    if (p->is_reported || p->was_reported || p->device)
        return "a detached volume is reported as attached";
    if (p->is_detach_requested || p->is_assumed_in_use || timer_is_armed(&p->unmount_timer))
        return "a detach is in progress for a detached volume";
    return pair_is_wanted(p) || p->is_busy ? NULL : "an unused pair was not freed";
}

static const char *pair_check(const struct attach_pair *p)
{
    if (p->state >= PAIR_STATE_COUNT)
        return "a pair has an invalid state";
    if (p->is_reported && p->state != PAIR_ATTACHED)
        return "a volume is reported as attached and may not be";
    if (p->is_reported && !p->was_reported)
        return "a volume is reported as attached and not marked so";
    if (p->report > p->node->report || p->changes > p->volume->attach->changes)
        return "a pair has a higher number than its counter";
    if (!pair_is_wanted(p) && (p->wanted.holder || p->is_multi_attach_reported))
        return "an unwanted pair has the spec of a wanted one";
    return p->state == PAIR_DETACHED ? detached_check(p) : NULL;
}

static const char *volume_check(const struct attach *a, const struct attach_volume *v,
                                struct state_sums *sums)
{
    const char *wrong = v->attach == a && v->pairs.count > 0 ? NULL : "a volume without pairs was not freed";

    for (size_t i = 0; i < v->pairs.count && !wrong; i++) {
        const struct attach_pair *p = v->pairs.items[i];

        sums->busy += p->is_busy;
        if (p->volume != v || attach_node(a, p->node->name) != p->node)
            wrong = "a pair is linked to the wrong volume or node";
        else if (i > 0 && strcmp(v->pairs.items[i - 1]->node->name, p->node->name) >= 0)
            wrong = "a volume's pairs are out of order";
        else
            wrong = pair_check(p);
    }
    sums->pairs += v->pairs.count;
    sums->marked += v->is_marked;
    return wrong;
}

static const char *node_check(const struct attach *a, const struct attach_node *n, struct state_sums *sums)
{
    if (n->attach != a || (!n->exists && n->pairs.count == 0 && !api_write_is_active(&n->write)))
        return "a node without pairs was not freed";
    if (n->acknowledged > n->report || n->sent > n->report)
        return "a report was acknowledged that was not sent";
    for (size_t i = 0; i < n->pairs.count; i++) {
        const struct attach_pair *p = n->pairs.items[i];

        if (p->node != n || attach_pair(a, p->volume->name, n->name) != p)
            return "a pair is linked to the wrong node";
        if (i > 0 && strcmp(n->pairs.items[i - 1]->volume->name, p->volume->name) >= 0)
            return "a node's pairs are out of order";
    }
    for (size_t i = 1; i < n->in_use.count; i++)
        if (strcmp(n->in_use.items[i - 1], n->in_use.items[i]) > 0)
            return "volumes in use are out of order";
    sums->pairs += n->pairs.count;
    sums->marked += n->is_marked;
    return NULL;
}

const char *attach_state_check(const struct attach *a)
{
    const struct attach_state *w = &a->state;
    struct state_sums volumes = { 0 }, nodes = { 0 };
    size_t count = 0, in_ops = 0;
    const char *wrong = NULL;
    struct omap_cursor at;

    for (const struct attach_volume *v = omap_first(&w->volumes, &at); v && !wrong; v = omap_next(&at))
        wrong = volume_check(a, v, &volumes);
    for (const struct attach_node *n = omap_first(&w->nodes, &at); n && !wrong; n = omap_next(&at))
        wrong = node_check(a, n, &nodes);
    if (wrong)
        return wrong;
    if (volumes.pairs != nodes.pairs)
        return "a pair is linked to a volume and not to a node, or the reverse";
    if (!tailq_is_sound(&w->marked_volumes, offsetof(struct attach_volume, link), w->volumes.count, &count) ||
        count != volumes.marked)
        return "the list of marked volumes is wrong";
    if (!tailq_is_sound(&w->marked_nodes, offsetof(struct attach_node, link), w->nodes.count, &count) ||
        count != nodes.marked)
        return "the list of marked nodes is wrong";
    wrong = attach_op_check(a, &in_ops);
    if (!wrong && in_ops != volumes.busy)
        wrong = "a pair is busy without an operation";
    return wrong;
}

const char *attach_check(const struct attach *a)
{
    const char *wrong = operations_check(a->operations);

    if (!wrong && a->slots_held > ATTACH_REQUESTS_MAX)
        wrong = "more requests in flight than allowed";
    return wrong ? wrong : attach_state_check(a);
}

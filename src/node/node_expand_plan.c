/* Decides from a claim's status whether this node has to expand the volume, and classifies failures. Pure
 * functions; node_expand.c performs the steps. */
#include "node/node_expand_int.h"

#include "api/storage.h"

static bool is_everywhere_the_same(const struct claim *c)
{
    return !(c->modes & ACCESS_RWX) || object_annotation(&c->obj, ANN_NODE_EXPANSION_NOT_REQUIRED) != NULL;
}

struct growth_plan growth_plan(const struct claim *c, const struct volume *v, bool in_use, bool is_read_only)
{
    struct growth_plan p = { .to = c->has_allocated ? c->allocated : v->capacity };

    if (!in_use && quantity_cmp(&c->capacity, &v->capacity) >= 0)
        p.what = GROWTH_NONE;
    else if (is_read_only)
        p.what = GROWTH_READ_ONLY;
    else if (c->resize == RESIZE_NONE && !c->has_allocated)
        p.what = GROWTH_PLAIN;
    else if (c->resize == RESIZE_NONE && quantity_cmp(&c->capacity, &p.to) >= 0)
        p.what = is_everywhere_the_same(c) ? GROWTH_OVER : GROWTH_HERE_TOO;
    else if (c->resize == RESIZE_NODE_PENDING)
        p.what = GROWTH_BEGIN;
    else if (c->resize == RESIZE_NODE_IN_PROGRESS)
        p.what = GROWTH_GO_ON;
    else
        p.what = GROWTH_NOT_NOW; /* the controller has to act first, or the size is infeasible */
    return p;
}

struct growth_failure growth_failure(const struct growth_plan *p, const struct claim *c, enum err code,
                                     bool had_failed)
{
    struct growth_failure f = { 0 };
    bool has_steps = p->what != GROWTH_PLAIN;

    if (code == ERR_UNSUPPORTED && (p->what == GROWTH_PLAIN || p->what == GROWTH_HERE_TOO)) {
        f.is_over = true;
        return f;
    }
    /* A call that never began does not change the volume. */
    f.is_reported = has_steps && code != ERR_NO_MEMORY && code != ERR_CANCELLED;
    /* After a second failure, a request for another size makes the current one infeasible, which releases the
     * claim from it. */
    f.is_infeasible =
        f.is_reported && (code == ERR_INVALID || (had_failed && quantity_cmp(&c->request, &p->to) != 0));
    f.is_refused = code == ERR_BUSY;
    return f;
}

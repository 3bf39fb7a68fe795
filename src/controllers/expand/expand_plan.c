#include "controllers/expand/expand_int.h"

#include <string.h>

#include "api/migration.h"

int expand_find_plugin(const struct expand_plugin *const *all, const struct volume_source *s,
                       const struct expand_plugin **ret, struct error *err)
{
    const struct expand_plugin *found = NULL;

    for (; *all; all++) {
        if (!(*all)->can_support(s))
            continue;
        if (found)
            return error_set(err, ERR_INVALID, "multiple volume plugins matched: %s,%s", found->name,
                             (*all)->name);
        found = *all;
    }
    *ret = found;
    return 0;
}

bool expand_is_satisfied(const struct claim *c)
{
    return quantity_cmp(&c->request, &c->capacity) <= 0;
}

bool expand_is_by_hand(const struct volume *v)
{
    return v->source.kind == SOURCE_LOCAL || v->source.kind == SOURCE_HOST_PATH ||
           v->source.kind == SOURCE_NFS;
}

static bool is_bound_to(const struct volume *v, const struct claim *c)
{
    return v->claim.is_set && strcmp(v->claim.ns, c->obj.ns) == 0 && strcmp(v->claim.uid, c->obj.uid) == 0;
}

/* What was begun is ended before anything else is, but for what the storage called impossible. */
static struct quantity target_of(const struct claim *c, bool volume_is_large)
{
    bool is_free =
        !volume_is_large && (c->resize == RESIZE_NONE || c->resize == RESIZE_CONTROLLER_INFEASIBLE);

    return c->has_allocated && !is_free ? c->allocated : c->request;
}

static void decide_size(const struct claim *c, const struct volume *v, struct expand_decision *d)
{
    bool is_large = quantity_cmp(&v->capacity, &c->request) >= 0;

    if (is_large && (c->resize == RESIZE_NODE_PENDING || c->resize == RESIZE_NODE_IN_PROGRESS)) {
        d->plan = EXPAND_NOTHING; /* the node's turn */
    } else if (is_large && c->resize == RESIZE_NODE_INFEASIBLE) {
        d->plan = EXPAND_TO_NODE;
    } else {
        d->plan = EXPAND_TO;
        d->to = target_of(c, is_large);
    }
}

/* No plugin expands it. A file system on a local disk is the node's to grow, which then tells the claim. */
static void decide_without_plugin(const struct claim *c, const struct volume *v, struct expand_decision *d)
{
    bool is_large = quantity_cmp(&v->capacity, &c->request) >= 0;

    if (!expand_is_by_hand(v) || !is_large || c->resize != RESIZE_NONE || expand_is_satisfied(c)) {
        d->plan = EXPAND_OTHERS;
    } else if (v->source.kind == SOURCE_LOCAL && v->mode != VOLUME_MODE_BLOCK) {
        d->plan = EXPAND_NOTHING;
    } else {
        d->plan = EXPAND_FOLLOW;
        d->to = v->capacity;
    }
}

struct expand_decision expand_decide(const struct expand_plugin *const *all, const struct claim *c,
                                     const struct volume *v)
{
    struct expand_decision d = { .plan = EXPAND_NOTHING };
    bool is_growing = object_annotation(&v->obj, ANN_PRE_RESIZE_CAPACITY) != NULL;
    struct error err;

    if (!is_bound_to(v, c)) {
        d.plan = EXPAND_NOT_BOUND;
    } else if (expand_is_satisfied(c) && !is_growing) {
        d.plan = EXPAND_NOTHING;
    } else if (migration_plugin(v->source.kind)) {
        d.plan = EXPAND_MIGRATED;
    } else if (expand_find_plugin(all, &v->source, &d.plugin, &err) < 0) {
        d.plan = EXPAND_OTHERS;
        d.is_doubtful = true;
    } else if (!d.plugin) {
        decide_without_plugin(c, v, &d);
    } else if (is_growing && expand_is_satisfied(c) && quantity_cmp(&c->capacity, &v->capacity) >= 0) {
        d.plan = EXPAND_FORGET_SIZE;
    } else {
        decide_size(c, v, &d);
    }
    return d;
}

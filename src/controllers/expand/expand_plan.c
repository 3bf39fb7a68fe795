/* Decides how a claim is expanded, and builds the patches of the steps. Pure: reads its arguments only.
 *
 * A size that was recorded in status.allocatedResources is completed before another one is started, so that
 * the storage never gets two different sizes. All patches have the version of the object they are based on.
 */
#include "controllers/expand/expand_int.h"

#include <string.h>

#include "api/json_out.h"
#include "api/migration.h"
#include "machinery/merge_patch.h"
#include "machinery/resize_patch.h"

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

/* Completes an expansion in progress before another one, unless the storage has rejected its size. */
static void decide_size(const struct claim *c, const struct volume *v, struct expand_decision *d)
{
    bool is_large = quantity_cmp(&v->capacity, &c->request) >= 0;
    bool is_free = !is_large && (c->resize == RESIZE_NONE || c->resize == RESIZE_CONTROLLER_INFEASIBLE);

    if (is_large && (c->resize == RESIZE_NODE_PENDING || c->resize == RESIZE_NODE_IN_PROGRESS)) {
        d->plan = EXPAND_NOTHING; /* the node continues */
    } else if (is_large && c->resize == RESIZE_NODE_INFEASIBLE) {
        d->plan = EXPAND_TO_NODE;
    } else {
        d->plan = EXPAND_TO;
        d->to = c->has_allocated && !is_free ? c->allocated : c->request;
    }
}

/* No plugin expands it. The file system of a local disk is expanded by the node, which then updates the
 * claim. */
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

struct expand_decision expand_decide(struct plugin_registry *g, const struct claim *c, const struct volume *v)
{
    struct expand_decision d = { .plan = EXPAND_NOTHING };
    bool is_growing = object_annotation(&v->obj, ANN_PRE_RESIZE_CAPACITY) != NULL;
    struct volume_spec spec = { .volume = v };
    struct error err;

    if (!is_bound_to(v, c)) {
        d.plan = EXPAND_NOT_BOUND;
    } else if (expand_is_satisfied(c) && !is_growing) {
        d.plan = EXPAND_NOTHING;
    } else if (migration_plugin(v->source.kind)) {
        d.plan = EXPAND_MIGRATED;
    } else if (registry_expandable_by_spec(g, &spec, &d.plugin, &err) < 0) {
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

/* --- Patches --- */

bool expand_is_begun(const struct claim *c, const char *resizer, const struct quantity *to)
{
    return resize_has_begun(c) && c->resize == RESIZE_CONTROLLER_IN_PROGRESS && c->has_allocated &&
           quantity_cmp(&c->allocated, to) == 0 && object_annotation_is(&c->obj, ANN_RESIZER, resizer);
}

int expand_write_begun(const struct claim *c, const char *resizer, const struct quantity *to,
                       struct timestamp now, struct buf *out, struct error *err)
{
    struct merge_patch p;

    merge_patch_begin(&p, out, &c->obj);
    merge_patch_annotation(&p, ANN_RESIZER, resizer);
    merge_patch_member(&p, "status");
    resize_patch_conditions(out, c, CLAIM_RESIZING, /* message= */ NULL, /* drops= */ true, now);
    json_out_storage(out, "allocatedResources", to);
    resize_patch_status(out, RESIZE_CONTROLLER_IN_PROGRESS);
    json_out_end_object(out);
    return merge_patch_end(&p, err);
}

int expand_write_resizer(const struct claim *c, const char *resizer, struct buf *out, struct error *err)
{
    struct merge_patch p;

    merge_patch_begin(&p, out, &c->obj);
    merge_patch_annotation(&p, ANN_RESIZER, resizer);
    return merge_patch_end(&p, err);
}

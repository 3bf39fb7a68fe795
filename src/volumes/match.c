/* The rules by which a volume can serve a claim, in a fixed order, and the texts of events about them.
 *
 * Every function is pure and depends only on the two objects and the options. A rule costs a comparison,
 * except the label selector and the node affinity. */
#include "volumes/match.h"

#include <assert.h>
#include <string.h>

#include "api/json_out.h"
#include "base/cleanup.h"
#include "base/mutant.h"
#include "machinery/component_deps.h"
#include "machinery/merge_patch.h"

const char *const reject_names[] = {
    [REJECT_NONE] = "none",
    [REJECT_TAKEN] = "taken",
    [REJECT_SIZE] = "too-small",
    [REJECT_VOLUME_MODE] = "volume-mode",
    [REJECT_ATTRIBUTES_CLASS] = "attributes-class",
    [REJECT_DELETING] = "deleting",
    [REJECT_DELAYED] = "waits-for-consumer",
    [REJECT_DATA_SOURCE] = "data-source",
    [REJECT_AWAITS_CLASS] = "awaits-class",
    [REJECT_PHASE] = "not-available",
    [REJECT_SELECTOR] = "selector",
    [REJECT_CLASS] = "class",
    [REJECT_NODE] = "node",
    [REJECT_ACCESS_MODES] = "access-modes",
};
static_assert(ARRAY_LEN(reject_names) == REJECT_COUNT, "name every reason");

/* Texts of the events about a volume that a claim names. */
static const char *const named_texts[REJECT_COUNT] = {
    [REJECT_DELETING] = "the volume is marked for deletion",
    [REJECT_SIZE] = "requested PV is too small",
    [REJECT_CLASS] = "storageClassName does not match",
    [REJECT_ATTRIBUTES_CLASS] = "volumeAttributesClassName does not match",
    [REJECT_VOLUME_MODE] = "incompatible volumeMode",
    [REJECT_ACCESS_MODES] = "incompatible accessMode",
};

unsigned volume_mode_mask(const struct volume *v)
{
    return v->modes & (ACCESS_UNKNOWN - 1U);
}

/* The volume has every requested mode. Unknown modes are never satisfied. */
static bool has_modes(const struct volume *v, const struct claim *c)
{
    return (c->modes & ~volume_mode_mask(v)) == 0;
}

static bool selector_matches(const struct volume *v, const struct claim *c)
{
    if (!c->selector)
        return true;
    return !c->selector->error &&
           label_selector_matches(c->selector, v->obj.labels.items, v->obj.labels.count);
}

static bool is_reachable(const struct volume *v, const struct kvs *node_labels)
{
    struct error ignored; /* an invalid affinity does not match */

    return !node_labels ||
           node_affinity_check(v->affinity, node_labels->items, node_labels->count, &ignored) == 0;
}

bool volume_is_for(const struct volume *v, const struct claim *c)
{
    return v->claim.is_set && strcmp(v->claim.name, c->obj.name) == 0 &&
           strcmp(v->claim.ns, c->obj.ns) == 0 &&
           (v->claim.uid[0] == '\0' || strcmp(v->claim.uid, c->obj.uid) == 0);
}

int volume_write_reservation(const struct volume *v, const struct claim *c, struct buf *out,
                             struct error *err)
{
    struct merge_patch p;

    merge_patch_begin(&p, out, MUTANT("binder-writes-without-version") ? NULL : &v->obj);
    if (!volume_is_for(v, c))
        merge_patch_annotation(&p, ANN_BOUND_BY_CONTROLLER, "yes");
    merge_patch_member(&p, "spec");
    json_out_object(out, NULL);
    claim_ref_write(out, c);
    json_out_end_object(out);
    return merge_patch_end(&p, err);
}

/* Reserved for the claim, by its claimRef or by an assumption: exempt from some rules. */
static bool is_reserved(const struct volume *v, const struct claim *c, const struct match_options *o)
{
    return o->is_assumed || (v->claim.is_set && volume_is_for(v, c));
}

/* Whether this rule rejects the volume; ignores all other rules. */
static inline bool rule_rejects_volume(enum reject rule, bool reserved, const struct volume *v,
                                       const struct claim *c, const struct match_options *o)
{
    switch (rule) {
    case REJECT_TAKEN:
        return v->claim.is_set && !volume_is_for(v, c);
    case REJECT_SIZE:
        return quantity_cmp(&v->capacity, &c->request) < 0; /* a missing size is 0 */
    case REJECT_VOLUME_MODE:
        return v->mode != c->mode;
    case REJECT_ATTRIBUTES_CLASS:
        return strcmp(v->attributes_class, c->attributes_class) != 0;
    case REJECT_DELETING:
        return v->obj.is_deleting;
    case REJECT_DELAYED:
        return !reserved && o->is_delayed && !o->node_labels;
    case REJECT_DATA_SOURCE:
        return !reserved && c->source && strcmp(c->volume_name, v->obj.name) != 0;
    case REJECT_AWAITS_CLASS:
        return !reserved && o->awaits_class && v->affinity;
    case REJECT_PHASE:
        return !reserved && !o->is_available && v->phase != VOLUME_AVAILABLE;
    case REJECT_SELECTOR:
        return !reserved && !selector_matches(v, c);
    case REJECT_CLASS:
        return !reserved && strcmp(v->class, c->class) != 0;
    case REJECT_NODE:
        return !is_reachable(v, o->node_labels);
    case REJECT_ACCESS_MODES:
        return !(reserved && o->node_labels) && !has_modes(v, c);
    case REJECT_NONE:
    case REJECT_COUNT:
        break;
    }
    return false;
}

enum reject match_volume(const struct volume *v, const struct claim *c, const struct match_options *o)
{
    bool reserved = is_reserved(v, c, o);

    for (unsigned rule = REJECT_NONE + 1; rule < REJECT_COUNT; rule++)
        if (rule_rejects_volume((enum reject)rule, reserved, v, c, o))
            return (enum reject)rule;
    return REJECT_NONE;
}

unsigned match_refusals(const struct volume *v, const struct claim *c, const struct match_options *o)
{
    bool reserved = is_reserved(v, c, o);
    unsigned refused = 0;

    for (unsigned rule = REJECT_NONE + 1; rule < REJECT_COUNT; rule++)
        if (rule_rejects_volume((enum reject)rule, reserved, v, c, o))
            refused |= 1U << rule;
    return refused;
}

enum reject match_named(const struct volume *v, const struct claim *c)
{
    if (v->obj.is_deleting)
        return REJECT_DELETING;
    if (quantity_value(&v->capacity) < quantity_value(&c->request))
        return REJECT_SIZE;
    if (strcmp(v->class, c->class) != 0)
        return REJECT_CLASS;
    if (strcmp(v->attributes_class, c->attributes_class) != 0)
        return REJECT_ATTRIBUTES_CLASS;
    if (v->mode != c->mode)
        return REJECT_VOLUME_MODE;
    return has_modes(v, c) ? REJECT_NONE : REJECT_ACCESS_MODES;
}

const char *match_named_text(enum reject r)
{
    assert(named_texts[r]);
    return named_texts[r];
}

int volume_cmp_size_name(const struct volume *a, const struct volume *b)
{
    int r = quantity_cmp(&a->capacity, &b->capacity);

    return r ? r : strcmp(a->obj.name, b->obj.name);
}

void volume_claim_key(const struct volume *v, struct buf *out)
{
    if (v->claim.is_set)
        buf_addf(out, "%s/%s", v->claim.ns, v->claim.name);
}

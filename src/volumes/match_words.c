/* Describes in a few words why a rule of match.h rejects a volume. `berth why` and `berth check` print these
 * texts. */
#include "volumes/match.h"

#include <assert.h>

static void add_taken(const struct volume *v, struct buf *out)
{
    const char *how = v->phase == VOLUME_BOUND ? "bound to" : "reserved for";

    if (v->phase == VOLUME_RELEASED)
        buf_addf(out, "Released: still has the data of its former claim %s/%s", v->claim.ns, v->claim.name);
    else if (v->phase == VOLUME_FAILED)
        buf_addf(out, "Failed: cannot reclaim it from %s/%s%s%s", v->claim.ns, v->claim.name,
                 v->message[0] ? ": " : "", v->message);
    else
        buf_addf(out, "%s %s/%s", how, v->claim.ns, v->claim.name);
}

static void add_modes(unsigned modes, struct buf *out)
{
    unsigned count = 0;

    for (unsigned i = 0; access_mode_names[i]; i++)
        if (modes & 1U << i)
            buf_addf(out, "%s%s", count++ ? "+" : "", access_mode_names[i]);
    if (modes & ACCESS_UNKNOWN)
        buf_addf(out, "%san unknown mode", count++ ? "+" : "");
    if (count == 0)
        buf_add_cstr(out, "no mode");
}

/* Adds the requirements that do not match, or the error of a selector that cannot be evaluated. */
static void add_selector(const struct volume *v, const struct claim *c, struct buf *out)
{
    unsigned count = 0;

    if (c->selector->error) {
        buf_addf(out, "the selector cannot be evaluated: %s", c->selector->error);
        return;
    }
    buf_add_cstr(out, "labels do not match ");
    for (size_t i = 0; i < c->selector->count; i++) {
        struct requirement *q = &c->selector->items[i];
        const struct label_selector one = { .items = q, .count = 1 };

        if (label_selector_matches(&one, v->obj.labels.items, v->obj.labels.count))
            continue;
        if (count++)
            buf_add_char(out, ',');
        requirement_words(q, out);
    }
}

/* The two names differ. */
static void add_classes(const char *what, const char *of_volume, const char *of_claim, struct buf *out)
{
    if (!of_volume[0])
        buf_addf(out, "volume has no %s, claim has %s", what, of_claim);
    else
        buf_addf(out, "volume has %s %s, claim has %s", what, of_volume, of_claim[0] ? of_claim : "none");
}

void match_words(enum reject rule, const struct volume *v, const struct claim *c, struct buf *out)
{
    const char *phase = volume_phase_name((enum volume_phase)v->phase);

    switch (rule) {
    case REJECT_TAKEN:
        add_taken(v, out);
        break;
    case REJECT_SIZE:
        quantity_format(&v->capacity, out);
        buf_add_cstr(out, " < ");
        quantity_format(&c->request, out);
        buf_add_cstr(out, " asked");
        break;
    case REJECT_VOLUME_MODE:
        buf_addf(out, "%s, %s asked", volume_mode_names[v->mode], volume_mode_names[c->mode]);
        break;
    case REJECT_ATTRIBUTES_CLASS:
        add_classes("attributes class", v->attributes_class, c->attributes_class, out);
        break;
    case REJECT_DELETING:
        buf_add_cstr(out, "is being deleted");
        break;
    case REJECT_DELAYED:
        buf_add_cstr(out, "free, but its class waits for a pod that uses the claim");
        break;
    case REJECT_DATA_SOURCE:
        buf_addf(out, "does not name the claim, which has data source %s %s", c->source->kind,
                 c->source->name);
        break;
    case REJECT_AWAITS_CLASS:
        buf_addf(out, "has node affinity, and class %s does not exist yet", c->class);
        break;
    case REJECT_PHASE:
        buf_addf(out, "%s%s%s", phase[0] ? phase : "has no phase yet", v->message[0] ? ": " : "", v->message);
        break;
    case REJECT_SELECTOR:
        add_selector(v, c, out);
        break;
    case REJECT_CLASS:
        add_classes("class", v->class, c->class, out);
        break;
    case REJECT_NODE:
        buf_add_cstr(out, "not reachable from the node");
        break;
    case REJECT_ACCESS_MODES:
        add_modes(volume_mode_mask(v), out);
        buf_add_cstr(out, " only, ");
        add_modes(c->modes, out);
        buf_add_cstr(out, " asked");
        break;
    case REJECT_NONE:
    case REJECT_COUNT:
        assert(!"a rule that rejects");
    }
}

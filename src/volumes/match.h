/* Which volume can serve which claim: the rules, one by one, with the first that refuses.
 *
 * Pure functions of two objects, shared by the parts that decide (binder, scheduler) and the part
 * that explains (`berth why`), so that the two cannot disagree. */
#ifndef BERTH_VOLUMES_MATCH_H
#define BERTH_VOLUMES_MATCH_H

#include <stdbool.h>

#include "api/claim.h"
#include "api/kv.h"
#include "api/volume.h"
#include "base/buf.h"

/* Why a volume does not serve a claim. In the order in which the rules are asked. */
enum reject {
    REJECT_NONE,
    REJECT_TAKEN, /* another claim's, or reserved for one */
    REJECT_SIZE,
    REJECT_VOLUME_MODE,
    REJECT_ATTRIBUTES_CLASS,
    REJECT_DELETING,
    REJECT_DELAYED,      /* the class waits for the first consumer: the scheduler's to bind */
    REJECT_DATA_SOURCE,  /* the claim is to be filled from something; the volume does not name it */
    REJECT_AWAITS_CLASS, /* it has node affinity, and the claim's class may come and say when to bind */
    REJECT_PHASE,        /* not Available */
    REJECT_SELECTOR,
    REJECT_CLASS,
    REJECT_NODE, /* not reachable from the node */
    REJECT_ACCESS_MODES,
    REJECT_COUNT,
};

/* "too-small": for logs, and for scripts that read `berth why`. */
extern const char *const reject_names[];

struct match_options {
    bool is_delayed;               /* the claim's class waits for the first consumer */
    bool awaits_class;             /* the claim's class does not exist, and is waited for */
    bool is_assumed;               /* reserved for the claim, though the volume does not say so yet */
    bool is_available;             /* whatever its phase says: the write of Available is under way */
    const struct kvs *node_labels; /* of the node it must be reachable from; NULL: any */
};

/* May the claim take this volume, all other volumes aside? A volume that is reserved for the claim is exempt
 * from data source, phase, selector and class, and from waiting for a consumer or a class. For a search on a
 * node it is exempt from access modes too; for the binder those are the group that it looks in, and it finds
 * no volume outside. A selector that cannot be evaluated matches nothing. */
enum reject match_volume(const struct volume *v, const struct claim *c, const struct match_options *o);

/* Every rule that refuses, not only the first: bits 1 << REJECT_*; 0 for a volume that may be taken. Says how
 * far a volume is from serving. */
unsigned match_refusals(const struct volume *v, const struct claim *c, const struct match_options *o);
/* By how much a rule refuses, for people: "5Gi < 8Gi asked", "class fast ≠ standard", "bound to shop/db". The
 * rule is one that refuses, of match_volume() or match_named(). */
void match_words(enum reject rule, const struct volume *v, const struct claim *c, struct buf *out);

/* The volume is the claim's by name and namespace, and by uid where it says one. */
bool volume_is_for(const struct volume *v, const struct claim *c);

/* The claim names the volume: the few rules that hold even so, in their own order. Sizes are compared in
 * whole bytes here. */
enum reject match_named(const struct volume *v, const struct claim *c);
/* `requested PV is too small`: what the event says. For REJECT_DELETING it goes on with the volume's name in
 * quotes. */
const char *match_named_text(enum reject r);

/* The access modes that the volume has, as bits that a claim may ask for; unknown ones are none. */
unsigned volume_mode_mask(const struct volume *v);

/* Which of two volumes serves a claim better, both being able to: the smaller, then by name. Negative for a.
 */
int volume_cmp_size_name(const struct volume *a, const struct volume *b);

/* "namespace/name" of the claim that the volume belongs to or is reserved for, into a buffer; nothing for
 * none.
 */
void volume_claim_key(const struct volume *v, struct buf *out);

#endif

/* Which volume can serve which claim: the rules, and the first one that rejects a volume.
 *
 * Pure functions of two objects. The binder and the scheduler decide with them and `berth why` explains with
 * them, so the explanation always agrees with the decision. */
#ifndef BERTH_VOLUMES_MATCH_H
#define BERTH_VOLUMES_MATCH_H

#include <stdbool.h>

#include "api/claim.h"
#include "api/kv.h"
#include "api/volume.h"
#include "base/buf.h"

/* Why a volume does not serve a claim, in the order in which the rules are evaluated. */
enum reject {
    REJECT_NONE,
    REJECT_TAKEN, /* bound to or reserved for another claim */
    REJECT_SIZE,
    REJECT_VOLUME_MODE,
    REJECT_ATTRIBUTES_CLASS,
    REJECT_DELETING,
    REJECT_DELAYED,      /* the class waits for the first consumer: the scheduler binds */
    REJECT_DATA_SOURCE,  /* the claim has a data source, and the volume does not name the claim */
    REJECT_AWAITS_CLASS, /* has node affinity, and the claim's missing class may delay binding */
    REJECT_PHASE,        /* not Available */
    REJECT_SELECTOR,
    REJECT_CLASS,
    REJECT_NODE, /* not reachable from the node */
    REJECT_ACCESS_MODES,
    REJECT_COUNT,
};

/* "too-small": for logs, and for scripts that parse `berth why`. */
extern const char *const reject_names[];

struct match_options {
    bool is_delayed;               /* the claim's class waits for the first consumer */
    bool awaits_class;             /* the claim's class does not exist, and the claim waits for it */
    bool is_assumed;               /* reserved for the claim in memory, not yet by its claimRef */
    bool is_available;             /* in any phase: the write of Available is in flight */
    const struct kvs *node_labels; /* labels of the node that must reach it; NULL: any */
};

/* Whether the claim can take this volume, regardless of other volumes. A volume that is reserved for the
 * claim is exempt from data source, phase, selector and class, and from waiting for a consumer or a class. In
 * a search on a node it is also exempt from access modes; the binder searches only the groups with the
 * requested modes and finds no volume outside. A selector that cannot be evaluated matches nothing. */
enum reject match_volume(const struct volume *v, const struct claim *c, const struct match_options *o);

/* Every rule that rejects the volume, not only the first: bits 1 << REJECT_*; 0 for a volume that can be
 * taken. Used to rank candidates. */
unsigned match_refusals(const struct volume *v, const struct claim *c, const struct match_options *o);
/* Describes how a rule rejects a volume: "5Gi < 8Gi asked", "volume has class fast, claim has standard". The
 * rule must be one that match_volume() or match_named() returned. */
void match_words(enum reject rule, const struct volume *v, const struct claim *c, struct buf *out);

/* The volume's claimRef has the claim's name and namespace, and its uid if it has one. */
bool volume_is_for(const struct volume *v, const struct claim *c);
/* The patch that reserves this version of the volume for the claim: the claimRef, and the annotation that the
 * binder set it, unless the volume is reserved for the claim by another component or a user. */
int volume_write_reservation(const struct volume *v, const struct claim *c, struct buf *out,
                             struct error *err);

/* For a claim that names the volume: the few rules that apply even then, in their own order. Sizes are
 * compared in whole bytes here. */
enum reject match_named(const struct volume *v, const struct claim *c);
/* `requested PV is too small`: the text of the event. For REJECT_DELETING the volume's name in quotes
 * follows. */
const char *match_named_text(enum reject r);

/* The access modes of the volume as bits that a claim may request; unknown modes are left out. */
unsigned volume_mode_mask(const struct volume *v);

/* Orders two volumes that can both serve a claim: the smaller first, then by name. Negative if a comes first.
 */
int volume_cmp_size_name(const struct volume *a, const struct volume *b);

/* Adds "namespace/name" of the claim that the volume belongs to or is reserved for; adds nothing if there is
 * none. */
void volume_claim_key(const struct volume *v, struct buf *out);

#endif

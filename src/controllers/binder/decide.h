/* What is to be done for a claim, decided from what the caches say: the rows of docs/binder.md.
 *
 * Pure: the same sight gives the same decision, nothing is written and nobody is told. The binder does what
 * is decided here (sync_claim.c); whoever explains a claim (`berth why`) asks the same function, so that the
 * two cannot disagree. */
#ifndef BERTH_CONTROLLERS_BINDER_DECIDE_H
#define BERTH_CONTROLLERS_BINDER_DECIDE_H

#include <stdbool.h>

#include "api/class.h"
#include "api/pod.h"
#include "base/error.h"
#include "machinery/informer.h"
#include "plugins/plugin.h"
#include "volumes/match.h"

/* So long a claim whose class does not exist is not bound to a volume with node affinity: the class may be on
 * its way, and may say that a pod's node comes first. */
#define DECIDE_CLASS_WAIT_NS NS_PER_S

/* What is looked at. */
struct binder_view {
    const struct informer *volumes;
    const struct informer *classes;
    const struct volume_plugin *const *plugins; /* ends with NULL: those that provision here */
    bool is_static;                             /* no dynamic provisioning */
    /* The volume for a claim that names none: as volume_index_match(). */
    int (*match)(void *ctx, const struct claim *c, const struct match_options *o, const struct volume **ret,
                 struct error *err);
    /* The claim was first seen less than DECIDE_CLASS_WAIT_NS ago. NULL: no claim was. */
    bool (*is_new)(void *ctx, const struct claim *c);
    void *ctx;
};

enum claim_step {
    CLAIM_STEP_FAIL, /* it cannot be decided: err says why */
    /* A volume is there. */
    CLAIM_STEP_BIND, /* A2, B3, B4, C3, C4: it can be the claim's, or is */
    /* It names none, and none fits. */
    CLAIM_STEP_AWAIT_CLASS,       /* a volume would do, and the class may come */
    CLAIM_STEP_SET_CLASS,         /* A3: the default one */
    CLAIM_STEP_AWAIT_POD,         /* A4 */
    CLAIM_STEP_PROVISION_NEVER,   /* A5: provisioning is off … */
    CLAIM_STEP_PROVISION_CLASS,   /* … there is no such class: err … */
    CLAIM_STEP_PROVISION_NOBODY,  /* … nobody provisions for it: err … */
    CLAIM_STEP_PROVISION_HERE,    /* … a plugin of ours … */
    CLAIM_STEP_PROVISION_OUTSIDE, /* … somebody else */
    CLAIM_STEP_NO_CLASS,          /* A6 */
    /* It names one. */
    CLAIM_STEP_NOT_THERE, /* B1 */
    CLAIM_STEP_MISMATCH,  /* B2: reject says why */
    CLAIM_STEP_TAKEN,     /* B5, B6 */
    /* It was bound. */
    CLAIM_STEP_LOST_REFERENCE, /* C1 */
    CLAIM_STEP_LOST_VOLUME,    /* C2 */
    CLAIM_STEP_MISBOUND,       /* C5 */
    CLAIM_STEP_COUNT,
};

/* One word for each, in the log and where `berth why` has no finer one: "waits-for-consumer". */
extern const char *const claim_step_names[];

struct claim_decision {
    enum claim_step step;
    const struct volume *volume;       /* the one that it is about; NULL: none */
    const struct storage_class *class; /* to be set, or the claim's own where one is needed */
    const struct volume_plugin *plugin;
    const char *provisioner; /* outside; lives as long as the class */
    enum reject reject;
    struct match_options search; /* of a claim that names no volume */
    struct error err;
};

void decide_claim(const struct binder_view *s, const struct claim *c, struct claim_decision *ret);

/* The class that claims without one are given: the newest of the default ones, then by name; NULL. */
const struct storage_class *decide_default_class(const struct informer *classes);

/* How volumes are looked for: what the claim's class says of it, or its absence. Of the sight classes and
 * is_new are asked. -ERR_INVALID for a class that does not say when to bind. */
int decide_search(const struct binder_view *s, const struct claim *c, struct match_options *ret,
                  struct error *err);

/* The pod wants its claims and waits for a node: a claim that waits for its first consumer waits for it. */
bool decide_is_waiting_pod(const struct pod *p);

/* The volume can be the claim's that was bound to it: nobody's, or for it. v NULL: no. */
bool decide_has_volume(const struct claim *c, const struct volume *v);

/* Why a volume is left as it is; the words are those of `berth why pv`. */
enum volume_rest {
    VOLUME_REST_FREE,
    VOLUME_REST_KEPT,       /* for a claim by name */
    VOLUME_REST_MISSED,     /* a claim that was bound to it takes it back */
    VOLUME_REST_HALF_BOUND, /* the claim comes next */
    VOLUME_REST_BOUND,
    VOLUME_REST_RELEASED, /* and the server is asked whether that is right */
    VOLUME_REST_RETAINED,
    VOLUME_REST_RECLAIMING, /* a plugin of ours is at it, or has done its part */
    VOLUME_REST_FAILING,
    VOLUME_REST_OUTSIDE, /* somebody else is to reclaim it */
    VOLUME_REST_COUNT,
};
extern const char *const volume_rest_names[];

/* Its claim is not there, is another by the same name, or has another volume. c is the claim that it names;
 * NULL when there is none. */
bool decide_is_released(const struct volume *v, const struct claim *c);
/* Who deletes what is behind the volume; *ret NULL: somebody outside. -ERR_NOT_FOUND and its like: nobody. */
int decide_deleter(const struct volume_plugin *const *plugins, const struct volume *v,
                   const struct volume_plugin **ret, struct error *err);

#endif

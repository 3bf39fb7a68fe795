/* Decides what to do for a claim, from the caches: the rows of docs/binder.md.
 *
 * Pure: the same view gives the same decision, nothing is written and no event is recorded. The binder
 * carries the decision out (sync_claim.c); explanations (`berth why`) call the same function, so that they
 * cannot disagree. */
#ifndef BERTH_CONTROLLERS_BINDER_DECIDE_H
#define BERTH_CONTROLLERS_BINDER_DECIDE_H

#include <stdbool.h>

#include "api/class.h"
#include "api/pod.h"
#include "base/error.h"
#include "machinery/informer.h"
#include "plugins/plugin.h"
#include "volumes/match.h"

/* For this time a claim whose class does not exist is not bound to a volume with node affinity: the class may
 * follow soon and request WaitForFirstConsumer. */
#define DECIDE_CLASS_WAIT_NS NS_PER_S

/* The input of a decision. */
struct binder_view {
    const struct informer *volumes;
    const struct informer *classes;
    const struct volume_plugin *const *plugins; /* ends with NULL: built-in provisioners */
    bool is_static;                             /* no dynamic provisioning */
    /* The volume for a claim that names none: as volume_index_match(). */
    int (*match)(void *ctx, const struct claim *c, const struct match_options *o, const struct volume **ret,
                 struct error *err);
    /* True if the claim was first seen less than DECIDE_CLASS_WAIT_NS ago. NULL: never. */
    bool (*is_new)(void *ctx, const struct claim *c);
    void *ctx;
};

enum claim_step {
    CLAIM_STEP_FAIL, /* undecidable: err has the reason */
    /* A volume exists. */
    CLAIM_STEP_BIND, /* A2, B3, B4, C3, C4: it is the claim's, or can be */
    /* The claim names no volume, and none matches. */
    CLAIM_STEP_AWAIT_CLASS,        /* a volume matches, but the class may follow */
    CLAIM_STEP_SET_CLASS,          /* A3: the default class */
    CLAIM_STEP_AWAIT_POD,          /* A4 */
    CLAIM_STEP_PROVISION_OFF,      /* A5: dynamic provisioning is off … */
    CLAIM_STEP_PROVISION_CLASS,    /* … the class does not exist: err … */
    CLAIM_STEP_NO_PROVISIONER,     /* … no provisioner for it: err … */
    CLAIM_STEP_PROVISION_BUILTIN,  /* … a built-in plugin … */
    CLAIM_STEP_PROVISION_EXTERNAL, /* … an external provisioner */
    CLAIM_STEP_NO_CLASS,           /* A6 */
    /* The claim names a volume. */
    CLAIM_STEP_NAMED_MISSING, /* B1 */
    CLAIM_STEP_MISMATCH,      /* B2: reject has the reason */
    CLAIM_STEP_TAKEN,         /* B5, B6 */
    /* The claim was bound. */
    CLAIM_STEP_LOST_REFERENCE, /* C1 */
    CLAIM_STEP_LOST_VOLUME,    /* C2 */
    CLAIM_STEP_MISBOUND,       /* C5 */
    CLAIM_STEP_COUNT,
};

/* One word per step, for the log and for `berth why`: "waits-for-consumer". */
extern const char *const claim_step_names[];

struct claim_decision {
    enum claim_step step;
    const struct volume *volume;       /* that the decision refers to; NULL: none */
    const struct storage_class *class; /* to be set, or the class of the claim if it is needed */
    const struct volume_plugin *plugin;
    const char *provisioner; /* external; valid as long as the class */
    enum reject reject;
    struct match_options search; /* for a claim that names no volume */
    struct error err;
};

void decide_claim(const struct binder_view *s, const struct claim *c, struct claim_decision *ret);

/* The default class: the newest of those marked as default, then by name; NULL: none. */
const struct storage_class *decide_default_class(const struct informer *classes);

/* How to search a volume for the claim, according to its class. Uses classes and is_new of the view.
 * -ERR_INVALID for a class without a binding mode. */
int decide_search(const struct binder_view *s, const struct claim *c, struct match_options *ret,
                  struct error *err);

/* True if the pod is not scheduled and not terminated: a delayed claim waits for such pods. */
bool decide_is_waiting_pod(const struct pod *p);

/* True if the volume is not claimed, or claimed by this claim. v NULL: false. */
bool decide_has_volume(const struct claim *c, const struct volume *v);

/* Why a volume is left as it is; the names are those of `berth why pv`. */
enum volume_rest {
    VOLUME_REST_FREE,
    VOLUME_REST_KEPT,       /* reserved for a claim by name */
    VOLUME_REST_MISSED,     /* the claim that was bound to it will bind it again */
    VOLUME_REST_HALF_BOUND, /* its claim is processed next */
    VOLUME_REST_BOUND,
    VOLUME_REST_RELEASED, /* the server is asked for the claim first */
    VOLUME_REST_RETAINED,
    VOLUME_REST_RECLAIMING, /* a built-in plugin deletes or recycles it, or has done so */
    VOLUME_REST_FAILING,
    VOLUME_REST_EXTERNAL, /* an external component reclaims it */
    VOLUME_REST_COUNT,
};
extern const char *const volume_rest_names[];

/* True if its claim does not exist, is another one with the same name, or is bound to another volume. c: the
 * claim with the name in claimRef; NULL if it does not exist. */
bool decide_is_released(const struct volume *v, const struct claim *c);
/* Selects the plugin that deletes the storage; *ret NULL: an external component. An error (-ERR_NOT_FOUND …)
 * if there is none. */
int decide_deleter(const struct volume_plugin *const *plugins, const struct volume *v,
                   const struct volume_plugin **ret, struct error *err);

#endif

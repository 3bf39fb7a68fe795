/* A type of storage for the provisioning loop (controllers/provisioner): how storage for a claim is made and
 * how it is removed. The loop does the rest: which claims and volumes, the volume's object, events, retries,
 * the durable record of calls that may have made storage.
 *
 * provision() and remove() start the work and return; its end is reported once, on the loop, never from
 * within the start, and not after a cancel. Both can be repeated: the name of the storage follows from the
 * claim's uid. */
#ifndef BERTH_CONTROLLERS_PROVISIONER_TYPE_H
#define BERTH_CONTROLLERS_PROVISIONER_TYPE_H

#include "api/claim.h"
#include "api/class.h"
#include "api/node.h"
#include "api/volume.h"
#include "machinery/component_deps.h"

/* What a try has left behind. */
enum provision_state {
    PROVISION_FINISHED,      /* it has ended: made, or nothing of it is left */
    PROVISION_IN_BACKGROUND, /* it may take effect later: repeated until its end is known, claim or not */
    PROVISION_NO_CHANGE,     /* as before the try */
    PROVISION_RESCHEDULE,    /* ended; impossible on the selected node: the scheduler selects another */
};

/* Borrowed until the call has ended. */
struct provisioner_request {
    const char *volume_name;
    const struct claim *claim;
    const struct storage_class *class;
    const struct node *node; /* selected; NULL: none */
    struct str memo;         /* what prepare() wrote for the first try; empty: nothing */
    bool is_repeated;        /* an earlier try has ended without a known result */
};

struct provision_result {
    int r; /* -PROVISIONER_IGNORED: ends without an event. -ERR_INVALID, and FINISHED: infeasible */
    const struct error *err;
    enum provision_state state;
    struct str spec;        /* members of the volume's spec: its source, and what else the type sets there */
    struct str annotations; /* members of metadata.annotations; empty: none */
    const char *finalizer;  /* NULL: none */
    int64_t capacity_bytes; /* 0: as requested */
};
#define PROVISIONER_IGNORED ERR_OP_PENDING

/* Embedded in the loop's operation, zeroed before its first use. */
struct provision_call {
    void (*done)(struct provision_call *c, const struct provision_result *result);
    void *work; /* of the type; NULL: idle */
};
struct removal_call {
    void (*done)(struct removal_call *c, int r, const struct error *err);
    void *work;
};

struct provisioner_type {
    /* Decides what a first try will ask for, from caches, as a JSON value: retries get the same. NULL:
     * nothing. On failure *state, PROVISION_FINISHED before, says how the loop continues. */
    int (*prepare)(void *ctx, const struct provisioner_request *q, struct buf *memo,
                   enum provision_state *state, struct error *err);
    void (*provision)(void *ctx, const struct provisioner_request *q, struct provision_call *c);
    void (*provision_cancel)(void *ctx, struct provision_call *c);
    /* Storage that does not exist counts as removed. class: NULL if it does not exist. */
    void (*remove)(void *ctx, const struct volume *v, const struct storage_class *class,
                   struct removal_call *c);
    void (*remove_cancel)(void *ctx, struct removal_call *c);
    /* The volume may be removed by this provisioner, once it is released. NULL: those that it provisioned. */
    bool (*owns)(const void *ctx, const struct volume *v);
    /* Of volumes that are to be deleted with their storage; kept until the storage is removed. NULL: none. */
    const char *finalizer;
    /* Serves a claim whose source of data is a claim or a snapshot. */
    bool has_data_sources;
};

/* How the loop works for a type; zero: the defaults of the library that nfs-subdir uses. */
struct provisioner_limits {
    uint64_t retry_ns, retry_ns_max; /* 15 s, 1000 s */
    uint64_t slow_ns;                /* after an infeasible request: 1000 s */
    double qps;                      /* negative: no limit; 10 */
    unsigned burst;                  /* 100 */
    unsigned in_flight_max;          /* 4 */
    bool has_no_failures_max;        /* else fifteen failures, then the next resync */
    bool saves_until_done;           /* else five tries, then the storage is removed again */
};

struct provisioner;

struct provisioner_options {
    struct component_deps part;
    const struct provisioner_type *type;
    void *ctx;               /* the type's; outlives the provisioner */
    const char *name;        /* of classes' provisioner; borrowed */
    const char *name_prefix; /* of volumes, before the uid of the claim; NULL: "pvc" */
    const char *component;   /* of events; NULL: the name */
    const char *node_name;   /* serves only claims for which this node is selected; NULL: all */
    /* The ConfigMap that records calls whose end is not known (controllers/call_record.h). NULL: they are
     * remembered until the process ends. */
    const char *record_ns;
    const char *record_name;
    struct provisioner_limits limits;
};

/* The loop, for those who may not include it: daemon passes it to the CSI controllers. */
struct provisioner_loop {
    int (*new)(const struct provisioner_options *o, struct provisioner **ret, struct error *err);
    void (*start)(struct provisioner *p);
    const char *(*check)(const struct provisioner *p);
    /* When a claim or volume is tried next, loop time; 0: it does not wait. For explanations. */
    uint64_t (*next_try_ns)(const struct provisioner *p, const struct object *about);
    struct provisioner *(*free)(struct provisioner *p);
};

#endif

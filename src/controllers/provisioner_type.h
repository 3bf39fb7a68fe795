/* A type of storage for the provisioning loop (controllers/provisioner): how storage for a claim is made and
 * how it is removed. The loop does the rest: which claims and volumes, the volume's object, events, retries.
 *
 * Both functions start the work and return; its end is reported once, on the loop, never from within the
 * start. Both can be repeated: the name of the storage follows from the claim's uid. */
#ifndef BERTH_CONTROLLERS_PROVISIONER_TYPE_H
#define BERTH_CONTROLLERS_PROVISIONER_TYPE_H

#include "api/claim.h"
#include "api/class.h"
#include "api/node.h"
#include "api/volume.h"
#include "base/buf.h"

/* What a try has left behind. */
enum provision_state {
    PROVISION_FINISHED,      /* it has ended: made, or nothing of it is left */
    PROVISION_IN_BACKGROUND, /* it may take effect later: repeated until it is known, even without the claim */
    PROVISION_NO_CHANGE,     /* as before the try */
    PROVISION_RESCHEDULE,    /* ended; impossible on the selected node: the scheduler selects another */
};

/* Borrowed until the call has ended. */
struct provision_request {
    const char *volume_name;
    const struct claim *claim;
    const struct storage_class *class;
    const struct node *node; /* selected; NULL: none */
};

/* What the loop writes into the volume besides what follows from the claim and its class. */
struct provision_result {
    int r; /* -PROVISIONER_IGNORED: ends without an event. ERR_INVALID with PROVISION_FINISHED: infeasible */
    const struct error *err;
    enum provision_state state;
    struct str source;        /* members of spec: the source, and what else the type sets there */
    struct str annotations;   /* members of metadata.annotations; empty: none */
    const char *finalizer;    /* NULL: none */
    int64_t capacity_bytes;   /* 0: as requested */
};
#define PROVISIONER_IGNORED ERR_OP_PENDING

/* One call of a type, embedded in the loop's operation. */
struct provision_call {
    void (*done)(struct provision_call *c, const struct provision_result *result);
    void *work; /* the type's; NULL: idle */
};
struct removal_call {
    void (*done)(struct removal_call *c, int r, const struct error *err);
    void *work;
};

struct provisioner_type {
    void (*provision)(void *ctx, const struct provision_request *q, struct provision_call *c);
    void (*provision_cancel)(void *ctx, struct provision_call *c);
    /* Storage that does not exist counts as removed. class: NULL if it does not exist. */
    void (*remove)(void *ctx, const struct volume *v, const struct storage_class *class, struct removal_call *c);
    void (*remove_cancel)(void *ctx, struct removal_call *c);
    /* The volume of this name is saved, or its storage is removed: nothing more of the claim is remembered.
     * NULL: the type remembers nothing. */
    void (*forget)(void *ctx, const char *claim_uid);
};

#endif

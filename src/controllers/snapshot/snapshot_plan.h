/* What to do next for a VolumeSnapshot, decided from the caches. Sends nothing and changes nothing.
 *
 * A plan is one step. After its write the snapshot is planned again, so that a process that ends after any
 * step continues with the next one. Texts of failures are those of the stock snapshot-controller. */
#ifndef BERTH_CONTROLLERS_SNAPSHOT_SNAPSHOT_PLAN_H
#define BERTH_CONTROLLERS_SNAPSHOT_SNAPSHOT_PLAN_H

#include "api/claim.h"
#include "api/snapshot.h"
#include "api/volume.h"
#include "machinery/informer.h"

#define CONTENT_NAME_PREFIX "snapcontent-"
#define CONTENT_NAME_BYTES 256
#define MEMBER_NAME_PREFIX "snapshot-" /* of members of groups */

struct snapshot_caches {
    struct informer *snapshots;
    struct informer *contents;
    struct informer *classes;
    struct informer *claims;
    struct informer *volumes;
    struct informer *groups;
    struct informer *group_contents;
    struct informer *group_classes;
};

enum snapshot_step {
    SNAPSHOT_REST,            /* nothing to do */
    SNAPSHOT_FAIL,            /* write the error to the status, record an event, and retry */
    SNAPSHOT_WAIT,            /* record the error as an event, and retry */
    SNAPSHOT_SET_CLASS,       /* the default class */
    SNAPSHOT_ADD_FINALIZER,   /* to the snapshot */
    SNAPSHOT_PROTECT_CLAIM,   /* add the finalizer to the source */
    SNAPSHOT_CREATE_CONTENT,  /* for the volume of the claim */
    SNAPSHOT_BIND_CONTENT,    /* the content of an existing snapshot names this snapshot without its uid */
    SNAPSHOT_COPY_STATUS,     /* from the content */
    SNAPSHOT_MARK_CONTENT,    /* its snapshot is being deleted */
    SNAPSHOT_DELETE_CONTENT,  /* the object; the driver's sidecar deletes the snapshot in the storage */
    SNAPSHOT_RELEASE,         /* remove finalizers */
    SNAPSHOT_CONFIRM_RELEASE, /* the same, if the server has no content of that name for the snapshot */
    SNAPSHOT_STEP_COUNT,
};

struct snapshot_plan {
    enum snapshot_step step;
    const char *finalizer;              /* SNAPSHOT_ADD_FINALIZER */
    const char *released[4];            /* SNAPSHOT_RELEASE: finalizers, terminated by NULL */
    const struct object *content;       /* the content that the step is about; NULL: none */
    const struct claim *claim;          /* SNAPSHOT_PROTECT_CLAIM */
    const struct volume *volume;        /* SNAPSHOT_CREATE_CONTENT: a CSI volume */
    const struct snapshot_class *class; /* SNAPSHOT_SET_CLASS, SNAPSHOT_CREATE_CONTENT */
    char content_name[CONTENT_NAME_BYTES];
    const char *reason;   /* of the event */
    bool is_unready;      /* SNAPSHOT_FAIL: the status is also set to not ready */
    struct error failure; /* SNAPSHOT_FAIL, SNAPSHOT_WAIT: the text */
};

void snapshot_plan_step(const struct snapshot_caches *w, const struct snapshot *s, struct snapshot_plan *ret);

/* Makes the plan a failure with the text in p->failure: the content cannot be created from the input. */
void snapshot_plan_bad_input(const struct snapshot *s, struct snapshot_plan *p);

/* The content names the snapshot, by uid too. */
bool snapshot_is_of_content(const struct snapshot *s, const struct snapshot_content *c);
/* The group snapshot that owns the snapshot; NULL: none. */
const struct owner *snapshot_group(const struct snapshot *s);
/* A claim without a volume takes its data from the snapshot, or a provisioner says so. */
bool snapshot_is_restored(const struct snapshot_caches *w, const struct snapshot *s);
/* The volume that the claim is bound to; NULL: err has the reason. taken: "a snapshot". */
const struct volume *snapshot_find_volume(const struct snapshot_caches *w, const struct claim *c,
                                          const char *taken, struct error *err);
/* The claim's finalizer is still needed for this snapshot. */
bool snapshot_needs_claim(const struct snapshot *s);

/* --- Indexes --- */

/* Snapshots by "namespace/name" of the claim that is their source. */
#define SNAPSHOTS_BY_CLAIM "claim"
extern const struct informer_index snapshots_by_claim;
/* Snapshots by the uid of the group snapshot that owns them. */
#define SNAPSHOTS_BY_GROUP "group"
extern const struct informer_index snapshots_by_group;
/* Claims by "namespace/name" of the snapshot that is the source of their data. */
#define CLAIMS_BY_SNAPSHOT "snapshot"
extern const struct informer_index claims_by_snapshot;

#endif

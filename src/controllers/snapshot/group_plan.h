/* What to do next for a VolumeGroupSnapshot, decided from the caches, like snapshot_plan.h.
 *
 * A group of claims becomes one content, which the driver's snapshotter fills in with one snapshot for each
 * volume; for each of them the group gets a VolumeSnapshot and its VolumeSnapshotContent. */
#ifndef BERTH_CONTROLLERS_SNAPSHOT_GROUP_PLAN_H
#define BERTH_CONTROLLERS_SNAPSHOT_GROUP_PLAN_H

#include "api/group_snapshot.h"
#include "controllers/snapshot/snapshot_plan.h"

#define GROUP_CONTENT_NAME_PREFIX "groupsnapcontent-"
#define GROUP_VOLUMES_MAX 100 /* as the drivers' interface allows */

enum group_step {
    GROUP_REST,           /* nothing to do */
    GROUP_FAIL,           /* write the error to the status, record an event, and retry */
    GROUP_WAIT,           /* record the error as an event, and retry */
    GROUP_SET_CLASS,      /* the default class */
    GROUP_ADD_FINALIZER,  /* to the group snapshot */
    GROUP_CREATE_CONTENT, /* for the volumes of the claims */
    GROUP_BIND_CONTENT,   /* the content of an existing group snapshot names this one without its uid */
    GROUP_CREATE_MEMBER,  /* the VolumeSnapshot of a member */
    GROUP_CREATE_MEMBER_CONTENT,
    GROUP_REPORT_MEMBER, /* the state of the member's content */
    GROUP_COPY_STATUS,   /* from the content */
    GROUP_MARK_CONTENT,  /* its group snapshot is being deleted */
    GROUP_DELETE_CONTENT,
    GROUP_DELETE_MEMBER,
    GROUP_RELEASE,         /* remove the finalizer */
    GROUP_CONFIRM_RELEASE, /* the same, if the server has no content of that name for the group snapshot */
    GROUP_STEP_COUNT,
};

struct group_plan {
    enum group_step step;
    const struct object *content;      /* of the group; NULL: none */
    const struct group_member *member; /* of its status */
    const struct object *object;       /* the member's snapshot or content that the step is about */
    const struct volume *volume;       /* of the member; NULL: unknown */
    const struct group_snapshot_class *class;
    const struct volume *volumes[GROUP_VOLUMES_MAX]; /* GROUP_CREATE_CONTENT */
    size_t volumes_count;
    char content_name[CONTENT_NAME_BYTES];
    char member_name[CONTENT_NAME_BYTES]; /* of the member's snapshot or content */
    const char *reason;                   /* of the event */
    bool is_unready;                      /* GROUP_FAIL: the status is also set to not ready */
    struct error failure;                 /* GROUP_FAIL, GROUP_WAIT: the text */
};

void group_plan_step(const struct snapshot_caches *w, const struct group_snapshot *g, struct group_plan *ret);
/* Makes the plan a failure with the text in p->failure: the content cannot be created from the input. */
void group_plan_bad_input(const struct group_snapshot *g, struct group_plan *p);
/* The content names the group snapshot, by uid too. */
bool group_is_of_content(const struct group_snapshot *g, const struct group_snapshot_content *c);

#endif

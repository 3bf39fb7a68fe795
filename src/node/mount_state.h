/* The state of a mount, for a pod or, as a device, for the node, and the events that change it.
 *
 * The state changes only by an event, through one setter each (node_world.h), which asserts that the event is
 * valid in the current state and traces it. */
#ifndef BERTH_NODE_MOUNT_STATE_H
#define BERTH_NODE_MOUNT_STATE_H

#include <stdbool.h>

/* Uncertain: the mount may exist, completely or in part. It counts as existing when unmounting and as missing
 * when mounting. */
enum mount_state { MOUNT_NONE, MOUNT_UNCERTAIN, MOUNT_DONE, MOUNT_STATE_COUNT };

enum mount_event {
    MOUNT_EVENT_FOUND,               /* on disk after a restart, before any mount */
    MOUNT_EVENT_SET_UP,              /* the mount exists */
    MOUNT_EVENT_SET_UP_IN_PART,      /* a later step failed, and a part of it exists */
    MOUNT_EVENT_SET_UP_UNCERTAIN,    /* the attempt may still be running, or ended half-way */
    MOUNT_EVENT_SET_UP_FAILED,       /* the attempt has ended and left nothing */
    MOUNT_EVENT_SET_UP_NOT_TRIED,    /* nothing was changed; the state before the attempt is unaffected */
    MOUNT_EVENT_LOST,                /* another program unmounted it */
    MOUNT_EVENT_TEAR_DOWN_UNCERTAIN, /* it was begun, or failed */
    MOUNT_EVENT_TORN_DOWN,           /* nothing is mounted */
    MOUNT_EVENT_COUNT
};

/* False: the event is not valid in this state. */
bool mount_state_next(enum mount_state from, enum mount_event event, enum mount_state *ret);
/* The event for a set-up that failed with r. is_found: a mount from before the restart may exist, whatever
 * the result of the attempt. */
enum mount_event mount_event_of_failure(int r, bool is_found);

const char *mount_state_name(enum mount_state s);
const char *mount_event_name(enum mount_event e);

#endif

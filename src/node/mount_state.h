/* How far a volume is mounted, for a pod or, as a device, for the node; and what may happen to it.
 *
 * The state changes only by an event, through one setter for each (world.h), which asserts that the event may
 * come in that state and traces it. */
#ifndef BERTH_NODE_MOUNT_STATE_H
#define BERTH_NODE_MOUNT_STATE_H

#include <stdbool.h>

/* Uncertain: it may be there, in part or as a whole. It counts as there when something is to be taken away,
 * and as missing when it is to be brought. */
enum mount_state { MOUNT_NONE, MOUNT_UNCERTAIN, MOUNT_DONE, MOUNT_STATE_COUNT };

enum mount_event {
    MOUNT_EVENT_FOUND,               /* on disk after a restart, before anything is mounted */
    MOUNT_EVENT_SET_UP,              /* it is there */
    MOUNT_EVENT_SET_UP_IN_PART,      /* a later step failed, and something is there */
    MOUNT_EVENT_SET_UP_UNCERTAIN,    /* the attempt may still go on */
    MOUNT_EVENT_SET_UP_FAILED,       /* the attempt is over and has left nothing */
    MOUNT_EVENT_SET_UP_NOT_TRIED,    /* nothing was done, or the failure says nothing of what was there */
    MOUNT_EVENT_LOST,                /* another program unmounted it */
    MOUNT_EVENT_TEAR_DOWN_UNCERTAIN, /* it was begun, or failed */
    MOUNT_EVENT_TORN_DOWN,           /* nothing is there */
    MOUNT_EVENT_COUNT
};

/* False: the event cannot come in this state. */
bool mount_state_next(enum mount_state from, enum mount_event event, enum mount_state *ret);
/* The event of an attempt to set up that failed with r. Found: what is on disk from before counts, whatever
 * the attempt says. */
enum mount_event mount_event_of_failure(int r, bool is_found);

const char *mount_state_name(enum mount_state s);
const char *mount_event_name(enum mount_event e);

#endif

/* The transition table of mounts: one row per event with the next state for each state. A transition that is
 * not in the table is a bug, which the setters assert. */
#include "node/mount_state.h"

#include <assert.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/mutant.h"

#define NEVER MOUNT_STATE_COUNT

static const enum mount_state transitions[][MOUNT_STATE_COUNT] = {
    /* in MOUNT_NONE, MOUNT_UNCERTAIN, MOUNT_DONE */
    [MOUNT_EVENT_FOUND] = { MOUNT_UNCERTAIN, MOUNT_UNCERTAIN, NEVER },
    [MOUNT_EVENT_SET_UP] = { MOUNT_DONE, MOUNT_DONE, MOUNT_DONE },
    [MOUNT_EVENT_SET_UP_IN_PART] = { MOUNT_UNCERTAIN, MOUNT_UNCERTAIN, MOUNT_UNCERTAIN },
    [MOUNT_EVENT_SET_UP_UNCERTAIN] = { MOUNT_UNCERTAIN, MOUNT_UNCERTAIN, MOUNT_DONE },
    [MOUNT_EVENT_SET_UP_FAILED] = { MOUNT_NONE, MOUNT_NONE, MOUNT_DONE },
    [MOUNT_EVENT_SET_UP_NOT_TRIED] = { MOUNT_NONE, MOUNT_UNCERTAIN, MOUNT_DONE },
    [MOUNT_EVENT_LOST] = { NEVER, NEVER, MOUNT_UNCERTAIN },
    [MOUNT_EVENT_TEAR_DOWN_UNCERTAIN] = { NEVER, MOUNT_UNCERTAIN, MOUNT_UNCERTAIN },
    [MOUNT_EVENT_TORN_DOWN] = { NEVER, MOUNT_NONE, MOUNT_NONE },
};
static_assert(ARRAY_LEN(transitions) == MOUNT_EVENT_COUNT, "give every event its row");

bool mount_state_next(enum mount_state from, enum mount_event event, enum mount_state *ret)
{
    enum mount_state to;

    assert(event < MOUNT_EVENT_COUNT && from < MOUNT_STATE_COUNT);
    to = transitions[event][from];
    if (to == NEVER)
        return false;
    *ret = to;
    return true;
}

/* The error code shows whether the attempt is unfinished, never began, or ended. */
enum mount_event mount_event_of_failure(int r, bool is_found)
{
    if ((r == -ERR_UNCERTAIN || r == -ERR_INCOMPLETE) && !MUTANT("node-takes-uncertain-for-failed"))
        return MOUNT_EVENT_SET_UP_UNCERTAIN;
    return r == -ERR_UNAVAILABLE || is_found ? MOUNT_EVENT_SET_UP_NOT_TRIED : MOUNT_EVENT_SET_UP_FAILED;
}

const char *mount_state_name(enum mount_state s)
{
    static const char *const names[] = {
        [MOUNT_NONE] = "none", [MOUNT_UNCERTAIN] = "uncertain", [MOUNT_DONE] = "done"
    };

    static_assert(ARRAY_LEN(names) == MOUNT_STATE_COUNT, "name every state");
    return names[s];
}

const char *mount_event_name(enum mount_event e)
{
    static const char *const names[] = {
        [MOUNT_EVENT_FOUND] = "found",
        [MOUNT_EVENT_SET_UP] = "set-up",
        [MOUNT_EVENT_SET_UP_IN_PART] = "set-up-in-part",
        [MOUNT_EVENT_SET_UP_UNCERTAIN] = "set-up-uncertain",
        [MOUNT_EVENT_SET_UP_FAILED] = "set-up-failed",
        [MOUNT_EVENT_SET_UP_NOT_TRIED] = "set-up-not-tried",
        [MOUNT_EVENT_LOST] = "lost",
        [MOUNT_EVENT_TEAR_DOWN_UNCERTAIN] = "tear-down-uncertain",
        [MOUNT_EVENT_TORN_DOWN] = "torn-down",
    };

    static_assert(ARRAY_LEN(names) == MOUNT_EVENT_COUNT, "name every event");
    return names[e];
}

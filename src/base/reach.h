/* Records which states the state machines of a simulation were in, and which transitions they made.
 *
 * The setter of a state calls reach_move(). Outside a simulation reach_here is NULL and the call does
 * nothing. */
#ifndef BERTH_BASE_REACH_H
#define BERTH_BASE_REACH_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

enum reach_machine {
    REACH_ATTACH_PAIR,   /* a volume and a node, in the attach controller */
    REACH_EVENT_OUTCOME, /* the outcome of recording an event */
    REACH_LEADER,
    REACH_NODE_DEVICE, /* the device step of a volume, in the node agent */
    REACH_NODE_MOUNT,  /* a volume of a pod, in the node agent */
    REACH_NODE_POD,    /* the stages of a pod, in the node agent */
    REACH_REFLECTOR,
    REACH_REGISTRAR,     /* the registration of a CSI driver */
    REACH_SERVER_WATCH,  /* a watch, in the API server */
    REACH_WRITE_OUTCOME, /* the outcome of a write */
    REACH_COUNT,
};

#define REACH_STATES_MAX 16

extern const char *const reach_names[REACH_COUNT];

/* Zeroed at first. */
struct reach {
    unsigned states[REACH_COUNT]; /* of the machine; 0: not reached yet */
    uint64_t moves[REACH_COUNT][REACH_STATES_MAX][REACH_STATES_MAX];
};

/* The record of this thread; NULL: nothing is recorded. */
extern _Thread_local struct reach *reach_here;

/* Records a transition of a machine with so many states. A value that is not a state is recorded as from and
 * to itself. */
static inline void reach_move(enum reach_machine m, unsigned states, unsigned from, unsigned to)
{
    assert(states <= REACH_STATES_MAX && from < states && to < states);
    if (!reach_here)
        return;
    reach_here->states[m] = states;
    reach_here->moves[m][from][to]++;
}

/* The number of states that were entered or left, and of distinct transitions. */
void reach_sum(const struct reach *r, enum reach_machine m, unsigned *ret_states, unsigned *ret_moves);

#endif

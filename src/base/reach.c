/* Counts the states and transitions that a simulation reached; src/sim prints them. The names here are the
 * rows of that table. */
#include "base/reach.h"

#include <stdbool.h>

const char *const reach_names[REACH_COUNT] = {
    [REACH_ATTACH_PAIR] = "attach pair",
    [REACH_EVENT_OUTCOME] = "event outcome",
    [REACH_LEADER] = "leader",
    [REACH_NODE_DEVICE] = "node device",
    [REACH_NODE_MOUNT] = "node mount",
    [REACH_NODE_POD] = "node pod",
    [REACH_REFLECTOR] = "reflector",
    [REACH_REGISTRAR] = "CSI registrar",
    [REACH_SERVER_WATCH] = "server's watch",
    [REACH_WRITE_OUTCOME] = "write outcome",
};

_Thread_local struct reach *reach_here;

void reach_sum(const struct reach *r, enum reach_machine m, unsigned *ret_states, unsigned *ret_moves)
{
    bool is_reached[REACH_STATES_MAX] = { false };

    *ret_states = *ret_moves = 0;
    for (unsigned from = 0; from < r->states[m]; from++)
        for (unsigned to = 0; to < r->states[m]; to++)
            if (r->moves[m][from][to] > 0) {
                is_reached[from] = is_reached[to] = true;
                *ret_moves += 1;
            }
    for (unsigned i = 0; i < r->states[m]; i++)
        *ret_states += is_reached[i];
}

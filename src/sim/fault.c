/* The faults by name, and lists of them as the command line has them.
 *
 * The names are the interface of `berth sim --faults` and the words of the trace; src/cli/sim.c describes
 * them. Lists are parsed from left to right: a name adds its fault, a name after "-" removes it. */
#include "sim/fault.h"

#include <assert.h>
#include <stdbool.h>

#include "base/cleanup.h"

const char *const fault_names[] = {
    [FAULT_DELAY] = "delay",
    [FAULT_REFUSE] = "refuse",
    [FAULT_LOSE] = "lose",
    [FAULT_HANG] = "hang",
    [FAULT_ERROR] = "error",
    [FAULT_TWICE] = "twice",
    [FAULT_CUT] = "cut",
    [FAULT_LAG] = "lag",
    [FAULT_REPLAY] = "replay",
    [FAULT_PAUSE] = "pause",
    [FAULT_CRASH] = "crash",
    [FAULT_RESTART] = "restart",
    [FAULT_PARTITION] = "partition",
    [FAULT_CLOCK] = "clock",
    [FAULT_HOST] = "host",
    [FAULT_REBOOT] = "reboot",
};
static_assert(ARRAY_LEN(fault_names) == FAULT_COUNT, "name every fault");

static unsigned fault_bit(struct str name)
{
    if (str_is(name, "all"))
        return FAULTS_ALL;
    for (unsigned i = 0; i < FAULT_COUNT; i++)
        if (str_is(name, fault_names[i]))
            return 1U << i;
    return 0;
}

int faults_parse(struct str list, unsigned *ret, struct error *err)
{
    unsigned faults = 0;

    while (list.s) {
        struct str name = str_trim(str_next(&list, ','));
        bool is_less = name.len > 1 && name.s[0] == '-';
        unsigned bit;

        if (str_is(name, "none"))
            continue;
        if (is_less)
            name = (struct str){ name.s + 1, name.len - 1 };
        bit = fault_bit(name);
        if (!bit)
            return error_set(err, ERR_INVALID, "unknown fault '%.*s'", STR_ARG(name));
        faults = is_less ? faults & ~bit : faults | bit;
    }
    *ret = faults;
    return 0;
}

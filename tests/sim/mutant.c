/* Which deliberate bug berth_mutants has: the one that the environment names, none without. */
#include "base/mutant.h"

#include <stdlib.h>
#include <string.h>

bool mutant_is_chosen(const char *name)
{
    static const char *chosen;

    if (!chosen)
        chosen = getenv("BERTH_MUTANT");
    if (!chosen)
        chosen = "";
    return strcmp(chosen, name) == 0;
}

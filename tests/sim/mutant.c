/* Selects the deliberate bug of berth_mutants: the one that BERTH_MUTANT names, or none. */
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

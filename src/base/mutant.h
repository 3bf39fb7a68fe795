#ifndef BERTH_BASE_MUTANT_H
#define BERTH_BASE_MUTANT_H

/* Deliberate bugs, by which tests/sim/mutants proves that the simulator finds such bugs.
 *
 * MUTANT("name") marks the place of one. It is the constant false in Berth, where the compiler removes what
 * it guards. In tests/sim/berth_mutants, the only program that is compiled with BERTH_MUTANTS, it is true
 * when the environment variable BERTH_MUTANT is that name. tests/sim/mutants.table lists the names. */
#include <stdbool.h>

#ifdef BERTH_MUTANTS
bool mutant_is_chosen(const char *name);
#define MUTANT(name) mutant_is_chosen(name)
#else
#define MUTANT(name) false
#endif

#endif

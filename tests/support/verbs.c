/* The commands of a test that has none. A test that defines cli_verbs itself overrides these. */
#include <stddef.h>

#include "cli/cli.h"

const struct cli_verb *const cli_verbs[] = { NULL };

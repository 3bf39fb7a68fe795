/* Hints after a server refused a manifest: a line that begins with "hint:" on standard error, after the
 * server's message, which stays unchanged. */
#ifndef BERTH_CLI_HINT_H
#define BERTH_CLI_HINT_H

#include "cli/manifests.h"
#include "cli/session.h"

/* Suggests the field for a misspelt one, a valid quantity for an invalid one, and creating a missing
 * namespace. Prints nothing when nothing applies. m->object is in d. */
void hint_refusal(const struct reply *a, const struct manifest *m, const struct json *d);

#endif

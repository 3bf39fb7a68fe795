/* What berth adds when a server refuses a manifest: a line that begins with "hint:" on standard error, behind
 * the server's words, which stay as they are. */
#ifndef BERTH_CLI_HINT_H
#define BERTH_CLI_HINT_H

#include "cli/manifests.h"
#include "cli/session.h"

/* A misspelt field and the one that was meant, a quantity that is none, a namespace that does not exist. Says
 * nothing where nothing is known. m->object is in d. */
void hint_refusal(const struct reply *a, const struct manifest *m, const struct json *d);

#endif

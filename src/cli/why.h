/* `berth why` where the server does not explain: from caches that are filled over the session. */
#ifndef BERTH_CLI_WHY_H
#define BERTH_CLI_WHY_H

#include "cli/session.h"
#include "why/world.h"

/* The report, as JSON. What an explanation can do without is left out when the server does not show it. */
int why_explain_here(struct session *s, const struct why_question *q, struct buf *out, struct error *err);

#endif

/* Explanations for the verbs: from a server that explains, or made here by the same functions from caches
 * that are filled over the session. */
#ifndef BERTH_CLI_WHY_H
#define BERTH_CLI_WHY_H

#include "cli/session.h"
#include "why/causes.h"
#include "why/why_world.h"

struct explainer;

/* ns: the namespace of the objects to explain; NULL: any. Sends no request before the first question. The
 * session must outlive it. */
int explainer_new(struct session *s, const char *ns, struct explainer **ret, struct error *err);
/* Accepts NULL. */
struct explainer *explainer_free(struct explainer *e);
/* The report, as JSON. Optional kinds that the server does not show are left out. */
int explainer_ask(struct explainer *e, const struct why_question *q, struct buf *out, struct error *err);

/* Limit for one command: beyond it causes are unknown. Each may cost a look at every volume. */
#define CAUSES_MAX 1000

/* For struct causes, with an explainer as ctx. */
bool explainer_find_cause(void *explainer, const struct object *o, struct cause *ret);

#endif

/* Explanations for the verbs: of a server that explains, else made here from caches that are filled over the
 * session by the same functions. */
#ifndef BERTH_CLI_WHY_H
#define BERTH_CLI_WHY_H

#include "cli/session.h"
#include "why/causes.h"
#include "why/world.h"

struct explainer;

/* ns: the namespace of the objects that are asked about; NULL: of any. Nothing is asked before the first
 * question. The session must outlive it. */
int explainer_new(struct session *s, const char *ns, struct explainer **ret, struct error *err);
/* Takes NULL. */
struct explainer *explainer_free(struct explainer *e);
/* The report, as JSON. What an explanation can do without is left out when the server does not show it. */
int explainer_ask(struct explainer *e, const struct why_question *q, struct buf *out, struct error *err);

/* Questions of one command: beyond, causes are not known. Each may cost a look at every volume. */
#define CAUSES_MAX 1000

/* For struct causes, with an explainer as ctx. */
bool explainer_find_cause(void *explainer, const struct object *o, struct cause *ret);

#endif

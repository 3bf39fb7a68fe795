/* Names with tokens, `backup-${volumesnapshot.name}`, in the parameters of classes. Error texts are those of
 * the CSI sidecars. */
#ifndef BERTH_MACHINERY_NAME_TEMPLATE_H
#define BERTH_MACHINERY_NAME_TEMPLATE_H

#include "api/names.h"
#include "base/arena.h"
#include "base/error.h"

/* The tokens that a template may have. */
struct name_token {
    const char *name;
    const char *value;
};

/* Fills in the template and checks the result against the rule. what: "secret name", for messages. */
int name_template_resolve(struct arena *a, const char *template, const struct name_token *tokens,
                          size_t tokens_count, enum name_rule rule, const char *what, const char **ret,
                          struct error *err);

#endif

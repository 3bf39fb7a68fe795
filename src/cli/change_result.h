/* The output of verbs that change objects: "persistentvolumeclaim/x created", or the object in the form of
 * -o.
 *
 * Shared by create, apply and patch: the flags for output and dry runs, and the common fields of their
 * requests. */
#ifndef BERTH_CLI_CHANGE_RESULT_H
#define BERTH_CLI_CHANGE_RESULT_H

#include "cli/print.h"
#include "cli/session.h"

enum change_result_dry { CHANGE_REAL, CHANGE_DRY_CLIENT, CHANGE_DRY_SERVER };

struct change_result_settings {
    const char *output;
    const char *dry_run;
    const char *manager;
    const char *validate;
    bool shows_managed_fields;
};

#define CHANGE_FLAGS(settings, member)                                                                   \
    FLAG_SHORT(settings, member.output, 'o', "output", "FORM",                                           \
               "print the resulting object: yaml, json, name, jsonpath=TEMPLATE"),                       \
        FLAG_MAY_STAND_ALONE(settings, member.dry_run, "dry-run", "WAY", "client",                       \
                             "none, client (send nothing) or server (change nothing)"),                  \
        FLAG(settings, member.manager, "field-manager", "NAME", "owner of the fields; default 'berth'"), \
        FLAG(settings, member.validate, "validate", "WAY",                                               \
             "unknown fields: strict (default) rejects, warn warns, ignore drops them"),                 \
        FLAG_ON(settings, member.shows_managed_fields, "show-managed-fields",                            \
                "include metadata.managedFields")

/* Zero it before use; call print_done() also after a failure. */
struct change_result {
    struct print print;
    enum change_result_dry dry;
    const char *manager;
    const char *validation; /* fieldValidation */
    size_t shown;
};

int change_result_init(struct change_result *d, const struct change_result_settings *settings,
                       struct error *err);

/* "none", "client", "server". */
int change_result_read_dry(const char *text, enum change_result_dry *ret, struct error *err);
/* "", " (dry run)", " (server dry run)". */
const char *change_result_dry_words(enum change_result_dry dry);

/* Fills in the fields that every write has. */
void change_result_fill(const struct change_result *d, struct client_request *q);

/* Prints one object that was written: `done` is "created" or similar. */
int change_result_print(struct change_result *d, const struct kind_info *k, struct json *doc, json_ref object,
                        const char *done);

#endif

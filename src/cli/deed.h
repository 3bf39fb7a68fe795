/* What a verb that changes something says of it: "persistentvolumeclaim/x created", or the object in a form.
 *
 * Shared by create, apply and patch: the flags for output and dry runs, the request's common fields, and the
 * words. */
#ifndef BERTH_CLI_DEED_H
#define BERTH_CLI_DEED_H

#include "cli/print.h"
#include "cli/session.h"

enum deed_dry { DEED_REAL, DEED_DRY_CLIENT, DEED_DRY_SERVER };

struct deed_settings {
    const char *output;
    const char *dry_run;
    const char *manager;
    const char *validate;
    bool shows_managed_fields;
};

#define DEED_FLAGS(settings, member)                                                                  \
    FLAG_SHORT(settings, member.output, 'o', "output", "FORM",                                        \
               "what came of it: yaml, json, name, jsonpath=TEMPLATE"),                               \
        FLAG_MAY_STAND_ALONE(settings, member.dry_run, "dry-run", "WAY", "client",                    \
                             "none, client (ask nobody) or server (change nothing)"),                 \
        FLAG(settings, member.manager, "field-manager", "NAME", "who owns the fields; else 'berth'"), \
        FLAG(settings, member.validate, "validate", "WAY",                                            \
             "unknown fields: strict refuses (the default), warn warns, ignore drops them"),          \
        FLAG_ON(settings, member.shows_managed_fields, "show-managed-fields", "with metadata.managedFields")

/* Zeroed before; done() also after a failure. */
struct deed {
    struct print print;
    enum deed_dry dry;
    const char *manager;
    const char *validation; /* fieldValidation */
    size_t shown;
};

int deed_init(struct deed *d, const struct deed_settings *x, struct error *err);
void deed_done(struct deed *d);

/* "none", "client", "server". */
int deed_read_dry(const char *text, enum deed_dry *ret, struct error *err);
/* "", " (dry run)", " (server dry run)". */
const char *deed_dry_words(enum deed_dry dry);

/* What every write says. */
void deed_fill(const struct deed *d, struct client_request *q);

/* Tells of one object that was written: `done` is "created" or the like. */
int deed_tell(struct deed *d, const struct kind_info *k, struct json *doc, json_ref object, const char *done);

#endif

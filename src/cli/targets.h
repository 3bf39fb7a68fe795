/* The objects that a verb works on: named by arguments, found by a selector, or from manifests; and the
 * session for the requests. */
#ifndef BERTH_CLI_TARGETS_H
#define BERTH_CLI_TARGETS_H

#include "cli/manifests.h"
#include "cli/resources.h"
#include "cli/session.h"

/* The flags of a verb; those that it does not have stay zero. */
struct target_settings {
    struct session_settings session;
    struct manifest_settings manifests;
    const char *labels;
    const char *fields;
    bool is_everywhere;
    bool is_all;
};

#define TARGET_FLAGS(settings, member)                                                                      \
    MANIFEST_FLAGS(settings, member.manifests),                                                             \
        FLAG_SHORT(settings, member.labels, 'l', "selector", "SELECTOR", "only objects with these labels"), \
        FLAG(settings, member.fields, "field-selector", "SELECTOR", "only objects with these fields"),      \
        FLAG_ON(settings, member.is_all, "all", "all objects of the type in the namespace"),                \
        FLAG_SHORT_ON(settings, member.is_everywhere, 'A', "all-namespaces", "all namespaces")

struct target {
    const struct kind_info *kind;
    const char *ns; /* NULL, or ignored at cluster scope */
    const char *name;
    const char *source; /* the manifest that names it; otherwise NULL */
    /* Found by a selector; otherwise NULL and 0. The object is in the document until that is cleared. */
    const char *uid;
    json_ref object;
};

struct targets {
    const struct target_settings *settings;
    struct session session;
    struct resources resources;
    struct manifests manifests;
    struct json doc;        /* of responses */
    struct arena arena;     /* texts of targets */
    bool ignores_not_found; /* a type that the server does not have is not an error */
    unsigned failures;      /* lists that failed; each was reported */
};

/* Zeroes the rest of *t. Call targets_done() also after a failure. */
void targets_init(struct targets *t, const struct target_settings *settings);
void targets_done(struct targets *t);
/* Opens the session and reads arguments and manifests. */
int targets_open(struct targets *t, int args, char **argv, struct error *err);

/* Names and selectors are exclusive; without both, all objects of a type are meant, where that is allowed.
 * CLI_OK, or CLI_FAILED after the error was printed. */
int targets_check(const struct targets *t, bool may_be_all);

/* Calls fn for each target in the given order. Selectors are resolved when it is their turn. fn may use the
 * session and the document. */
typedef void target_fn(void *ctx, const struct target *target);
void targets_each(struct targets *t, target_fn *fn, void *ctx);

#endif

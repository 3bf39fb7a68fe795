/* Objects in manifests: files, directories, standard input; YAML or JSON, several documents, Lists.
 *
 * All documents are in one struct json, in the given order. Files are limited to MANIFEST_BYTES_MAX each;
 * directories are read in the order of names, subdirectories only with -R, and at most MANIFEST_DEPTH_MAX
 * deep. Nothing is fetched from the network. */
#ifndef BERTH_CLI_MANIFESTS_H
#define BERTH_CLI_MANIFESTS_H

#include <stdbool.h>

#include "api/json.h"
#include "api/kind.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"
#include "cli/flags.h"
#include "cli/progress.h"
#include "cli/session.h"

#define MANIFEST_BYTES_MAX ((size_t)64 << 20)
#define MANIFEST_DEPTH_MAX 16
#define MANIFEST_FILES_MAX 10000

struct manifest_settings {
    struct flag_values files;
    bool is_recursive;
};

#define MANIFEST_FLAGS(settings, member)                       \
    FLAG_MANY(settings, member.files, 'f', "filename", "FILE", \
              "a file, a directory, or - for standard input"), \
        FLAG_SHORT_ON(settings, member.is_recursive, 'R', "recursive", "include subdirectories")

struct manifest {
    const struct kind_info *kind;
    json_ref object; /* a root */
    const char *source;
    const char *name; /* "" when the server generates it */
    const char *ns;   /* "" at cluster scope */
};

/* Zero it before use; call manifests_done() also after a failure. */
struct manifests {
    struct json doc;
    struct arena arena;
    VEC(struct manifest) items;
    VEC(const char *) unknown; /* errors about objects of unknown kinds; the other objects can be used */
};

/* An object without a namespace gets the session's; one of another namespace than --namespace is an error. */
int manifests_read(const struct manifest_settings *which, const struct session *s, struct manifests *ret,
                   struct error *err);
void manifests_done(struct manifests *m);
/* Prints the error for each omitted object, after the verb has processed the others. CLI_OK when there is
 * none. */
int manifests_complain(const struct manifests *m);
/* The first of those errors, for verbs that process all objects or none. */
int manifests_check_kinds(const struct manifests *m, struct error *err);

/* True when a file of that name is read from a directory: .yaml, .yml, .json. */
bool manifest_is_file_name(const char *name);

/* Progress over all manifests, on a terminal, if there are many. The session's requests tick it. */
void manifests_progress_begin(struct progress_bar *p, struct session *s, const char *verb);

#endif

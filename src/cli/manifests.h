/* Objects that a person wrote down: files, directories, standard input; YAML or JSON, several in one, Lists.
 *
 * All documents are in one struct json, in the order they were named. Files are read up to MANIFEST_BYTES_MAX
 * each; directories are read in the order of names, below them only with -R, never deeper than
 * MANIFEST_DEPTH_MAX. Nothing is fetched from the network. */
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
        FLAG_SHORT_ON(settings, member.is_recursive, 'R', "recursive", "directories with all below them")

struct manifest {
    const struct kind_info *kind;
    json_ref object; /* a root */
    const char *source;
    const char *name; /* "" when the server is to make one */
    const char *ns;   /* "" for cluster scope */
};

/* Zeroed before; done() also after a failure. */
struct manifests {
    struct json doc;
    struct arena arena;
    VEC(struct manifest) items;
    VEC(const char *) unknown; /* errors about objects of kinds that there are not; the rest can be used */
};

/* An object without a namespace gets the session's; one of another namespace than --namespace is refused. */
int manifests_read(const struct manifest_settings *which, const struct session *s, struct manifests *ret,
                   struct error *err);
void manifests_done(struct manifests *m);
/* What was left out: an error for each, at the end of a verb that did the rest. CLI_OK when there is none. */
int manifests_complain(const struct manifests *m);
/* For verbs that do all or nothing: the first of those errors. */
int manifests_check_kinds(const struct manifests *m, struct error *err);

/* Does a name end as those do that are read from directories: .yaml, .yml, .json? */
bool manifest_is_file_name(const char *name);

/* The way through all of them, on a terminal, when they are many. The session's questions tick it. */
void manifests_progress_begin(struct progress *p, struct session *s, const char *verb);

static inline void manifests_done_p(struct manifests *m)
{
    manifests_done(m);
}

#endif

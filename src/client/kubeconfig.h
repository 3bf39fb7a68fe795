/* Kubeconfig files, read and merged.
 *
 * The files are not merged in memory: they stay separate, in order, and a lookup searches one after the
 * other. So the first file that has an entry of a name defines all of it, and fields of two entries are never
 * mixed. A lookup costs a walk over the entries. A file is at most KUBECONFIG_FILE_BYTES_MAX, with its YAML
 * aliases expanded too. */
#ifndef BERTH_CLIENT_KUBECONFIG_H
#define BERTH_CLIENT_KUBECONFIG_H

#include <stddef.h>

#include "api/json.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/str.h"
#include "base/vec.h"

#define KUBECONFIG_FILE_BYTES_MAX ((size_t)1 << 20)
#define KUBECONFIG_FILES_MAX 64

enum kubeconfig_list {
    KUBECONFIG_CLUSTERS,
    KUBECONFIG_USERS,
    KUBECONFIG_CONTEXTS,
    KUBECONFIG_LIST_COUNT,
};

struct kubeconfig_file {
    char *path; /* absolute */
    struct json doc;
    json_ref root; /* an object, or 0 for an empty file */
};

struct kubeconfigs {
    VEC(struct kubeconfig_file) files;
};

struct kubeconfig_entry {
    const struct kubeconfig_file *file;
    json_ref body; /* an object, or 0 for an empty entry */
    enum kubeconfig_list list;
    struct str name;
};

/* All zeroes is an empty set. */
void kubeconfigs_done(struct kubeconfigs *k);

/* Appends a file's text. The path is absolute and is not opened. */
int kubeconfigs_add(struct kubeconfigs *k, const char *path, struct str text, struct error *err);

/* Read the named file, which must exist; a ':'-separated list, whose missing files are skipped, with a
 * warning in the log when all are missing; a file that may be missing. */
int kubeconfigs_read_named(struct kubeconfigs *k, const char *path, struct error *err);
int kubeconfigs_read_listed(struct kubeconfigs *k, const char *paths, struct error *err);
int kubeconfigs_read_if_there(struct kubeconfigs *k, const char *path, struct error *err);

/* The first current-context that is not empty, else "". */
struct str kubeconfigs_current_context(const struct kubeconfigs *k);
/* Returns 1, or 0 when no file has such an entry. A file that has it twice is an error. */
int kubeconfigs_find(const struct kubeconfigs *k, enum kubeconfig_list list, struct str name,
                     struct kubeconfig_entry *ret, struct error *err);
/* "cluster", "user", "context". */
const char *kubeconfig_list_singular(enum kubeconfig_list list);

/* The path as seen from the file: a relative one is relative to the file's directory. */
const char *kubeconfig_resolve(const struct kubeconfig_file *f, struct str path, struct arena *a);

/* io_read_file() up to KUBECONFIG_FILE_BYTES_MAX; common failures have the text that users know from kubectl:
 * "open FILE: no such file or directory". */
int kubeconfig_read_file(const char *path, struct buf *ret, struct error *err);

#endif

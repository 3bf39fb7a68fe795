/* Manifests of static pods: from files of a directory to pods as they are to be made. */
#ifndef BERTH_NODE_MANIFEST_H
#define BERTH_NODE_MANIFEST_H

#include "api/pod.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

#define MANIFEST_BYTES_MAX ((size_t)1 << 20)
#define MANIFESTS_MAX 1000
#define MANIFEST_HASH_BYTES 33

#define ANN_CONFIG_SOURCE "kubernetes.io/config.source"
#define ANN_CONFIG_HASH "kubernetes.io/config.hash"
/* The manifest that the pod is made from: while that cannot be understood, the pod stays. */
#define ANN_CONFIG_FILE "volumes.berth.io/config.file"
#define CONFIG_SOURCE_FILE "file"

/* One file. Texts are in the arena that it was read with. */
struct manifest {
    const char *file; /* its name in the directory */
    int r;            /* why there is no pod in it, */
    struct error err; /* or 0: */
    const char *ns;
    const char *name;
    char hash[MANIFEST_HASH_BYTES]; /* of the file's name and text */
    struct str body;                /* the pod as JSON */
};

/* The pod that a text describes, YAML or JSON: on this node, under its name with the node's behind it, valid.
 * Pure. */
int manifest_read(struct arena *a, const char *file, struct str text, const char *node_name,
                  struct manifest *ret, struct error *err);

/* All files of a directory, by name; those that begin with '.' and what is no regular file are left out. Two
 * of one pod: the second is refused. On a worker. */
int manifest_read_dir(struct arena *a, const char *dir, const char *node_name, struct manifest **ret,
                      size_t *ret_count, struct error *err);

#endif

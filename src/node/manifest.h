/* Manifests of static pods: reads the files of a directory and makes pods from them. */
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
/* The manifest that the pod was created from. The pod is kept while that manifest is invalid. */
#define ANN_CONFIG_FILE "volumes.berth.io/config.file"
#define CONFIG_SOURCE_FILE "file"

/* One file. Texts are in the arena that it was read with. */
struct pod_manifest {
    const char *file; /* its name in the directory */
    int r;            /* why it has no valid pod, */
    struct error err; /* or 0: */
    const char *ns;
    const char *name;
    char hash[MANIFEST_HASH_BYTES]; /* of the file's name and text */
    struct str body;                /* the pod as JSON */
};

/* Reads the pod in a YAML or JSON text, assigned to this node, with the node's name appended to its own, and
 * validates it. Pure. */
int manifest_read(struct arena *a, const char *file, struct str text, const char *node_name,
                  struct pod_manifest *ret, struct error *err);

/* Reads all files of a directory, by name; names that begin with '.' and files that are not regular are
 * skipped. Of two manifests with the same pod the second is refused. Blocking, for a worker. */
int manifest_read_dir(struct arena *a, const char *dir, const char *node_name, struct pod_manifest **ret,
                      size_t *ret_count, struct error *err);

#endif

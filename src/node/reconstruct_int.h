/* The insides of a scan, for reconstruct*.c alone. */
#ifndef BERTH_NODE_RECONSTRUCT_INT_H
#define BERTH_NODE_RECONSTRUCT_INT_H

#include "base/vec.h"
#include "node/reconstruct.h"

#define SCAN_PLUGINS_MAX 256  /* of a pod */
#define SCAN_ENTRIES_MAX 4096 /* of a directory with volumes */
#define SCAN_LIST_BYTES_MAX ((size_t)4 << 20)

/* What was found, filled by the workers, one after the other. */
struct scan {
    struct arena arena; /* all texts */
    struct volume_env env;
    VEC(struct found_volume) volumes;
    VEC(struct found_pod) pods;
    VEC(const char *) complaints;
    size_t complaints_lost; /* beyond what is kept */
    size_t states_bytes;
};

/* --- reconstruct.c, on a worker --- */

/* A directory that is left out, and why. */
void scan_complain(struct scan *s, const struct error *why);
/* With a copy of its name. */
int scan_add(struct scan *s, const struct found_volume *v, struct error *err);

/* --- reconstruct_devices.c, on a worker --- */

/* What is mounted or mapped once for the node, in plugins/. After the pods' own volumes. */
void scan_devices(struct scan *s);

#endif

/* The data structures of a scan, internal to reconstruct*.c. */
#ifndef BERTH_NODE_RECONSTRUCT_INT_H
#define BERTH_NODE_RECONSTRUCT_INT_H

#include "base/vec.h"
#include "node/reconstruct.h"

#define SCAN_PLUGINS_MAX 256  /* of a pod */
#define SCAN_ENTRIES_MAX 4096 /* of a directory with volumes */
#define SCAN_LIST_BYTES_MAX ((size_t)4 << 20)

/* The results, filled by one worker at a time. */
struct reconstruct_scan {
    struct arena arena; /* all texts */
    struct volume_env env;
    VEC(struct restored_volume) volumes;
    VEC(struct restored_pod) pods;
    VEC(const char *) errors;
    bool has_disk_error; /* another scan may find more */
    size_t errors_lost;  /* number of errors that were not kept */
    size_t states_bytes;
};

/* --- reconstruct.c, on a worker --- */

/* Records that a directory was skipped, and why. */
void scan_add_error(struct reconstruct_scan *s, const struct error *why);
/* Records a disk error, which may be transient, as opposed to a symbolic link, a file or a mount in the
 * way. */
void scan_note_failure(struct reconstruct_scan *s, int at, const char *path, int r);
/* Adds a copy of the volume, with a copy of its name. */
int scan_add(struct reconstruct_scan *s, const struct restored_volume *v, struct error *err);

/* --- reconstruct_devices.c, on a worker --- */

/* Finds devices that are mounted or mapped once per node, in plugins/. Runs after the scan of the pods'
 * volumes. */
void scan_devices(struct reconstruct_scan *s);

#endif

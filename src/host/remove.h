/* Removing what stands in a directory, and nothing else: never past a link, never past a mount point, never
 * outside the base, never all of `/`. Blocks: for the pool. */
#ifndef BERTH_HOST_REMOVE_H
#define BERTH_HOST_REMOVE_H

#include "base/error.h"

/* Everything below the directory `path`; the directory itself stays. path is absolute and clean: no "..", no
 * link in any component, not "/" nor a directory right below it, nor a mount point's parent … as remove.c
 * says. Another file system mounted somewhere below: ERR_BUSY that names it, before anything was removed.
 * What is not there is done. Can be repeated: whatever was removed stays so. */
int host_empty_dir(const char *path, struct error *err);

/* The same, and the directory. base: path must be below it, resolved without links; NULL for none. */
int host_remove_tree(const char *base, const char *path, struct error *err);

#endif

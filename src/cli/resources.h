/* Objects named on the command line: TYPE, TYPE NAME..., TYPE/NAME..., TYPE,TYPE, all.
 *
 * A type is a plural, a singular or a short name in any case, followed by its group, or version and group,
 * after a dot if needed: pvc, StorageClass, events.events.k8s.io, storageclasses.v1.storage.k8s.io. */
#ifndef BERTH_CLI_RESOURCES_H
#define BERTH_CLI_RESOURCES_H

#include <stdbool.h>
#include <stddef.h>

#include "api/kind.h"
#include "base/error.h"

/* Types times names. */
#define RESOURCES_MAX 4096

struct cli_resource {
    const struct kind_info *kind;
    const char *name; /* NULL: all objects */
    const char *ns;   /* from a manifest; NULL: the session's */
};

struct resources {
    struct cli_resource items[RESOURCES_MAX];
    size_t count;
    bool has_several_types;
    bool has_names;
    bool has_pairs; /* TYPE/NAME */
};

/* The arguments are borrowed. Error messages are kubectl's. */
int resources_read(int argc, char **argv, struct resources *ret, struct error *err);

/* One type; NULL when it is unknown. */
const struct kind_info *resource_type(struct str word);

#endif

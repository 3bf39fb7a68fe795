/* What a person names on the command line: TYPE, TYPE NAME..., TYPE/NAME..., TYPE,TYPE, all.
 *
 * A type is a plural, a singular or a short name in any case, with its group or version and group behind a
 * dot where that is needed: pvc, StorageClass, events.events.k8s.io, storageclasses.v1.storage.k8s.io. */
#ifndef BERTH_CLI_RESOURCES_H
#define BERTH_CLI_RESOURCES_H

#include <stdbool.h>
#include <stddef.h>

#include "api/kind.h"
#include "base/error.h"

/* Types times names. */
#define RESOURCES_MAX 4096

struct resource {
    const struct kind_info *kind;
    const char *name; /* NULL: all there are */
    const char *ns;   /* of one that a manifest names; NULL: the session's */
};

struct resources {
    struct resource items[RESOURCES_MAX];
    size_t count;
    bool has_several_types;
    bool has_names;
    bool has_pairs; /* TYPE/NAME */
};

/* The arguments are borrowed. Errors are kubectl's words. */
int resources_read(int argc, char **argv, struct resources *ret, struct error *err);

/* One type; NULL when Berth does not know it. */
const struct kind_info *resource_type(struct str word);

#endif

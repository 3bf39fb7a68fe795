/* metadata.managedFields: which manager owns which fields, and how a write changes that.
 *
 * A plain write (create, update, patch) owns the fields that it changed; all other managers lose them:
 *
 *     normalize, defaults, managed_fields_update(), admission, prepare, normalize, validate
 *
 * So defaults belong to the writer, and no manager owns what admission and the server set afterwards. The
 * entries are sorted as in Kubernetes: Apply before Update, older before newer, then by name. The oldest
 * Update entries beyond MANAGED_UPDATES_MAX are merged into one. Server-side apply is in apply.h.
 *
 * managedFields in a request are used if they are valid, so that kubectl can move ownership between managers;
 * otherwise those of the stored object stay. */
#ifndef BERTH_API_MANAGED_FIELDS_H
#define BERTH_API_MANAGED_FIELDS_H

#include <stdbool.h>

#include "api/json.h"
#include "api/kind.h"
#include "api/times.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/str.h"

#define MANAGED_UPDATES_MAX 10
/* Limit of Apply entries: each one costs every write. */
#define MANAGED_APPLIERS_MAX 100
#define MANAGER_BYTES_MAX 128

struct managed_write {
    const struct kind_info *kind;
    struct str manager; /* see manager_of_user_agent(); "" is "unknown" */
    struct str
        subresource; /* "" for the object itself; "status" owns the status, others fields of the object */
    struct timestamp now;
};

/* The default manager of a request: the printable characters of the user agent up to its first slash. */
void manager_of_user_agent(struct str user_agent, struct buf *out);

/* An empty list of managedFields means that all ownership is dropped; normalizing would remove it. Called
 * before normalizing, this keeps its meaning. */
void managed_fields_keep_reset(struct json *d, json_ref object);

/* Updates managedFields of object. Both trees are in canonical form, possibly with defaults added; old is the
 * stored object, 0 for a create. Costs a pass over both and over the entries. A write that changes nothing
 * leaves the entries unchanged. */
int managed_fields_update(struct json *d, json_ref object, json_ref old, const struct managed_write *w,
                          struct error *err);

/* True if the two differ only in times of managedFields: then nothing has to be stored. */
bool managed_fields_is_noop(const struct json *d, json_ref object, json_ref old);

#endif

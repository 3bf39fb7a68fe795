/* metadata.managedFields: who owns which fields, and what a write changes in that.
 *
 * A plain write (create, update, patch) owns what it changed, and every other manager loses that:
 *
 *     normalize, defaults, managed_fields_update(), admission, prepare, normalize, validate
 *
 * At that place defaults belong to the writer, and nobody owns what admission and the server set after it.
 * The entries come out as Kubernetes writes them: Apply in front of Update, older in front of newer, then by
 * name. Of Update entries the oldest beyond MANAGED_UPDATES_MAX are merged into one. Server-side apply is in
 * apply.h.
 *
 * What clients send as managedFields is honoured when it can be read, so that kubectl can move ownership from
 * one manager to another; else what the object had before stays. */
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
/* Of appliers too there is an end: each one costs every write something. */
#define MANAGED_APPLIERS_MAX 100
#define MANAGER_BYTES_MAX 128

struct managed_write {
    const struct kind_info *kind;
    struct str manager;     /* see manager_of_user_agent(); "" is "unknown" */
    struct str subresource; /* "" for the object itself; "status" owns status, others what the object has */
    struct timestamp now;
};

/* Who writes, where the request does not say: the user agent up to its first slash, what can be printed of
 * it. */
void manager_of_user_agent(struct str user_agent, struct buf *out);

/* An empty list of managedFields means that nobody shall own anything any more, and normalizing would take it
 * for none sent. Called before normalizing, this keeps its meaning. */
void managed_fields_keep_reset(struct json *d, json_ref object);

/* Brings object's managedFields up to date. Both trees are in canonical form or have come out of one by
 * defaults; old is the stored object, 0 when there was none. Costs a pass over both and over the entries. A
 * write that changes nothing leaves the entries as they were. */
int managed_fields_update(struct json *d, json_ref object, json_ref old, const struct managed_write *w,
                          struct error *err);

/* True when the two differ in nothing but times of managedFields: then there is nothing to store. */
bool managed_fields_is_noop(const struct json *d, json_ref object, json_ref old);

#endif

/* The kinds that Berth serves or reads, as one table.
 *
 * A row has the addressing of the kind, its schema, defaults, validation and decoding. The functions and
 * schema of each kind are in the file with its name (volume.c, claim.c, …); kind.c only has the table. */
#ifndef BERTH_API_KIND_H
#define BERTH_API_KIND_H

#include <stdbool.h>
#include <stddef.h>

#include "api/json.h"
#include "api/names.h"
#include "api/schema.h"
#include "api/times.h"

enum kind {
    KIND_VOLUME,
    KIND_CLAIM,
    KIND_CLASS,
    KIND_ATTACHMENT,
    KIND_CSI_DRIVER,
    KIND_CSI_NODE,
    KIND_CSI_CAPACITY,
    KIND_ATTRIBUTES_CLASS,
    KIND_POD,
    KIND_NODE,
    KIND_NAMESPACE,
    KIND_EVENT,    /* core/v1: the stored form */
    KIND_EVENT_V1, /* events.k8s.io/v1: another form of the same object */
    KIND_CONFIG_MAP,
    KIND_SECRET,
    KIND_SERVICE_ACCOUNT,
    KIND_LEASE,
    KIND_SNAPSHOT,
    KIND_SNAPSHOT_CONTENT,
    KIND_SNAPSHOT_CLASS,
    KIND_SERVICE,
    KIND_ENDPOINTS,
    KIND_ENDPOINT_SLICE,
    KIND_GROUP_SNAPSHOT,
    KIND_GROUP_SNAPSHOT_CONTENT,
    KIND_GROUP_SNAPSHOT_CLASS,
    KIND_COUNT,
};

enum {
    KIND_UPDATES_UNCONDITIONALLY = 1 << 0, /* PUT without a resourceVersion: last write wins */
    KIND_CREATES_ON_UPDATE = 1 << 1,       /* PUT creates a missing object */
    KIND_DELETE_ANSWERS_OBJECT = 1 << 2,   /* DELETE returns the object, not a Status */
    KIND_IS_CUSTOM = 1 << 3,               /* custom resource semantics: the snapshot kinds */
    KIND_IS_READ_ONLY = 1 << 4,            /* only the server itself writes it */
};

/* The part of the object that a request writes. */
enum write_part { WRITE_MAIN, WRITE_STATUS };

struct decoder;
struct kind_info;
struct object;
struct validation;

/* A field that field selectors support, besides metadata.name and metadata.namespace. */
struct selectable {
    const char *name;
    /* The stored value, "" if not set. Borrowed from the object. */
    const char *(*get)(const struct object *o);
};

struct kind_info {
    enum kind kind;
    const char *name;  /* "PersistentVolume" */
    const char *group; /* "" for the core group */
    const char *version;
    const char *plural;             /* "persistentvolumes" */
    const char *const *short_names; /* ends with NULL; NULL for none */
    bool is_namespaced;
    bool has_status; /* status is a subresource */
    unsigned flags;
    enum name_rule name_rule; /* of metadata.name */
    const struct schema *schema;
    size_t view_bytes; /* of the struct that starts with struct object */

    /* Sets absent fields. The object is in canonical form. Idempotent. */
    void (*set_defaults)(struct json *d, json_ref object);
    /* Prepares a new object for storing: resets the status, initializes counters. */
    void (*prepare_create)(struct json *d, json_ref object, struct timestamp now);
    /* Restores from old what a write to this part must not change: the status for main writes, the spec for
     * status writes. */
    void (*prepare_update)(struct json *d, json_ref object, json_ref old, enum write_part part,
                           struct timestamp now);
    /* Adds errors about the object to v->errors; the caller validates metadata. */
    void (*validate)(struct validation *v);
    /* Adds errors about the change from v->old to v->object. */
    void (*validate_update)(struct validation *v);
    /* Adds warnings about a valid object; old is 0 for a create. NULL for none. */
    void (*warn)(const struct json *d, json_ref object, json_ref old, struct field_report *out);
    /* Fills the view after struct object. Types are already checked. Failures are kept in the decoder. */
    void (*decode)(struct decoder *dec, json_ref object, struct object *o);
    const struct selectable *selectable; /* ends with a NULL name; NULL for none */
};

const struct kind_info *kind_info(enum kind kind);

/* By "PersistentVolume" or "persistentvolumes" in a group and version; NULL if unknown. */
const struct kind_info *kind_by_name(struct str group, struct str version, struct str name);
const struct kind_info *kind_by_plural(struct str group, struct str version, struct str plural);
/* By apiVersion ("v1", "storage.k8s.io/v1") and kind of an object. */
const struct kind_info *kind_by_api_version(struct str api_version, struct str name);
/* By a name that a user types: plural, singular or short name in any case: "pvc", "StorageClass",
 * "persistentvolumes". */
const struct kind_info *kind_by_word(struct str word);
/* "v1" or "storage.k8s.io/v1". */
void kind_api_version(const struct kind_info *k, struct buf *out);
/* As the member "apiVersion" of a JSON object (api/json_out.h). */
void kind_write_api_version(const struct kind_info *k, struct buf *out);
/* "persistentvolumes" or "storageclasses.storage.k8s.io", as in error texts. */
void kind_resource(const struct kind_info *k, struct buf *out);

#endif

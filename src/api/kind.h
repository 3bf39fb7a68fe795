/* The kinds Berth serves or reads, as one table.
 *
 * A row says how the kind is addressed, which fields it has, what it defaults to, what makes it invalid and
 * how it is decoded into its view. Each kind's functions and schema live in the file named after it
 * (volume.c, claim.c, …); kind.c holds the table alone. */
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
    KIND_EVENT,    /* core/v1: the form that is stored */
    KIND_EVENT_V1, /* events.k8s.io/v1: another view of the same object */
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
    KIND_COUNT,
};

enum {
    KIND_UPDATES_UNCONDITIONALLY = 1 << 0, /* PUT without a resourceVersion is last write wins */
    KIND_CREATES_ON_UPDATE = 1 << 1,       /* PUT of what is not there makes it */
    KIND_DELETE_ANSWERS_OBJECT = 1 << 2,   /* DELETE answers with the object, not with a Status */
    KIND_IS_CUSTOM = 1 << 3,               /* behaves as a custom resource: the snapshot kinds */
    KIND_IS_READ_ONLY = 1 << 4,            /* only the server itself writes it: nobody sends it */
};

/* What is being written. */
enum write_part { WRITE_MAIN, WRITE_STATUS };

struct decoder;
struct kind_info;
struct object;
struct validation;

/* A field that field selectors may name, besides metadata.name and metadata.namespace. */
struct selectable {
    const char *name;
    /* The stored value, "" when unset. Borrowed from the object. */
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
    bool has_status; /* status is a subresource of its own */
    unsigned flags;
    enum name_rule name_rule; /* of metadata.name */
    const struct schema *schema;
    size_t view_bytes; /* of the struct that begins with struct object */

    /* Fills in what the writer left out. The object is in canonical form. Idempotent. */
    void (*set_defaults)(struct json *d, json_ref object);
    /* Makes a new object ready to be stored, whatever the writer sent: status reset, counters started. */
    void (*prepare_create)(struct json *d, json_ref object, struct timestamp now);
    /* Takes from old what a write to this part may not touch: status on main writes, spec on status writes.
     */
    void (*prepare_update)(struct json *d, json_ref object, json_ref old, enum write_part part,
                           struct timestamp now);
    /* Adds what is wrong with the object as it stands to v->errors; metadata is checked by the caller. */
    void (*validate)(struct validation *v);
    /* Adds what is wrong with going from v->old to v->object. */
    void (*validate_update)(struct validation *v);
    /* Adds warnings about an object that is fine; old is 0 when it is created. NULL for none. */
    void (*warn)(const struct json *d, json_ref object, json_ref old, struct field_report *out);
    /* Fills the view behind struct object. Types have been checked. Failures stick in the decoder. */
    void (*decode)(struct decoder *dec, json_ref object, struct object *o);
    const struct selectable *selectable; /* ends with a NULL name; NULL for none */
};

const struct kind_info *kind_info(enum kind kind);

/* By "PersistentVolume" or "persistentvolumes" in a group and version; NULL when Berth does not know it. */
const struct kind_info *kind_by_name(struct str group, struct str version, struct str name);
const struct kind_info *kind_by_plural(struct str group, struct str version, struct str plural);
/* By the two fields every object carries: apiVersion ("v1", "storage.k8s.io/v1") and kind. */
const struct kind_info *kind_by_api_version(struct str api_version, struct str name);
/* By what a person types: plural, singular or short name, any case: "pvc", "StorageClass",
 * "persistentvolumes". */
const struct kind_info *kind_by_word(struct str word);
/* "v1" or "storage.k8s.io/v1". */
void kind_api_version(const struct kind_info *k, struct buf *out);
/* As the member "apiVersion" of a JSON object (api/json_out.h). */
void kind_write_api_version(const struct kind_info *k, struct buf *out);
/* "persistentvolumes" or "storageclasses.storage.k8s.io", as error texts name resources. */
void kind_resource(const struct kind_info *k, struct buf *out);

#endif

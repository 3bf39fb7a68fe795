/* Objects: the stored JSON text, and a decoded view of the fields that Berth uses.
 *
 * An object is immutable after creation and reference-counted: caches, store and watches share it. A change
 * is a new text, decoded again. The view of each kind (struct volume, struct claim, …) starts with a struct
 * object. Everything is in one arena, so that an object needs two or three allocations.
 *
 * Strings in a view are never NULL ("" if absent) and contain no NUL byte: decoding rejects one. */
#ifndef BERTH_API_OBJECT_H
#define BERTH_API_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "api/json.h"
#include "api/kind.h"
#include "api/kv.h"
#include "api/quantity.h"
#include "api/schema.h"
#include "api/times.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/refcount.h"

/* The API accepts bodies up to 3 MiB; lists of objects are read in pages below this limit. */
#define OBJECT_TEXT_BYTES_MAX ((size_t)64 << 20)
#define OBJECT_MEMORY_BYTES_MAX ((size_t)32 << 20)

/* kubectl's copy of the applied configuration: as large as the object, and only read by kubectl and by apply.
 */
#define LAST_APPLIED_ANNOTATION "kubectl.kubernetes.io/last-applied-configuration"

struct texts {
    const char *const *items;
    uint32_t count;
};

bool texts_have(const struct texts *texts, const char *text);

struct kvs {
    const struct kv *items; /* sorted by key */
    uint32_t count;
};

struct owner {
    const char *api_version;
    const char *kind;
    const char *name;
    const char *uid;
    bool is_controller;
    bool blocks_deletion;
};

struct object {
    struct refcount refs;
    const struct kind_info *kind;
    struct arena arena; /* contains the object itself */
    struct str text;    /* canonical JSON, NUL-terminated */

    const char *name;
    const char *ns; /* "" for cluster scope */
    const char *uid;
    const char *generate_name;
    int64_t revision; /* metadata.resourceVersion; 0 if not set */
    int64_t generation;
    struct timestamp created;
    struct timestamp deleted;       /* deletionTimestamp; only set if is_deleting */
    int64_t deletion_grace_seconds; /* -1 if not set */
    bool is_deleting;
    bool is_vetted; /* written by this process: the text has no field that the kind's schema does not know */
    struct kvs labels;
    struct kvs annotations; /* without kubectl's last-applied copy of the object, which is not used */
    struct texts finalizers;
    const struct owner *owners;
    uint32_t owners_count;
};

/* Creates an object from a tree in canonical form (schema_normalize()). */
int object_new(const struct kind_info *k, struct json *d, json_ref v, struct object **ret, struct error *err);

/* Decodes a text: parses, normalizes (keeping unknown fields) and decodes. scratch is cleared first and may
 * be reused for the next object. */
int object_decode(const struct kind_info *k, struct str text, struct json *scratch, struct object **ret,
                  struct error *err);

/* Decodes the text of an object that was created here before, from a store: it is assumed to be canonical, so
 * that nothing is checked or written again. In a text that is JSON but not canonical, wrong types read as
 * absent. */
int object_decode_stored(const struct kind_info *k, struct str text, struct json *scratch,
                         struct object **ret, struct error *err);

/* object_decode() with the kind taken from the text's apiVersion and kind. */
int object_decode_any(struct str text, struct json *scratch, struct object **ret, struct error *err);

struct object *object_ref(const struct object *o);
struct object *object_unref(struct object *o);
DEFINE_CLEANUP(struct object, object_unref)

/* The value of an annotation or label; NULL if absent. */
const char *object_annotation(const struct object *o, const char *key);
bool object_annotation_is(const struct object *o, const char *key, const char *value);
const char *object_label(const struct object *o, const char *key);
bool object_has_finalizer(const struct object *o, const char *finalizer);
/* The owner that is a controller; NULL for none. */
const struct owner *object_controller(const struct object *o);
/* The value of a field for field selectors; NULL if the kind does not support it. */
const char *object_field(const struct object *o, const char *field);

/* True if both have the same pairs. */
bool kvs_equal(const struct kvs *a, const struct kvs *b);

/* "namespace/name", or "name" at cluster scope. */
void object_key(const struct object *o, struct buf *out);

/* --- For the kinds' decode functions. The first failure sticks; readers then return empty values. --- */

struct decoder {
    const struct json *d;
    struct arena *arena;
    struct error *err;
    int r; /* 0, or the failure */
};

/* A member that is a string, copied; "" if absent. A NUL byte inside is an error that names the field. */
const char *decode_text(struct decoder *dec, json_ref object, const char *key);
bool decode_bool(struct decoder *dec, json_ref object, const char *key, bool fallback);
int64_t decode_int(struct decoder *dec, json_ref object, const char *key, int64_t fallback);
/* False if absent; *ret is then unchanged. */
bool decode_time(struct decoder *dec, json_ref object, const char *key, struct timestamp *ret);
bool decode_quantity(struct decoder *dec, json_ref object, const char *key, struct quantity *ret);
struct texts decode_texts(struct decoder *dec, json_ref object, const char *key);
/* A map from strings to strings. */
struct kvs decode_map(struct decoder *dec, json_ref object, const char *key);
/* The members with that name in a list of objects. */
struct texts decode_member_texts(struct decoder *dec, json_ref object, const char *key, const char *member);
/* The key of a map's member, copied. */
const char *decode_key(struct decoder *dec, json_ref member);
/* An array of count items, zeroed. NULL for none, and without memory. */
void *decode_room(struct decoder *dec, uint32_t count, size_t item_bytes);
/* An array for the items of a JSON array, and its size. NULL if it is empty. */
void *decode_items(struct decoder *dec, json_ref array, size_t item_bytes, uint32_t *ret_count);
/* Memory for the view of a member. NULL if it is absent. */
void *decode_new(struct decoder *dec, json_ref member, size_t bytes);
/* The index of the text in a table of names; fallback if it is not in the table. */
int decode_enum(struct decoder *dec, json_ref object, const char *key, const char *const *names, int count,
                int fallback);
/* The same for a given text. */
int name_index(struct str name, const char *const *names, int count, int fallback);

#endif

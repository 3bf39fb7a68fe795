/* Requests of workloads: small objects are created, changed and deleted. What the server stores is read
 * directly. */
#ifndef BERTH_SIM_OBJECTS_H
#define BERTH_SIM_OBJECTS_H

#include "api/claim.h"
#include "api/class.h"
#include "api/node.h"
#include "api/volume.h"
#include "client/client.h"

struct sim;

#define OBJECTS_NS "default"

/* Creates an object, in OBJECTS_NS if its kind is namespaced. The format is JSON with ' instead of ". */
void objects_create(struct sim *s, enum kind k, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void objects_delete(struct sim *s, enum kind k, const char *name);
/* Deletes the object with this uid, not another one with its name; a pod without grace period. */
void objects_delete_exact(struct sim *s, const struct object *o);
/* Patches an annotation and the spec, on condition that the object has not changed. annotation may be NULL; a
 * value of NULL removes it. spec is JSON or NULL. */
void objects_patch(struct sim *s, const struct object *o, const char *annotation, const char *value,
                   const char *spec);
/* The same for a label, and to remove a finalizer. */
void objects_set_label(struct sim *s, const struct object *o, const char *key, const char *value);
void objects_remove_finalizer(struct sim *s, const struct object *o, const char *finalizer);

/* The stored object; NULL: there is none of that name. */
const struct volume *stored_volume(const struct sim *s, const char *name);
const struct claim *stored_claim(const struct sim *s, const char *name);
const struct node *stored_node(const struct sim *s, const char *name);
const struct storage_class *stored_class(const struct sim *s, const char *name);

/* Gives the object a new version, with an annotation that no program reads. o may be NULL. */
void objects_touch(struct sim *s, const struct object *o);

/* Calls fn for each stored object of a kind, ordered by name, until it returns false; false in this case. */
typedef bool objects_fn(void *ctx, const struct object *o);
bool objects_each(struct sim *s, enum kind k, objects_fn *fn, void *ctx);

/* ConfigMaps with one label. */
void objects_create_map(struct sim *s, const char *name, const char *label, const char *value);
void objects_label_map(struct sim *s, const char *name, const char *label, const char *value);
/* Gives the object a new version, with an annotation that no program reads. */
void objects_touch_map(struct sim *s, const char *name, uint64_t number);
void objects_delete_map(struct sim *s, const char *name);
/* The same for StorageClasses, which have no namespace. */
void objects_create_class(struct sim *s, const char *name);
void objects_touch_class(struct sim *s, const char *name, uint64_t number);
void objects_delete_class(struct sim *s, const char *name);

#endif

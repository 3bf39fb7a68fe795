/* Small objects for scenarios, and the requests that change them. */
#ifndef BERTH_SIM_OBJECTS_H
#define BERTH_SIM_OBJECTS_H

#include "api/claim.h"
#include "api/class.h"
#include "api/node.h"
#include "api/volume.h"
#include "client/client.h"

struct sim;

#define OBJECTS_NS "default"

/* Somebody makes an object, deletes it, …; in OBJECTS_NS if its kind has namespaces. ' stands for ". */
void objects_make(struct sim *s, enum kind k, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void objects_drop(struct sim *s, enum kind k, const char *name);
/* … this one, not whatever has its name by then; a pod at once. */
void objects_drop_this(struct sim *s, const struct object *o);
/* On condition that it is still the one that was looked at. spec: a text for the member, or NULL; a value of
 * NULL takes the annotation away. */
void objects_change(struct sim *s, const struct object *o, const char *annotation, const char *value,
                    const char *spec);
/* The same for a label, and for a finalizer, which goes. */
void objects_relabel(struct sim *s, const struct object *o, const char *key, const char *value);
void objects_let_go(struct sim *s, const struct object *o, const char *finalizer);

/* What the server has; NULL: nothing of that name. */
const struct volume *stored_volume(const struct sim *s, const char *name);
const struct claim *stored_claim(const struct sim *s, const char *name);
const struct node *stored_node(const struct sim *s, const char *name);
const struct storage_class *stored_class(const struct sim *s, const char *name);

/* An annotation that nobody owns: the object, if there is one, gets a new version. */
void objects_touch_this(struct sim *s, const struct object *o);

/* Calls fn for each stored object of a kind, in the order of names, until it says no: false then. */
typedef bool objects_fn(void *ctx, const struct object *o);
bool objects_each(struct sim *s, enum kind k, objects_fn *fn, void *ctx);

/* Somebody makes a ConfigMap with one label, changes it, deletes it. */
void objects_create(struct sim *s, const char *name, const char *label, const char *value);
void objects_label(struct sim *s, const char *name, const char *label, const char *value);
/* An annotation that nobody owns: the object gets a new version. */
void objects_touch(struct sim *s, const char *name, uint64_t number);
void objects_delete(struct sim *s, const char *name);
/* The same for a StorageClass, which has no namespace. */
void objects_create_class(struct sim *s, const char *name);
void objects_touch_class(struct sim *s, const char *name, uint64_t number);
void objects_delete_class(struct sim *s, const char *name);

#endif

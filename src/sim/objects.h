/* Small objects for scenarios, and the requests that change them. */
#ifndef BERTH_SIM_OBJECTS_H
#define BERTH_SIM_OBJECTS_H

#include "client/client.h"

struct sim;

#define OBJECTS_NS "default"

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

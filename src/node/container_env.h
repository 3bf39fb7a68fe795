/* The environment of a container, as far as a subPathExpr may name it: plain values and fields of the pod,
 * in the order they are given, each of which may name those in front of it. What comes from elsewhere
 * (ConfigMaps, Secrets, resources) is known by name, so that an error can say so.
 *
 * A value is bounded, and so are all together: values may name one another again and again. */
#ifndef BERTH_NODE_CONTAINER_ENV_H
#define BERTH_NODE_CONTAINER_ENV_H

#include "api/json.h"
#include "api/pod.h"
#include "base/arena.h"
#include "base/map.h"
#include "plugins/content.h"

#define ENV_VALUE_BYTES_MAX 4096
#define ENV_BYTES_MAX ((size_t)4 << 20)

struct container_env {
    const struct pod *pod;
    struct arena arena;
    struct downward fields;
    struct map vars;
};

/* seed: names come from outside. */
void container_env_init(struct container_env *e, const struct pod *pod, struct hash_seed seed);
void container_env_done(struct container_env *e);
/* The variables of this container, which is part of the pod's text in d, instead of those before. d outlives
 * them. Fails when the memory is used up. */
int container_env_load(struct container_env *e, const struct json *d, json_ref container, struct error *err);

/* $(VAR) by its value, $$ by $. A variable that there is none of is an error, and so is one whose value
 * cannot be had. *ret lives as long as e. */
int container_env_expand(struct container_env *e, const char *text, const char **ret, struct error *err);

#endif

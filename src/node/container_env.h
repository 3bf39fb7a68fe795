/* The environment of a container, as far as a subPathExpr can use it: literal values and pod fields, in the
 * order of the env list; each may refer to earlier ones. Variables from other sources (ConfigMaps, Secrets,
 * resources) are stored by name only, so that an error can name the reason.
 *
 * The size of a value and of all values together is bounded. */
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

/* seed: for the hash map; names are untrusted. */
void container_env_init(struct container_env *e, const struct pod *pod, struct hash_seed seed);
void container_env_done(struct container_env *e);
/* Replaces the variables with those of this container, which is a part of the pod's text in d. d must outlive
 * them. Fails when out of memory. */
int container_env_load(struct container_env *e, const struct json *d, json_ref container, struct error *err);

/* Replaces $(VAR) by its value and $$ by $. An unknown variable and one without an available value are
 * errors. *ret is valid as long as e. */
int container_env_expand(struct container_env *e, const char *text, const char **ret, struct error *err);

#endif

/* ConfigMap, Secret and ServiceAccount.
 *
 * Values are bytes: decoded from base64 where the API uses it, and may contain NUL. The contents of a Secret
 * must never appear in a log, an event or an error: the rules name keys and never show a value. */
#ifndef BERTH_API_CONFIG_H
#define BERTH_API_CONFIG_H

#include <assert.h>

#include "api/object.h"

#define SECRET_TYPE_OPAQUE "Opaque"
#define SECRET_TYPE_SERVICE_ACCOUNT_TOKEN "kubernetes.io/service-account-token"
#define SECRET_TYPE_DOCKERCFG "kubernetes.io/dockercfg"
#define SECRET_TYPE_DOCKER_CONFIG_JSON "kubernetes.io/dockerconfigjson"
#define SECRET_TYPE_BASIC_AUTH "kubernetes.io/basic-auth"
#define SECRET_TYPE_SSH_AUTH "kubernetes.io/ssh-auth"
#define SECRET_TYPE_TLS "kubernetes.io/tls"

#define ANN_SERVICE_ACCOUNT_NAME "kubernetes.io/service-account.name"

struct config_entry {
    const char *key;
    struct str bytes; /* followed by a NUL */
};

struct config_entries {
    const struct config_entry *items; /* sorted by key, unique */
    uint32_t count;
};

struct config_map {
    struct object obj;
    struct config_entries
        data; /* data and binaryData; data takes precedence if an invalid object has a key in both */
    bool is_immutable;
};

struct secret {
    struct object obj;
    const char *type;
    struct config_entries data;
    bool is_immutable;
};

struct service_account {
    struct object obj;
    struct texts secrets;            /* names */
    struct texts image_pull_secrets; /* names */
    bool automounts_token;           /* true if not set */
};

extern const struct kind_info config_map_kind;
extern const struct kind_info secret_kind;
extern const struct kind_info service_account_kind;

/* The view of an object that is a ConfigMap or a Secret. */
static inline const struct config_map *config_map_of(const struct object *o)
{
    assert(o->kind->kind == KIND_CONFIG_MAP);
    return (const struct config_map *)(const void *)o;
}

static inline const struct secret *secret_of(const struct object *o)
{
    assert(o->kind->kind == KIND_SECRET);
    return (const struct secret *)(const void *)o;
}

/* The entry with that key; NULL if there is none. */
const struct config_entry *config_find(const struct config_entries *entries, const char *key);

#endif

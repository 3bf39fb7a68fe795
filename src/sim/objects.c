#include "sim/objects.h"

#include <inttypes.h>
#include <stdio.h>

#include "sim/world.h"

#define BODY_BYTES 512

static void request(struct sim *s, enum client_verb verb, enum kind k, const char *name, const char *body)
{
    struct client_request q = {
        .verb = verb,
        .kind = kind_info(k),
        .ns = kind_info(k)->is_namespaced ? OBJECTS_NS : NULL,
        .name = verb == CLIENT_CREATE ? NULL : name,
        .body = str_of(body),
        .patch = CLIENT_PATCH_MERGE,
    };

    sim_trace(s, "somebody: %s %s %s",
              verb == CLIENT_CREATE  ? "create"
              : verb == CLIENT_PATCH ? "patch"
                                     : "delete",
              name, body);
    sim_request(s, &q);
}

void objects_create(struct sim *s, const char *name, const char *label, const char *value)
{
    char body[BODY_BYTES];

    (void)snprintf(body, sizeof body,
                   "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"%s\",\"labels\":{"
                   "\"%s\":\"%s\"}}}",
                   name, label, value);
    request(s, CLIENT_CREATE, KIND_CONFIG_MAP, name, body);
}

void objects_label(struct sim *s, const char *name, const char *label, const char *value)
{
    char body[BODY_BYTES];

    (void)snprintf(body, sizeof body, "{\"metadata\":{\"labels\":{\"%s\":\"%s\"}}}", label, value);
    request(s, CLIENT_PATCH, KIND_CONFIG_MAP, name, body);
}

static void touch(struct sim *s, enum kind k, const char *name, uint64_t number)
{
    char body[BODY_BYTES];

    (void)snprintf(body, sizeof body, "{\"metadata\":{\"annotations\":{\"touched\":\"%" PRIu64 "\"}}}",
                   number);
    request(s, CLIENT_PATCH, k, name, body);
}

void objects_touch(struct sim *s, const char *name, uint64_t number)
{
    touch(s, KIND_CONFIG_MAP, name, number);
}

void objects_delete(struct sim *s, const char *name)
{
    request(s, CLIENT_DELETE, KIND_CONFIG_MAP, name, "");
}

void objects_create_class(struct sim *s, const char *name)
{
    char body[BODY_BYTES];

    (void)snprintf(body, sizeof body,
                   "{\"apiVersion\":\"storage.k8s.io/"
                   "v1\",\"kind\":\"StorageClass\",\"metadata\":{\"name\":\"%s\"},\"provisioner\":\"x\"}",
                   name);
    request(s, CLIENT_CREATE, KIND_CLASS, name, body);
}

void objects_touch_class(struct sim *s, const char *name, uint64_t number)
{
    touch(s, KIND_CLASS, name, number);
}

void objects_delete_class(struct sim *s, const char *name)
{
    request(s, CLIENT_DELETE, KIND_CLASS, name, "");
}

#include "scheduler/assume.h"

#include <stdlib.h>
#include <string.h>

#include "machinery/informer.h"

void assumed_init(struct assumed *a, struct hash_seed seed)
{
    *a = (struct assumed){ 0 };
    map_init(&a->volumes, seed);
    map_init(&a->by_claim, seed);
    map_init(&a->claims, seed);
}

static void volume_free(struct assumed_volume *x)
{
    (void)object_unref((struct object *)(uintptr_t)&x->volume->obj);
    free(x->claim_uid);
    free(x->pod_uid);
    free(x);
}

static void claim_free(struct assumed_claim *x)
{
    (void)object_unref((struct object *)(uintptr_t)&x->claim->obj);
    free(x->node);
    free(x->pod_uid);
    free(x);
}

void assumed_done(struct assumed *a)
{
    struct assumed_volume *v;
    struct assumed_claim *c;

    for (size_t at = 0; (v = map_next(&a->volumes, &at, NULL));)
        volume_free(v);
    for (size_t at = 0; (c = map_next(&a->claims, &at, NULL));)
        claim_free(c);
    map_done(&a->volumes);
    map_done(&a->by_claim);
    map_done(&a->claims);
}

/* --- Volumes --- */

int assume_volume(struct assumed *a, const struct volume *v, const char *claim_uid, const char *pod_uid)
{
    struct assumed_volume *x;

    if (map_get(&a->volumes, str_of(v->obj.name)) || map_get(&a->by_claim, str_of(claim_uid)))
        return -ERR_BUSY;
    x = calloc(1, sizeof *x);
    if (!x)
        return -ERR_NO_MEMORY;
    x->volume = volume_of(object_ref(&v->obj));
    x->claim_uid = strdup(claim_uid);
    x->pod_uid = strdup(pod_uid);
    if (!x->claim_uid || !x->pod_uid || map_put(&a->volumes, str_of(x->volume->obj.name), x, NULL) < 0) {
        volume_free(x);
        return -ERR_NO_MEMORY;
    }
    if (map_put(&a->by_claim, str_of(x->claim_uid), x, NULL) < 0) {
        (void)map_remove(&a->volumes, str_of(x->volume->obj.name));
        volume_free(x);
        return -ERR_NO_MEMORY;
    }
    return 0;
}

static void drop_volume(struct assumed *a, struct assumed_volume *x)
{
    (void)map_remove(&a->volumes, str_of(x->volume->obj.name));
    (void)map_remove(&a->by_claim, str_of(x->claim_uid));
    volume_free(x);
}

const struct assumed_volume *assumed_volume(const struct assumed *a, const char *name)
{
    return map_get(&a->volumes, str_of(name));
}

const struct assumed_volume *assumed_volume_of(const struct assumed *a, const char *claim_uid)
{
    return map_get(&a->by_claim, str_of(claim_uid));
}

static bool is_same_version(const struct object *a, const struct object *b)
{
    return strcmp(a->uid, b->uid) == 0 && str_eq(object_version(a), object_version(b));
}

bool assumed_see_volume(struct assumed *a, const struct volume *v)
{
    struct assumed_volume *x = map_get(&a->volumes, str_of(v->obj.name));

    if (!x || is_same_version(&x->volume->obj, &v->obj))
        return false;
    drop_volume(a, x);
    return true;
}

bool assumed_restore_volume(struct assumed *a, const char *name, const char *pod_uid)
{
    struct assumed_volume *x = map_get(&a->volumes, str_of(name));

    if (!x || strcmp(x->pod_uid, pod_uid) != 0)
        return false;
    drop_volume(a, x);
    return true;
}

/* --- Claims --- */

int assume_claim(struct assumed *a, const struct claim *c, const char *node, const char *pod_uid)
{
    struct assumed_claim *x;

    if (map_get(&a->claims, str_of(c->obj.uid)))
        return -ERR_BUSY;
    x = calloc(1, sizeof *x);
    if (!x)
        return -ERR_NO_MEMORY;
    x->claim = claim_of(object_ref(&c->obj));
    x->node = strdup(node);
    x->pod_uid = strdup(pod_uid);
    if (!x->node || !x->pod_uid || map_put(&a->claims, str_of(x->claim->obj.uid), x, NULL) < 0) {
        claim_free(x);
        return -ERR_NO_MEMORY;
    }
    return 0;
}

static void drop_claim(struct assumed *a, struct assumed_claim *x)
{
    (void)map_remove(&a->claims, str_of(x->claim->obj.uid));
    claim_free(x);
}

const struct assumed_claim *assumed_claim(const struct assumed *a, const char *claim_uid)
{
    return map_get(&a->claims, str_of(claim_uid));
}

bool assumed_see_claim(struct assumed *a, const struct claim *c)
{
    struct assumed_claim *x = map_get(&a->claims, str_of(c->obj.uid));

    if (!x || is_same_version(&x->claim->obj, &c->obj))
        return false;
    drop_claim(a, x);
    return true;
}

bool assumed_restore_claim(struct assumed *a, const char *claim_uid, const char *pod_uid)
{
    struct assumed_claim *x = map_get(&a->claims, str_of(claim_uid));

    if (!x || strcmp(x->pod_uid, pod_uid) != 0)
        return false;
    drop_claim(a, x);
    return true;
}

/* Assumed volumes and claims, in maps by volume name and by claim uid.
 *
 * Each assumption owns a reference to the object version that it was made on, and copies of the uids. All
 * operations are one or two lookups in hash maps. */
#include "scheduler/assume.h"

#include <assert.h>
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

static void volume_free(struct assumed_volume *entry)
{
    (void)object_unref((struct object *)(uintptr_t)&entry->volume->obj);
    free(entry->claim_uid);
    free(entry->pod_uid);
    free(entry);
}

static void claim_free(struct assumed_claim *entry)
{
    (void)object_unref((struct object *)(uintptr_t)&entry->claim->obj);
    free(entry->node);
    free(entry->pod_uid);
    free(entry);
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
    struct assumed_volume *entry;

    assert(claim_uid[0] != '\0' && pod_uid[0] != '\0');
    if (map_get(&a->volumes, str_of(v->obj.name)) || map_get(&a->by_claim, str_of(claim_uid)))
        return -ERR_BUSY;
    entry = calloc(1, sizeof *entry);
    if (!entry)
        return -ERR_NO_MEMORY;
    entry->volume = volume_of(object_ref(&v->obj));
    entry->claim_uid = strdup(claim_uid);
    entry->pod_uid = strdup(pod_uid);
    if (!entry->claim_uid || !entry->pod_uid ||
        map_put(&a->volumes, str_of(entry->volume->obj.name), entry, NULL) < 0) {
        volume_free(entry);
        return -ERR_NO_MEMORY;
    }
    if (map_put(&a->by_claim, str_of(entry->claim_uid), entry, NULL) < 0) {
        (void)map_remove(&a->volumes, str_of(entry->volume->obj.name));
        volume_free(entry);
        return -ERR_NO_MEMORY;
    }
    return 0;
}

static void drop_volume(struct assumed *a, struct assumed_volume *entry)
{
    void *by_name = map_remove(&a->volumes, str_of(entry->volume->obj.name));
    void *by_claim = map_remove(&a->by_claim, str_of(entry->claim_uid));

    assert(by_name == entry && by_claim == entry);
    (void)by_name;
    (void)by_claim;
    volume_free(entry);
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

bool assumed_observe_volume(struct assumed *a, const struct volume *v)
{
    struct assumed_volume *entry = map_get(&a->volumes, str_of(v->obj.name));

    if (!entry || is_same_version(&entry->volume->obj, &v->obj))
        return false;
    drop_volume(a, entry);
    return true;
}

bool assumed_release_volume(struct assumed *a, const char *name, const char *pod_uid)
{
    struct assumed_volume *entry = map_get(&a->volumes, str_of(name));

    if (!entry || strcmp(entry->pod_uid, pod_uid) != 0)
        return false;
    drop_volume(a, entry);
    return true;
}

/* --- Claims --- */

int assume_claim(struct assumed *a, const struct claim *c, const char *node, const char *pod_uid)
{
    struct assumed_claim *entry;

    assert(node[0] != '\0' && pod_uid[0] != '\0');
    if (map_get(&a->claims, str_of(c->obj.uid)))
        return -ERR_BUSY;
    entry = calloc(1, sizeof *entry);
    if (!entry)
        return -ERR_NO_MEMORY;
    entry->claim = claim_of(object_ref(&c->obj));
    entry->node = strdup(node);
    entry->pod_uid = strdup(pod_uid);
    if (!entry->node || !entry->pod_uid ||
        map_put(&a->claims, str_of(entry->claim->obj.uid), entry, NULL) < 0) {
        claim_free(entry);
        return -ERR_NO_MEMORY;
    }
    return 0;
}

static void drop_claim(struct assumed *a, struct assumed_claim *entry)
{
    (void)map_remove(&a->claims, str_of(entry->claim->obj.uid));
    claim_free(entry);
}

const struct assumed_claim *assumed_claim(const struct assumed *a, const char *claim_uid)
{
    return map_get(&a->claims, str_of(claim_uid));
}

bool assumed_observe_claim(struct assumed *a, const struct claim *c)
{
    struct assumed_claim *entry = map_get(&a->claims, str_of(c->obj.uid));

    if (!entry || is_same_version(&entry->claim->obj, &c->obj))
        return false;
    drop_claim(a, entry);
    return true;
}

bool assumed_release_claim(struct assumed *a, const char *claim_uid, const char *pod_uid)
{
    struct assumed_claim *entry = map_get(&a->claims, str_of(claim_uid));

    if (!entry || strcmp(entry->pod_uid, pod_uid) != 0)
        return false;
    drop_claim(a, entry);
    return true;
}

/* --- The invariant --- */

const char *assumed_check(const struct assumed *a)
{
    const struct assumed_volume *v;
    const struct assumed_claim *c;
    struct str key;

    if (a->volumes.count != a->by_claim.count)
        return "an assumed volume is indexed by volume but not by claim, or vice versa";
    for (size_t at = 0; (v = map_next(&a->volumes, &at, &key));)
        if (!str_is(key, v->volume->obj.name) || assumed_volume_of(a, v->claim_uid) != v)
            return "an assumed volume is not indexed by its claim";
    for (size_t at = 0; (c = map_next(&a->claims, &at, &key));)
        if (!str_is(key, c->claim->obj.uid))
            return "an assumed claim is indexed by another claim";
    return NULL;
}

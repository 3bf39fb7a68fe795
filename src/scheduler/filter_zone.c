/* VolumeZone: a volume with zone or region labels can only be used on nodes with the same labels. */
#include "scheduler/scheduler_int.h"

#include <string.h>

#define BETA_ZONE "failure-domain.beta.kubernetes.io/zone"
#define BETA_REGION "failure-domain.beta.kubernetes.io/region"
#define GA_ZONE "topology.kubernetes.io/zone"
#define GA_REGION "topology.kubernetes.io/region"

static const struct {
    const char *key;
    const char *alternative; /* the label that a node may have instead */
} zone_keys[] = {
    { BETA_ZONE, GA_ZONE }, { BETA_REGION, GA_REGION }, { GA_ZONE, NULL }, { GA_REGION, NULL }
};

/* The next value of "a__b", trimmed; rest.s is NULL after the last. */
static struct str next_value(struct str *rest)
{
    struct str all = *rest;

    for (size_t i = 0; i + 1 < all.len; i++) {
        if (all.s[i] != '_' || all.s[i + 1] != '_')
            continue;
        *rest = (struct str){ all.s + i + 2, all.len - i - 2 };
        return str_trim((struct str){ all.s, i });
    }
    *rest = (struct str){ 0 };
    return str_trim(all);
}

/* A label with an empty value in its list is ignored. */
static bool is_usable(struct str values)
{
    for (struct str rest = values; rest.s;)
        if (next_value(&rest).len == 0)
            return false;
    return true;
}

static bool has_value(struct str values, const char *value)
{
    for (struct str rest = values; rest.s;)
        if (str_is(next_value(&rest), value))
            return true;
    return false;
}

static int collect_zones(struct cycle *c, const struct volume *v)
{
    for (size_t i = 0; i < ARRAY_LEN(zone_keys); i++) {
        const char *value = object_label(&v->obj, zone_keys[i].key);

        if (value && is_usable(str_of(value)) &&
            vec_push(&c->zones, (struct zone_rule){ zone_keys[i].key, str_of(value) }) < 0)
            return -ERR_NO_MEMORY;
    }
    return 0;
}

static enum cycle_result check_unnamed(struct cycle *c, const struct pod_volume *p, const struct claim *claim)
{
    const struct storage_class *class;

    if (claim->class[0] == '\0')
        return cycle_refuse(c, (struct refused){ REFUSAL_UNBOUND, FILTER_ZONE, p },
                            "PersistentVolumeClaim had no pv name and storageClass name");
    class = cached_class(c->s, claim->class);
    if (!class)
        return cycle_refuse(c, (struct refused){ REFUSAL_NO_CLASS, FILTER_ZONE, p },
                            "storageclass.storage.k8s.io \"%s\" not found", claim->class);
    if (class->binding == BINDING_UNSET)
        return cycle_refuse(c, (struct refused){ REFUSAL_NO_MODE, FILTER_ZONE, p },
                            "VolumeBindingMode not set for StorageClass \"%s\"", claim->class);
    if (class->binding == BINDING_WAIT_FOR_FIRST_CONSUMER)
        return CYCLE_FITS;
    return cycle_refuse(c, (struct refused){ REFUSAL_UNBOUND, FILTER_ZONE, p },
                        "PersistentVolume had no name");
}

enum cycle_result check_zones(struct cycle *c)
{
    enum cycle_result r = CYCLE_FITS;

    for (uint32_t i = 0; i < c->pod->volumes.count && r == CYCLE_FITS; i++) {
        const struct pod_volume *p = &c->pod->volumes.items[i];
        const struct claim *claim;
        const struct volume *v;

        if (p->type != POD_VOLUME_CLAIM)
            continue;
        claim = cached_claim(c->s, c->pod->obj.ns, p->claim_name);
        if (!claim)
            return cycle_refuse(c, (struct refused){ REFUSAL_NO_CLAIM, FILTER_ZONE, p },
                                "persistentvolumeclaim \"%s\" not found", p->claim_name);
        if (claim->volume_name[0] == '\0') {
            r = check_unnamed(c, p, claim);
            continue;
        }
        v = cached_volume(c->s, claim->volume_name);
        if (!v)
            return cycle_refuse(c, (struct refused){ REFUSAL_NO_VOLUME, FILTER_ZONE, p },
                                "persistentvolume \"%s\" not found", claim->volume_name);
        if (collect_zones(c, v) < 0)
            return cycle_fail(c, FILTER_ZONE, "out of memory");
    }
    return r;
}

static const char *alternative_of(const char *key)
{
    for (size_t i = 0; i < ARRAY_LEN(zone_keys); i++)
        if (strcmp(zone_keys[i].key, key) == 0)
            return zone_keys[i].alternative;
    return NULL;
}

static bool has_any_zone(const struct node *n)
{
    for (size_t i = 0; i < ARRAY_LEN(zone_keys); i++)
        if (object_label(&n->obj, zone_keys[i].key))
            return true;
    return false;
}

uint32_t filter_zones(const struct cycle *c, const struct sched_node *n)
{
    if (c->zones.count == 0 || !has_any_zone(n->node))
        return 0;
    for (size_t i = 0; i < c->zones.count; i++) {
        const struct zone_rule *z = &c->zones.items[i];
        const char *value = object_label(&n->node->obj, z->key), *alternative = alternative_of(z->key);

        if (!value && alternative)
            value = object_label(&n->node->obj, alternative);
        if (!value || !has_value(z->values, value))
            return 1U << REASON_ZONE;
    }
    return 0;
}

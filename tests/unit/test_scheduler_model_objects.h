/* The worlds of test_scheduler_model.h as objects. */
#ifndef BERTH_TESTS_TEST_SCHEDULER_MODEL_OBJECTS_H
#define BERTH_TESTS_TEST_SCHEDULER_MODEL_OBJECTS_H

#include "tests/unit/test_still.h"

#include "scheduler/scheduler_int.h"
#include "tests/unit/test_scheduler_model.h"

#define TEXT_MAX 4096

static const char *const zone_values[] = { "", "a", "b" };

static inline const char *reach_text(const struct model_volume *v, char to[static 512])
{
    char host[160], zone[160];

    (void)snprintf(host, sizeof host,
                   "{'matchExpressions':[{'key':'kubernetes.io/hostname','operator':'In','values':['n%d']}]}",
                   v->node);
    (void)snprintf(zone, sizeof zone, "{'matchExpressions':[{'key':'zone','operator':'%s','values':['%s']}]}",
                   v->reach == REACH_OTHER_ZONES ? "NotIn" : "In", zone_values[v->zone]);
    to[0] = '\0';
    if (v->reach != REACH_ANY)
        (void)snprintf(to, 512, ",'nodeAffinity':{'required':{'nodeSelectorTerms':[%s%s%s]}}",
                       v->reach == REACH_NODE || v->reach == REACH_NODE_OR_ZONE ? host : "",
                       v->reach == REACH_NODE_OR_ZONE ? "," : "", v->reach == REACH_NODE ? "" : zone);
    return to;
}

static inline const char *ref_text(const struct model_volume *v, char to[static 256])
{
    char uid[64] = "";

    to[0] = '\0';
    if (v->ref == REF_NONE || v->ref == REF_PROMISE)
        return to;
    if (v->ref != REF_NAME)
        (void)snprintf(uid, sizeof uid, ",'uid':'%s-c%d'", v->ref == REF_UID ? "uid" : "old", v->claim);
    (void)snprintf(to, 256, ",'claimRef':{'namespace':'default','name':'c%d'%s}", v->claim, uid);
    return to;
}

static inline const char *modes_text(unsigned modes)
{
    return modes & MODE_MANY_READ ? "'ReadWriteOnce','ReadOnlyMany'" : "'ReadWriteOnce'";
}

/* Names and, for what comes from no server, what a server adds. */
static inline const char *meta_text(bool is_new, char prefix, int at, char to[static 128])
{
    if (is_new)
        (void)snprintf(to, 128, "'name':'%c%d'", prefix, at);
    else
        (void)snprintf(to, 128, "'name':'%c%d','uid':'uid-%c%d','resourceVersion':'%d'", prefix, at, prefix,
                       at, 10 + at);
    return to;
}

static inline void node_text(const struct model *m, int at, bool is_new, char to[static TEXT_MAX])
{
    char meta[128], zone[64] = "";

    if (m->zones[at] != ZONE_NONE)
        (void)snprintf(zone, sizeof zone, ",'zone':'%s'", zone_values[m->zones[at]]);
    (void)snprintf(to, TEXT_MAX,
                   "{'apiVersion':'v1','kind':'Node','metadata':{%s,'labels':{'kubernetes.io/hostname':'n%d'"
                   "%s}},'spec':{}}",
                   meta_text(is_new, 'n', at, meta), at, zone);
}

static inline void volume_text(const struct model *m, int at, bool is_new, char to[static TEXT_MAX])
{
    const struct model_volume *v = &m->volumes[at];
    char reach[512], ref[256], meta[128];

    (void)snprintf(
        to, TEXT_MAX,
        "{'apiVersion':'v1','kind':'PersistentVolume','metadata':{%s,'labels':{'speed':'%s'}%s},"
        "'spec':{'capacity':{'storage':'%dGi'},'accessModes':[%s],'storageClassName':'k%d',"
        "'volumeMode':'%s','csi':{'driver':'x','volumeHandle':'v%d'}%s%s},'status':{'phase':'%s'}}",
        meta_text(is_new, 'v', at, meta), v->is_fast ? "fast" : "slow",
        v->is_deleting ? ",'deletionTimestamp':'2026-01-01T00:00:00Z'" : "", v->size, modes_text(v->modes),
        v->class, v->is_block ? "Block" : "Filesystem", at, reach_text(v, reach), ref_text(v, ref),
        v->is_available ? "Available" : "Pending");
}

static inline void claim_text(const struct model *m, int at, bool is_new, char to[static TEXT_MAX])
{
    const struct model_claim *c = &m->claims[at];
    char volume[64] = "", annotation[128] = "", meta[128];

    if (!is_unbound(c)) {
        (void)snprintf(volume, sizeof volume, ",'volumeName':'v%d'", c->volume);
        (void)snprintf(annotation, sizeof annotation, ",'annotations':{'" ANN_BIND_COMPLETED "':'yes'}");
    } else if (c->node != NONE && !c->is_node_promised) {
        (void)snprintf(annotation, sizeof annotation, ",'annotations':{'" ANN_SELECTED_NODE "':'n%d'}",
                       c->node);
    }
    (void)snprintf(to, TEXT_MAX,
                   "{'apiVersion':'v1','kind':'PersistentVolumeClaim','metadata':{%s,'namespace':'default'%s"
                   "},'spec':{'accessModes':[%s],'resources':{'requests':{'storage':'%dGi'}},"
                   "'storageClassName':'k%d','volumeMode':'%s'%s%s%s}}",
                   meta_text(is_new, 'c', at, meta), annotation, modes_text(c->modes), c->size, c->class,
                   c->is_block ? "Block" : "Filesystem",
                   c->wants_fast ? ",'selector':{'matchLabels':{'speed':'fast'}}" : "",
                   c->has_source ? ",'dataSource':{'kind':'PersistentVolumeClaim','name':'old'}" : "",
                   volume);
}

static inline void pod_text(const struct model *m, bool is_new, char to[static TEXT_MAX])
{
    char meta[128];
    size_t len;

    (void)snprintf(to, TEXT_MAX,
                   "{'apiVersion':'v1','kind':'Pod','metadata':{%s,'namespace':'default'},'spec':{"
                   "'containers':[{'name':'c','image':'i'}],'volumes':[",
                   meta_text(is_new, 'p', 0, meta));
    for (int i = 0; i < m->claims_count; i++) {
        len = strlen(to);
        (void)snprintf(to + len, TEXT_MAX - len,
                       "%s{'name':'m%d','persistentVolumeClaim':{'claimName':'c%d'}}", i ? "," : "", i, i);
    }
    len = strlen(to);
    (void)snprintf(to + len, TEXT_MAX - len, "]}}");
}

static inline void class_text(const struct model *m, int at, bool is_new, char to[static TEXT_MAX])
{
    const struct model_class *k = &m->classes[at];
    char meta[128], by[64] = "kubernetes.io/no-provisioner", topologies[128] = "";

    if (k->provisions)
        (void)snprintf(by, sizeof by, "d%d", at);
    if (k->has_empty_term)
        (void)snprintf(topologies, sizeof topologies, ",'allowedTopologies':[{}]");
    else if (k->topology != ZONE_NONE)
        (void)snprintf(topologies, sizeof topologies,
                       ",'allowedTopologies':[{'matchLabelExpressions':[{'key':'zone','values':['%s']}]}]",
                       zone_values[k->topology]);
    (void)snprintf(to, TEXT_MAX,
                   "{'apiVersion':'storage.k8s.io/v1','kind':'StorageClass','metadata':{%s},'provisioner':"
                   "'%s','volumeBindingMode':'WaitForFirstConsumer'%s}",
                   meta_text(is_new, 'k', at, meta), by, topologies);
}

static inline void driver_text(int at, char to[static TEXT_MAX])
{
    char meta[128];

    (void)snprintf(to, TEXT_MAX,
                   "{'apiVersion':'storage.k8s.io/v1','kind':'CSIDriver','metadata':{%s},'spec':{"
                   "'storageCapacity':true}}",
                   meta_text(/* is_new= */ false, 'd', at, meta));
}

static inline void capacity_text(const struct model *m, int at, char to[static TEXT_MAX])
{
    const struct model_capacity *a = &m->capacities[at];
    char topology[128] = "", limit[64] = "", meta[128];

    if (a->zone == ZONE_NONE)
        (void)snprintf(topology, sizeof topology, ",'nodeTopology':{}");
    else if (a->zone != NONE)
        (void)snprintf(topology, sizeof topology, ",'nodeTopology':{'matchLabels':{'zone':'%s'}}",
                       zone_values[a->zone]);
    if (a->size_max)
        (void)snprintf(limit, sizeof limit, ",'maximumVolumeSize':'%dGi'", a->size_max);
    (void)snprintf(to, TEXT_MAX,
                   "{'apiVersion':'storage.k8s.io/v1','kind':'CSIStorageCapacity','metadata':{%s,"
                   "'namespace':'default'},'storageClassName':'k%d','capacity':'%dGi'%s%s}",
                   meta_text(/* is_new= */ false, 'a', at, meta), a->class, a->size, limit, topology);
}

/* All volumes, or that one alone. */
static inline void still_add_volumes(struct still *s, const struct model *m, int only)
{
    char text[TEXT_MAX];

    for (int i = 0; i < m->volumes_count; i++) {
        volume_text(m, i, /* is_new= */ false, text);
        if (only < 0 || only == i)
            still_add(s, KIND_VOLUME, text);
    }
}

static inline void still_add_claims(struct still *s, const struct model *m)
{
    char text[TEXT_MAX];

    for (int i = 0; i < m->claims_count; i++) {
        claim_text(m, i, /* is_new= */ false, text);
        still_add(s, KIND_CLAIM, text);
    }
    for (int i = 0; i < CLASSES_COUNT; i++) {
        class_text(m, i, /* is_new= */ false, text);
        still_add(s, KIND_CLASS, text);
        driver_text(i, text);
        if (m->classes[i].is_limited)
            still_add(s, KIND_CSI_DRIVER, text);
    }
    for (int i = 0; i < m->capacities_count; i++) {
        capacity_text(m, i, text);
        still_add(s, KIND_CSI_CAPACITY, text);
    }
}

static inline void still_add_all(struct still *s, const struct model *m)
{
    char text[TEXT_MAX];

    for (int i = 0; i < m->nodes_count; i++) {
        node_text(m, i, /* is_new= */ false, text);
        still_add(s, KIND_NODE, text);
    }
    still_add_volumes(s, m, /* only= */ -1);
    still_add_claims(s, m);
}

/* What another pod on its way was promised. */
static inline void still_promise(const struct still *s, const struct model *m)
{
    struct assumed *a = &s->scheduler->assumed;
    char name[16], uid[32];

    for (int i = 0; i < m->volumes_count; i++) {
        (void)snprintf(name, sizeof name, "v%d", i);
        if (m->volumes[i].ref != REF_PROMISE || !cached_volume(s->scheduler, name))
            continue;
        (void)snprintf(uid, sizeof uid, "uid-c%d", m->volumes[i].claim);
        assert_int_equal(assume_volume(a, cached_volume(s->scheduler, name), uid, "another"), 0);
    }
    for (int i = 0; i < m->claims_count; i++) {
        char node[16];

        if (!m->claims[i].is_node_promised)
            continue;
        (void)snprintf(name, sizeof name, "c%d", i);
        (void)snprintf(node, sizeof node, "n%d", m->claims[i].node);
        assert_int_equal(assume_claim(a, cached_claim(s->scheduler, "default", name), node, "another"), 0);
    }
}

#endif

/* For explanations of what is read from caches alone: a still world (test_still.h), makers of its objects,
 * and what is said of one of them. */
#ifndef BERTH_TESTS_TEST_WHY_STILL_H
#define BERTH_TESTS_TEST_WHY_STILL_H

#include "tests/unit/test_why.h"

#include "scheduler/explain.h"
#include "tests/unit/test_still.h"

#define NEVER "kubernetes.io/no-provisioner"
#define LATER "WaitForFirstConsumer"
/* A moment of the world's first day, which is the 1st of January 2026 at 0:00. */
#define FIVE_MINUTES_AGO "2025-12-31T23:55:00Z"
#define DELETED ",'deletionTimestamp':'" FIVE_MINUTES_AGO "'"

struct scene {
    struct still s;
    struct why_world w;
};

static inline void scene_events(void *ctx, const struct object *about, struct why_event_slice *slice,
                                why_event_fn *fn, void *fn_ctx)
{
    const struct still *s = ctx;

    (void)slice;
    for (size_t i = 0; i < s->objects_count; i++)
        if (s->objects[i]->kind->kind == KIND_EVENT &&
            why_event_is_about((const struct event *)(const void *)s->objects[i], about))
            fn(fn_ctx, (const struct event *)(const void *)s->objects[i]);
}

static inline void scene_put(struct scene *x, enum kind k, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static inline void scene_put(struct scene *x, enum kind k, const char *fmt, ...)
{
    char text[STILL_TEXT_MAX];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    still_add(&x->s, k, text);
}

/* meta: members of the metadata with a comma in front, as the other texts below. */
static inline void put_node(struct scene *x, const char *name, const char *labels, const char *spec,
                            const char *status)
{
    scene_put(
        x, KIND_NODE,
        "{'apiVersion':'v1','kind':'Node','metadata':{'name':'%s','uid':'u-%s','resourceVersion':'1',"
        "'labels':{'kubernetes.io/hostname':'%s'%s}},'spec':{%s},'status':{'conditions':[{'type':'Ready'"
        ",'status':'%s','message':'disk is full','lastTransitionTime':'" FIVE_MINUTES_AGO "'}]}}",
        name, name, name, labels, spec, status);
}

static inline void put_class(struct scene *x, const char *name, const char *by, const char *mode,
                             const char *more)
{
    scene_put(x, KIND_CLASS,
              "{'apiVersion':'storage.k8s.io/v1','kind':'StorageClass','metadata':{'name':'%s','uid':'u-%s',"
              "'resourceVersion':'1'},'provisioner':'%s','volumeBindingMode':'%s'%s}",
              name, name, by, mode, more);
}

static inline void put_claim(struct scene *x, const char *name, const char *meta, const char *spec,
                             const char *phase)
{
    scene_put(
        x, KIND_CLAIM,
        "{'apiVersion':'v1','kind':'PersistentVolumeClaim','metadata':{'name':'%s','namespace':'default'"
        ",'uid':'u-%s','resourceVersion':'1'%s},'spec':{'resources':{'requests':{'storage':'2Gi'}}%s},"
        "'status':{'phase':'%s'}}",
        name, name, meta, spec, phase);
}
#define ONCE ",'accessModes':['ReadWriteOnce']"
#define CLASSED(name) ONCE ",'storageClassName':'" name "'"

static inline void put_volume(struct scene *x, const char *name, const char *meta, const char *spec,
                              const char *phase)
{
    scene_put(x, KIND_VOLUME,
              "{'apiVersion':'v1','kind':'PersistentVolume','metadata':{'name':'%s','uid':'u-%s',"
              "'resourceVersion':'1'%s},'spec':{'capacity':{'storage':'2Gi'}%s},'status':{'phase':'%s'}}",
              name, name, meta, spec, phase);
}
#define NFS ",'nfs':{'server':'s','path':'/'}"
#define ON_NODE(node)                                                                                \
    ",'local':{'path':'/x'},'nodeAffinity':{'required':{'nodeSelectorTerms':[{'matchExpressions':[{" \
    "'key':'kubernetes.io/hostname','operator':'In','values':['" node "']}]}]}}"
#define OF_CLAIM(claim) ",'claimRef':{'namespace':'default','name':'" claim "','uid':'u-" claim "'}"
#define CSI ",'csi':{'driver':'d.io','volumeHandle':'h'}"

/* A claim and its volume, bound. */
static inline void put_pair(struct scene *x, const char *claim, const char *modes, const char *source)
{
    char spec[1024], name[64];

    (void)snprintf(spec, sizeof spec, "%s,'volumeName':'pv-%s'", modes, claim);
    put_claim(x, claim, ",'annotations':{'" ANN_BIND_COMPLETED "':'yes'}", spec, "Bound");
    (void)snprintf(spec, sizeof spec,
                   "%s%s,'claimRef':{'namespace':'default','name':'%s','uid':'u-%s'},"
                   "'persistentVolumeReclaimPolicy':'Retain'",
                   modes, source, claim, claim);
    (void)snprintf(name, sizeof name, "pv-%s", claim);
    put_volume(x, name, "", spec, "Bound");
}

/* spec: of the pod, with a comma in front; "" and "Pending" for one that has just come. */
static inline void put_pod(struct scene *x, const char *name, const char *meta, const char *spec,
                           const char *status)
{
    scene_put(x, KIND_POD,
              "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'%s','namespace':'default','uid':'u-%s',"
              "'resourceVersion':'1'%s},'spec':{'containers':[{'name':'c','image':'i'}]%s%s},'status':{%s}}",
              name, name, meta, strstr(spec, "schedulerName") ? "" : ",'schedulerName':'default-scheduler'",
              spec, status);
}
#define PENDING "'phase':'Pending'"
#define ON_N1 ",'nodeName':'n1'"
#define USES(claim) ",'volumes':[{'name':'data','persistentVolumeClaim':{'claimName':'" claim "'}}]"

static inline void put_event(struct scene *x, const char *kind, const char *name, const char *reason,
                             const char *message)
{
    static unsigned serial;

    scene_put(
        x, KIND_EVENT,
        "{'apiVersion':'v1','kind':'Event','metadata':{'name':'e%u','namespace':'default','uid':'u-e%u',"
        "'resourceVersion':'1'},'involvedObject':{'kind':'%s','namespace':'default','name':'%s','uid':"
        "'u-%s'},'type':'Warning','reason':'%s','message':'%s','count':2,'lastTimestamp':'" FIVE_MINUTES_AGO
        "'}",
        serial, serial, kind, name, name, reason, message);
    serial++;
}

/* What is put afterwards is not seen. */
static inline void scene_open(struct scene *x)
{
    static const enum kind more[] = { KIND_CONFIG_MAP, KIND_SECRET, KIND_LEASE };

    still_open(&x->s);
    x->w = (struct why_world){
        .clock = &x->s.clock.clock, .scheduler = x->s.scheduler, .each_event = scene_events, .ctx = &x->s
    };
    ASSERT_OK(why_world_caches(&x->w, x->s.informers, &err));
    for (size_t i = 0; i < ARRAY_LEN(more); i++) {
        x->w.caches[more[i]] = informers_get(x->s.informers, more[i], &err);
        assert_non_null(x->w.caches[more[i]]);
    }
    still_fill(&x->s);
}

static inline void scene_ask(struct scene *x, enum kind k, const char *name)
{
    say(&x->w, &(struct why_question){ .kind = k, .ns = k == KIND_VOLUME ? "" : "default", .name = name });
}

static inline void scene_close(struct scene *x)
{
    said_clear();
    still_done(&x->s);
}

/* All at once: the world is whole, this is asked and that is said. */
static inline void assert_scene(struct scene *x, enum kind k, const char *name, const char *cause,
                                const char *sentence)
{
    scene_open(x);
    scene_ask(x, k, name);
    if (strcmp(cause, said_member("cause")) != 0 || strcmp(sentence, said_member("sentence")) != 0)
        fail_msg("not %s: %s, but\n%s", cause, sentence, buf_cstr(&said.text));
}

#endif

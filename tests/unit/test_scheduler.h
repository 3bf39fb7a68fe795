/* For the tests of the scheduler: the world of test_binder.h with a scheduler in it, and makers of nodes and
 * pods. */
#ifndef BERTH_TESTS_TEST_SCHEDULER_H
#define BERTH_TESTS_TEST_SCHEDULER_H

#include "tests/unit/test_binder.h"

#define NODES "/api/v1/nodes"
#define PODS "/api/v1/namespaces/default/pods"
#define CLASSES "/apis/storage.k8s.io/v1/storageclasses"

static struct scheduler_options scheduling;

static inline void scheduling_init(struct world *w)
{
    world_init(w);
    scheduling = (struct scheduler_options){ .name = SCHEDULER_NAME,
                                             .host = "here",
                                             .bind_timeout_ns = SCHEDULER_BIND_TIMEOUT_NS };
    w->scheduling = &scheduling;
}

/* labels: "'a':'b'" besides the host's name; spec: members of the spec. */
static inline void add_node(struct world *w, const char *name, const char *labels, const char *spec)
{
    char body[2048];

    (void)snprintf(
        body, sizeof body,
        "{'apiVersion':'v1','kind':'Node','metadata':{'name':'%s','labels':{'kubernetes.io/hostname':'%s'"
        "%s%s}},'spec':{%s}}",
        name, name, labels[0] ? "," : "", labels, spec);
    ASSERT_SENT(&w->served, 201, "POST", NODES, body);
}

static inline void add_class(struct world *w, const char *name, const char *provisioner, const char *mode,
                             const char *extra)
{
    char body[2048];

    (void)snprintf(
        body, sizeof body,
        "{'apiVersion':'storage.k8s.io/v1','kind':'StorageClass','metadata':{'name':'%s'},'provisioner':"
        "'%s','volumeBindingMode':'%s'%s}",
        name, provisioner, mode, extra);
    ASSERT_SENT(&w->served, 201, "POST", CLASSES, body);
}

/* A local volume of a node. */
static inline void add_local(struct world *w, const char *name, const char *size, const char *class,
                             const char *node)
{
    char body[2048];

    (void)snprintf(
        body, sizeof body,
        "{'apiVersion':'v1','kind':'PersistentVolume','metadata':{'name':'%s'},'spec':{'capacity':{"
        "'storage':'%s'},'accessModes':['ReadWriteOnce'],'storageClassName':'%s','local':{'path':'/mnt/%s'},"
        "'nodeAffinity':{'required':{'nodeSelectorTerms':[{'matchExpressions':[{'key':"
        "'kubernetes.io/hostname','operator':'In','values':['%s']}]}]}}}}",
        name, size, class, name, node);
    ASSERT_SENT(&w->served, 201, "POST", VOLUMES, body);
}

/* A pod with up to two claims; "" for none. spec: further members, with a comma in front. */
static inline void add_pod(struct world *w, const char *name, const char *claim, const char *claim2,
                           const char *spec)
{
    char body[4096], volumes[512] = "";

    if (claim[0])
        (void)snprintf(volumes, sizeof volumes, "{'name':'a','persistentVolumeClaim':{'claimName':'%s'}}%s",
                       claim, claim2[0] ? "," : "");
    if (claim2[0])
        (void)snprintf(volumes + strlen(volumes), sizeof volumes - strlen(volumes),
                       "{'name':'b','persistentVolumeClaim':{'claimName':'%s'}}", claim2);
    (void)snprintf(
        body, sizeof body,
        "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'%s'},'spec':{'containers':[{'name':'c',"
        "'image':'i'}],'volumes':[%s]%s}}",
        name, volumes, spec);
    ASSERT_SENT(&w->served, 201, "POST", PODS, body);
}

static inline void look_at_pod(struct world *w, const char *name)
{
    char path[512];

    (void)snprintf(path, sizeof path, PODS "/%s", name);
    ASSERT_SENT(&w->served, 200, "GET", path, NULL);
}

/* The node of the pod; "" for none. */
static inline void assert_on(struct world *w, const char *pod, const char *node)
{
    look_at_pod(w, pod);
    ASSERT_GOT(&w->served, node[0] ? node : "-", "spec/nodeName");
}

/* The pod has no node, and its condition says why. One that could not be written is written with the next
 * try, which is five minutes away when nothing happens. */
static inline void assert_pending(struct world *w, const char *pod, const char *reason, const char *message)
{
    json_ref conditions;

    if (plan.fault != TAP_NONE)
        world_settle_for(w, 400);
    assert_on(w, pod, "");
    conditions = json_path(&w->served.doc, w->served.root, "status", "conditions");
    for (json_ref c = json_first(&w->served.doc, conditions); c; c = json_next(&w->served.doc, c)) {
        if (!json_is_string(&w->served.doc, json_get(&w->served.doc, c, "type"), "PodScheduled"))
            continue;
        char text[4096];
        (void)snprintf(text, sizeof text, "%.*s", STR_ARG(json_get_text(&w->served.doc, c, "message")));
        assert_string_equal(text, message);
        assert_true(json_is_string(&w->served.doc, json_get(&w->served.doc, c, "reason"), reason));
        assert_true(json_is_string(&w->served.doc, json_get(&w->served.doc, c, "status"), "False"));
        return;
    }
    fail_msg("pod '%s' has no condition PodScheduled", pod);
}

#endif

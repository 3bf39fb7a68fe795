/* The life of pods on a node, with real hooks, files and mounts, in time that is moved by hand. */
#include "tests/unit/test_node_life.h"

#include "node/container_env.h"
#include "node/pod_hook.h"

#define POD(name, spec) "{'metadata':{'name':'" name "'},'spec':{'nodeName':'" NODE "'," spec "}}"
#define DATA                                                                                          \
    "'containers':[{'name':'c','image':'i:1','volumeMounts':[{'name':'data','mountPath':'/data'}]}]," \
    "'volumes':[{'name':'data','emptyDir':{}}]"
#define PATH(name) PODS "/" name

/* --- Helpers --- */

/* What the pod says about itself under a condition; "-" for nothing. */
static const char *condition(struct parts *w, const char *pod, const char *type, const char *field)
{
    static char ret[2048];
    const struct json *d = &w->served.doc;

    ASSERT_SENT(&w->served, 200, "GET", pod, NULL);
    for (json_ref c = json_first(d, json_path(d, w->served.root, "status", "conditions")); c;
         c = json_next(d, c))
        if (json_is_string(d, json_get(d, c, "type"), type)) {
            (void)snprintf(ret, sizeof ret, "%.*s", STR_ARG(json_get_text(d, c, field)));
            return ret;
        }
    return "-";
}
#define ASSERT_CONDITION(w, pod, expected_status, expected_reason)                     \
    do {                                                                               \
        ASSERT_STR(expected_status, condition(w, pod, POD_READY_CONDITION, "status")); \
        ASSERT_STR(expected_reason, condition(w, pod, POD_READY_CONDITION, "reason")); \
    } while (0)

/* How often an event was recorded, all of its repetitions; 0 for never. */
static unsigned event_count(struct parts *w, const char *reason, const char *message)
{
    const struct json *d = &w->served.doc;
    int64_t count = 0;

    toy_rest(w);
    ASSERT_SENT(&w->served, 200, "GET", EVENTS, NULL);
    for (json_ref e = json_first(d, json_get(d, w->served.root, "items")); e; e = json_next(d, e))
        if (json_is_string(d, json_get(d, e, "reason"), reason) &&
            json_is_string(d, json_get(d, e, "message"), message)) {
            assert_true(json_is_string(d, json_get(d, e, "type"), "Warning"));
            assert_true(json_is_string(d, json_path(d, e, "source", "component"), "kubelet"));
            assert_true(json_is_string(d, json_path(d, e, "source", "host"), NODE));
            assert_true(json_int64(d, json_get(d, e, "count"), &count));
        }
    return (unsigned)count;
}
#define ASSERT_WARNED(w, times, reason, message)                                              \
    do {                                                                                      \
        unsigned count_ = event_count(w, reason, message);                                    \
        if (count_ != (times))                                                                \
            fail_msg("%s '%s': %u times, expected %d in\n%s", reason, message, count_, times, \
                     buf_cstr(&(w)->served.text));                                            \
    } while (0)

/* A hook that notes its calls in `calls`; it fails while `fail-VERB` exists, and with a `wait-VERB` it does
 * not end. */
static void put_hook(void)
{
    static char path[TEST_PATH_BYTES * 2];
    struct test_dir *d = toy.dir;
    FILE *f;

    (void)snprintf(path, sizeof path, "%s/hook", d->path);
    f = fopen(path, "we");
    assert_non_null(f);
    (void)fprintf(f,
                  "#!/bin/sh\n"
                  "cd %s\n"
                  "cat > stdin-$1\n"
                  "env > env-$1\n"
                  "echo \"$1 $POD_NAMESPACE/$POD_NAME\" >> calls\n"
                  "[ -e wait-$1 ] && { echo $$ > pid; while :; do sleep 0.02; done; }\n"
                  "[ -e fail-$1 ] && { echo \"no luck with $1\" >&2; echo more >&2; exit 3; }\n"
                  "exit 0\n",
                  d->path);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(path, 0755), 0);
    toy.hook = path;
}

/* The process begins anew with the hook. */
static void begin_with_hook(struct parts *w)
{
    toy_begin(w);
    put_hook();
    toy_restart(w);
}

static const char *calls(void)
{
    return text_of(in_dir(toy.dir, "calls"));
}

static void await_file(struct parts *w, const char *path)
{
    (void)signal(SIGALRM, test_on_deadline);
    (void)alarm(TEST_DEADLINE_S);
    while (!exists(path)) {
        parts_rest(w);
        pool_drain(toy.pool);
    }
    (void)alarm(0);
}

static const char *uid_of(struct parts *w, const char *pod)
{
    static char uid[64];

    ASSERT_SENT(&w->served, 200, "GET", pod, NULL);
    (void)snprintf(uid, sizeof uid, "%s", got(&w->served, "metadata/uid"));
    return uid;
}

static void make_pod(struct parts *w, const char *body)
{
    ASSERT_SENT(&w->served, 201, "POST", PODS, body);
    toy_rest(w);
}

/* --- Ready --- */

TEST(pods_without_a_hook_get_ready)
{
    struct parts w;
    struct stat st;
    char expected[8192], dir[TEST_PATH_BYTES * 3];
    const char *uid;

    toy_begin(&w);
    make_pod(&w, POD("p", "'securityContext':{'supplementalGroups':[7,8],'fsGroup':9}," DATA));
    ASSERT_CONDITION(&w, PATH("p"), "True", "VolumesReady");
    ASSERT_STR("2023-11-14T22:13:20Z", condition(&w, PATH("p"), POD_READY_CONDITION, "lastTransitionTime"));
    ASSERT_GOT(&w.served, "Pending", "status/phase");
    ASSERT_STR("-", condition(&w, PATH("p"), "Ready", "status"));
    uid = uid_of(&w, PATH("p"));
    (void)snprintf(dir, sizeof dir, "%s/pods/%s", toy.root, uid);
    (void)snprintf(expected, sizeof expected,
                   "{\n"
                   "  \"pod\": {\n"
                   "    \"name\": \"p\",\n"
                   "    \"namespace\": \"default\",\n"
                   "    \"uid\": \"%s\"\n"
                   "  },\n"
                   "  \"ready\": true,\n"
                   "  \"hook\": \"none\",\n"
                   "  \"bootID\": \"boot-0\",\n"
                   "  \"volumes\": [\n"
                   "    {\n"
                   "      \"name\": \"data\",\n"
                   "      \"plugin\": \"kubernetes.io/empty-dir\",\n"
                   "      \"path\": \"%s/volumes/kubernetes.io~empty-dir/data\",\n"
                   "      \"readOnly\": false,\n"
                   "      \"block\": false\n"
                   "    }\n"
                   "  ],\n"
                   "  \"containers\": [\n"
                   "    {\n"
                   "      \"name\": \"c\",\n"
                   "      \"kind\": \"regular\",\n"
                   "      \"mounts\": [\n"
                   "        {\n"
                   "          \"volume\": \"data\",\n"
                   "          \"path\": \"/data\",\n"
                   "          \"hostPath\": \"%s/volumes/kubernetes.io~empty-dir/data\",\n"
                   "          \"readOnly\": false,\n"
                   "          \"propagation\": \"private\",\n"
                   "          \"recursiveReadOnly\": \"Disabled\"\n"
                   "        }\n"
                   "      ],\n"
                   "      \"devices\": []\n"
                   "    }\n"
                   "  ],\n"
                   "  \"supplementalGroups\": [\n"
                   "    7,\n"
                   "    8,\n"
                   "    9\n"
                   "  ]\n"
                   "}\n",
                   uid, dir, dir);
    ASSERT_STR(expected, text_of(toy_path(uid, "berth.json")));
    assert_int_equal(stat(toy_path(uid, "berth.json"), &st), 0);
    ASSERT_INT(0640, st.st_mode & 07777);
    assert_false(exists(toy_path(uid, "pod.json")));
    assert_asked(&w, "PATCH " PATH("p") "/status\n");
    toy_finish(&w);
}

TEST(hooks_start_pods)
{
    struct parts w;
    const char *uid;
    char line[TEST_PATH_BYTES * 4];

    begin_with_hook(&w);
    ASSERT_SENT(&w.served, 201, "POST", PODS,
                POD("p", "'containers':[{'name':'c','image':'i:1'}],"
                         "'volumes':[{'name':'my-data1','emptyDir':{}}]"));
    ASSERT_SENT(&w.served, 200, "STRATEGIC", PATH("p") "/status",
                "{'status':{'conditions':[{'type':'PodScheduled','status':'True'},"
                "{'type':'Ready','status':'False','reason':'NotYet','message':'m'}]}}");
    toy_rest(&w);
    ASSERT_STR("setup default/p\n", calls());
    ASSERT_CONDITION(&w, PATH("p"), "True", "VolumesReady");
    ASSERT_GOT(&w.served, "Running", "status/phase");
    ASSERT_GOT(&w.served, "2023-11-14T22:13:20Z", "status/startTime");
    ASSERT_STR("True", condition(&w, PATH("p"), "Initialized", "status"));
    ASSERT_STR("True", condition(&w, PATH("p"), "ContainersReady", "status"));
    ASSERT_STR("True", condition(&w, PATH("p"), "Ready", "status"));
    ASSERT_STR("", condition(&w, PATH("p"), "Ready", "reason"));
    ASSERT_STR("True", condition(&w, PATH("p"), "PodScheduled", "status"));
    uid = uid_of(&w, PATH("p"));
    ASSERT_HAS(text_of(toy_path(uid, "berth.json")), "\"hook\": \"setUp\"");
    ASSERT_HAS(text_of(toy_path(uid, "pod.json")), "\"name\":\"p\"");
    ASSERT_HAS(text_of(in_dir(toy.dir, "stdin-setup")), "\"my-data1\"");
    (void)snprintf(line, sizeof line, "VOLUME_MY_DATA1=%s/pods/%s/volumes/kubernetes.io~empty-dir/my-data1\n",
                   toy.root, uid);
    ASSERT_HAS(text_of(in_dir(toy.dir, "env-setup")), line);
    (void)snprintf(line, sizeof line, "BERTH_POD_DIR=%s/pods/%s\n", toy.root, uid);
    ASSERT_HAS(text_of(in_dir(toy.dir, "env-setup")), line);
    (void)snprintf(line, sizeof line, "BERTH_STATE_FILE=%s/pods/%s/berth.json\n", toy.root, uid);
    ASSERT_HAS(text_of(in_dir(toy.dir, "env-setup")), line);
    (void)snprintf(line, sizeof line, "POD_UID=%s\n", uid);
    ASSERT_HAS(text_of(in_dir(toy.dir, "env-setup")), line);
    ASSERT_HAS(text_of(in_dir(toy.dir, "env-setup")), "PATH=" POD_HOOK_PATH "\n");
    toy_finish(&w);
}

/* --- Waiting for volumes --- */

#define WORDS "unmounted volumes=[data], unattached volumes=[], failed to process volumes=[]: "

/* node-wait (section 9): told after 2 min 3 s, and again after the next. */
TEST(long_waits_are_told)
{
    static const char late[] = "Unable to attach or mount volumes: " WORDS "context deadline exceeded";
    struct parts w;

    toy_begin(&w);
    toy.are_late = true;
    make_pod(&w, POD("p", DATA));
    ASSERT_STR("-", condition(&w, PATH("p"), POD_READY_CONDITION, "status"));
    toy_pass(&w, 1);
    ASSERT_CONDITION(&w, PATH("p"), "False", "WaitingForVolumes");
    ASSERT_STR(WORDS "not ready yet", condition(&w, PATH("p"), POD_READY_CONDITION, "message"));
    toy_pass(&w, 121);
    ASSERT_WARNED(&w, 0, "FailedMount", late);
    ASSERT_INT(0, toy.populated);
    toy_pass(&w, 1);
    ASSERT_WARNED(&w, 1, "FailedMount", late);
    ASSERT_INT(1, toy.populated);
    toy_pass(&w, 122);
    ASSERT_WARNED(&w, 1, "FailedMount", late);
    toy_pass(&w, 1);
    ASSERT_WARNED(&w, 2, "FailedMount", late);
    ASSERT_INT(2, toy.populated);
    assert_asked(&w, "PATCH " PATH("p") "/status\n"); /* the reason was the same all the time */
    toy_bring_all(toy_pod(&w, "p"));
    toy_rest(&w);
    ASSERT_CONDITION(&w, PATH("p"), "True", "VolumesReady");
    ASSERT_STR("", condition(&w, PATH("p"), POD_READY_CONDITION, "message"));
    toy_pass(&w, 300);
    ASSERT_WARNED(&w, 2, "FailedMount", late);
    toy_finish(&w);
}

/* node-5, its event: volumes that cannot even be wanted are told at once, and again with each new try. */
TEST(failures_are_told_at_once)
{
    static const char one[] = "Unable to attach or mount volumes: " WORDS "error processing PVC default/c: "
                              "PVC is not bound";
    static const char two[] = "Unable to attach or mount volumes: " WORDS "error processing PVC default/c: "
                              "PVC is not bound; worse";
    struct parts w;
    struct node_pod *p;

    toy_begin(&w);
    toy.are_late = true;
    make_pod(&w, POD("p", DATA));
    p = toy_pod(&w, "p");
    p->errors[p->errors_count++] = strdup("error processing PVC default/c: PVC is not bound");
    p->failures = 1;
    pod_life_sync(p);
    ASSERT_WARNED(&w, 1, "FailedMount", one);
    ASSERT_CONDITION(&w, PATH("p"), "False", "VolumesFailed");
    pod_life_sync(p);
    ASSERT_WARNED(&w, 1, "FailedMount", one);
    p->failures = 2;
    pod_life_sync(p);
    ASSERT_WARNED(&w, 2, "FailedMount", one);
    p->errors[p->errors_count++] = strdup("worse");
    pod_life_sync(p);
    ASSERT_WARNED(&w, 1, "FailedMount", two);
    assert_asked(&w, "PATCH " PATH("p") "/status\n");
    toy_finish(&w);
}

/* --- What containers get --- */

TEST(lookups_that_fail_are_told_and_tried_again)
{
    static const char text[] = "cannot find volume \"data\" to mount into container \"c\"";
    struct parts w;

    toy_begin(&w);
    toy.are_late = true;
    toy.otherwise = VOLUMES_READY; /* and yet there is none */
    make_pod(&w, POD("p", DATA));
    ASSERT_WARNED(&w, 1, "Failed", text);
    ASSERT_CONDITION(&w, PATH("p"), "False", "PrepareFailed");
    ASSERT_STR(text, condition(&w, PATH("p"), POD_READY_CONDITION, "message"));
    toy_pass(&w, 9);
    ASSERT_WARNED(&w, 1, "Failed", text);
    toy_pass(&w, 1);
    ASSERT_WARNED(&w, 2, "Failed", text);
    toy_pass(&w, 19);
    ASSERT_WARNED(&w, 2, "Failed", text);
    toy_pass(&w, 1);
    ASSERT_WARNED(&w, 3, "Failed", text);
    toy_bring_all(toy_pod(&w, "p"));
    toy_pass(&w, 40);
    ASSERT_CONDITION(&w, PATH("p"), "True", "VolumesReady");
    toy_finish(&w);
}

TEST(lookups_in_words)
{
    static const struct {
        const char *spec, *text;
        bool without_path, as_block;
    } rows[] = {
        { DATA, "path is empty for volume \"data\" of container \"c\"", true, false },
        { DATA, "cannot find volume \"data\" to mount into container \"c\"", false, true },
        { "'containers':[{'name':'c','image':'i:1','volumeDevices':[{'name':'data','devicePath':'/dev/x'}]}],"
          "'volumes':[{'name':'data','persistentVolumeClaim':{'claimName':'k'}}]",
          "cannot find volume \"data\" to pass into container \"c\"", false, false },
        { "'containers':[{'name':'c','image':'i:1','volumeMounts':[{'name':'data','mountPath':'/data',"
          "'subPath':'a'}]}],'volumes':[{'name':'data','emptyDir':{}}]",
          "failed to create subPath directory for volumeMount \"data\" of container \"c\"", false, false },
        { "'containers':[{'name':'c','image':'i:1','volumeMounts':[{'name':'data','mountPath':'/data',"
          "'subPathExpr':'$(NOBODY)/a'}]}],'volumes':[{'name':'data','emptyDir':{}}]",
          "missing value for \"NOBODY\"", false, false },
        { "'containers':[{'name':'c','image':'i:1','env':[{'name':'UP','value':'..'}],'volumeMounts':[{"
          "'name':'data','mountPath':'/data','subPathExpr':'$(UP)/a'}]}],"
          "'volumes':[{'name':'data','emptyDir':{}}]",
          "unable to provision SubPath `../a`: must not contain '..'", false, false },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct parts w;
        struct node_pod *p;
        struct node_mount *m;
        char body[2048];

        toy_begin(&w);
        toy.are_late = true;
        (void)snprintf(body, sizeof body, "{'metadata':{'name':'p'},'spec':{'nodeName':'" NODE "',%s}}",
                       rows[i].spec);
        make_pod(&w, body);
        p = toy_pod(&w, "p");
        m = toy_bring(p, "data", rows[i].as_block);
        if (rows[i].without_path)
            node_world_set_text(&m->path, "");
        else if (strstr(rows[i].text, "create subPath")) /* a volume that is not what it should be */
            node_world_set_text(&m->path, in_dir(toy.dir, "nowhere"));
        pod_life_sync(p);
        ASSERT_WARNED(&w, 1, "Failed", rows[i].text);
        toy_finish(&w);
    }
}

/* node-36 (permissions), and spec section 6.3: the table of what a container gets. */
TEST(containers_get_their_volumes)
{
    struct parts w;
    struct node_pod *p;
    const char *text;
    char path[TEST_PATH_BYTES * 5];

    skip_without_private_mounts();
    toy_begin(&w);
    toy.are_late = true;
    make_pod(
        &w,
        POD("p",
            "'initContainers':[{'name':'i','image':'i:1','env':[{'name':'A','value':'left'}],"
            "'volumeMounts':[{'name':'data','mountPath':'/x','subPathExpr':'$(A)'}]}],"
            "'containers':[{'name':'c','image':'i:1','securityContext':{'privileged':true},"
            "'env':[{'name':'WHO','valueFrom':{'fieldRef':{'fieldPath':'metadata.name'}}}],"
            "'volumeDevices':[{'name':'raw','devicePath':'/dev/a'},{'name':'rawro','devicePath':'/dev/b'}],"
            "'volumeMounts':["
            "{'name':'data','mountPath':'/slave','mountPropagation':'HostToContainer'},"
            "{'name':'data','mountPath':'/shared','mountPropagation':'Bidirectional'},"
            "{'name':'data','mountPath':'/ro','readOnly':true,'recursiveReadOnly':'IfPossible'},"
            "{'name':'data','mountPath':'/sub','subPath':'a/b'},"
            "{'name':'data','mountPath':'/expr','subPathExpr':'logs/$(WHO)','readOnly':true},"
            "{'name':'cm','mountPath':'/cm'}]}],"
            "'volumes':[{'name':'data','emptyDir':{}},{'name':'cm','configMap':{'name':'m'}},"
            "{'name':'raw','persistentVolumeClaim':{'claimName':'j'}},{'name':'rawro','persistentVolumeClaim'"
            ":{'claimName':'k',"
            "'readOnly':true}}]"));
    p = toy_pod(&w, "p");
    toy_bring(p, "data", false)->held_group = 77;
    (void)toy_bring(p, "cm", false);
    (void)toy_bring(p, "raw", true);
    toy_bring(p, "rawro", true)->spec.spec.is_read_only = true;
    pod_life_sync(p);
    toy_rest(&w);
    ASSERT_CONDITION(&w, PATH("p"), "True", "VolumesReady");
    text = text_of(toy_path(p->uid, "berth.json"));
    ASSERT_HAS(text, "\"path\": \"/slave\"");
    ASSERT_HAS(text, "\"propagation\": \"rslave\"");
    ASSERT_HAS(text, "\"propagation\": \"rshared\"");
    ASSERT_HAS(text, "\"readOnly\": true,\n          \"propagation\": \"private\",\n"
                     "          \"recursiveReadOnly\": \"IfPossible\"");
    ASSERT_HAS(text, "\"permissions\": \"mrw\"");
    ASSERT_HAS(text, "\"permissions\": \"r\"");
    ASSERT_HAS(text, "\"claim\": \"k\"");
    ASSERT_HAS(text, "\"kind\": \"init\"");
    ASSERT_HAS(text, "\"supplementalGroups\": [\n    77\n  ]");
    (void)snprintf(path, sizeof path, "\"hostPath\": \"%s/pods/%s/volume-subpaths/data/c/3\"", toy.root,
                   p->uid);
    ASSERT_HAS(text, path);
    (void)snprintf(path, sizeof path, "\"hostPath\": \"%s/pods/%s/volume-subpaths/data/i/0\"", toy.root,
                   p->uid);
    ASSERT_HAS(text, path);
    put_file(toy_path(p->uid, "volume-subpaths/data/c/3/f"), "x");
    ASSERT_STR("x", text_of(toy_path(p->uid, "volumes/kubernetes.io~empty-dir/data/a/b/f")));
    assert_true(exists(toy_path(p->uid, "volumes/kubernetes.io~empty-dir/data/logs/p")));
    assert_true(exists(toy_path(p->uid, "volumes/kubernetes.io~empty-dir/data/left")));
    assert_int_equal(open(toy_path(p->uid, "volume-subpaths/data/c/4/f"), O_CREAT | O_CLOEXEC, 0600), -1);
    ASSERT_INT(EROFS, errno);
    /* Again after a restart: the same binds, the same file. */
    ASSERT_INT(3, mounts_in(toy.root));
    toy_finish(&w);
}

/* A configMap's files cannot be written by a container, whatever its mount says. */
TEST(read_only_by_nature)
{
    const struct volume_plugin *plugin = NULL;
    struct parts w;
    struct node_pod *p;
    struct node_mount *m;

    toy_begin(&w);
    toy.are_late = true;
    make_pod(&w, POD("p", "'containers':[{'name':'c','image':'i:1','volumeMounts':[{'name':'cm',"
                          "'mountPath':'/cm'}]}],'volumes':[{'name':'cm','configMap':{'name':'m'}}]"));
    p = toy_pod(&w, "p");
    m = toy_bring(p, "cm", false);
    ASSERT_OK(plugins_by_name(plugins_of_node, "kubernetes.io/configmap", &plugin, &err));
    plugin_unref(m->volume->plugin);
    m->volume->plugin = plugin_ref(plugin);
    pod_life_sync(p);
    toy_rest(&w);
    ASSERT_HAS(text_of(toy_path(p->uid, "berth.json")),
               "\"readOnly\": true,\n          \"propagation\": \"private\",\n"
               "          \"recursiveReadOnly\": \"Disabled\"");
    toy_finish(&w);
}

TEST(expressions)
{
    static const struct {
        const char *expr, *result, *text;
    } rows[] = {
        { "plain", "plain", NULL },
        { "$(A)", "a", NULL },
        { "x/$(A)/$(B)", "x/a/a-b", NULL },
        { "$$(A)", "$(A)", NULL },
        { "$", "$", NULL },
        { "$(A", "$(A", NULL },
        { "a$b", "a$b", NULL },
        { "$(EMPTY)x", "x", NULL },
        { "$(LATER)", "$(A2)", NULL }, /* what comes behind is not known to a value */
        { "$(TWICE)", "second", NULL },
        { "$(NAME).$(NS).$(UID)", "p.a.u-1", NULL },
        { "$(LABEL)$(ANNOTATION)$(NODE)", "lann1", NULL },
        { "$(NONE)", NULL, "missing value for \"NONE\"" },
        { "$()", NULL, "missing value for \"\"" },
        { "$(SECRET)", NULL,
          "no value for \"SECRET\": only values and pod fields can be used in subPathExpr" },
        { "$(IP)", NULL, "no value for \"IP\": unsupported fieldPath: status.podIP" },
        { "$(OF_SECRET)", NULL,
          "no value for \"OF_SECRET\": no value for \"SECRET\": only values and pod fields can be used in "
          "subPathExpr" },
    };
    struct object *o = kind_object(
        KIND_POD,
        "{'metadata':{'name':'p','namespace':'a','uid':'u-1','labels':{'l':'l'},'annotations':{'n':'an'}},"
        "'spec':{'nodeName':'n1','containers':[{'name':'c','env':["
        "{'name':'A','value':'a'},{'name':'B','value':'$(A)-b'},{'name':'EMPTY'},"
        "{'name':'LATER','value':'$(A2)'},{'name':'A2','value':'x'},"
        "{'name':'TWICE','value':'first'},{'name':'TWICE','value':'second'},"
        "{'name':'NAME','valueFrom':{'fieldRef':{'fieldPath':'metadata.name'}}},"
        "{'name':'NS','valueFrom':{'fieldRef':{'fieldPath':'metadata.namespace'}}},"
        "{'name':'UID','valueFrom':{'fieldRef':{'fieldPath':'metadata.uid'}}},"
        "{'name':'LABEL','valueFrom':{'fieldRef':{'fieldPath':'metadata.labels[\\u0027l\\u0027]'}}},"
        "{'name':'ANNOTATION','valueFrom':{'fieldRef':{'fieldPath':'metadata.annotations[\\u0027n\\u0027]'}}}"
        ","
        "{'name':'NODE','valueFrom':{'fieldRef':{'fieldPath':'spec.nodeName'}}},"
        "{'name':'IP','valueFrom':{'fieldRef':{'fieldPath':'status.podIP'}}},"
        "{'name':'SECRET','valueFrom':{'secretKeyRef':{'name':'s','key':'k'}}},"
        "{'name':'OF_SECRET','value':'x$(SECRET)'}]}]}}");
    struct container_env e;
    struct json d;
    json_ref root;

    json_init(&d, 1 << 20);
    ASSERT_OK(json_parse(&d, o->text, &root, &err));
    container_env_init(&e, pod_of(o), (struct hash_seed){ 1, 2 });
    ASSERT_OK(container_env_load(&e, &d, json_first(&d, json_path(&d, root, "spec", "containers")), &err));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *ret = NULL;

        if (rows[i].result) {
            ASSERT_OK(container_env_expand(&e, rows[i].expr, &ret, &err));
            ASSERT_STR(rows[i].result, ret);
        } else {
            assert_true(container_env_expand(&e, rows[i].expr, &ret, &err) < 0);
            ASSERT_STR(rows[i].text, err.msg);
            assert_null(ret);
        }
    }
    container_env_done(&e);
    json_done(&d);
    object_unref(o);
}

/* Each of twenty values names the one before twice: a million times the first, if nobody counted. */
TEST(values_cannot_grow_without_end)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(1 << 20);
    struct container_env e;
    struct object *o;
    struct json d;
    json_ref root;
    const char *ret = NULL;

    buf_add_cstr(&body, "{'metadata':{'name':'p','namespace':'a'},'spec':{'containers':[{'name':'c','env':["
                        "{'name':'V0','value':'0123456789'}");
    for (unsigned i = 1; i <= 20; i++)
        buf_addf(&body, ",{'name':'V%u','value':'$(V%u)$(V%u)'}", i, i - 1, i - 1);
    buf_add_cstr(&body, "]}]}}");
    o = kind_object(KIND_POD, buf_cstr(&body));
    json_init(&d, 1 << 20);
    ASSERT_OK(json_parse(&d, o->text, &root, &err));
    container_env_init(&e, pod_of(o), (struct hash_seed){ 1, 2 });
    ASSERT_OK(container_env_load(&e, &d, json_first(&d, json_path(&d, root, "spec", "containers")), &err));
    ASSERT_OK(container_env_expand(&e, "$(V5)", &ret, &err));
    ASSERT_INT(320, strlen(ret));
    assert_true(container_env_expand(&e, "$(V20)", &ret, &err) < 0);
    container_env_done(&e);
    json_done(&d);
    object_unref(o);
}

/* --- The hook --- */

TEST(hooks_that_fail_are_called_again)
{
    static const char text[] = "the pod hook's setup failed with exit code 3: no luck with setup";
    struct parts w;

    begin_with_hook(&w);
    put_file(in_dir(toy.dir, "fail-setup"), "");
    make_pod(&w, POD("p", DATA));
    ASSERT_WARNED(&w, 1, "FailedPodHook", text);
    ASSERT_CONDITION(&w, PATH("p"), "False", "PodHookFailed");
    ASSERT_GOT(&w.served, "Pending", "status/phase");
    toy_pass(&w, 9);
    ASSERT_STR("setup default/p\n", calls());
    toy_pass(&w, 1);
    ASSERT_STR("setup default/p\nsetup default/p\n", calls());
    toy_pass(&w, 19);
    ASSERT_STR("setup default/p\nsetup default/p\n", calls());
    assert_int_equal(unlink(in_dir(toy.dir, "fail-setup")), 0);
    toy_pass(&w, 1);
    ASSERT_STR("setup default/p\nsetup default/p\nsetup default/p\n", calls());
    ASSERT_CONDITION(&w, PATH("p"), "True", "VolumesReady");
    ASSERT_GOT(&w.served, "Running", "status/phase");
    toy_finish(&w);
}

TEST(delays_double_up_to_five_minutes)
{
    static const uint64_t seconds[] = { 10, 20, 40, 80, 160, 300, 300 };

    for (unsigned i = 0; i < ARRAY_LEN(seconds); i++)
        ASSERT_INT(seconds[i], pod_retry_ns(i + 1) / NS_PER_S);
    ASSERT_INT(300, pod_retry_ns(1000000) / NS_PER_S);
}

TEST(hooks_that_are_not_there)
{
    struct parts w;

    toy_begin(&w);
    toy.hook = "/nonexistent/hook";
    toy_restart(&w);
    make_pod(&w, POD("p", DATA));
    ASSERT_WARNED(&w, 1, "FailedPodHook",
                  "the pod hook's setup: cannot start '/nonexistent/hook': in directory '/': No such file or "
                  "directory");
    toy_finish(&w);
}

TEST(setup_has_five_minutes)
{
    struct parts w;

    begin_with_hook(&w);
    put_file(in_dir(toy.dir, "wait-setup"), "");
    ASSERT_SENT(&w.served, 201, "POST", PODS, POD("p", DATA));
    await_file(&w, in_dir(toy.dir, "pid"));
    parts_pass_ns(&w, 299 * NS_PER_S);
    assert_non_null(toy_pod(&w, "p")->life.hook);
    parts_pass_ns(&w, NS_PER_S);
    toy_rest(&w);
    ASSERT_WARNED(&w, 1, "FailedPodHook", "the pod hook's setup did not end within 300000 ms");
    toy_finish(&w);
}

/* The process goes while the hook runs: nobody is told, and nothing is left of it. */
TEST(hooks_end_with_the_process)
{
    struct parts w;
    char pid[32];

    begin_with_hook(&w);
    put_file(in_dir(toy.dir, "wait-setup"), "");
    ASSERT_SENT(&w.served, 201, "POST", PODS, POD("p", DATA));
    await_file(&w, in_dir(toy.dir, "pid"));
    while (!strchr(text_of(in_dir(toy.dir, "pid")), '\n'))
        ;
    (void)snprintf(pid, sizeof pid, "%s", text_of(in_dir(toy.dir, "pid")));
    process_kill(&w);
    assert_int_equal(kill((pid_t)strtol(pid, NULL, 10), 0), -1);
    process_start(&w);
    toy_finish(&w);
}

/* --- The end --- */

TEST(deleted_pods_are_torn_down_and_removed)
{
    static const char text[] = "the pod hook's teardown failed with exit code 3: no luck with teardown";
    struct parts w;
    struct node_pod *p;
    char uid[64];

    begin_with_hook(&w);
    make_pod(&w, POD("p", DATA));
    (void)snprintf(uid, sizeof uid, "%s", uid_of(&w, PATH("p")));
    put_file(in_dir(toy.dir, "fail-teardown"), "");
    ASSERT_SENT(&w.served, 200, "DELETE", PATH("p"), NULL);
    toy_rest(&w);
    p = toy_pod(&w, "p");
    assert_false(p->life.is_over);
    assert_false(pod_is_unmounted(p));
    ASSERT_WARNED(&w, 1, "FailedPodHook", text);
    toy_pass(&w, 9);
    ASSERT_STR("setup default/p\nteardown default/p\n", calls());
    toy_pass(&w, 1);
    ASSERT_STR("setup default/p\nteardown default/p\nteardown default/p\n", calls());
    ASSERT_WARNED(&w, 2, "FailedPodHook", text);
    assert_int_equal(unlink(in_dir(toy.dir, "fail-teardown")), 0);
    toy.are_held = true; /* the volumes take their time */
    toy_pass(&w, 20);
    ASSERT_HAS(text_of(in_dir(toy.dir, "stdin-teardown")), "\"deletionTimestamp\"");
    p = toy_pod(&w, "p");
    assert_true(p->life.is_over);
    ASSERT_INT(1, toy.touched);
    assert_true(exists(toy_path(uid, "berth.json")));
    ASSERT_HAS(text_of(toy_path(uid, "berth.json")), "\"ready\": false,\n  \"hook\": \"tornDown\"");
    toy.are_held = false;
    agent_touch(toy.agent);
    toy_rest(&w);
    ASSERT_GONE(&w, PATH("p"));
    assert_false(exists(toy_path(uid, "")));
    ASSERT_INT(1, toy.dropped);
    ASSERT_STR("setup default/p\nteardown default/p\nteardown default/p\nteardown default/p\n", calls());
    toy_finish(&w);
}

/* node-30 (life's half), and before it: nothing is torn down while a container is reported to run. */
TEST(running_containers_keep_their_volumes)
{
    static const char running[] = "{'status':{'containerStatuses':[{'name':'c','image':'i:1','imageID':'',"
                                  "'ready':true,'restartCount':0,'state':{'running':{}}}]}}";
    static const char ended[] = "{'status':{'containerStatuses':[{'name':'c','image':'i:1','imageID':'',"
                                "'ready':false,'restartCount':0,'state':{'terminated':{'exitCode':0}}}]}}";
    struct parts w;

    toy_begin(&w);
    make_pod(&w, POD("p", DATA));
    ASSERT_SENT(&w.served, 200, "MERGE", PATH("p") "/status", running);
    ASSERT_SENT(&w.served, 200, "DELETE", PATH("p"), NULL);
    toy_rest(&w);
    assert_false(toy_pod(&w, "p")->life.is_over);
    toy_restart(&w);
    toy_pass(&w, 600);
    assert_false(toy_pod(&w, "p")->life.is_over);
    assert_false(pod_is_unmounted(toy_pod(&w, "p")));
    ASSERT_INT(0, toy.touched);
    ASSERT_SENT(&w.served, 200, "MERGE", PATH("p") "/status", ended);
    toy_rest(&w);
    ASSERT_GONE(&w, PATH("p"));
    ASSERT_INT(1, toy.dropped);
    toy_finish(&w);
}

TEST(pods_that_ended_stay_until_they_are_deleted)
{
    static const char *const phases[] = { "Succeeded", "Failed" };

    for (size_t i = 0; i < ARRAY_LEN(phases); i++) {
        struct parts w;
        char body[128], uid[64];

        begin_with_hook(&w);
        make_pod(&w, POD("p", DATA));
        (void)snprintf(uid, sizeof uid, "%s", uid_of(&w, PATH("p")));
        (void)snprintf(body, sizeof body, "{'status':{'phase':'%s'}}", phases[i]);
        ASSERT_SENT(&w.served, 200, "MERGE", PATH("p") "/status", body);
        toy_rest(&w);
        ASSERT_STR("setup default/p\nteardown default/p\n", calls());
        assert_false(exists(toy_path(uid, "")));
        ASSERT_THERE(&w, phases[i], PATH("p"), "status/phase");
        toy_restart(&w);
        ASSERT_STR("setup default/p\nteardown default/p\n", calls());
        ASSERT_THERE(&w, phases[i], PATH("p"), "status/phase");
        ASSERT_SENT(&w.served, 200, "DELETE", PATH("p"), NULL);
        toy_rest(&w);
        ASSERT_GONE(&w, PATH("p"));
        ASSERT_INT(1, toy.dropped);
        toy_finish(&w);
    }
}

/* In the middle of its setup: that is ended first. */
TEST(deletion_ends_a_setup)
{
    struct parts w;

    begin_with_hook(&w);
    put_file(in_dir(toy.dir, "wait-setup"), "");
    ASSERT_SENT(&w.served, 201, "POST", PODS, POD("p", DATA));
    await_file(&w, in_dir(toy.dir, "pid"));
    ASSERT_SENT(&w.served, 200, "DELETE", PATH("p"), NULL);
    toy_rest(&w);
    ASSERT_STR("setup default/p\nteardown default/p\n", calls());
    ASSERT_GONE(&w, PATH("p"));
    toy_finish(&w);
}

/* Between two tries of a setup that fails: its teardown is owed all the same. */
TEST(deletion_between_tries)
{
    struct parts w;

    begin_with_hook(&w);
    put_file(in_dir(toy.dir, "fail-setup"), "");
    make_pod(&w, POD("p", DATA));
    ASSERT_SENT(&w.served, 200, "DELETE", PATH("p"), NULL);
    toy_rest(&w);
    ASSERT_STR("setup default/p\nteardown default/p\n", calls());
    ASSERT_GONE(&w, PATH("p"));
    toy_finish(&w);
}

/* Its volumes never came: nothing was set up, and nothing is owed. */
TEST(deletion_before_the_volumes_came)
{
    struct parts w;

    begin_with_hook(&w);
    toy.are_late = true;
    make_pod(&w, POD("p", DATA));
    ASSERT_SENT(&w.served, 200, "DELETE", PATH("p"), NULL);
    toy_rest(&w);
    ASSERT_STR("-", calls());
    ASSERT_GONE(&w, PATH("p"));
    toy_finish(&w);
}

TEST(teardown_has_the_grace_and_half_a_minute)
{
    static const struct {
        const char *target;
        unsigned seconds;
    } rows[] = { { PATH("p"), 47 }, { PATH("p") "?gracePeriodSeconds=5", 35 } };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct parts w;
        char text[128];

        begin_with_hook(&w);
        make_pod(&w, POD("p", "'terminationGracePeriodSeconds':17," DATA));
        put_file(in_dir(toy.dir, "wait-teardown"), "");
        ASSERT_SENT(&w.served, 200, "DELETE", rows[i].target, NULL);
        await_file(&w, in_dir(toy.dir, "pid"));
        parts_pass_ns(&w, (rows[i].seconds - 1) * NS_PER_S);
        assert_non_null(toy_pod(&w, "p")->life.hook);
        parts_pass_ns(&w, NS_PER_S);
        toy_rest(&w);
        (void)snprintf(text, sizeof text, "the pod hook's teardown did not end within %u ms",
                       rows[i].seconds * 1000);
        ASSERT_WARNED(&w, 1, "FailedPodHook", text);
        toy_finish(&w);
    }
}

TEST(directories_that_cannot_be_removed)
{
    struct parts w;
    char text[256], uid[64];

    toy_begin(&w);
    make_pod(&w, POD("p", DATA));
    (void)snprintf(uid, sizeof uid, "%s", uid_of(&w, PATH("p")));
    toy.removals_fail = 1;
    ASSERT_SENT(&w.served, 200, "DELETE", PATH("p"), NULL);
    toy_rest(&w);
    (void)snprintf(text, sizeof text, "orphaned pod \"%s\" found, but something is left", uid);
    ASSERT_WARNED(&w, 1, "FailedKillPod", text);
    ASSERT_SENT(&w.served, 200, "GET", PATH("p"), NULL); /* its pod stays as long */
    toy_pass(&w, 10);
    ASSERT_GONE(&w, PATH("p"));
    ASSERT_INT(0, toy.orphan_looks);
    /* Nobody waits for one that is gone: who looks after orphans goes on with it. */
    make_pod(&w, POD("q", DATA));
    toy.removals_fail = 1;
    ASSERT_SENT(&w.served, 200, "DELETE", PATH("q") "?gracePeriodSeconds=0", NULL);
    toy_rest(&w);
    ASSERT_INT(1, toy.orphan_looks);
    ASSERT_INT(2, toy.dropped);
    toy_finish(&w);
}

/* --- Restarts --- */

/* Crashes at each point of a hook's life: what is on disk decides. */
TEST(restarts_find_the_hooks_state)
{
    static const struct {
        const char *hook;  /* in the state file */
        const char *there; /* the calls when the pod is still there, */
        const char *gone;  /* and when it is gone */
    } rows[] = {
        { "none", "setup default/p\n", "-" },
        { "settingUp", "setup default/p\n", "teardown default/p\n" },
        { "setUp", "-", "teardown default/p\n" },
        { "tornDown", "setup default/p\n", "-" },
        { "?", "setup default/p\n", "teardown default/p\n" }, /* nobody can tell */
    };

    for (size_t i = 0; i < ARRAY_LEN(rows) * 2; i++) {
        bool is_gone = i % 2;
        char uid[64], body[512];
        struct parts w;

        begin_with_hook(&w);
        make_pod(&w, POD("p", DATA));
        (void)snprintf(uid, sizeof uid, "%s", uid_of(&w, PATH("p")));
        process_kill(&w);
        assert_int_equal(unlink(in_dir(toy.dir, "calls")), 0);
        (void)snprintf(body, sizeof body,
                       "{\"pod\":{\"name\":\"p\",\"namespace\":\"default\",\"uid\":\"%s\"},\"ready\":true,"
                       "\"hook\":\"%s\",\"volumes\":[{\"name\":\"data\",\"path\":\"/somewhere\"}]}",
                       uid, rows[i / 2].hook);
        put_file(toy_path(uid, "berth.json"), body);
        if (is_gone)
            ASSERT_SENT(&w.served, 200, "DELETE", PATH("p") "?gracePeriodSeconds=0", NULL);
        process_start(&w);
        toy_rest(&w);
        ASSERT_STR(is_gone ? rows[i / 2].gone : rows[i / 2].there, calls());
        assert_true(exists(toy_path(uid, "")) != is_gone);
        if (is_gone && rows[i / 2].hook[0] == 's') {
            ASSERT_HAS(text_of(in_dir(toy.dir, "env-teardown")), "VOLUME_DATA=/somewhere\n");
            ASSERT_HAS(text_of(in_dir(toy.dir, "stdin-teardown")), "\"volumes\":["); /* of pod.json */
        }
        toy_finish(&w);
    }
}

/* A refresh that fails takes a volume away: the pod is not started without it. */
TEST(volumes_lost_while_a_pod_is_prepared)
{
    struct node_mount *m;
    struct node_pod *p;
    struct parts w;

    begin_with_hook(&w);
    ASSERT_SENT(&w.served, 201, "POST", PODS, POD("p", DATA));
    parts_rest(&w);
    p = toy_pod(&w, "p");
    ASSERT_INT(POD_STAGE_PREPARE, p->life.stage);
    m = TAILQ_FIRST(&p->mounts);
    m->state = MOUNT_UNCERTAIN;
    toy_rest(&w);
    ASSERT_STR("-", calls());
    m->state = MOUNT_DONE;
    pod_life_sync(p);
    toy_rest(&w);
    ASSERT_STR("setup default/p\n", calls());
    toy_finish(&w);
}

/* --- Ready in the state file: only while everything is mounted --- */

#define READY "\"ready\": true"
#define UNREADY "\"ready\": false"

static struct node_mount *lose_volume(struct parts *w, struct node_pod *p)
{
    struct node_mount *m = TAILQ_FIRST(&p->mounts);

    m->state = MOUNT_UNCERTAIN;
    p->life.has_lost_mount = true;
    pod_life_sync(p);
    parts_rest(w);
    while (p->life.job) {
        pool_drain(toy.pool);
        parts_rest(w);
    }
    return m;
}

static void bring_back(struct parts *w, struct node_mount *m)
{
    m->state = MOUNT_DONE;
    pod_life_sync(m->pod);
    toy_rest(w);
}

/* Also without a hook, and however the pod ends. */
TEST(state_files_are_not_ready_before_anything_is_unmounted)
{
    for (unsigned i = 0; i < 4; i++) {
        struct parts w;
        char uid[64];

        toy_begin(&w);
        if (i % 2) {
            put_hook();
            toy_restart(&w);
        }
        make_pod(&w, POD("p", DATA));
        (void)snprintf(uid, sizeof uid, "%s", uid_of(&w, PATH("p")));
        ASSERT_HAS(text_of(toy_path(uid, "berth.json")), READY);
        toy.are_held = true;
        if (i < 2)
            ASSERT_SENT(&w.served, 200, "DELETE", PATH("p"), NULL);
        else
            ASSERT_SENT(&w.served, 200, "MERGE", PATH("p") "/status", "{'status':{'phase':'Failed'}}");
        toy_rest(&w);
        assert_true(pod_may_be_unmounted(agent_pod(toy.agent, uid)));
        ASSERT_HAS(text_of(toy_path(uid, "berth.json")), UNREADY);
        toy_finish(&w);
    }
}

/* In the file from the first moment of the teardown on, also while the hook fails or a container runs. */
TEST(state_files_are_not_ready_during_a_teardown)
{
    struct parts w;
    char uid[64];

    begin_with_hook(&w);
    make_pod(&w, POD("p", DATA));
    (void)snprintf(uid, sizeof uid, "%s", uid_of(&w, PATH("p")));
    put_file(in_dir(toy.dir, "fail-teardown"), "");
    ASSERT_SENT(&w.served, 200, "DELETE", PATH("p"), NULL);
    toy_rest(&w);
    assert_false(agent_pod(toy.agent, uid)->life.is_over);
    ASSERT_HAS(text_of(toy_path(uid, "berth.json")), UNREADY ",\n  \"hook\": \"setUp\"");
    toy_finish(&w);
}

/* The pod is deleted while a worker writes that it is ready. */
TEST(state_files_of_pods_that_end_while_they_are_prepared)
{
    struct parts w;
    struct node_pod *p;

    toy_begin(&w);
    toy.are_held = true;
    ASSERT_SENT(&w.served, 201, "POST", PODS, POD("p", DATA));
    parts_rest(&w);
    p = toy_pod(&w, "p");
    ASSERT_INT(POD_STAGE_PREPARE, p->life.stage);
    ASSERT_SENT(&w.served, 200, "DELETE", PATH("p"), NULL);
    parts_rest(&w);
    ASSERT_INT(POD_STAGE_TEARDOWN, p->life.stage);
    toy_rest(&w); /* the worker has not heard of it */
    assert_true(p->life.is_over);
    ASSERT_HAS(text_of(toy_path(p->uid, "berth.json")), UNREADY);
    toy_finish(&w);
}

/* A mount goes while the hook runs: the file says so at once. The hook ends well: the pod is prepared again,
 * and the hook is not called again. */
TEST(mounts_lost_during_a_setup)
{
    struct parts w;
    struct node_mount *m;
    struct node_pod *p;

    begin_with_hook(&w);
    sh("sed -i 's/while :;/while [ -e wait-$1 ];/' '%s/hook'", toy.dir->path);
    put_file(in_dir(toy.dir, "wait-setup"), "");
    ASSERT_SENT(&w.served, 201, "POST", PODS, POD("p", DATA));
    await_file(&w, in_dir(toy.dir, "pid"));
    p = toy_pod(&w, "p");
    ASSERT_INT(POD_STAGE_SETUP, p->life.stage);
    ASSERT_HAS(text_of(toy_path(p->uid, "berth.json")), READY);
    m = lose_volume(&w, p);
    ASSERT_HAS(text_of(toy_path(p->uid, "berth.json")), UNREADY ",\n  \"hook\": \"settingUp\"");
    assert_int_equal(unlink(in_dir(toy.dir, "wait-setup")), 0);
    toy_rest(&w);
    ASSERT_INT(POD_STAGE_VOLUMES, p->life.stage);
    ASSERT_HAS(text_of(toy_path(p->uid, "berth.json")), UNREADY ",\n  \"hook\": \"setUp\"");
    bring_back(&w, m);
    ASSERT_HAS(text_of(toy_path(p->uid, "berth.json")), READY ",\n  \"hook\": \"setUp\"");
    ASSERT_CONDITION(&w, PATH("p"), "True", "VolumesReady");
    ASSERT_STR("setup default/p\n", calls());
    toy_finish(&w);
}

/* A mount goes while the next try of a hook is awaited: that comes when everything is mounted. */
TEST(hooks_are_not_tried_again_without_mounts)
{
    struct parts w;
    struct node_mount *m;
    struct node_pod *p;

    begin_with_hook(&w);
    put_file(in_dir(toy.dir, "fail-setup"), "");
    make_pod(&w, POD("p", DATA));
    p = toy_pod(&w, "p");
    m = lose_volume(&w, p);
    ASSERT_HAS(text_of(toy_path(p->uid, "berth.json")), UNREADY);
    toy_pass(&w, 30);
    ASSERT_STR("setup default/p\n", calls());
    ASSERT_CONDITION(&w, PATH("p"), "False", "WaitingForVolumes");
    assert_int_equal(unlink(in_dir(toy.dir, "fail-setup")), 0);
    bring_back(&w, m);
    ASSERT_STR("setup default/p\nsetup default/p\n", calls());
    ASSERT_HAS(text_of(toy_path(p->uid, "berth.json")), READY);
    toy_finish(&w);
}

/* The directory where the file must go makes every write fail; the file itself is what readers have. */
static void block_writes(const char *uid)
{
    sh("mv '%s' '%s/kept' && mkdir '%s'", toy_path(uid, "berth.json"), toy.dir->path,
       toy_path(uid, "berth.json"));
}

static void allow_writes(const char *uid)
{
    sh("rmdir '%s' && mv '%s/kept' '%s'", toy_path(uid, "berth.json"), toy.dir->path,
       toy_path(uid, "berth.json"));
}

TEST(lost_mounts_are_recorded_as_soon_as_the_disk_allows)
{
    struct parts w;
    struct node_pod *p;

    toy_begin(&w);
    make_pod(&w, POD("p", DATA));
    p = toy_pod(&w, "p");
    block_writes(p->uid);
    (void)lose_volume(&w, p);
    toy_pass(&w, 60);
    assert_true(p->life.says_ready);
    allow_writes(p->uid);
    toy_pass(&w, 70);
    ASSERT_HAS(text_of(toy_path(p->uid, "berth.json")), UNREADY);
    toy_finish(&w);
}

/* At the end of a pod its file is removed when it cannot be written: a full disk does not keep pods. */
TEST(state_files_that_cannot_be_written_are_removed)
{
    struct parts w;
    char uid[64];

    begin_with_hook(&w);
    make_pod(&w, POD("p", DATA));
    (void)snprintf(uid, sizeof uid, "%s", uid_of(&w, PATH("p")));
    block_writes(uid);
    toy.are_held = true;
    ASSERT_SENT(&w.served, 200, "DELETE", PATH("p"), NULL);
    toy_rest(&w);
    ASSERT_STR("setup default/p\nteardown default/p\n", calls()); /* with the file in its place */
    assert_true(pod_may_be_unmounted(agent_pod(toy.agent, uid)));
    assert_false(exists(toy_path(uid, "berth.json")));
    toy_finish(&w);
}

/* A file of another boot, or of an agent that did not name it, that was not changed at the start. */
TEST(old_state_files_do_not_stay_ready)
{
    for (unsigned i = 0; i < 2; i++) {
        struct parts w;
        char uid[64];

        toy_begin(&w);
        make_pod(&w, POD("p", DATA));
        (void)snprintf(uid, sizeof uid, "%s", uid_of(&w, PATH("p")));
        process_kill(&w);
        if (i == 0)
            toy.boots++;
        else
            sh("sed -i /bootID/d '%s'", toy_path(uid, "berth.json"));
        toy.are_late = true;
        process_start(&w);
        toy_rest(&w);
        ASSERT_HAS(text_of(toy_path(uid, "berth.json")), UNREADY);
        toy_bring_all(toy_pod(&w, "p"));
        toy_rest(&w);
        ASSERT_HAS(text_of(toy_path(uid, "berth.json")), READY);
        ASSERT_HAS(text_of(toy_path(uid, "berth.json")),
                   i == 0 ? "\"bootID\": \"boot-1\"" : "\"bootID\": \"boot-0\"");
        toy_finish(&w);
    }
}

/* What the hook had started is gone with the machine: it is called again, once; a pod that is gone is torn
 * down. */
TEST(reboots_call_the_hook_again)
{
    for (unsigned is_gone = 0; is_gone < 2; is_gone++) {
        struct parts w;

        begin_with_hook(&w);
        make_pod(&w, POD("p", DATA));
        ASSERT_STR("setup default/p\n", calls());
        toy_restart(&w); /* of the agent alone: nothing to do */
        ASSERT_STR("setup default/p\n", calls());
        process_kill(&w);
        assert_int_equal(unlink(in_dir(toy.dir, "calls")), 0);
        if (is_gone)
            ASSERT_SENT(&w.served, 200, "DELETE", PATH("p") "?gracePeriodSeconds=0", NULL);
        toy.boots++;
        process_start(&w);
        toy_rest(&w);
        ASSERT_STR(is_gone ? "teardown default/p\n" : "setup default/p\n", calls());
        toy_restart(&w);
        ASSERT_STR(is_gone ? "teardown default/p\n" : "setup default/p\n", calls());
        toy_finish(&w);
    }
}

/* A pod with the hook set up is killed with its process, its files get the texts (NULL: as they are), and the
 * server has it no more when the process starts again. */
static const char *restart_without_pod(struct parts *w, const char *state, const char *manifest)
{
    static char uid[64];

    begin_with_hook(w);
    make_pod(w, POD("p", DATA));
    (void)snprintf(uid, sizeof uid, "%s", uid_of(w, PATH("p")));
    process_kill(w);
    assert_int_equal(unlink(in_dir(toy.dir, "calls")), 0);
    if (state)
        put_file(toy_path(uid, "berth.json"), state);
    if (manifest)
        put_file(toy_path(uid, "pod.json"), manifest);
    ASSERT_SENT(&w->served, 200, "DELETE", PATH("p") "?gracePeriodSeconds=0", NULL);
    process_start(w);
    toy_rest(w);
    return uid;
}

/* More than a megabyte is read like less. */
TEST(large_state_files_are_read)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(STATE_BYTES_MAX);
    struct parts w;

    buf_add_cstr(&text, "{\"pod\":{\"name\":\"from-state\",\"namespace\":\"default\"},\"hook\":\"setUp\","
                        "\"volumes\":[{\"name\":\"data\",\"path\":\"/somewhere\"}],\"containers\":[0");
    while (text.len < (size_t)5 << 20)
        buf_add_cstr(&text, ",{\"name\":\"x\",\"mounts\":[]}");
    buf_add_cstr(&text, "]}");
    (void)restart_without_pod(&w, buf_cstr(&text), "{}");
    ASSERT_STR("teardown default/from-state\n", calls());
    ASSERT_HAS(text_of(in_dir(toy.dir, "env-teardown")), "VOLUME_DATA=/somewhere\n");
    ASSERT_INT(1, toy.dropped);
    toy_finish(&w);
}

/* Whether something runs cannot be told, nor what: the volumes stay, until the state file can be read or is
 * removed. */
TEST(lost_state_files_keep_volumes)
{
    static const struct {
        const char *state;    /* when the process starts */
        const char *repaired; /* NULL: removed */
        const char *calls;
    } rows[] = {
        { "", NULL, "-" },
        { "{\"pod\":", NULL, "-" },
        { "{}", "{\"pod\":{\"name\":\"p\",\"namespace\":\"default\"},\"hook\":\"none\"}", "-" },
        { "{}", "{\"pod\":{\"name\":\"p\",\"namespace\":\"default\"},\"hook\":\"setUp\"}",
          "teardown default/p\n" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char uid[64];
        struct parts w;

        (void)snprintf(uid, sizeof uid, "%s", restart_without_pod(&w, rows[i].state, "damaged"));
        toy_pass(&w, 600);
        ASSERT_STR("-", calls());
        assert_false(agent_pod(toy.agent, uid)->life.is_over);
        assert_true(exists(toy_path(uid, "volumes/kubernetes.io~empty-dir/data")));
        if (rows[i].repaired)
            put_file(toy_path(uid, "berth.json"), rows[i].repaired);
        else
            assert_int_equal(unlink(toy_path(uid, "berth.json")), 0);
        toy_pass(&w, 301);
        ASSERT_STR(rows[i].calls, calls());
        assert_false(exists(toy_path(uid, "")));
        toy_finish(&w);
    }
}

/* One of the two files is enough. */
TEST(lost_state_files_beside_a_pod)
{
    struct parts w;
    const char *uid = restart_without_pod(&w, "{\"pod\":", /* manifest= */ NULL);

    ASSERT_STR("teardown default/p\n", calls());
    assert_false(exists(toy_path(uid, "")));
    toy_finish(&w);
}

/* Not even pod.json is left: the names of the state file must do. */
TEST(teardown_by_name)
{
    struct parts w;
    char uid[64], text[256];

    begin_with_hook(&w);
    make_pod(&w, POD("p", DATA));
    (void)snprintf(uid, sizeof uid, "%s", uid_of(&w, PATH("p")));
    process_kill(&w);
    assert_int_equal(unlink(toy_path(uid, "pod.json")), 0);
    ASSERT_SENT(&w.served, 200, "DELETE", PATH("p") "?gracePeriodSeconds=0", NULL);
    process_start(&w);
    toy_rest(&w);
    ASSERT_STR("setup default/p\nteardown default/p\n", calls());
    (void)snprintf(text, sizeof text,
                   "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"p\","
                   "\"namespace\":\"default\",\"uid\":\"%s\"}}",
                   uid);
    ASSERT_STR(text, text_of(in_dir(toy.dir, "stdin-teardown")));
    ASSERT_INT(1, toy.dropped);
    toy_finish(&w);
}

/* A hook that there was and is no more cannot be asked. */
TEST(teardown_without_a_hook)
{
    struct parts w;

    begin_with_hook(&w);
    make_pod(&w, POD("p", DATA));
    toy.hook = NULL;
    toy_restart(&w);
    ASSERT_CONDITION(&w, PATH("p"), "True", "VolumesReady");
    ASSERT_SENT(&w.served, 200, "DELETE", PATH("p"), NULL);
    toy_rest(&w);
    ASSERT_GONE(&w, PATH("p"));
    ASSERT_STR("setup default/p\n", calls());
    toy_finish(&w);
}

/* A restart writes nothing anew, on disk or to the server, and calls nobody. */
TEST(restarts_change_nothing)
{
    struct parts w;
    struct stat before, after;
    const char *uid;

    begin_with_hook(&w);
    make_pod(&w, POD("p", DATA));
    uid = uid_of(&w, PATH("p"));
    assert_int_equal(stat(toy_path(uid, "berth.json"), &before), 0);
    buf_clear(&w.log);
    toy_restart(&w);
    toy_pass(&w, 5);
    assert_int_equal(stat(toy_path(uid, "berth.json"), &after), 0);
    ASSERT_INT(before.st_ino, after.st_ino);
    assert_asked(&w, "");
    ASSERT_STR("setup default/p\n", calls());
    ASSERT_INT(POD_STAGE_READY, toy_pod(&w, "p")->life.stage);
    toy_finish(&w);
}

/* Before all pods are known, one that was not heard of is not gone. */
TEST(pods_not_heard_of_are_not_gone)
{
    struct parts w;
    char uid[64];

    begin_with_hook(&w);
    make_pod(&w, POD("p", DATA));
    (void)snprintf(uid, sizeof uid, "%s", uid_of(&w, PATH("p")));
    process_kill(&w);
    ASSERT_SENT(&w.served, 200, "DELETE", PATH("p") "?gracePeriodSeconds=0", NULL);
    toy.is_blind = true;
    process_start(&w);
    toy_pass(&w, 60);
    ASSERT_STR("setup default/p\n", calls());
    assert_true(exists(toy_path(uid, "berth.json")));
    toy.agent->has_pods = true;
    toy_look_at_all();
    toy_rest(&w);
    ASSERT_STR("setup default/p\nteardown default/p\n", calls());
    assert_false(exists(toy_path(uid, "")));
    toy_finish(&w);
}

/* A container that is added later finds its volumes too; the hook has been called, and is not called again.
 */
TEST(containers_that_come_later)
{
    struct parts w;
    struct node_pod *p;
    struct object *o = NULL;
    struct json d;
    json_ref root, more;

    begin_with_hook(&w);
    make_pod(&w, POD("p", DATA));
    p = toy_pod(&w, "p");
    json_init(&d, 1 << 20);
    ASSERT_OK(json_parse(&d, p->object->text, &root, &err));
    ASSERT_OK(json_parse(&d,
                         STR_LIT("[{\"name\":\"e\",\"image\":\"i:1\",\"volumeMounts\":[{\"name\":\"data\","
                                 "\"mountPath\":\"/e\"}]}]"),
                         &more, &err));
    json_set(&d, json_get(&d, root, "spec"), "ephemeralContainers", more);
    ASSERT_OK(object_new(&pod_kind, &d, root, &o, &err));
    toy_see(o);
    object_unref(o);
    json_done(&d);
    toy_rest(&w);
    ASSERT_HAS(text_of(toy_path(uid_of(&w, PATH("p")), "berth.json")), "\"kind\": \"ephemeral\"");
    ASSERT_STR("setup default/p\n", calls());
    ASSERT_CONDITION(&w, PATH("p"), "True", "VolumesReady");
    toy_finish(&w);
}

/* --- Whatever goes wrong with a request, the end is the same --- */

static unsigned run_life(enum trouble trouble, unsigned at)
{
    struct parts w;
    unsigned count;

    begin_with_hook(&w);
    w.trouble = trouble;
    w.at = at;
    make_pod(&w, POD("p", DATA));
    toy_pass(&w, 30);
    ASSERT_CONDITION(&w, PATH("p"), "True", "VolumesReady");
    ASSERT_GOT(&w.served, "Running", "status/phase");
    ASSERT_STR("setup default/p\n", calls());
    ASSERT_SENT(&w.served, 200, "DELETE", PATH("p"), NULL);
    toy_pass(&w, 30);
    ASSERT_GONE(&w, PATH("p"));
    ASSERT_STR("setup default/p\nteardown default/p\n", calls());
    ASSERT_INT(0, toy.agent->world.pods.count);
    count = w.count;
    toy_finish(&w);
    return count;
}

TEST(lives_end_well_whatever_goes_wrong)
{
    unsigned count = run_life(TROUBLE_NONE, 0);

    ASSERT_INT(2, count); /* the status, the end */
    for (unsigned trouble = TROUBLE_NONE + 1; trouble < TROUBLE_COUNT; trouble++)
        for (unsigned at = 1; at <= count; at++)
            if (trouble != TROUBLE_UNREADABLE)
                (void)run_life((enum trouble)trouble, at);
}

TEST_MAIN()

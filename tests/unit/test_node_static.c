/* Pods from a directory of manifests, against the whole API server. The directory is real, and so are its
 * events; the node's agent is played by the test, which removes what is deleted. */
#include "tests/unit/test_mounts.h"
#include "tests/unit/test_parts.h"

#include "base/log.h"
#include "node/manifest.h"
#include "node/static_pods.h"

#define NODE "n1"
#define YAML(name, image)                                      \
    "apiVersion: v1\nkind: Pod\nmetadata:\n  name: " name "\n" \
    "spec:\n  containers:\n  - name: c\n    image: " image "\n"
#define PATH(name) PODS "/" name "-" NODE

struct part {
    struct informer *pods;
    struct informer_handler on_pods;
    struct static_pods *statics;
    struct pool *pool;
    bool is_synced;
};

static struct test_dir dir;
static const char *dir_path; /* what is watched */
static struct part *the_part;

/* --- The frame --- */

static void on_synced(void *ctx)
{
    struct part *p = ctx;

    p->is_synced = true;
    static_pods_start(p->statics);
}

static int make(const struct component_deps *o, void **ret, struct error *e)
{
    struct part *p = calloc(1, sizeof *p);
    struct informer_options pods = { .loop = o->loop,
                                     .client = o->client,
                                     .seed = 2,
                                     .kind = &pod_kind,
                                     .field_selector = "spec.nodeName=" NODE };
    struct static_pods_options s = { .part = *o, .dir = dir_path, .node_name = NODE };

    assert_non_null(p);
    ASSERT_OK(pool_new(o->loop, 1, 64, &p->pool, e));
    ASSERT_OK(informer_new(&pods, &p->pods, e));
    s.pool = p->pool;
    s.pods = p->pods;
    ASSERT_OK(static_pods_new(&s, &p->statics, e));
    p->on_pods = (struct informer_handler){ .on_synced = on_synced, .ctx = p };
    *ret = the_part = p;
    return 0;
}

static void start(void *part)
{
    struct part *p = part;

    informer_add_handler(p->pods, &p->on_pods);
    informer_start(p->pods);
}

static void end(void *part)
{
    struct part *p = part;

    p->statics = static_pods_free(p->statics);
    if (p->on_pods.informer)
        informer_remove_handler(&p->on_pods);
    p->pods = informer_free(p->pods);
    p->pool = pool_free(p->pool);
    free(p);
}

static const struct part_type type = { make, start, end };

/* Turns until nothing has moved for a while: what the kernel tells of the directory is there at once. */
static void rest(struct parts *w)
{
    for (unsigned i = 0; i < 5; i++) {
        parts_rest(w);
        pool_drain(the_part->pool);
    }
    parts_rest(w);
}

static void begin(struct parts *w)
{
    dir = test_dir_new();
    dir_path = dir.path;
    parts_init(w, &type);
    ASSERT_SENT(&w->served, 201, "POST", NODES, "{'metadata':{'name':'" NODE "'}}");
    rest(w);
}

static void finish(struct parts *w)
{
    parts_done(w);
    test_dir_done(&dir);
}

static void restart(struct parts *w)
{
    process_kill(w);
    process_start(w);
    rest(w);
}

static void put(struct parts *w, const char *name, const char *text)
{
    put_file(in_dir(&dir, name), text);
    rest(w);
}

static void take(struct parts *w, const char *name)
{
    assert_int_equal(unlink(in_dir(&dir, name)), 0);
    rest(w);
}

/* The agent has ended what ran in it. */
static void let_go(struct parts *w, const char *pod)
{
    char target[256];

    ASSERT_SENT(&w->served, 200, "GET", pod, NULL);
    assert_string_not_equal(got(&w->served, "metadata/deletionTimestamp"), "-");
    (void)snprintf(target, sizeof target, "%s?gracePeriodSeconds=0", pod);
    ASSERT_SENT(&w->served, 200, "DELETE", target, NULL);
    rest(w);
}

#define ASSERT_IMAGE(w, expected, pod) ASSERT_THERE(w, expected, pod, "spec/containers/0/image")
#define ASSERT_STAYS(w, pod)                                              \
    do {                                                                  \
        ASSERT_SENT(&(w)->served, 200, "GET", pod, NULL);                 \
        ASSERT_STR("-", got(&(w)->served, "metadata/deletionTimestamp")); \
    } while (0)

/* --- Manifests --- */

TEST(manifests_become_pods_of_this_node)
{
    static const char text[] =
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n  namespace: shop\n  uid: x\n"
        "  resourceVersion: '5'\n  labels: {a: b}\n  annotations: {mine: yes-it-is}\n  finalizers: [f/f]\n"
        "spec:\n  nodeName: elsewhere\n  later: {kept: true}\n  containers:\n  - name: c\n    image: i\n"
        "status: {phase: Running}\n";
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(1 << 20);
    struct pod_manifest m = { 0 }, again = { 0 };

    ASSERT_OK(manifest_read(&a, "web.yaml", str_of(text), NODE, &m, &err));
    ASSERT_STR("shop", m.ns);
    ASSERT_STR("web-n1", m.name);
    assert_non_null(strstr(m.body.s, "\"name\":\"web-n1\""));
    assert_non_null(strstr(m.body.s, "\"namespace\":\"shop\""));
    assert_non_null(strstr(m.body.s, "\"nodeName\":\"n1\""));
    assert_non_null(strstr(m.body.s, "\"mine\":\"yes-it-is\""));
    assert_non_null(strstr(m.body.s, "\"kubernetes.io/config.source\":\"file\""));
    assert_non_null(strstr(m.body.s, "\"volumes.berth.io/config.file\":\"web.yaml\""));
    assert_non_null(strstr(m.body.s, m.hash));
    assert_non_null(strstr(m.body.s, "\"later\":{\"kept\":true}"));
    assert_null(strstr(m.body.s, "Running"));
    assert_null(strstr(m.body.s, "\"uid\""));
    assert_null(strstr(m.body.s, "resourceVersion"));
    assert_null(strstr(m.body.s, "f/f"));
    ASSERT_INT(32, strlen(m.hash));
    ASSERT_OK(manifest_read(&a, "web.yaml", str_of(text), NODE, &again, &err));
    ASSERT_STR(m.hash, again.hash);
    ASSERT_OK(manifest_read(&a, "other.yaml", str_of(text), NODE, &again, &err));
    assert_string_not_equal(m.hash, again.hash);
    ASSERT_OK(manifest_read(&a, "w.json",
                            STR_LIT("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"j\"},"
                                    "\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}"),
                            NODE, &again, &err));
    ASSERT_STR("default", again.ns);
    ASSERT_STR("j-n1", again.name);
}

TEST(manifests_that_are_refused)
{
    static const struct {
        const char *text, *words;
    } rows[] = {
        { "", "" },
        { "[1, 2]", "manifest is not a JSON or YAML object" },
        { "{", "" },
        { "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n", "manifest is not a v1 Pod" },
        { "apiVersion: v2\nkind: Pod\nmetadata: {name: s}\n", "manifest is not a v1 Pod" },
        { "apiVersion: v1\nkind: Pod\nmetadata: {generateName: s}\n", "pod has no metadata.name" },
        { YAML("a", "i") "---\n" YAML("b", "i"), "" },
        { "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: 5}\n", "" },
        { "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {}\n",
          "Pod \"a-n1\" is invalid: spec.containers: Required value" },
        { YAML("A_b", "i"), "Pod \"A_b-n1\" is invalid: metadata.name: Invalid value: \"A_b-n1\"" },
    };
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(1 << 20);

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct pod_manifest m = { 0 };
        int r = manifest_read(&a, "f", str_of(rows[i].text), NODE, &m, &err);

        if (r >= 0 || strncmp(err.msg, rows[i].words, strlen(rows[i].words)) != 0)
            fail_msg("row %zu: %d, %s", i, r, err.msg);
        assert_null(m.name);
    }
}

/* --- Files --- */

TEST(files_come_change_and_go)
{
    struct parts w;
    char uid[64];

    begin(&w);
    put(&w, "web.yaml", YAML("web", "i:1"));
    ASSERT_IMAGE(&w, "i:1", PATH("web"));
    ASSERT_GOT(&w.served, NODE, "spec/nodeName");
    (void)snprintf(uid, sizeof uid, "%s", got(&w.served, "metadata/uid"));
    put(&w, "web.yaml", YAML("web", "i:1")); /* the same again */
    ASSERT_STAYS(&w, PATH("web"));
    put(&w, "web.yaml", YAML("web", "i:2"));
    ASSERT_IMAGE(&w, "i:1", PATH("web"));
    ASSERT_GOT(&w.served, "30", "metadata/deletionGracePeriodSeconds");
    let_go(&w, PATH("web"));
    ASSERT_IMAGE(&w, "i:2", PATH("web"));
    assert_string_not_equal(uid, got(&w.served, "metadata/uid"));
    ASSERT_STAYS(&w, PATH("web"));
    take(&w, "web.yaml");
    let_go(&w, PATH("web"));
    ASSERT_GONE(&w, PATH("web"));
    finish(&w);
}

TEST(files_that_were_there_before)
{
    struct parts w;

    begin(&w);
    process_kill(&w);
    put_file(in_dir(&dir, "a.yaml"), YAML("a", "i:1"));
    put_file(in_dir(&dir, ".hidden.yaml"), YAML("h", "i:1"));
    assert_int_equal(mkdir(in_dir(&dir, "sub"), 0755), 0);
    process_start(&w);
    rest(&w);
    ASSERT_IMAGE(&w, "i:1", PATH("a"));
    ASSERT_GONE(&w, PATH("h"));
    /* A restart finds its own pod; what changed meanwhile is seen. */
    restart(&w);
    ASSERT_STAYS(&w, PATH("a"));
    process_kill(&w);
    assert_int_equal(unlink(in_dir(&dir, "a.yaml")), 0);
    process_start(&w);
    rest(&w);
    let_go(&w, PATH("a"));
    ASSERT_GONE(&w, PATH("a"));
    finish(&w);
}

static char logged[8192];

static void keep_line(void *ctx, const char *line, size_t len)
{
    size_t at = strlen(logged);

    (void)ctx;
    (void)snprintf(logged + at, sizeof logged - at, "%.*s", (int)len, line);
}

TEST(broken_files_leave_pods_as_they_are)
{
    struct parts w;
    struct logger logger = { .level = LOG_LEVEL_WARN, .sink = keep_line };

    begin(&w);
    logger.clock = &w.served.clock.clock;
    put(&w, "web.yaml", YAML("web", "i:1"));
    log_install(&logger);
    put(&w, "web.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {}\n");
    log_install(NULL);
    assert_non_null(strstr(logged, "file=web.yaml"));
    assert_non_null(strstr(logged, "spec.containers: Required value"));
    ASSERT_STAYS(&w, PATH("web"));
    restart(&w); /* which has never seen what the file held before */
    ASSERT_STAYS(&w, PATH("web"));
    put(&w, "web.yaml", YAML("web", "i:1"));
    ASSERT_STAYS(&w, PATH("web"));
    put(&w, "large.yaml", YAML("large", "i:1"));
    ASSERT_IMAGE(&w, "i:1", PATH("large"));
    assert_int_equal(truncate(in_dir(&dir, "large.yaml"), MANIFEST_BYTES_MAX + 1), 0);
    put(&w, "web.yaml", YAML("web", "i:1"));
    ASSERT_STAYS(&w, PATH("large"));
    /* Of two for one pod the first by name is taken. */
    put(&w, "a-web.yaml", YAML("web", "i:3"));
    let_go(&w, PATH("web"));
    ASSERT_IMAGE(&w, "i:3", PATH("web"));
    finish(&w);
}

TEST(pods_of_others_are_not_touched)
{
    struct parts w;

    begin(&w);
    ASSERT_SENT(&w.served, 201, "POST", PODS, "{'metadata':{'name':'mine-" NODE "'}," POD_ON(NODE) "}");
    ASSERT_SENT(&w.served, 201, "POST", PODS,
                "{'metadata':{'name':'half-" NODE
                "','annotations':{'kubernetes.io/config.source':'file'}}," POD_ON(NODE) "}");
    ASSERT_SENT(&w.served, 201, "POST", PODS,
                "{'metadata':{'name':'far','annotations':{'kubernetes.io/config.source':'file',"
                "'kubernetes.io/config.mirror':'h','volumes.berth.io/config.file':'f'}}," POD_ON("n2") "}");
    put(&w, "mine.yaml", YAML("mine", "i:2"));
    ASSERT_IMAGE(&w, "i:1", PATH("mine"));
    ASSERT_STAYS(&w, PATH("mine"));
    ASSERT_STAYS(&w, PATH("half"));
    ASSERT_STAYS(&w, PODS "/far");
    /* Its name is free again. */
    ASSERT_SENT(&w.served, 200, "DELETE", PATH("mine") "?gracePeriodSeconds=0", NULL);
    rest(&w);
    ASSERT_IMAGE(&w, "i:2", PATH("mine"));
    finish(&w);
}

/* On another node, and so nobody here has heard of it: the server says that the name is taken. */
TEST(names_that_are_taken_are_tried_again)
{
    struct parts w;

    begin(&w);
    ASSERT_SENT(&w.served, 201, "POST", PODS, "{'metadata':{'name':'web-" NODE "'}," POD_ON("n2") "}");
    put(&w, "web.yaml", YAML("web", "i:2"));
    ASSERT_SENT(&w.served, 200, "DELETE", PATH("web") "?gracePeriodSeconds=0", NULL);
    parts_pass_ns(&w, 9 * NS_PER_S);
    ASSERT_GONE(&w, PATH("web"));
    parts_pass_ns(&w, NS_PER_S);
    ASSERT_IMAGE(&w, "i:2", PATH("web"));
    finish(&w);
}

TEST(finished_pods_stay_and_deleted_ones_come_back)
{
    struct parts w;

    begin(&w);
    put(&w, "web.yaml", YAML("web", "i:1"));
    ASSERT_SENT(&w.served, 200, "MERGE", PATH("web") "/status", "{'status':{'phase':'Succeeded'}}");
    parts_settle(&w);
    ASSERT_STAYS(&w, PATH("web"));
    ASSERT_GOT(&w.served, "Succeeded", "status/phase");
    ASSERT_SENT(&w.served, 200, "DELETE", PATH("web") "?gracePeriodSeconds=0", NULL);
    rest(&w);
    ASSERT_THERE(&w, "Pending", PATH("web"), "status/phase");
    finish(&w);
}

TEST(directories_that_come_and_go)
{
    struct parts w;
    char path[TEST_PATH_BYTES * 2];

    dir = test_dir_new();
    (void)snprintf(path, sizeof path, "%s/manifests", dir.path);
    dir_path = path;
    parts_init(&w, &type);
    ASSERT_SENT(&w.served, 201, "POST", NODES, "{'metadata':{'name':'" NODE "'}}");
    rest(&w);
    assert_int_equal(mkdir(path, 0755), 0);
    put_file(in_dir(&dir, "manifests/a.yaml"), YAML("a", "i:1"));
    parts_pass_ns(&w, 10 * NS_PER_S);
    rest(&w);
    ASSERT_STAYS(&w, PATH("a"));
    assert_int_equal(rename(path, in_dir(&dir, "away")), 0);
    rest(&w);
    parts_pass_ns(&w, 60 * NS_PER_S);
    ASSERT_STAYS(&w, PATH("a")); /* nobody has deleted the file */
    assert_int_equal(unlink(in_dir(&dir, "away/a.yaml")), 0);
    assert_int_equal(rename(in_dir(&dir, "away"), path), 0);
    parts_pass_ns(&w, 10 * NS_PER_S);
    rest(&w);
    let_go(&w, PATH("a"));
    ASSERT_GONE(&w, PATH("a"));
    finish(&w);
}

/* --- Whatever goes wrong with a request, the end is the same --- */

static unsigned run(enum trouble trouble, unsigned at)
{
    struct parts w;
    unsigned count;

    begin(&w);
    w.trouble = trouble;
    w.at = at;
    put(&w, "a.yaml", YAML("a", "i:1"));
    parts_pass_ns(&w, 30 * NS_PER_S);
    rest(&w);
    ASSERT_IMAGE(&w, "i:1", PATH("a"));
    put(&w, "a.yaml", YAML("a", "i:2"));
    parts_pass_ns(&w, 10 * NS_PER_S);
    rest(&w);
    parts_pass_ns(&w, 10 * NS_PER_S);
    let_go(&w, PATH("a"));
    parts_pass_ns(&w, 30 * NS_PER_S);
    rest(&w);
    ASSERT_IMAGE(&w, "i:2", PATH("a"));
    count = w.count;
    finish(&w);
    return count;
}

TEST(static_pods_end_the_same_whatever_goes_wrong)
{
    unsigned count = run(TROUBLE_NONE, 0);

    ASSERT_INT(3, count); /* made, deleted, made */
    for (unsigned trouble = TROUBLE_NONE + 1; trouble < TROUBLE_COUNT; trouble++)
        for (unsigned at = 1; at <= count; at++)
            if (trouble != TROUBLE_UNREADABLE)
                (void)run((enum trouble)trouble, at);
}

TEST_MAIN()

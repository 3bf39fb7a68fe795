/* Whole stories of pods and their volumes, told on a good day and then again and again with something wrong:
 * each request of the agent failing in each way, the agent killed at each request, each call of the plugin
 * failing in each class. In the end the server, the directories and what is mounted must be the same, and on
 * the way nothing may be taken from a pod that lives.
 *
 * The scripted plugin's directories stand for mounts: what is there is mounted. */
#include "tests/unit/test_node.h"

#include <dirent.h>
#include <sys/stat.h>

#define DUMP_BYTES_MAX ((size_t)4 << 20)

/* --- What stands there in the end --- */

static int cmp_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Directories only, sorted; of those of pods the uid is left out, since it is another each time. */
static void dump_dirs(const char *path, unsigned depth, struct buf *out)
{
    char *names[256];
    unsigned count = 0;
    DIR *d = opendir(path);

    for (struct dirent *e; d && (e = readdir(d));)
        if (e->d_type == DT_DIR && e->d_name[0] != '.' && count < ARRAY_LEN(names))
            names[count++] = strdup(e->d_name);
    if (d)
        (void)closedir(d);
    qsort(names, count, sizeof *names, cmp_texts);
    for (unsigned i = 0; i < count; i++) {
        char below[PATH_MAX];
        bool is_pod = depth == 1 && strcmp(strrchr(path, '/'), "/pods") == 0;

        (void)snprintf(below, sizeof below, "%s/%s", path, names[i]);
        buf_addf(out, "%*s%s\n", (int)depth, "", is_pod ? "POD" : names[i]);
        dump_dirs(below, depth + 1, out);
        free(names[i]);
    }
}

/* Devices are last: see assert_same(). */
#define DEVICES "devices:\n"

static void dump(struct buf *out)
{
    const struct agent *a = bench_agent();
    char path[PATH_MAX];

    parts_dump(&bench.w, out);
    (void)snprintf(path, sizeof path, "%s/pods", bench.root);
    dump_dirs(path, 1, out);
    ASSERT_SENT(&bench.w.served, 200, "GET", NODE_PATH, NULL);
    buf_addf(out, "in use: %s\n", got(&bench.w.served, "status/volumesInUse/0"));
    buf_addf(out, "volumes %zu, pods %zu, operations %zu, ready %d %d\n", a->world.volumes.count,
             a->world.pods.count, operations_pending(a->ops), a->has_pods, a->has_attached);
    buf_add_cstr(out, DEVICES);
    (void)snprintf(path, sizeof path, "%s/plugins", bench.root);
    dump_dirs(path, 0, out);
}

/* Long enough for whatever is tried again; once more if the trouble came only now. */
static void settle(void)
{
    bool had_trouble;

    do {
        had_trouble = bench.w.count >= bench.w.at;
        pass(2);
        for (unsigned i = 0; i < 24; i++) { /* what begins in one step ends in the next */
            parts_pass_ns(&bench.w, 11 * NS_PER_S);
            pool_drain(bench.pool);
            parts_rest(&bench.w);
        }
        pass(2);
    } while (!had_trouble && bench.w.count >= bench.w.at);
}

/* Of a pod that lives nothing is taken away. */
static void assert_not_called(const char *slot)
{
    pthread_mutex_lock(&disk.lock);
    if (strstr(buf_cstr(&disk.log), slot))
        fail_msg("%s in\n%s", slot, buf_cstr(&disk.log));
    pthread_mutex_unlock(&disk.lock);
}

static void assert_ready(const char *pod)
{
    ASSERT_THERE(&bench.w, "True", pod, "status/conditions/0/status");
}

/* --- The stories --- */

/* A volume with everything: attached, its device mounted, set up; it grows, outlives a restart, and goes. */
static void life_of_a_disk(void)
{
    put_disk("d", "1Gi", "");
    report_attached("d");
    put_disk_pod("p", "d", NULL);
    settle();
    assert_ready(PODS "/p");
    ASSERT_SENT(&bench.w.served, 200, "MERGE", VOLUMES "/d", "{'spec':{'capacity':{'storage':'2Gi'}}}");
    ASSERT_SENT(&bench.w.served, 200, "MERGE", CLAIMS "/d/status",
                "{'status':{'allocatedResources':{'storage':'2Gi'},'allocatedResourceStatuses':{'storage':"
                "'NodeResizePending'}}}");
    settle();
    ASSERT_THERE(&bench.w, "2Gi", CLAIMS "/d", "status/capacity/storage");
    ASSERT_GOT(&bench.w.served, "-", "status/allocatedResourceStatuses/storage");
    bench_kill();
    bench_revive();
    settle();
    assert_ready(PODS "/p");
    assert_not_called("tear-down");
    assert_not_called("unmount-device");
    ASSERT_SENT(&bench.w.served, 200, "DELETE", PODS "/p", NULL);
    settle();
    ASSERT_GONE(&bench.w, PODS "/p");
}

/* Two pods of a device; one goes while the agent is away, the other keeps what it has. */
static void one_of_two_goes_meanwhile(void)
{
    put_disk("d", "1Gi", "");
    report_attached("d");
    put_disk_pod("p", "d", NULL);
    put_disk_pod("q", "d", NULL);
    settle();
    assert_ready(PODS "/p");
    assert_ready(PODS "/q");
    assert_not_called("tear-down");
    bench_kill();
    ASSERT_SENT(&bench.w.served, 200, "DELETE", PODS "/q", "{'gracePeriodSeconds':0}");
    bench_revive();
    settle();
    assert_ready(PODS "/p");
    assert_not_called("unmount-device");
}

/* A pod that is deleted before anything was brought, and another of its name. */
static void pod_is_replaced_in_the_middle(void)
{
    put_disk("d", "1Gi", "");
    report_attached("d");
    put_disk_pod("p", "d", NULL);
    ASSERT_SENT(&bench.w.served, 200, "DELETE", PODS "/p", "{'gracePeriodSeconds':0}");
    put_disk_pod("p", "d", NULL);
    settle();
    assert_ready(PODS "/p");
}

static const char *shown(const char *pod)
{
    static char text[64];
    char path[PATH_MAX];
    FILE *f;

    ASSERT_SENT(&bench.w.served, 200, "GET", pod, NULL);
    (void)snprintf(path, sizeof path, "%s/pods/%s/volumes/kubernetes.io~configmap/v/key", bench.root,
                   got(&bench.w.served, "metadata/uid"));
    f = fopen(path, "re");
    text[0] = '\0';
    if (f) {
        size_t n = fread(text, 1, sizeof text - 1, f);

        text[n] = '\0';
        (void)fclose(f);
    }
    return text;
}

/* What a pod shows follows its object. */
static void life_of_what_is_shown(void)
{
    ASSERT_SENT(&bench.w.served, 201, "POST", "/api/v1/namespaces/default/configmaps",
                "{'metadata':{'name':'c'},'data':{'key':'old'}}");
    put_pod("p", "{'name':'v','configMap':{'name':'c'}}", "'volumeMounts':[{'name':'v','mountPath':'/v'}]",
            NULL);
    settle();
    assert_ready(PODS "/p");
    ASSERT_STR("old", shown(PODS "/p"));
    ASSERT_SENT(&bench.w.served, 200, "MERGE", "/api/v1/namespaces/default/configmaps/c",
                "{'data':{'key':'new'}}");
    settle();
    ASSERT_STR("new", shown(PODS "/p"));
    ASSERT_SENT(&bench.w.served, 200, "DELETE", PODS "/p", NULL);
    settle();
    ASSERT_GONE(&bench.w, PODS "/p");
}

static const struct story {
    void (*tell)(void);
    bool is_attachable, has_device;
} stories[] = {
    { life_of_a_disk, true, true },
    { one_of_two_goes_meanwhile, true, true },
    { pod_is_replaced_in_the_middle, false, true },
    { life_of_what_is_shown, false, false },
};

/* --- Telling them --- */

/* In which requests something can go wrong, counted from the start of the story: not in the life signs of the
 * node, which have tests of their own and of which one is like the other. */
struct moments {
    unsigned at[256];
    unsigned count;
};

static void note_moments(struct moments *ret)
{
    struct str rest = buf_str(&bench.w.log);
    unsigned number = 0, statuses = 0;

    while (rest.len) {
        struct str line = str_next(&rest, '\n');
        bool is_status = str_has_prefix(line, "PATCH " NODE_PATH "/status");

        number++;
        statuses += is_status;
        if (memmem(line.s, line.len, "/leases", 7) || (is_status && statuses > 4))
            continue;
        assert_true(ret->count < ARRAY_LEN(ret->at));
        ret->at[ret->count++] = number;
    }
}

static void tell(const struct story *s, enum trouble trouble, unsigned at, const struct slot_failure *failure,
                 struct buf *out, struct moments *ret)
{
    disk.is_attachable = s->is_attachable;
    disk.has_device = s->has_device;
    bench_open();
    if (failure)
        disk.fails[disk.fails_count++] = *failure;
    bench.w.count = 0;
    buf_clear(&bench.w.log);
    bench.w.trouble = trouble;
    bench.w.at = at;
    s->tell();
    if (ret)
        note_moments(ret);
    dump(out);
    bench_close();
}

/* Complains with the first lines that differ. Of an agent that was killed the devices do not count: one whose
 * pod's part was gone, or was not there yet, is found by whoever uses it next (spec: the accepted gap). */
static void assert_same(const struct buf *good, const struct buf *bad, const char *what, unsigned kind,
                        unsigned at, bool was_killed)
{
    const char *a = buf_cstr(good), *b = buf_cstr(bad), *line_a = a, *line_b = b;

    while (*a && *a == *b && !(was_killed && strncmp(a, DEVICES, strlen(DEVICES)) == 0)) {
        if (*a == '\n') {
            line_a = a + 1;
            line_b = b + 1;
        }
        a++;
        b++;
    }
    if (*a != *b)
        fail_msg("%s %u at %u: '%.300s', expected '%.300s'", what, kind, at, line_b, line_a);
}

static void tell_with_trouble(const struct story *s)
{
    static const enum trouble kinds[] = { TROUBLE_REFUSED, TROUBLE_CONFLICT, TROUBLE_LOST, TROUBLE_CRASH_SENT,
                                          TROUBLE_CRASH_ANSWERED };
    _cleanup_(buf_done_p) struct buf good = BUF_INIT(DUMP_BYTES_MAX);
    struct moments moments = { 0 };

    tell(s, TROUBLE_NONE, 0, NULL, &good, &moments);
    assert_true(moments.count > 0);
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
        for (unsigned i = 0; i < moments.count; i++) {
            _cleanup_(buf_done_p) struct buf bad = BUF_INIT(DUMP_BYTES_MAX);

            if (!tests_take_turn())
                continue;
            tell(s, kinds[k], moments.at[i], NULL, &bad, NULL);
            assert_same(&good, &bad, "trouble", kinds[k], moments.at[i], kinds[k] >= TROUBLE_CRASH_SENT);
        }
}

TEST(life_of_a_disk_ends_well_whatever_request_fails)
{
    tell_with_trouble(&stories[0]);
}

TEST(two_pods_end_well_whatever_request_fails)
{
    tell_with_trouble(&stories[1]);
}

TEST(replaced_pod_ends_well_whatever_request_fails)
{
    tell_with_trouble(&stories[2]);
}

TEST(what_is_shown_ends_well_whatever_request_fails)
{
    tell_with_trouble(&stories[3]);
}

/* --- The plugin --- */

/* Every call of every slot, once, in every class; a call whose answer did not come may have done its work. */
static void tell_with_failures(const struct story *s)
{
    static const char *const slots[] = { "set-up", "tear-down", "mount-device", "unmount-device",
                                         "wait",   "grow",      "reconstruct" };
    static const struct slot_failure ends[] = {
        { NULL, ERR_UNCERTAIN, "slow", 1, false, 0 },      { NULL, ERR_UNCERTAIN, "slow", 1, true, 0 },
        { NULL, ERR_INCOMPLETE, "stopped", 1, true, 0 },   { NULL, ERR_IO, "broken", 1, false, 0 },
        { NULL, ERR_UNAVAILABLE, "not yet", 1, false, 0 },
    };
    _cleanup_(buf_done_p) struct buf good = BUF_INIT(DUMP_BYTES_MAX);

    tell(s, TROUBLE_NONE, 0, NULL, &good, NULL);
    for (size_t i = 0; i < ARRAY_LEN(slots); i++)
        for (size_t k = 0; k < ARRAY_LEN(ends); k++)
            for (unsigned spared = 0; spared < 3; spared++) {
                _cleanup_(buf_done_p) struct buf bad = BUF_INIT(DUMP_BYTES_MAX);
                struct slot_failure f = ends[k];

                if (!tests_take_turn())
                    continue;
                f.slot = slots[i];
                f.spared = spared;
                tell(s, TROUBLE_NONE, 0, &f, &bad, NULL);
                assert_same(&good, &bad, f.slot, (unsigned)k, spared, /* was_killed= */ false);
            }
}

TEST(life_of_a_disk_ends_well_whatever_call_fails)
{
    tell_with_failures(&stories[0]);
}

TEST(two_pods_end_well_whatever_call_fails)
{
    tell_with_failures(&stories[1]);
}

TEST(replaced_pod_ends_well_whatever_call_fails)
{
    tell_with_failures(&stories[2]);
}

TEST_MAIN()

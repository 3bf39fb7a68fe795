/* How full volumes are: asked, shown as JSON and as series; with a plugin that says what it is told, and a
 * device that is real. */
/* First: it has errors of its own. */
#include "tests/unit/test_mounts.h"

#include "tests/unit/test_node_hand.h"

#include <semaphore.h>

#include "node/stats.h"
#include "plugins/builtin.h"

#define MIB ((off_t)1 << 20)
#define ROUND_NS (STATS_PERIOD_NS * 2) /* the first begins within a minute, and takes one */

/* --- The plugin --- */

static struct script {
    enum err fails_with;
    uint64_t used;
    bool is_gated;
    sem_t gate, begun;
    _Atomic unsigned calls;
} script;

static int scripted_usage(const struct volume_plugin *self, const struct volume_env *env, const char *path,
                          struct host_usage *ret, struct error *e)
{
    (void)self;
    assert(env->stop && env->stop == env->tools.stop);
    assert(strcmp(path, "/at") == 0);
    script.calls++;
    if (script.is_gated) {
        (void)sem_post(&script.begun);
        (void)sem_wait(&script.gate);
    }
    if (script.fails_with)
        return error_set(e, script.fails_with, "no luck");
    *ret = (struct host_usage){ 100, 90, script.used, 50, 40, 9 };
    return 0;
}

static const struct pod_table counted = { .usage = scripted_usage };
static const struct pod_table uncounted = { 0 };
static const struct volume_plugin counts = { .name = "test.io/counts", .pods = &counted };
static const struct volume_plugin silent = { .name = "test.io/silent", .pods = &uncounted };
static const struct volume_plugin raw = { .name = "test.io/raw" };

/* --- The scene --- */

static void free_stats(struct agent *a)
{
    a->stats = stats_free(a->stats);
}

static void open_scene(void)
{
    script.fails_with = ERR_NONE;
    script.used = 10;
    script.is_gated = false;
    script.calls = 0;
    hand_open();
    hand.free_more = free_stats;
    ASSERT_INT(0, omap_insert(&hand.agent.world.pods, 0, &hand.pod));
    ASSERT_OK(stats_new(&hand.agent, &hand.agent.stats, &err));
    stats_start(hand.agent.stats);
}

/* A volume of a claim of this name, mounted. */
static struct node_mount *mount_of(const struct volume_plugin *p, const char *name)
{
    struct node_mount *m;
    struct object *pv;
    char text[512];

    (void)snprintf(text, sizeof text,
                   "{'metadata':{'name':'pv-%s'},'spec':{'claimRef':{'namespace':'shop','name':'%s','uid':'u'"
                   "},'hostPath':{'path':'/x'}}}",
                   name, name);
    pv = hand_decode(KIND_VOLUME, str_of(kind_row(text)));
    (void)snprintf(text, sizeof text, "%s/%s", p->name, name);
    m = hand_mount(p, text, pv, false);
    node_world_set_text(&m->path, "/at");
    (void)object_unref(pv);
    return m;
}

/* It is gone as an unmount leaves it. */
static void unmount(struct node_mount *m)
{
    mount_unwant(m);
    m->state = MOUNT_NONE;
    m->volume->is_held = false;
    assert_true(node_world_drop_mount(&hand.agent.world, m));
}

static const char *json(void)
{
    static struct buf out = { .len_max = 1 << 20 };

    buf_clear(&out);
    stats_write(hand.agent.stats, &out);
    return buf_cstr(&out);
}

/* How often the text is in what a scraper gets. */
static unsigned count_series(const char *text)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT((size_t)1 << 20);
    unsigned count = 0;

    metrics_write(hand.w.metrics, &out);
    for (const char *at = buf_cstr(&out); (at = strstr(at, text)); at++)
        count++;
    return count;
}

static bool has_series(const char *text)
{
    return count_series(text) > 0;
}

#define OF(claim) "{namespace=\"shop\",persistentvolumeclaim=\"" claim "\"} "

/* --- Tests --- */

TEST(claims_have_series_and_all_volumes_stand_in_the_json)
{
    static const char *const series[] = {
        "\nkubelet_volume_stats_capacity_bytes" OF("db") "100\n",
        "\nkubelet_volume_stats_available_bytes" OF("db") "90\n",
        "\nkubelet_volume_stats_used_bytes" OF("db") "10\n",
        "\nkubelet_volume_stats_inodes" OF("db") "50\n",
        "\nkubelet_volume_stats_inodes_free" OF("db") "40\n",
        "\nkubelet_volume_stats_inodes_used" OF("db") "9\n",
        "\nkubelet_volume_metric_collection_duration_seconds_count{metric_source=\"test.io/counts\"} 1\n",
    };
    char expected[1024];
    struct node_mount *m;

    open_scene();
    m = mount_of(&counts, "db");
    assert_true(mount_add_name(m, "again")); /* one claim under two names */
    assert_false(has_series("kubelet_volume_stats"));
    hand_pass(STATS_PERIOD_NS);
    ASSERT_INT(1, script.calls);
    for (size_t i = 0; i < ARRAY_LEN(series); i++)
        if (!has_series(series[i]))
            fail_msg("no %s", series[i]);
    (void)snprintf(
        expected, sizeof expected,
        "{'node':'n1','pods':[{'podRef':{'name':'p','namespace':'default','uid':'%s'},'volumes':["
        "{'name':'again','plugin':'test.io/counts','path':'/at','claim':{'name':'db','namespace':'shop'},"
        "'time':'2023-11-14T22:1",
        hand.pod.uid);
    if (strncmp(kind_row(expected), json(), strlen(expected)) != 0)
        fail_msg("%s", json());
    assert_non_null(
        strstr(json(), kind_row("'capacityBytes':100,'availableBytes':90,'usedBytes':10,'inodes':50,"
                                "'inodesFree':40,'inodesUsed':9},{'name':'v',")));
    script.used = 11;
    hand_pass(STATS_PERIOD_NS);
    ASSERT_INT(2, script.calls);
    assert_true(has_series("\nkubelet_volume_stats_used_bytes" OF("db") "11\n"));
    hand_close();
}

/* node-57, as far as plugins without usage are concerned */
TEST(what_cannot_say_has_no_series)
{
    struct node_mount *m;

    open_scene();
    m = mount_of(&silent, "quiet");
    hand_pass(ROUND_NS);
    assert_false(has_series("kubelet_volume_stats"));
    assert_non_null(strstr(json(), kind_row("'claim':{'name':'quiet','namespace':'shop'}}")));
    unmount(m);
    script.fails_with = ERR_UNSUPPORTED;
    m = mount_of(&counts, "db");
    hand_pass(ROUND_NS);
    assert_true(script.calls > 0);
    assert_false(has_series("kubelet_volume_stats"));
    assert_null(strstr(json(), "error"));
    script.fails_with = ERR_NONE;
    hand_pass(ROUND_NS);
    assert_true(has_series("kubelet_volume_stats_used_bytes"));
    script.fails_with = ERR_IO; /* what was known is old now */
    hand_pass(ROUND_NS);
    assert_false(has_series("kubelet_volume_stats"));
    assert_non_null(strstr(json(), kind_row("'namespace':'shop'},'error':'no luck'}")));
    hand_close();
}

TEST(what_was_unmounted_is_gone_at_once)
{
    struct node_mount *m;

    open_scene();
    m = mount_of(&counts, "db");
    hand_pass(ROUND_NS);
    assert_true(has_series(OF("db")));
    m->state = MOUNT_UNCERTAIN;
    assert_false(has_series(OF("db")));
    assert_non_null(strstr(json(), kind_row("'volumes':[]")));
    m->state = MOUNT_DONE;
    assert_true(has_series(OF("db")));
    unmount(m);
    assert_false(has_series(OF("db")));
    hand_pass(ROUND_NS);
    script.calls = 0;
    (void)mount_of(&counts, "db"); /* another one, of which nothing is known */
    assert_false(has_series(OF("db")));
    hand_pass(ROUND_NS);
    assert_true(has_series(OF("db")));
    hand_close();
}

/* A claim in two pods is one claim. */
TEST(a_claim_has_its_series_once)
{
    struct node_pod other = { .agent = &hand.agent, .uid = strdup("zzz") };
    struct node_mount *first, *second;

    open_scene();
    TAILQ_INIT(&other.mounts);
    first = mount_of(&counts, "db");
    second = node_world_add_mount(first->volume, &other);
    held_spec_copy(&second->spec, &first->spec);
    node_world_set_text(&second->path, "/at");
    second->state = MOUNT_DONE;
    (void)mount_of(&counts, "a");
    hand_pass(ROUND_NS);
    assert_true(script.calls >= 3);
    assert_true(
        has_series("kubelet_volume_stats_inodes" OF("a") "50\nkubelet_volume_stats_inodes" OF("db") "50\n"));
    ASSERT_INT(1, count_series("kubelet_volume_stats_inodes" OF("db")));
    hand_close();
    free(other.uid);
}

TEST(mounts_are_counted_by_plugin_and_world)
{
    struct node_mount *m;

    open_scene();
    assert_false(has_series("volume_manager_total_volumes"));
    (void)mount_of(&counts, "a");
    m = mount_of(&counts, "b");
    m->state = MOUNT_UNCERTAIN;
    m = mount_of(&silent, "c");
    mount_unwant(m);
    assert_true(has_series(
        "volume_manager_total_volumes{plugin_name=\"test.io/counts\",state=\"actual_state_of_world\"} 1\n"
        "volume_manager_total_volumes{plugin_name=\"test.io/counts\",state=\"desired_state_of_world\"} 2\n"
        "volume_manager_total_volumes{plugin_name=\"test.io/silent\",state=\"actual_state_of_world\"} 1\n"
        "volume_manager_total_volumes{plugin_name=\"test.io/silent\",state=\"desired_state_of_world\"} 0\n"));
    hand_close();
}

/* Each once a minute, one after the other. */
TEST(asking_is_spread_over_the_minute)
{
    unsigned at_half;

    open_scene();
    for (unsigned i = 0; i < 6; i++) {
        char name[8];

        (void)snprintf(name, sizeof name, "c%u", i);
        (void)mount_of(&counts, name);
    }
    hand_pass(STATS_PERIOD_NS * 3);
    at_half = script.calls;
    assert_true(at_half >= 12 && at_half <= 18);
    for (unsigned i = 0; i < 6; i++) {
        hand_pass(STATS_PERIOD_NS / 6);
        assert_true(script.calls - at_half <= i + 2);
    }
    ASSERT_INT(at_half + 6, script.calls);
    hand_close();
}

/* Volumes that hang take the workers that are lent, and no more; the rest waits for them and goes on. */
TEST(volumes_that_hang_take_few_workers)
{
    open_scene();
    script.is_gated = true;
    (void)sem_init(&script.gate, 0, 0);
    (void)sem_init(&script.begun, 0, 0);
    for (unsigned i = 0; i < 5; i++) {
        char name[8];

        (void)snprintf(name, sizeof name, "c%u", i);
        (void)mount_of(&counts, name);
    }
    parts_pass_ns(&hand.w, 10 * STATS_PERIOD_NS);
    for (unsigned i = 0; i < STATS_JOBS_MAX; i++)
        (void)sem_wait(&script.begun);
    ASSERT_INT(STATS_JOBS_MAX, script.calls);
    script.is_gated = false; /* both have looked at it */
    for (unsigned i = 0; i < STATS_JOBS_MAX; i++)
        (void)sem_post(&script.gate);
    hand_rest();
    hand_pass(ROUND_NS);
    assert_true(has_series(OF("c4")));
    assert_true(has_series(OF("c0")));
    hand_close();
}

TEST(the_end_may_come_while_a_worker_asks)
{
    open_scene();
    script.is_gated = true;
    (void)sem_init(&script.gate, 0, 0);
    (void)mount_of(&counts, "db");
    parts_pass_ns(&hand.w, STATS_PERIOD_NS);
    hand.agent.stats = stats_free(hand.agent.stats);
    assert_false(has_series("kubelet_volume_stats")); /* nobody is asked any more */
    assert_false(has_series("volume_manager"));
    (void)sem_post(&script.gate);
    hand_rest();
    hand_close();
}

/* Of a device its size is known, and nothing else. */
TEST(block_volumes_have_a_size)
{
    struct test_dir *d;
    struct node_mount *m;
    char device[32];

    skip_without_private_mounts();
    d = mounts_dir_new();
    loop_device_new(d, "image", 3 * MIB, device);
    open_scene();
    m = mount_of(&raw, "disk");
    m->was_block = true;
    node_world_set_text(&m->path, device);
    hand_pass(ROUND_NS);
    assert_true(has_series("kubelet_volume_stats_capacity_bytes" OF("disk") "3145728\n"));
    assert_false(has_series("kubelet_volume_stats_used_bytes"));
    assert_non_null(strstr(json(), kind_row("'capacityBytes':3145728}")));
    hand_close();
    (void)mounts_dir_free(d);
}

static void write_word(void *ctx, struct buf *out)
{
    buf_addf(out, "{\"word\":\"%s\"}", (const char *)ctx);
}

TEST(the_server_shows_them_where_a_node_is)
{
    static char word[] = "yes";
    struct served w;

    served_init(&w);
    ASSERT_SENT(&w, 404, "GET", "/stats/volumes", NULL);
    ASSERT_SENT(&w, 200, "GET", "/", NULL);
    assert_null(strstr(buf_cstr(&w.text), "/stats"));
    w.server->pages = (struct apiserver_pages){ .write_stats = write_word, .ctx = word };
    ASSERT_SENT(&w, 200, "GET", "/stats/volumes", NULL);
    ASSERT_GOT(&w, "yes", "word");
    ASSERT_SENT(&w, 405, "DELETE", "/stats/volumes", NULL);
    ASSERT_SENT(&w, 404, "GET", "/stats", NULL);
    ASSERT_SENT(&w, 200, "GET", "/", NULL);
    assert_non_null(strstr(buf_cstr(&w.text), "\"/readyz\",\"/stats/volumes\",\"/version\""));
    served_done(&w);
}

TEST_MAIN()

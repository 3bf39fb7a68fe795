/* What the log says of waits: nothing of short ones, one warning of a long one. */
#include "tests/unit/test_node.h"

#include "base/log.h"

static struct {
    struct logger logger;
    struct buf text;
} kept;

static void keep_line(void *ctx, const char *line, size_t len)
{
    (void)ctx;
    buf_add(&kept.text, line, len);
}

static void open_bench(void)
{
    kept.text = BUF_INIT((size_t)16 << 20);
    bench_open();
    kept.logger = (struct logger){
        .level = LOG_LEVEL_DEBUG, .clock = &bench.w.served.clock.clock, .sink = keep_line, .ctx = NULL
    };
    log_install(&kept.logger);
}

static void close_bench(void)
{
    bench_close();
    log_install(NULL);
    buf_done(&kept.text);
}

/* How many lines of that level have the words; "" for any. */
static unsigned lines(const char *level, const char *words)
{
    unsigned found = 0;

    for (struct str rest = buf_str(&kept.text); rest.s && rest.len;) {
        struct str line = str_next(&rest, '\n');
        char copy[LOG_LINE_BYTES_MAX + 1];

        (void)snprintf(copy, sizeof copy, "%.*s", STR_ARG(line));
        found += strstr(copy, level) && strstr(copy, words);
    }
    return found;
}

/* A claim that nobody has bound yet. */
static void put_unbound_claim(const char *name)
{
    char body[512];

    (void)snprintf(body, sizeof body,
                   "{'metadata':{'name':'%s'},'spec':{'accessModes':['ReadWriteOnce'],'storageClassName':'',"
                   "'resources':{'requests':{'storage':'1Gi'}}}}",
                   name);
    ASSERT_SENT(&bench.w.served, 201, "POST", CLAIMS, body);
}

#define NOT_BOUND "error processing PVC default/c0: PVC is not bound"

/* Pods are there before their claims are bound: nobody is warned of what is over in a moment. */
TEST(short_waits_are_no_warnings)
{
    enum { COUNT = 20 };
    char name[32], body[512], path[128];

    open_bench();
    for (unsigned i = 0; i < COUNT; i++) {
        (void)snprintf(name, sizeof name, "c%u", i);
        put_unbound_claim(name);
        put_disk_pod(name, name, NULL);
    }
    pass(4);
    assert_true(lines(" DEBUG ", NOT_BOUND) > 0);
    for (unsigned i = 0; i < COUNT; i++) {
        char uid[64];

        (void)snprintf(path, sizeof path, CLAIMS "/c%u", i);
        (void)snprintf(body, sizeof body, "{'spec':{'volumeName':'c%u'}}", i);
        ASSERT_SENT(&bench.w.served, 200, "MERGE", path, body);
        (void)snprintf(uid, sizeof uid, "%s", got(&bench.w.served, "metadata/uid"));
        (void)snprintf(path, sizeof path, CLAIMS "/c%u/status", i);
        ASSERT_SENT(&bench.w.served, 200, "MERGE", path,
                    "{'status':{'phase':'Bound','capacity':{'storage':'1Gi'}}}");
        (void)snprintf(body, sizeof body,
                       "{'metadata':{'name':'c%u'},'spec':{'capacity':{'storage':'1Gi'},'accessModes':["
                       "'ReadWriteOnce'],'flexVolume':{'driver':'" DISK
                       "'},'claimRef':{'namespace':'default','name':'c%u','uid':'%s'}}}",
                       i, i, uid);
        ASSERT_SENT(&bench.w.served, 201, "POST", VOLUMES, body);
    }
    pass(20);
    ASSERT_THERE(&bench.w, "True", PODS "/c0", "status/conditions/0/status");
    ASSERT_INT(0, lines(" WARN ", ""));
    close_bench();
}

/* One warning for a cause that lasts, however often it is met again; another for another cause. */
TEST(long_wait_is_warned_of_once)
{
    open_bench();
    put_unbound_claim("c0");
    put_disk_pod("p", "c0", NULL);
    pass(9);
    ASSERT_INT(0, lines(" WARN ", ""));
    pass(2);
    ASSERT_INT(1, lines(" WARN still waiting pod=default/p ", NOT_BOUND));
    pass(60);
    ASSERT_INT(1, lines(" WARN ", ""));
    ASSERT_SENT(&bench.w.served, 200, "MERGE", CLAIMS "/c0/status", "{'status':{'phase':'Bound'}}");
    pass(30);
    ASSERT_INT(1, lines(" WARN still waiting pod=default/p ", "PVC has empty pvc.Spec.VolumeName"));
    ASSERT_INT(2, lines(" WARN ", ""));
    ASSERT_SENT(&bench.w.served, 200, "DELETE", PODS "/p", NULL);
    pass(30);
    ASSERT_INT(2, lines(" WARN ", "")); /* nobody waits any more */
    close_bench();
}

/* The same of a volume that is not attached, whether the controller has not begun or the status lags. */
TEST(wait_for_an_attachment_is_warned_of_once)
{
    disk.is_attachable = true;
    open_bench();
    put_disk("d", "1Gi", "");
    put_disk_pod("p", "d", NULL);
    pass(5);
    ASSERT_INT(0, lines(" WARN ", ""));
    assert_true(lines(" DEBUG waiting volume=" DISK "/d ", "the controller to attach it") > 0);
    pass(60);
    ASSERT_INT(1, lines(" WARN still waiting volume=" DISK "/d ", "the controller to attach it"));
    ASSERT_INT(1, lines(" WARN still waiting pod=default/p ", "unattached volumes=[v]"));
    ASSERT_INT(2, lines(" WARN ", ""));
    report_attached("d");
    pass(2);
    ASSERT_INT(1, lines(" INFO wait is over volume=" DISK "/d ", ""));
    ASSERT_INT(1, lines(" INFO wait is over pod=default/p ", ""));
    ASSERT_INT(2, lines(" WARN ", ""));
    close_bench();
}

TEST_MAIN()

/* How full volumes are: both forms of statistics, shares and sizes for people. */
#include "tests/unit/test_inventory.h"

#include "why/usage.h"

TEST(shares)
{
    static const struct {
        int64_t used, whole, percent;
    } rows[] = {
        { 0, 100, 0 },
        { 1, 100, 1 },
        { 1, 1000, 1 }, /* up: nothing that is used looks empty */
        { 999, 1000, 100 },
        { 50, 100, 50 },
        { 150, 100, 150 },
        { 5, 0, USAGE_UNKNOWN },
        { USAGE_UNKNOWN, 100, USAGE_UNKNOWN },
        { 5, USAGE_UNKNOWN, USAGE_UNKNOWN },
        { INT64_MAX, INT64_MAX, 99 },
        { INT64_MAX / 2, INT64_MAX, 49 },
        { INT64_MAX, 1, INT64_MAX },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (usage_percent(rows[i].used, rows[i].whole) != rows[i].percent)
            fail_msg("row %zu: %lld", i, (long long)usage_percent(rows[i].used, rows[i].whole));
}

TEST(sizes)
{
    static const struct {
        int64_t bytes;
        const char *text;
    } rows[] = {
        { USAGE_UNKNOWN, "-" },
        { 0, "0" },
        { 1023, "1023" },
        { 1024, "1Ki" },
        { 1536, "1.5Ki" },
        { 10 << 10, "10Ki" },
        { (10 << 10) + 600, "11Ki" },
        { (1 << 20) - 1, "1Mi" },
        { 1023 << 10, "1023Ki" },
        { 5 << 20, "5Mi" },
        { (int64_t)9 << 30, "9Gi" },
        { ((int64_t)99 << 28) + 1, "25Gi" },
        { (int64_t)3 << 40, "3Ti" },
        { (int64_t)7 << 50, "7Pi" },
        { INT64_MAX, "8Ei" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(buf_done_p) struct buf out = BUF_INIT(64);

        usage_write_bytes(rows[i].bytes, &out);
        ASSERT_STR(rows[i].text, buf_cstr(&out));
    }
}

TEST(statistics_of_berth)
{
    _cleanup_(usages_done_p) struct usages u = USAGES_INIT;
    const char *node = NULL;
    const struct volume_usage *x;

    ASSERT_OK(usages_read(
        &u,
        str_of(kind_row(
            "{'node':'n1','pods':[{'podRef':{'name':'web','namespace':'shop','uid':'1'},'volumes':["
            "{'name':'data','plugin':'kubernetes.io/local-volume','path':'/r/pods/1/v','claim':{'name':'db',"
            "'namespace':'shop'},'time':'" WORLD_MADE
            "','capacityBytes':100,'availableBytes':60,'usedBytes':40,"
            "'inodes':10,'inodesFree':7,'inodesUsed':3},"
            "{'name':'hung','plugin':'kubernetes.io/nfs','path':'/p','error':'no answer'}]}]}")),
        &node, &err));
    ASSERT_STR("n1", node);
    ASSERT_INT(2, u.items.count);
    x = &u.items.items[0];
    ASSERT_STR("shop", x->ns);
    ASSERT_STR("web", x->pod);
    ASSERT_STR("data", x->volume);
    ASSERT_STR("kubernetes.io/local-volume", x->plugin);
    ASSERT_STR("/r/pods/1/v", x->path);
    ASSERT_STR("n1", x->node);
    ASSERT_STR("shop", x->claim_ns);
    ASSERT_STR("db", x->claim);
    ASSERT_STR("", x->error);
    ASSERT_INT(100, x->capacity);
    ASSERT_INT(40, x->used);
    ASSERT_INT(60, x->available);
    ASSERT_INT(10, x->inodes);
    ASSERT_INT(3, x->inodes_used);
    ASSERT_INT(7, x->inodes_free);
    x = &u.items.items[1];
    ASSERT_STR("no answer", x->error);
    ASSERT_STR("", x->claim);
    ASSERT_INT(USAGE_UNKNOWN, x->capacity);
    ASSERT_INT(USAGE_UNKNOWN, x->inodes_free);
}

TEST(statistics_of_a_kubelet)
{
    _cleanup_(usages_done_p) struct usages u = USAGES_INIT;
    const char *node = NULL;

    ASSERT_OK(usages_read(
        &u,
        str_of(
            kind_row("{'node':{'nodeName':'n2','fs':{'usedBytes':1}},'pods':["
                     "{'podRef':{'name':'b','namespace':'shop'},'volume':[{'name':'z','usedBytes':1,"
                     "'capacityBytes':4,'pvcRef':{'name':'db','namespace':'shop'}},{'name':'y'}]},"
                     "{'podRef':{'name':'a','namespace':'shop'}},"
                     "{'podRef':{'name':'a','namespace':'park'},'volume':[{'name':'x','usedBytes':-5}]}]}")),
        &node, &err));
    usages_sort(&u);
    ASSERT_STR("n2", node);
    ASSERT_INT(3, u.items.count);
    ASSERT_STR("park", u.items.items[0].ns);
    ASSERT_INT(USAGE_UNKNOWN, u.items.items[0].used); /* no such number */
    ASSERT_STR("y", u.items.items[1].volume);
    ASSERT_STR("z", u.items.items[2].volume);
    ASSERT_STR("db", u.items.items[2].claim);
    ASSERT_STR("n2", u.items.items[2].node);
    ASSERT_INT(4, u.items.items[2].capacity);
}

TEST(answers_that_are_none)
{
    static const char *const rows[] = { "", "{", "no json" };
    static const char *const empty[] = { "{}", "[]", "null", "{'pods':7}",
                                         "{'pods':[7,null,{'volumes':[1]}]}" };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(usages_done_p) struct usages u = USAGES_INIT;
        const char *node = "as it was";

        ASSERT_ERR(ERR_BAD_REQUEST, usages_read(&u, str_of(rows[i]), &node, &err));
        ASSERT_STR("as it was", node);
    }
    for (size_t i = 0; i < ARRAY_LEN(empty); i++) {
        _cleanup_(usages_done_p) struct usages u = USAGES_INIT;
        const char *node = NULL;

        ASSERT_OK(usages_read(&u, str_of(kind_row(empty[i])), &node, &err));
        ASSERT_STR("", node);
        assert_true(u.items.count <= 1);
    }
}

TEST_MAIN()

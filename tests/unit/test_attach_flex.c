/* FlexVolume drivers attached by the controller: a cloud whose disks are at one node at a time, and scripts.
 */
#include "tests/unit/test_io.h"

#include "tests/unit/test_attach.h"

#include <sys/stat.h>

#include "io/file.h"
#include "plugins/flex/prober.h"

#define V "berth/cloud/v"
#define FLEX "'flexVolume':{'driver':'berth/cloud'}"

static struct test_dir drivers;
static bool drivers_hang; /* in init: nobody waits for them */

struct flex_part {
    struct attach *attach;
    struct flex_prober *prober;
    struct plugin_registry *registry;
    struct pool *pool;
};

static int flex_make(const struct component_deps *o, void **ret, struct error *e)
{
    struct flex_part *x = calloc(1, sizeof *x);
    struct attach_options options = attach_options;

    assert_non_null(x);
    assert_int_equal(pool_new(o->loop, 4, 1024, &x->pool, e), 0);
    assert_int_equal(
        flex_prober_new(o->loop, x->pool, drivers.path, true, &(struct host_tools){ 0 }, &x->prober, e), 0);
    if (!drivers_hang)
        pool_drain(x->pool); /* its drivers have answered */
    assert_int_equal(registry_new(plugins_attachable, flex_prober_of(x->prober), &x->registry, e), 0);
    options.part = *o;
    options.pool = x->pool;
    options.registry = x->registry;
    the_parts->pool = drivers_hang ? NULL : x->pool;
    *ret = x;
    return attach_new(&options, &x->attach, e);
}

static void flex_begin(void *part)
{
    attach_start(((struct flex_part *)part)->attach);
}

static void flex_end(void *part)
{
    struct flex_part *x = part;

    the_parts->pool = NULL;
    (void)attach_free(x->attach);
    (void)registry_free(x->registry);
    (void)flex_prober_free(x->prober);
    (void)pool_free(x->pool);
    free(x);
}

static const struct part_type flex_type = { flex_make, flex_begin, flex_end };

static void flex_init(struct parts *w)
{
    _cleanup_(buf_done_p) struct buf cloud_driver = BUF_INIT((size_t)256 << 20);

    drivers = test_dir_new();
    assert_int_equal(mkdir(in_dir(&drivers, "berth~cloud"), 0755), 0);
    ASSERT_OK(io_read_file(TEST_DRIVERS_DIR "/cloud", cloud_driver.len_max, &cloud_driver, &err));
    ASSERT_OK(io_replace_file(in_dir(&drivers, "berth~cloud/cloud"), cloud_driver.data, cloud_driver.len,
                              0755, &err));
    attach_options = (struct attach_options){ .sync_period_ns = ATTACH_SYNC_PERIOD_NS };
    parts_init(w, &flex_type);
}

static void flex_done(struct parts *w)
{
    parts_done(w);
    test_dir_done(&drivers);
}

/* A file of the cloud's. */
static const char *cloud(const char *name)
{
    static char text[1 << 16];
    FILE *f;
    size_t n;

    (void)snprintf(text, sizeof text, "berth~cloud/.cloud/%s", name);
    f = fopen(in_dir(&drivers, text), "re");
    n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    text[n] = '\0';
    if (f)
        (void)fclose(f);
    return text;
}

/* Which commands it was given, in their order, without those that only ask. */
static void assert_commands(const char *expected)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT((size_t)1 << 16);
    struct str rest = str_of(cloud("log"));

    while (rest.len) {
        struct str line = str_next(&rest, '\n'), command;

        (void)str_next(&line, ' ');
        (void)str_next(&line, ' ');
        command = str_next(&line, ' ');
        if (str_is(command, "attach") || str_is(command, "detach"))
            buf_addf(&out, "%.*s ", STR_ARG(command));
    }
    ASSERT_STR(expected, buf_cstr(&out));
}

/* After a restart the driver does not say yet whether it attaches: what is attached is not taken for
 * unwanted, also by the slow pass, and what really is goes when the driver has answered. */
TEST(attach_keeps_volumes_of_a_driver_that_has_not_answered)
{
    struct parts w;

    flex_init(&w);
    add_node(&w, "n1");
    add_pair(&w, "c", "v", RWO, FLEX);
    add_pair(&w, "c2", "v2", RWO, FLEX);
    add_pod(&w, "p", "n1", CLAIMED("d", "c"));
    add_pod(&w, "q", "n1", CLAIMED("d", "c2"));
    ASSERT_ATTACHED(&w, "n1", V " " V "2 ");
    process_kill(&w);
    ASSERT_OK(io_replace_file(in_dir(&drivers, "berth~cloud/.cloud/hold-init"), "", 0, 0644, &err));
    drivers_hang = true;
    process_start(&w);
    parts_rest(&w);
    drop_pod(&w, "q");
    pass_s(&w, 200);
    assert_commands("attach attach ");
    drivers_hang = false;
    assert_int_equal(unlink(in_dir(&drivers, "berth~cloud/.cloud/hold-init")), 0);
    w.pool = ((struct flex_part *)w.part)->pool;
    pass_s(&w, 1);
    assert_commands("attach attach detach ");
    ASSERT_STR("v n1\n", cloud("attached"));
    ASSERT_ATTACHED(&w, "n1", V " ");
    drop_pod(&w, "p");
    pass_s(&w, 1);
    assert_commands("attach attach detach detach ");
    flex_done(&w);
}

/* A pod moves: attach and detach never overlap, and the disk is at one node at a time. */
TEST(attach_moves_a_flex_volume)
{
    struct parts w;

    flex_init(&w);
    add_node(&w, "n1");
    add_node(&w, "n2");
    add_pair(&w, "c", "v", RWO, FLEX);
    add_pod(&w, "p", "n1", CLAIMED("d", "c"));
    ASSERT_ATTACHED(&w, "n1", V " ");
    assert_string_not_equal(got(&w.served, "status/volumesAttached/0/devicePath"), "");
    ASSERT_STR("v n1\n", cloud("attached"));
    set_in_use(&w, "n1", "'" V "'");
    add_pod(&w, "q", "n2", CLAIMED("d", "c"));
    drop_pod(&w, "p");
    pass_s(&w, 120);
    ASSERT_STR("v n1\n", cloud("attached"));
    set_in_use(&w, "n1", "");
    ASSERT_STR("v n2\n", cloud("attached"));
    ASSERT_ATTACHED(&w, "n1", "");
    ASSERT_ATTACHED(&w, "n2", V " ");
    assert_commands("attach detach attach ");
    ASSERT_STR("", cloud("violations"));
    flex_done(&w);
}

/* Verification finds out what was taken away behind everybody's back. */
TEST(attach_verifies_a_flex_volume)
{
    struct parts w;

    flex_init(&w);
    add_node(&w, "n1");
    add_pair(&w, "c", "v", RWO, FLEX);
    add_pod(&w, "p", "n1", CLAIMED("d", "c"));
    put_file(in_dir(&drivers, "berth~cloud/.cloud/attached"), "");
    pass_s(&w, 61);
    ASSERT_STR("v n1\n", cloud("attached"));
    assert_commands("attach attach ");
    flex_done(&w);
}

/* attach-31, and a driver that goes away and comes back. */
TEST(attach_lets_be_what_a_driver_cannot_tell)
{
    static const char script_text[] =
        "#!/bin/sh\ncase $1 in init|attach|detach) echo '{\"status\":\"Success\",\"device\":\"/dev/y\"}';; "
        "*) echo '{\"status\":\"Not supported\"}'; exit 1;; esac\n";
    struct parts w;

    flex_init(&w);
    assert_int_equal(mkdir(in_dir(&drivers, ".plain"), 0755), 0);
    put_file(in_dir(&drivers, ".plain/plain"), script_text);
    assert_int_equal(chmod(in_dir(&drivers, ".plain/plain"), 0755), 0);
    assert_int_equal(rename(in_dir(&drivers, ".plain"), in_dir(&drivers, "berth~plain")), 0);
    attach_restart(&w);
    add_node(&w, "n1");
    add_pair(&w, "c", "v", RWO, "'flexVolume':{'driver':'berth/plain'}");
    add_pod(&w, "p", "n1", CLAIMED("d", "c"));
    ASSERT_ATTACHED(&w, "n1", "berth/plain/v ");
    buf_clear(&w.log);
    pass_s(&w, 200);
    assert_asked(&w, "");
    ASSERT_ATTACHED(&w, "n1", "berth/plain/v ");
    /* Without its driver it cannot be detached, and stays reported; with it, it can. */
    set_in_use(&w, "n1", "");
    assert_int_equal(rename(in_dir(&drivers, "berth~plain"), in_dir(&drivers, ".plain")), 0);
    drop_pod(&w, "p");
    pass_s(&w, 200);
    ASSERT_ATTACHED(&w, "n1", "berth/plain/v ");
    assert_int_equal(rename(in_dir(&drivers, ".plain"), in_dir(&drivers, "berth~plain")), 0);
    pass_s(&w, 200);
    ASSERT_ATTACHED(&w, "n1", "");
    flex_done(&w);
}

/* A driver that goes while its volume is to be attached: nothing was done, and the pod is told. */
TEST(attach_tells_that_nobody_attaches_it_any_more)
{
    struct parts w;

    flex_init(&w);
    add_node(&w, "n1");
    add_pair(&w, "c", "v", RWO, FLEX);
    assert_true(mkdir(in_dir(&drivers, "berth~cloud/.cloud"), 0755) == 0 || errno == EEXIST);
    put_file(in_dir(&drivers, "berth~cloud/.cloud/fail-attach"), "no quota");
    add_pod(&w, "p", "n1", CLAIMED("d", "c"));
    assert_true(count_of(&w, "p", "FailedAttachVolume", NULL) > 0);
    assert_int_equal(rename(in_dir(&drivers, "berth~cloud"), in_dir(&drivers, ".away")), 0);
    pass_s(&w, 2);
    assert_true(
        count_of(&w, "p", "FailedAttachVolume",
                 "AttachVolume.FindAttachablePluginBySpec failed for volume \"v\" : plugin do not support "
                 "attachment") > 0);
    flex_done(&w);
}

/* {source, name}: nodes log in for themselves, and wait until they are told that they may. */
TEST(attach_tells_nodes_of_storage_networks)
{
    static const struct {
        const char *source;
        const char *name;
    } rows[] = {
        { "'iscsi':{'targetPortal':'10.0.0.1:3260','iqn':'iqn.2001-04.com.x:d','lun':2}",
          "kubernetes.io/iscsi/10.0.0.1:3260:iqn.2001-04.com.x:d:2 " },
        { "'iscsi':{'targetPortal':'10.0.0.1','iqn':'iqn.2001-04.com.x:d','lun':0}",
          "kubernetes.io/iscsi/10.0.0.1:iqn.2001-04.com.x:d:0 " },
        { "'fc':{'targetWWNs':['a1','b2'],'lun':3}", "kubernetes.io/fc/[a1 b2]:3 " },
        { "'fc':{'wwids':['c3','d4']}", "kubernetes.io/fc/[c3 d4] " },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct parts w;

        flex_init(&w);
        add_node(&w, "n1");
        add_pair(&w, "c", "v", RWO, rows[i].source);
        add_pod(&w, "p", "n1", CLAIMED("d", "c"));
        ASSERT_ATTACHED(&w, "n1", rows[i].name);
        pass_s(&w, 120); /* verified */
        ASSERT_ATTACHED(&w, "n1", rows[i].name);
        set_in_use(&w, "n1", "");
        drop_pod(&w, "p");
        ASSERT_ATTACHED(&w, "n1", "");
        flex_done(&w);
    }
}

/* Berth's agent mounts none of them, so that nobody is told of an attachment; kubelets wait for one. */
TEST(attach_leaves_alone_what_berths_nodes_cannot_mount)
{
    struct parts w;

    flex_init(&w);
    add_node(&w, "n1");
    add_node(&w, "n2");
    ASSERT_DID(&w, 200, "MERGE", NODES "/n1/status",
               "{'status':{'nodeInfo':{'kubeletVersion':'v1.36.4+berth.1.0.0'}}}");
    ASSERT_DID(&w, 200, "MERGE", NODES "/n2/status", "{'status':{'nodeInfo':{'kubeletVersion':'v1.36.4'}}}");
    add_pod(&w, "p", "n1", "{'name':'d','fc':{'wwids':['c3']}}");
    add_pod(&w, "q", "n2", "{'name':'d','fc':{'wwids':['c3']}}");
    ASSERT_ATTACHED(&w, "n2", "kubernetes.io/fc/[c3] ");
    pass_s(&w, 240);
    ASSERT_ATTACHED(&w, "n1", "");
    ASSERT_INT(0, count_of(&w, "p", "SuccessfulAttachVolume", NULL));
    flex_done(&w);
}

TEST_MAIN()

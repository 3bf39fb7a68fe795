/* Local volumes from discovery directories: real mounts and loop devices, in time that is moved by hand. */
#include "tests/unit/test_mounts.h"

#include "tests/unit/test_provisioner.h"

#include "base/log.h"
#include "controllers/local/local_int.h"
#include "host/device.h"
#include "io/file.h"

static struct test_dir *d;
static struct local_class classes[2];
static struct local_config config;
static char fast_dir[TEST_PATH_BYTES * 2], raw_dir[TEST_PATH_BYTES * 2], state_dir[TEST_PATH_BYTES * 2];
static const char *cleaner[4];

static int make(const struct component_deps *o, void **ret, struct error *e)
{
    struct local_options p = { .part = *o, .config = &config, .node_name = "n", .state_dir = state_dir };
    struct local *x = NULL;
    int r;

    pool_open(o);
    p.pool = the_pool;
    r = local_new(&p, &x, e);
    if (r == 0)
        *ret = x;
    return r;
}

static void start(void *part)
{
    local_start(part);
}

static void end(void *part)
{
    (void)local_free(part);
    the_pool = pool_free(the_pool);
}

static const struct part_type type = { make, start, end };

#define NODE "{'metadata':{'name':'n','labels':{'kubernetes.io/hostname':'host-n','zone':'z1','rack':'r'}}}"

static void put_classes(struct parts *w)
{
    ASSERT_SENT(&w->served, 201, "POST", CLASSES,
                "{'metadata':{'name':'fast'},'provisioner':'kubernetes.io/no-provisioner'}");
    ASSERT_SENT(&w->served, 201, "POST", CLASSES,
                "{'metadata':{'name':'raw'},'provisioner':'kubernetes.io/no-provisioner'}");
}

/* Directories, two classes, and the part; the node comes when it is put. */
static void begin(struct parts *w)
{
    d = mounts_dir_new();
    (void)snprintf(fast_dir, sizeof fast_dir, "%s/fast", d->path);
    (void)snprintf(raw_dir, sizeof raw_dir, "%s/raw", d->path);
    (void)snprintf(state_dir, sizeof state_dir, "%s/state/local", d->path);
    assert_int_equal(mkdir(fast_dir, 0755), 0);
    assert_int_equal(mkdir(raw_dir, 0755), 0);
    classes[0] = (struct local_class){ .name = "fast",
                                       .host_dir = "/mnt/fast",
                                       .mount_dir = fast_dir,
                                       .mode = VOLUME_MODE_FILESYSTEM,
                                       .access_mode = "ReadWriteOnce",
                                       .fs_type = "",
                                       .name_pattern = "*",
                                       .selector = "" };
    classes[1] = classes[0];
    classes[1].name = "raw";
    classes[1].host_dir = raw_dir;
    classes[1].mount_dir = raw_dir;
    classes[1].mode = VOLUME_MODE_BLOCK;
    config = (struct local_config){ .classes = classes, .classes_count = 2 };
    parts_init(w, &type);
    put_classes(w);
}

static void finish(struct parts *w)
{
    parts_done(w);
    d = mounts_dir_free(d);
}

static void put_node(struct parts *w)
{
    ASSERT_SENT(&w->served, 201, "POST", NODES, NODE);
}

static void mount_tmpfs(const char *name, const char *options)
{
    (void)mkdir(in_dir(d, name), 0755);
    assert_int_equal(mount("tmpfs", in_dir(d, name), "tmpfs", 0, options), 0);
}

static const char *path_of(const char *entry, const char *class)
{
    static char path[128];
    char name[LOCAL_NAME_BYTES];

    local_volume_name(entry, "n", class, name);
    (void)snprintf(path, sizeof path, VOLUMES "/%s", name);
    return path;
}

/* As the binder would leave it behind when its claim is gone. */
static void use_and_release(struct parts *w, const char *path)
{
    ASSERT_SENT(
        &w->served, 200, "MERGE", path,
        "{'metadata':{'finalizers':null},'spec':{'claimRef':{'namespace':'default','name':'c','uid':'u'}}}");
    release(w, path);
}

static bool is_there(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0;
}

/* --- Names and sizes --- */

TEST(local_names)
{
    static const struct {
        const char *entry, *node, *class, *name;
    } rows[] = {
        { "", "", "", "local-pv-811c9dc5" },
        { "a", "", "", "local-pv-e40c292c" },
        { "foo", "bar", "", "local-pv-bf9cf968" },
        { "f", "oob", "ar", "local-pv-bf9cf968" },
    };
    char name[LOCAL_NAME_BYTES];

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        local_volume_name(rows[i].entry, rows[i].node, rows[i].class, name);
        ASSERT_STR(rows[i].name, name);
    }
}

TEST(local_patterns)
{
    static const struct {
        const char *patterns, *name;
        bool matches;
    } rows[] = {
        { "*", "vol1", true },        { "*", ".hidden", true },   { "nvme*", "sda", false },
        { "nvme*,sd?", "sda", true }, { "sd[ab]", "sdc", false }, { " a , b ", "b", true },
        { "", "a", false },           { ",,", "a", false },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_int_equal(local_name_matches(rows[i].patterns, rows[i].name), rows[i].matches);
}

/* plugins-57: 10.9 GiB are 10 GiB */
TEST(local_capacities)
{
    static const uint64_t mib = 1 << 20, gib = 1 << 30;

    assert_true(local_round_capacity(10 * gib + gib * 9 / 10) == 10 * gib);
    assert_true(local_round_capacity(10 * gib - 1) == 10 * gib - mib);
    assert_true(local_round_capacity(10 * mib + 5) == 10 * mib);
    assert_true(local_round_capacity(10 * mib - 1) == 10 * mib - 1);
    assert_true(local_round_capacity(0) == 0);
}

/* --- Discovery --- */

/* plugins-56, plugins-57 */
TEST(local_discovers_what_is_mounted)
{
    skip_without_private_mounts();
    static const char *const node_labels[] = { "zone", "none" };
    static const struct kv labels[] = { { "disk", "ssd" } };
    struct parts w;

    begin(&w);
    config.node_labels = (struct texts){ node_labels, 2 };
    config.labels = (struct kvs){ labels, 1 };
    config.sets_owner = true;
    config.uses_node_name_only = true;
    classes[0].fs_type = "xfs";
    classes[0].selector = "{\"matchExpressions\":[{\"key\":\"zone\",\"operator\":\"Exists\"}]}";
    assert_int_equal(mkdir(in_dir(d, "fast/plain"), 0755), 0);
    put_file(in_dir(d, "fast/file"), "x");
    mount_tmpfs("fast/v2", "size=20m");
    put_node(&w);
    pass(&w, 10);
    ASSERT_THERE(&w, "20Mi", path_of("v2", "fast"), "spec/capacity/storage");
    ASSERT_GOT(&w.served, "/mnt/fast/v2", "spec/local/path");
    ASSERT_GOT(&w.served, "xfs", "spec/local/fsType");
    ASSERT_GOT(&w.served, "fast", "spec/storageClassName");
    ASSERT_GOT(&w.served, "Filesystem", "spec/volumeMode");
    ASSERT_GOT(&w.served, "Delete", "spec/persistentVolumeReclaimPolicy");
    ASSERT_GOT(&w.served, "['ReadWriteOnce']", "spec/accessModes");
    ASSERT_GOT(&w.served, "{'disk':'ssd','zone':'z1'}", "metadata/labels");
    ASSERT_GOT(&w.served,
               "{'pv.kubernetes.io/provisioned-by':'local-volume-provisioner-n',"
               "'volumes.berth.io/disk':'mount:tmpfs:tmpfs','volumes.berth.io/disk-capacity':'20Mi'}",
               "metadata/annotations");
    ASSERT_GOT(&w.served, "Node", "metadata/ownerReferences/0/kind");
    ASSERT_GOT(&w.served,
               "[{'matchExpressions':[{'key':'kubernetes.io/hostname','operator':'In','values':['host-n']}]},"
               "{'matchExpressions':[{'key':'zone','operator':'Exists'}]}]",
               "spec/nodeAffinity/required/nodeSelectorTerms");
    ASSERT_GONE(&w, path_of("plain", "fast"));
    ASSERT_GONE(&w, path_of("file", "fast"));
    mount_tmpfs("fast/plain", "size=11161m"); /* 10.9 GiB */
    pass(&w, 10);
    ASSERT_THERE(&w, "10Gi", path_of("plain", "fast"), "spec/capacity/storage");
    finish(&w);
}

/* Heard of at once: a look every ten seconds is not what finds it. */
TEST(local_hears_of_mounts_and_links)
{
    skip_without_private_mounts();
    char device[32];
    struct parts w;

    begin(&w);
    loop_device_new(d, "disk", 16 << 20, device);
    assert_int_equal(mkdir(in_dir(d, "fast/v1"), 0755), 0);
    put_node(&w);
    pass(&w, 12);
    mount_tmpfs("fast/v1", "size=20m");
    pass(&w, 1);
    ASSERT_SENT(&w.served, 200, "GET", path_of("v1", "fast"), NULL);
    pass(&w, 5);
    assert_int_equal(symlink(device, in_dir(d, "raw/x")), 0);
    pass(&w, 1);
    ASSERT_SENT(&w.served, 200, "GET", path_of("x", "raw"), NULL);
    finish(&w);
}

/* A class that comes after its entries does not wait for the next pass. */
TEST(local_hears_of_classes)
{
    skip_without_private_mounts();
    struct parts w;

    begin(&w);
    ASSERT_SENT(&w.served, 200, "DELETE", CLASSES "/fast", NULL);
    mount_tmpfs("fast/v1", "size=20m");
    put_node(&w);
    pass(&w, 12);
    ASSERT_GONE(&w, path_of("v1", "fast"));
    ASSERT_SENT(&w.served, 201, "POST", CLASSES,
                "{'metadata':{'name':'fast'},'provisioner':'kubernetes.io/no-provisioner'}");
    pass(&w, 1);
    ASSERT_SENT(&w.served, 200, "GET", path_of("v1", "fast"), NULL);
    finish(&w);
}

TEST(local_waits_for_its_node)
{
    skip_without_private_mounts();
    struct parts w;

    begin(&w);
    mount_tmpfs("fast/v1", "size=20m");
    pass(&w, 30);
    assert_asked(&w, "");
    ASSERT_SENT(&w.served, 201, "POST", NODES, "{'metadata':{'name':'n'}}");
    pass(&w, 30);
    assert_asked(&w, ""); /* no label to name it by */
    ASSERT_SENT(&w.served, 200, "MERGE", NODES "/n",
                "{'metadata':{'labels':{'kubernetes.io/hostname':'host-n'}}}");
    pass(&w, 12);
    ASSERT_SENT(&w.served, 200, "GET", path_of("v1", "fast"), NULL);
    finish(&w);
}

/* The start-up taint goes when what is there has become volumes; others stay. */
TEST(local_removes_the_taint)
{
    skip_without_private_mounts();
    struct parts w;

    begin(&w);
    config.ready_taint = "not-ready";
    mount_tmpfs("fast/v1", "size=20m");
    ASSERT_SENT(&w.served, 201, "POST", NODES,
                "{'metadata':{'name':'n','labels':{'kubernetes.io/hostname':'host-n'}},'spec':{'taints':["
                "{'key':'not-ready','effect':'NoSchedule'},{'key':'other','value':'x','effect':'NoExecute'},"
                "{'key':'not-ready','effect':'NoExecute'}]}}");
    pass(&w, 12);
    ASSERT_SENT(&w.served, 200, "GET", path_of("v1", "fast"), NULL);
    ASSERT_THERE(&w, "x", NODES "/n", "spec/taints/0/value");
    ASSERT_GOT(&w.served, "-", "spec/taints/1");
    /* Once: who puts it there again means it. */
    ASSERT_SENT(&w.served, 200, "MERGE", NODES "/n",
                "{'spec':{'taints':[{'key':'not-ready','effect':'NoSchedule'}]}}");
    pass(&w, 30);
    ASSERT_THERE(&w, "not-ready", NODES "/n", "spec/taints/0/key");
    finish(&w);
}

TEST(local_skips)
{
    skip_without_private_mounts();
    struct parts w;

    begin(&w);
    classes[0].name_pattern = "v*";
    mount_tmpfs("fast/x1", "size=20m");
    mount_tmpfs("fast/v1", "size=20m");
    mount_tmpfs("fast/v2", "size=20m");
    mount_tmpfs("fast/v\xff", "size=20m");
    mount_tmpfs("raw/dir", "size=20m");
    /* Somebody's volume on this node has the path; the other is on another. */
    ASSERT_SENT(&w.served, 201, "POST", VOLUMES,
                "{'metadata':{'name':'a'},'spec':{'capacity':{'storage':'1Gi'},'accessModes':["
                "'ReadWriteOnce'],'local':{'path':'/mnt/fast/v1'},'nodeAffinity':{'required':{"
                "'nodeSelectorTerms':[{'matchExpressions':[{'key':'kubernetes.io/hostname','operator':'In',"
                "'values':['host-n']}]}]}}}}");
    ASSERT_SENT(&w.served, 201, "POST", VOLUMES,
                "{'metadata':{'name':'b'},'spec':{'capacity':{'storage':'1Gi'},'accessModes':["
                "'ReadWriteOnce'],'local':{'path':'/mnt/fast/v2'},'nodeAffinity':{'required':{"
                "'nodeSelectorTerms':[{'matchExpressions':[{'key':'kubernetes.io/hostname','operator':'In',"
                "'values':['host-m']}]}]}}}}");
    put_node(&w);
    pass(&w, 20);
    ASSERT_GONE(&w, path_of("v1", "fast"));
    ASSERT_GONE(&w, path_of("x1", "fast"));
    ASSERT_GONE(&w, path_of("dir", "raw"));
    ASSERT_SENT(&w.served, 200, "GET", path_of("v2", "fast"), NULL);
    ASSERT_SENT(&w.served, 200, "GET", VOLUMES, NULL);
    ASSERT_INT(3, got_items(&w.served));
    finish(&w);
}

/* --- Cleaning --- */

static void released_fs(struct parts *w)
{
    put_node(w);
    mount_tmpfs("fast/v1", "size=20m");
    put_file(in_dir(d, "fast/v1/data"), "x");
    assert_int_equal(mkdir(in_dir(d, "fast/v1/sub"), 0755), 0);
    put_file(in_dir(d, "fast/v1/sub/data"), "x");
    pass(w, 10);
    use_and_release(w, path_of("v1", "fast"));
}

/* plugins-57 */
TEST(local_cleans_and_offers_anew)
{
    skip_without_private_mounts();
    struct parts w;
    char uid[64];

    begin(&w);
    released_fs(&w);
    (void)snprintf(uid, sizeof uid, "%s", got(&w.served, "metadata/uid"));
    pass(&w, 10);
    assert_false(is_there(in_dir(d, "fast/v1/data")));
    assert_false(is_there(in_dir(d, "fast/v1/sub")));
    ASSERT_THERE(&w, "-", path_of("v1", "fast"), "spec/claimRef");
    assert_string_not_equal(uid, got(&w.served, "metadata/uid"));
    ASSERT_EVENT(&w, "Normal", "VolumeDeleted", "Volume deleted");
    finish(&w);
}

/* Nothing is erased that may be wanted, and nothing that is in use. */
TEST(local_erases_nothing_in_use)
{
    skip_without_private_mounts();
    char message[512], name[LOCAL_NAME_BYTES];
    struct parts w;

    begin(&w);
    put_node(&w);
    mount_tmpfs("fast/v1", "size=20m");
    put_file(in_dir(d, "fast/v1/data"), "x");
    pass(&w, 10);
    mount_tmpfs("fast/v1/sub", "size=20m");
    use_and_release(&w, path_of("v1", "fast"));
    pass(&w, 1);
    assert_true(is_there(in_dir(d, "fast/v1/data")));
    local_volume_name("v1", "n", "fast", name);
    ASSERT_SENT(&w.served, 200, "GET", EVENTS, NULL);
    (void)snprintf(message, sizeof message, "Error cleaning PV \"%s\": ", name);
    assert_non_null(strstr(buf_cstr(&w.served.text), "VolumeFailedDelete"));
    /* It is tried again, later and later. */
    assert_int_equal(umount(in_dir(d, "fast/v1/sub")), 0);
    pass(&w, 30);
    assert_false(is_there(in_dir(d, "fast/v1/data")));
    finish(&w);
}

/* Another volume has a directory in it, or the same one by another name; and the node is not the one that the
 * volume is pinned to. */
TEST(local_erases_nothing_of_another_volume)
{
    static const char *const rows[][2] = { { "", "contains the path of volume" },
                                           { "/sub", "contains the path of volume" } };

    skip_without_private_mounts();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char body[1024];
        struct parts w;

        begin(&w);
        put_node(&w);
        mount_tmpfs("fast/v1", "size=20m");
        put_file(in_dir(d, "fast/v1/data"), "x");
        assert_int_equal(mkdir(in_dir(d, "fast/v1/sub"), 0755), 0);
        assert_int_equal(symlink("fast/v1", in_dir(d, "link")), 0);
        (void)snprintf(body, sizeof body,
                       "{'metadata':{'name':'other','finalizers':null},'spec':{'capacity':{'storage':'1Gi'},"
                       "'accessModes':['ReadWriteOnce'],'hostPath':{'path':'%s/link/sub%s'}}}",
                       d->path, rows[i][0]);
        ASSERT_SENT(&w.served, 201, "POST", VOLUMES, body);
        assert_int_equal(mkdir(in_dir(d, "fast/v1/sub/sub"), 0755), 0);
        pass(&w, 10);
        use_and_release(&w, path_of("v1", "fast"));
        pass(&w, 30);
        assert_true(is_there(in_dir(d, "fast/v1/data")));
        ASSERT_SENT(&w.served, 200, "GET", EVENTS, NULL);
        assert_non_null(strstr(buf_cstr(&w.served.text), rows[i][1]));
        finish(&w);
    }
}

TEST(local_erases_nothing_of_another_node)
{
    skip_without_private_mounts();
    struct parts w;

    begin(&w);
    released_fs(&w);
    ASSERT_SENT(&w.served, 200, "MERGE", "/api/v1/nodes/n",
                "{'metadata':{'labels':{'kubernetes.io/hostname':'x'}}}");
    pass(&w, 30);
    assert_true(is_there(in_dir(d, "fast/v1/data")));
    ASSERT_SENT(&w.served, 200, "GET", EVENTS, NULL);
    assert_non_null(strstr(buf_cstr(&w.served.text), "its data is on another machine"));
    finish(&w);
}

/* The mount is gone: what is below it belongs to somebody else. */
TEST(local_erases_no_other_file_system)
{
    skip_without_private_mounts();
    struct parts w;

    begin(&w);
    released_fs(&w);
    assert_int_equal(umount(in_dir(d, "fast/v1")), 0);
    put_file(in_dir(d, "fast/v1/precious"), "x");
    pass(&w, 60);
    assert_true(is_there(in_dir(d, "fast/v1/precious")));
    ASSERT_SENT(&w.served, 200, "GET", path_of("v1", "fast"), NULL);
    finish(&w);
}

static void check_kept(const char *how)
{
    struct parts w;

    begin(&w);
    released_fs(&w);
    ASSERT_SENT(&w.served, 200, "MERGE", path_of("v1", "fast"), how);
    pass(&w, 60);
    assert_true(is_there(in_dir(d, "fast/v1/data")));
    finish(&w);
}

TEST(local_keeps_what_it_must)
{
    skip_without_private_mounts();
    check_kept("{'spec':{'persistentVolumeReclaimPolicy':'Retain'}}");
    check_kept("{'spec':{'persistentVolumeReclaimPolicy':'Recycle'}}");
    check_kept("{'metadata':{'annotations':{'pv.kubernetes.io/provisioned-by':'somebody'}}}");
    check_kept("{'spec':{'claimRef':null}}");
}

/* The claim is still there, whatever the phase says. */
TEST(local_asks_for_the_claim)
{
    skip_without_private_mounts();
    char uid[64], body[256];
    struct parts w;

    begin(&w);
    put_node(&w);
    mount_tmpfs("fast/v1", "size=20m");
    put_file(in_dir(d, "fast/v1/data"), "x");
    pass(&w, 10);
    ASSERT_SENT(&w.served, 201, "POST", CLAIMS, "{'metadata':{'name':'c'}," CLAIM_SPEC "}");
    (void)snprintf(uid, sizeof uid, "%s", got(&w.served, "metadata/uid"));
    (void)snprintf(body, sizeof body, "{'spec':{'claimRef':{'namespace':'default','name':'c','uid':'%s'}}}",
                   uid);
    ASSERT_SENT(&w.served, 200, "MERGE", path_of("v1", "fast"), body);
    release(&w, path_of("v1", "fast"));
    pass(&w, 60);
    assert_true(is_there(in_dir(d, "fast/v1/data")));
    drop_claim(&w, CLAIMS "/c");
    pass(&w, 400);
    assert_false(is_there(in_dir(d, "fast/v1/data")));
    finish(&w);
}

/* --- Devices --- */

static bool device_is_blank(const char *device)
{
    static char bytes[1 << 20];
    int fd = open(device, O_RDONLY | O_CLOEXEC);
    ssize_t n;
    bool is_blank = true;

    assert_true(fd >= 0);
    while ((n = read(fd, bytes, sizeof bytes)) > 0)
        for (ssize_t i = 0; i < n; i++)
            is_blank = is_blank && bytes[i] == 0;
    (void)close(fd);
    return is_blank;
}

/* A device with something in its middle, behind a link; released. */
static void released_device(struct parts *w, char device[32])
{
    loop_device_new(d, "disk", 16 << 20, device);
    sh("dd if=/dev/zero bs=1M count=16 2>/dev/null | tr '\\0' x > %s", device);
    sh("mkfs.ext4 -q %s", device);
    assert_int_equal(symlink(device, in_dir(d, "raw/uuid-1")), 0);
    put_node(w);
    pass(w, 12);
    ASSERT_THERE(w, "16Mi", path_of("uuid-1", "raw"), "spec/capacity/storage");
    ASSERT_GOT(&w->served, "Block", "spec/volumeMode");
    use_and_release(w, path_of("uuid-1", "raw"));
}

static void use_cleaner(const char *path, const char *arg)
{
    cleaner[0] = path;
    cleaner[1] = arg;
    classes[1].cleaner = (struct texts){ cleaner, arg ? 2 : 1 };
}

TEST(local_wipes_devices)
{
    skip_without_private_mounts();
    static const struct {
        const char *path, *arg;
        bool is_blank;
    } rows[] = {
        { NULL, NULL, false },
        { "/scripts/quick_reset.sh", NULL, false },
        { "/scripts/dd_zero.sh", "2", true },
        { "/scripts/shred.sh", "1", false },
        { "/scripts/blkdiscard.sh", NULL, true },
    };
    char device[32], message[256], name[LOCAL_NAME_BYTES], format[DEVICE_FORMAT_BYTES];

    local_volume_name("uuid-1", "n", "raw", name);
    (void)snprintf(message, sizeof message, "Starting cleanup of Block PV \"%s\", this may take a while",
                   name);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct parts w;

        begin(&w);
        if (rows[i].path)
            use_cleaner(rows[i].path, rows[i].arg);
        released_device(&w, device);
        pass(&w, 5);
        ASSERT_EVENT(&w, "Normal", "VolumeDelete", message);
        ASSERT_THERE(&w, "-", path_of("uuid-1", "raw"), "spec/claimRef");
        ASSERT_OK(device_probe(device, format, &err));
        ASSERT_STR("", format);
        assert_int_equal(device_is_blank(device), rows[i].is_blank);
        finish(&w);
    }
}

TEST(local_runs_a_cleaner)
{
    skip_without_private_mounts();
    char device[32], script[TEST_PATH_BYTES * 2], expected[64];
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(100);
    struct parts w;

    begin(&w);
    (void)snprintf(script, sizeof script, "%s", in_dir(d, "cleaner"));
    put_file(script, "#!/bin/sh\necho \"$LOCAL_PV_BLKDEVICE\" > \"$1\"\n");
    assert_int_equal(chmod(script, 0755), 0);
    use_cleaner(script, in_dir(d, "seen"));
    released_device(&w, device);
    pass(&w, 5);
    ASSERT_THERE(&w, "-", path_of("uuid-1", "raw"), "spec/claimRef");
    ASSERT_OK(io_read_file(in_dir(d, "seen"), 100, &text, &err));
    (void)snprintf(expected, sizeof expected, "%s\n", device);
    ASSERT_STR(expected, buf_cstr(&text));
    finish(&w);
}

static struct buf logged = BUF_INIT((size_t)16 << 20);

static void on_log(void *ctx, const char *line, size_t len)
{
    (void)ctx;
    buf_add(&logged, line, len);
}

/* The metric of the wipe is there, between 0 and 1, and no other's. */
static bool has_wipe_metric(const struct parts *w, const char *volume)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT((size_t)16 << 20);
    char head[128];
    const char *at;
    double ratio;

    metrics_write(w->metrics, &text);
    (void)snprintf(head, sizeof head, "berth_local_wipe_progress_ratio{volume=\"%s\"} ", volume);
    at = strstr(buf_cstr(&text), head);
    if (!at) {
        assert_null(strstr(buf_cstr(&text), "wipe_progress_ratio{"));
        return false;
    }
    ratio = strtod(at + strlen(head), NULL);
    assert_true(ratio >= 0 && ratio <= 1);
    return true;
}

/* How far it is is told; and when the process ends, the next one goes on from there. */
TEST(local_goes_on_with_a_wipe)
{
    skip_without_private_mounts();
    struct logger logger = { .level = LOG_LEVEL_INFO, .sink = on_log };
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(512);
    char device[32], name[LOCAL_NAME_BYTES], state[TEST_PATH_BYTES * 3];
    bool is_told = false;
    struct parts w;

    begin(&w);
    logger.clock = &w.served.clock.clock;
    log_install(&logger);
    local_volume_name("uuid-1", "n", "raw", name);
    use_cleaner("/scripts/dd_zero.sh", "100");
    released_device(&w, device);
    for (unsigned i = 0; i < 10000 && !is_told; i++) { /* a worker is at it meanwhile */
        parts_pass_ns(&w, 10 * NS_PER_S);
        ASSERT_SENT(&w.served, 200, "GET", EVENTS, NULL);
        is_told = strstr(buf_cstr(&w.served.text), "Cleanup of Block PV") &&
                  strstr(buf_cstr(&logged), "seconds_left=");
    }
    log_install(NULL);
    assert_true(is_told);
    assert_non_null(strstr(buf_cstr(&logged), " percent="));
    assert_non_null(strstr(buf_cstr(&logged), " mib_per_second="));
    assert_true(has_wipe_metric(&w, name));
    buf_done(&logged);
    (void)snprintf(state, sizeof state, "%s/%s", state_dir, name);
    (void)signal(SIGALRM, test_on_deadline);
    (void)alarm(TEST_DEADLINE_S);
    while (!is_there(state)) /* the first position */
        (void)sched_yield();
    (void)alarm(0);
    process_kill(&w);
    ASSERT_OK(io_read_file(state, 512, &text, &err));
    assert_non_null(strstr(buf_cstr(&text), "/u 16777216 "));
    assert_null(strstr(buf_cstr(&text), " 100 0\n"));
    process_start(&w);
    pass(&w, 12);
    ASSERT_THERE(&w, "-", path_of("uuid-1", "raw"), "spec/claimRef");
    assert_true(device_is_blank(device));
    assert_false(has_wipe_metric(&w, name));
    ASSERT_OK(io_read_file(state, 512, &text, &err));
    assert_non_null(strstr(buf_cstr(&text), " 100 0\n"));
    finish(&w);
}

/* By whatever name: the link here, the device itself there. */
TEST(local_wipes_no_device_of_another_volume)
{
    skip_without_private_mounts();
    char device[32], body[1024];
    struct parts w;

    begin(&w);
    released_device(&w, device);
    (void)snprintf(body, sizeof body,
                   "{'metadata':{'name':'other','finalizers':null},'spec':{'capacity':{'storage':'1Gi'},"
                   "'accessModes':['ReadWriteOnce'],'hostPath':{'path':'%s'}}}",
                   device);
    ASSERT_SENT(&w.served, 201, "POST", VOLUMES, body);
    pass(&w, 30);
    assert_false(device_is_blank(device));
    ASSERT_SENT(&w.served, 200, "GET", path_of("uuid-1", "raw"), NULL);
    ASSERT_SENT(&w.served, 200, "GET", EVENTS, NULL);
    assert_non_null(strstr(buf_cstr(&w.served.text), "is also the path of volume \\\"other\\\""));
    finish(&w);
}

/* A device that is mounted is left alone. */
TEST(local_wipes_no_device_in_use)
{
    skip_without_private_mounts();
    char device[32], format[DEVICE_FORMAT_BYTES];
    struct parts w;

    begin(&w);
    loop_device_new(d, "disk", 16 << 20, device);
    sh("mkfs.ext4 -q %s", device);
    assert_int_equal(symlink(device, in_dir(d, "raw/uuid-1")), 0);
    put_node(&w);
    pass(&w, 12);
    assert_int_equal(mkdir(in_dir(d, "m"), 0755), 0);
    assert_int_equal(mount(device, in_dir(d, "m"), "ext4", 0, NULL), 0);
    use_and_release(&w, path_of("uuid-1", "raw"));
    pass(&w, 20);
    ASSERT_OK(device_probe(device, format, &err));
    ASSERT_STR("ext4", format);
    assert_int_equal(umount(in_dir(d, "m")), 0);
    pass(&w, 60);
    ASSERT_OK(device_probe(device, format, &err));
    ASSERT_STR("", format);
    finish(&w);
}

/* A directory in the place of a device, for a volume of the other mode. */
TEST(local_erases_nothing_of_another_kind)
{
    skip_without_private_mounts();
    char device[32];
    struct parts w;

    begin(&w);
    loop_device_new(d, "disk", 16 << 20, device);
    assert_int_equal(symlink(device, in_dir(d, "raw/uuid-1")), 0);
    put_node(&w);
    pass(&w, 12);
    assert_int_equal(unlink(in_dir(d, "raw/uuid-1")), 0);
    mount_tmpfs("raw/uuid-1", "size=20m");
    put_file(in_dir(d, "raw/uuid-1/data"), "x");
    use_and_release(&w, path_of("uuid-1", "raw"));
    pass(&w, 60);
    assert_true(is_there(in_dir(d, "raw/uuid-1/data")));
    finish(&w);
}

/* --- Disks that go, come and grow --- */

static const char *annotation(struct parts *w, const char *path, const char *key)
{
    static char value[1024];
    struct str text;

    ASSERT_SENT(&w->served, 200, "GET", path, NULL);
    text = json_get_text(&w->served.doc, json_path(&w->served.doc, w->served.root, "metadata", "annotations"),
                         key);
    (void)snprintf(value, sizeof value, "%.*s", (int)text.len, text.len ? text.s : "");
    return value[0] ? value : "-";
}
#define ASSERT_ANNOTATION(w, expected, path, key) ASSERT_STR(expected, annotation(w, path, key))

TEST(local_owners)
{
#define UID1 "11111111-1111-4111-8111-111111111111"
#define UID2 "22222222-2222-4222-8222-222222222222"
    static const struct {
        const char *by, *node, *identity;
        enum local_owner owner;
    } rows[] = {
        { "n-" UID1, "n", "n-" UID1, LOCAL_OWNER_THIS },
        { "n-" UID1, "n", "n-" UID2, LOCAL_OWNER_EARLIER },
        { "n", "n", "n", LOCAL_OWNER_THIS },
        { "n", "n", "n-" UID1, LOCAL_OWNER_EARLIER }, /* useNodeNameOnly was set */
        { "n-" UID1, "n", "n", LOCAL_OWNER_EARLIER }, /* and now it is */
        { "n-" UID1, "n", "", LOCAL_OWNER_NONE },
        { "nn", "n", "n", LOCAL_OWNER_NONE },
        { "n-1", "n", "n", LOCAL_OWNER_NONE },
        { "n-1-" UID1, "n", "n-" UID1, LOCAL_OWNER_NONE },
        { "n-" UID1 "x", "n", "n-" UID1, LOCAL_OWNER_NONE },
        { "m-" UID1, "n", "n-" UID1, LOCAL_OWNER_NONE },
        { "", "n", "n-" UID1, LOCAL_OWNER_NONE },
        { NULL, "n", "n-" UID1, LOCAL_OWNER_NONE },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char by[256] = "", identity[256] = "";
        const struct kv annotation = { ANN_PROVISIONED_BY, by };
        struct volume v = { .obj.annotations = { &annotation, rows[i].by ? 1 : 0 } };

        (void)snprintf(by, sizeof by, LOCAL_PROVISIONER "%s", rows[i].by ? rows[i].by : "");
        if (rows[i].identity[0])
            (void)snprintf(identity, sizeof identity, LOCAL_PROVISIONER "%s", rows[i].identity);
        assert_int_equal(local_owner_of(&v, rows[i].node, identity), rows[i].owner);
    }
}

/* A file system of its own on a new disk, mounted; its UUID is told. */
static void mount_disk(const char *name, const char *disk, const char *uuid, unsigned mib)
{
    char device[32];

    loop_device_new(d, disk, (off_t)mib << 20, device);
    sh("mkfs.ext4 -q -m0 -U %s %s", uuid, device);
    (void)mkdir(in_dir(d, name), 0755);
    assert_int_equal(mount(device, in_dir(d, name), "ext4", 0, NULL), 0);
}

static void use(struct parts *w, const char *path)
{
    ASSERT_SENT(&w->served, 200, "MERGE", path,
                "{'spec':{'claimRef':{'namespace':'default','name':'c','uid':'u'}}}");
}

static void assert_event(struct parts *w, const char *reason, const char *words)
{
    ASSERT_SENT(&w->served, 200, "GET", EVENTS, NULL);
    assert_non_null(strstr(buf_cstr(&w->served.text), reason));
    assert_non_null(strstr(buf_cstr(&w->served.text), words));
}

static void register_again(struct parts *w)
{
    ASSERT_SENT(&w->served, 200, "DELETE", NODES "/n", NULL);
    pass(w, 12);
    put_node(w);
    pass(w, 12);
}

static void get_text(struct parts *w, const char *path, const char *field, char ret[256])
{
    ASSERT_SENT(&w->served, 200, "GET", path, NULL);
    (void)snprintf(ret, 256, "%s", got(&w->served, field));
}

/* The node was registered again under its name: its volumes are its own, and are cleaned. */
TEST(local_takes_over_after_registration)
{
    skip_without_private_mounts();
    char before[256], after[256];
    struct parts w;

    begin(&w);
    put_node(&w);
    mount_disk("fast/v1", "disk", UID1, 16);
    mount_tmpfs("fast/v2", "size=20m");
    pass(&w, 10);
    ASSERT_ANNOTATION(&w, "uuid:" UID1, path_of("v1", "fast"), ANN_DISK);
    use_and_release(&w, path_of("v1", "fast"));
    put_file(in_dir(d, "fast/v1/data"), "x");
    get_text(&w, path_of("v2", "fast"), "metadata/uid", before);
    register_again(&w);
    pass(&w, 20);
    assert_false(is_there(in_dir(d, "fast/v1/data")));
    ASSERT_THERE(&w, "-", path_of("v1", "fast"), "spec/claimRef");
    /* A free one is the same object, with the new identity. */
    get_text(&w, path_of("v2", "fast"), "metadata/uid", after);
    ASSERT_STR(before, after);
    (void)snprintf(before, sizeof before, "%s", annotation(&w, path_of("v1", "fast"), ANN_PROVISIONED_BY));
    ASSERT_ANNOTATION(&w, before, path_of("v2", "fast"), ANN_PROVISIONED_BY);
    assert_event(&w, "VolumeAdopted", "node n was registered again with the same disk");
    config.uses_node_name_only = true; /* as after a change of the settings */
    pass(&w, 12);
    ASSERT_ANNOTATION(&w, "local-volume-provisioner-n", path_of("v2", "fast"), ANN_PROVISIONED_BY);
    finish(&w);
}

/* Volumes without a record: what is there must be large enough. */
TEST(local_takes_over_older_volumes)
{
    skip_without_private_mounts();
    struct parts w;

    begin(&w);
    put_node(&w);
    mount_tmpfs("fast/v1", "size=20m");
    mount_tmpfs("fast/v2", "size=20m");
    pass(&w, 10);
    for (unsigned i = 1; i <= 2; i++) {
        char name[8];

        (void)snprintf(name, sizeof name, "v%u", i);
        ASSERT_SENT(&w.served, 200, "MERGE", path_of(name, "fast"),
                    "{'metadata':{'annotations':{'pv.kubernetes.io/provisioned-by':"
                    "'local-volume-provisioner-n-" UID1 "','volumes.berth.io/disk':null,"
                    "'volumes.berth.io/disk-capacity':null}},"
                    "'spec':{'claimRef':{'namespace':'default','name':'c','uid':'u'}}}");
    }
    ASSERT_SENT(&w.served, 200, "MERGE", path_of("v2", "fast"), "{'spec':{'capacity':{'storage':'30Mi'}}}");
    pass(&w, 12);
    ASSERT_ANNOTATION(&w, "mount:tmpfs:tmpfs", path_of("v1", "fast"), ANN_DISK);
    ASSERT_ANNOTATION(&w, "-", path_of("v2", "fast"), ANN_DISK);
    ASSERT_ANNOTATION(&w,
                      "the disk at /mnt/fast/v2 is smaller than the volume, which node n created before it "
                      "was registered again",
                      path_of("v2", "fast"), ANN_DISK_PROBLEM);
    assert_event(&w, "DiskReplaced", "is smaller than the volume");
    finish(&w);
}

/* Neither another node's volume, nor one that this node would not create, nor a path that is none of its. */
TEST(local_takes_over_nothing_else)
{
    static const char *const rows[] = {
        "{'metadata':{'annotations':{'pv.kubernetes.io/provisioned-by':'local-volume-provisioner-m-" UID1
        "'}}}",
        "{'metadata':{'annotations':{'pv.kubernetes.io/provisioned-by':'local-volume-provisioner-n-" UID1
        "'}},'spec':{'storageClassName':'other'}}",
    };

    skip_without_private_mounts();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char before[256], after[256];
        struct parts w;

        begin(&w);
        put_node(&w);
        mount_tmpfs("fast/v1", "size=20m");
        pass(&w, 10);
        ASSERT_SENT(&w.served, 200, "MERGE", path_of("v1", "fast"), rows[i]);
        get_text(&w, path_of("v1", "fast"), "metadata/resourceVersion", before);
        assert_int_equal(umount(in_dir(d, "fast/v1")), 0);
        pass(&w, 20);
        get_text(&w, path_of("v1", "fast"), "metadata/resourceVersion", after);
        ASSERT_STR(before, after);
        finish(&w);
    }
}

/* Nobody has it: it is gone as long as its disk is. */
TEST(local_withdraws_a_free_volume)
{
    skip_without_private_mounts();
    struct parts w;

    begin(&w);
    put_node(&w);
    mount_tmpfs("fast/v1", "size=20m");
    pass(&w, 10);
    ASSERT_SENT(&w.served, 200, "MERGE", path_of("v1", "fast"), "{'metadata':{'finalizers':null}}");
    assert_int_equal(umount(in_dir(d, "fast/v1")), 0);
    pass(&w, 2);
    ASSERT_GONE(&w, path_of("v1", "fast"));
    assert_event(&w, "DiskMissing", "/mnt/fast/v1 is not a valid mount point; the volume is deleted");
    mount_tmpfs("fast/v1", "size=30m");
    pass(&w, 2);
    ASSERT_THERE(&w, "30Mi", path_of("v1", "fast"), "spec/capacity/storage");
    /* The entry goes too. */
    ASSERT_SENT(&w.served, 200, "MERGE", path_of("v1", "fast"), "{'metadata':{'finalizers':null}}");
    assert_int_equal(umount(in_dir(d, "fast/v1")), 0);
    assert_int_equal(rmdir(in_dir(d, "fast/v1")), 0);
    pass(&w, 12);
    ASSERT_GONE(&w, path_of("v1", "fast"));
    finish(&w);
}

/* The directory cannot be read: nothing is known, and nothing is done. */
TEST(local_withdraws_nothing_unseen)
{
    skip_without_private_mounts();
    struct parts w;

    begin(&w);
    put_node(&w);
    mount_tmpfs("fast/v1", "size=20m");
    mount_tmpfs("fast/v2", "size=20m");
    pass(&w, 10);
    classes[0].name_pattern = "x*"; /* as after a change of the settings */
    assert_int_equal(umount(in_dir(d, "fast/v1")), 0);
    pass(&w, 12);
    ASSERT_SENT(&w.served, 200, "GET", path_of("v1", "fast"), NULL);
    classes[0].name_pattern = "*";
    classes[0].mount_dir = "/nonexistent";
    pass(&w, 12);
    ASSERT_SENT(&w.served, 200, "GET", path_of("v1", "fast"), NULL);
    ASSERT_SENT(&w.served, 200, "GET", path_of("v2", "fast"), NULL);
    finish(&w);
}

/* A claim has it, or is to have it: it stays, and says what is wrong. */
TEST(local_keeps_a_used_volume)
{
    skip_without_private_mounts();
    struct parts w;

    begin(&w);
    put_node(&w);
    mount_tmpfs("fast/v1", "size=20m");
    mount_tmpfs("fast/v2", "size=20m");
    mount_tmpfs("fast/v3", "size=20m");
    pass(&w, 10);
    use(&w, path_of("v1", "fast"));
    ASSERT_SENT(&w.served, 200, "MERGE", path_of("v2", "fast"),
                "{'metadata':{'annotations':{'volumes.berth.io/disk':null}},"
                "'spec':{'claimRef':{'namespace':'default','name':'later'}}}");
    ASSERT_SENT(&w.served, 200, "MERGE", path_of("v3", "fast"),
                "{'spec':{'persistentVolumeReclaimPolicy':'Retain'}}");
    assert_int_equal(umount(in_dir(d, "fast/v1")), 0);
    assert_int_equal(umount(in_dir(d, "fast/v2")), 0);
    assert_int_equal(umount(in_dir(d, "fast/v3")), 0);
    pass(&w, 2);
    ASSERT_ANNOTATION(&w, "/mnt/fast/v1 is not a valid mount point", path_of("v1", "fast"), ANN_DISK_PROBLEM);
    ASSERT_ANNOTATION(&w, "/mnt/fast/v2 is not a valid mount point", path_of("v2", "fast"), ANN_DISK_PROBLEM);
    assert_event(&w, "DiskMissing", "/mnt/fast/v1 is not a valid mount point\"");
    ASSERT_ANNOTATION(&w, "mount", path_of("v2", "fast"), ANN_DISK); /* older than records: none is needed */
    /* Nor does one go that would come back with another policy. */
    ASSERT_ANNOTATION(&w, "/mnt/fast/v3 is not a valid mount point", path_of("v3", "fast"), ANN_DISK_PROBLEM);
    mount_tmpfs("fast/v1", "size=20m");
    pass(&w, 2);
    ASSERT_ANNOTATION(&w, "-", path_of("v1", "fast"), ANN_DISK_PROBLEM);
    assert_event(&w, "DiskBack", "disk found again");
    finish(&w);
}

/* Another disk in the same place: a new volume where nobody had the old one, else nothing but words. */
TEST(local_sees_another_disk)
{
    skip_without_private_mounts();
    char before[256], after[256];
    struct parts w;

    begin(&w);
    put_node(&w);
    mount_disk("fast/v1", "disk1", UID1, 16);
    mount_disk("fast/v2", "disk2", UID1, 16);
    pass(&w, 10);
    use_and_release(&w, path_of("v1", "fast"));
    ASSERT_SENT(&w.served, 200, "MERGE", path_of("v1", "fast") /* until all is in place */,
                "{'spec':{'persistentVolumeReclaimPolicy':'Retain'}}");
    ASSERT_SENT(&w.served, 200, "MERGE", path_of("v2", "fast"), "{'metadata':{'finalizers':null}}");
    get_text(&w, path_of("v2", "fast"), "metadata/uid", before);
    for (unsigned i = 1; i <= 2; i++) {
        char name[16], disk[16];

        (void)snprintf(name, sizeof name, "fast/v%u", i);
        (void)snprintf(disk, sizeof disk, "other%u", i);
        assert_int_equal(umount(in_dir(d, name)), 0);
        mount_disk(name, disk, UID2, 16);
        (void)snprintf(name, sizeof name, "fast/v%u/data", i);
        put_file(in_dir(d, name), "x");
    }
    ASSERT_SENT(&w.served, 200, "MERGE", path_of("v1", "fast"),
                "{'spec':{'persistentVolumeReclaimPolicy':'Delete'}}");
    pass(&w, 30);
    assert_true(is_there(in_dir(d, "fast/v1/data")));
    ASSERT_ANNOTATION(&w, "uuid:" UID1, path_of("v1", "fast"), ANN_DISK);
    ASSERT_ANNOTATION(&w, "another disk is at /mnt/fast/v1: uuid:" UID2 " in place of uuid:" UID1,
                      path_of("v1", "fast"), ANN_DISK_PROBLEM);
    assert_event(&w, "DiskReplaced", "another disk is at /mnt/fast/v1");
    assert_event(&w, "VolumeFailedDelete", "another disk is at");
    ASSERT_ANNOTATION(&w, "uuid:" UID2, path_of("v2", "fast"), ANN_DISK);
    get_text(&w, path_of("v2", "fast"), "metadata/uid", after);
    assert_string_not_equal(before, after);
    /* Whoever takes the record away means the new one. */
    ASSERT_SENT(&w.served, 200, "MERGE", path_of("v1", "fast"),
                "{'metadata':{'annotations':{'volumes.berth.io/disk':null}}}");
    pass(&w, 400);
    assert_false(is_there(in_dir(d, "fast/v1/data")));
    ASSERT_ANNOTATION(&w, "uuid:" UID2, path_of("v1", "fast"), ANN_DISK);
    finish(&w);
}

/* A device behind a link is known by what the kernel says of it. */
TEST(local_sees_another_device)
{
    skip_without_private_mounts();
    char one[32], two[32], expected[512];
    struct parts w;

    begin(&w);
    put_node(&w);
    loop_device_new(d, "disk1", 16 << 20, one);
    loop_device_new(d, "disk2", 16 << 20, two);
    sh("mkfs.ext4 -q %s", two);
    assert_int_equal(symlink(one, in_dir(d, "raw/x")), 0);
    pass(&w, 10);
    (void)snprintf(expected, sizeof expected, "device:loop:%s", in_dir(d, "disk1"));
    ASSERT_ANNOTATION(&w, expected, path_of("x", "raw"), ANN_DISK);
    assert_int_equal(unlink(in_dir(d, "raw/x")), 0);
    assert_int_equal(symlink(two, in_dir(d, "raw/x")), 0);
    use_and_release(&w, path_of("x", "raw"));
    pass(&w, 30);
    ASSERT_SENT(&w.served, 200, "GET", path_of("x", "raw"), NULL);
    assert_event(&w, "DiskReplaced", "another disk is at");
    sh("blkid -p -o value -s TYPE %s | grep -q ext4", two);
    finish(&w);
}

static void resize(const char *name, const char *options)
{
    assert_int_equal(mount(NULL, in_dir(d, name), NULL, MS_REMOUNT, options), 0);
}

TEST(local_follows_the_size_of_a_disk)
{
    skip_without_private_mounts();
    static const char *const names[] = { "fast/free", "fast/used", "fast/set" };
    struct parts w;

    begin(&w);
    put_node(&w);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        mount_tmpfs(names[i], "size=20m");
    pass(&w, 10);
    use(&w, path_of("used", "fast"));
    ASSERT_SENT(&w.served, 200, "MERGE", path_of("set", "fast"), "{'spec':{'capacity':{'storage':'5Mi'}}}");
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        resize(names[i], "size=40m");
    pass(&w, 12);
    ASSERT_THERE(&w, "40Mi", path_of("free", "fast"), "spec/capacity/storage");
    assert_event(&w, "CapacityChanged", "capacity changed from 20Mi to 40Mi, the size of the disk");
    /* A claim's volume is its people's to raise; a capacity that somebody wrote is meant so. */
    ASSERT_THERE(&w, "20Mi", path_of("used", "fast"), "spec/capacity/storage");
    ASSERT_ANNOTATION(&w, "40Mi", path_of("used", "fast"), ANN_DISK_CAPACITY);
    assert_event(&w, "DiskResized", "size of the disk is now 40Mi, capacity of the volume is 20Mi");
    ASSERT_THERE(&w, "5Mi", path_of("set", "fast"), "spec/capacity/storage");
    resize("fast/free", "size=30m");
    pass(&w, 12);
    ASSERT_THERE(&w, "30Mi", path_of("free", "fast"), "spec/capacity/storage");
    finish(&w);
}

/* --- Bad days --- */

static void live_twice(struct parts *w)
{
    put_classes(w);
    put_node(w);
    pass(w, 30);
    ASSERT_SENT(&w->served, 200, "GET", path_of("v1", "fast"), NULL);
    put_file(in_dir(d, "fast/v1/data"), "x");
    use_and_release(w, path_of("v1", "fast"));
    pass(w, 60);
    ASSERT_THERE(w, "-", path_of("v1", "fast"), "spec/claimRef");
    assert_false(is_there(in_dir(d, "fast/v1/data")));
}

TEST(local_ends_the_same_on_bad_days)
{
    skip_without_private_mounts();
    struct parts w;

    begin(&w);
    parts_done(&w);
    mount_tmpfs("fast/v1", "size=20m");
    config.uses_node_name_only = true; /* a uid would differ from run to run */
    assert_ends_the_same(&type, live_twice);
    d = mounts_dir_free(d);
}

static void go_and_come(struct parts *w)
{
    mount_tmpfs("fast/v2", "size=20m");
    put_classes(w);
    put_node(w);
    pass(w, 30);
    ASSERT_SENT(&w->served, 200, "GET", path_of("v2", "fast"), NULL);
    ASSERT_SENT(&w->served, 200, "MERGE", path_of("v2", "fast"), "{'metadata':{'finalizers':null}}");
    assert_int_equal(umount(in_dir(d, "fast/v2")), 0);
    pass(w, 60);
    ASSERT_GONE(w, path_of("v2", "fast"));
    mount_tmpfs("fast/v2", "size=30m");
    pass(w, 60);
    ASSERT_THERE(w, "30Mi", path_of("v2", "fast"), "spec/capacity/storage");
    assert_int_equal(umount(in_dir(d, "fast/v2")), 0);
}

TEST(local_withdraws_the_same_on_bad_days)
{
    skip_without_private_mounts();
    struct parts w;

    begin(&w);
    parts_done(&w);
    config.uses_node_name_only = true;
    assert_ends_the_same(&type, go_and_come);
    d = mounts_dir_free(d);
}

TEST_MAIN()

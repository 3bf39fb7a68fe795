/* emptyDir volumes on real directories, tmpfs and hugetlbfs. */
#include "tests/unit/test_pod_volumes.h"

#include <linux/magic.h>

#include "host/fs.h"
#include "plugins/empty_dir.h"

#define VOLUME "volumes/kubernetes.io~empty-dir/v"
#define NOTES "plugins/kubernetes.io~empty-dir/v"
#define POD(source) "'containers':[{'name':'c'}],'volumes':[{'name':'v','emptyDir':" source "}]"
#define MIB (INT64_C(1) << 20)
#define GIB (INT64_C(1) << 30)

static bool is_mounted_at(const char *path)
{
    return mounts_in(path) > 0;
}

static void assert_gone(struct scene *s)
{
    assert_false(exists(in_pod(s, VOLUME)));
    assert_false(exists(in_pod(s, NOTES)));
    ASSERT_INT(0, mounts_in(s->d->path));
}

/* --- On disk --- */

/* plugins-22 */
TEST(a_directory_is_everybodys_whatever_the_umask)
{
    _cleanup_(scene_done) struct scene s;
    mode_t old = umask(0077);

    scene_init(&s, POD("{}"));
    ASSERT_OK(set_up(&s, &empty_dir_plugin));
    (void)umask(old);
    ASSERT_INT(0777, mode_of(in_pod(&s, VOLUME)));
    ASSERT_INT(0750, mode_of(in_pod(&s, NOTES)));
    assert_true(exists(in_pod(&s, NOTES "/ready")));

    put_text(in_pod(&s, VOLUME "/file"), "kept");
    ASSERT_OK(set_up(&s, &empty_dir_plugin)); /* again */
    ASSERT_STR("kept", text_of(in_pod(&s, VOLUME "/file")));
    ASSERT_OK(tear_down(&s, &empty_dir_plugin));
    assert_gone(&s);
    ASSERT_OK(tear_down(&s, &empty_dir_plugin)); /* again */
}

/* plugins-25 */
TEST(a_directory_removed_by_hand_is_made_again)
{
    _cleanup_(scene_done) struct scene s;

    scene_init(&s, POD("{}"));
    ASSERT_OK(set_up(&s, &empty_dir_plugin));
    ASSERT_INT(0, rmdir(in_pod(&s, VOLUME)));
    put_text(in_pod(&s, NOTES "/older"), "of another time");
    ASSERT_OK(set_up(&s, &empty_dir_plugin));
    ASSERT_INT(0777, mode_of(in_pod(&s, VOLUME)));
    assert_true(exists(in_pod(&s, NOTES "/ready")));
    assert_false(exists(in_pod(&s, NOTES "/older"))); /* the notes are new, too */
}

TEST(the_group_owns_it_once)
{
    if (getuid() != 0)
        skip();
    _cleanup_(scene_done) struct scene s;

    scene_init(&s, POD("{}"));
    s.fs_group = 2000;
    ASSERT_OK(set_up(&s, &empty_dir_plugin));
    ASSERT_INT(2000, gid_of(in_pod(&s, VOLUME)));
    ASSERT_INT(02777, mode_of(in_pod(&s, VOLUME)));
    put_text(in_pod(&s, VOLUME "/file"), "x");
    ASSERT_INT(0, chown(in_pod(&s, VOLUME "/file"), 0, 7));
    ASSERT_OK(set_up(&s, &empty_dir_plugin)); /* it is ready: nothing is walked */
    ASSERT_INT(7, gid_of(in_pod(&s, VOLUME "/file")));
    ASSERT_INT(0, unlink(in_pod(&s, NOTES "/ready"))); /* a crash before it was */
    ASSERT_OK(set_up(&s, &empty_dir_plugin));
    ASSERT_INT(2000, gid_of(in_pod(&s, VOLUME "/file")));
}

TEST(a_walk_that_was_stopped_is_not_finished)
{
    _cleanup_(scene_done) struct scene s;

    scene_init(&s, POD("{}"));
    s.fs_group = getgid();
    atomic_store(&s.stop, 1);
    ASSERT_ERR(ERR_INCOMPLETE, set_up(&s, &empty_dir_plugin));
    assert_false(exists(in_pod(&s, NOTES "/ready")));
    atomic_store(&s.stop, 0);
    ASSERT_OK(set_up(&s, &empty_dir_plugin));
    assert_true(exists(in_pod(&s, NOTES "/ready")));
}

/* What a container can leave in its directory, and what stands beside it. */
TEST(tear_down_stays_inside)
{
    _cleanup_(scene_done) struct scene s;

    scene_init(&s, POD("{}"));
    ASSERT_OK(set_up(&s, &empty_dir_plugin));
    put_text(in_dir(s.d, "outside"), "kept");
    ASSERT_INT(0, symlink(in_dir(s.d, "outside"), in_pod(&s, VOLUME "/link")));
    ASSERT_INT(0, symlink("..", in_pod(&s, VOLUME "/up")));
    ASSERT_INT(0, mkfifo(in_pod(&s, VOLUME "/fifo"), 0600));
    ASSERT_INT(0, mkdir(in_pod(&s, VOLUME "/dir"), 0700));
    put_text(in_pod(&s, VOLUME "/dir/file"), "x");
    ASSERT_OK(tear_down(&s, &empty_dir_plugin));
    assert_gone(&s);
    ASSERT_STR("kept", text_of(in_dir(s.d, "outside")));
}

TEST(a_link_or_fifo_in_its_place_is_not_used)
{
    _cleanup_(scene_done) struct scene s;

    scene_init(&s, POD("{}"));
    ASSERT_OK(set_up(&s, &empty_dir_plugin));
    ASSERT_OK(tear_down(&s, &empty_dir_plugin));
    ASSERT_INT(0, mkdir(in_dir(s.d, "outside"), 0700));
    ASSERT_INT(0, symlink(in_dir(s.d, "outside"), in_pod(&s, VOLUME)));
    assert_true(set_up(&s, &empty_dir_plugin) < 0);
    ASSERT_INT(0700, mode_of(in_dir(s.d, "outside")));
    assert_false(exists(in_pod(&s, NOTES "/ready")));
    ASSERT_INT(0, unlink(in_pod(&s, VOLUME)));
    ASSERT_INT(0, mkfifo(in_pod(&s, VOLUME), 0600));
    assert_true(set_up(&s, &empty_dir_plugin) < 0);
    assert_false(exists(in_pod(&s, NOTES "/ready")));
}

TEST(names_that_lead_elsewhere_are_refused)
{
    static const char *const names[] = { "..", "../x", "a/b", "" };
    _cleanup_(scene_done) struct scene s;
    struct set_up_request q;
    struct pod_volume v;

    scene_init(&s, POD("{}"));
    q = scene_request(&s);
    v = *q.spec.inlined;
    q.spec.inlined = &v;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        v.name = names[i];
        ASSERT_ERR(ERR_INVALID, empty_dir_plugin.pods->set_up(&empty_dir_plugin, &s.env, &q, &err));
        ASSERT_ERR(ERR_INVALID,
                   empty_dir_plugin.pods->tear_down(&empty_dir_plugin, &s.env, names[i], "u-1", &err));
    }
    ASSERT_ERR(ERR_INVALID, empty_dir_plugin.pods->tear_down(&empty_dir_plugin, &s.env, "v", "..", &err));
    assert_false(exists(in_dir(s.d, "pods")));
}

TEST(something_of_others_mounted_inside_is_not_emptied)
{
    skip_without_private_mounts();
    _cleanup_(scene_done) struct scene s;

    scene_init(&s, POD("{}"));
    ASSERT_OK(set_up(&s, &empty_dir_plugin));
    ASSERT_INT(0, mkdir(in_dir(s.d, "data"), 0700));
    put_text(in_dir(s.d, "data/file"), "kept");
    ASSERT_INT(0, mkdir(in_pod(&s, VOLUME "/m"), 0700));
    ASSERT_INT(0, mount(in_dir(s.d, "data"), in_pod(&s, VOLUME "/m"), NULL, MS_BIND, NULL));
    ASSERT_ERR(ERR_BUSY, tear_down(&s, &empty_dir_plugin));
    ASSERT_STR("kept", text_of(in_dir(s.d, "data/file")));
    ASSERT_INT(0, umount(in_pod(&s, VOLUME "/m")));
    ASSERT_OK(tear_down(&s, &empty_dir_plugin));
    assert_gone(&s);
}

TEST(usage_is_that_of_the_tree)
{
    _cleanup_(scene_done) struct scene s;
    struct host_usage usage;

    scene_init(&s, POD("{}"));
    ASSERT_OK(set_up(&s, &empty_dir_plugin));
    put_text(in_pod(&s, VOLUME "/file"), "x");
    ASSERT_OK(empty_dir_plugin.pods->usage(&empty_dir_plugin, &s.env, in_pod(&s, VOLUME), &usage, &err));
    ASSERT_INT(2, usage.inodes_used);
    assert_true(usage.used > 0 && usage.used < MIB);
    assert_true(usage.capacity > 0);
}

/* --- In memory --- */

static struct object *node_with(const char *memory)
{
    return plugin_object(KIND_NODE, "{'metadata':{'name':'n'},'status':{'allocatable':{'memory':'%s'}}}",
                         memory);
}

/* plugins-23 */
TEST(sizes_of_volumes_in_memory)
{
    static const struct {
        const char *allocatable, *pod_limit, *size_limit; /* NULL for none */
        int64_t expected;
    } rows[] = {
        { "8Gi", "1Gi", "2Gi", GIB },      { "8Gi", "1Gi", "512Mi", 512 * MIB },
        { "8Gi", "1Gi", "0", GIB },        { "8Gi", "1Gi", NULL, GIB },
        { "8Gi", "1Gi", "1Gi", GIB },      { "8Gi", NULL, NULL, 8 * GIB },
        { "8Gi", NULL, "3Gi", 3 * GIB },   { "8Gi", "16Gi", NULL, 8 * GIB }, /* more than there is */
        { "8Gi", "16Gi", "9Gi", 8 * GIB }, { NULL, "1Gi", "2Gi", GIB },      /* the node is not known yet */
        { NULL, NULL, "2Gi", 2 * GIB },    { NULL, NULL, NULL, 0 },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char spec[512], limit[64] = "", size[64] = "";
        if (rows[i].pod_limit)
            (void)snprintf(limit, sizeof limit, ",'resources':{'limits':{'memory':'%s'}}", rows[i].pod_limit);
        if (rows[i].size_limit)
            (void)snprintf(size, sizeof size, ",'sizeLimit':'%s'", rows[i].size_limit);
        (void)snprintf(
            spec, sizeof spec,
            "'containers':[{'name':'c'%s}],'volumes':[{'name':'v','emptyDir':{'medium':'Memory'%s}}]", limit,
            size);
        _cleanup_(object_unref_p) struct object *pod =
            plugin_object(KIND_POD, "{'metadata':{'name':'p'},'spec':{%s}}", spec);
        _cleanup_(object_unref_p) struct object *node =
            rows[i].allocatable ? node_with(rows[i].allocatable) : NULL;
        ASSERT_INT(rows[i].expected, empty_dir_memory_bytes(pod_of(pod)->volumes.items[0].empty_dir,
                                                            pod_of(pod), node ? node_of(node) : NULL));
    }
}

/* plugins-23, and plugins-26: what is torn down is known by its name alone. */
TEST(a_volume_in_memory_is_a_tmpfs_of_its_size)
{
    skip_without_private_mounts();
    _cleanup_(scene_done) struct scene s;

    scene_init(&s, POD("{'medium':'Memory','sizeLimit':'64Mi'}"));
    s.node = node_with("8Gi");
    ASSERT_OK(set_up(&s, &empty_dir_plugin));
    ASSERT_INT(TMPFS_MAGIC, magic_of(in_pod(&s, VOLUME)));
    assert_non_null(strstr(options_at(in_pod(&s, VOLUME)), "size=65536k"));
    assert_true(!strstr(options_at(in_pod(&s, VOLUME)), "noswap") == !host_tmpfs_takes_noswap());
    put_text(in_pod(&s, VOLUME "/file"), "kept");
    ASSERT_OK(set_up(&s, &empty_dir_plugin)); /* again: no second mount on top */
    ASSERT_INT(1, mounts_in(s.d->path));
    ASSERT_STR("kept", text_of(in_pod(&s, VOLUME "/file")));
    ASSERT_INT(0, unlink(in_pod(&s, NOTES "/ready"))); /* a crash before it was ready */
    ASSERT_OK(set_up(&s, &empty_dir_plugin));
    ASSERT_INT(1, mounts_in(s.d->path));
    ASSERT_OK(tear_down(&s, &empty_dir_plugin));
    assert_gone(&s);
}

TEST(a_tmpfs_that_went_with_the_machine_is_mounted_again)
{
    skip_without_private_mounts();
    _cleanup_(scene_done) struct scene s;

    scene_init(&s, POD("{'medium':'Memory'}"));
    ASSERT_OK(set_up(&s, &empty_dir_plugin));
    ASSERT_INT(0, umount(in_pod(&s, VOLUME)));
    ASSERT_OK(set_up(&s, &empty_dir_plugin));
    assert_true(is_mounted_at(in_pod(&s, VOLUME)));
}

/* A directory of a disk volume on a root that is a tmpfs itself has the magic, and no mount. */
TEST(a_root_in_memory_is_not_unmounted)
{
    skip_without_private_mounts();
    _cleanup_(scene_done) struct scene s;

    scene_init(&s, POD("{}"));
    ASSERT_INT(0, mount("tmpfs", s.d->path, "tmpfs", 0, NULL));
    ASSERT_OK(set_up(&s, &empty_dir_plugin));
    put_text(in_pod(&s, VOLUME "/file"), "x");
    ASSERT_OK(tear_down(&s, &empty_dir_plugin));
    assert_false(exists(in_pod(&s, VOLUME)));
    ASSERT_INT(1, mounts_in(s.d->path));
}

TEST(a_mount_that_fails_leaves_nothing)
{
    skip_without_private_mounts();
    _cleanup_(scene_done) struct scene s;

    scene_init(&s, "'containers':[{'name':'c','resources':{'requests':{'hugepages-3Ki':'3Ki'}}}],"
                   "'volumes':[{'name':'v','emptyDir':{'medium':'HugePages'}}]");
    assert_true(set_up(&s, &empty_dir_plugin) < 0); /* no machine has such pages */
    assert_gone(&s);
}

TEST(resizing)
{
    skip_without_private_mounts();
    _cleanup_(scene_done) struct scene s;
    struct set_up_request q;

    scene_init(&s, POD("{'medium':'Memory','sizeLimit':'64Mi'}"));
    q = scene_request(&s);
    ASSERT_ERR(ERR_UNAVAILABLE, empty_dir_resize(&s.env, &q.spec, q.pod, 32 * MIB, &err));
    ASSERT_STR("volume v is not yet mounted; deferring resize", err.msg);
    ASSERT_OK(set_up(&s, &empty_dir_plugin));
    put_text(in_pod(&s, VOLUME "/file"), "kept");
    ASSERT_OK(empty_dir_resize(&s.env, &q.spec, q.pod, 32 * MIB, &err));
    assert_non_null(strstr(options_at(in_pod(&s, VOLUME)), "size=32768k"));
    ASSERT_OK(empty_dir_resize(&s.env, &q.spec, q.pod, 128 * MIB, &err));
    assert_non_null(strstr(options_at(in_pod(&s, VOLUME)), "size=131072k"));
    assert_true(!strstr(options_at(in_pod(&s, VOLUME)), "noswap") == !host_tmpfs_takes_noswap());
    ASSERT_STR("kept", text_of(in_pod(&s, VOLUME "/file")));
    ASSERT_ERR(ERR_UNSUPPORTED, empty_dir_resize(&s.env, &q.spec, q.pod, 0, &err));
    ASSERT_STR("addition or removal of size limit is not supported", err.msg);
    ASSERT_INT(1, mounts_in(s.d->path));
}

TEST(resizing_what_cannot_be)
{
    static const struct {
        const char *source, *message;
    } rows[] = {
        { "'emptyDir':{}", "only memory-backed emptyDir volumes support direct resize" },
        { "'emptyDir':{'medium':'HugePages'}", "only memory-backed emptyDir volumes support direct resize" },
        { "'secret':{'secretName':'s'}", "only memory-backed emptyDir volumes support direct resize" },
        { "'emptyDir':{'medium':'Memory'}", "addition or removal of size limit is not supported" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char spec[256];
        (void)snprintf(spec, sizeof spec, "'volumes':[{'name':'v',%s}]", rows[i].source);
        _cleanup_(scene_done) struct scene s;
        scene_init(&s, spec);
        struct set_up_request q = scene_request(&s);
        ASSERT_ERR(ERR_UNSUPPORTED, empty_dir_resize(&s.env, &q.spec, q.pod, MIB, &err));
        ASSERT_STR(rows[i].message, err.msg);
    }
}

/* --- In huge pages --- */

/* plugins-24 */
TEST(sizes_of_pages)
{
#define ASKS(name, pages) "{'name':'" name "','resources':{'requests':{" pages "}}}"
    static const struct {
        const char *spec, *medium, *expected, *message;
    } rows[] = {
        { "'containers':[" ASKS("c", "'hugepages-2Mi':'4Mi'") "]", "HugePages", "2Mi", NULL },
        { "'containers':[" ASKS("c", "'hugepages-2Mi':'4Mi'") "]", "HugePages-2Mi", "2Mi", NULL },
        { "'containers':[" ASKS("c", "'hugepages-2Mi':'4Mi'") "]", "HugePages-2048Ki", "2Mi", NULL },
        { "'initContainers':[" ASKS("i", "'hugepages-1Gi':'1Gi'") "],'containers':[{'name':'c'}]",
          "HugePages", "1Gi", NULL },
        { "'resources':{'requests':{'hugepages-1Gi':'1Gi'}},'containers':[{'name':'c'}]", "HugePages-1Gi",
          "1Gi", NULL },
        { "'containers':[" ASKS("c", "'hugepages-1Gi':'1Gi','hugepages-2Mi':'4Mi'") "]", "HugePages-2Mi",
          "2Mi", NULL },
        { "'containers':[" ASKS("c", "'hugepages-1Gi':'1Gi'") "," ASKS("d", "'hugepages-2Mi':'4Mi'") "]",
          "HugePages", NULL,
          "medium: HugePages can't be used if container requests multiple huge page sizes" },
        { "'containers':[" ASKS("c", "'memory':'1Gi'") "]", "HugePages", NULL,
          "medium HugePages: hugePages storage requested, but there is no resource request for huge pages" },
        { "'containers':[" ASKS("c", "'hugepages-1Gi':'1Gi'") "]", "HugePages-2Mi", NULL,
          "medium HugePages-2Mi: hugePages storage requested, but there is no resource request for huge "
          "pages" },
    };
#undef ASKS

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(object_unref_p) struct object *pod =
            plugin_object(KIND_POD, "{'metadata':{'name':'p'},'spec':{%s}}", rows[i].spec);
        _cleanup_(buf_done_p) struct buf text = BUF_INIT(256);
        struct quantity size;
        if (rows[i].expected) {
            ASSERT_OK(empty_dir_page_size(pod_of(pod), rows[i].medium, &size, &err));
            quantity_format(&size, &text);
            ASSERT_STR(rows[i].expected, buf_cstr(&text));
        } else {
            ASSERT_ERR(ERR_INVALID, empty_dir_page_size(pod_of(pod), rows[i].medium, &size, &err));
            ASSERT_STR(rows[i].message, err.msg);
        }
    }
}

#define HUGE_POD(medium)                                                                                \
    "'containers':[{'name':'c','resources':{'requests':{'hugepages-2Mi':'4Mi','hugepages-1Gi':'0'}}}]," \
    "'volumes':[{'name':'v','emptyDir':{'medium':'" medium "'}}]"

/* plugins-24: really mounted. */
TEST(a_volume_in_huge_pages)
{
    skip_without_private_mounts();
    if (!exists("/sys/kernel/mm/hugepages/hugepages-2048kB")) {
        print_message("this machine has no pages of 2 MiB: skipped\n");
        skip();
    }
    _cleanup_(scene_done) struct scene s;

    scene_init(&s, HUGE_POD("HugePages-2Mi"));
    ASSERT_OK(set_up(&s, &empty_dir_plugin));
    ASSERT_INT(HUGETLBFS_MAGIC, magic_of(in_pod(&s, VOLUME)));
    assert_non_null(strstr(options_at(in_pod(&s, VOLUME)), "pagesize=2M"));
    ASSERT_OK(set_up(&s, &empty_dir_plugin));
    ASSERT_INT(1, mounts_in(s.d->path));
    scene_change_pod(&s, HUGE_POD("HugePages-1Gi"));
    ASSERT_ERR(ERR_CONFLICT, set_up(&s, &empty_dir_plugin));
    assert_non_null(strstr(err.msg, "pagesize '2Mi' and requested medium size '1Gi' differ"));
    ASSERT_OK(tear_down(&s, &empty_dir_plugin));
    assert_gone(&s);
}

TEST(other_mediums_are_unknown)
{
    _cleanup_(scene_done) struct scene s;

    scene_init(&s, POD("{'medium':'Tape'}"));
    ASSERT_ERR(ERR_INVALID, set_up(&s, &empty_dir_plugin));
    ASSERT_STR("unknown storage medium \"Tape\"", err.msg);
    assert_gone(&s);
}

/* --- The plugin --- */

TEST(the_plugin_of_emptyDirs)
{
    const struct volume_plugin *p = &empty_dir_plugin;
    _cleanup_(scene_done) struct scene s;
    _cleanup_(object_unref_p) struct object *found = NULL;
    _cleanup_(buf_done_p) struct buf name = BUF_INIT(64);
    char path[PATH_MAX];

    scene_init(&s, POD("{'medium':'Memory'}"));
    struct set_up_request q = scene_request(&s);
    ASSERT_OK(p->volume_name(p, &q.spec, &name, &err));
    ASSERT_STR("v", buf_cstr(&name));
    ASSERT_OK(p->pods->path(p, s.d->path, "u-1", "v", &q.spec, path, &err));
    ASSERT_STR(in_pod(&s, VOLUME), path);
    assert_false(p->pods->attributes(p, &q.spec).is_read_only);
    assert_true(p->pods->attributes(p, &q.spec).is_managed);
    assert_false(p->requires_remount);
    ASSERT_OK(p->reconstruct(p, &s.env, "v", "u-1", false, &found, &err));
    ASSERT_STR("u-1", found->uid);
    ASSERT_INT(POD_VOLUME_EMPTY_DIR, pod_of(found)->volumes.items[0].type);
    ASSERT_STR("v", pod_of(found)->volumes.items[0].name);
    ASSERT_STR("", pod_of(found)->volumes.items[0].empty_dir->medium);
    ASSERT_ERR(ERR_UNSUPPORTED, p->reconstruct(p, &s.env, "v", "u-1", true, &found, &err));
}

TEST_MAIN()

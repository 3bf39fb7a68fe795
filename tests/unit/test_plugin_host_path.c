/* hostPath on a node: nothing is mounted, what is there is looked at. */
#include "tests/unit/test_plugins.h"

#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

/* A pod with the volume v: its path, type and read-only flag. */
static struct object *pod_with(const char *path, const char *type)
{
    return plugin_object(KIND_POD,
                         "{'metadata':{'name':'p','uid':'u'},'spec':{'volumes':[{'name':'v',"
                         "'hostPath':{'path':'%s','type':'%s'}}]}}",
                         path, type);
}

static int set_up(const char *path, const char *type)
{
    _cleanup_(object_unref_p) struct object *pod = pod_with(path, type);
    struct volume_env env = { .root = "/nonexistent", .node_name = "n" };
    struct set_up_request q = { .spec.inlined = &pod_of(pod)->volumes.items[0],
                                .pod = pod_of(pod),
                                .fs_group = -1 };

    return host_path_plugin.pods->set_up(&host_path_plugin, &env, &q, &err);
}

static void put_socket(const char *path)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    (void)snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
    assert_int_equal(bind(fd, (const struct sockaddr *)&at, sizeof at), 0);
    (void)close(fd);
}

/* One of each kind; a block device only for root. */
static void put_kinds(const struct test_dir *d)
{
    assert_int_equal(mkdir(in_dir(d, "dir"), 0755), 0);
    put_file(in_dir(d, "file"), "x");
    put_socket(in_dir(d, "socket"));
    assert_int_equal(mkfifo(in_dir(d, "fifo"), 0600), 0);
    assert_int_equal(symlink("/dev/null", in_dir(d, "char")), 0);
    assert_int_equal(symlink("dir", in_dir(d, "link")), 0);
    assert_int_equal(symlink("loop", in_dir(d, "loop")), 0);
    if (geteuid() == 0) {
        assert_int_equal(mknod(in_dir(d, "real-block"), S_IFBLK | 0600, makedev(7, 200)), 0);
        assert_int_equal(symlink("real-block", in_dir(d, "block")), 0);
    }
}

enum { DIR_, FILE_, SOCKET_, CHAR_, BLOCK_, KINDS };
static const char *const kind_files[KINDS] = { "dir", "file", "socket", "char", "block" };
static const char *const kind_words[KINDS] = { "Directory", "File", "Socket", "CharDevice", "BlockDevice" };

/* Section 9.1: every type with every kind. plugins-7 is Directory with a file, plugins-10 BlockDevice with a
 * link to one. */
TEST(every_type_wants_its_kind)
{
    static const struct {
        const char *type, *word;
        int kind;
    } rows[] = {
        { "DirectoryOrCreate", "directory", DIR_ }, { "Directory", "directory", DIR_ },
        { "FileOrCreate", "file", FILE_ },          { "File", "file", FILE_ },
        { "Socket", "socket file", SOCKET_ },       { "CharDevice", "character device", CHAR_ },
        { "BlockDevice", "block device", BLOCK_ },
    };
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    char expected[TEST_PATH_BYTES * 4];

    put_kinds(&d);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        for (int k = 0; k < (geteuid() == 0 ? KINDS : BLOCK_); k++) {
            const char *path = in_dir(&d, kind_files[k]);
            if (k == rows[i].kind) {
                ASSERT_OK(set_up(path, rows[i].type));
                continue;
            }
            ASSERT_ERR(ERR_INVALID, set_up(path, rows[i].type));
            (void)snprintf(expected, sizeof expected, "hostPath type check failed: %s is not a %s, it's a %s",
                           path, rows[i].word, kind_words[k]);
            ASSERT_STR(expected, err.msg);
        }
    }
    ASSERT_OK(set_up(in_dir(&d, "link"), "Directory")); /* links are followed */
}

TEST(what_has_no_kind_is_told)
{
    static const char *const types[] = { "Directory", "File", "Socket", "CharDevice", "BlockDevice" };
    static const char *const words[] = { "directory", "file", "socket file", "character device",
                                         "block device" };
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    char expected[TEST_PATH_BYTES * 5];

    put_kinds(&d);
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        const char *path = in_dir(&d, "none");
        ASSERT_ERR(ERR_INVALID, set_up(path, types[i]));
        (void)snprintf(
            expected, sizeof expected,
            "hostPath type check failed, %s is not a %s, unable to determine its type: path \"%s\" "
            "does not exist",
            path, words[i], path);
        ASSERT_STR(expected, err.msg);
        path = in_dir(&d, "fifo");
        ASSERT_ERR(ERR_INVALID, set_up(path, types[i]));
        (void)snprintf(expected, sizeof expected,
                       "hostPath type check failed, %s is not a %s, unable to determine its type: only "
                       "recognise file, directory, socket, block device and character device",
                       path, words[i]);
        ASSERT_STR(expected, err.msg);
    }
    ASSERT_ERR(ERR_INVALID, set_up(in_dir(&d, "loop"), "Directory"));
    assert_non_null(strstr(err.msg, "unable to determine its type: cannot examine"));
    assert_true(set_up(in_dir(&d, "loop"), "DirectoryOrCreate") < 0); /* counts as missing, cannot be made */
}

TEST(no_type_checks_nothing)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();

    put_kinds(&d);
    for (int k = 0; k < BLOCK_; k++)
        ASSERT_OK(set_up(in_dir(&d, kind_files[k]), ""));
    ASSERT_OK(set_up(in_dir(&d, "none"), ""));
    assert_false(exists(in_dir(&d, "none")));
    ASSERT_ERR(ERR_INVALID, set_up(in_dir(&d, "dir"), "Folder"));
    ASSERT_STR("Folder is an invalid volume type", err.msg);
}

/* plugins-8 */
TEST(a_file_is_made_and_its_parent_is_not)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    mode_t mask = umask(022);
    struct stat st;
    int r = set_up(in_dir(&d, "new"), "FileOrCreate");

    (void)umask(mask);
    ASSERT_OK(r);
    assert_int_equal(stat(in_dir(&d, "new"), &st), 0);
    assert_true(S_ISREG(st.st_mode) && st.st_size == 0);
    ASSERT_INT(0644, st.st_mode & 07777);
    ASSERT_OK(set_up(in_dir(&d, "new"), "FileOrCreate"));
    ASSERT_ERR(ERR_NOT_FOUND, set_up(in_dir(&d, "no/new"), "FileOrCreate"));
    assert_false(exists(in_dir(&d, "no")));
    /* Nothing is made where a link leads. */
    assert_int_equal(symlink("victim", in_dir(&d, "dangling")), 0);
    ASSERT_ERR(ERR_EXISTS, set_up(in_dir(&d, "dangling"), "FileOrCreate"));
    assert_true(set_up(in_dir(&d, "dangling"), "DirectoryOrCreate") < 0);
    assert_false(exists(in_dir(&d, "victim")));
}

/* plugins-9 */
TEST(a_directory_is_made_with_its_parents)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    mode_t mask = umask(022);
    struct stat before, after;
    int r = set_up(in_dir(&d, "a/b/c"), "DirectoryOrCreate");

    (void)umask(mask);
    ASSERT_OK(r);
    assert_int_equal(stat(in_dir(&d, "a/b/c"), &before), 0);
    ASSERT_INT(0755, before.st_mode & 07777);
    ASSERT_INT(geteuid(), before.st_uid);
    assert_int_equal(chmod(in_dir(&d, "a/b/c"), 0700), 0);
    ASSERT_OK(set_up(in_dir(&d, "a/b/c"), "DirectoryOrCreate"));
    assert_int_equal(stat(in_dir(&d, "a/b/c"), &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    ASSERT_INT(0700, after.st_mode & 07777);
}

/* plugins-11 */
TEST(a_way_up_is_refused_before_anything_else)
{
    static const struct {
        const char *path, *text;
    } rows[] = {
        { "/a/../b", "invalid HostPath `/a/../b`: must not contain '..'" },
        { "..", "invalid HostPath `..`: must not contain '..'" },
        { "/x/..", "invalid HostPath `/x/..`: must not contain '..'" },
        { "relative", "invalid HostPath `relative`: must be an absolute path" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        ASSERT_ERR(ERR_INVALID, set_up(rows[i].path, "Folder")); /* a wrong type is not looked at */
        ASSERT_STR(rows[i].text, err.msg);
        ASSERT_ERR(ERR_INVALID, set_up(rows[i].path, ""));
    }
    ASSERT_OK(set_up("/..a/b..", ""));
}

TEST(its_place_is_the_path_itself)
{
    _cleanup_(object_unref_p) struct object *pod = pod_with("/srv/data", "Directory");
    _cleanup_(buf_done_p) struct buf name = BUF_INIT(1024);
    struct volume_spec spec = { .inlined = &pod_of(pod)->volumes.items[0], .is_read_only = true };
    const struct pod_table *t = host_path_plugin.pods;
    struct volume_env env = { .root = "/r" };
    struct host_usage usage;
    char path[PATH_MAX];

    ASSERT_OK(t->path(&host_path_plugin, "/r", "u", "v", &spec, path, &err));
    ASSERT_STR("/srv/data", path);
    assert_true(t->attributes(&host_path_plugin, &spec).is_read_only);
    assert_false(t->attributes(&host_path_plugin, &spec).is_managed);
    ASSERT_OK(t->tear_down(&host_path_plugin, &env, "v", "u", &err));
    ASSERT_ERR(ERR_UNSUPPORTED, t->usage(&host_path_plugin, &env, path, &usage, &err));
    ASSERT_OK(host_path_plugin.volume_name(&host_path_plugin, &spec, &name, &err));
    ASSERT_STR("/srv/data", buf_cstr(&name));
    ASSERT_INT(ACCESS_RWO, host_path_plugin.access_modes);
    assert_false(host_path_plugin.takes_mount_options);
    assert_false(host_path_plugin.requires_remount);
}

TEST(found_on_disk_it_is_a_pod_s_volume)
{
    _cleanup_(object_unref_p) struct object *pod = NULL;
    struct volume_env env = { .root = "/r" };

    ASSERT_OK(host_path_plugin.reconstruct(&host_path_plugin, &env, "v\"x", "u-1", false, &pod, &err));
    ASSERT_STR("u-1", pod->uid);
    ASSERT_INT(1, pod_of(pod)->volumes.count);
    ASSERT_INT(POD_VOLUME_HOST_PATH, pod_of(pod)->volumes.items[0].type);
    ASSERT_STR("v\"x", pod_of(pod)->volumes.items[0].name);
    ASSERT_STR("v\"x", pod_of(pod)->volumes.items[0].host_path->path);
    ASSERT_ERR(ERR_UNSUPPORTED,
               host_path_plugin.reconstruct(&host_path_plugin, &env, "v", "u", true, &pod, &err));
}

TEST_MAIN()

/* Directories of an export as volumes: names, making, archiving, and what claims' people may try. */
#include "tests/unit/test_mounts.h"
#include "tests/unit/test_plugins.h"

#include <pthread.h>

#include "tests/unit/test_provisioner.h"

#include "controllers/provisioner/nfs_subdir.h"

static struct test_dir dir;
static struct nfs_subdir export;
static char mount_dir[TEST_PATH_BYTES * 2];
/* What the process knows of the export, and the volumes that the server has. */
static struct storage_identity identity;
static struct object *known[4];
static unsigned known_count;

/* A plain directory, which is enough for what is not about mounts. */
static void open_export(void)
{
    dir = test_dir_new();
    (void)snprintf(mount_dir, sizeof mount_dir, "%s/export", dir.path);
    assert_int_equal(mkdir(mount_dir, 0755), 0);
    export = (struct nfs_subdir){
        .server = "nfs.example", .path = "/srv/nfs", .mount_dir = mount_dir, .may_be_plain = true
    };
    identity = (struct storage_identity){ 0 };
    known_count = 0;
}

static void close_export(void)
{
    while (known_count > 0)
        (void)object_unref(known[--known_count]);
    test_dir_done(&dir);
}

/* True when the call is to be repeated with all volumes. */
static bool must_know_volumes(int r)
{
    if (r == 0 || !identity.needs_volumes || identity.has_volumes) {
        identity.needs_volumes = identity.has_volumes = false;
        return false;
    }
    identity.has_volumes = true;
    identity.volumes = known;
    identity.volumes_count = known_count;
    return true;
}

static const char *in_export(const char *name)
{
    static char paths[4][TEST_PATH_BYTES * 4];
    static unsigned next;
    char *path = paths[next++ % 4];

    (void)snprintf(path, sizeof paths[0], "%s/%s", mount_dir, name);
    return path;
}

static bool is_there(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0;
}

/* --- The calls alone --- */

static int provision(const char *pattern, const char *claim_json, struct buf *source, struct error *e)
{
    _cleanup_(object_unref_p) struct object *claim = plugin_object(KIND_CLAIM, "%s", claim_json);
    _cleanup_(object_unref_p) struct object *class =
        pattern ? plugin_object(KIND_CLASS,
                                "{'metadata':{'name':'c'},'provisioner':'p','parameters':{'pathPattern':"
                                "'%s'}}",
                                pattern)
                : plugin_object(KIND_CLASS, "{'metadata':{'name':'c'},'provisioner':'p'}");
    struct provisioner_request q = { .volume_name = "pvc-u",
                                     .claim = claim_of(claim),
                                     .class = (const struct storage_class *)(const void *)class };
    enum provision_state state = PROVISION_FINISHED;
    int r;

    do {
        buf_clear(source);
        r = nfs_subdir_type.provision(&export, &q, &identity, NULL, source, &state, e);
    } while (must_know_volumes(r));
    ASSERT_INT(PROVISION_FINISHED, state);
    return r;
}

#define CLAIM                                                                                \
    "{'metadata':{'namespace':'a','name':'b','uid':'u','labels':{'team':'red','A.b/c':'v'}," \
    "'annotations':{'up':'../../x','root':'/','abs':'/etc/x','deep':'k/l'}},'spec':{}}"

/* plugins-53, plugins-54 */
TEST(nfs_subdir_names)
{
    static const struct {
        const char *pattern, *dir;
    } rows[] = {
        { NULL, "a-b-pvc-u" },
        { "", "a-b-pvc-u" },
        { "${.PVC.annotations.x}", "a-b-pvc-u" },
        { "${.PVC.namespace}/${.PVC.name}", "a/b" },
        { "${.PVC.labels.team}-${.PVC.name}", "red-b" },
        { "${.PVC.labels.A.b/c}", "v" },
        { "${.PVC.labels.a.b/c}", "a-b-pvc-u" }, /* keys are exact */
        { "${.PVC.Name}", "a-b-pvc-u" },
        { "x${.PVC.uid}y", "xy" },
        { "${.PVC.annotations.deep}/m", "k/l/m" },
        { "${.PVC.name", "${.PVC.name" },
        { "${.PVC.name}}", "b}" },
        { "//n//./o/", "n/o" },
    };
    _cleanup_(buf_done_p) struct buf source = BUF_INIT(65536);
    char expected[512];

    open_export();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        ASSERT_OK(provision(rows[i].pattern, CLAIM, &source, &err));
        (void)snprintf(expected, sizeof expected,
                       "\"nfs\":{\"server\":\"nfs.example\",\"path\":\"/srv/nfs/%s\"}", rows[i].dir);
        ASSERT_STR(expected, buf_cstr(&source));
        assert_true(is_there(in_export(rows[i].dir)));
    }
    close_export();
}

TEST(nfs_subdir_stays_in_its_export)
{
    static const char *const patterns[] = { "..", "../x", "${.PVC.annotations.up}",  "a/../../x", "/",
                                            ".",  "./.",  "${.PVC.annotations.root}" };
    _cleanup_(buf_done_p) struct buf source = BUF_INIT(65536);
    char long_pattern[PATH_MAX + 100];

    open_export();
    for (size_t i = 0; i < ARRAY_LEN(patterns); i++) {
        ASSERT_ERR(ERR_INVALID, provision(patterns[i], CLAIM, &source, &err));
        assert_non_null(strstr(err.msg, "unable to create directory to provision new pv: "));
    }
    /* An absolute path is one below the export. */
    ASSERT_OK(provision("${.PVC.annotations.abs}", CLAIM, &source, &err));
    assert_true(is_there(in_export("etc/x")));
    memset(long_pattern, 'x', sizeof long_pattern - 1);
    long_pattern[sizeof long_pattern - 1] = '\0';
    ASSERT_ERR(ERR_INVALID, provision(long_pattern, CLAIM, &source, &err));
    assert_false(is_there(in_dir(&dir, "x")));
    close_export();
}

/* Links that the export's users put there lead nowhere. */
TEST(nfs_subdir_follows_no_link)
{
    _cleanup_(buf_done_p) struct buf source = BUF_INIT(65536);
    struct stat st;

    open_export();
    assert_int_equal(mkdir(in_dir(&dir, "outside"), 0700), 0);
    assert_int_equal(symlink(in_dir(&dir, "outside"), in_export("link")), 0);
    assert_int_equal(symlink("../outside", in_export("rel")), 0);
    put_file(in_export("file"), "x");
    assert_true(provision("link", CLAIM, &source, &err) < 0);
    assert_true(provision("link/y", CLAIM, &source, &err) < 0);
    assert_true(provision("rel/y", CLAIM, &source, &err) < 0);
    assert_true(provision("file/y", CLAIM, &source, &err) < 0);
    assert_true(provision("file", CLAIM, &source, &err) < 0);
    assert_int_equal(stat(in_dir(&dir, "outside"), &st), 0);
    ASSERT_INT(0700, st.st_mode & 07777);
    assert_false(is_there(in_dir(&dir, "outside/y")));
    close_export();
}

TEST(nfs_subdir_is_open_to_all)
{
    _cleanup_(buf_done_p) struct buf source = BUF_INIT(65536);
    mode_t before = umask(0077);
    struct stat st;

    open_export();
    assert_int_equal(mkdir(in_export("old"), 0700), 0);
    ASSERT_OK(provision("p/q", CLAIM, &source, &err));
    ASSERT_OK(provision("old/new", CLAIM, &source, &err));
    assert_int_equal(stat(in_export("p"), &st), 0);
    ASSERT_INT(0777, st.st_mode & 07777);
    assert_int_equal(stat(in_export("p/q"), &st), 0);
    ASSERT_INT(0777, st.st_mode & 07777);
    assert_int_equal(stat(in_export("old"), &st), 0);
    ASSERT_INT(0700, st.st_mode & 07777); /* somebody else's */
    ASSERT_OK(provision("old", CLAIM, &source, &err));
    assert_int_equal(stat(in_export("old"), &st), 0);
    ASSERT_INT(0777, st.st_mode & 07777);
    (void)umask(before);
    close_export();
}

TEST(nfs_subdir_takes_no_selector)
{
    _cleanup_(buf_done_p) struct buf source = BUF_INIT(65536);

    open_export();
    ASSERT_ERR(ERR_UNSUPPORTED, provision(NULL,
                                          "{'metadata':{'namespace':'a','name':'b'},'spec':{'selector':"
                                          "{'matchLabels':{'a':'b'}}}}",
                                          &source, &err));
    ASSERT_STR("claim Selector is not supported", err.msg);
    close_export();
}

/* --- Removing --- */

static int remove_volume(const struct object *volume, const struct object *class, struct error *e)
{
    int r;

    do {
        r = nfs_subdir_type.remove(&export, volume_of(volume),
                                   (const struct storage_class *)(const void *)class, /* guard= */ NULL,
                                   &identity, /* stop= */ NULL, e);
    } while (must_know_volumes(r));
    return r;
}

/* parameters NULL: no class. */
static int drop(const char *path, const char *parameters, struct error *e)
{
    _cleanup_(object_unref_p) struct object *volume =
        plugin_object(KIND_VOLUME, "{'metadata':{'name':'v'},'spec':{'nfs':{'server':'s','path':'%s'}%s}}",
                      path, parameters && strcmp(parameters, "-") == 0 ? "" : ",'storageClassName':'c'");
    _cleanup_(object_unref_p) struct object *class =
        parameters
            ? plugin_object(KIND_CLASS, "{'metadata':{'name':'c'},'provisioner':'p','parameters':{%s}}",
                            strcmp(parameters, "-") == 0 ? "" : parameters)
            : NULL;

    return remove_volume(volume, class, e);
}

/* plugins-53, plugins-55 */
TEST(nfs_subdir_delete_rules)
{
    static const struct {
        const char *parameters;
        char end; /* 'a' archived, 'd' deleted, 'k' kept */
        const char *error;
    } rows[] = {
        { "", 'a', NULL },
        { "'archiveOnDelete':'true'", 'a', NULL },
        { "'archiveOnDelete':'T'", 'a', NULL },
        { "'archiveOnDelete':'false'", 'd', NULL },
        { "'archiveOnDelete':'0'", 'd', NULL },
        { "'archiveOnDelete':'maybe'", 'k', "strconv.ParseBool: parsing \"maybe\": invalid syntax" },
        { "'onDelete':'delete'", 'd', NULL },
        { "'onDelete':'delete','archiveOnDelete':'true'", 'd', NULL },
        { "'onDelete':'retain','archiveOnDelete':'false'", 'k', NULL },
        { "'onDelete':'other'", 'a', NULL },
        { "'onDelete':'','archiveOnDelete':'false'", 'd', NULL },
        { "-", 'k', "volume has no storage class" },
        { NULL, 'k', "storageclass.storage.k8s.io \"c\" not found" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int r;

        open_export();
        assert_int_equal(mkdir(in_export("a-b-pvc-u"), 0777), 0);
        put_file(in_export("a-b-pvc-u/data"), "x");
        r = drop("/srv/nfs/a-b-pvc-u", rows[i].parameters, &err);
        if (rows[i].error) {
            assert_true(r < 0);
            ASSERT_STR(rows[i].error, err.msg);
        } else {
            ASSERT_OK(r);
        }
        assert_int_equal(is_there(in_export("a-b-pvc-u/data")), rows[i].end == 'k');
        assert_int_equal(is_there(in_export("archived-a-b-pvc-u/data")), rows[i].end == 'a');
        close_export();
    }
}

/* What is not there needs no class. */
TEST(nfs_subdir_missing_is_done)
{
    open_export();
    ASSERT_OK(drop("/srv/nfs/gone", NULL, &err));
    ASSERT_OK(drop("/srv/nfs/gone/too", NULL, &err));
    close_export();
}

/* Always to the export's own directory, where names may meet. */
TEST(nfs_subdir_archives_flat)
{
    open_export();
    assert_int_equal(mkdir(in_export("x"), 0777), 0);
    assert_int_equal(mkdir(in_export("x/b"), 0777), 0);
    assert_int_equal(mkdir(in_export("y"), 0777), 0);
    assert_int_equal(mkdir(in_export("y/b"), 0777), 0);
    ASSERT_OK(drop("/srv/nfs/x/b", "", &err));
    assert_true(is_there(in_export("archived-b")));
    ASSERT_ERR(ERR_EXISTS, drop("/srv/nfs/y/b", "", &err));
    assert_true(is_there(in_export("y/b")));
    close_export();
}

TEST(nfs_subdir_removes_nothing_else)
{
    static const char *const paths[] = { "/etc",        "/srv/nfs",    "/srv/nfs/",
                                         "/srv/nfs2/x", "/srv/nfs/..", "/srv/nfs/./",
                                         "/srv/../x",   "relative",    "" };

    open_export();
    put_file(in_dir(&dir, "precious"), "x");
    for (size_t i = 0; i < ARRAY_LEN(paths); i++)
        ASSERT_ERR(ERR_INVALID, drop(paths[i], "'onDelete':'delete'", &err));
    /* Neither through a link. */
    assert_int_equal(symlink(dir.path, in_export("link")), 0);
    assert_int_equal(mkdir(in_dir(&dir, "sub"), 0755), 0);
    assert_true(drop("/srv/nfs/link", "'onDelete':'delete'", &err) < 0);
    assert_true(drop("/srv/nfs/link/sub", "'onDelete':'delete'", &err) < 0);
    assert_true(drop("/srv/nfs/link/sub", "", &err) < 0);
    assert_true(is_there(in_dir(&dir, "precious")));
    assert_true(is_there(in_dir(&dir, "sub")));
    close_export();
}

/* --- The right export, or none --- */

#define OTHER_ID "01234567-89ab-4cde-8f01-23456789abcd"
#define MARKER_OF(about, id) "{\"format\":1,\"kind\":\"export\",\"about\":\"" about "\",\"id\":\"" id "\"}"

/* A volume that the server has. annotations: "" for none. */
static struct object *know_volume(const char *server, const char *path, const char *annotations)
{
    assert_true(known_count < ARRAY_LEN(known));
    known[known_count] =
        plugin_object(KIND_VOLUME,
                      "{'metadata':{'name':'pv-%u','annotations':{%s}},'spec':{'storageClassName':'c',"
                      "'nfs':{'server':'%s','path':'%s'}}}",
                      known_count, annotations, server, path);
    return known[known_count++];
}

static const char *own_id(void)
{
    static char text[128];

    (void)snprintf(text, sizeof text, "'" ANN_EXPORT_ID "':'%s'", identity.id);
    return text;
}

static void assert_provisioned(bool is_expected, const char *words)
{
    _cleanup_(buf_done_p) struct buf source = BUF_INIT(65536);
    int r = provision("new", CLAIM, &source, &err);

    if (is_expected) {
        ASSERT_OK(r);
        assert_true(is_there(in_export("new")) && is_there(in_export(NFS_SUBDIR_MARKER)));
        assert_int_equal(rmdir(in_export("new")), 0);
        return;
    }
    ASSERT_INT(-ERR_UNAVAILABLE, r);
    if (!strstr(err.msg, words))
        fail_msg("no '%s' in\n%s", words, err.msg);
    assert_false(is_there(in_export("new")));
}

static int remove_known(struct object *volume)
{
    _cleanup_(object_unref_p) struct object *class = plugin_object(
        KIND_CLASS, "{'metadata':{'name':'c'},'provisioner':'p','parameters':{'onDelete':'delete'}}");

    return remove_volume(volume, class, &err);
}

static void assert_kept(struct object *volume, const char *words)
{
    ASSERT_INT(-ERR_UNAVAILABLE, remove_known(volume));
    if (!strstr(err.msg, words))
        fail_msg("no '%s' in\n%s", words, err.msg);
}

/* Nothing is made below the mount point, and what is deleted stays known. */
TEST(nfs_subdir_needs_its_mount)
{
    struct object *v;

    skip_without_private_mounts();
    open_export();
    export.may_be_plain = false;
    assert_provisioned(false,
                       "unable to create directory to provision new pv: export nfs.example:/srv/nfs is "
                       "not mounted at '");
    assert_false(is_there(in_export(NFS_SUBDIR_MARKER)));
    sh("mount -t tmpfs tmpfs '%s'", mount_dir);
    assert_provisioned(true, "");
    v = know_volume("nfs.example", "/srv/nfs/d", own_id());
    sh("mkdir '%s'", in_export("d"));
    sh("umount -l '%s'", mount_dir);
    assert_kept(v, "is not mounted at '");
    assert_provisioned(false, "set requireMount: false to use the directory itself");
    assert_int_equal(rmdir(mount_dir), 0); /* it is empty */
    assert_kept(v, "cannot open '");
    close_export();
}

/* Another file system in the place of the export: with a marker of its own, or empty. */
TEST(nfs_subdir_refuses_other_file_systems)
{
    struct object *v;

    skip_without_private_mounts();
    open_export();
    export.may_be_plain = false;
    sh("mount -t tmpfs tmpfs '%s'", mount_dir);
    assert_provisioned(true, "");
    v = know_volume("nfs.example", "/srv/nfs/d", own_id());
    sh("mkdir '%s'", in_export("d"));

    sh("mount -t tmpfs other '%s' && mkdir '%s'", mount_dir, in_export("d"));
    put_file(in_export(NFS_SUBDIR_MARKER), MARKER_OF("nfs.example:/srv/nfs", OTHER_ID));
    assert_provisioned(false, "holds another file system than the one of volume \"pv-0\": its file "
                              "'.berth-export.json' has the id " OTHER_ID);
    assert_kept(v, "Mount the right one there");
    put_file(in_export(NFS_SUBDIR_MARKER), MARKER_OF("others:/x", OTHER_ID));
    assert_provisioned(false, "holds export others:/x and not export nfs.example:/srv/nfs");
    assert_kept(v, "holds export others:/x");
    put_file(in_export(NFS_SUBDIR_MARKER), "damaged");
    assert_provisioned(false, "remove the file");
    assert_kept(v, "remove the file");
    assert_true(is_there(in_export("d")));
    sh("umount '%s' && mount -t tmpfs empty '%s'", mount_dir, mount_dir);
    assert_provisioned(false,
                       "it has neither a file '.berth-export.json' nor directory 'd' of volume \"pv-0\"");
    assert_kept(v, "Mount the export there. If it is mounted, restore the directory, or delete the volume");
    assert_false(is_there(in_export(NFS_SUBDIR_MARKER)));

    sh("umount '%s'", mount_dir);
    assert_provisioned(true, "");
    ASSERT_OK(remove_known(v));
    assert_false(is_there(in_export("d")));
    sh("umount '%s'", mount_dir);
    close_export();
}

/* A marker that was deleted is written again, with the id that the volumes record, when their directories are
 * all there. */
TEST(nfs_subdir_restores_its_marker)
{
    char id[UID_BYTES];
    struct object *v;

    open_export();
    assert_provisioned(true, "");
    memcpy(id, identity.id, sizeof id);
    v = know_volume("nfs.example", "/srv/nfs/d", own_id());
    (void)know_volume("nfs.example", "/srv/nfs/e/f", ""); /* made before there were markers */
    (void)know_volume("elsewhere", "/srv/nfs/other", "");
    (void)know_volume("nfs.example", "/other/x", "");
    assert_int_equal(unlink(in_export(NFS_SUBDIR_MARKER)), 0);
    assert_int_equal(mkdir(in_export("d"), 0777), 0);
    assert_provisioned(false, "nor directory 'e/f' of volume \"pv-1\"");
    assert_kept(v, "nor directory 'e/f' of volume \"pv-1\"");
    sh("mkdir -p '%s'", in_export("e/f"));
    assert_provisioned(true, "");
    ASSERT_STR(id, identity.id);
    assert_int_equal(unlink(in_export(NFS_SUBDIR_MARKER)), 0);
    identity = (struct storage_identity){ 0 }; /* of another process */
    ASSERT_OK(remove_known(v));
    ASSERT_STR(id, identity.id);
    close_export();
}

/* A process that has just started takes the marker that is there, if no volume records another. */
TEST(nfs_subdir_adopts_a_marker)
{
    struct object *v;

    open_export();
    put_file(in_export(NFS_SUBDIR_MARKER), MARKER_OF("nfs.example:/srv/nfs", OTHER_ID));
    (void)know_volume("nfs.example", "/srv/nfs/gone", ""); /* without a record, and without a directory */
    assert_provisioned(true, "");
    ASSERT_STR(OTHER_ID, identity.id);
    v = know_volume("nfs.example", "/srv/nfs/d", "'" ANN_EXPORT_ID "':'" OTHER_ID "'");
    identity = (struct storage_identity){ 0 };
    assert_provisioned(true, "");
    ASSERT_OK(remove_known(v)); /* what is not there is done */
    v = know_volume("nfs.example", "/srv/nfs/d", "'" ANN_EXPORT_ID "':'another'");
    assert_kept(v, "the volume's annotation " ANN_EXPORT_ID " is another");
    close_export();
}

/* Users of the export can put anything in the place of a directory, also while it is identified. */
TEST(nfs_subdir_identifies_without_links)
{
    open_export();
    sh("mkdir '%s' && ln -s '%s' '%s'", in_dir(&dir, "outside"), in_dir(&dir, "outside"), in_export("d"));
    (void)know_volume("nfs.example", "/srv/nfs/d", "");
    ASSERT_ERR(ERR_EXISTS, remove_known(known[0]));
    assert_false(is_there(in_export(NFS_SUBDIR_MARKER)));
    close_export();
}

/* --- While somebody exchanges directories for links --- */

#define ROUNDS 2000
#define ROUNDS_MAX 1000000

static atomic_int race_is_over;

/* "p" is a directory, then a link to the world outside, and so on. */
static void *swap_for_links(void *arg)
{
    (void)arg;
    while (!atomic_load(&race_is_over)) {
        (void)rename(in_dir(&dir, "export/p"), in_dir(&dir, "export/q"));
        (void)!symlink("../outside", in_dir(&dir, "export/p"));
        (void)unlink(in_dir(&dir, "export/p"));
        (void)rename(in_dir(&dir, "export/q"), in_dir(&dir, "export/p"));
    }
    return NULL;
}

TEST(nfs_subdir_stays_in_its_export_while_links_come_and_go)
{
    _cleanup_(buf_done_p) struct buf source = BUF_INIT(65536);
    unsigned made = 0, refused = 0;
    pthread_t thread;

    open_export();
    assert_int_equal(mkdir(in_dir(&dir, "outside"), 0755), 0);
    assert_int_equal(mkdir(in_dir(&dir, "outside/v"), 0755), 0);
    put_file(in_dir(&dir, "outside/v/precious"), "x");
    assert_int_equal(mkdir(in_export("p"), 0777), 0);
    atomic_store(&race_is_over, 0);
    assert_int_equal(pthread_create(&thread, NULL, swap_for_links, NULL), 0);
    /* On a busy machine the thread may sleep for all of these rounds. */
    for (unsigned i = 0; i < ROUNDS || ((made == 0 || refused == 0) && i < ROUNDS_MAX); i++) {
        struct error e;
        int r = provision("p/v", CLAIM, &source, &e);

        made += r == 0;
        refused += r < 0;
        (void)drop("/srv/nfs/p/v", i % 2 ? "'onDelete':'delete'" : "", &e);
        (void)rmdir(in_export("archived-v"));
    }
    atomic_store(&race_is_over, 1);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(is_there(in_dir(&dir, "outside/v/precious")));
    print_message("%u made, %u refused\n", made, refused);
    assert_true(made > 0 && refused > 0);
    close_export();
}

/* --- On the server --- */

static int make(const struct component_deps *o, void **ret, struct error *e)
{
    return blocking_open(o, &nfs_subdir_type, &export, /* record= */ NULL, ret, e);
}

static void start(void *part)
{
    provisioner_start(part);
}

static void end(void *part)
{
    (void)provisioner_free(part);
    the_pool = pool_free(the_pool);
}

static const struct part_type type = { make, start, end };

/* plugins-53: made for a claim, archived when that is gone; kept when the class says so. */
TEST(nfs_subdir_from_claim_to_archive)
{
    char uid[64], path[256], name[256];
    struct parts w;

    open_export();
    parts_init(&w, &type);
    put_class(&w, "c", "");
    put_claim(&w, "x", "", "", uid);
    pass(&w, 1);
    (void)snprintf(name, sizeof name, "default-x-pvc-%s", uid);
    assert_true(is_there(in_export(name)));
    (void)snprintf(path, sizeof path, "%s", volume_path(uid));
    ASSERT_SENT(&w.served, 200, "GET", path, NULL);
    drop_claim(&w, CLAIMS "/x");
    release(&w, path);
    pass(&w, 1);
    ASSERT_GONE(&w, path);
    assert_false(is_there(in_export(name)));
    (void)snprintf(name, sizeof name, "archived-default-x-pvc-%s", uid);
    assert_true(is_there(in_export(name)));
    parts_done(&w);
    close_export();
}

/* Two claims whose pattern gives the same directory: it stays as long as one of them has it. */
TEST(nfs_subdir_keeps_what_another_volume_has)
{
    static const char *const parameters[] = { "'onDelete':'delete'", "'archiveOnDelete':'true'" };

    for (size_t i = 0; i < ARRAY_LEN(parameters); i++) {
        char uid[2][64], path[2][256], class[256], words[256];
        struct parts w;

        open_export();
        parts_init(&w, &type);
        (void)snprintf(class, sizeof class, ",'parameters':{'pathPattern':'shared',%s}", parameters[i]);
        put_class(&w, "c", class);
        put_claim(&w, "x", "", "", uid[0]);
        put_claim(&w, "y", "", "", uid[1]);
        pass(&w, 1);
        for (int v = 0; v < 2; v++) {
            (void)snprintf(path[v], sizeof path[v], "%s", volume_path(uid[v]));
            ASSERT_SENT(&w.served, 200, "GET", path[v], NULL);
        }
        put_file(in_export("shared/data"), "x");
        drop_claim(&w, CLAIMS "/x");
        release(&w, path[0]);
        pass(&w, 1);
        assert_true(is_there(in_export("shared/data")));
        (void)snprintf(words, sizeof words, "'/srv/nfs/shared' is also the path of volume \"pvc-%s\"",
                       uid[1]);
        ASSERT_EVENT(&w, "Warning", "VolumeFailedDelete", words);
        drop_claim(&w, CLAIMS "/y");
        release(&w, path[1]);
        pass(&w, 20);
        ASSERT_GONE(&w, path[0]);
        ASSERT_GONE(&w, path[1]);
        assert_false(is_there(in_export("shared/data")));
        parts_done(&w);
        close_export();
    }
}

TEST_MAIN()

/* Volumes that show objects, in a real root directory with real mounts. */
#include "tests/unit/test_pod_volumes.h"

#include <dirent.h>
#include <linux/magic.h>

#define CONFIG "volumes/kubernetes.io~configmap/v"
#define SECRET "volumes/kubernetes.io~secret/v"
#define PROJECTED "volumes/kubernetes.io~projected/v"
#define NOTES "plugins/kubernetes.io~empty-dir/wrapped_v"
#define POD(source) "'containers':[{'name':'c'}],'volumes':[{'name':'v'," source "}]"
#define CONFIG_POD POD("'configMap':{'name':'m','defaultMode':420}")
#define OBJECT(data) "{'metadata':{'name':'m'},'data':" data "}"

static void assert_gone(struct scene *s, const char *volume)
{
    assert_false(exists(in_pod(s, volume)));
    assert_false(exists(in_pod(s, NOTES)));
    ASSERT_INT(0, mounts_in(in_pod(s, "volumes")));
}

/* The object as it is now. */
static void now_has(struct scene *s, const char *data)
{
    scene_clear_contents(s);
    has_object(s, 0, KIND_CONFIG_MAP, data);
}

/* How many names there are in a directory. */
static unsigned names_in(const char *path)
{
    DIR *d = opendir(path);
    unsigned count = 0;

    assert_non_null(d);
    while (readdir(d))
        count++;
    (void)closedir(d);
    return count - 2;
}

/* --- ConfigMaps --- */

/* plugins-28 */
TEST(a_config_map_changes_as_a_whole)
{
    _cleanup_(scene_done) struct scene s;
    char before[PATH_MAX], old_dir[PATH_MAX * 2];

    scene_init(&s, CONFIG_POD);
    now_has(&s, OBJECT("{'one':'1','two':'2'}"));
    ASSERT_OK(set_up(&s, &config_map_plugin));
    ASSERT_STR("1", text_of(in_pod(&s, CONFIG "/one")));
    ASSERT_STR("..data/one", link_of(in_pod(&s, CONFIG "/one")));
    ASSERT_INT(0644, mode_of(in_pod(&s, CONFIG "/..data/two")));
    assert_true(exists(in_pod(&s, NOTES "/ready")));
    (void)snprintf(before, sizeof before, "%s", link_of(in_pod(&s, CONFIG "/..data")));
    (void)snprintf(old_dir, sizeof old_dir, "%s/%s", in_pod(&s, CONFIG), before);

    s.is_remount = true;
    ASSERT_OK(set_up(&s, &config_map_plugin)); /* the same */
    ASSERT_STR(before, link_of(in_pod(&s, CONFIG "/..data")));

    now_has(&s, OBJECT("{'one':'1','two':'zwei'}"));
    ASSERT_OK(set_up(&s, &config_map_plugin));
    assert_string_not_equal(before, link_of(in_pod(&s, CONFIG "/..data")));
    ASSERT_STR("1", text_of(in_pod(&s, CONFIG "/one")));
    ASSERT_STR("zwei", text_of(in_pod(&s, CONFIG "/two")));
    assert_false(exists(old_dir));

    now_has(&s, OBJECT("{'two':'zwei'}"));
    ASSERT_OK(set_up(&s, &config_map_plugin));
    assert_false(exists(in_pod(&s, CONFIG "/one")));
    ASSERT_INT(3, names_in(in_pod(&s, CONFIG))); /* two, ..data and its directory */
    ASSERT_OK(tear_down(&s, &config_map_plugin));
    assert_gone(&s, CONFIG);
    ASSERT_OK(tear_down(&s, &config_map_plugin)); /* again */
}

/* plugins-29 */
TEST(another_mode_alone_changes_nothing)
{
    _cleanup_(scene_done) struct scene s;
    char before[PATH_MAX];

    scene_init(&s, CONFIG_POD);
    now_has(&s, OBJECT("{'one':'1'}"));
    ASSERT_OK(set_up(&s, &config_map_plugin));
    (void)snprintf(before, sizeof before, "%s", link_of(in_pod(&s, CONFIG "/..data")));
    scene_change_pod(&s, POD("'configMap':{'name':'m','defaultMode':384}"));
    s.is_remount = true;
    ASSERT_OK(set_up(&s, &config_map_plugin));
    ASSERT_STR(before, link_of(in_pod(&s, CONFIG "/..data")));
    ASSERT_INT(0644, mode_of(in_pod(&s, CONFIG "/..data/one")));
}

/* plugins-27 */
TEST(a_missing_key_leaves_the_old_content)
{
    static const char pod[] =
        POD("'configMap':{'name':'m','defaultMode':420,'items':[{'key':'one','path':'a'},"
            "{'key':'two','path':'b'}]}");
    static const char optional[] =
        POD("'configMap':{'name':'m','defaultMode':420,'optional':true,'items':[{'key':'one','path':'a'},"
            "{'key':'two','path':'b'}]}");
    _cleanup_(scene_done) struct scene s;

    scene_init(&s, pod);
    now_has(&s, OBJECT("{'one':'1'}"));
    ASSERT_ERR(ERR_UNAVAILABLE, set_up(&s, &config_map_plugin)); /* the first time: nothing is made */
    assert_gone(&s, CONFIG);
    now_has(&s, OBJECT("{'one':'1','two':'2'}"));
    ASSERT_OK(set_up(&s, &config_map_plugin));
    s.is_remount = true;
    now_has(&s, OBJECT("{'one':'new'}"));
    ASSERT_ERR(ERR_UNAVAILABLE, set_up(&s, &config_map_plugin));
    ASSERT_STR("configmap references non-existent config key: two", err.msg);
    ASSERT_STR("1", text_of(in_pod(&s, CONFIG "/a")));
    ASSERT_STR("2", text_of(in_pod(&s, CONFIG "/b")));
    scene_change_pod(&s, optional);
    ASSERT_OK(set_up(&s, &config_map_plugin));
    ASSERT_STR("new", text_of(in_pod(&s, CONFIG "/a")));
    assert_false(exists(in_pod(&s, CONFIG "/b")));
}

TEST(content_that_is_not_there_leaves_all_as_it_was)
{
    static const enum err codes[] = { ERR_TIMEOUT, ERR_CANCELLED, ERR_UNAVAILABLE, ERR_NOT_FOUND,
                                      ERR_DENIED };
    _cleanup_(scene_done) struct scene s;

    scene_init(&s, CONFIG_POD);
    now_has(&s, OBJECT("{'one':'1'}"));
    ASSERT_OK(set_up(&s, &config_map_plugin));
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        struct volume_content *c = &s.contents[0];
        scene_clear_contents(&s);
        *c = (struct volume_content){ .projection = PROJECTION_CONFIG_MAP };
        c->r = error_set(&c->err, codes[i], "no answer");
        s.contents_count = 1;
        ASSERT_ERR(ERR_UNAVAILABLE, set_up(&s, &config_map_plugin));
        ASSERT_INT(ERR_UNAVAILABLE, err.code);
        ASSERT_STR("no answer", err.msg);
        ASSERT_STR("1", text_of(in_pod(&s, CONFIG "/one")));
    }
}

/* Keys of ConfigMaps are checked by the server; paths of items and an object of another server need not be.
 */
TEST(names_that_are_no_files_are_refused)
{
    static const char *const items[] = { "../x", "/etc/x", "a/../b", "..x", "", "a/..", ".." };
    static const char *const keys[] = { "a/../../x", "..", "..x", "" };
    _cleanup_(scene_done) struct scene s;
    char text[512];

    scene_init(&s, CONFIG_POD);
    for (size_t i = 0; i < ARRAY_LEN(items); i++) {
        (void)snprintf(text, sizeof text,
                       POD("'configMap':{'name':'m','defaultMode':420,'items':[{'key':'k','path':'%s'}]}"),
                       items[i]);
        scene_change_pod(&s, text);
        now_has(&s, OBJECT("{'k':'1'}"));
        ASSERT_ERR(ERR_UNAVAILABLE, set_up(&s, &config_map_plugin));
        assert_non_null(strstr(err.msg, "invalid path: "));
    }
    scene_change_pod(&s, CONFIG_POD);
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        (void)snprintf(text, sizeof text, OBJECT("{'%s':'1'}"), keys[i]);
        now_has(&s, text);
        ASSERT_ERR(ERR_UNAVAILABLE, set_up(&s, &config_map_plugin));
    }
    assert_false(exists(in_dir(s.d, "pods")));
    now_has(&s, OBJECT("{'one':'1'}"));
    ASSERT_OK(set_up(&s, &config_map_plugin));
    now_has(&s, OBJECT("{'..bad':'1'}"));
    ASSERT_ERR(ERR_UNAVAILABLE, set_up(&s, &config_map_plugin));
    ASSERT_STR("1", text_of(in_pod(&s, CONFIG "/one"))); /* what cannot be shown leaves what was */
}

/* A megabyte of keys, and then one of them changes. */
TEST(a_config_map_of_a_megabyte)
{
    enum { KEYS = 16384 };
    _cleanup_(scene_done) struct scene s;
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(8 << 20);
    _cleanup_(json_done_p) struct json scratch;
    struct object *o = NULL;

    scene_init(&s, CONFIG_POD);
    buf_add_cstr(&text, "{\"metadata\":{\"name\":\"m\"},\"data\":{");
    for (unsigned i = 0; i < KEYS; i++)
        buf_addf(&text, "%s\"key-%05u\":\"%058u\"", i ? "," : "", i, i);
    buf_add_cstr(&text, "}}");
    json_init(&scratch, 8 << 20);
    ASSERT_OK(object_decode(kind_info(KIND_CONFIG_MAP), buf_str(&text), &scratch, &o, &err));
    s.contents[s.contents_count++] =
        (struct volume_content){ .object = o, .projection = PROJECTION_CONFIG_MAP };
    ASSERT_OK(set_up(&s, &config_map_plugin));
    ASSERT_INT(KEYS + 2, names_in(in_pod(&s, CONFIG)));
    ASSERT_INT(58, strlen(text_of(in_pod(&s, CONFIG "/key-16383"))));
    s.is_remount = true;
    now_has(&s, OBJECT("{'key-00000':'x'}"));
    ASSERT_OK(set_up(&s, &config_map_plugin));
    ASSERT_INT(3, names_in(in_pod(&s, CONFIG)));
    ASSERT_OK(tear_down(&s, &config_map_plugin));
    assert_gone(&s, CONFIG);
}

TEST(a_full_disk_takes_the_volume_away)
{
    skip_without_private_mounts();
    _cleanup_(scene_done) struct scene s;
    char value[4001], text[4200];

    scene_init(&s, CONFIG_POD);
    ASSERT_INT(0, mount("tmpfs", s.d->path, "tmpfs", 0, "size=64k"));
    now_has(&s, OBJECT("{'one':'1'}"));
    ASSERT_OK(set_up(&s, &config_map_plugin));
    s.is_remount = true;
    memset(value, 'x', sizeof value - 1);
    value[sizeof value - 1] = '\0';
    (void)snprintf(text, sizeof text, OBJECT("{'one':'%s'}"), value);
    now_has(&s, text);
    scene_change_pod(&s, POD("'configMap':{'name':'m','defaultMode':420,'items':["
                             "{'key':'one','path':'1'},{'key':'one','path':'2'},{'key':'one','path':'3'},"
                             "{'key':'one','path':'4'},{'key':'one','path':'5'},{'key':'one','path':'6'},"
                             "{'key':'one','path':'7'},{'key':'one','path':'8'},{'key':'one','path':'9'},"
                             "{'key':'one','path':'a'},{'key':'one','path':'b'},{'key':'one','path':'c'},"
                             "{'key':'one','path':'d'},{'key':'one','path':'e'},{'key':'one','path':'f'},"
                             "{'key':'one','path':'g'},{'key':'one','path':'h'}]}"));
    assert_true(set_up(&s, &config_map_plugin) < 0);
    assert_non_null(strstr(err.msg, strerror(ENOSPC)));
    assert_gone(&s, CONFIG);
    scene_change_pod(&s, CONFIG_POD); /* and there is room again */
    ASSERT_OK(set_up(&s, &config_map_plugin));
}

/* --- Secrets --- */

TEST(secrets_are_in_memory)
{
    skip_without_private_mounts();
    _cleanup_(scene_done) struct scene s;
    struct host_usage usage;

    scene_init(&s, POD("'secret':{'secretName':'s','defaultMode':256}"));
    has_object(&s, 0, KIND_SECRET, "{'metadata':{'name':'s'},'data':{'key':'aHVzaA=='}}");
    ASSERT_OK(set_up(&s, &secret_plugin));
    ASSERT_INT(TMPFS_MAGIC, magic_of(in_pod(&s, SECRET)));
    ASSERT_INT(1, mounts_in(in_pod(&s, SECRET)));
    ASSERT_STR("hush", text_of(in_pod(&s, SECRET "/key")));
    ASSERT_INT(0400, mode_of(in_pod(&s, SECRET "/..data/key")));
    ASSERT_OK(secret_plugin.pods->usage(&secret_plugin, &s.env, in_pod(&s, SECRET), &usage, &err));
    ASSERT_INT(5, usage.inodes_used); /* itself, ..data, its directory, the key and its link */
    ASSERT_OK(set_up(&s, &secret_plugin));
    ASSERT_INT(1, mounts_in(in_pod(&s, SECRET)));
    ASSERT_OK(tear_down(&s, &secret_plugin));
    assert_gone(&s, SECRET);
}

/* The volume's own file system is full: nothing stays mounted, and nothing is told of what was in it. */
TEST(a_secret_that_does_not_fit_leaves_no_mount)
{
    skip_without_private_mounts();
    _cleanup_(scene_done) struct scene s;
    char value[5001], text[5200];

    scene_init(&s, "'containers':[{'name':'c','resources':{'limits':{'memory':'4Ki'}}}],"
                   "'volumes':[{'name':'v','secret':{'secretName':'s','defaultMode':256}}]");
    memset(value, 'Q', sizeof value - 1);
    value[sizeof value - 1] = '\0';
    (void)snprintf(text, sizeof text, "{'metadata':{'name':'s'},'data':{'a':'%s','b':'%s'}}", value, "QQ==");
    has_object(&s, 0, KIND_SECRET, text);
    assert_true(set_up(&s, &secret_plugin) < 0);
    assert_non_null(strstr(err.msg, strerror(ENOSPC)));
    assert_null(strstr(err.msg, "QQQ"));
    assert_gone(&s, SECRET);
}

/* --- Projected --- */

/* plugins-34 */
TEST(the_later_source_wins)
{
    skip_without_private_mounts();
    _cleanup_(scene_done) struct scene s;

    scene_init(
        &s,
        POD("'projected':{'defaultMode':420,'sources':[{'configMap':{'name':'m','items':[{'key':'k',"
            "'path':'x'}]}},{'secret':{'name':'s','items':[{'key':'k','path':'x'}]}},"
            "{'downwardAPI':{'items':[{'path':'pod/name','fieldRef':{'fieldPath':'metadata.name'}}]}}]}"));
    has_object(&s, 0, KIND_CONFIG_MAP, "{'metadata':{'name':'m'},'data':{'k':'of the map'}}");
    has_object(&s, 1, KIND_SECRET, "{'metadata':{'name':'s'},'data':{'k':'aHVzaA=='}}");
    ASSERT_OK(set_up(&s, &projected_plugin));
    ASSERT_STR("hush", text_of(in_pod(&s, PROJECTED "/x")));
    ASSERT_STR("web-0", text_of(in_pod(&s, PROJECTED "/pod/name")));
    ASSERT_INT(TMPFS_MAGIC, magic_of(in_pod(&s, PROJECTED)));
    ASSERT_OK(tear_down(&s, &projected_plugin));
    assert_gone(&s, PROJECTED);
}

/* plugins-35 */
TEST(a_token_is_read_by_its_group)
{
    skip_without_private_mounts();
    static const struct {
        int64_t fs_user, fs_group;
        unsigned mode;
        unsigned uid, gid;
    } rows[] = {
        { -1, -1, 0644, 0, 0 },
        { -1, 2000, 0640, 0, 2000 },
        { 1000, -1, 0600, 1000, 0 },
        { 1000, 2000, 0640, 1000, 2000 },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(scene_done) struct scene s;
        struct stat st;
        scene_init(
            &s, POD("'projected':{'defaultMode':420,'sources':[{'serviceAccountToken':{'path':'token'}}]}"));
        s.fs_user = rows[i].fs_user;
        s.fs_group = rows[i].fs_group;
        s.contents[s.contents_count++] =
            (struct volume_content){ .projection = PROJECTION_TOKEN, .token = STR_LIT("eyJ") };
        ASSERT_OK(set_up(&s, &projected_plugin));
        ASSERT_STR("eyJ", text_of(in_pod(&s, PROJECTED "/token")));
        ASSERT_INT(0, stat(in_pod(&s, PROJECTED "/token"), &st));
        ASSERT_INT(rows[i].mode, st.st_mode & 07777);
        ASSERT_INT(rows[i].uid, st.st_uid);
        ASSERT_INT(rows[i].gid, st.st_gid);
    }
}

TEST(a_source_that_is_not_supported_mounts_nothing)
{
    _cleanup_(scene_done) struct scene s;

    scene_init(&s,
               POD("'projected':{'defaultMode':420,'sources':[{'podCertificate':{'keyType':'ED25519'}}]}"));
    ASSERT_ERR(ERR_UNAVAILABLE, set_up(&s, &projected_plugin));
    ASSERT_STR("podCertificate sources are not supported", err.msg);
    assert_gone(&s, PROJECTED);
}

/* --- What they share --- */

TEST(the_group_may_read_and_enter)
{
    if (getuid() != 0)
        skip();
    _cleanup_(scene_done) struct scene s;

    scene_init(&s, POD("'configMap':{'name':'m','defaultMode':256,'items':[{'key':'k','path':'d/f'}]}"));
    s.fs_group = 2000;
    now_has(&s, OBJECT("{'k':'1'}"));
    ASSERT_OK(set_up(&s, &config_map_plugin));
    ASSERT_INT(0440, mode_of(in_pod(&s, CONFIG "/..data/d/f")));
    ASSERT_INT(2000, gid_of(in_pod(&s, CONFIG "/..data/d/f")));
    assert_true((mode_of(in_pod(&s, CONFIG "/..data/d")) & 02050) == 02050);
    ASSERT_INT(2000, gid_of(in_pod(&s, CONFIG)));
    ASSERT_INT(02777, mode_of(in_pod(&s, CONFIG)));
}

TEST(places_for_other_volumes_are_made_inside)
{
    static const char pod[] =
        "'initContainers':[{'name':'i','volumeMounts':[{'name':'v','mountPath':'/i/'},"
        "{'name':'w','mountPath':'/i//from/init'}]}],"
        "'containers':[{'name':'c','volumeMounts':[{'name':'w','mountPath':'/cfg/deep/er'},"
        "{'name':'v','mountPath':'/cfg'},{'name':'w','mountPath':'/cfgs/beside'},"
        "{'name':'v','mountPath':'/cfg/itself'},{'name':'x','mountPath':'/'}]},"
        "{'name':'d','volumeMounts':[{'name':'w','mountPath':'/cfg/other'}]}],"
        "'volumes':[{'name':'v','configMap':{'name':'m','defaultMode':420}}]";
    _cleanup_(scene_done) struct scene s;
    mode_t old = umask(0077);

    scene_init(&s, pod);
    now_has(&s, OBJECT("{'one':'1'}"));
    ASSERT_OK(set_up(&s, &config_map_plugin));
    (void)umask(old);
    ASSERT_INT(0755, mode_of(in_pod(&s, CONFIG "/deep")));
    ASSERT_INT(0755, mode_of(in_pod(&s, CONFIG "/deep/er")));
    ASSERT_INT(0755, mode_of(in_pod(&s, CONFIG "/from/init")));
    ASSERT_INT(5, names_in(in_pod(&s, CONFIG))); /* those two, one, ..data and its directory */
    s.is_remount = true;
    now_has(&s, OBJECT("{'one':'2'}"));
    ASSERT_OK(set_up(&s, &config_map_plugin));
    assert_true(exists(in_pod(&s, CONFIG "/deep/er")));
    ASSERT_STR("2", text_of(in_pod(&s, CONFIG "/one")));
}

TEST(places_outside_are_not_made)
{
    static const char pod[] = "'containers':[{'name':'c','volumeMounts':[{'name':'v','mountPath':'/cfg'},"
                              "{'name':'w','mountPath':'/cfg/../../../x'}]}],"
                              "'volumes':[{'name':'v','configMap':{'name':'m','defaultMode':420}}]";
    _cleanup_(scene_done) struct scene s;

    scene_init(&s, pod);
    now_has(&s, OBJECT("{'one':'1'}"));
    ASSERT_ERR(ERR_INVALID, set_up(&s, &config_map_plugin));
    ASSERT_STR("invalid destination /cfg/../../../x in mount point /cfg of container c in pod web-0",
               err.msg);
    assert_gone(&s, CONFIG);
    scene_change_pod(&s, CONFIG_POD);
    ASSERT_OK(set_up(&s, &config_map_plugin));
    scene_change_pod(&s, pod);
    s.is_remount = true;
    ASSERT_ERR(ERR_INVALID, set_up(&s, &config_map_plugin));
    ASSERT_STR("1", text_of(in_pod(&s, CONFIG "/one"))); /* it was there before, and stays */
}

/* A link in the volume, by whatever hand, leads no directory out of it. */
TEST(a_link_inside_leads_nowhere)
{
    static const char pod[] = "'containers':[{'name':'c','volumeMounts':[{'name':'v','mountPath':'/cfg'},"
                              "{'name':'w','mountPath':'/cfg/link/made'}]}],"
                              "'volumes':[{'name':'v','configMap':{'name':'m','defaultMode':420}}]";
    _cleanup_(scene_done) struct scene s;

    scene_init(&s, CONFIG_POD);
    now_has(&s, OBJECT("{'one':'1'}"));
    ASSERT_OK(set_up(&s, &config_map_plugin));
    ASSERT_INT(0, mkdir(in_dir(s.d, "outside"), 0700));
    ASSERT_INT(0, symlink(in_dir(s.d, "outside"), in_pod(&s, CONFIG "/link")));
    scene_change_pod(&s, pod);
    s.is_remount = true;
    assert_true(set_up(&s, &config_map_plugin) < 0);
    assert_false(exists(in_dir(s.d, "outside/made")));
}

TEST(what_was_stopped_is_finished_by_the_next)
{
    if (getuid() != 0)
        skip();
    _cleanup_(scene_done) struct scene s;

    scene_init(&s, CONFIG_POD);
    s.fs_group = 2000;
    now_has(&s, OBJECT("{'one':'1'}"));
    ASSERT_OK(set_up(&s, &config_map_plugin));
    now_has(&s, OBJECT("{'one':'2'}"));
    s.is_remount = true;
    atomic_store(&s.stop, 1);
    ASSERT_ERR(ERR_INCOMPLETE, set_up(&s, &config_map_plugin));
    ASSERT_STR("1", text_of(in_pod(&s, CONFIG "/one")));
    atomic_store(&s.stop, 0);
    ASSERT_OK(set_up(&s, &config_map_plugin));
    ASSERT_STR("2", text_of(in_pod(&s, CONFIG "/one")));
    ASSERT_INT(3, names_in(in_pod(&s, CONFIG))); /* nothing is left of the first try */
}

TEST(the_plugins_of_shown_objects)
{
    static const struct {
        const struct volume_plugin *plugin;
        const char *source, *name, *volume_name;
        enum pod_volume_type type;
    } rows[] = {
        { &config_map_plugin, "'configMap':{'name':'m'}", "kubernetes.io/configmap", "v/m",
          POD_VOLUME_CONFIG_MAP },
        { &secret_plugin, "'secret':{'secretName':'s'}", "kubernetes.io/secret", "s", POD_VOLUME_SECRET },
        { &downward_api_plugin, "'downwardAPI':{}", "kubernetes.io/downward-api", "v",
          POD_VOLUME_DOWNWARD_API },
        { &projected_plugin, "'projected':{'sources':[]}", "kubernetes.io/projected", "v",
          POD_VOLUME_PROJECTED },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct volume_plugin *p = rows[i].plugin;
        _cleanup_(object_unref_p) struct object *pod = plugin_object(
            KIND_POD, "{'metadata':{'name':'p'},'spec':{'volumes':[{'name':'v',%s}]}}", rows[i].source);
        struct volume_spec spec = { .inlined = &pod_of(pod)->volumes.items[0] };
        _cleanup_(buf_done_p) struct buf name = BUF_INIT(64);
        _cleanup_(object_unref_p) struct object *found = NULL;
        struct volume_env env = { 0 };
        ASSERT_STR(rows[i].name, p->name);
        for (size_t k = 0; k < ARRAY_LEN(rows); k++)
            assert_true(rows[k].plugin->can_support(rows[k].plugin, &spec) == (i == k));
        ASSERT_OK(p->volume_name(p, &spec, &name, &err));
        ASSERT_STR(rows[i].volume_name, buf_cstr(&name));
        assert_true(p->requires_remount);
        assert_true(p->pods->attributes(p, &spec).is_read_only);
        assert_true(p->pods->attributes(p, &spec).is_managed);
        ASSERT_OK(p->reconstruct(p, &env, "v", "u-1", false, &found, &err));
        ASSERT_INT(rows[i].type, pod_of(found)->volumes.items[0].type);
        ASSERT_ERR(ERR_UNSUPPORTED, p->reconstruct(p, &env, "v", "u-1", true, &found, &err));
    }
}

TEST_MAIN()

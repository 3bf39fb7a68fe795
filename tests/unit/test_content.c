/* The files of volumes that show objects: which, with what in them, and what is refused. */
#include "tests/unit/test_plugins.h"

#include "plugins/content.h"

#define CONTENTS_MAX 8

struct scene {
    struct object *pod;
    struct object *node; /* NULL for none */
    struct volume_content contents[CONTENTS_MAX];
    uint32_t contents_count;
    int64_t fs_group, fs_user;

    struct arena arena;
    struct atomic_files files;
};

/* A pod with one volume, v. */
static struct scene scene_of(const char *volume)
{
    struct scene s = { .fs_group = -1, .fs_user = -1, .arena = ARENA_INIT(1 << 20) };

    s.pod = plugin_object(
        KIND_POD,
        "{'metadata':{'name':'web-0','namespace':'shop','uid':'u-1','labels':{'b':'2','a':'1'}},"
        "'spec':{'serviceAccountName':'db','containers':[{'name':'c','resources':{'limits':"
        "{'cpu':'1500m','memory':'100Mi'}}}],'volumes':[{'name':'v',%s}]}}",
        volume);
    return s;
}

static void scene_done(struct scene *s)
{
    s->pod = object_unref(s->pod);
    s->node = object_unref(s->node);
    for (uint32_t i = 0; i < s->contents_count; i++)
        object_unref((struct object *)(uintptr_t)s->contents[i].object);
    arena_done(&s->arena);
}

static void has_object(struct scene *s, uint32_t index, enum kind kind, const char *text)
{
    s->contents[s->contents_count++] = (struct volume_content){
        .object = plugin_object(kind, "%s", text),
        .projection = kind == KIND_SECRET ? PROJECTION_SECRET : PROJECTION_CONFIG_MAP,
        .index = index,
    };
}

static void has_failure(struct scene *s, uint32_t index, enum pod_projection_type type, enum err code,
                        const char *message)
{
    struct volume_content *c = &s->contents[s->contents_count++];

    *c = (struct volume_content){ .projection = (uint8_t)type, .index = index };
    c->r = error_set(&c->err, code, "%s", message);
}

static struct volume_spec spec_of(const struct scene *s)
{
    return (struct volume_spec){ .inlined = &pod_of(s->pod)->volumes.items[0] };
}

static int build(struct scene *s)
{
    struct set_up_request q = {
        .spec = spec_of(s),
        .pod = pod_of(s->pod),
        .node = s->node ? node_of(s->node) : NULL,
        .contents = s->contents,
        .contents_count = s->contents_count,
        .fs_group = s->fs_group,
        .fs_user = s->fs_user,
    };

    return content_build(&s->arena, &q, &s->files, &err);
}

/* "path mode bytes" of each file, and its owner where it has one. */
static const char *shown(const struct scene *s)
{
    static char text[4096];
    int len = 0;

    for (size_t i = 0; i < s->files.count; i++) {
        const struct atomic_file *f = &s->files.items[i];
        len += snprintf(text + len, sizeof text - (size_t)len, "%s %o %.*s", f->path, (unsigned)f->mode,
                        STR_ARG(f->bytes));
        if (f->uid >= 0)
            len += snprintf(text + len, sizeof text - (size_t)len, " of %lld", (long long)f->uid);
        len += snprintf(text + len, sizeof text - (size_t)len, "\n");
        assert_true((size_t)len < sizeof text);
    }
    text[len] = '\0';
    return text;
}

static const char two_keys[] = "{'metadata':{'name':'m'},'data':{'one':'1','two':'2'}}";
static const char two_secrets[] = "{'metadata':{'name':'s'},'data':{'one':'MQ==','two':'Mg=='}}";

/* --- Keys --- */

TEST(keys_become_files)
{
    static const struct {
        const char *volume, *expected;
    } rows[] = {
        { "'configMap':{'name':'m','defaultMode':420}", "one 644 1\ntwo 644 2\n" },
        { "'configMap':{'name':'m','defaultMode':420,'items':[{'key':'two','path':'a/b'}]}", "a/b 644 2\n" },
        { "'configMap':{'name':'m','defaultMode':256,'items':[{'key':'two','path':'x','mode':384},"
          "{'key':'one','path':'y'},{'key':'two','path':'z','mode':0}]}",
          "x 600 2\ny 400 1\nz 0 2\n" },
        /* plugins-27, the second half: what is there is written */
        { "'configMap':{'name':'m','defaultMode':420,'optional':true,'items':[{'key':'none','path':'n'},"
          "{'key':'one','path':'o'}]}",
          "o 644 1\n" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(scene_done) struct scene s = scene_of(rows[i].volume);
        has_object(&s, 0, KIND_CONFIG_MAP, two_keys);
        ASSERT_OK(build(&s));
        ASSERT_STR(rows[i].expected, shown(&s));
    }
    _cleanup_(scene_done) struct scene s = scene_of("'secret':{'secretName':'s','defaultMode':256}");
    has_object(&s, 0, KIND_SECRET, two_secrets);
    ASSERT_OK(build(&s));
    ASSERT_STR("one 400 1\ntwo 400 2\n", shown(&s));
}

TEST(binary_data_is_shown_beside_data)
{
    _cleanup_(scene_done) struct scene s = scene_of("'configMap':{'name':'m','defaultMode':420}");

    has_object(&s, 0, KIND_CONFIG_MAP,
               "{'metadata':{'name':'m'},'data':{'t':'x'},'binaryData':{'b':'AAH/','c':''}}");
    ASSERT_OK(build(&s));
    ASSERT_INT(3, s.files.count);
    ASSERT_STR("b", s.files.items[0].path);
    ASSERT_INT(3, s.files.items[0].bytes.len);
    assert_memory_equal("\0\1\377", s.files.items[0].bytes.s, 3);
    ASSERT_INT(0, s.files.items[1].bytes.len);
}

/* plugins-27 */
TEST(what_is_missing_is_an_error_unless_optional)
{
    static const struct {
        const char *volume;
        enum pod_projection_type type;
        enum err fetched; /* ERR_NONE: the object of two keys */
        enum err expected;
        const char *message;
    } rows[] = {
        { "'configMap':{'name':'m','defaultMode':420,'items':[{'key':'none','path':'n'}]}",
          PROJECTION_CONFIG_MAP, ERR_NONE, ERR_INVALID,
          "configmap references non-existent config key: none" },
        { "'secret':{'secretName':'s','defaultMode':420,'items':[{'key':'none','path':'n'}]}",
          PROJECTION_SECRET, ERR_NONE, ERR_INVALID, "references non-existent secret key: none" },
        { "'configMap':{'name':'m','defaultMode':420}", PROJECTION_CONFIG_MAP, ERR_NOT_FOUND, ERR_NOT_FOUND,
          "it failed" },
        { "'configMap':{'name':'m','defaultMode':420,'optional':true}", PROJECTION_CONFIG_MAP, ERR_NOT_FOUND,
          ERR_NONE, "" },
        { "'secret':{'secretName':'s','defaultMode':420,'optional':true,'items':[{'key':'a','path':'b'}]}",
          PROJECTION_SECRET, ERR_NOT_FOUND, ERR_NONE, "" },
        { "'secret':{'secretName':'s','defaultMode':420,'optional':true}", PROJECTION_SECRET, ERR_UNAVAILABLE,
          ERR_UNAVAILABLE, "it failed" },
        { "'configMap':{'name':'m'}", PROJECTION_CONFIG_MAP, ERR_NONE, ERR_INVALID,
          "no defaultMode used, not even the default value for it" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(scene_done) struct scene s = scene_of(rows[i].volume);
        bool is_secret = rows[i].type == PROJECTION_SECRET;
        err = (struct error){ 0 };
        if (rows[i].fetched)
            has_failure(&s, 0, rows[i].type, rows[i].fetched, "it failed");
        else
            has_object(&s, 0, is_secret ? KIND_SECRET : KIND_CONFIG_MAP, is_secret ? two_secrets : two_keys);
        ASSERT_ERR(rows[i].expected, build(&s));
        ASSERT_STR(rows[i].message, err.msg);
        ASSERT_INT(0, s.files.count);
    }
}

TEST(what_nobody_fetched_is_told)
{
    _cleanup_(scene_done) struct scene s =
        scene_of("'configMap':{'name':'m','defaultMode':420,'optional':true}");

    ASSERT_ERR(ERR_INTERNAL, build(&s));
    ASSERT_STR("source 0 of volume 'v' was not fetched", err.msg);
}

/* Many sources that show one megabyte. */
TEST(a_small_pod_cannot_ask_for_a_full_disk)
{
    _cleanup_(scene_done) struct scene s = scene_of("'emptyDir':{}");
    _cleanup_(freep) char *bytes = calloc(1, 1 << 20);
    struct pod_token token = { "", "t", 600 };
    struct pod_projection sources[257];
    struct volume_content contents[257];
    struct pod_projected projected = { sources, ARRAY_LEN(sources) - 1, 420 };
    struct pod_volume volume = { .name = "v", .projected = &projected, .type = POD_VOLUME_PROJECTED };
    struct set_up_request q = {
        .spec = { .inlined = &volume },
        .pod = pod_of(s.pod),
        .contents = contents,
        .contents_count = ARRAY_LEN(contents),
        .fs_group = -1,
        .fs_user = -1,
    };

    for (uint32_t i = 0; i < ARRAY_LEN(sources); i++) {
        sources[i] = (struct pod_projection){ .token = &token, .type = PROJECTION_TOKEN };
        contents[i] = (struct volume_content){ .projection = PROJECTION_TOKEN,
                                               .index = i,
                                               .token = { bytes, 1 << 20 } };
    }
    ASSERT_OK(content_build(&s.arena, &q, &s.files, &err));
    ASSERT_INT(256, s.files.count);
    projected.items_count++;
    ASSERT_ERR(ERR_TOO_LARGE, content_build(&s.arena, &q, &s.files, &err));
    ASSERT_STR("files of volume 'v' exceed 256 MiB", err.msg);
}

/* --- Projected --- */

/* plugins-34: both stand there, and of one path the last counts. */
TEST(later_sources_come_later)
{
    _cleanup_(scene_done) struct scene s =
        scene_of("'projected':{'defaultMode':420,'sources':[{'configMap':{'name':'m','items':[{'key':'one',"
                 "'path':'x'}]}},{'secret':{'name':'s','items':[{'key':'two','path':'x','mode':256}]}},"
                 "{'downwardAPI':{'items':[{'path':'n','fieldRef':{'fieldPath':'metadata.name'}},{'path':'r',"
                 "'mode':292,'resourceFieldRef':{'containerName':'c','resource':'limits.cpu'}}]}}]}");

    has_object(&s, 1, KIND_SECRET, two_secrets);
    has_object(&s, 0, KIND_CONFIG_MAP, two_keys);
    ASSERT_OK(build(&s));
    ASSERT_STR("x 644 1\nx 400 2\nn 644 web-0\nr 444 2\n", shown(&s));
}

/* plugins-35: the mode and the owner; the group comes when it is written. */
TEST(a_token_is_for_its_reader_alone)
{
    static const struct {
        int64_t fs_user, fs_group;
        const char *expected;
    } rows[] = {
        { -1, -1, "t 644 eyJ\n" },
        { -1, 2000, "t 600 eyJ\n" },
        { 1000, -1, "t 600 eyJ of 1000\n" },
        { 0, 0, "t 600 eyJ of 0\n" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(scene_done) struct scene s =
            scene_of("'projected':{'defaultMode':420,'sources':[{'serviceAccountToken':{'path':'t'}}]}");
        s.fs_user = rows[i].fs_user;
        s.fs_group = rows[i].fs_group;
        s.contents[s.contents_count++] =
            (struct volume_content){ .projection = PROJECTION_TOKEN, .token = STR_LIT("eyJ") };
        ASSERT_OK(build(&s));
        ASSERT_STR(rows[i].expected, shown(&s));
    }
}

TEST(failures_of_sources_come_together)
{
    static const struct {
        const char *sources, *message;
        enum err expected;
    } rows[] = {
        { "{'secret':{'name':'s'}},{'configMap':{'name':'m'}}", "[no s, no m]", ERR_NOT_FOUND },
        { "{'secret':{'name':'s','optional':true}},{'configMap':{'name':'m'}}", "no m", ERR_UNAVAILABLE },
        { "{'secret':{'name':'s','optional':true}},{'clusterTrustBundle':{'path':'p'}}",
          "ClusterTrustBundle projection requires either name or signerName to be set", ERR_INVALID },
        { "{'clusterTrustBundle':{'path':'p','name':'b'}},{'podCertificate':{}},{'later':{}}",
          "[clusterTrustBundle sources are not supported, podCertificate sources are not supported, "
          "source 2 of the projected volume has an unknown type]",
          ERR_UNSUPPORTED },
        { "{'downwardAPI':{'items':[{'path':'a','fieldRef':{'fieldPath':'spec.a'}},{'path':'b','fieldRef':"
          "{'fieldPath':'spec.b'}},{'path':'c','fieldRef':{'fieldPath':'spec.a'}}]}},{'configMap':{'name':'m'"
          "}}",
          "[unsupported fieldPath: spec.a, unsupported fieldPath: spec.b, no m]", ERR_INVALID },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char volume[1024];
        (void)snprintf(volume, sizeof volume, "'projected':{'defaultMode':420,'sources':[%s]}",
                       rows[i].sources);
        _cleanup_(scene_done) struct scene s = scene_of(volume);
        has_failure(&s, 0, PROJECTION_SECRET, ERR_NOT_FOUND, "no s");
        has_failure(&s, 1, PROJECTION_CONFIG_MAP, ERR_UNAVAILABLE, "no m");
        ASSERT_ERR(rows[i].expected, build(&s));
        ASSERT_STR(rows[i].message, err.msg);
    }
}

TEST(many_failures_are_cut)
{
    char volume[6000] = "";
    size_t len = 0;

    for (int i = 0; i < 60; i++)
        len += (size_t)snprintf(volume + len, sizeof volume - len,
                                "%s{'path':'a','fieldRef':{'fieldPath':'spec.nothing-of-that-kind-%d'}}",
                                i ? "," : "'downwardAPI':{'defaultMode':420,'items':[", i);
    (void)snprintf(volume + len, sizeof volume - len, "]}");
    _cleanup_(scene_done) struct scene s = scene_of(volume);
    ASSERT_ERR(ERR_INVALID, build(&s));
    assert_non_null(strstr(err.msg, "[unsupported fieldPath: spec.nothing-of-that-kind-0, unsupported"));
}

TEST(secrets_are_not_in_errors)
{
    _cleanup_(scene_done) struct scene s = scene_of(
        "'projected':{'defaultMode':420,'sources':[{'secret':{'name':'s','items':[{'key':'one','path':"
        "'a'},{'key':'no','path':'b'}]}},{'serviceAccountToken':{'path':'t'}},{'podCertificate':{}}]}");

    has_object(&s, 0, KIND_SECRET, "{'metadata':{'name':'s'},'data':{'one':'aHVzaA=='}}");
    s.contents[s.contents_count++] =
        (struct volume_content){ .projection = PROJECTION_TOKEN, .index = 1, .token = STR_LIT("hush") };
    ASSERT_ERR(ERR_INVALID, build(&s));
    assert_null(strstr(err.msg, "hush"));
    assert_null(strstr(err.msg, "aHVzaA"));
}

/* --- What is needed --- */

static int write_need(void *ctx, const struct content_need *n)
{
    static const char *const words[] = {
        [PROJECTION_SECRET] = "secret", [PROJECTION_CONFIG_MAP] = "configMap", [PROJECTION_TOKEN] = "token"
    };
    struct buf *out = ctx;

    buf_addf(out, "%u %s %s%s", (unsigned)n->index, words[n->projection], n->name, n->is_optional ? "?" : "");
    if (n->projection == PROJECTION_TOKEN)
        buf_addf(out, " for '%s' %lld s", n->audience, (long long)n->expiration_seconds);
    buf_add_char(out, '\n');
    return -(int)out->failed;
}

static int end_at_once(void *ctx, const struct content_need *n)
{
    (void)n;
    return ++*(int *)ctx == 2 ? 7 : 0;
}

TEST(a_volume_says_what_it_needs)
{
    static const struct {
        const char *volume, *expected;
    } rows[] = {
        { "'configMap':{'name':'m'}", "0 configMap m\n" },
        { "'secret':{'secretName':'s','optional':true}", "0 secret s?\n" },
        { "'downwardAPI':{'items':[]}", "" },
        { "'emptyDir':{}", "" },
        { "'projected':{'sources':[{'downwardAPI':{}},{'secret':{'name':'s'}},{'configMap':{'name':'m',"
          "'optional':true}},{'clusterTrustBundle':{}},{'serviceAccountToken':{'path':'t','audience':'vault',"
          "'expirationSeconds':900}},{'serviceAccountToken':{'path':'u'}}]}",
          "1 secret s\n2 configMap m?\n4 token db for 'vault' 900 s\n5 token db for '' 3600 s\n" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(scene_done) struct scene s = scene_of(rows[i].volume);
        _cleanup_(buf_done_p) struct buf out = BUF_INIT(1024);
        struct volume_spec spec = spec_of(&s);
        ASSERT_INT(0, content_needs(&spec, pod_of(s.pod), write_need, &out));
        ASSERT_STR(rows[i].expected, buf_cstr(&out));
    }
    _cleanup_(scene_done) struct scene s = scene_of(rows[4].volume);
    struct volume_spec spec = spec_of(&s);
    int calls = 0;
    ASSERT_INT(7, content_needs(&spec, pod_of(s.pod), end_at_once, &calls));
    ASSERT_INT(2, calls);
}

TEST_MAIN()

/* The registry: plugins that are compiled in, plugins that a prober finds, and what is said about both. */
#include "tests/unit/test.h"

#include "api/migration.h"
#include "api/mountable.h"
#include "api/pod.h"
#include "api/volume.h"
#include "base/cleanup.h"
#include "plugins/registry.h"

static struct error err;

/* --- Plugins that serve what they are told --- */

static bool serves_host_path(const struct volume_plugin *self, const struct volume_spec *s)
{
    (void)self;
    return spec_source(s).kind == SOURCE_HOST_PATH;
}

static bool serves_flex(const struct volume_plugin *self, const struct volume_spec *s)
{
    struct volume_source source = spec_source(s);

    return source.kind == SOURCE_FLEX && strcmp(source.flex->driver, self->name) == 0;
}

static bool serves_nothing(const struct volume_plugin *self, const struct volume_spec *s)
{
    (void)self;
    (void)s;
    return false;
}

static const struct volume_plugin plugin_a = { .name = "test/a", .can_support = serves_host_path };
static const struct volume_plugin plugin_b = { .name = "test/b", .can_support = serves_host_path };
static const struct volume_plugin plugin_c = { .name = "test/c", .can_support = serves_nothing };
static const struct volume_plugin plugin_bad = { .name = "bad name!", .can_support = serves_nothing };

/* --- Volumes --- */

static struct object *make(const struct kind_info *kind, const char *text)
{
    struct object *o = NULL;
    struct json d;

    json_init(&d, 1 << 16);
    ASSERT_OK(object_decode(kind, str_of(text), &d, &o, &err));
    json_done(&d);
    return o;
}

static struct object *volume_with(const char *source)
{
    char text[512];

    (void)snprintf(text, sizeof text,
                   "{\"apiVersion\":\"v1\",\"kind\":\"PersistentVolume\",\"metadata\":{\"name\":\"pv\"},"
                   "\"spec\":{%s}}",
                   source);
    return make(&volume_kind, text);
}

#define HOST_PATH "\"hostPath\":{\"path\":\"/x\"}"
#define FLEX "\"flexVolume\":{\"driver\":\"acme/disk\"}"
#define NFS "\"nfs\":{\"server\":\"s\",\"path\":\"/x\"}"

/* --- A prober that says what it is told --- */

struct fake_prober {
    struct plugin_prober base;
    struct plugin_event events[4];
    size_t count;
    const char *complaint; /* NULL for none */
    unsigned probes;
};

static int fake_probe(struct plugin_prober *self, struct plugin_event **ret, size_t *ret_count,
                      struct error *e)
{
    struct fake_prober *p = CONTAINER_OF(self, struct fake_prober, base);

    p->probes++;
    *ret = p->events;
    *ret_count = p->count;
    p->count = 0;
    return p->complaint ? error_set(e, ERR_IO, "%s", p->complaint) : 0;
}

static unsigned frees;

static void found_free(struct volume_plugin *self)
{
    frees++;
    free(self);
}

static struct volume_plugin *found_new(const char *name)
{
    struct volume_plugin *p = calloc(1, sizeof *p);

    *p = (struct volume_plugin){ .name = name, .can_support = serves_flex, .free = found_free, .refs = 1 };
    return p;
}

static void fake_add(struct fake_prober *p, const char *name, struct volume_plugin *plugin)
{
    p->events[p->count++] = (struct plugin_event){ name, plugin };
}

/* plugins-1: two plugins for one volume are an error that names both. */
TEST(registry_names_both_that_match)
{
    const struct volume_plugin *const all[] = { &plugin_a, &plugin_b, &plugin_c, NULL };
    _cleanup_(registry_free_p) struct plugin_registry *g = NULL;
    _cleanup_(object_unref_p) struct object *pv = volume_with(HOST_PATH);
    struct volume_spec spec = { .volume = volume_of(pv) };
    const struct volume_plugin *found = &plugin_c;

    err = (struct error){ 0 };
    ASSERT_OK(registry_new(all, /* prober= */ NULL, &g, &err));
    ASSERT_ERR(ERR_CONFLICT, registry_by_spec(g, &spec, &found, &err));
    ASSERT_STR("multiple volume plugins matched: test/a,test/b", err.msg);
    assert_ptr_equal(found, &plugin_c);
    ASSERT_ERR(ERR_CONFLICT, registry_expandable_by_spec(g, &spec, &found, &err));
}

/* plugins-2: no plugin is an error, but not for whoever asks who expands. */
TEST(registry_lets_others_expand)
{
    const struct volume_plugin *const all[] = { &plugin_a, NULL };
    _cleanup_(registry_free_p) struct plugin_registry *g = NULL;
    _cleanup_(object_unref_p) struct object *nfs = volume_with(NFS), *flex = volume_with(FLEX);
    struct volume_spec spec = { .volume = volume_of(nfs) };
    const struct volume_plugin *found = &plugin_c;
    struct expand_request q = { .new_bytes = 7, .old_bytes = 5 };
    uint64_t bytes = 0;

    ASSERT_OK(registry_new(all, NULL, &g, &err));
    ASSERT_ERR(ERR_NOT_FOUND, registry_by_spec(g, &spec, &found, &err));
    ASSERT_STR("no volume plugin matched", err.msg);
    ASSERT_OK(registry_expandable_by_spec(g, &spec, &found, &err));
    assert_null(found);
    spec.volume = volume_of(flex);
    ASSERT_ERR(ERR_NOT_FOUND, registry_by_spec(g, &spec, &found, &err));
    ASSERT_OK(registry_expandable_by_spec(g, &spec, &found, &err));
    assert_true(found->expand->needs_fs_resize);
    ASSERT_OK(found->expand->expand(found, NULL, &q, &bytes, &err));
    ASSERT_INT(7, bytes);
}

/* plugins-3: a name that is none keeps its plugin out, and the others in. */
TEST(registry_leaves_out_bad_names)
{
    const struct volume_plugin *const all[] = { &plugin_a, &plugin_bad, &plugin_c, NULL };
    _cleanup_(registry_free_p) struct plugin_registry *g = NULL;
    const struct volume_plugin *found = NULL;

    err = (struct error){ 0 };
    ASSERT_INT(0, registry_new(all, NULL, &g, &err));
    ASSERT_INT(ERR_NONE, err.code); /* untouched */
    assert_non_null(strstr(registry_load_error(g), "volume plugin has invalid name: \"bad name!\": "));
    ASSERT_OK(registry_by_name(g, "test/a", &found, &err));
    ASSERT_OK(registry_by_name(g, "test/c", &found, &err));
    assert_ptr_equal(found, &plugin_c);
    ASSERT_ERR(ERR_NOT_FOUND, registry_by_name(g, "bad name!", &found, &err));
    ASSERT_STR("no volume plugin matched name: bad name!", err.msg);
}

/* plugins-4: the second of a name is refused, the first stays. */
TEST(registry_takes_each_name_once)
{
    const struct volume_plugin *const all[] = { &plugin_a, &plugin_a, &plugin_bad, NULL };
    _cleanup_(registry_free_p) struct plugin_registry *g = NULL;
    _cleanup_(object_unref_p) struct object *pv = volume_with(HOST_PATH);
    struct volume_spec spec = { .volume = volume_of(pv) };
    const struct volume_plugin *found = NULL;

    err = (struct error){ 0 };
    ASSERT_INT(0, registry_new(all, NULL, &g, &err));
    assert_non_null(strstr(registry_load_error(g),
                           "volume plugin \"test/a\" was registered more than once, volume plugin "
                           "has invalid name"));
    ASSERT_OK(registry_by_spec(g, &spec, &found, &err));
    assert_ptr_equal(found, &plugin_a);
}

/* plugins-5: without a prober there are the plugins that are compiled in; one that always fails is no worse.
 */
TEST(registry_works_without_prober)
{
    const struct volume_plugin *const all[] = { &plugin_a, NULL };
    struct fake_prober broken = { .base.probe = fake_probe, .complaint = "no directory" };
    struct plugin_prober *const probers[] = { NULL, &broken.base };
    _cleanup_(object_unref_p) struct object *pv = volume_with(HOST_PATH), *flex = volume_with(FLEX);

    for (size_t i = 0; i < ARRAY_LEN(probers); i++) {
        _cleanup_(registry_free_p) struct plugin_registry *g = NULL;
        struct volume_spec spec = { .volume = volume_of(pv) };
        const struct volume_plugin *found = NULL;
        err = (struct error){ 0 };
        ASSERT_OK(registry_new(all, probers[i], &g, &err));
        ASSERT_INT(ERR_NONE, err.code);
        ASSERT_OK(registry_by_spec(g, &spec, &found, &err));
        assert_ptr_equal(found, &plugin_a);
        spec.volume = volume_of(flex);
        ASSERT_ERR(ERR_NOT_FOUND, registry_by_spec(g, &spec, &found, &err));
        ASSERT_STR(probers[i] ? "no directory" : "", registry_load_error(g));
    }
}

/* plugins-6: an event that comes with an error counts. */
TEST(registry_applies_events_beside_errors)
{
    const struct volume_plugin *const none[] = { NULL };
    struct fake_prober p = { .base.probe = fake_probe, .complaint = "half of it" };
    _cleanup_(registry_free_p) struct plugin_registry *g = NULL;
    _cleanup_(object_unref_p) struct object *flex = volume_with(FLEX);
    struct volume_spec spec = { .volume = volume_of(flex) };
    const struct volume_plugin *found = NULL;

    ASSERT_OK(registry_new(none, &p.base, &g, &err));
    fake_add(&p, "acme/disk", found_new("acme/disk"));
    ASSERT_OK(registry_by_spec(g, &spec, &found, &err));
    ASSERT_STR("acme/disk", found->name);
    ASSERT_STR("half of it", registry_load_error(g));
    p.complaint = NULL;
    ASSERT_OK(registry_by_name(g, "acme/disk", &found, &err));
    ASSERT_STR("", registry_load_error(g));
    ASSERT_INT(2, p.probes);
}

TEST(registry_replaces_and_forgets_what_is_found)
{
    const struct volume_plugin *const none[] = { NULL };
    struct fake_prober p = { .base.probe = fake_probe };
    _cleanup_(registry_free_p) struct plugin_registry *g = NULL;
    struct volume_plugin *old = found_new("acme/disk"), *new = found_new("acme/disk");
    const struct volume_plugin *found = NULL, *kept;

    frees = 0;
    ASSERT_OK(registry_new(none, &p.base, &g, &err));
    fake_add(&p, "acme/disk", old);
    ASSERT_OK(registry_by_name(g, "acme/disk", &found, &err));
    kept = plugin_ref(found);
    fake_add(&p, "acme/disk", new);
    ASSERT_OK(registry_by_name(g, "acme/disk", &found, &err));
    assert_ptr_equal(found, new);
    ASSERT_INT(0, frees); /* the old one is in use */
    kept = plugin_unref(kept);
    ASSERT_INT(1, frees);
    fake_add(&p, "acme/disk", NULL);
    fake_add(&p, "acme/other", NULL); /* never was there */
    ASSERT_ERR(ERR_NOT_FOUND, registry_by_name(g, "acme/disk", &found, &err));
    ASSERT_INT(2, frees);
}

TEST(registry_refuses_what_is_found_under_a_bad_name)
{
    const struct volume_plugin *const all[] = { &plugin_a, NULL };
    struct fake_prober p = { .base.probe = fake_probe };
    _cleanup_(registry_free_p) struct plugin_registry *g = NULL;
    const struct volume_plugin *found = NULL;

    frees = 0;
    ASSERT_OK(registry_new(all, &p.base, &g, &err));
    fake_add(&p, "a/b/c", found_new("a/b/c"));
    fake_add(&p, "test/a", found_new("test/a"));
    ASSERT_ERR(ERR_CONFLICT, registry_by_name(g, "test/a", &found, &err));
    ASSERT_STR("multiple volume plugins matched: test/a and test/a", err.msg);
    assert_non_null(strstr(registry_load_error(g), "failed to load volume plugin a/b/c, error: "));
    ASSERT_INT(1, frees);
}

TEST(registry_needs_a_volume)
{
    const struct volume_plugin *const none[] = { NULL };
    _cleanup_(registry_free_p) struct plugin_registry *g = NULL;
    const struct volume_plugin *found = NULL;

    ASSERT_OK(registry_new(none, NULL, &g, &err));
    ASSERT_ERR(ERR_INVALID, registry_by_spec(g, NULL, &found, &err));
    ASSERT_STR("could not find plugin because volume spec is nil", err.msg);
}

/* --- Abilities --- */

static bool wants_it;

static bool may(const struct volume_plugin *self, const struct volume_spec *s)
{
    (void)self;
    (void)s;
    return wants_it;
}

enum ability {
    PROVISIONS,
    DELETES,
    RECYCLES,
    ATTACHES,
    MOUNTS_DEVICES,
    EXPANDS,
    EXPANDS_ON_NODE,
    MAPS_BLOCKS
};

/* As controllers and nodes ask: what was found must have the table, or is left alone without it. */
static int find(struct plugin_registry *g, const struct volume_spec *s, enum ability a,
                const struct volume_plugin **ret)
{
    const struct volume_plugin *p = NULL;
    int r;

    if (a == EXPANDS)
        return registry_expandable_by_spec(g, s, ret, &err);
    r = registry_by_spec(g, s, &p, &err);
    if (r < 0)
        return r;
    *ret = NULL;
    switch (a) {
    case PROVISIONS:
        return plugin_require(p->provision, "provisionable", &err);
    case DELETES:
        return plugin_require(p->remove, "deletable", &err);
    case RECYCLES:
        return plugin_require(p->recycle, "recyclable", &err);
    case ATTACHES:
        *ret = plugin_attaches(p, s) ? p : NULL;
        return 0;
    case MOUNTS_DEVICES:
        *ret = plugin_mounts_devices(p, s) ? p : NULL;
        return 0;
    case EXPANDS_ON_NODE:
        *ret = p->expand && p->expand->expand_on_node ? p : NULL;
        return 0;
    case MAPS_BLOCKS:
        *ret = p->block ? p : NULL;
        return 0;
    case EXPANDS:
        break;
    }
    return -ERR_INTERNAL;
}

/* Of tables that may be absent NULL is the answer, of the others an error; and a plugin may decline. */
TEST(registry_finds_by_ability)
{
    static const struct attach_table attaches = { .can_attach = may };
    static const struct device_table mounts = { .can_mount = may };
    static const struct volume_plugin able = {
        .name = "test/able", .can_support = serves_host_path, .attach = &attaches, .devices = &mounts
    };
    const struct volume_plugin *const with[] = { &able, NULL }, *const without[] = { &plugin_a, NULL };
    _cleanup_(object_unref_p) struct object *pv = volume_with(HOST_PATH);
    struct volume_spec spec = { .volume = volume_of(pv) };
    static const struct {
        enum ability ability;
        bool able_has_it;
        const char *error; /* without it */
    } rows[] = {
        { PROVISIONS, false, "no provisionable volume plugin matched" },
        { DELETES, false, "no deletable volume plugin matched" },
        { RECYCLES, false, "no recyclable volume plugin matched" },
        { ATTACHES, true, NULL },
        { MOUNTS_DEVICES, true, NULL },
        { EXPANDS, false, NULL },
        { EXPANDS_ON_NODE, false, NULL },
        { MAPS_BLOCKS, false, NULL },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(registry_free_p) struct plugin_registry *has = NULL, *lacks = NULL;
        const struct volume_plugin *found = &plugin_c;
        ASSERT_OK(registry_new(with, NULL, &has, &err));
        ASSERT_OK(registry_new(without, NULL, &lacks, &err));
        int r = find(lacks, &spec, rows[i].ability, &found);
        ASSERT_INT(rows[i].error ? -ERR_UNSUPPORTED : 0, r);
        if (rows[i].error)
            ASSERT_STR(rows[i].error, err.msg);
        else
            assert_null(found);
        if (!rows[i].able_has_it)
            continue;
        wants_it = true;
        ASSERT_OK(find(has, &spec, rows[i].ability, &found));
        assert_ptr_equal(found, &able);
        wants_it = false;
        ASSERT_OK(find(has, &spec, rows[i].ability, &found));
        assert_null(found);
        ASSERT_OK(registry_by_name(has, "test/able", &found, &err));
        assert_ptr_equal(found, &able);
    }
}

/* --- Unique names --- */

static int name_it(const struct volume_plugin *self, const struct volume_spec *s, struct buf *ret,
                   struct error *e)
{
    (void)self;
    (void)s;
    (void)e;
    buf_add_cstr(ret, wants_it ? "x/y" : "");
    return -(int)ret->failed;
}

static bool always(const struct volume_plugin *self, const struct volume_spec *s)
{
    (void)self;
    (void)s;
    return true;
}

TEST(unique_names_are_the_plugins_or_the_pods)
{
    static const struct attach_table attaches = { .can_attach = always };
    static const struct volume_plugin able = { .name = "test/able",
                                               .volume_name = name_it,
                                               .attach = &attaches };
    _cleanup_(object_unref_p) struct object *pv = volume_with(HOST_PATH);
    struct volume_spec spec = { .volume = volume_of(pv) };
    _cleanup_(buf_done_p) struct buf name = BUF_INIT(256);
    struct str plugin, volume;

    ASSERT_OK(registry_unique_name(&plugin_a, &spec, "uid-1", &name, &err));
    ASSERT_STR("test/a/uid-1-pv", buf_cstr(&name));
    buf_clear(&name);
    wants_it = true;
    ASSERT_OK(registry_unique_name(&able, &spec, "uid-1", &name, &err));
    ASSERT_STR("test/able/x/y", buf_cstr(&name));
    ASSERT_OK(unique_name_split(buf_cstr(&name), &plugin, &volume, &err));
    assert_true(str_is(plugin, "test/able") && str_is(volume, "x/y"));
    wants_it = false;
    ASSERT_ERR(ERR_INVALID, registry_unique_name(&able, &spec, "uid-1", &name, &err));
    ASSERT_STR("failed to GetVolumeName from volumePlugin for volumeSpec \"pv\" err=the volume has no name",
               err.msg);
    ASSERT_ERR(ERR_INVALID, unique_name_split("test/able", &plugin, &volume, &err));
    ASSERT_STR("cannot split volume unique name test/able to plugin/volume components", err.msg);
}

/* Whatever the API calls mountable has a plugin on nodes, a driver of either kind, or became one; nothing
 * else does. */
TEST(mountable_kinds_are_those_of_the_plugins)
{
    for (unsigned t = POD_VOLUME_UNKNOWN + 1; t < POD_VOLUME_TYPE_COUNT; t++) {
        struct pod_volume v = { .name = "v", .type = (uint8_t)t };
        struct volume_spec s = { .inlined = &v };
        const struct volume_plugin *p;
        bool by_others = t == POD_VOLUME_CSI || t == POD_VOLUME_FLEX || t == POD_VOLUME_CLAIM ||
                         t == POD_VOLUME_EPHEMERAL || migration_source(t) != SOURCE_NONE;

        if ((by_others || plugins_by_source(plugins_of_node, &s, &p, &err) == 0) !=
            pod_volume_is_mountable(t))
            fail_msg("%s", pod_volume_type_names[t]);
    }
    for (unsigned k = SOURCE_NONE + 1; k < SOURCE_COUNT; k++) {
        struct volume v = { .source.kind = (uint8_t)k };
        struct volume_spec s = { .volume = &v };
        const struct volume_plugin *p;
        bool by_others = k == SOURCE_CSI || k == SOURCE_FLEX || migration_plugin(k);

        if ((by_others || plugins_by_source(plugins_of_node, &s, &p, &err) == 0) != source_is_mountable(k))
            fail_msg("%s", volume_sources[k].name);
    }
}

TEST_MAIN()

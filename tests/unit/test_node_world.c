/* What the node holds: the order and the life of its records; and what follows from them alone: what a pod
 * still waits for, in words, and what is in use. */
#include "tests/unit/aborts.h"
#include "tests/unit/test_node.h"
#include "tests/unit/test_plugins.h"

/* --- Records --- */

static struct node_world world;
static struct node_pod pods[3];

static void world_open(void)
{
    static const char *const uids[] = { "b", "a", "c" };

    node_world_init(&world);
    memset(pods, 0, sizeof pods);
    for (size_t i = 0; i < ARRAY_LEN(pods); i++) {
        pods[i].uid = strdup(uids[i]);
        TAILQ_INIT(&pods[i].mounts);
    }
}

static void world_close(void)
{
    node_world_done(&world);
    for (size_t i = 0; i < ARRAY_LEN(pods); i++)
        free(pods[i].uid);
}

static struct node_volume *add(const char *name)
{
    struct node_volume *v = node_world_add_volume(&world, name, &disk_plugin);

    assert_non_null(v);
    return v;
}

TEST(volumes_are_in_the_order_of_their_names)
{
    static const char *const names[] = { "p/m", "p/a", "q/b", "p/z", "a/z" };
    struct buf order = BUF_INIT(256);
    struct omap_cursor at;

    world_open();
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        (void)add(names[i]);
    for (const struct node_volume *v = omap_first(&world.volumes, &at); v; v = omap_next(&at))
        buf_addf(&order, "%s ", v->name);
    ASSERT_STR("a/z p/a p/m p/z q/b ", buf_cstr(&order));
    assert_ptr_equal(add("p/m"), node_world_find_volume(&world, "p/m")); /* there is one of each */
    ASSERT_INT(5, world.volumes.count);
    assert_null(node_world_find_volume(&world, "p/"));
    buf_done(&order);
    world_close();
}

TEST(new_records_hold_nothing)
{
    struct node_volume *v;
    struct node_mount *m;

    world_open();
    v = add("p/v");
    m = node_world_add_mount(v, &pods[0]);
    assert_false(v->is_held || v->is_found || v->is_reported || v->wanted.holder || v->spec.holder);
    ASSERT_INT(MOUNT_NONE, v->device);
    ASSERT_STR("", v->device_path);
    ASSERT_STR("", v->device_mount_path);
    assert_false(volume_has_device_mounted(v) || volume_is_wanted(v) || volume_has_to_grow(v));
    ASSERT_INT(MOUNT_NONE, m->state);
    ASSERT_INT(-1, m->group);
    ASSERT_INT(-1, m->held_group);
    ASSERT_STR("", m->path);
    assert_ptr_equal(m, node_world_add_mount(v, &pods[0]));
    world_close();
}

TEST(mounts_are_found_by_pod)
{
    struct node_volume *v;

    world_open();
    v = add("p/v");
    for (size_t i = 0; i < ARRAY_LEN(pods); i++)
        assert_non_null(node_world_add_mount(v, &pods[i]));
    ASSERT_STR("a", node_world_find_mount(v, "a")->pod->uid);
    assert_ptr_equal(TAILQ_FIRST(&pods[2].mounts), node_world_find_mount(v, "c"));
    assert_null(node_world_find_mount(v, "d"));
    assert_null(node_world_find_mount(add("p/w"), "a"));
    world_close();
}

TEST(names_of_a_mount_are_sorted_and_there_once)
{
    static const char *const names[] = { "m", "z", "a", "m", "b", "a" };
    struct buf all = BUF_INIT(256);
    struct node_mount *m;

    world_open();
    m = node_world_add_mount(add("p/v"), &pods[0]);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        assert_true(mount_add_name(m, names[i]));
    for (size_t i = 0; i < m->outer_names.count; i++)
        buf_addf(&all, "%s ", m->outer_names.items[i]);
    ASSERT_STR("a b m z ", buf_cstr(&all));
    m->is_wanted = true;
    mount_unwant(m);
    assert_false(m->is_wanted);
    ASSERT_INT(0, m->outer_names.count);
    assert_true(mount_add_name(m, "again"));
    buf_done(&all);
    world_close();
}

/* A mount goes when it is neither wanted nor there; its volume with the last one, unless it is held. */
TEST(records_go_when_nothing_needs_them)
{
    static const struct {
        bool is_wanted;
        enum mount_state state;
        bool is_held, has_other;
        bool mount_goes, volume_goes;
    } rows[] = {
        { false, MOUNT_NONE, false, false, true, true },
        { false, MOUNT_NONE, true, false, true, false },
        { false, MOUNT_NONE, false, true, true, false },
        { true, MOUNT_NONE, false, false, false, false },
        { false, MOUNT_UNCERTAIN, false, false, false, false },
        { false, MOUNT_DONE, true, false, false, false },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct node_volume *v;
        struct node_mount *m;

        world_open();
        v = add("p/v");
        m = node_world_add_mount(v, &pods[0]);
        if (rows[i].has_other)
            node_world_add_mount(v, &pods[1])->is_wanted = true;
        m->is_wanted = rows[i].is_wanted;
        m->state = rows[i].state;
        v->is_held = rows[i].is_held;
        assert_int_equal(node_world_drop_mount(&world, m), rows[i].mount_goes);
        assert_int_equal(TAILQ_EMPTY(&pods[0].mounts), rows[i].mount_goes);
        assert_int_equal(!node_world_find_volume(&world, "p/v"), rows[i].volume_goes);
        if (!rows[i].volume_goes && !rows[i].mount_goes)
            assert_false(node_world_drop_volume(&world, v)); /* not under its mounts */
        world_close();
    }
}

TEST(text_is_replaced)
{
    char *text = strdup("old");

    node_world_set_text(&text, "new");
    ASSERT_STR("new", text);
    node_world_set_text(&text, "");
    ASSERT_STR("", text);
    free(text);
}

TEST(volume_is_wanted_while_a_mount_is)
{
    struct node_volume *v;

    world_open();
    v = add("p/v");
    (void)node_world_add_mount(v, &pods[0]);
    node_world_add_mount(v, &pods[1])->is_wanted = true;
    assert_true(volume_is_wanted(v));
    mount_unwant(node_world_find_mount(v, pods[1].uid));
    assert_false(volume_is_wanted(v));
    world_close();
}

/* Only what is larger than it was, if that is known, and can grow on a node, and has not refused. */
TEST(volumes_that_have_to_grow)
{
    static const struct expand_table elsewhere = { .needs_fs_resize = true };
    static const struct volume_plugin plain = { .name = "p" }, away = { .name = "q", .expand = &elsewhere };
    static const struct volume pv;
    static const struct {
        const struct volume_plugin *plugin;
        uint64_t bytes, wanted;
        bool refuses, is_inline, has_to;
    } rows[] = {
        { &disk_plugin, 1, 2, false, false, true },  { &disk_plugin, 2, 2, false, false, false },
        { &disk_plugin, 3, 2, false, false, false }, { &disk_plugin, 0, 2, false, false, false },
        { &disk_plugin, 1, 2, true, false, false },  { &disk_plugin, 1, 2, false, true, false },
        { &plain, 1, 2, false, false, false },       { &away, 1, 2, false, false, false },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct node_volume v = { .plugin = rows[i].plugin,
                                 .bytes = rows[i].bytes,
                                 .wanted_bytes = rows[i].wanted,
                                 .refuses_growth = rows[i].refuses,
                                 .wanted.spec.volume = rows[i].is_inline ? NULL : &pv };

        assert_int_equal(volume_has_to_grow(&v), rows[i].has_to);
    }
}

/* --- Specs --- */

TEST(held_specs_keep_their_object)
{
    struct object *pod =
        plugin_object(KIND_POD, "{'metadata':{'name':'p'},'spec':{'volumes':[{'name':'a','emptyDir':{}}]}}");
    struct held_spec h = { 0 }, copy = { 0 };

    assert_false(held_spec_set(&h, pod, "b", false));
    assert_null(h.holder);
    assert_true(held_spec_set(&h, pod, "a", true));
    assert_true(h.spec.is_read_only && h.spec.inlined && !h.spec.volume);
    held_spec_copy(&copy, &h);
    held_spec_copy(&copy, &copy);                     /* of itself */
    assert_false(held_spec_set(&h, pod, "b", false)); /* what was held stays */
    assert_ptr_equal(pod, h.holder);
    held_spec_clear(&h);
    (void)object_unref(pod);
    ASSERT_STR("a", spec_name(&copy.spec)); /* it has a reference of its own */
    held_spec_copy(&copy, &h);              /* of nothing */
    assert_null(copy.holder);
    held_spec_clear(&copy);
}

/* --- What a pod waits for --- */

/* Lists are sorted, names that nobody uses are left out, an uncertain mount is none, and what is held without
 * an attachment counts as unattached. */
TEST(missing_volumes_in_words)
{
    struct buf out = BUF_INIT(1024);
    struct node_mount *m;
    struct node_volume *v;
    struct node_pod *p = &pods[0];

    world_open();
    p->object = plugin_object(
        KIND_POD,
        "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'c','volumeMounts':[{'name':'z','mountPath':"
        "'/z'},{'name':'b','mountPath':'/b'},{'name':'a','mountPath':'/a'}],'volumeDevices':[{'name':'x',"
        "'devicePath':'/x'}]}],'volumes':[{'name':'z','emptyDir':{}},{'name':'x','emptyDir':{}},"
        "{'name':'unused','emptyDir':{}},{'name':'b','emptyDir':{}},{'name':'a','emptyDir':{}}]}}");
    pod_write_volumes_state(p, "why", &out);
    ASSERT_STR("unmounted volumes=[a b x z], unattached volumes=[], failed to process volumes=[a b x z]: why",
               buf_cstr(&out));
    ASSERT_INT(VOLUMES_WAITING, pod_volumes_state(p));

    v = add("p/v");
    m = node_world_add_mount(v, p); /* z and x are two names of one */
    m->is_wanted = v->is_attachable = true;
    assert_true(mount_add_name(m, "z") && mount_add_name(m, "x"));
    buf_clear(&out);
    pod_write_volumes_state(p, "why", &out);
    ASSERT_STR("unmounted volumes=[a b x z], unattached volumes=[x z], failed to process volumes=[a b]: why",
               buf_cstr(&out));

    v->is_held = true;
    v->attach = ATTACH_UNCERTAIN;
    m->state = MOUNT_UNCERTAIN;
    buf_clear(&out);
    pod_write_volumes_state(p, "why", &out);
    ASSERT_STR("unmounted volumes=[a b x z], unattached volumes=[x z], failed to process volumes=[a b]: why",
               buf_cstr(&out));

    v->attach = ATTACH_YES;
    m->state = MOUNT_DONE;
    m = node_world_add_mount(add("p/w"), p);
    m->is_wanted = true;
    m->state = MOUNT_DONE;
    assert_true(mount_add_name(m, "a"));
    buf_clear(&out);
    pod_write_volumes_state(p, "why", &out);
    ASSERT_STR("unmounted volumes=[b], unattached volumes=[], failed to process volumes=[b]: why",
               buf_cstr(&out));
    p->errors_count = 1;
    ASSERT_INT(VOLUMES_FAILED, pod_volumes_state(p));
    assert_true(mount_add_name(m, "b"));
    ASSERT_INT(VOLUMES_READY, pod_volumes_state(p)); /* whatever the errors say */
    mount_unwant(m);
    assert_null(pod_mount_named(p, "a"));
    (void)object_unref(p->object);
    buf_done(&out);
    world_close();
}

/* A pod without volumes, or without one that is used, waits for nothing. */
TEST(pods_without_volumes_are_ready)
{
    static const char *const specs[] = {
        "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'c'}]}}",
        "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'c'}],'volumes':[{'name':'a','emptyDir':{}}]}"
        "}",
    };

    world_open();
    for (size_t i = 0; i < ARRAY_LEN(specs); i++) {
        pods[0].object = plugin_object(KIND_POD, "%s", specs[i]);
        ASSERT_INT(VOLUMES_READY, pod_volumes_state(&pods[0]));
        (void)object_unref(pods[0].object);
    }
    world_close();
}

/* --- In use --- */

/* Section 9: wanted and attachable, or attached; sorted, each once. */
TEST(volumes_in_use_are_sorted_and_there_once)
{
    char p[64], q[64];

    disk.is_attachable = true;
    bench_open();
    put_disk("z", "1Gi", "");
    put_disk("a", "1Gi", "");
    put_disk_pod("p", "z", p);
    put_disk_pod("q", "a", q);
    put_disk_pod("r", "a", NULL);
    pass(3);
    ASSERT_THERE(&bench.w, DISK "/a", NODE_PATH, "status/volumesInUse/0");
    ASSERT_GOT(&bench.w.served, DISK "/z", "status/volumesInUse/1");
    ASSERT_GOT(&bench.w.served, "-", "status/volumesInUse/2");
    assert_true(bench_mount("a", q)->volume->is_reported);
    ASSERT_SENT(&bench.w.served, 200, "DELETE", PODS "/p", NULL);
    pass(3);
    ASSERT_THERE(&bench.w, DISK "/a", NODE_PATH, "status/volumesInUse/0");
    ASSERT_GOT(&bench.w.served, "-", "status/volumesInUse/1");
    bench_close();
}

/* What need not be attached is not in use in that sense. */
TEST(volumes_that_need_no_attachment_are_not_reported)
{
    disk.has_device = true;
    bench_open();
    put_disk("d", "1Gi", "");
    put_disk_pod("p", "d", NULL);
    pass(3);
    ASSERT_CALLS("mount-device d \nset-up d p\n");
    ASSERT_THERE(&bench.w, "-", NODE_PATH, "status/volumesInUse/0");
    bench_close();
}

/* --- States --- */

/* Every event in every state: N, U and D are none, uncertain and done; - cannot come. */
TEST(mount_states_follow_their_table)
{
    static const struct {
        enum mount_event event;
        const char *to; /* from none, from uncertain, from done */
    } rows[] = {
        { MOUNT_EVENT_FOUND, "UU-" },          { MOUNT_EVENT_SET_UP, "DDD" },
        { MOUNT_EVENT_SET_UP_IN_PART, "UUU" }, { MOUNT_EVENT_SET_UP_UNCERTAIN, "UUD" },
        { MOUNT_EVENT_SET_UP_FAILED, "NND" },  { MOUNT_EVENT_SET_UP_NOT_TRIED, "NUD" },
        { MOUNT_EVENT_LOST, "--U" },           { MOUNT_EVENT_TEAR_DOWN_UNCERTAIN, "-UU" },
        { MOUNT_EVENT_TORN_DOWN, "-NN" },
    };
    struct node_volume *v;
    struct node_mount *m;

    assert_int_equal(ARRAY_LEN(rows), MOUNT_EVENT_COUNT);
    world_open();
    v = add("p/v");
    m = node_world_add_mount(v, &pods[0]);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        for (unsigned from = 0; from < MOUNT_STATE_COUNT; from++) {
            char expected = rows[i].to[from];
            enum mount_state to = MOUNT_STATE_COUNT;

            assert_int_equal(rows[i].event, i);
            m->state = v->device = from;
            if (expected == '-') {
                assert_false(mount_state_next(from, rows[i].event, &to));
                ASSERT_INT(MOUNT_STATE_COUNT, to);
                ASSERT_ABORTS(mount_set_state(m, rows[i].event));
                ASSERT_ABORTS(volume_set_device(v, rows[i].event));
                continue;
            }
            assert_true(mount_state_next(from, rows[i].event, &to));
            ASSERT_INT(expected, "NUD"[to]);
            mount_set_state(m, rows[i].event);
            ASSERT_INT(to, m->state);
            volume_set_device(v, rows[i].event);
            ASSERT_INT(to, v->device);
        }
    m->state = v->device = MOUNT_NONE;
    world_close();
}

/* What a failed attempt means, for what was there before and what was not. */
TEST(mount_events_of_failures)
{
    for (int code = 1; code < ERR_COUNT; code++)
        for (unsigned found = 0; found < 2; found++) {
            enum mount_event expected = code == ERR_UNCERTAIN || code == ERR_INCOMPLETE
                                            ? MOUNT_EVENT_SET_UP_UNCERTAIN
                                        : code == ERR_UNAVAILABLE || found ? MOUNT_EVENT_SET_UP_NOT_TRIED
                                                                           : MOUNT_EVENT_SET_UP_FAILED;

            ASSERT_INT(expected, mount_event_of_failure(-code, found));
        }
}

TEST(pod_stages_follow_their_table)
{
    static const char *const followers[] = {
        [POD_STAGE_VOLUMES] = "PT", [POD_STAGE_PREPARE] = "VSRT", [POD_STAGE_SETUP] = "VRT",
        [POD_STAGE_READY] = "VT",   [POD_STAGE_TEARDOWN] = "C",   [POD_STAGE_CLEANUP] = "",
    };

    assert_int_equal(ARRAY_LEN(followers), POD_STAGE_COUNT);
    for (unsigned from = 0; from < POD_STAGE_COUNT; from++)
        for (unsigned to = 0; to < POD_STAGE_COUNT; to++)
            if (pod_stage_may_follow(from, to) != (strchr(followers[from], "VPSRTC"[to]) != NULL))
                fail_msg("from %u to %u", from, to);
}

TEST_MAIN()

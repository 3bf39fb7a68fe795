/* The table of components and the settings of the programs that are selections from it. */
#include "tests/unit/test.h"

#include <string.h>

#include "api/json.h"
#include "daemon/components.h"
#include "daemon/daemon.h"
#include "daemon/settings.h"

static const struct daemon_program *const programs[] = { &daemon_serve, &daemon_controllers,
                                                         &daemon_scheduler, &daemon_node };

/* --- The table --- */

TEST(every_row_is_whole)
{
    for (const struct component *c = daemon_components; c->name; c++) {
        assert_true(c->new && c->start && c->stop);
        /* The last one is added to a node agent. */
        assert_true(c->part & (daemon_serve.parts | DAEMON_CSI_NODE));
        assert_int_equal(c->part & (c->part - 1), 0); /* one part */
        assert_int_equal(c->kinds & c->kinds_optional, 0);
        assert_true(!c->workers == !c->queue_max);
        assert_true(!c->plugins || c->workers); /* drivers are called by workers */
        assert_true(!c->section == !c->read_section);
        for (const struct component *other = daemon_components; other < c; other++)
            assert_string_not_equal(other->name, c->name);
    }
}

TEST(the_components_of_a_part_share_a_lease)
{
    for (const struct component *c = daemon_components; c->name; c++) {
        const char *lease = daemon_lease(c->part);

        assert_true(c->lease ? strcmp(c->lease, lease) == 0 : !lease);
    }
    ASSERT_STR("berth-controllers", daemon_lease(DAEMON_CONTROLLERS));
    ASSERT_STR("berth-scheduler", daemon_lease(DAEMON_SCHEDULER));
    assert_null(daemon_lease(DAEMON_NODE));
    assert_null(daemon_lease(DAEMON_CSI)); /* one for each function of each driver */
    assert_null(daemon_lease(DAEMON_CSI_NODE));
    ASSERT_STR("berth-controllers", daemon_lease(daemon_controllers.parts));
}

TEST(programs_select_parts)
{
    unsigned all = 0;
    size_t i = 0;

    for (; daemon_parts[i]; i++) {
        const struct daemon_program *p = daemon_parts[i];

        assert_ptr_equal(p, programs[i + 1]);
        assert_int_equal(p->parts & all, 0); /* of its own */
        assert_false(p->has_server);
        all |= p->parts;
    }
    assert_int_equal(i + 1, ARRAY_LEN(programs));
    assert_int_equal(daemon_serve.parts, all);
    assert_true(daemon_serve.has_server);
}

/* --- Sections of a file --- */

TEST(sections_are_for_those_who_run_their_components)
{
    static const char text[] = "{\"nfsSubdir\":[{\"name\":\"x/y\",\"server\":\"s\",\"path\":\"/p\"}]}";

    for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
        bool runs_controllers = programs[i]->parts & DAEMON_CONTROLLERS;
        struct daemon_settings s = { 0 };
        struct error err = { 0 };
        struct json d;
        json_ref v;

        json_init(&d, 1 << 16);
        assert_int_equal(json_parse(&d, str_of(text), &v, &err), 0);
        assert_int_equal(daemon_read_section(programs[i], "provisioners", &d, v, &s, &err), runs_controllers);
        assert_int_equal(s.provisioners.nfs_count, runs_controllers);
        assert_int_equal(daemon_read_section(programs[i], "provisioner", &d, v, &s, &err), 0);
        assert_int_equal(err.code, ERR_NONE);
        daemon_settings_done(&s);
        json_done(&d);
    }
}

TEST(a_section_that_is_wrong)
{
    struct daemon_settings s = { 0 };
    struct error err;
    struct json d;
    json_ref v;

    json_init(&d, 1 << 16);
    assert_int_equal(json_parse(&d, STR_LIT("{\"nfs\":[]}"), &v, &err), 0);
    assert_true(daemon_read_section(&daemon_controllers, "provisioners", &d, v, &s, &err) < 0);
    assert_non_null(strstr(err.msg, "provisioners.nfs: unknown setting"));
    daemon_settings_done(&s);
    json_done(&d);
}

/* --- Settings --- */

static int check(const struct daemon_program *p, struct daemon_settings *s, struct error *err)
{
    s->data = s->data ? s->data : "/data";
    if (!p->has_server)
        s->node.root = "/root";
    return daemon_settings_check(p, s, err);
}

TEST(defaults)
{
    for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
        struct daemon_settings s = { 0 };
        struct error err = { 0 };

        assert_int_equal(check(programs[i], &s, &err), 0);
        assert_int_equal(err.code, ERR_NONE);
        assert_int_equal(s.parts, programs[i]->parts);
        assert_int_equal(s.event_ttl_seconds, 3600);
        assert_int_equal(s.rate, 200);
        assert_int_equal(s.rate_burst, 400);
        assert_int_equal(s.bind_timeout_ns, 600 * NS_PER_S);
        assert_int_equal(s.attach_sync_ns, 60 * NS_PER_S);
        assert_int_equal(s.node_sync_ns, 60 * NS_PER_S);
        assert_int_equal(s.lease_duration_ns, 0); /* the leader's own */
        ASSERT_STR(programs[i]->has_server ? "/data/node" : "/root", s.node.root);
        ASSERT_STR(programs[i]->has_server ? "/data/local" : "", s.state_dir);
    }
}

TEST(numbers_at_their_bounds)
{
    struct daemon_settings s = { .qps = "0",
                                 .burst = "1000000",
                                 .bind_timeout = "0",
                                 .lease_duration = "86400",
                                 .event_ttl = "1",
                                 .controllers.attach_sync_period = "0",
                                 .node.sync = "1" };
    struct error err;

    assert_int_equal(check(&daemon_controllers, &s, &err), 0);
    assert_int_equal(s.rate, 0);
    assert_int_equal(s.rate_burst, 1000000);
    assert_int_equal(s.bind_timeout_ns, 0);
    assert_int_equal(s.lease_duration_ns, 86400 * NS_PER_S);
    assert_int_equal(s.event_ttl_seconds, 1);
    assert_int_equal(s.attach_sync_ns, 0);
    assert_int_equal(s.node_sync_ns, NS_PER_S);
    s = (struct daemon_settings){ .controllers = { .attach_sync_period = "5", .has_no_attach_sync = true } };
    assert_int_equal(check(&daemon_serve, &s, &err), 0);
    assert_int_equal(s.attach_sync_ns, 0);
}

TEST(parts_that_are_left_out)
{
    static const struct {
        const char *without;
        unsigned parts;
    } rows[] = {
        { "", DAEMON_CONTROLLERS | DAEMON_SCHEDULER | DAEMON_NODE | DAEMON_CSI },
        { "node", DAEMON_CONTROLLERS | DAEMON_SCHEDULER | DAEMON_CSI },
        { " scheduler , node", DAEMON_CONTROLLERS | DAEMON_CSI },
        { "controllers,scheduler,node", 0 },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct daemon_settings s = { .without = rows[i].without };
        struct error err;

        assert_int_equal(check(&daemon_serve, &s, &err), 0);
        assert_int_equal(s.parts, rows[i].parts);
    }
}

TEST(what_is_refused)
{
    static const struct {
        const struct daemon_program *program;
        struct daemon_settings settings;
        const char *words;
    } rows[] = {
        { &daemon_serve, { .event_ttl = "0" }, "--event-ttl 0: not a number of seconds" },
        { &daemon_node, { .qps = "-1" }, "--kube-api-qps -1: not a number from 0 to 1000000" },
        { &daemon_scheduler,
          { .bind_timeout = "86401" },
          "--bind-timeout 86401: not a number from 0 to 86400" },
        { &daemon_controllers,
          { .renew_deadline = "" },
          "--leader-elect-renew-deadline : not a number from" },
        { &daemon_controllers, { .lease_duration = "5", .renew_deadline = "5" }, "leaseDuration" },
        { &daemon_serve, { .node.name = "A" }, "--node-name 'A': use lower case letters" },
        { &daemon_serve, { .node.hook = "/no/hook" }, "--pod-hook: '/no/hook' is not an executable file" },
        { &daemon_controllers, { .controllers.flex_dir = "x" }, "--flex-dir x: not an absolute path" },
        { &daemon_serve, { .without = "nod" }, "--without: unknown part 'nod'; parts are api, controllers" },
        { &daemon_serve, { .without = "api" }, "--without api leaves nothing to run" },
        { &daemon_serve, { .is_insecure = true, .listen = "0.0.0.0:1" }, "--insecure listens on loopback" },
        { &daemon_controllers,
          { .provisioners.has_local = true, .config = "c" },
          "settings in 'c': provisioners.local: works in 'berth serve' only" },
        { &daemon_controllers,
          { .csi_endpoints = { { "unix://csi.sock" }, 1 } },
          "--csi-endpoint 'unix://csi.sock': not the URL of a socket" },
        { &daemon_controllers, { .csi_endpoints = { { "/a," }, 1 } }, "--csi-endpoint ''" },
        { &daemon_controllers,
          { .csi_endpoints = { { "/a" }, 1 }, .csi.is_off = true },
          "--csi-endpoint contradicts the setting csi.controllers: off" },
        { &daemon_node,
          { .node.root = "/r", .node.csi_kubeconfig = "/k", .csi.is_off = true },
          "--csi-kubeconfig contradicts the setting csi.controllers: off" },
        { &daemon_controllers,
          { .csi_endpoints = { { "/1,/2,/3,/4,/5,/6,/7,/8", "/9,/10,/11,/12,/13,/14,/15,/16,/17" }, 2 } },
          "--csi-endpoint: more than 16 sockets" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct daemon_settings s = rows[i].settings;
        struct error err = { 0 };

        assert_int_equal(check(rows[i].program, &s, &err), -ERR_INVALID);
        if (!strstr(err.msg, rows[i].words))
            fail_msg("'%s' lacks '%s'", err.msg, rows[i].words);
        daemon_settings_done(&s);
    }
}

/* Beside a driver: the CSI controllers and nothing else. */
TEST(sockets_of_csi_drivers)
{
    struct daemon_settings s = { .csi_endpoints = { { "unix:///csi//csi.sock", "/a, unix:/b" }, 2 },
                                 .is_elected = true };
    struct error err;
    const struct component *row = daemon_components;

    while (strcmp(row->name, "csi") != 0)
        row++;
    assert_int_equal(check(&daemon_controllers, &s, &err), 0);
    assert_int_equal(s.parts, DAEMON_CSI);
    assert_int_equal(s.rate, 0);
    assert_false(s.is_elected);
    assert_int_equal(s.csi.sockets_count, 3);
    ASSERT_STR("/csi/csi.sock", s.csi.sockets[0]);
    ASSERT_STR("/a", s.csi.sockets[1]);
    ASSERT_STR("/b", s.csi.sockets[2]);
    assert_true(row->is_wanted(&s));
    daemon_settings_done(&s);
    s = (struct daemon_settings){ .csi_endpoints = { { "/a" }, 1 }, .qps = "5" };
    assert_int_equal(check(&daemon_controllers, &s, &err), 0);
    assert_int_equal(s.rate, 5);
    daemon_settings_done(&s);
    s = (struct daemon_settings){ 0 };
    assert_int_equal(check(&daemon_controllers, &s, &err), 0);
    assert_false(row->is_wanted(&s)); /* no driver can appear */
    assert_int_equal(check(&daemon_serve, &s, &err), 0);
    assert_true(row->is_wanted(&s));
    s.csi.is_off = true;
    assert_false(row->is_wanted(&s));
}

TEST(a_node_needs_a_root)
{
    struct daemon_settings s = { 0 };
    struct error err;

    assert_int_equal(daemon_settings_check(&daemon_node, &s, &err), -ERR_INVALID);
    assert_non_null(strstr(err.msg, "--root is required"));
}

TEST_MAIN()

/* Drivers that come and go: real sockets and a real driver on one side, the whole API server on the other. */
#include "tests/unit/test_csi_drivers.h"
#include "tests/unit/test_parts.h"

#include "plugins/csi/registration.h"

#define CSI_NODES "/apis/storage.k8s.io/v1/csinodes"
#define TURN_NS (2 * NS_PER_MS) /* drivers need the machine's time for a call */

static struct world {
    struct parts parts;
    struct test_dir d;
    struct rpc_client *rpc;
    struct csi_drivers *drivers;
    char complaints[8192];
    char changes[1024]; /* "+DRIVER " and "-DRIVER " */
    struct test_driver a, b;
    struct csi_configured_driver configured; /* socket NULL: none */
} * world;

static void on_complaint(void *ctx, const char *message)
{
    struct world *w = ctx;
    size_t len = strlen(w->complaints);

    (void)snprintf(w->complaints + len, sizeof w->complaints - len, "%s\n", message);
}

static void on_driver(void *ctx, const char *driver, bool is_registered)
{
    struct world *w = ctx;
    size_t len = strlen(w->changes);

    (void)snprintf(w->changes + len, sizeof w->changes - len, "%c%s ", is_registered ? '+' : '-', driver);
}

static int make(const struct component_deps *o, void **ret, struct error *e)
{
    const struct csi_registration_options options = {
        .loop = o->loop,
        .rpc = world->rpc,
        .client = o->client,
        .drivers = world->drivers,
        .configured = &world->configured,
        .configured_count = world->configured.socket != NULL,
        .root = world->d.path,
        .node_name = "n1",
        .seed = 3,
        .complain = on_complaint,
        .on_change = on_driver,
        .ctx = world,
    };

    csi_drivers_remove(world->drivers, "test.csi"); /* a new process has an empty table */
    return csi_registration_new(&options, (struct csi_registration **)ret, e);
}

static void start(void *part)
{
    (void)part; /* it waits for nothing */
}

static void release(void *part)
{
    (void)csi_registration_free(part);
}

static const struct part_type registration_type = { make, start, release };

static const char *registry_path(const char *name)
{
    static char path[TEST_PATH_BYTES + 128];

    (void)snprintf(path, sizeof path, "%s/plugins_registry/%s", world->d.path, name);
    return path;
}

static void world_init(struct world *w)
{
    memset(w, 0, sizeof *w);
    world = w;
    w->d = test_dir_new();
    ASSERT_OK(csi_drivers_new(&w->drivers, &err));
    /* The loop is the server's, which parts_init() makes. */
    served_init(&w->parts.served);
    w->parts.type = &registration_type;
    w->parts.log = BUF_INIT((size_t)16 << 20);
    the_parts = &w->parts;
    ASSERT_OK(rpc_client_new(w->parts.served.loop, &w->rpc, &err));
    process_start(&w->parts);
    parts_rest(&w->parts);
}

static void world_done(struct world *w)
{
    driver_stop(&w->a);
    driver_stop(&w->b);
    process_kill(&w->parts);
    w->rpc = rpc_client_free(w->rpc);
    buf_done(&w->parts.log);
    served_done(&w->parts.served);
    w->drivers = csi_drivers_free(w->drivers);
    test_dir_done(&w->d);
    world = NULL;
}

/* Lets time pass on the loop's clock, and drivers work, until it holds. */
#define PASS_UNTIL(w, condition)                 \
    do {                                         \
        (void)signal(SIGALRM, test_on_deadline); \
        (void)alarm(TEST_DEADLINE_S);            \
        while (!(condition)) {                   \
            (void)poll(NULL, 0, 1);              \
            parts_pass_ns(&(w)->parts, TURN_NS); \
        }                                        \
        (void)alarm(0);                          \
    } while (0)

/* What the server says at a path of an object; "-" for nothing. */
static const char *asked(struct world *w, const char *target, const char *path)
{
    return send_request(&w->parts.served, "GET", target, NULL) == 200 ? got(&w->parts.served, path) : "-";
}

static void make_node(struct world *w, const char *labels)
{
    char body[512];

    (void)snprintf(body, sizeof body, "{'metadata':{'name':'n1','labels':{%s}}}", labels);
    ASSERT_SENT(&w->parts.served, 201, "POST", NODES, body);
}

static bool is_ready(const struct world *w)
{
    return csi_registration_is_ready(w->parts.part);
}

static void begin_driver(struct world *w, struct test_driver *d, const char *name)
{
    char registrar[64];

    (void)snprintf(registrar, sizeof registrar, "%s-reg.sock", name);
    driver_init(d, w->d.path, name, registry_path(registrar));
}

#define DRIVERS "spec/drivers"

/* The annotation's key has a slash in it. "" for none. */
static const char *node_ids(struct world *w)
{
    const struct served *s = &w->parts.served;
    static char text[256];

    ASSERT_SENT(&w->parts.served, 200, "GET", NODES "/n1", NULL);
    (void)snprintf(text, sizeof text, "%.*s",
                   STR_ARG(json_get_text(&s->doc, json_path(&s->doc, s->root, "metadata", "annotations"),
                                         "csi.volume.kubernetes.io/nodeid")));
    return text;
}

/* The node is not ready before it has a CSINode; API and Node may come late. */
TEST(csi_node_comes_first)
{
    struct world w;

    world_init(&w);
    begin_driver(&w, &w.a, "a");
    parts_pass_ns(&w.parts, 2 * NS_PER_S);
    assert_false(is_ready(&w));
    assert_non_null(strstr(w.complaints, "CSINode is not yet initialized: "));
    ASSERT_STR("", driver_calls(&w.a));
    make_node(&w, "");
    PASS_UNTIL(&w, is_ready(&w));
    ASSERT_STR("Node", asked(&w, CSI_NODES "/n1", "metadata/ownerReferences/0/kind"));
    ASSERT_STR("[]", asked(&w, CSI_NODES "/n1", DRIVERS));
    assert_non_null(strstr(asked(&w, CSI_NODES "/n1", "metadata/annotations"),
                           "\"storage.alpha.kubernetes.io/migrated-plugins\":\"kubernetes.io/aws-ebs,"));
    PASS_UNTIL(&w, driver_has(&w.a, "notified", "true"));
    world_done(&w);
}

/* node-43 */
TEST(driver_comes_and_goes)
{
    struct world w;
    struct csi_endpoint endpoint;

    world_init(&w);
    make_node(&w, "'zone':'a'");
    driver_init(&w.a, w.d.path, "a", ""); /* its state, before it registers */
    driver_stop(&w.a);
    driver_set(&w.a, "node-info", "node-7 12 zone=a rack=r1");
    (void)snprintf(w.a.registrar, sizeof w.a.registrar, "%s", registry_path("a-reg.sock"));
    driver_start(&w.a);
    PASS_UNTIL(&w, driver_has(&w.a, "notified", "true"));
    parts_pass_ns(&w.parts, TURN_NS);
    PASS_UNTIL(&w, w.changes[0]);
    ASSERT_STR("+test.csi ", w.changes);
    ASSERT_STR("GetInfo:0 NodeGetInfo:0 NotifyRegistrationStatus:0", driver_calls(&w.a));
    ASSERT_STR("[{\"name\":\"test.csi\",\"nodeID\":\"node-7\",\"topologyKeys\":[\"rack\",\"zone\"],"
               "\"allocatable\":{\"count\":12}}]",
               asked(&w, CSI_NODES "/n1", DRIVERS));
    ASSERT_STR("{\"test.csi\":\"node-7\"}", node_ids(&w));
    ASSERT_STR("r1", asked(&w, NODES "/n1", "metadata/labels/rack"));
    ASSERT_OK(csi_drivers_find(w.drivers, "test.csi", &endpoint, &err));
    ASSERT_STR(w.a.socket, endpoint.socket);

    driver_stop(&w.a);
    assert_int_equal(unlink(w.a.registrar), 0);
    PASS_UNTIL(&w, strstr(w.changes, "-test.csi"));
    PASS_UNTIL(&w, strcmp(asked(&w, CSI_NODES "/n1", DRIVERS), "[]") == 0);
    ASSERT_STR("", node_ids(&w));
    ASSERT_STR("r1", asked(&w, NODES "/n1", "metadata/labels/rack")); /* labels stay */
    ASSERT_ERR(ERR_UNAVAILABLE, csi_drivers_find(w.drivers, "test.csi", &endpoint, &err));
    world_done(&w);
}

/* node-44 */
TEST(registrar_that_is_started_again)
{
    struct world w;

    world_init(&w);
    make_node(&w, "");
    begin_driver(&w, &w.a, "a");
    PASS_UNTIL(&w, strcmp(w.changes, "+test.csi ") == 0);
    driver_stop(&w.a);
    driver_unset(&w.a, "notified");
    driver_set(&w.a, "node-info", "other 0");
    driver_start(&w.a); /* which makes its sockets anew */
    PASS_UNTIL(&w, strcmp(w.changes, "+test.csi -test.csi +test.csi ") == 0);
    ASSERT_STR("true\n", driver_text(&w.a, "notified"));
    ASSERT_STR("[{\"name\":\"test.csi\",\"nodeID\":\"other\"}]", asked(&w, CSI_NODES "/n1", DRIVERS));
    ASSERT_STR("{\"test.csi\":\"other\"}", node_ids(&w));
    world_done(&w);
}

/* node-45; and when the first one goes the second has its turn. */
TEST(second_driver_of_the_same_name)
{
    struct world w;
    struct csi_endpoint endpoint;

    world_init(&w);
    make_node(&w, "");
    begin_driver(&w, &w.a, "a");
    PASS_UNTIL(&w, driver_has(&w.a, "notified", "true"));
    begin_driver(&w, &w.b, "b");
    PASS_UNTIL(&w, driver_has(&w.b, "notified", "false"));
    assert_true(
        driver_has(&w.b, "notified",
                   "false RegisterPlugin error -- plugin validation failed with err: ValidatePlugin for "
                   "CSI driver \"test.csi\" failed. Another driver with the same name is already "
                   "registered with a higher supported version: \"1.0.0\"\n"));
    ASSERT_OK(csi_drivers_find(w.drivers, "test.csi", &endpoint, &err));
    ASSERT_STR(w.a.socket, endpoint.socket);
    assert_int_equal(unlink(w.a.registrar), 0);
    PASS_UNTIL(&w, driver_has(&w.b, "notified", "true"));
    ASSERT_OK(csi_drivers_find(w.drivers, "test.csi", &endpoint, &err));
    ASSERT_STR(w.b.socket, endpoint.socket);
    world_done(&w);
}

/* A newer one takes its place; when that goes the older one is there again. */
TEST(newer_driver_of_the_same_name)
{
    struct world w;
    struct csi_endpoint endpoint = { 0 };

    world_init(&w);
    make_node(&w, "");
    begin_driver(&w, &w.a, "a");
    PASS_UNTIL(&w, driver_has(&w.a, "notified", "true"));
    driver_init(&w.b, w.d.path, "b", "");
    driver_stop(&w.b);
    driver_set(&w.b, "versions", "0.3.0 1.1.0 2.0.0 x");
    (void)snprintf(w.b.registrar, sizeof w.b.registrar, "%s", registry_path("b-reg.sock"));
    driver_start(&w.b);
    PASS_UNTIL(&w, driver_has(&w.b, "notified", "true"));
    ASSERT_OK(csi_drivers_find(w.drivers, "test.csi", &endpoint, &err));
    ASSERT_STR(w.b.socket, endpoint.socket);
    driver_stop(&w.b);
    assert_int_equal(unlink(w.b.registrar), 0);
    PASS_UNTIL(&w, csi_drivers_find(w.drivers, "test.csi", &endpoint, &err) == 0 &&
                       strcmp(endpoint.socket, w.a.socket) == 0);
    PASS_UNTIL(&w, strstr(asked(&w, CSI_NODES "/n1", DRIVERS), "test.csi"));
    world_done(&w);
}

/* node-46 */
TEST(topology_that_contradicts)
{
    struct world w;
    struct csi_endpoint endpoint;

    world_init(&w);
    make_node(&w, "'zone':'a'");
    driver_init(&w.a, w.d.path, "a", "");
    driver_stop(&w.a);
    driver_set(&w.a, "node-info", "node-1 0 zone=b");
    (void)snprintf(w.a.registrar, sizeof w.a.registrar, "%s", registry_path("a-reg.sock"));
    driver_start(&w.a);
    PASS_UNTIL(&w, driver_has(&w.a, "notified", "false"));
    assert_true(
        driver_has(&w.a, "notified",
                   "false RegisterPlugin error -- plugin registration failed with err: detected topology "
                   "value collision: driver reported \"zone\":\"b\" but existing label is "
                   "\"zone\":\"a\"\n"));
    ASSERT_STR("[]", asked(&w, CSI_NODES "/n1", DRIVERS));
    ASSERT_STR("", node_ids(&w));
    ASSERT_STR("a", asked(&w, NODES "/n1", "metadata/labels/zone"));
    ASSERT_ERR(ERR_UNAVAILABLE, csi_drivers_find(w.drivers, "test.csi", &endpoint, &err));
    driver_set(&w.a, "node-info", "node-1 0 zone=a"); /* asked again, it is right */
    PASS_UNTIL(&w, driver_has(&w.a, "notified", "true"));
    world_done(&w);
}

/* node-47 */
TEST(csi_node_of_a_node_that_is_gone)
{
    struct world w;

    world_init(&w);
    ASSERT_SENT(&w.parts.served, 201, "POST", CSI_NODES,
                "{'metadata':{'name':'n1','ownerReferences':[{'apiVersion':'v1','kind':'Node','name':'n1',"
                "'uid':'11111111-2222-4333-8444-555555555555'}]},'spec':{'drivers':[{'name':'old.csi','"
                "nodeID':'x'}]}}");
    make_node(&w, "");
    PASS_UNTIL(&w, is_ready(&w));
    ASSERT_STR("[]", asked(&w, CSI_NODES "/n1", DRIVERS));
    {
        char uid[64];

        (void)snprintf(uid, sizeof uid, "%s", asked(&w, NODES "/n1", "metadata/uid"));
        ASSERT_STR(uid, asked(&w, CSI_NODES "/n1", "metadata/ownerReferences/0/uid"));
    }
    world_done(&w);
}

/* What a process that crashed has left says something else: it is replaced, and others' entries stay. */
TEST(entry_of_an_earlier_life)
{
    struct world w;

    world_init(&w);
    make_node(&w, "");
    PASS_UNTIL(&w, is_ready(&w));
    ASSERT_SENT(&w.parts.served, 200, "MERGE", CSI_NODES "/n1",
                "{'spec':{'drivers':[{'name':'test.csi','nodeID':'old'},{'name':'z.csi','nodeID':'z'}]}}");
    ASSERT_SENT(&w.parts.served, 200, "MERGE", NODES "/n1",
                "{'metadata':{'annotations':{'csi.volume.kubernetes.io/nodeid':'{\\'z.csi\\':\\'z\\'}'}}}");
    begin_driver(&w, &w.a, "a");
    PASS_UNTIL(&w, driver_has(&w.a, "notified", "\n"));
    ASSERT_STR("true\n", driver_text(&w.a, "notified"));
    ASSERT_STR("[{\"name\":\"z.csi\",\"nodeID\":\"z\"},{\"name\":\"test.csi\",\"nodeID\":\"node-1\"}]",
               asked(&w, CSI_NODES "/n1", DRIVERS));
    ASSERT_STR("{\"test.csi\":\"node-1\",\"z.csi\":\"z\"}", node_ids(&w));
    world_done(&w);
}

/* node-48 */
TEST(limits_of_volumes)
{
    static const struct {
        const char *info, *expected;
        bool complains;
    } rows[] = {
        { "n 0", "[{\"name\":\"test.csi\",\"nodeID\":\"n\"}]", false },
        { "n -1", "[{\"name\":\"test.csi\",\"nodeID\":\"n\"}]", true },
        { "n 5", "[{\"name\":\"test.csi\",\"nodeID\":\"n\",\"allocatable\":{\"count\":5}}]", false },
        { "n 9000000000", "[{\"name\":\"test.csi\",\"nodeID\":\"n\",\"allocatable\":{\"count\":2147483647}}]",
          false },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct world w;

        world_init(&w);
        make_node(&w, "");
        driver_init(&w.a, w.d.path, "a", "");
        driver_stop(&w.a);
        driver_set(&w.a, "node-info", rows[i].info);
        (void)snprintf(w.a.registrar, sizeof w.a.registrar, "%s", registry_path("a-reg.sock"));
        driver_start(&w.a);
        PASS_UNTIL(&w, driver_has(&w.a, "notified", "true"));
        ASSERT_STR(rows[i].expected, asked(&w, CSI_NODES "/n1", DRIVERS));
        ASSERT_INT(rows[i].complains, strstr(w.complaints, "negative") != NULL);
        world_done(&w);
    }
}

/* node-49, the registration's half; section 12.4, "Allocatable refresh". */
TEST(limit_is_asked_for_again)
{
    struct world w;

    world_init(&w);
    make_node(&w, "");
    begin_driver(&w, &w.a, "a");
    PASS_UNTIL(&w, strcmp(w.changes, "+test.csi ") == 0);
    driver_set(&w.a, "node-info", "node-1 9");
    csi_registration_refresh(w.parts.part, "other.csi");
    csi_registration_refresh(w.parts.part, "test.csi");
    PASS_UNTIL(&w, strstr(asked(&w, CSI_NODES "/n1", DRIVERS), "{\"count\":9}"));
    driver_set(&w.a, "fail-NodeGetInfo", "13 broken"); /* what it said before stays */
    csi_registration_refresh(w.parts.part, "test.csi");
    PASS_UNTIL(&w, strstr(w.complaints, "broken"));
    assert_non_null(strstr(asked(&w, CSI_NODES "/n1", DRIVERS), "{\"count\":9}"));
    ASSERT_STR("+test.csi ", w.changes);
    ASSERT_STR("true\n", driver_text(&w.a, "notified"));
    assert_int_equal(unlink(w.a.registrar), 0);
    PASS_UNTIL(&w, strcmp(asked(&w, CSI_NODES "/n1", DRIVERS), "[]") == 0);
    world_done(&w);
}

/* Section 12.3: each way to be refused. */
TEST(refusals)
{
    static const struct {
        const char *file, *text, *expected;
    } rows[] = {
        { "type", "DevicePlugin",
          "false RegisterPlugin error -- no handler registered for plugin type: DevicePlugin at socket " },
        { "versions", "",
          "false RegisterPlugin error -- plugin validation failed with err: ValidatePlugin for CSI driver "
          "\"test.csi\" failed. Plugin returned an empty list for supported versions\n" },
        { "versions", "0.3.0 2.0.0",
          "false RegisterPlugin error -- plugin validation failed with err: ValidatePlugin for CSI driver "
          "\"test.csi\" failed. None of the versions specified [\"0.3.0\" \"2.0.0\"] are supported. "
          "err=highest "
          "supported version reported is 0.3.0, must be v1.x\n" },
        { "node-info", "",
          "false RegisterPlugin error -- plugin registration failed with err: driverNodeID "
          "must not be empty\n" },
        { "fail-NodeGetInfo", "13 broken",
          "false RegisterPlugin error -- plugin registration failed with err: rpc error: code = Internal "
          "desc = "
          "broken\n" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct csi_endpoint endpoint;
        struct world w;

        world_init(&w);
        make_node(&w, "");
        driver_init(&w.a, w.d.path, "a", "");
        driver_stop(&w.a);
        driver_set(&w.a, rows[i].file, rows[i].text);
        (void)snprintf(w.a.registrar, sizeof w.a.registrar, "%s", registry_path("a-reg.sock"));
        driver_start(&w.a);
        PASS_UNTIL(&w, driver_has(&w.a, "notified", "\n"));
        if (!driver_has(&w.a, "notified", rows[i].expected))
            fail_msg("row %zu: %s", i, driver_text(&w.a, "notified"));
        ASSERT_ERR(ERR_UNAVAILABLE, csi_drivers_find(w.drivers, "test.csi", &endpoint, &err));
        driver_unset(&w.a, rows[i].file); /* and when all is well, it is taken in */
        PASS_UNTIL(&w, driver_has(&w.a, "notified", "true"));
        world_done(&w);
    }
}

/* One that cannot be told is not registered: it is taken out, and asked again. */
TEST(registrar_that_cannot_be_told)
{
    struct world w;

    world_init(&w);
    make_node(&w, "");
    driver_init(&w.a, w.d.path, "a", "");
    driver_stop(&w.a);
    driver_set(&w.a, "fail-NotifyRegistrationStatus", "13 deaf");
    (void)snprintf(w.a.registrar, sizeof w.a.registrar, "%s", registry_path("a-reg.sock"));
    driver_start(&w.a);
    PASS_UNTIL(&w, strstr(driver_calls(&w.a), "NotifyRegistrationStatus:13 GetInfo:0"));
    ASSERT_STR("", w.changes);
    driver_unset(&w.a, "fail-NotifyRegistrationStatus");
    PASS_UNTIL(&w, strcmp(w.changes, "+test.csi ") == 0);
    world_done(&w);
}

/* Sockets in directories below are found, those that begin with a dot are not; files are none. */
TEST(sockets_are_found_where_they_are)
{
    struct world w;

    world_init(&w);
    make_node(&w, "");
    PASS_UNTIL(&w, is_ready(&w));
    assert_int_equal(mkdir(registry_path("deep"), 0755), 0);
    assert_int_equal(mkdir(registry_path("deep/er"), 0755), 0);
    {
        FILE *f = fopen(registry_path("no-socket"), "we");

        assert_non_null(f);
        (void)fclose(f);
    }
    driver_init(&w.a, w.d.path, "a", registry_path(".hidden.sock"));
    driver_init(&w.b, w.d.path, "b", registry_path("deep/er/b.sock"));
    PASS_UNTIL(&w, driver_has(&w.b, "notified", "true"));
    parts_pass_ns(&w.parts, 30 * NS_PER_S);
    ASSERT_STR("", driver_calls(&w.a));
    world_done(&w);
}

/* A socket that nobody listens at is tried again, with longer and longer delays. */
TEST(dead_socket_is_tried_again)
{
    struct world w;

    world_init(&w);
    make_node(&w, "");
    begin_driver(&w, &w.a, "a");
    driver_stop(&w.a);
    PASS_UNTIL(&w, strstr(w.complaints, "cannot connect to '"));
    driver_start(&w.a);
    PASS_UNTIL(&w, driver_has(&w.a, "notified", "true"));
    world_done(&w);
}

/* Whatever goes wrong with a request to the server, the end is the same. */
TEST(registration_survives_the_network)
{
    static const enum trouble troubles[] = { TROUBLE_REFUSED, TROUBLE_CONFLICT, TROUBLE_LOST };

    for (size_t t = 0; t < ARRAY_LEN(troubles); t++)
        for (unsigned at = 1; at <= 8; at++) {
            struct world w;

            world_init(&w);
            make_node(&w, "");
            w.parts.trouble = troubles[t];
            w.parts.at = w.parts.count + at;
            begin_driver(&w, &w.a, "a");
            PASS_UNTIL(&w, driver_has(&w.a, "notified", "true"));
            PASS_UNTIL(&w, strcmp(asked(&w, CSI_NODES "/n1", DRIVERS),
                                  "[{\"name\":\"test.csi\",\"nodeID\":\"node-1\"}]") == 0);
            ASSERT_STR("{\"test.csi\":\"node-1\"}", node_ids(&w));
            assert_int_equal(unlink(w.a.registrar), 0);
            PASS_UNTIL(&w, strcmp(asked(&w, CSI_NODES "/n1", DRIVERS), "[]") == 0);
            PASS_UNTIL(&w, node_ids(&w)[0] == '\0');
            world_done(&w);
        }
}

/* A process that ends at any of its requests is followed by one that finishes the job. */
TEST(registration_survives_a_crash)
{
    static const enum trouble troubles[] = { TROUBLE_CRASH_SENT, TROUBLE_CRASH_ANSWERED };

    for (size_t t = 0; t < ARRAY_LEN(troubles); t++)
        for (unsigned at = 1; at <= 6; at++) {
            struct world w;

            world_init(&w);
            make_node(&w, "");
            w.parts.trouble = troubles[t];
            w.parts.at = w.parts.count + at;
            begin_driver(&w, &w.a, "a");
            PASS_UNTIL(&w, strcmp(w.changes, "+test.csi ") == 0);
            ASSERT_STR("[{\"name\":\"test.csi\",\"nodeID\":\"node-1\"}]",
                       asked(&w, CSI_NODES "/n1", DRIVERS));
            ASSERT_STR("{\"test.csi\":\"node-1\"}", node_ids(&w));
            world_done(&w);
        }
}

/* The end comes in the middle of everything: nobody is told, nothing leaks. */
TEST(registration_ends_in_the_middle)
{
    static const char *const holds[] = { "hold-GetInfo", "hold-NodeGetInfo",
                                         "hold-NotifyRegistrationStatus" };

    for (size_t i = 0; i < ARRAY_LEN(holds); i++) {
        struct world w;

        world_init(&w);
        make_node(&w, "");
        driver_init(&w.a, w.d.path, "a", "");
        driver_stop(&w.a);
        driver_set(&w.a, holds[i], "");
        (void)snprintf(w.a.registrar, sizeof w.a.registrar, "%s", registry_path("a-reg.sock"));
        driver_start(&w.a);
        PASS_UNTIL(&w, is_ready(&w));
        parts_pass_ns(&w.parts, NS_PER_S);
        world_done(&w);
    }
}

/* --- Drivers without a registrar --- */

static void configure_driver(struct world *w, const char *name)
{
    static char socket[TEST_PATH_BYTES + 64];

    (void)snprintf(socket, sizeof socket, "%s/a/csi.sock", w->d.path);
    process_kill(&w->parts);
    w->configured = (struct csi_configured_driver){ name, socket };
    process_start(&w->parts);
    parts_rest(&w->parts);
}

static size_t calls_of(const struct test_driver *d, const char *method)
{
    size_t count = 0;

    for (const char *at = driver_text(d, "log"); (at = strstr(at, method)); at++)
        count++;
    return count;
}

TEST(configured_driver_needs_no_registrar)
{
    struct world w;
    struct csi_endpoint endpoint;

    world_init(&w);
    make_node(&w, "");
    configure_driver(&w, "test.csi");
    parts_pass_ns(&w.parts, 20 * NS_PER_S); /* it is not there yet */
    ASSERT_STR("", w.changes);
    driver_init(&w.a, w.d.path, "a", "");
    PASS_UNTIL(&w, w.changes[0]);
    ASSERT_STR("+test.csi ", w.changes);
    ASSERT_STR("GetPluginInfo:0 NodeGetInfo:0", driver_calls(&w.a));
    ASSERT_OK(csi_drivers_find(w.drivers, "test.csi", &endpoint, &err));
    ASSERT_STR(w.a.socket, endpoint.socket);
    ASSERT_STR("{\"test.csi\":\"node-1\"}", node_ids(&w));
    /* It ends and stays registered; back again, it is asked again. */
    driver_stop(&w.a);
    parts_pass_ns(&w.parts, 60 * NS_PER_S);
    ASSERT_OK(csi_drivers_find(w.drivers, "test.csi", &endpoint, &err));
    driver_set(&w.a, "node-info", "node-1 7");
    driver_start(&w.a);
    PASS_UNTIL(&w, strstr(asked(&w, CSI_NODES "/n1", DRIVERS), "\"count\":7"));
    ASSERT_STR("+test.csi ", w.changes);
    assert_int_equal(calls_of(&w.a, "GetPluginInfo"), 1);
    assert_int_equal(calls_of(&w.a, "NodeGetInfo"), 2);
    world_done(&w);
}

TEST(configured_driver_must_have_its_name)
{
    struct world w;
    struct csi_endpoint endpoint;

    world_init(&w);
    make_node(&w, "");
    driver_init(&w.a, w.d.path, "a", "");
    configure_driver(&w, "other.csi");
    PASS_UNTIL(&w, strstr(w.complaints, "the driver reports the name \"test.csi\", expected \"other.csi\""));
    assert_true(csi_drivers_find(w.drivers, "test.csi", &endpoint, &err) < 0);
    driver_set(&w.a, "name", "other.csi");
    PASS_UNTIL(&w, w.changes[0]);
    ASSERT_STR("+other.csi ", w.changes);
    world_done(&w);
}

TEST_MAIN()

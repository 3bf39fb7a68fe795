/* The CSI controllers of a process: which drivers get functions, and when they work. The functions are fakes,
 * the API server and its leases are real. */
#include "tests/unit/test_csi_fake.h"

#include "controllers/csi/csi_controllers.h"

#define OTHER_SOCKET "/run/other/csi.sock"
#define LEASE LEASES "/alpha-fake.csi"
#define FUNCTIONS_MAX 8

/* --- Functions that do nothing --- */

static struct bench {
    struct parts w;
    struct rpc_client *rpc;
    struct csi_endpoints *endpoints;
    struct fake_csi other;
    struct csi_driver_settings drivers[2];
    size_t drivers_count;
    bool is_local;
    const char *node_name;
    bool is_for_node;
    unsigned refusals; /* so many functions cannot be created */
    /* Of the first function. */
    unsigned made, started, freed;
    bool needs_expand;
    struct csi_function_options last;
} b;

struct fake_function {
    int unused;
};

static int alpha_lease(const char *driver, struct buf *ret, struct error *e)
{
    (void)e;
    buf_addf(ret, "alpha-%s", driver);
    return 0;
}

static int beta_lease(const char *driver, struct buf *ret, struct error *e)
{
    (void)e;
    buf_addf(ret, "beta-%s", driver);
    return 0;
}

static bool alpha_is_wanted(const struct csi_peer *p, const struct csi_driver_settings *s)
{
    (void)s;
    return !b.needs_expand || csi_peer_can(p, CSI_ABILITY_EXPAND_VOLUME);
}

static bool beta_is_wanted(const struct csi_peer *p, const struct csi_driver_settings *s)
{
    (void)p;
    (void)s;
    return false;
}

static int alpha_new(const struct csi_function_options *o, void **ret, struct error *e)
{
    struct fake_function *f;

    if (b.refusals > 0) {
        b.refusals--;
        return error_set(e, ERR_NO_MEMORY, "no memory");
    }
    assert_int_equal(csi_peer_state(o->peer), CSI_PEER_READY);
    assert_non_null(informers_get(o->part.informers, KIND_VOLUME, e)); /* prepared, and synced by now */
    f = calloc(1, sizeof *f);
    assert_non_null(f);
    b.made++;
    b.last = *o;
    *ret = f;
    return 0;
}

static void alpha_start(void *function)
{
    (void)function;
    b.started++;
}

static void alpha_free(void *function)
{
    b.freed++;
    free(function);
}

static int alpha_prepare(const struct component_deps *part, struct error *e)
{
    return informers_get(part->informers, KIND_VOLUME, e) ? 0 : -ERR_NO_MEMORY;
}

static bool alpha_explain(const void *function, const struct object *about, struct csi_work_state *ret)
{
    (void)function;
    (void)about;
    *ret = (struct csi_work_state){ .call = "CreateVolume" };
    return true;
}

static const struct csi_function_type alpha = { .name = "alpha",
                                                .is_per_node = true,
                                                .lease_name = alpha_lease,
                                                .prepare = alpha_prepare,
                                                .is_wanted = alpha_is_wanted,
                                                .new = alpha_new,
                                                .start = alpha_start,
                                                .free = alpha_free,
                                                .explain = alpha_explain };
static const struct csi_function_type beta = { .name = "beta",
                                               .lease_name = beta_lease,
                                               .is_wanted = beta_is_wanted,
                                               .new = alpha_new,
                                               .start = alpha_start,
                                               .free = alpha_free };
static const struct csi_function_type *const types[] = { &alpha, &beta, NULL };

/* --- The process --- */

static int make(const struct component_deps *o, void **ret, struct error *e)
{
    struct csi_controllers_options c = { .part = *o,
                                         .drivers = b.drivers,
                                         .drivers_count = b.drivers_count,
                                         .types = types,
                                         .node_name = b.node_name,
                                         .is_for_node = b.is_for_node,
                                         .identity = "me",
                                         .lease_ns = "default" };

    (void)fake_for(o);
    if (!b.other.loop)
        fake_csi_init(&b.other, o->loop, OTHER_SOCKET);
    ASSERT_OK(rpc_client_new(o->loop, &b.rpc, e));
    ASSERT_OK(csi_endpoints_new(o->loop, &b.endpoints, e));
    c.rpc = b.rpc;
    c.endpoints = b.endpoints;
    c.part.is_local = b.is_local;
    return csi_controllers_new(&c, (struct csi_controllers **)ret, e);
}

static void start(void *part)
{
    csi_controllers_start(part);
}

static void end(void *part)
{
    (void)csi_controllers_free(part);
    b.endpoints = csi_endpoints_free(b.endpoints);
    b.rpc = rpc_client_free(b.rpc);
}

static const struct part_type type = { make, start, end };

static void bench_init(void)
{
    parts_init(&b.w, &type);
}

static void bench_done(void)
{
    process_kill(&b.w);
    fake_csi_done(&b.other);
    process_start(&b.w); /* parts_done() ends it */
    parts_done(&b.w);
    memset(&b, 0, sizeof b);
}

static void put_endpoint(enum csi_endpoint_origin origin, const char *driver, const char *socket)
{
    ASSERT_OK(csi_endpoints_put(b.endpoints, &(struct csi_known_endpoint){ origin, driver, socket }, &err));
    parts_rest(&b.w);
}

static void pass_s(unsigned seconds)
{
    parts_pass_ns(&b.w, seconds * NS_PER_S);
    assert_null(csi_controllers_check(b.w.part));
}

static void assert_holder(const char *expected)
{
    ASSERT_SENT(&b.w.served, 200, "GET", LEASE, NULL);
    ASSERT_GOT(&b.w.served, expected, "spec/holderIdentity");
}

static struct csi_driver_state driver_at(size_t i)
{
    struct csi_driver_state s;

    assert_true(csi_controllers_driver(b.w.part, i, &s));
    return s;
}

/* --- Life of a function --- */

TEST(function_works_when_the_driver_is_ready_and_the_lease_is_held)
{
    const struct object about = { .uid = "u" };
    struct csi_work_state work;
    struct csi_driver_state s;

    bench_init();
    fake_of_parts()->is_not_ready = true;
    put_endpoint(CSI_FROM_NODE, FAKE_DRIVER, FAKE_SOCKET);
    pass_s(5);
    assert_int_equal(b.made, 0);
    assert_int_equal(driver_at(0).state, CSI_PEER_PROBING);
    fake_of_parts()->is_not_ready = false;
    pass_s(1);
    assert_int_equal(b.made, 1);
    assert_int_equal(b.started, 1);
    assert_holder("me");
    ASSERT_GOT(&b.w.served, "15", "spec/leaseDurationSeconds");
    s = driver_at(0);
    ASSERT_STR(FAKE_DRIVER, s.name);
    ASSERT_STR("", s.not_served);
    assert_int_equal(s.functions_count, 2);
    assert_true(s.functions[0].is_wanted && s.functions[0].is_working);
    ASSERT_STR("alpha-fake.csi", s.functions[0].lease);
    ASSERT_STR("me", s.functions[0].holder);
    assert_true(!s.functions[1].is_wanted && !s.functions[1].is_working);
    assert_false(csi_controllers_driver(b.w.part, 1, &s));
    assert_true(csi_controllers_explain(b.w.part, FAKE_DRIVER, "alpha", &about, &work));
    assert_false(csi_controllers_explain(b.w.part, FAKE_DRIVER, "beta", &about, &work));
    assert_false(csi_controllers_explain(b.w.part, "other.csi", "alpha", &about, &work));
    assert_int_equal(b.last.settings->timeout_ns, 10 * NS_PER_S);
    ASSERT_STR(FAKE_DRIVER, b.last.settings->name);
    csi_endpoints_remove(b.endpoints, CSI_FROM_NODE, FAKE_DRIVER);
    parts_rest(&b.w);
    assert_int_equal(b.freed, 1);
    bench_done();
}

/* A driver that is not ready for over 30 seconds is reported on its CSIDriver, once. */
TEST(driver_that_is_not_ready_is_reported)
{
    bench_init();
    ASSERT_SENT(&b.w.served, 201, "POST", "/apis/storage.k8s.io/v1/csidrivers",
                "{'metadata':{'name':'" FAKE_DRIVER "'},'spec':{}}");
    put_endpoint(CSI_FROM_NODE, FAKE_DRIVER, FAKE_SOCKET);
    pass_s(100);
    ASSERT_SENT(&b.w.served, 200, "GET", EVENTS, NULL);
    assert_null(strstr(buf_cstr(&b.w.served.text), "DriverNotReady"));
    fake_csi_end(fake_of_parts());
    pass_s(29);
    ASSERT_SENT(&b.w.served, 200, "GET", EVENTS, NULL);
    assert_null(strstr(buf_cstr(&b.w.served.text), "DriverNotReady"));
    pass_s(300);
    ASSERT_SENT(&b.w.served, 200, "GET", EVENTS, NULL);
    assert_non_null(strstr(buf_cstr(&b.w.served.text), "CSI driver is not ready for over 30 s: "));
    assert_non_null(strstr(buf_cstr(&b.w.served.text), "\"kind\":\"CSIDriver\""));
    fake_csi_begin(fake_of_parts());
    pass_s(10);
    fake_csi_end(fake_of_parts());
    pass_s(10);
    fake_csi_begin(fake_of_parts());
    pass_s(100);
    assert_int_equal(driver_at(0).state, CSI_PEER_READY);
    bench_done();
}

/* --- Drivers that are deployed per node --- */

#define CSI_NODES "/apis/storage.k8s.io/v1/csinodes"

static void put_csi_node(const char *keys)
{
    char body[512];

    (void)snprintf(body, sizeof body,
                   "{'metadata':{'name':'n'},'spec':{'drivers':[{'name':'" FAKE_DRIVER
                   "','nodeID':'n','topologyKeys':[%s]}]}}",
                   keys);
    ASSERT_SENT(&b.w.served, 201, "POST", CSI_NODES, body);
    parts_rest(&b.w);
}

/* csi-18: a process for one node serves a driver whose only topology key has the name of the node, without a
 * lease, and no other driver. */
TEST(driver_of_a_node_is_served_without_a_lease)
{
    b.node_name = "n";
    b.is_for_node = true;
    bench_init();
    ASSERT_SENT(&b.w.served, 201, "POST", NODES,
                "{'metadata':{'name':'n','labels':{'fake.csi/node':'n','zone':'a'}}}");
    put_endpoint(CSI_FROM_NODE, FAKE_DRIVER, FAKE_SOCKET);
    assert_int_equal(b.made, 0);
    assert_non_null(strstr(driver_at(0).not_served, "not deployed per node"));
    put_csi_node("'fake.csi/node'");
    assert_int_equal(b.made, 1);
    ASSERT_STR("n", b.last.node_name);
    ASSERT_GONE(&b.w, LEASE);
    pass_s(100);
    ASSERT_GONE(&b.w, LEASE);
    ASSERT_SENT(&b.w.served, 200, "MERGE", NODES "/n", "{'metadata':{'labels':{'fake.csi/node':'other'}}}");
    pass_s(1);
    assert_int_equal(b.freed, 1);
    ASSERT_SENT(&b.w.served, 200, "MERGE", NODES "/n", "{'metadata':{'labels':{'fake.csi/node':'n'}}}");
    pass_s(1);
    assert_int_equal(b.made, 2);
    ASSERT_SENT(&b.w.served, 200, "DELETE", CSI_NODES "/n", NULL);
    put_csi_node("'fake.csi/node','zone'");
    assert_int_equal(b.freed, 2);
    bench_done();
}

/* csi-18: with the setting nodeDeployment the keys do not count, also in a process for all nodes. */
TEST(driver_with_the_setting_is_served_per_node)
{
    for (unsigned is_for_node = 0; is_for_node < 2; is_for_node++) {
        b.node_name = "n";
        b.is_for_node = is_for_node;
        b.drivers[0] = (struct csi_driver_settings){ .name = FAKE_DRIVER, .is_node_deployment = true };
        b.drivers_count = 1;
        bench_init();
        put_endpoint(CSI_FROM_NODE, FAKE_DRIVER, FAKE_SOCKET);
        assert_int_equal(b.made, 1);
        ASSERT_STR("n", b.last.node_name);
        ASSERT_GONE(&b.w, LEASE);
        bench_done();
    }
    b.node_name = "n";
    bench_init();
    put_endpoint(CSI_FROM_NODE, FAKE_DRIVER, FAKE_SOCKET);
    assert_null(b.last.node_name);
    assert_holder("me");
    bench_done();
}

/* Other processes describe the driver from it: written on change, at most every ten seconds. */
TEST(state_of_a_driver_is_recorded_in_its_object)
{
    static const char path[] = "/apis/storage.k8s.io/v1/csidrivers/" FAKE_DRIVER;

    bench_init();
    ASSERT_SENT(&b.w.served, 201, "POST", "/apis/storage.k8s.io/v1/csidrivers",
                "{'metadata':{'name':'" FAKE_DRIVER "'},'spec':{}}");
    put_endpoint(CSI_FROM_NODE, FAKE_DRIVER, FAKE_SOCKET);
    pass_s(1);
    ASSERT_SENT(&b.w.served, 200, "GET", path, NULL);
    assert_non_null(strstr(buf_cstr(&b.w.served.text), "csi.berth.io/state"));
    assert_non_null(strstr(buf_cstr(&b.w.served.text), "\\\"state\\\":\\\"ready\\\""));
    assert_non_null(strstr(buf_cstr(&b.w.served.text), "CREATE_DELETE_VOLUME"));
    assert_non_null(strstr(buf_cstr(&b.w.served.text), "\\\"by\\\":\\\"me\\\""));
    fake_csi_end(fake_of_parts());
    pass_s(1);
    ASSERT_SENT(&b.w.served, 200, "GET", path, NULL);
    assert_non_null(strstr(buf_cstr(&b.w.served.text), "\\\"state\\\":\\\"ready\\\""));
    pass_s(10);
    ASSERT_SENT(&b.w.served, 200, "GET", path, NULL);
    assert_non_null(strstr(buf_cstr(&b.w.served.text), "\\\"state\\\":\\\"lost\\\""));
    fake_csi_begin(fake_of_parts());
    bench_done();
}

/* With the server in this process: one renewal a minute, and a restart takes the lease over at once. */
TEST(lease_in_the_process_of_the_server_is_long)
{
    b.is_local = true;
    bench_init();
    put_endpoint(CSI_FROM_NODE, FAKE_DRIVER, FAKE_SOCKET);
    assert_int_equal(b.made, 1);
    assert_holder("me");
    ASSERT_GOT(&b.w.served, "180", "spec/leaseDurationSeconds");
    pass_s(600);
    buf_clear(&b.w.log);
    pass_s(600);
    assert_asked(&b.w,
                 "PATCH " LEASE "\nPATCH " LEASE "\nPATCH " LEASE "\nPATCH " LEASE "\nPATCH " LEASE
                 "\nPATCH " LEASE "\nPATCH " LEASE "\nPATCH " LEASE "\nPATCH " LEASE "\nPATCH " LEASE "\n");
    process_kill(&b.w);
    process_start(&b.w);
    parts_rest(&b.w);
    put_endpoint(CSI_FROM_NODE, FAKE_DRIVER, FAKE_SOCKET);
    assert_int_equal(b.made, 2);
    bench_done();
}

/* csi-34 */
TEST(function_ends_with_its_driver_and_comes_back)
{
    bench_init();
    put_endpoint(CSI_FROM_NODE, FAKE_DRIVER, FAKE_SOCKET);
    assert_int_equal(b.made, 1);
    fake_csi_end(fake_of_parts());
    parts_rest(&b.w);
    assert_int_equal(b.freed, 1);
    pass_s(5);
    fake_csi_begin(fake_of_parts());
    pass_s(1);
    assert_int_equal(b.made, 2);
    assert_holder("me");
    fake_csi_end(fake_of_parts());
    pass_s(20); /* it does not come back: another process may serve the driver */
    assert_int_equal(b.freed, 2);
    assert_holder("");
    fake_csi_begin(fake_of_parts());
    pass_s(2);
    assert_int_equal(b.made, 3);
    assert_holder("me");
    bench_done();
}

TEST(capabilities_decide_which_functions_work)
{
    bench_init();
    b.needs_expand = true;
    fake_of_parts()->controller = FAKE_BIT(1);
    put_endpoint(CSI_FROM_NODE, FAKE_DRIVER, FAKE_SOCKET);
    pass_s(5);
    assert_int_equal(b.made, 0);
    fake_csi_end(fake_of_parts());
    fake_of_parts()->controller = FAKE_BIT(9);
    fake_csi_begin(fake_of_parts());
    pass_s(1);
    assert_int_equal(b.made, 1);
    fake_csi_end(fake_of_parts());
    fake_of_parts()->controller = FAKE_BIT(1);
    fake_csi_begin(fake_of_parts());
    pass_s(1);
    assert_int_equal(b.made, 1);
    assert_int_equal(b.freed, 1);
    assert_holder("");
    bench_done();
}

TEST(function_that_cannot_be_created_is_tried_again)
{
    bench_init();
    b.refusals = 3;
    put_endpoint(CSI_FROM_NODE, FAKE_DRIVER, FAKE_SOCKET);
    pass_s(5);
    assert_int_equal(b.made, 1);
    bench_done();
}

/* --- Leases --- */

#define STOCK                                                                                           \
    "{'metadata':{'name':'alpha-fake.csi'},'spec':{'holderIdentity':'stock','leaseDurationSeconds':15," \
    "'acquireTime':'2023-11-14T22:13:20.000000Z','renewTime':'2023-11-14T22:13:20.000000Z',"            \
    "'leaseTransitions':3}}"

/* csi-35 */
TEST(stock_sidecar_is_waited_for)
{
    bench_init();
    ASSERT_SENT(&b.w.served, 201, "POST", LEASES, STOCK);
    put_endpoint(CSI_FROM_NODE, FAKE_DRIVER, FAKE_SOCKET);
    for (unsigned i = 0; i < 20; i++) { /* the stock one goes on */
        char renewal[128];

        (void)snprintf(renewal, sizeof renewal, "{'spec':{'renewTime':'2023-11-14T22:13:%02u.000000Z'}}",
                       20 + i);
        ASSERT_SENT(&b.w.served, 200, "MERGE", LEASE, renewal);
        pass_s(5);
    }
    assert_int_equal(b.made, 0);
    ASSERT_STR("stock", driver_at(0).functions[0].holder);
    pass_s(15 + 11); /* and ends: after its lease and one look */
    assert_int_equal(b.made, 1);
    assert_holder("me");
    bench_done();
}

/* The process goes on without the function, and stands for election again. */
TEST(lost_lease_ends_the_function_and_nothing_else)
{
    bench_init();
    put_endpoint(CSI_FROM_NODE, FAKE_DRIVER, FAKE_SOCKET);
    assert_int_equal(b.made, 1);
    ASSERT_SENT(&b.w.served, 200, "MERGE", LEASE,
                "{'spec':{'holderIdentity':'stock','leaseDurationSeconds':15}}");
    pass_s(10);
    assert_int_equal(b.freed, 1);
    assert_int_equal(driver_at(0).state, CSI_PEER_READY);
    pass_s(30);
    assert_int_equal(b.made, 2);
    assert_holder("me");
    b.w.is_down = true; /* no answer: the lease cannot be renewed */
    pass_s(30);
    assert_int_equal(b.freed, 2);
    b.w.is_down = false;
    pass_s(60);
    assert_int_equal(b.made, 3);
    bench_done();
}

/* --- Which drivers --- */

TEST(driver_without_a_controller_service_is_served_if_the_settings_name_it)
{
    bench_init();
    fake_of_parts()->plugin = 0;
    put_endpoint(CSI_FROM_NODE, FAKE_DRIVER, FAKE_SOCKET);
    pass_s(1);
    assert_int_equal(b.made, 0);
    ASSERT_STR("the driver has no controller service", driver_at(0).not_served);
    csi_endpoints_remove(b.endpoints, CSI_FROM_NODE, FAKE_DRIVER);
    put_endpoint(CSI_FROM_SETTINGS, "", FAKE_SOCKET);
    pass_s(1);
    assert_int_equal(b.made, 1);
    bench_done();
}

TEST(settings_switch_a_driver_off)
{
    b.drivers[0] = (struct csi_driver_settings){ .name = FAKE_DRIVER, .is_off = true };
    b.drivers_count = 1;
    bench_init();
    put_endpoint(CSI_FROM_NODE, FAKE_DRIVER, FAKE_SOCKET);
    put_endpoint(CSI_FROM_SETTINGS, "", OTHER_SOCKET); /* whose name is not known yet */
    pass_s(1);
    assert_int_equal(b.made, 0);
    ASSERT_STR(OTHER_SOCKET, driver_at(0).socket);
    ASSERT_STR("the settings switch the controller of this driver off", driver_at(0).not_served);
    bench_done();
}

TEST(settings_name_another_socket_for_the_controller)
{
    b.drivers[0] = (struct csi_driver_settings){
        .name = FAKE_DRIVER, .socket = OTHER_SOCKET, .timeout_ns = 30 * NS_PER_S, .others_max = 3
    };
    b.drivers_count = 1;
    bench_init();
    put_endpoint(CSI_FROM_SETTINGS, FAKE_DRIVER, OTHER_SOCKET);
    put_endpoint(CSI_FROM_NODE, FAKE_DRIVER, FAKE_SOCKET);
    pass_s(1);
    assert_int_equal(b.made, 1);
    ASSERT_STR(OTHER_SOCKET, csi_peer_socket(b.last.peer));
    assert_int_equal(b.last.settings->timeout_ns, 30 * NS_PER_S);
    assert_int_equal(fake_of_parts()->sessions, 0);
    bench_done();
}

TEST(two_sockets_with_one_name_do_not_both_serve_it)
{
    bench_init();
    put_endpoint(CSI_FROM_SETTINGS, "", FAKE_SOCKET);
    put_endpoint(CSI_FROM_SETTINGS, "", OTHER_SOCKET);
    pass_s(1);
    assert_int_equal(b.made, 1);
    ASSERT_STR("", driver_at(0).not_served);
    ASSERT_STR("the driver is served through another socket, " FAKE_SOCKET, driver_at(1).not_served);
    fake_csi_end(fake_of_parts()); /* the older one is dead: the newer wins, with the same lease */
    pass_s(1);
    assert_int_equal(b.freed, 1);
    assert_int_equal(b.made, 2);
    ASSERT_STR(OTHER_SOCKET, csi_peer_socket(b.last.peer));
    assert_holder("me");
    fake_csi_begin(fake_of_parts()); /* and keeps it */
    pass_s(60);
    assert_int_equal(b.made, 2);
    ASSERT_STR("the driver is served through another socket, " OTHER_SOCKET, driver_at(0).not_served);
    fake_csi_end(&b.other);
    pass_s(1);
    assert_int_equal(b.made, 3);
    ASSERT_STR(FAKE_SOCKET, csi_peer_socket(b.last.peer));
    bench_done();
}

TEST(drivers_are_bounded)
{
    static char sockets[CSI_DRIVERS_MAX + 2][64];
    static struct fake_csi fakes[CSI_DRIVERS_MAX + 2];
    struct csi_driver_state s;

    bench_init();
    for (unsigned i = 0; i < CSI_DRIVERS_MAX + 2; i++) {
        (void)snprintf(sockets[i], sizeof sockets[i], "/run/%u.sock", i);
        fake_csi_init(&fakes[i], b.w.served.loop, sockets[i]);
        fake_csi_end(&fakes[i]);
        ASSERT_OK(csi_endpoints_put(b.endpoints,
                                    &(struct csi_known_endpoint){ CSI_FROM_SETTINGS, "", sockets[i] }, &err));
    }
    pass_s(1);
    assert_true(csi_controllers_driver(b.w.part, CSI_DRIVERS_MAX - 1, &s));
    assert_false(csi_controllers_driver(b.w.part, CSI_DRIVERS_MAX, &s));
    process_kill(&b.w);
    for (unsigned i = 0; i < CSI_DRIVERS_MAX + 2; i++)
        fake_csi_done(&fakes[i]);
    process_start(&b.w);
    bench_done();
}

TEST_MAIN()

/* The Node of a machine, its lease and what it says is in use: against the whole server, in time moved by
 * hand, with each request going wrong in turn. */
#include "tests/unit/test_parts.h"

#include <semaphore.h>
#include <unistd.h>

#include "apiserver/user.h"
#include "base/log.h"
#include "node/node_lease.h"
#include "node/register.h"

#define NODE "/api/v1/nodes/n1"
#define LEASE "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1"
#define NODE_LEASES "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
#define S NS_PER_S

/* --- The agent: what it says, and what it was told --- */

static struct {
    bool knows;
    const char *in_use[4]; /* up to a NULL */
    const char *trouble;   /* NULL: ready */
    bool attaches_itself;
    const char *root; /* NULL: "/" */
    char told[256];   /* the last list, "a,b"; "-" for never */
    char sent[256];   /* the same of the last that nobody may rely on more of than it has */
    unsigned empties; /* so many of those had nothing */
    unsigned tells;
} agent;

struct machine {
    struct pool *pool;
    struct informer *self;
    struct registration *registration;
};

static bool agent_in_use(void *ctx, struct arena *a, struct texts *ret)
{
    const char **items = arena_array(a, 4, sizeof *items);
    uint32_t n = 0;

    (void)ctx;
    for (; agent.in_use[n]; n++)
        items[n] = arena_dup(a, str_of(agent.in_use[n]));
    *ret = (struct texts){ items, n };
    return agent.knows;
}

static void keep_list(struct texts names, char ret[static sizeof agent.told])
{
    _cleanup_(buf_done_p) struct buf list = BUF_INIT(sizeof agent.told - 1);

    for (uint32_t i = 0; i < names.count; i++)
        buf_addf(&list, "%s%s", i ? "," : "", names.items[i]);
    (void)snprintf(ret, sizeof agent.told, "%s", buf_cstr(&list));
}

static void agent_withdrawing(void *ctx, struct texts names)
{
    (void)ctx;
    keep_list(names, agent.sent);
    agent.empties += names.count == 0;
}

static void agent_reported(void *ctx, struct texts names)
{
    (void)ctx;
    keep_list(names, agent.told);
    agent.tells++;
}

static int agent_is_ready(void *ctx, struct error *e)
{
    (void)ctx;
    return agent.trouble ? error_set(e, ERR_UNAVAILABLE, "%s", agent.trouble) : 0;
}

static int machine_make(const struct component_deps *o, void **ret, struct error *e)
{
    struct informer_options i = { .loop = o->loop,
                                  .client = o->client,
                                  .seed = 9,
                                  .kind = kind_info(KIND_NODE),
                                  .field_selector = "metadata.name=n1" };
    struct registration_options r = { .part = *o,
                                      .name = "n1",
                                      .root = agent.root ? agent.root : "/",
                                      .attaches_itself = agent.attaches_itself,
                                      .in_use = agent_in_use,
                                      .withdrawing = agent_withdrawing,
                                      .reported = agent_reported,
                                      .is_ready = agent_is_ready };
    struct machine *m = calloc(1, sizeof *m);

    assert_non_null(m);
    (void)snprintf(agent.told, sizeof agent.told, "-");
    ASSERT_OK(pool_new(o->loop, 1, 8, &m->pool, e));
    ASSERT_OK(informer_new(&i, &m->self, e));
    r.self = m->self;
    r.pool = m->pool;
    ASSERT_OK(registration_new(&r, &m->registration, e));
    *ret = m;
    return 0;
}

static void machine_start(void *part)
{
    struct machine *m = part;

    informer_start(m->self);
    registration_start(m->registration);
}

static void machine_free(void *part)
{
    struct machine *m = part;

    m->registration = registration_free(m->registration);
    m->self = informer_free(m->self);
    m->pool = pool_free(m->pool);
    free(m);
}

static const struct part_type machine_type = { machine_make, machine_start, machine_free };

static void node_world_init(struct parts *w)
{
    memset(&agent, 0, sizeof agent);
    agent.knows = true;
    parts_init(w, &machine_type);
}

static struct registration *registration_of(const struct parts *w)
{
    return ((struct machine *)w->part)->registration;
}

static void report(struct parts *w)
{
    registration_report(registration_of(w));
    parts_rest(w);
}

/* What is in use from now on. */
static void use(struct parts *w, const char *a, const char *b)
{
    agent.knows = true;
    agent.in_use[0] = a;
    agent.in_use[1] = b;
    report(w);
}

static void restart(struct parts *w)
{
    process_kill(w);
    process_start(w);
    buf_clear(&w->log);
}

/* How often the part has asked like this since the log was cleared. */
static unsigned count_asked(const struct parts *w, const char *beginning)
{
    struct str rest = buf_str(&w->log);
    unsigned n = 0;

    while (rest.len)
        n += str_has_prefix(str_next(&rest, '\n'), beginning);
    return n;
}

#define STATUS_PATCH "PATCH " NODE "/status"

/* --- What stands in the last answer --- */

static const char *text_of(const struct parts *w, json_ref v)
{
    static struct buf out = { .len_max = 4096 };

    buf_clear(&out);
    buf_add_str(&out, v ? json_text(&w->served.doc, v) : STR_LIT("-"));
    return buf_cstr(&out);
}

static const char *meta(struct parts *w, const char *map, const char *key)
{
    const struct json *d = &w->served.doc;

    ASSERT_SENT(&w->served, 200, "GET", NODE, NULL);
    return text_of(w, json_get(d, json_path(d, w->served.root, "metadata", map), key));
}

static const char *condition(struct parts *w, const char *type, const char *field)
{
    const struct json *d = &w->served.doc;

    ASSERT_SENT(&w->served, 200, "GET", NODE, NULL);
    for (json_ref c = json_first(d, json_path(d, w->served.root, "status", "conditions")); c;
         c = json_next(d, c))
        if (json_is_string(d, json_get(d, c, "type"), type))
            return text_of(w, json_get(d, c, field));
    return "-";
}

#define CONTROLLER_ATTACHES "volumes.kubernetes.io/controller-managed-attach-detach"
#define START_TIME "2023-11-14T22:13:20Z"
#define IN_USE "status/volumesInUse"

/* --- Registration --- */

TEST(a_machine_registers_itself)
{
    struct parts w;

    node_world_init(&w);
    assert_true(registration_is_done(registration_of(&w)));
    assert_asked(&w, "GET " NODE "\nPOST /api/v1/nodes\nGET " LEASE "\nPOST " NODE_LEASES "\nGET " NODE
                     "\n" STATUS_PATCH "\n");
    ASSERT_STR("true", meta(&w, "annotations", CONTROLLER_ATTACHES));
    ASSERT_STR("n1", meta(&w, "labels", "kubernetes.io/hostname"));
    ASSERT_STR("linux", meta(&w, "labels", "kubernetes.io/os"));
    ASSERT_STR("True", condition(&w, "Ready", "status"));
    ASSERT_STR("KubeletReady", condition(&w, "Ready", "reason"));
    ASSERT_STR("berth is posting ready status", condition(&w, "Ready", "message"));
    ASSERT_STR(START_TIME, condition(&w, "Ready", "lastTransitionTime"));
    ASSERT_STR("False", condition(&w, "MemoryPressure", "status"));
    ASSERT_STR("False", condition(&w, "DiskPressure", "status"));
    ASSERT_STR("False", condition(&w, "PIDPressure", "status"));
    ASSERT_GOT(&w.served, "110", "status/allocatable/pods");
    ASSERT_GOT(&w.served, "linux", "status/nodeInfo/operatingSystem");
    ASSERT_GOT(&w.served, "v1.36.4+berth." BERTH_VERSION, "status/nodeInfo/kubeletVersion");
    ASSERT_GOT(&w.served, "Hostname", "status/addresses/1/type");
    ASSERT_GOT(&w.served, "-", "status/addresses/2");
    parts_done(&w);
}

/* The version that nodes show is the server's own. */
TEST(nodes_and_server_say_the_same_version)
{
    struct parts w;

    node_world_init(&w);
    ASSERT_SENT(&w.served, 200, "GET", "/version", NULL);
    ASSERT_GOT(&w.served, "v1.36.4+berth." BERTH_VERSION, "gitVersion");
    parts_done(&w);
}

#define STRANGER                                                                                         \
    "{'metadata':{'name':'n1','labels':{'kubernetes.io/hostname':'old-name','zone':'a'},'annotations':{" \
    "'mine':'yes'}},'spec':{'unschedulable':true,'taints':[{'key':'k','effect':'NoSchedule'}]},"         \
    "'status':{'capacity':{'example.com/gpu':'2','pods':'5'},'addresses':[{'type':'ExternalIP',"         \
    "'address':'1.2.3.4'}],'volumesInUse':['p/old'],'volumesAttached':[{'name':'p/old','devicePath':"    \
    "'/dev/x'}],'conditions':[{'type':'NetworkUnavailable','status':'False'},{'type':'Ready','status':"  \
    "'Unknown','lastTransitionTime':'2020-01-01T00:00:00Z'}]}}"

/* A world in which the Node is there before the agent. */
static void world_init_with(struct parts *w, const char *node)
{
    node_world_init(w);
    process_kill(w);
    ASSERT_SENT(&w->served, 200, "DELETE", NODE, NULL);
    ASSERT_SENT(&w->served, 201, "POST", "/api/v1/nodes", node);
    buf_clear(&w->log);
    agent.tells = 0;
    process_start(w);
}

TEST(a_node_that_is_there_is_adopted)
{
    struct parts w;

    world_init_with(&w, STRANGER);
    parts_rest(&w);
    ASSERT_STR("n1", meta(&w, "labels", "kubernetes.io/hostname"));
    ASSERT_STR("a", meta(&w, "labels", "zone"));
    ASSERT_STR("yes", meta(&w, "annotations", "mine"));
    ASSERT_STR("true", meta(&w, "annotations", CONTROLLER_ATTACHES));
    ASSERT_GOT(&w.served, "true", "spec/unschedulable");
    ASSERT_GOT(&w.served, "k", "spec/taints/0/key");
    ASSERT_GOT(&w.served, "110", "status/capacity/pods");
    ASSERT_GOT(&w.served, "{'name':'p/old','devicePath':'/dev/x'}", "status/volumesAttached/0");
    ASSERT_GOT(&w.served, "InternalIP", "status/addresses/0/type");
    ASSERT_GOT(&w.served, "-", "status/addresses/2");
    assert_non_null(strstr(buf_cstr(&w.served.text), "\"example.com/gpu\":\"2\""));
    ASSERT_STR("False", condition(&w, "NetworkUnavailable", "status"));
    ASSERT_STR("True", condition(&w, "Ready", "status"));
    ASSERT_STR(START_TIME, condition(&w, "Ready", "lastTransitionTime"));
    ASSERT_INT(1, count_asked(&w, "PATCH " NODE "?"));
    ASSERT_INT(1, count_asked(&w, STATUS_PATCH));
    parts_done(&w);
}

/* Somebody makes the Node between our look and our write. */
TEST(a_node_that_came_meanwhile_is_adopted)
{
    struct parts w;

    node_world_init(&w);
    process_kill(&w);
    ASSERT_SENT(&w.served, 200, "DELETE", NODE, NULL);
    buf_clear(&w.log);
    process_start(&w);
    while (count_asked(&w, "GET " NODE) == 0) {
        (void)loop_poll(w.served.loop);
        process_care(&w);
    }
    ASSERT_SENT(&w.served, 201, "POST", "/api/v1/nodes", STRANGER);
    parts_pass_ns(&w, S);
    ASSERT_INT(1, count_asked(&w, "POST /api/v1/nodes"));
    ASSERT_STR("n1", meta(&w, "labels", "kubernetes.io/hostname"));
    ASSERT_STR("a", meta(&w, "labels", "zone"));
    ASSERT_STR("True", condition(&w, "Ready", "status"));
    parts_done(&w);
}

TEST(a_node_that_attaches_itself_says_so)
{
    struct parts w;

    node_world_init(&w);
    ASSERT_STR("true", meta(&w, "annotations", CONTROLLER_ATTACHES));
    agent.attaches_itself = true;
    restart(&w);
    parts_rest(&w);
    ASSERT_STR("-", meta(&w, "annotations", CONTROLLER_ATTACHES));
    restart(&w);
    parts_rest(&w);
    ASSERT_INT(0, count_asked(&w, "PATCH " NODE "?"));
    parts_done(&w);
}

/* --- The status --- */

TEST(a_status_in_which_nothing_changed_is_written_each_five_minutes)
{
    struct parts w;

    node_world_init(&w);
    buf_clear(&w.log);
    parts_pass_ns(&w, 299 * S);
    ASSERT_INT(0, count_asked(&w, STATUS_PATCH));
    ASSERT_INT(0, count_asked(&w, "GET " NODE));
    ASSERT_STR(START_TIME, condition(&w, "Ready", "lastHeartbeatTime"));
    parts_pass_ns(&w, 2 * S);
    ASSERT_INT(1, count_asked(&w, STATUS_PATCH));
    ASSERT_STR("2023-11-14T22:18:20Z", condition(&w, "Ready", "lastHeartbeatTime"));
    ASSERT_STR("2023-11-14T22:18:20Z", condition(&w, "DiskPressure", "lastHeartbeatTime"));
    ASSERT_STR(START_TIME, condition(&w, "Ready", "lastTransitionTime"));
    parts_pass_ns(&w, 298 * S);
    ASSERT_INT(1, count_asked(&w, STATUS_PATCH));
    parts_done(&w);
}

/* Keeps the only worker busy until it is let go. */
struct hold {
    struct pool_work work;
    sem_t sem;
};

static int hold_run(void *ctx)
{
    struct hold *h = ctx;

    while (sem_wait(&h->sem) < 0)
        continue;
    return 0;
}

static void hold_done(void *ctx, int result)
{
    (void)ctx;
    (void)result;
}

static struct pool *pool_of(const struct parts *w)
{
    return ((struct machine *)w->part)->pool;
}

#define STORAGE "status/capacity/ephemeral-storage"

/* What the machine is may change under the agent: it looks again with each heartbeat, here so slowly that the
 * heartbeat is on its way when the news comes. */
TEST(a_machine_that_changed_says_so)
{
    struct parts w;
    char dir[] = "/tmp/berth-test-XXXXXX", root[64];
    struct hold hold = { 0 };

    assert_non_null(mkdtemp(dir));
    (void)snprintf(root, sizeof root, "%s/root", dir);
    ASSERT_INT(0, symlink("/proc", root)); /* which has no size */
    memset(&agent, 0, sizeof agent);
    agent.knows = true;
    agent.root = root;
    parts_init(&w, &machine_type);
    ASSERT_THERE(&w, "0", NODE, STORAGE);
    ASSERT_INT(0, unlink(root));
    ASSERT_INT(0, symlink("/", root));
    ASSERT_INT(0, sem_init(&hold.sem, 0, 0));
    ASSERT_OK(pool_submit(pool_of(&w), &hold.work, hold_run, hold_done, &hold, &err));
    parts_pass_ns(&w, 299 * S);
    buf_clear(&w.log);
    manual_clock_advance(&w.served.clock, S);
    while (count_asked(&w, STATUS_PATCH) == 0)
        (void)loop_poll(w.served.loop);
    ASSERT_INT(0, sem_post(&hold.sem));
    pool_drain(pool_of(&w));
    parts_rest(&w);
    ASSERT_INT(2, count_asked(&w, STATUS_PATCH));
    ASSERT_SENT(&w.served, 200, "GET", NODE, NULL);
    assert_string_not_equal("0", got(&w.served, STORAGE));
    assert_string_not_equal("0", got(&w.served, "status/allocatable/ephemeral-storage"));

    /* One that cannot be read is what it was. */
    ASSERT_INT(0, unlink(root));
    parts_pass_ns(&w, 301 * S);
    pool_drain(pool_of(&w));
    parts_rest(&w);
    ASSERT_INT(3, count_asked(&w, STATUS_PATCH));
    ASSERT_SENT(&w.served, 200, "GET", NODE, NULL);
    assert_string_not_equal("0", got(&w.served, STORAGE));
    parts_done(&w);
    ASSERT_INT(0, sem_destroy(&hold.sem));
    ASSERT_INT(0, rmdir(dir));
}

TEST(a_node_that_is_not_ready_says_why_at_once)
{
    struct parts w;

    node_world_init(&w);
    parts_pass_ns(&w, 60 * S);
    agent.trouble = "the pods are not known yet";
    report(&w);
    ASSERT_STR("False", condition(&w, "Ready", "status"));
    ASSERT_STR("KubeletNotReady", condition(&w, "Ready", "reason"));
    ASSERT_STR("the pods are not known yet", condition(&w, "Ready", "message"));
    ASSERT_STR("2023-11-14T22:14:20Z", condition(&w, "Ready", "lastTransitionTime"));
    parts_pass_ns(&w, 60 * S);
    agent.trouble = "something else";
    report(&w);
    ASSERT_STR("something else", condition(&w, "Ready", "message"));
    ASSERT_STR("2023-11-14T22:14:20Z", condition(&w, "Ready", "lastTransitionTime"));
    agent.trouble = NULL;
    report(&w);
    ASSERT_STR("True", condition(&w, "Ready", "status"));
    ASSERT_STR("2023-11-14T22:15:20Z", condition(&w, "Ready", "lastTransitionTime"));
    parts_done(&w);
}

/* Stock kubelets stay Ready, too: but who does not become ready says so. */
TEST(a_restart_is_no_transition)
{
    struct parts w;

    node_world_init(&w);
    parts_pass_ns(&w, 60 * S);
    agent.trouble = "the pods are not known yet";
    process_kill(&w);
    process_start(&w);
    parts_rest(&w);
    ASSERT_STR("True", condition(&w, "Ready", "status"));
    ASSERT_STR(START_TIME, condition(&w, "Ready", "lastTransitionTime"));
    parts_pass_ns(&w, 11 * S);
    parts_rest(&w);
    ASSERT_STR("False", condition(&w, "Ready", "status"));
    ASSERT_STR("2023-11-14T22:14:30Z", condition(&w, "Ready", "lastTransitionTime"));
    agent.trouble = NULL;
    parts_done(&w);
}

TEST(a_report_that_changes_nothing_asks_nothing)
{
    struct parts w;
    unsigned tells;

    node_world_init(&w);
    use(&w, "p/a", NULL);
    buf_clear(&w.log);
    tells = agent.tells;
    report(&w);
    assert_asked(&w, "");
    ASSERT_INT(tells + 1, agent.tells); /* whoever waits for the list may have come after it */
    ASSERT_STR("p/a", agent.told);
    parts_done(&w);
}

/* The server had it already, unheard of: nothing is written, and the heartbeat is no later for it. */
TEST(what_stands_there_already_is_not_written)
{
    struct parts w;

    node_world_init(&w);
    use(&w, NULL, NULL);
    parts_pass_ns(&w, 200 * S);
    w.is_blind_to[KIND_NODE] = true;
    ASSERT_SENT(&w.served, 200, "MERGE", NODE "/status", "{'status':{'volumesInUse':['p/a']}}");
    buf_clear(&w.log);
    use(&w, "p/a", NULL);
    assert_asked(&w, "GET " NODE "\n");
    ASSERT_STR("p/a", agent.told);
    parts_pass_ns(&w, 99 * S);
    ASSERT_INT(0, count_asked(&w, STATUS_PATCH));
    parts_pass_ns(&w, 2 * S);
    ASSERT_INT(1, count_asked(&w, STATUS_PATCH));
    parts_done(&w);
}

/* What others change is put right, but not by a race. */
TEST(what_others_change_is_put_right_after_a_while)
{
    struct parts w;

    node_world_init(&w);
    use(&w, "p/a", NULL);
    parts_pass_ns(&w, 60 * S);
    buf_clear(&w.log);
    ASSERT_SENT(&w.served, 200, "STRATEGIC", NODE "/status",
                "{'status':{'conditions':[{'type':'Ready','status':'Unknown'}]}}");
    parts_rest(&w);
    ASSERT_STR("True", condition(&w, "Ready", "status")); /* the last write is long ago */
    ASSERT_SENT(&w.served, 200, "MERGE", NODE "/status", "{'status':{'volumesInUse':['p/b']}}");
    parts_pass_ns(&w, 9 * S);
    ASSERT_INT(1, count_asked(&w, STATUS_PATCH));
    ASSERT_THERE(&w, "['p/b']", NODE, IN_USE);
    parts_pass_ns(&w, 2 * S);
    ASSERT_INT(2, count_asked(&w, STATUS_PATCH));
    ASSERT_THERE(&w, "['p/a']", NODE, IN_USE);
    ASSERT_STR("p/a", agent.told);
    /* What is none of its business is left alone. */
    ASSERT_SENT(&w.served, 200, "MERGE", NODE, "{'metadata':{'labels':{'x':'y'}}}");
    parts_pass_ns(&w, 60 * S);
    ASSERT_INT(2, count_asked(&w, STATUS_PATCH));
    parts_done(&w);
}

TEST(two_agents_of_one_name_do_not_race)
{
    struct parts w;

    node_world_init(&w);
    use(&w, "p/a", NULL);
    buf_clear(&w.log);
    for (unsigned i = 0; i < 600; i++) {
        ASSERT_SENT(&w.served, 200, "MERGE", NODE "/status", "{'status':{'volumesInUse':['p/other']}}");
        parts_pass_ns(&w, S / 10);
    }
    assert_in_range(count_asked(&w, STATUS_PATCH), 5, 6);
    parts_done(&w);
}

/* --- Volumes in use --- */

/* Spec 9: written only after the states are synced; the previous value is never shrunk at the start. */
TEST(what_is_in_use_stays_until_it_is_known)
{
    struct parts w;

    world_init_with(&w, STRANGER);
    agent.knows = false;
    agent.in_use[0] = "p/new";
    parts_pass_ns(&w, 400 * S);
    ASSERT_THERE(&w, "['p/old']", NODE, IN_USE);
    ASSERT_STR("p/old", agent.told); /* as the server has it */
    use(&w, "p/new", "p/old");
    ASSERT_THERE(&w, "['p/new','p/old']", NODE, IN_USE);
    ASSERT_STR("p/new,p/old", agent.told);
    use(&w, NULL, NULL);
    ASSERT_THERE(&w, "-", NODE, IN_USE);
    ASSERT_STR("", agent.told);
    parts_done(&w);
}

/* A Node that was deleted while the agent was away: made at once it would say that nothing is in use, and the
 * controllers would have detached what is mounted. */
TEST(a_node_is_made_when_it_is_known_what_is_in_use)
{
    struct parts w;

    node_world_init(&w);
    use(&w, "p/a", NULL);
    agent.knows = false;
    restart(&w);
    ASSERT_SENT(&w.served, 200, "DELETE", NODE, NULL);
    parts_pass_ns(&w, 60 * S);
    ASSERT_SENT(&w.served, 404, "GET", NODE, NULL);
    use(&w, "p/a", NULL);
    ASSERT_THERE(&w, "['p/a']", NODE, IN_USE);
    parts_done(&w);
}

/* node-28: a restart while the server cannot be reached leaves the list alone. */
TEST(a_restart_keeps_what_is_in_use)
{
    struct parts w;

    node_world_init(&w);
    use(&w, "p/a", "p/b");
    agent.knows = false;
    restart(&w);
    ASSERT_STR("-", agent.told);
    parts_settle(&w);
    ASSERT_THERE(&w, "['p/a','p/b']", NODE, IN_USE);
    use(&w, "p/b", NULL);
    ASSERT_THERE(&w, "['p/b']", NODE, IN_USE);
    parts_done(&w);
}

/* node-2: the agent does nothing for a volume before the server has it in its list. The list is told when the
 * write is acknowledged, not when it is sent. */
TEST(what_is_in_use_is_told_once_it_is_acknowledged)
{
    struct parts w;

    node_world_init(&w);
    use(&w, NULL, NULL);
    w.trouble = TROUBLE_REFUSED;
    w.at = w.count + 2; /* the PATCH behind the GET */
    use(&w, "p/a", NULL);
    ASSERT_STR("", agent.told);
    ASSERT_THERE(&w, "-", NODE, IN_USE);
    parts_pass_ns(&w, S);
    ASSERT_STR("p/a", agent.told);
    ASSERT_THERE(&w, "['p/a']", NODE, IN_USE);
    parts_done(&w);
}

/* What a list leaves out may be detached as soon as the server has the list, and that it has before it
 * answers, or though no answer comes: the agent hears of it before the list is sent. */
TEST(what_is_in_use_no_more_is_withdrawn_before_it_is_sent)
{
    struct parts w;

    node_world_init(&w);
    use(&w, "p/a", "p/b");
    ASSERT_STR("p/a,p/b", agent.sent);
    w.trouble = TROUBLE_LOST;
    w.at = w.count + 2; /* the PATCH behind the GET */
    agent.in_use[1] = NULL;
    registration_report(registration_of(&w));
    while (strcmp(agent.sent, "p/a,p/b") == 0) {
        ASSERT_THERE(&w, "['p/a','p/b']", NODE, IN_USE);
        (void)loop_poll(w.served.loop);
    }
    ASSERT_STR("p/a", agent.sent);
    ASSERT_STR("p/a,p/b", agent.told);
    parts_pass_ns(&w, S);
    ASSERT_STR("p/a", agent.told);
    parts_done(&w);
}

TEST(with_the_node_its_list_is_withdrawn)
{
    struct parts w;

    node_world_init(&w);
    use(&w, "p/a", NULL);
    agent.empties = 0;
    ASSERT_SENT(&w.served, 200, "DELETE", NODE, NULL);
    parts_pass_ns(&w, S);
    ASSERT_INT(1, agent.empties);
    ASSERT_STR("p/a", agent.sent); /* the new one has it from the beginning */
    ASSERT_THERE(&w, "['p/a']", NODE, IN_USE);
    parts_done(&w);
}

/* A list that changes while it is written: each answer is told as it is, and the last one is the newest. */
TEST(what_changes_meanwhile_is_written_behind)
{
    struct parts w;
    unsigned tells;

    node_world_init(&w);
    use(&w, NULL, NULL);
    buf_clear(&w.log);
    tells = agent.tells;
    agent.in_use[0] = "p/a";
    registration_report(registration_of(&w));
    while (count_asked(&w, STATUS_PATCH) == 0)
        (void)loop_poll(w.served.loop);
    agent.in_use[1] = "p/b";
    registration_report(registration_of(&w));
    parts_rest(&w);
    ASSERT_INT(2, count_asked(&w, STATUS_PATCH));
    ASSERT_INT(tells + 2, agent.tells);
    ASSERT_STR("p/a,p/b", agent.told);
    ASSERT_THERE(&w, "['p/a','p/b']", NODE, IN_USE);
    parts_done(&w);
}

/* A write of the controller's between our read and our write costs another round, and nothing of it is lost.
 */
TEST(a_conflict_is_decided_anew)
{
    struct parts w;

    node_world_init(&w);
    use(&w, NULL, NULL);
    buf_clear(&w.log);
    w.trouble = TROUBLE_CONFLICT;
    w.at = w.count + 2;
    use(&w, "p/a", NULL);
    parts_pass_ns(&w, S / 10);
    ASSERT_INT(2, count_asked(&w, STATUS_PATCH));
    ASSERT_STR("p/a", agent.told);
    ASSERT_THERE(&w, "['p/a']", NODE, IN_USE);
    parts_done(&w);
}

/* --- The Node goes --- */

TEST(a_node_that_was_deleted_is_registered_again)
{
    struct parts w;
    char uid[64];

    node_world_init(&w);
    use(&w, "p/a", NULL);
    (void)snprintf(uid, sizeof uid, "%s", got(&w.served, "metadata/uid"));
    agent.tells = 0;
    ASSERT_SENT(&w.served, 200, "DELETE", NODE, NULL);
    parts_pass_ns(&w, S);
    ASSERT_STR("n1", meta(&w, "labels", "kubernetes.io/hostname"));
    assert_string_not_equal(uid, got(&w.served, "metadata/uid"));
    (void)snprintf(uid, sizeof uid, "%s", got(&w.served, "metadata/uid"));
    ASSERT_GOT(&w.served, "['p/a']", IN_USE);
    ASSERT_STR("True", condition(&w, "Ready", "status"));
    ASSERT_INT(1, agent.tells);
    assert_true(registration_is_done(registration_of(&w)));
    parts_pass_ns(&w, 30 * S);
    ASSERT_THERE(&w, uid, LEASE, "metadata/ownerReferences/0/uid");
    parts_done(&w);
}

/* P4: from its first moment, before any status is written. */
TEST(a_node_that_is_made_anew_says_what_is_in_use)
{
    struct parts w;

    node_world_init(&w);
    use(&w, "p/a", NULL);
    w.refused = "PATCH /api/v1/nodes";
    ASSERT_SENT(&w.served, 200, "DELETE", NODE, NULL);
    parts_pass_ns(&w, S);
    ASSERT_THERE(&w, "['p/a']", NODE, IN_USE);
    parts_done(&w);
}

/* The watch has not told of it: the write itself finds out. */
TEST(a_node_that_was_replaced_unseen_is_adopted)
{
    struct parts w;

    node_world_init(&w);
    use(&w, "p/a", NULL);
    w.is_blind_to[KIND_NODE] = true;
    ASSERT_SENT(&w.served, 200, "DELETE", NODE, NULL);
    ASSERT_SENT(&w.served, 201, "POST", "/api/v1/nodes", "{'metadata':{'name':'n1'}}");
    use(&w, "p/b", NULL);
    parts_pass_ns(&w, S);
    ASSERT_STR("n1", meta(&w, "labels", "kubernetes.io/hostname"));
    ASSERT_GOT(&w.served, "['p/b']", IN_USE);
    ASSERT_STR("p/b", agent.told);
    parts_done(&w);
}

/* And where nobody has made another: */
TEST(a_node_that_went_unseen_is_made_again)
{
    struct parts w;

    node_world_init(&w);
    w.is_blind_to[KIND_NODE] = true;
    ASSERT_SENT(&w.served, 200, "DELETE", NODE, NULL);
    use(&w, "p/b", NULL);
    parts_pass_ns(&w, S);
    ASSERT_THERE(&w, "['p/b']", NODE, IN_USE);
    ASSERT_STR("p/b", agent.told);
    parts_done(&w);
}

/* --- The lease --- */

TEST(the_lease_is_renewed_each_ten_seconds)
{
    struct parts w;
    char uid[64];

    node_world_init(&w);
    buf_clear(&w.log);
    ASSERT_SENT(&w.served, 200, "GET", NODE, NULL);
    (void)snprintf(uid, sizeof uid, "%s", got(&w.served, "metadata/uid"));
    ASSERT_THERE(&w, "n1", LEASE, "spec/holderIdentity");
    ASSERT_GOT(&w.served, "40", "spec/leaseDurationSeconds");
    ASSERT_GOT(&w.served, "2023-11-14T22:13:20.000000Z", "spec/renewTime");
    ASSERT_GOT(&w.served, "Node", "metadata/ownerReferences/0/kind");
    ASSERT_GOT(&w.served, uid, "metadata/ownerReferences/0/uid");
    parts_pass_ns(&w, 9 * S);
    assert_asked(&w, "");
    parts_pass_ns(&w, S);
    assert_asked(&w, "PATCH " LEASE "\n");
    ASSERT_THERE(&w, "2023-11-14T22:13:30.000000Z", LEASE, "spec/renewTime");
    parts_pass_ns(&w, 100 * S);
    ASSERT_INT(10, count_asked(&w, "PATCH " LEASE));
    parts_done(&w);
}

TEST(a_lease_that_others_took_is_taken_back)
{
    struct parts w;

    node_world_init(&w);
    ASSERT_SENT(&w.served, 200, "MERGE", LEASE,
                "{'metadata':{'ownerReferences':null},'spec':{'holderIdentity':'thief','leaseDurationSeconds'"
                ":3600}}");
    buf_clear(&w.log);
    parts_pass_ns(&w, 10 * S);
    assert_asked(&w, "PATCH " LEASE "\nGET " LEASE "\nPATCH " LEASE "\n");
    ASSERT_THERE(&w, "n1", LEASE, "spec/holderIdentity");
    ASSERT_GOT(&w.served, "40", "spec/leaseDurationSeconds");
    ASSERT_GOT(&w.served, "n1", "metadata/ownerReferences/0/name");
    parts_done(&w);
}

TEST(a_lease_that_went_is_made_again)
{
    struct parts w;

    node_world_init(&w);
    ASSERT_SENT(&w.served, 200, "DELETE", LEASE, NULL);
    buf_clear(&w.log);
    parts_pass_ns(&w, 10 * S);
    assert_asked(&w, "PATCH " LEASE "\nGET " LEASE "\nPOST " NODE_LEASES "\n");
    ASSERT_THERE(&w, "n1", LEASE, "spec/holderIdentity");
    parts_done(&w);
}

TEST(a_lease_from_before_is_taken_over)
{
    struct parts w;

    node_world_init(&w);
    restart(&w);
    parts_rest(&w);
    ASSERT_INT(1, count_asked(&w, "GET " LEASE));
    ASSERT_INT(1, count_asked(&w, "PATCH " LEASE));
    ASSERT_INT(0, count_asked(&w, "POST "));
    parts_done(&w);
}

/* Somebody writes the lease between each of our looks and writes: it is left in peace for a moment. */
TEST(a_race_for_the_lease_ends)
{
    struct parts w;

    node_world_init(&w);
    buf_clear(&w.log);
    w.trouble = TROUBLE_CONFLICT;
    manual_clock_advance(&w.served.clock, 10 * S);
    for (unsigned turns = 0; turns < 500; turns++) {
        if (count_asked(&w, "PATCH " LEASE) == count_asked(&w, "GET " LEASE))
            w.at = w.count + 1;
        (void)loop_poll(w.served.loop);
    }
    ASSERT_INT(4, count_asked(&w, "PATCH " LEASE));
    ASSERT_INT(4, count_asked(&w, "GET " LEASE));
    w.at = 0;
    parts_pass_ns(&w, S);
    ASSERT_SENT(&w.served, 200, "GET", LEASE, NULL);
    assert_true(strcmp(got(&w.served, "spec/renewTime"), "2023-11-14T22:13:30.1") > 0);
    parts_done(&w);
}

/* The namespace is not there, as the answer to the creation says. */
TEST(the_leases_namespace_is_made)
{
    struct parts w;

    node_world_init(&w);
    ASSERT_SENT(&w.served, 200, "DELETE", LEASE, NULL);
    buf_clear(&w.log);
    w.trouble = TROUBLE_REFUSED;
    w.is_missing = true;
    w.at = w.count + 3;
    parts_pass_ns(&w, 10 * S);
    assert_asked(&w, "PATCH " LEASE "\nGET " LEASE "\nPOST " NODE_LEASES
                     "\nPOST /api/v1/namespaces\nPOST " NODE_LEASES "\n");
    ASSERT_THERE(&w, "n1", LEASE, "spec/holderIdentity");
    parts_done(&w);
}

/* --- What goes wrong --- */

static void live_through_a_day(struct parts *w)
{
    parts_pass_ns(w, 5 * S);
    use(w, "p/a", NULL);
    parts_pass_ns(w, 30 * S);
    use(w, "p/a", "p/b");
    parts_pass_ns(w, 30 * S);
    ASSERT_SENT(&w->served, 200, "DELETE", NODE, NULL);
    parts_pass_ns(w, 30 * S);
    use(w, "p/b", NULL);
    parts_pass_ns(w, 30 * S);
}

/* What stands there at the end of every such day, whatever happened. */
static void assert_good_end(struct parts *w, unsigned trouble, unsigned at)
{
    ASSERT_SENT(&w->served, 200, "GET", NODE, NULL);
    if (strcmp(got(&w->served, IN_USE), kind_row("['p/b']")) != 0 || strcmp(agent.told, "p/b") != 0)
        fail_msg("trouble %u at %u: told '%s'\n%s", trouble, at, agent.told, w->served.text.data);
    ASSERT_STR("True", condition(w, "Ready", "status"));
    ASSERT_STR("true", meta(w, "annotations", CONTROLLER_ATTACHES));
    ASSERT_THERE(w, "n1", LEASE, "spec/holderIdentity");
}

TEST(every_request_may_go_wrong)
{
    unsigned count = 1;

    for (unsigned trouble = TROUBLE_NONE; trouble < TROUBLE_COUNT; trouble++)
        for (unsigned at = 1; at <= count; at++) {
            struct parts w;

            if (trouble == TROUBLE_UNREADABLE)
                continue; /* of lists, and there are none */
            memset(&agent, 0, sizeof agent);
            agent.knows = true;
            parts_init(&w, &machine_type);
            w.trouble = (enum trouble)trouble;
            w.at = trouble == TROUBLE_NONE ? 0 : w.count + at;
            live_through_a_day(&w);
            if (trouble == TROUBLE_NONE)
                count = w.count;
            assert_good_end(&w, trouble, at);
            parts_done(&w);
        }
    assert_true(count > 20);
}

static unsigned lines;
static char last_line[1024];

static void keep_line(void *ctx, const char *line, size_t len)
{
    (void)ctx;
    lines++;
    (void)snprintf(last_line, sizeof last_line, "%.*s", (int)len, line);
}

/* A server that is away for a minute is told of once, and so is its return. */
TEST(a_failure_is_logged_once)
{
    struct parts w;
    struct logger logger = { .level = LOG_LEVEL_INFO, .sink = keep_line };
    unsigned tries = 0;

    node_world_init(&w);
    use(&w, NULL, NULL);
    logger.clock = &w.served.clock.clock;
    log_install(&logger);
    lines = 0;
    agent.in_use[0] = "p/a";
    registration_report(registration_of(&w));
    w.trouble = TROUBLE_REFUSED;
    for (unsigned i = 0; i < 90; i++) { /* the GET of the status alone: the lease is not due */
        w.at = w.count + 1;
        parts_pass_ns(&w, S / 10);
        tries = count_asked(&w, "GET " NODE);
    }
    log_install(NULL);
    assert_in_range(tries, 5, 10); /* 200, 400, 800, … ms apart */
    ASSERT_INT(1, lines);
    assert_non_null(strstr(last_line, "cannot write node status node=n1 error=\"connection reset\""));
    log_install(&logger);
    w.at = 0;
    parts_pass_ns(&w, 10 * S);
    log_install(NULL);
    ASSERT_STR("p/a", agent.told);
    assert_non_null(strstr(last_line, "written again"));
    parts_done(&w);
}

/* --- Who it is --- */

/* A node's own identity is enough, on a server that asks. */
TEST(a_nodes_identity_may_do_all_of_it)
{
    static const char *const groups[] = { GROUP_NODES, NULL };
    static const struct user node = { .name = USER_NODE_PREFIX "n1", .uid = "", .groups = groups };
    struct parts w;

    memset(&agent, 0, sizeof agent);
    agent.knows = true;
    parts_init_as(&w, &machine_type, &node);
    ASSERT_STR("n1", meta(&w, "labels", "kubernetes.io/hostname"));
    use(&w, "p/a", NULL);
    ASSERT_THERE(&w, "['p/a']", NODE, IN_USE);
    ASSERT_STR("p/a", agent.told);
    ASSERT_SENT(&w.served, 200, "DELETE", LEASE, NULL);
    parts_pass_ns(&w, 20 * S);
    ASSERT_THERE(&w, "2023-11-14T22:13:40.000000Z", LEASE, "spec/renewTime");
    w.is_blind_to[KIND_NODE] = true;
    ASSERT_SENT(&w.served, 200, "DELETE", NODE, NULL);
    ASSERT_SENT(&w.served, 201, "POST", "/api/v1/nodes", STRANGER);
    use(&w, "p/b", NULL);
    parts_pass_ns(&w, 20 * S);
    ASSERT_STR("n1", meta(&w, "labels", "kubernetes.io/hostname"));
    ASSERT_THERE(&w, "['p/b']", NODE, IN_USE);
    parts_done(&w);
}

/* Namespaces are not a node's to make: it waits until somebody has. */
TEST(a_namespace_that_may_not_be_made_is_waited_for)
{
    static const char *const groups[] = { GROUP_NODES, NULL };
    static const struct user node = { .name = USER_NODE_PREFIX "n1", .uid = "", .groups = groups };
    struct parts w;

    memset(&agent, 0, sizeof agent);
    agent.knows = true;
    parts_init_as(&w, &machine_type, &node);
    ASSERT_SENT(&w.served, 200, "DELETE", LEASE, NULL);
    buf_clear(&w.log);
    w.trouble = TROUBLE_REFUSED;
    w.is_missing = true;
    w.at = w.count + 3;
    parts_pass_ns(&w, 11 * S);
    assert_asked(&w, "PATCH " LEASE "\nGET " LEASE "\nPOST " NODE_LEASES
                     "\nPOST /api/v1/namespaces\nGET " LEASE "\nPOST " NODE_LEASES "\n");
    ASSERT_THERE(&w, "n1", LEASE, "spec/holderIdentity");
    parts_done(&w);
}

/* --- The end --- */

/* It may go at any moment: nothing is left armed, deferred or on its way, or the loop would say so. */
TEST(it_goes_at_any_moment)
{
    for (unsigned turns = 0; turns < 40; turns++) {
        struct parts w;

        memset(&agent, 0, sizeof agent);
        agent.knows = true;
        parts_init(&w, &machine_type);
        ASSERT_SENT(&w.served, 200, "DELETE", NODE, NULL);
        agent.in_use[0] = "p/a";
        registration_report(registration_of(&w));
        for (unsigned i = 0; i < turns; i++)
            (void)loop_poll(w.served.loop);
        parts_done(&w);
    }
}

TEST(a_root_that_is_not_there_is_refused)
{
    struct registration_options o = { .name = "n1", .root = "/nowhere/at/all" };
    struct registration *r = NULL;
    struct parts w;

    node_world_init(&w);
    o.part = (struct component_deps){ .loop = w.served.loop, .clock = &w.served.clock.clock };
    o.pool = pool_of(&w);
    ASSERT_ERR(ERR_NOT_FOUND, registration_new(&o, &r, &err));
    assert_null(r);
    ASSERT_STR(
        "cannot read machine information: cannot examine the file system of '/nowhere/at/all': No such "
        "file or directory",
        err.msg);
    parts_done(&w);
}

TEST_MAIN()

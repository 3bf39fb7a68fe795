/* Thousands of small worlds: on every node the scheduler decides what a second writing of the rules decides,
 * and never gives a claim a volume that its pod could not reach. */
#include "tests/unit/test_scheduler.h"

#include "scheduler/scheduler_int.h"
#include "test.h"
#include "tests/unit/test_scheduler_model.h"

#define WORLDS 3000
#define RUNS 200
#define OBJECTS_MAX 32
#define TEXT_MAX 4096

static const char *const zone_values[] = { "", "a", "b" };

/* --- A server that has these objects, and nothing ever happens --- */

struct still {
    struct client_carrier carrier; /* first: see start() */
    struct deferred answering;
    struct client_attempt *lists[OBJECTS_MAX];
    size_t lists_count;
    struct object *objects[OBJECTS_MAX];
    size_t objects_count;
    struct manual_clock clock;
    struct loop *loop;
    struct client *client;
    struct informers *informers;
    struct scheduler *scheduler;
};

static void still_start(struct client_carrier *c, struct client_attempt *a)
{
    struct still *s = (struct still *)c;

    if (a->request->verb == CLIENT_WATCH)
        return;
    assert_int_equal(a->request->verb, CLIENT_LIST);
    assert_true(s->lists_count < OBJECTS_MAX);
    s->lists[s->lists_count++] = a;
    loop_defer(&s->answering);
}

static void still_cancel(struct client_carrier *c, struct client_attempt *a)
{
    (void)c;
    (void)a;
}

static void still_free(struct client_carrier *c)
{
    (void)c;
}

static void on_answering(void *ctx)
{
    struct still *s = ctx;
    size_t count = s->lists_count;

    s->lists_count = 0;
    for (size_t i = 0; i < count; i++) {
        struct client_answer answer = { .http_status = 200, .retry_after_seconds = -1 };
        struct object *items[OBJECTS_MAX];

        for (size_t k = 0; k < s->objects_count; k++)
            if (s->objects[k]->kind == s->lists[i]->request->kind)
                items[answer.list.count++] = s->objects[k];
        answer.list.items = items;
        answer.list.resource_version = "100";
        answer.list.continue_token = "";
        s->lists[i]->on_end(s->lists[i], &answer);
    }
}

/* ' stands for ". */
static struct object *new_object(enum kind k, const char *text)
{
    _cleanup_(buf_done_p) struct buf quoted = BUF_INIT(TEXT_MAX);
    _cleanup_(json_done_p) struct json scratch;
    struct object *o = NULL;

    json_init(&scratch, 1 << 20);
    kind_quotes(text, &quoted);
    ASSERT_OK(object_decode(kind_info(k), buf_str(&quoted), &scratch, &o, &err));
    return o;
}

static void still_add(struct still *s, enum kind k, const char *text)
{
    assert_true(s->objects_count < OBJECTS_MAX);
    s->objects[s->objects_count++] = new_object(k, text);
}

static void still_run(struct still *s)
{
    static const struct client_carrier_type type = { still_start, still_cancel, still_free };
    struct scheduler_options o = { .name = SCHEDULER_NAME, .host = "here" };
    struct client_options co = { .carrier = &s->carrier };
    struct informer_options io = { .seed = 1 };

    s->carrier.type = &type;
    manual_clock_init(&s->clock, NS_PER_S, 0);
    ASSERT_OK(loop_new(&s->clock.clock, &s->loop, &err));
    deferred_init(&s->answering, s->loop, on_answering, s);
    co.loop = io.loop = s->loop;
    ASSERT_OK(client_new(&co, &s->client, &err));
    io.client = s->client;
    ASSERT_OK(informers_new(&io, &s->informers, &err));
    o.part = (struct part_options){
        .loop = s->loop, .clock = &s->clock.clock, .client = s->client, .informers = s->informers, .seed = 1
    };
    ASSERT_OK(scheduler_new(&o, &s->scheduler, &err));
    informers_start(s->informers);
    while (loop_poll(s->loop))
        ;
    assert_true(informers_are_synced(s->informers));
    scheduler_start(s->scheduler);
    while (loop_poll(s->loop))
        ;
}

static void still_done(struct still *s)
{
    scheduler_free(s->scheduler);
    informers_free(s->informers);
    client_free(s->client);
    loop_undefer(&s->answering);
    loop_free(s->loop);
    for (size_t i = 0; i < s->objects_count; i++)
        (void)object_unref(s->objects[i]);
}

/* --- The model as objects --- */

static const char *reach_text(const struct model_volume *v, char to[static 512])
{
    char host[160], zone[160];

    (void)snprintf(host, sizeof host,
                   "{'matchExpressions':[{'key':'kubernetes.io/hostname','operator':'In','values':['n%d']}]}",
                   v->node);
    (void)snprintf(zone, sizeof zone, "{'matchExpressions':[{'key':'zone','operator':'%s','values':['%s']}]}",
                   v->reach == REACH_OTHER_ZONES ? "NotIn" : "In", zone_values[v->zone]);
    to[0] = '\0';
    if (v->reach != REACH_ANY)
        (void)snprintf(to, 512, ",'nodeAffinity':{'required':{'nodeSelectorTerms':[%s%s%s]}}",
                       v->reach == REACH_NODE || v->reach == REACH_NODE_OR_ZONE ? host : "",
                       v->reach == REACH_NODE_OR_ZONE ? "," : "", v->reach == REACH_NODE ? "" : zone);
    return to;
}

static const char *ref_text(const struct model_volume *v, char to[static 256])
{
    char uid[64] = "";

    to[0] = '\0';
    if (v->ref == REF_NONE || v->ref == REF_PROMISE)
        return to;
    if (v->ref != REF_NAME)
        (void)snprintf(uid, sizeof uid, ",'uid':'%s-c%d'", v->ref == REF_UID ? "uid" : "old", v->claim);
    (void)snprintf(to, 256, ",'claimRef':{'namespace':'default','name':'c%d'%s}", v->claim, uid);
    return to;
}

static const char *modes_text(unsigned modes)
{
    return modes & MODE_MANY_READ ? "'ReadWriteOnce','ReadOnlyMany'" : "'ReadWriteOnce'";
}

/* Names and, for what comes from no server, what a server adds. */
static const char *meta_text(bool is_new, char prefix, int at, char to[static 128])
{
    if (is_new)
        (void)snprintf(to, 128, "'name':'%c%d'", prefix, at);
    else
        (void)snprintf(to, 128, "'name':'%c%d','uid':'uid-%c%d','resourceVersion':'%d'", prefix, at, prefix,
                       at, 10 + at);
    return to;
}

static void node_text(const struct model *m, int at, bool is_new, char to[static TEXT_MAX])
{
    char meta[128], zone[64] = "";

    if (m->zones[at] != ZONE_NONE)
        (void)snprintf(zone, sizeof zone, ",'zone':'%s'", zone_values[m->zones[at]]);
    (void)snprintf(to, TEXT_MAX,
                   "{'apiVersion':'v1','kind':'Node','metadata':{%s,'labels':{'kubernetes.io/hostname':'n%d'"
                   "%s}},'spec':{}}",
                   meta_text(is_new, 'n', at, meta), at, zone);
}

static void volume_text(const struct model *m, int at, bool is_new, char to[static TEXT_MAX])
{
    const struct model_volume *v = &m->volumes[at];
    char reach[512], ref[256], meta[128];

    (void)snprintf(
        to, TEXT_MAX,
        "{'apiVersion':'v1','kind':'PersistentVolume','metadata':{%s,'labels':{'speed':'%s'}%s},"
        "'spec':{'capacity':{'storage':'%dGi'},'accessModes':[%s],'storageClassName':'k%d',"
        "'volumeMode':'%s','csi':{'driver':'x','volumeHandle':'v%d'}%s%s},'status':{'phase':'%s'}}",
        meta_text(is_new, 'v', at, meta), v->is_fast ? "fast" : "slow",
        v->is_deleting ? ",'deletionTimestamp':'2026-01-01T00:00:00Z'" : "", v->size, modes_text(v->modes),
        v->class, v->is_block ? "Block" : "Filesystem", at, reach_text(v, reach), ref_text(v, ref),
        v->is_available ? "Available" : "Pending");
}

static void claim_text(const struct model *m, int at, bool is_new, char to[static TEXT_MAX])
{
    const struct model_claim *c = &m->claims[at];
    char volume[64] = "", annotation[128] = "", meta[128];

    if (!is_unbound(c)) {
        (void)snprintf(volume, sizeof volume, ",'volumeName':'v%d'", c->volume);
        (void)snprintf(annotation, sizeof annotation, ",'annotations':{'" ANN_BIND_COMPLETED "':'yes'}");
    } else if (c->node != NONE && !c->is_node_promised) {
        (void)snprintf(annotation, sizeof annotation, ",'annotations':{'" ANN_SELECTED_NODE "':'n%d'}",
                       c->node);
    }
    (void)snprintf(to, TEXT_MAX,
                   "{'apiVersion':'v1','kind':'PersistentVolumeClaim','metadata':{%s,'namespace':'default'%s"
                   "},'spec':{'accessModes':[%s],'resources':{'requests':{'storage':'%dGi'}},"
                   "'storageClassName':'k%d','volumeMode':'%s'%s%s}}",
                   meta_text(is_new, 'c', at, meta), annotation, modes_text(c->modes), c->size, c->class,
                   c->is_block ? "Block" : "Filesystem",
                   c->wants_fast ? ",'selector':{'matchLabels':{'speed':'fast'}}" : "", volume);
}

static void pod_text(const struct model *m, bool is_new, char to[static TEXT_MAX])
{
    char meta[128];
    size_t len;

    (void)snprintf(to, TEXT_MAX,
                   "{'apiVersion':'v1','kind':'Pod','metadata':{%s,'namespace':'default'},'spec':{"
                   "'containers':[{'name':'c','image':'i'}],'volumes':[",
                   meta_text(is_new, 'p', 0, meta));
    for (int i = 0; i < m->claims_count; i++) {
        len = strlen(to);
        (void)snprintf(to + len, TEXT_MAX - len,
                       "%s{'name':'m%d','persistentVolumeClaim':{'claimName':'c%d'}}", i ? "," : "", i, i);
    }
    len = strlen(to);
    (void)snprintf(to + len, TEXT_MAX - len, "]}}");
}

static void class_text(const struct model *m, int at, bool is_new, char to[static TEXT_MAX])
{
    const struct model_class *k = &m->classes[at];
    char meta[128], by[64] = "kubernetes.io/no-provisioner", topologies[128] = "";

    if (k->provisions)
        (void)snprintf(by, sizeof by, "d%d", at);
    if (k->has_empty_term)
        (void)snprintf(topologies, sizeof topologies, ",'allowedTopologies':[{}]");
    else if (k->topology != ZONE_NONE)
        (void)snprintf(topologies, sizeof topologies,
                       ",'allowedTopologies':[{'matchLabelExpressions':[{'key':'zone','values':['%s']}]}]",
                       zone_values[k->topology]);
    (void)snprintf(to, TEXT_MAX,
                   "{'apiVersion':'storage.k8s.io/v1','kind':'StorageClass','metadata':{%s},'provisioner':"
                   "'%s','volumeBindingMode':'WaitForFirstConsumer'%s}",
                   meta_text(is_new, 'k', at, meta), by, topologies);
}

static void driver_text(int at, char to[static TEXT_MAX])
{
    char meta[128];

    (void)snprintf(to, TEXT_MAX,
                   "{'apiVersion':'storage.k8s.io/v1','kind':'CSIDriver','metadata':{%s},'spec':{"
                   "'storageCapacity':true}}",
                   meta_text(/* is_new= */ false, 'd', at, meta));
}

static void capacity_text(const struct model *m, int at, char to[static TEXT_MAX])
{
    const struct model_capacity *a = &m->capacities[at];
    char topology[128] = "", limit[64] = "", meta[128];

    if (a->zone == ZONE_NONE)
        (void)snprintf(topology, sizeof topology, ",'nodeTopology':{}");
    else if (a->zone != NONE)
        (void)snprintf(topology, sizeof topology, ",'nodeTopology':{'matchLabels':{'zone':'%s'}}",
                       zone_values[a->zone]);
    if (a->size_max)
        (void)snprintf(limit, sizeof limit, ",'maximumVolumeSize':'%dGi'", a->size_max);
    (void)snprintf(to, TEXT_MAX,
                   "{'apiVersion':'storage.k8s.io/v1','kind':'CSIStorageCapacity','metadata':{%s,"
                   "'namespace':'default'},'storageClassName':'k%d','capacity':'%dGi'%s%s}",
                   meta_text(/* is_new= */ false, 'a', at, meta), a->class, a->size, limit, topology);
}

static void still_add_all(struct still *s, const struct model *m)
{
    char text[TEXT_MAX];

    for (int i = 0; i < m->nodes_count; i++) {
        node_text(m, i, /* is_new= */ false, text);
        still_add(s, KIND_NODE, text);
    }
    for (int i = 0; i < m->volumes_count; i++) {
        volume_text(m, i, /* is_new= */ false, text);
        still_add(s, KIND_VOLUME, text);
    }
    for (int i = 0; i < m->claims_count; i++) {
        claim_text(m, i, /* is_new= */ false, text);
        still_add(s, KIND_CLAIM, text);
    }
    for (int i = 0; i < CLASSES_COUNT; i++) {
        class_text(m, i, /* is_new= */ false, text);
        still_add(s, KIND_CLASS, text);
        driver_text(i, text);
        if (m->classes[i].is_limited)
            still_add(s, KIND_CSI_DRIVER, text);
    }
    for (int i = 0; i < m->capacities_count; i++) {
        capacity_text(m, i, text);
        still_add(s, KIND_CSI_CAPACITY, text);
    }
}

/* What another pod on its way was promised. */
static void still_promise(const struct still *s, const struct model *m)
{
    struct assumed *a = &s->scheduler->assumed;
    char name[16], uid[32];

    for (int i = 0; i < m->volumes_count; i++) {
        if (m->volumes[i].ref != REF_PROMISE)
            continue;
        (void)snprintf(name, sizeof name, "v%d", i);
        (void)snprintf(uid, sizeof uid, "uid-c%d", m->volumes[i].claim);
        assert_int_equal(assume_volume(a, cached_volume(s->scheduler, name), uid, "another"), 0);
    }
    for (int i = 0; i < m->claims_count; i++) {
        char node[16];

        if (!m->claims[i].is_node_promised)
            continue;
        (void)snprintf(name, sizeof name, "c%d", i);
        (void)snprintf(node, sizeof node, "n%d", m->claims[i].node);
        assert_int_equal(assume_claim(a, cached_claim(s->scheduler, "default", name), node, "another"), 0);
    }
}

/* --- Comparing --- */

static uint32_t reasons_of(const struct model_verdict *v)
{
    return (v->node_conflict ? 1U << REASON_VOLUME_AFFINITY : 0) |
           (v->bind_conflict ? 1U << REASON_NO_VOLUME : 0) | (v->no_space ? 1U << REASON_NO_SPACE : 0) |
           (v->volume_gone ? 1U << REASON_VOLUME_GONE : 0);
}

static void assert_given(const struct model *m, const struct cycle *c, const struct model_verdict *v,
                         int node, uint64_t seed)
{
    for (int i = 0; i < m->claims_count; i++) {
        const struct volume *got = c->chosen.items[i];
        char wants[16] = "";

        if (!is_unbound(&m->claims[i]))
            continue;
        if (v->given[i] != GIVEN_PROVISION)
            (void)snprintf(wants, sizeof wants, "v%d", v->given[i]);
        if (strcmp(got ? got->obj.name : "", wants) != 0)
            fail_msg("world %llu, node n%d: claim c%d gets '%s' instead of '%s'", (unsigned long long)seed,
                     node, i, got ? got->obj.name : "", wants);
        if (got && !model_reaches(m, &m->volumes[v->given[i]], node))
            fail_msg("world %llu: node n%d cannot reach %s", (unsigned long long)seed, node, got->obj.name);
    }
}

/* Whatever is found is there to be found; one claim alone finds whatever there is. */
static void assert_sound(const struct model *m, bool fits, int node, uint64_t seed)
{
    bool can = model_search(m, node, 0, 0);
    int matched = 0;

    for (int i = 0; i < m->claims_count; i++)
        matched += is_unbound(&m->claims[i]) && m->claims[i].node == NONE;
    if (fits != can && (fits || matched <= 1))
        fail_msg("world %llu, node n%d: %s, and everything tried says the opposite", (unsigned long long)seed,
                 node, fits ? "fits" : "does not fit");
}

static bool assert_node(struct cycle *c, const struct model *m, int node, uint64_t seed)
{
    struct model_verdict v = model_judge(m, node);
    uint32_t reasons = judge_binding(c, c->s->nodes.all.items[node]);

    if (reasons != reasons_of(&v))
        fail_msg("world %llu, node n%d: reasons %#x instead of %#x", (unsigned long long)seed, node, reasons,
                 reasons_of(&v));
    if (reasons == 0)
        assert_given(m, c, &v, node, seed);
    assert_sound(m, reasons == 0, node, seed);
    return reasons == 0;
}

/* The whole turn: a node that fits, with what fits there. */
static void assert_turn(struct still *s, const struct pod *p, const struct model *m, bool fits, uint64_t seed)
{
    struct model_verdict v;
    struct cycle c;
    int node;

    cycle_init(&c, s->scheduler, p);
    if ((cycle_run(&c) == CYCLE_FITS) != fits)
        fail_msg("world %llu: %s", (unsigned long long)seed, fits ? buf_cstr(&c.message) : "finds a node");
    if (fits) {
        node = c.node->name[1] - '0';
        v = model_judge(m, node);
        assert_true(model_fits(&v));
        assert_given(m, &c, &v, node, seed);
    }
    cycle_done(&c);
}

/* Returns the nodes that fit. */
static int compare(uint64_t seed)
{
    struct still s = { 0 };
    struct object *pod;
    char text[TEXT_MAX];
    struct cycle c;
    struct model m;
    struct rng r;
    int fitting = 0;

    rng_init(&r, seed);
    model_random(&r, &m);
    still_add_all(&s, &m);
    still_run(&s);
    still_promise(&s, &m);
    pod_text(&m, /* is_new= */ false, text);
    pod = new_object(KIND_POD, text);
    cycle_init(&c, s.scheduler, pod_of(pod));
    assert_int_equal(check_binding(&c), CYCLE_FITS);
    for (int i = 0; i < m.nodes_count; i++)
        fitting += assert_node(&c, &m, i, seed);
    cycle_done(&c);
    assert_turn(&s, pod_of(pod), &m, fitting > 0, seed);
    (void)object_unref(pod);
    still_done(&s);
    return fitting;
}

TEST(every_node_is_judged_as_the_rules_say)
{
    int with_node = 0;

    for (uint64_t seed = 1; seed <= WORLDS; seed++)
        with_node += compare(seed) > 0;
    /* Worlds in which everything fits, or nothing, prove little. */
    assert_in_range(with_node, WORLDS / 5, WORLDS * 4 / 5);
}

/* --- Through the server, with a binder --- */

/* Volumes that are free and claims that wait: what the binder makes of others is its own. */
static void simplify(struct model *m)
{
    for (int i = 0; i < m->volumes_count; i++) {
        m->volumes[i].ref = REF_NONE;
        m->volumes[i].is_available = true;
        m->volumes[i].is_deleting = false;
    }
    for (int i = 0; i < m->claims_count; i++) {
        m->claims[i].volume = m->claims[i].node = NONE;
        m->claims[i].is_node_promised = false;
    }
    for (int i = 0; i < CLASSES_COUNT; i++)
        m->classes[i] = (struct model_class){ .provisions = false };
}

static void create_all(struct world *w, const struct model *m)
{
    char text[TEXT_MAX];

    for (int i = 0; i < m->nodes_count; i++) {
        node_text(m, i, /* is_new= */ true, text);
        ASSERT_SENT(&w->served, 201, "POST", NODES, text);
    }
    for (int i = 0; i < CLASSES_COUNT; i++) {
        class_text(m, i, /* is_new= */ true, text);
        ASSERT_SENT(&w->served, 201, "POST", CLASSES, text);
    }
    for (int i = 0; i < m->volumes_count; i++) {
        volume_text(m, i, /* is_new= */ true, text);
        ASSERT_SENT(&w->served, 201, "POST", VOLUMES, text);
    }
    for (int i = 0; i < m->claims_count; i++) {
        claim_text(m, i, /* is_new= */ true, text);
        ASSERT_SENT(&w->served, 201, "POST", CLAIMS, text);
    }
}

/* The pod's node fits, and its claims have what the rules give them there; or no node fits. */
static bool assert_end(struct world *w, const struct model *m, uint64_t seed)
{
    struct model_verdict v;
    bool can = false;
    struct str got;
    int node;

    for (int i = 0; i < m->nodes_count; i++) {
        v = model_judge(m, i);
        can |= model_fits(&v);
    }
    look_at_pod(w, "p0");
    got = json_get_text(&w->served.doc, json_get(&w->served.doc, w->served.root, "spec"), "nodeName");
    if ((got.len > 0) != can)
        fail_msg("run %llu: the pod has %s", (unsigned long long)seed, can ? "no node" : "a node");
    if (!can)
        return false;
    node = got.s[1] - '0';
    v = model_judge(m, node);
    for (int i = 0; i < m->claims_count; i++) {
        char claim[16], volume[16];

        (void)snprintf(claim, sizeof claim, "c%d", i);
        (void)snprintf(volume, sizeof volume, "v%d", v.given[i]);
        assert_bound(w, claim, volume);
    }
    return true;
}

TEST(pods_end_where_the_rules_say)
{
    int placed = 0;

    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        char text[TEXT_MAX];
        struct model m;
        struct world w;
        struct rng r;

        rng_init(&r, seed);
        model_random(&r, &m);
        simplify(&m);
        scheduling_init(&w);
        create_all(&w, &m);
        world_start(&w);
        world_settle_for(&w, 1);
        pod_text(&m, /* is_new= */ true, text);
        ASSERT_SENT(&w.served, 201, "POST", PODS, text);
        world_settle_for(&w, 5);
        placed += assert_end(&w, &m, seed);
        world_done(&w);
    }
    assert_in_range(placed, RUNS / 10, RUNS);
}

TEST_MAIN()

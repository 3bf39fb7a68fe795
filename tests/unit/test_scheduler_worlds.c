/* Thousands of small worlds: on every node the scheduler decides what a second writing of the rules decides,
 * and never gives a claim a volume that its pod could not reach. */
#include "tests/unit/test_scheduler.h"

#include "scheduler/scheduler_int.h"
#include "test.h"
#include "tests/unit/test_scheduler_model_objects.h"

#define WORLDS 3000
#define RUNS 200

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
    uint32_t reasons = filter_binding(c, c->s->nodes.all.items[node]);

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
    still_start_scheduler(&s);
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
    unsigned worlds = WORLDS / tests_share(), with_node = 0;

    for (uint64_t seed = 1; seed <= WORLDS; seed += tests_share())
        with_node += compare(seed) > 0;
    /* Worlds in which everything fits, or nothing, prove little. */
    assert_in_range(with_node, worlds / 5, worlds * 4 / 5);
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
    unsigned runs = RUNS / tests_share(), placed = 0;

    for (uint64_t seed = 1; seed <= RUNS; seed += tests_share()) {
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
    assert_in_range(placed, runs / 10, runs);
}

TEST_MAIN()

/* What is said of a claim is what the binder does: in random worlds, volume by volume and as a whole.
 *
 * The worlds come from seeds; a failure names its seed. */
#include "tests/unit/test_why.h"

#include "base/rng.h"
#include "volumes/index.h"
#include "why/claim.h"

#define PAIR_SEEDS 8
#define PAIR_VOLUMES 40
#define PAIR_CLAIMS 40
#define BOUND_SEEDS 60
#define BOUND_VOLUMES 12

#define PICK(g, list) (list)[rng_below(g, ARRAY_LEN(list))]

static const char *const sizes[] = { "1Gi", "1500Mi", "2Gi", "3Gi" };
static const char *const modes[] = { "'ReadWriteOnce'", "'ReadWriteOnce','ReadOnlyMany'",
                                     "'ReadWriteMany','ReadWriteOnce'" };
/* There is no class "gone"; "later" waits for the first consumer. */
static const char *const classes[] = { "", "", "now", "now", "later", "gone" };
static const char *const tiers[] = { "gold", "silver" };

static void make_classes(struct world *w)
{
    make_class(w, "now", PROVISIONER_NONE, "");
    make_class(w, "later", PROVISIONER_NONE, ",'volumeBindingMode':'WaitForFirstConsumer'");
}

/* Free, kept for a claim by name, or another's that is gone. */
static const char *random_ref(struct rng *g)
{
    switch (rng_below(g, 8)) {
    case 0:
        return ref_to("c0", "");
    case 1:
        return ref_to("nobody", "");
    case 2:
        return ref_to("c0", "11111111-1111-1111-1111-111111111111");
    default:
        return "";
    }
}

static void make_random_volume(struct world *w, struct rng *g, unsigned i)
{
    char body[2048], path[128];

    (void)snprintf(
        body, sizeof body,
        "{'apiVersion':'v1','kind':'PersistentVolume','metadata':{'name':'v%u','labels':{'tier':'%s'}"
        "%s},'spec':{'capacity':{'storage':'%s'},'accessModes':[%s],'storageClassName':'%s',"
        "'volumeMode':'%s','persistentVolumeReclaimPolicy':'Retain'%s," HOST_PATH "}}",
        i, PICK(g, tiers), rng_chance(g, 10) ? ",'finalizers':['example.com/hold']" : "", PICK(g, sizes),
        PICK(g, modes), PICK(g, classes), rng_chance(g, 10) ? "Block" : "Filesystem", random_ref(g));
    ASSERT_SENT(&w->served, 201, "POST", VOLUMES, body);
    (void)snprintf(path, sizeof path, VOLUMES "/v%u", i);
    if (rng_chance(g, 5))
        ASSERT_SENT(&w->served, 200, "DELETE", path, NULL);
}

static const char *random_selector(struct rng *g)
{
    switch (rng_below(g, 8)) {
    case 0:
        return ",'selector':{'matchLabels':{'tier':'gold'}}";
    case 1:
        return ",'selector':{'matchExpressions':[{'key':'tier','operator':'NotIn','values':['gold']}]}";
    default:
        return "";
    }
}

static void make_random_claim(struct world *w, struct rng *g, unsigned i)
{
    const char *class = PICK(g, classes);
    char name[32], extra[512], with_class[64] = "";

    (void)snprintf(name, sizeof name, "c%u", i);
    if (class[0] || rng_chance(g, 50))
        (void)snprintf(with_class, sizeof with_class, ",'storageClassName':'%s'", class);
    (void)snprintf(extra, sizeof extra, "%s%s%s%s%s", with_class, random_selector(g),
                   rng_chance(g, 15) ? ",'dataSource':{'kind':'PersistentVolumeClaim','name':'old'}" : "",
                   rng_chance(g, 10) ? ",'volumeMode':'Block'" : "",
                   rng_chance(g, 5) ? ",'volumeAttributesClassName':'silver'" : "");
    add_claim(w, name, PICK(g, sizes), PICK(g, modes), extra);
}

/* A world of volumes at rest, and nobody who binds. */
static void make_world(struct world *w, struct rng *g, unsigned volumes)
{
    world_init(w);
    world_start(w);
    make_classes(w);
    for (unsigned i = 0; i < volumes; i++)
        make_random_volume(w, g, i);
    world_settle(w);
    world_kill(w);
}

/* The reason that is given for a volume. */
static void reason_of(const char *volume, char to[static 64])
{
    json_ref groups = json_get(&said.doc, json_get(&said.doc, said.report, "candidates"), "groups");

    for (json_ref g = json_first(&said.doc, groups); g; g = json_next(&said.doc, g)) {
        json_ref examples = json_get(&said.doc, g, "examples");

        for (json_ref e = json_first(&said.doc, examples); e; e = json_next(&said.doc, e))
            if (str_is(json_get_text(&said.doc, e, "name"), volume)) {
                (void)snprintf(to, 64, "%.*s", STR_ARG(json_get_text(&said.doc, g, "reason")));
                return;
            }
    }
    fail_msg("nothing is said of %s in\n%s", volume, buf_cstr(&said.text));
}

/* What the binder's search finds where there is this volume and no other. */
static bool takes_alone(const struct onlooker *x, const struct claim *c, const struct volume *v)
{
    _cleanup_(volume_index_free_p) struct volume_index *index = NULL;
    const struct volume *found = NULL;
    struct match_options search;
    struct error ignored;

    ASSERT_OK(volume_index_new((struct hash_seed){ 1, 2 }, &index, &err));
    ASSERT_OK(volume_index_put(index, v, &err));
    ASSERT_OK(why_search(&x->world, c, &search, &err));
    return volume_index_match(index, c, &search, &found, &ignored) == 0 && found;
}

/* Every pair: "none" is said of a volume exactly where the binder would take it. Returns how many it would.
 */
static unsigned check_pairs(const struct onlooker *x, unsigned seed)
{
    struct informer_cursor ci, vi;
    unsigned taken = 0;

    for (const struct object *c = informer_first(x->world.caches[KIND_CLAIM], &ci); c;
         c = informer_next(&ci)) {
        say(&x->world,
            &(struct why_question){ .kind = KIND_CLAIM, .ns = c->ns, .name = c->name, .shows_all = true });
        for (const struct object *v = informer_first(x->world.caches[KIND_VOLUME], &vi); v;
             v = informer_next(&vi)) {
            bool takes = takes_alone(x, claim_of(c), volume_of(v));
            char reason[64];

            reason_of(v->name, reason);
            if ((strcmp(reason, "none") == 0) != takes)
                fail_msg("seed %u: %s for %s: '%s', and the binder %s it", seed, v->name, c->name, reason,
                         takes ? "takes" : "refuses");
            taken += takes;
        }
    }
    return taken;
}

TEST(every_pair_is_judged_as_the_binder_judges)
{
    unsigned taken = 0;

    for (unsigned seed = 1; seed <= PAIR_SEEDS; seed++) {
        struct onlooker x;
        struct world w;
        struct rng g;

        rng_init(&g, seed);
        make_world(&w, &g, PAIR_VOLUMES);
        for (unsigned i = 0; i < PAIR_CLAIMS; i++)
            make_random_claim(&w, &g, i);
        onlooker_open(&x, &w.served);
        taken += check_pairs(&x, seed);
        onlooker_close(&x);
        world_done(&w);
    }
    said_clear();
    /* Both verdicts occur often, or nothing was shown. */
    assert_in_range(taken, 100, PAIR_SEEDS * PAIR_VOLUMES * PAIR_CLAIMS / 2);
}

/* "volume X fits and is about to be bound to it"; "" for any other verdict. */
static void said_choice(char to[static 64])
{
    const char *sentence = said_member("sentence");

    to[0] = '\0';
    if (strcmp(said_member("cause"), "binding") == 0)
        assert_int_equal(1, sscanf(sentence, "volume %63s fits", to));
}

static bool bind_in_random_world(unsigned seed, unsigned volumes)
{
    struct onlooker x;
    struct world w;
    struct rng g;
    char expected[64], cause[64];

    rng_init(&g, seed);
    make_world(&w, &g, volumes);
    make_random_claim(&w, &g, 0);
    onlooker_open(&x, &w.served);
    say(&x.world, &(struct why_question){ .kind = KIND_CLAIM, .ns = "default", .name = "c0" });
    onlooker_close(&x);
    said_choice(expected);
    (void)snprintf(cause, sizeof cause, "%s", said_member("cause"));
    world_start(&w);
    world_settle(&w);
    look_at_claim(&w, "c0");
    if (strcmp(expected[0] ? expected : "-", got(&w.served, "spec/volumeName")) != 0)
        fail_msg("seed %u, %u volumes: said '%s' (%s), and the binder took '%s'", seed, volumes, expected,
                 cause, got(&w.served, "spec/volumeName"));
    world_done(&w);
    return expected[0] != '\0';
}

TEST(the_volume_that_is_named_is_the_one_that_is_bound)
{
    unsigned bound = 0;

    for (unsigned seed = 1; seed <= BOUND_SEEDS; seed++)
        bound += bind_in_random_world(seed, BOUND_VOLUMES);
    assert_in_range(bound, BOUND_SEEDS / 6, BOUND_SEEDS - BOUND_SEEDS / 6);
    said_clear();
}

TEST(one_volume_alone_is_bound_or_refused_as_said)
{
    unsigned bound = 0;

    for (unsigned seed = 1001; seed <= 1000 + 2 * BOUND_SEEDS; seed++)
        bound += bind_in_random_world(seed, 1);
    assert_in_range(bound, 2, BOUND_SEEDS);
    said_clear();
}

TEST_MAIN()

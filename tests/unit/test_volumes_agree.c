/* The two kinds of volume index against the rules (volumes/match.h), in random worlds: both follow the same
 * volumes, and every search must find what a walk over all volumes finds. Beside that, holds (in the index of
 * the first kind) and taken volumes (passed to the search on a node). */
#include "tests/unit/test_kind.h"

#include "base/rng.h"
#include "volumes/index.h"

#define STEPS 20000
#define SLOTS 32U
#define DRAWN 1500U

struct world {
    struct rng rng;
    struct volume_index *by_claim, *by_node;
    struct object *volumes[DRAWN], *claims[DRAWN], *nodes[DRAWN / 10];
    const struct volume *slots[SLOTS]; /* NULL: no such volume */
    const char *held_for[SLOTS];       /* a claim's uid; NULL: none */
    const struct volume *taken;        /* in searches on a node */
    size_t found_for_claim, found_on_node, tied_on_node, none;
};

static unsigned draw(struct world *w, unsigned n)
{
    return (unsigned)rng_below(&w->rng, n);
}

#define DRAW_OF(w, texts) (texts)[draw(w, (unsigned)ARRAY_LEN(texts))]

#define IN(key, values) "{'matchExpressions':[{'key':'" key "','operator':'In','values':[" values "]}]}"
#define EXISTS(key) "{'matchExpressions':[{'key':'" key "','operator':'Exists'}]}"

static const char *const mode_sets[] = { "'ReadWriteOnce'",
                                         "'ReadWriteOnce'",
                                         "'ReadWriteOnce','ReadOnlyMany'",
                                         "'ReadWriteMany','ReadWriteOnce'",
                                         "'ReadWriteOncePod'",
                                         "" };
static const char *const classes[] = { "local", "local", "gold" };
static const char *const attributes[] = { "", "", "", "fast" };
static const char *const volume_modes[] = { "Filesystem", "Filesystem", "Filesystem", "Block" };
static const char *const sizes[] = { "1Gi", "1024Mi", "2Gi", "3Gi", "1500m", "2", "20e18", "30e18" };
static const char *const uids[] = { "u0", "u1", "u2" };

static struct object *draw_volume(struct world *w)
{
    static const char *const terms[] = { NULL,
                                         NULL,
                                         IN("host", "'n1'"),
                                         IN("host", "'n1','n2'"),
                                         IN("host", "'n2'") "," IN("zone", "'a'"),
                                         IN("zone", "'a','a'") "," IN("zone", "'a'"),
                                         EXISTS("disk"),
                                         IN("host", "'n1'") "," EXISTS("disk"),
                                         "{}" };
    static const char *const phases[] = { "Available", "Available", "Available", "Pending", "Released" };
    _cleanup_(buf_done_p) struct buf t = BUF_INIT(1 << 16);
    const char *affinity = DRAW_OF(w, terms);

    buf_addf(&t, "{'metadata':{'name':'v%02u','labels':{'tier':'%s'}%s},", draw(w, SLOTS),
             draw(w, 2) ? "a" : "b", draw(w, 12) ? "" : ",'deletionTimestamp':'2026-01-02T03:04:05Z'");
    buf_addf(&t, "'spec':{'accessModes':[%s],'capacity':{'storage':'%s'},'storageClassName':'%s',",
             DRAW_OF(w, mode_sets), DRAW_OF(w, sizes), DRAW_OF(w, classes));
    buf_addf(&t, "'volumeAttributesClassName':'%s','volumeMode':'%s'", DRAW_OF(w, attributes),
             DRAW_OF(w, volume_modes));
    if (affinity)
        buf_addf(&t, ",'nodeAffinity':{'required':{'nodeSelectorTerms':[%s]}}", affinity);
    if (draw(w, 5) == 0)
        buf_addf(&t, ",'claimRef':{'namespace':'ns','name':'c%u','uid':'%s'}", draw(w, 3),
                 draw(w, 2) ? "" : DRAW_OF(w, uids));
    buf_addf(&t, "},'status':{'phase':'%s'}}", DRAW_OF(w, phases));
    return kind_object(KIND_VOLUME, buf_cstr(&t));
}

static struct object *draw_claim(struct world *w)
{
    static const char *const selectors[] = { "", "", "", ",'selector':{'matchLabels':{'tier':'a'}}" };
    _cleanup_(buf_done_p) struct buf t = BUF_INIT(1 << 16);
    unsigned who = draw(w, ARRAY_LEN(uids));

    buf_addf(&t, "{'metadata':{'name':'c%u','namespace':'ns','uid':'%s'},'spec':{'accessModes':[%s],", who,
             uids[who], DRAW_OF(w, mode_sets));
    buf_addf(&t, "'resources':{'requests':{'storage':'%s'}},'storageClassName':'%s',", DRAW_OF(w, sizes),
             DRAW_OF(w, classes));
    buf_addf(&t, "'volumeAttributesClassName':'%s','volumeMode':'%s'%s%s}}", DRAW_OF(w, attributes),
             DRAW_OF(w, volume_modes), DRAW_OF(w, selectors),
             draw(w, 10) ? "" : ",'dataSource':{'kind':'PersistentVolumeClaim','name':'old'}");
    return kind_object(KIND_CLAIM, buf_cstr(&t));
}

static struct object *draw_node(struct world *w)
{
    _cleanup_(buf_done_p) struct buf t = BUF_INIT(1 << 16);

    buf_addf(&t, "{'metadata':{'name':'n','labels':{'host':'n%u'%s%s}}}", draw(w, 4),
             draw(w, 2) ? ",'zone':'a'" : "", draw(w, 3) ? "" : ",'disk':'x'");
    return kind_object(KIND_NODE, buf_cstr(&t));
}

/* --- Walks over all volumes --- */

/* Lower is better, among volumes that the rules allow: fewer modes, then by their bits; reserved by uid or
 * held, reserved by name, free. */
static unsigned rank_of(const struct volume *v, bool is_held)
{
    unsigned modes = volume_mode_mask(v);
    unsigned kept = is_held || (v->claim.is_set && v->claim.uid[0]) ? 0 : v->claim.is_set ? 1 : 2;

    return ((unsigned)__builtin_popcount(modes) * 16 + modes) * 4 + kept;
}

/* Slots are in the order of names: of equals the first stays. */
static const struct volume *walk_for_claim(const struct world *w, const struct claim *c,
                                           const struct match_options *options)
{
    const struct volume *best = NULL;
    unsigned best_rank = 0;

    for (unsigned i = 0; i < SLOTS; i++) {
        const struct volume *v = w->slots[i];
        struct match_options o = *options;
        unsigned rank;

        o.is_assumed = w->held_for[i] && strcmp(w->held_for[i], c->obj.uid) == 0;
        if (!v || (w->held_for[i] && !o.is_assumed) || match_volume(v, c, &o) != REJECT_NONE)
            continue;
        rank = rank_of(v, o.is_assumed);
        if (!best || rank < best_rank ||
            (rank == best_rank && rank % 4 == 2 && quantity_cmp(&v->capacity, &best->capacity) < 0)) {
            best = v;
            best_rank = rank;
        }
    }
    return best;
}

static const struct volume *walk_on_node(const struct world *w, const struct claim *c,
                                         const struct kvs *labels)
{
    struct match_options o = { .node_labels = labels };
    const struct volume *best = NULL;

    for (unsigned i = 0; i < SLOTS; i++) {
        const struct volume *v = w->slots[i];

        if (v && v != w->taken && !v->claim.is_set && match_volume(v, c, &o) == REJECT_NONE &&
            (!best || volume_cmp_size_name(v, best) < 0))
            best = v;
    }
    return best;
}

/* --- The comparison --- */

static bool is_taken(void *ctx, const struct volume *v)
{
    return ((const struct world *)ctx)->taken == v;
}

static const char *name_of(const struct volume *v)
{
    return v ? v->obj.name : "none";
}

static void compare_for_claim(struct world *w, const struct claim *c)
{
    struct match_options o = { .is_delayed = draw(w, 6) == 0, .awaits_class = draw(w, 3) == 0 };
    const struct volume *expected = walk_for_claim(w, c, &o), *v = NULL;

    ASSERT_OK(volume_index_match(w->by_claim, c, &o, &v, &err));
    if (v != expected)
        fail_msg("%s, expected %s, for %.*s", name_of(v), name_of(expected), STR_ARG(c->obj.text));
    (*(v ? &w->found_for_claim : &w->none))++;
}

static void compare_on_node(struct world *w, const struct claim *c)
{
    const struct object *n = w->nodes[draw(w, ARRAY_LEN(w->nodes))];
    const struct volume *expected, *v;

    w->taken = w->slots[draw(w, SLOTS)];
    expected = walk_on_node(w, c, &n->labels);
    v = volume_index_find_on_node(w->by_node, c, &n->labels, is_taken, w);
    if (v != expected)
        fail_msg("%s, expected %s, on %.*s for %.*s", name_of(v), name_of(expected), STR_ARG(n->text),
                 STR_ARG(c->obj.text));
    (*(v ? &w->found_on_node : &w->none))++;
    w->tied_on_node += v && v->affinity && v->affinity->count;
}

static void change_volume(struct world *w)
{
    const struct volume *v = volume_of(w->volumes[draw(w, DRAWN)]);
    unsigned slot = (unsigned)(v->obj.name[1] - '0') * 10 + (unsigned)(v->obj.name[2] - '0');

    if (draw(w, 4) == 0) {
        volume_index_remove(w->by_claim, v->obj.name);
        volume_index_remove(w->by_node, v->obj.name);
        w->slots[slot] = NULL;
        w->held_for[slot] = NULL;
        return;
    }
    ASSERT_OK(volume_index_put(w->by_claim, v, &err));
    ASSERT_OK(volume_index_put(w->by_node, v, &err));
    w->slots[slot] = v;
}

static void change_hold(struct world *w)
{
    unsigned slot = draw(w, SLOTS);

    if (!w->slots[slot])
        return;
    if (w->held_for[slot]) {
        volume_index_release(w->by_claim, w->slots[slot]->obj.name, w->held_for[slot]);
        w->held_for[slot] = NULL;
        return;
    }
    w->held_for[slot] = DRAW_OF(w, uids);
    ASSERT_INT(0, volume_index_hold(w->by_claim, w->slots[slot]->obj.name, w->held_for[slot]));
}

static void compare_counts(const struct world *w)
{
    size_t free_count = 0;

    for (unsigned i = 0; i < SLOTS; i++)
        free_count += w->slots[i] && !w->slots[i]->claim.is_set && !w->slots[i]->obj.is_deleting &&
                      w->slots[i]->phase == VOLUME_AVAILABLE;
    ASSERT_INT(free_count, volume_index_count(w->by_node)); /* only free ones are in it */
    ASSERT_INT(free_count, volume_index_free_count(w->by_node));
}

static void world_done(struct world *w)
{
    w->by_claim = volume_index_free(w->by_claim);
    w->by_node = volume_index_free(w->by_node);
    for (unsigned i = 0; i < DRAWN; i++) {
        (void)object_unref(w->volumes[i]);
        (void)object_unref(w->claims[i]);
    }
    for (unsigned i = 0; i < ARRAY_LEN(w->nodes); i++)
        (void)object_unref(w->nodes[i]);
    free(w);
}

TEST(both_searches_agree_with_the_rules)
{
    struct world *w = calloc(1, sizeof *w);

    assert_non_null(w);
    rng_init(&w->rng, 11);
    ASSERT_OK(volume_index_new((struct hash_seed){ 1, 2 }, &w->by_claim, &err));
    ASSERT_OK(volume_index_new_by_node((struct hash_seed){ 3, 4 }, &w->by_node, &err));
    for (unsigned i = 0; i < DRAWN; i++) {
        w->volumes[i] = draw_volume(w);
        w->claims[i] = draw_claim(w);
    }
    for (unsigned i = 0; i < ARRAY_LEN(w->nodes); i++)
        w->nodes[i] = draw_node(w);
    for (unsigned step = 0; step < STEPS; step++) {
        const struct claim *c = claim_of(w->claims[draw(w, DRAWN)]);

        change_volume(w);
        if (draw(w, 4) == 0)
            change_hold(w);
        compare_for_claim(w, c);
        compare_on_node(w, c);
        compare_counts(w);
    }
    /* Every kind of answer came often. */
    assert_true(w->found_for_claim > STEPS / 20);
    assert_true(w->found_on_node > STEPS / 20);
    assert_true(w->tied_on_node > STEPS / 50);
    assert_true(w->none > STEPS / 20);
    world_done(w);
}

TEST_MAIN()

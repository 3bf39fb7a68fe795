/* Free volumes by the nodes that reach them: places, ties, lack of memory; and against a search that looks at
 * every volume, in random worlds. */
#include "tests/unit/test_stingy.h"

/* NOLINTBEGIN(bugprone-suspicious-include) */
#include "volumes/buckets.c"
#include "volumes/claim_lists.c"
#include "volumes/index.c"
#include "volumes/node_buckets.c"
/* NOLINTEND(bugprone-suspicious-include) */

#include "api/claim.h"
#include "base/rng.h"
#include "tests/unit/test_kind.h"

#define SEED ((struct hash_seed){ 1, 2 })
#define TERMS_BYTES 8192

/* What is left out: 1Gi, Available, reachable from everywhere. */
struct row {
    const char *name, *size, *terms, *phase, *kept_for, *class;
    bool is_deleting;
};

static const char *or_else(const char *text, const char *fallback)
{
    return text ? text : fallback;
}

static struct object *new_volume(const struct row *row)
{
    _cleanup_(buf_done_p) struct buf t = BUF_INIT(1 << 16);

    buf_addf(&t,
             "{'metadata':{'name':'%s'%s},'spec':{'accessModes':['ReadWriteOnce'],'capacity':{'storage'"
             ":'%s'},'storageClassName':'%s'",
             row->name, row->is_deleting ? ",'deletionTimestamp':'2026-01-02T03:04:05Z'" : "",
             or_else(row->size, "1Gi"), or_else(row->class, "local"));
    if (row->terms)
        buf_addf(&t, ",'nodeAffinity':{'required':{'nodeSelectorTerms':[%s]}}", row->terms);
    if (row->kept_for)
        buf_addf(&t, ",'claimRef':{'namespace':'ns','name':'%s'}", row->kept_for);
    buf_addf(&t, "},'status':{'phase':'%s'}}", or_else(row->phase, "Available"));
    return kind_object(KIND_VOLUME, buf_cstr(&t));
}

static struct object *new_claim(const char *size, const char *class)
{
    _cleanup_(buf_done_p) struct buf t = BUF_INIT(1 << 16);

    buf_addf(&t,
             "{'metadata':{'name':'c','namespace':'ns','uid':'u'},'spec':{'accessModes':["
             "'ReadWriteOnce'],'resources':{'requests':{'storage':'%s'}},'storageClassName':'%s'}}",
             size, class);
    return kind_object(KIND_CLAIM, buf_cstr(&t));
}

static struct object *new_node(const char *labels)
{
    _cleanup_(buf_done_p) struct buf t = BUF_INIT(1 << 16);

    buf_addf(&t, "{'metadata':{'name':'n','labels':{%s}}}", labels);
    return kind_object(KIND_NODE, buf_cstr(&t));
}

static struct volume_index *new_index(void)
{
    struct volume_index *f = NULL;

    ASSERT_OK(volume_index_new_by_node(SEED, &f, &err));
    return f;
}

/* Free volumes of the class. */
static bool has_class(const struct volume_index *f, const char *class)
{
    const struct volume_bucket *b;

    for (size_t at = 0; (b = map_next(&f->buckets.by_key, &at, NULL));)
        if (strcmp(b->key + 1, class) == 0)
            return true;
    return false;
}

/* Maps that volumes are in: of label values, and of sets of access modes for what is tied to none. */
static size_t places(const struct volume_index *f)
{
    const struct volume_bucket *b;
    size_t count = f->buckets.by_node.count;

    for (size_t at = 0; (b = map_next(&f->buckets.by_key, &at, NULL));)
        for (unsigned i = 0; i < GROUPS_COUNT; i++)
            count += b->groups[i].count > 0;
    return count;
}

static int put_row(struct volume_index *f, const struct row *row)
{
    _cleanup_(object_unref_p) struct object *o = new_volume(row);

    return volume_index_put(f, volume_of(o), &err);
}

/* ctx: the name of a volume that is taken, or NULL. */
static bool is_named(void *ctx, const struct volume *v)
{
    return ctx && strcmp(ctx, v->obj.name) == 0;
}

/* The name of the volume that a claim of this size gets on a node of these labels; "" for none. */
static const char *found(const struct volume_index *f, const char *size, const char *class,
                         const char *labels, char *taken)
{
    static char text[64];
    _cleanup_(object_unref_p) struct object *c = new_claim(size, class), *n = new_node(labels);
    const struct volume *v = volume_index_find_on_node(f, claim_of(c), &n->labels, is_named, taken);

    (void)snprintf(text, sizeof text, "%s", v ? v->obj.name : "");
    return text;
}

#define WORLD _cleanup_(volume_index_free_p) struct volume_index *f = new_index()
#define PUT(...) ASSERT_INT(0, put_row(f, &(struct row){ __VA_ARGS__ }))
#define ASSERT_FOUND(expected, size, labels) ASSERT_STR(expected, found(f, size, "local", labels, NULL))

#define IN(key, values) "{'matchExpressions':[{'key':'" key "','operator':'In','values':[" values "]}]}"
#define OP(key, op) "{'matchExpressions':[{'key':'" key "','operator':'" op "'}]}"
#define N1 "'host':'n1'"
#define N2 "'host':'n2'"

/* --- Places --- */

TEST(smallest_of_the_node_and_of_all)
{
    WORLD;

    ASSERT_FOUND("", "1Gi", N1);
    assert_false(has_class(f, "local"));
    PUT("ten", "10Gi", IN("host", "'n1'"));
    PUT("five", "5Gi", IN("host", "'n1'"));
    PUT("other", "2Gi", IN("host", "'n2'"));
    PUT("all", "7Gi");
    assert_true(has_class(f, "local"));
    ASSERT_FOUND("five", "1Gi", N1);
    ASSERT_FOUND("all", "6Gi", N1);
    ASSERT_FOUND("ten", "8Gi", N1);
    ASSERT_FOUND("", "11Gi", N1);
    ASSERT_FOUND("other", "1Gi", N2);
    ASSERT_FOUND("all", "3Gi", N2);
    ASSERT_FOUND("all", "1Gi", "");
    ASSERT_STR("", found(f, "1Gi", "other-class", N1, NULL));
    ASSERT_STR("all", found(f, "1Gi", "local", N1, (char[]){ "five" }));
}

TEST(equal_sizes_by_name)
{
    WORLD;

    PUT("b", "1Gi", IN("host", "'n1'"));
    PUT("c", "1024Mi");
    ASSERT_FOUND("b", "1Gi", N1);
    PUT("a", "1Gi");
    ASSERT_FOUND("a", "1Gi", N1);
    ASSERT_STR("b", found(f, "1Gi", "local", N1, (char[]){ "a" }));
}

/* What is not free is not there, and what was is forgotten. */
TEST(only_free_ones)
{
    WORLD;

    PUT("p");
    ASSERT_FOUND("p", "1Gi", N1);
    PUT("p", .phase = "Pending");
    ASSERT_FOUND("", "1Gi", N1);
    PUT("p");
    PUT("p", .kept_for = "c");
    ASSERT_FOUND("", "1Gi", N1);
    PUT("p");
    PUT("p", .is_deleting = true);
    ASSERT_FOUND("", "1Gi", N1);
    PUT("p");
    volume_index_remove(f, "p");
    volume_index_remove(f, "p");
    ASSERT_FOUND("", "1Gi", N1);
    assert_false(has_class(f, "local"));
}

/* Another size, other ties, another class: the old place is empty. */
TEST(moves)
{
    WORLD;

    PUT("p", "1Gi", IN("host", "'n1'"));
    PUT("p", "2Gi", IN("host", "'n2'"));
    ASSERT_FOUND("", "1Gi", N1);
    ASSERT_FOUND("p", "2Gi", N2);
    PUT("p", "3Gi", .class = "gold");
    ASSERT_FOUND("", "1Gi", N2);
    ASSERT_STR("p", found(f, "3Gi", "gold", "", NULL));
    ASSERT_INT(1, places(f));
    ASSERT_INT(1, f->buckets.by_key.count);
}

/* --- Ties --- */

TEST(several_terms_and_values)
{
    WORLD;

    PUT("p", "1Gi", IN("host", "'n1','n2'") "," IN("zone", "'a'") "," IN("host", "'n1','n1'"));
    ASSERT_INT(3, places(f)); /* n1, n2 and a, each once */
    ASSERT_FOUND("p", "1Gi", N1);
    ASSERT_FOUND("p", "1Gi", N2);
    ASSERT_FOUND("p", "1Gi", "'host':'n3','zone':'a'");
    ASSERT_FOUND("p", "1Gi", "'host':'n1','zone':'a'"); /* by two ways */
    ASSERT_FOUND("", "1Gi", "'host':'n3','zone':'b'");
    ASSERT_FOUND("", "1Gi", "");
    volume_index_remove(f, "p");
    ASSERT_INT(0, places(f));
}

/* The tie leaves out what cannot match; the rest of the term is still asked. */
TEST(a_tie_is_not_the_whole_affinity)
{
    WORLD;

    PUT("p", "1Gi",
        "{'matchExpressions':[{'key':'disk','operator':'Exists'},{'key':'host','operator':'In','values':["
        "'n1']},{'key':'zone','operator':'In','values':['a']}]}");
    ASSERT_FOUND("", "1Gi", N1);
    ASSERT_FOUND("", "1Gi", N1 ",'disk':''");
    ASSERT_FOUND("", "1Gi", "'zone':'a','disk':''");
    ASSERT_FOUND("p", "1Gi", N1 ",'zone':'a','disk':''");
}

/* One term without values, and the volume is looked at for every node. */
TEST(terms_that_name_no_values)
{
    static const struct {
        const char *terms, *labels;
        bool is_found;
    } rows[] = {
        { OP("host", "Exists"), N1, true },
        { OP("host", "Exists"), "", false },
        { OP("host", "DoesNotExist"), N1, false },
        { OP("host", "DoesNotExist"), "", true },
        { IN("host", "'n1'") "," OP("disk", "Exists"), N2 ",'disk':'x'", true },
        { IN("host", "'n1'") "," OP("disk", "Exists"), N2, false },
        { "{'matchExpressions':[{'key':'host','operator':'NotIn','values':['n1']}]}", N1, false },
        { "{'matchExpressions':[{'key':'host','operator':'NotIn','values':['n1']}]}", N2, true },
        { "{'matchExpressions':[{'key':'cpu','operator':'Gt','values':['4']}]}", "'cpu':'8'", true },
        { "{'matchExpressions':[{'key':'cpu','operator':'Gt','values':['4']}]}", "'cpu':'x'", false },
        { "{'matchFields':[{'key':'metadata.name','operator':'In','values':['m']}]}", N1, true },
        { "{}", N1, false },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        WORLD;

        PUT("p", "1Gi", rows[i].terms);
        if ((strcmp(found(f, "1Gi", "local", rows[i].labels, NULL), "p") == 0) != rows[i].is_found)
            fail_msg("%s on %s: %sfound", rows[i].terms, rows[i].labels, rows[i].is_found ? "not " : "");
        ASSERT_INT(1, places(f));
    }
}

/* Up to a number of ties each has its place; with one more there is one place for all nodes. */
TEST(many_ties)
{
    for (unsigned count = TIES_MAX; count <= TIES_MAX + 1; count++) {
        _cleanup_(buf_done_p) struct buf terms = BUF_INIT(TERMS_BYTES);
        WORLD;

        buf_add_cstr(&terms, "{'matchExpressions':[{'key':'host','operator':'In','values':[");
        for (unsigned i = 0; i < count; i++)
            buf_addf(&terms, "%s'n%u'", i ? "," : "", i);
        buf_add_cstr(&terms, "]}]}");
        PUT("p", "1Gi", buf_cstr(&terms));
        ASSERT_INT(count == TIES_MAX ? TIES_MAX : 1, places(f));
        ASSERT_FOUND("p", "1Gi", "'host':'n0'");
        ASSERT_FOUND("p", "1Gi", "'host':'n63'");
        ASSERT_FOUND("", "1Gi", "'host':'m'");
    }
}

/* Names that no server lets in find their place as well. */
TEST(long_names)
{
    char class[600];
    WORLD;

    memset(class, 'x', sizeof class - 1);
    class[sizeof class - 1] = '\0';
    PUT("all", "2Gi", .class = class);
    PUT("p", .terms = IN("host", "'n1'"), .class = class);
    ASSERT_STR("p", found(f, "1Gi", class, N1, NULL));
    ASSERT_STR("all", found(f, "1Gi", class, N2, NULL));
}

/* --- Lack of memory --- */

/* Wherever it fails, the volume is not there, nothing of it is left, and the others are as they were. */
TEST(a_put_that_fails_changes_nothing)
{
    static const struct row rows[] = {
        { "b", "2Gi", NULL, NULL, NULL, NULL, false },
        { "a", "1Gi", IN("host", "'n1','n2'") "," IN("zone", "'a'"), NULL, NULL, NULL, false },
        { "c", "3Gi", IN("rack", "'1'"), NULL, NULL, "gold", false },
    };
    struct volume_index *none = NULL;
    WORLD;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        size_t buckets = places(f), classes = f->buckets.by_key.count, volumes = f->by_name.count;
        unsigned granted = 0;
        int r;

        do {
            _cleanup_(object_unref_p) struct object *o = new_volume(&rows[i]);

            is_stingy = true;
            allocs_left = granted++;
            r = volume_index_put(f, volume_of(o), &err);
            is_stingy = false;
            if (r == 0)
                break;
            ASSERT_INT(-ERR_NO_MEMORY, r);
            ASSERT_INT(buckets, places(f));
            ASSERT_INT(classes, f->buckets.by_key.count);
            ASSERT_INT(volumes, f->by_name.count);
        } while (granted < 100);
        ASSERT_INT(0, r);
        assert_true(granted > 4); /* it did fail, in several places */
    }
    ASSERT_FOUND("a", "1Gi", N2);
    ASSERT_FOUND("b", "1Gi", "");
    ASSERT_STR("c", found(f, "1Gi", "gold", "'rack':'1'", NULL));
    is_stingy = true;
    allocs_left = 0;
    ASSERT_INT(-ERR_NO_MEMORY, volume_index_new_by_node(SEED, &none, &err));
    assert_null(none);
    is_stingy = false;
}

/* --- Against a search that looks at everything --- */

#define MODEL_VOLUMES 12
#define MODEL_STEPS 400

struct model {
    struct object *volumes[MODEL_VOLUMES]; /* NULL: not there */
};

static const struct volume *model_find(const struct model *m, const struct claim *c, const struct kvs *labels,
                                       char *taken)
{
    struct match_options o = { .node_labels = labels };
    const struct volume *best = NULL;

    for (size_t i = 0; i < MODEL_VOLUMES; i++) {
        const struct volume *v = m->volumes[i] ? volume_of(m->volumes[i]) : NULL;

        if (v && !v->claim.is_set && !is_named(taken, v) && match_volume(v, c, &o) == REJECT_NONE &&
            (!best || volume_cmp_size_name(v, best) < 0))
            best = v;
    }
    return best;
}

static struct object *random_volume(struct rng *r, unsigned at)
{
    static const char *const terms[] = { NULL,
                                         IN("host", "'n1'"),
                                         IN("host", "'n2','n3'"),
                                         IN("zone", "'a'"),
                                         IN("zone", "'a'") "," IN("host", "'n3'"),
                                         OP("host", "Exists"),
                                         IN("host", "'n1'") "," OP("disk", "Exists"),
                                         "{}" };
    static const char *const phases[] = { "Available", "Available", "Available", "Pending" };
    char name[16], size[16];

    (void)snprintf(name, sizeof name, "p%u", at);
    (void)snprintf(size, sizeof size, "%uGi", (unsigned)(1 + rng_u64(r) % 4));
    return new_volume(&(struct row){ .name = name,
                                     .size = size,
                                     .terms = terms[rng_u64(r) % ARRAY_LEN(terms)],
                                     .phase = phases[rng_u64(r) % ARRAY_LEN(phases)],
                                     .kept_for = rng_u64(r) % 8 == 0 ? "x" : NULL,
                                     .class = rng_u64(r) % 4 == 0 ? "gold" : NULL });
}

static void model_ask(struct rng *r, const struct model *m, const struct volume_index *f)
{
    static const char *const nodes[] = { "", N1, N2, "'host':'n3','zone':'a'", "'zone':'a','disk':'x'" };
    char size[16], taken[16];
    _cleanup_(object_unref_p) struct object *c = NULL, *n = NULL;

    (void)snprintf(size, sizeof size, "%uGi", (unsigned)(1 + rng_u64(r) % 5));
    (void)snprintf(taken, sizeof taken, "p%u", (unsigned)(rng_u64(r) % MODEL_VOLUMES));
    c = new_claim(size, rng_u64(r) % 4 == 0 ? "gold" : "local");
    n = new_node(nodes[rng_u64(r) % ARRAY_LEN(nodes)]);
    assert_ptr_equal(model_find(m, claim_of(c), &n->labels, taken),
                     volume_index_find_on_node(f, claim_of(c), &n->labels, is_named, taken));
}

TEST(like_a_search_through_all)
{
    for (unsigned seed = 1; seed <= 10; seed++) {
        struct model m = { 0 };
        struct rng r;
        WORLD;

        rng_init(&r, seed);
        for (unsigned step = 0; step < MODEL_STEPS; step++) {
            unsigned at = (unsigned)(rng_u64(&r) % MODEL_VOLUMES);
            struct object *old = m.volumes[at];

            m.volumes[at] = rng_u64(&r) % 4 ? random_volume(&r, at) : NULL;
            if (m.volumes[at])
                ASSERT_INT(0, volume_index_put(f, volume_of(m.volumes[at]), &err));
            else if (old)
                volume_index_remove(f, old->name);
            (void)object_unref(old);
            model_ask(&r, &m, f);
        }
        for (size_t i = 0; i < MODEL_VOLUMES; i++)
            (void)object_unref(m.volumes[i]);
    }
}

TEST_MAIN()

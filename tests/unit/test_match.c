/* The rules of matching, one by one: small domains whole, the rest as rows. */
#include "tests/unit/test_kind.h"

#include "volumes/match.h"

#define MODES_COUNT 16U
#define VOLUME_TEXT(meta, spec, status)                                                      \
    "{'metadata':{'name':'v'" meta "},'spec':{'persistentVolumeReclaimPolicy':'Retain'" spec \
    "},'status':{" status "}}"
#define CLAIM_TEXT(meta, spec) \
    "{'metadata':{'name':'c','namespace':'ns','uid':'u'" meta "},'spec':{'volumeName':''" spec "}}"
#define AVAILABLE "'phase':'Available'"
#define CAPACITY(size) ",'capacity':{'storage':'" size "'}"
#define REQUEST(size) ",'resources':{'requests':{'storage':'" size "'}}"
#define KEPT(uid) ",'claimRef':{'namespace':'ns','name':'c','uid':'" uid "'}"
#define DELETING ",'deletionTimestamp':'2026-01-02T03:04:05Z'"

/* A pair of objects out of texts. */
struct pair {
    struct object *volume;
    struct object *claim;
};

static struct pair pair_of(const char *volume, const char *claim)
{
    return (struct pair){ kind_object(KIND_VOLUME, volume), kind_object(KIND_CLAIM, claim) };
}

static void pair_done(struct pair *p)
{
    p->volume = object_unref(p->volume);
    p->claim = object_unref(p->claim);
}

static enum reject match(const char *volume, const char *claim, const struct match_options *o)
{
    _cleanup_(pair_done) struct pair p = pair_of(volume, claim);

    return match_volume(volume_of(p.volume), claim_of(p.claim), o);
}

static const char *named(const char *volume, const char *claim)
{
    _cleanup_(pair_done) struct pair p = pair_of(volume, claim);

    return reject_names[match_named(volume_of(p.volume), claim_of(p.claim))];
}

/* "'ReadWriteOnce','ReadOnlyMany'" for the bits, first to last or the other way round. */
static void modes_text(unsigned modes, bool is_reversed, struct buf *out)
{
    buf_clear(out);
    for (unsigned i = 0; i < 4; i++) {
        unsigned bit = is_reversed ? 3 - i : i;
        if (modes & 1U << bit)
            buf_addf(out, "%s'%s'", out->len ? "," : "", access_mode_names[bit]);
    }
}

/* S25, S27: every set of modes against every other, in either order. */
TEST(all_pairs_of_access_modes)
{
    _cleanup_(buf_done_p) struct buf has = BUF_INIT(1024), asks = BUF_INIT(1024), volume = BUF_INIT(1024),
                                     claim = BUF_INIT(1024);

    for (unsigned i = 0; i < MODES_COUNT * MODES_COUNT * 2; i++) {
        unsigned v = i / 2 % MODES_COUNT, c = i / 2 / MODES_COUNT;
        enum reject expected = (v & c) == c ? REJECT_NONE : REJECT_ACCESS_MODES;
        modes_text(v, false, &has);
        modes_text(c, i % 2, &asks);
        buf_clear(&volume);
        buf_clear(&claim);
        buf_addf(&volume, VOLUME_TEXT("", ",'accessModes':[%s]", AVAILABLE), buf_cstr(&has));
        buf_addf(&claim, CLAIM_TEXT("", ",'accessModes':[%s]"), buf_cstr(&asks));
        if (match(buf_cstr(&volume), buf_cstr(&claim), &(struct match_options){ 0 }) != expected)
            fail_msg("%s for %s", buf_cstr(&has), buf_cstr(&asks));
        ASSERT_STR(reject_names[expected], named(buf_cstr(&volume), buf_cstr(&claim)));
    }
}

TEST(an_unknown_mode_matches_nothing)
{
    static const char odd[] = VOLUME_TEXT("", ",'accessModes':['ReadWriteOnce','Odd']", AVAILABLE);
    _cleanup_(object_unref_p) struct object *o = kind_object(KIND_VOLUME, odd);

    ASSERT_INT(ACCESS_RWO, volume_mode_mask(volume_of(o)));
    ASSERT_INT(REJECT_NONE,
               match(odd, CLAIM_TEXT("", ",'accessModes':['ReadWriteOnce']"), &(struct match_options){ 0 }));
    ASSERT_INT(REJECT_ACCESS_MODES,
               match(odd, CLAIM_TEXT("", ",'accessModes':['Odd']"), &(struct match_options){ 0 }));
    ASSERT_STR("access-modes", named(odd, CLAIM_TEXT("", ",'accessModes':['Odd']")));
}

/* S20, S21: a phase matters to whoever the volume was not kept for. */
TEST(all_phases)
{
    static const char *const keeping[] = { "", KEPT(""), KEPT("u"), KEPT("other") };

    for (int phase = 0; phase < VOLUME_PHASE_COUNT; phase++)
        for (size_t i = 0; i < ARRAY_LEN(keeping); i++)
            for (int promised = 0; promised < 2; promised++) {
                const struct match_options o = { .is_assumed = promised };
                char text[512];
                enum reject expected = i == 3                                           ? REJECT_TAKEN
                                       : i > 0 || promised || phase == VOLUME_AVAILABLE ? REJECT_NONE
                                                                                        : REJECT_PHASE;
                (void)snprintf(text, sizeof text, VOLUME_TEXT("", "%s", "'phase':'%s'"), keeping[i],
                               volume_phase_name((enum volume_phase)phase));
                if (match(text, CLAIM_TEXT("", ""), &o) != expected)
                    fail_msg("%s, promised %d: not %s", text, promised, reject_names[expected]);
            }
}

/* What match_volume() says, and beside it: the first of all refusals is the refusal. */
static void check_refusals(const char *volume, const char *claim, const struct match_options *o,
                           enum reject first)
{
    _cleanup_(pair_done) struct pair p = pair_of(volume, claim);
    unsigned refused = match_refusals(volume_of(p.volume), claim_of(p.claim), o);

    if (first == REJECT_NONE ? refused != 0 : (refused & -refused) != 1U << first)
        fail_msg("%s and %s: refusals %x, expected %s first", volume, claim, refused, reject_names[first]);
}

struct match_row {
    const char *volume;
    const char *claim;
    enum reject expected;
};

static void check_rows(const struct match_row *rows, size_t count, const struct match_options *o)
{
    for (size_t i = 0; i < count; i++) {
        enum reject r = match(rows[i].volume, rows[i].claim, o);
        if (r != rows[i].expected)
            fail_msg("%s and %s: %s, expected %s", rows[i].volume, rows[i].claim, reject_names[r],
                     reject_names[rows[i].expected]);
        check_refusals(rows[i].volume, rows[i].claim, o, r);
    }
}

#define FREE(spec) VOLUME_TEXT("", spec, AVAILABLE)
#define LABELLED(labels, spec) VOLUME_TEXT(",'labels':{" labels "}", spec, AVAILABLE)
#define SELECTOR(key, op, rest) \
    ",'selector':{'matchExpressions':[{'key':'" key "','operator':'" op "'" rest "}]}"

TEST(rules_of_matching)
{
    static const struct match_row rows[] = {
        { FREE(""), CLAIM_TEXT("", ""), REJECT_NONE },
        /* Sizes: missing is 0, S34 and S54. */
        { FREE(""), CLAIM_TEXT("", REQUEST("1")), REJECT_SIZE },
        { FREE(CAPACITY("1Gi")), CLAIM_TEXT("", ""), REJECT_NONE },
        { FREE(CAPACITY("1024Mi")), CLAIM_TEXT("", REQUEST("1Gi")), REJECT_NONE },
        { FREE(CAPACITY("1G")), CLAIM_TEXT("", REQUEST("1Gi")), REJECT_SIZE },
        { FREE(CAPACITY("1.2")), CLAIM_TEXT("", REQUEST("1.5")), REJECT_SIZE },
        { FREE(CAPACITY("2E")), CLAIM_TEXT("", REQUEST("20e18")), REJECT_SIZE },
        { FREE(CAPACITY("20e18")), CLAIM_TEXT("", REQUEST("30e18")), REJECT_SIZE },
        /* S29: no mode is Filesystem. */
        { FREE(",'volumeMode':'Block'"), CLAIM_TEXT("", ""), REJECT_VOLUME_MODE },
        { FREE(",'volumeMode':'Filesystem'"), CLAIM_TEXT("", ",'volumeMode':'Block'"), REJECT_VOLUME_MODE },
        { FREE(",'volumeMode':'Filesystem'"), CLAIM_TEXT("", ""), REJECT_NONE },
        { FREE(""), CLAIM_TEXT("", ",'volumeMode':'Filesystem'"), REJECT_NONE },
        { FREE(",'volumeMode':'Block'"), CLAIM_TEXT("", ",'volumeMode':'Block'"), REJECT_NONE },
        /* S30, S31: attributes classes. */
        { FREE(",'volumeAttributesClassName':'gold'"), CLAIM_TEXT("", ",'volumeAttributesClassName':'gold'"),
          REJECT_NONE },
        { FREE(""), CLAIM_TEXT("", ",'volumeAttributesClassName':'gold'"), REJECT_ATTRIBUTES_CLASS },
        { FREE(",'volumeAttributesClassName':'gold'"), CLAIM_TEXT("", ""), REJECT_ATTRIBUTES_CLASS },
        { FREE(""), CLAIM_TEXT("", ",'volumeAttributesClassName':''"), REJECT_NONE },
        /* S23: going, kept or not. */
        { VOLUME_TEXT(DELETING, "", AVAILABLE), CLAIM_TEXT("", ""), REJECT_DELETING },
        { VOLUME_TEXT(DELETING, KEPT("u"), AVAILABLE), CLAIM_TEXT("", ""), REJECT_DELETING },
        /* S14, S15, S16: selectors. */
        { LABELLED("'foo':'true'", ""), CLAIM_TEXT("", ",'selector':{'matchLabels':{'foo':'true'}}"),
          REJECT_NONE },
        { FREE(""), CLAIM_TEXT("", ",'selector':{'matchLabels':{'foo':'true'}}"), REJECT_SELECTOR },
        { FREE(""), CLAIM_TEXT("", SELECTOR("foo", "NotIn", ",'values':['a']")), REJECT_NONE },
        { LABELLED("'foo':''", ""), CLAIM_TEXT("", SELECTOR("foo", "Exists", "")), REJECT_NONE },
        { LABELLED("'foo':''", ""), CLAIM_TEXT("", SELECTOR("foo", "DoesNotExist", "")), REJECT_SELECTOR },
        { FREE(""), CLAIM_TEXT("", ",'selector':{}"), REJECT_NONE },
        { FREE(""), CLAIM_TEXT("", SELECTOR("foo", "Odd", "")), REJECT_SELECTOR }, /* S17 */
        /* S32, S33: classes, and the annotation before the field. */
        { FREE(",'storageClassName':'gold'"), CLAIM_TEXT("", ",'storageClassName':'gold'"), REJECT_NONE },
        { FREE(",'storageClassName':'gold'"), CLAIM_TEXT("", ",'storageClassName':''"), REJECT_CLASS },
        { FREE(",'storageClassName':'gold'"), CLAIM_TEXT("", ""), REJECT_CLASS },
        { FREE(""), CLAIM_TEXT("", ",'storageClassName':'gold'"), REJECT_CLASS },
        { FREE(",'storageClassName':'gold'"),
          CLAIM_TEXT(",'annotations':{'" ANN_CLASS_BETA "':'gold'}", ",'storageClassName':'silver'"),
          REJECT_NONE },
        { VOLUME_TEXT(",'annotations':{'" ANN_CLASS_BETA "':'gold'}", ",'storageClassName':'silver'",
                      AVAILABLE),
          CLAIM_TEXT("", ",'storageClassName':'gold'"), REJECT_NONE },
        /* S18, S19: what is kept is exempt from selector and class, not from size. */
        { FREE(KEPT("") ",'storageClassName':'gold'"),
          CLAIM_TEXT("", ",'selector':{'matchLabels':{'foo':'true'}}"), REJECT_NONE },
        { FREE(KEPT("u")), CLAIM_TEXT("", REQUEST("1")), REJECT_SIZE },
    };

    check_rows(rows, ARRAY_LEN(rows), &(struct match_options){ 0 });
}

/* Row 9a: a claim that is to be filled takes only a volume that it names, or that names it. */
TEST(data_sources)
{
#define SOURCE ",'dataSource':{'kind':'PersistentVolumeClaim','name':'old'}"
#define SOURCE_REF ",'dataSourceRef':{'apiGroup':'x.io','kind':'Filler','name':'f'}"
    static const struct match_row rows[] = {
        { FREE(""), CLAIM_TEXT("", SOURCE), REJECT_DATA_SOURCE },
        { FREE(""), CLAIM_TEXT("", SOURCE_REF), REJECT_DATA_SOURCE },
        { FREE(KEPT("u")), CLAIM_TEXT("", SOURCE), REJECT_NONE },
        { FREE(KEPT("")), CLAIM_TEXT("", SOURCE_REF), REJECT_NONE },
        { FREE(KEPT("other")), CLAIM_TEXT("", SOURCE), REJECT_TAKEN },
        { FREE(""),
          "{'metadata':{'name':'c','namespace':'ns','uid':'u'},'spec':{'volumeName':'v'" SOURCE "}}",
          REJECT_NONE },
        { FREE(""),
          "{'metadata':{'name':'c','namespace':'ns','uid':'u'},'spec':{'volumeName':'w'" SOURCE "}}",
          REJECT_DATA_SOURCE },
        /* After the rules that hold for what is kept, too; before those that do not. */
        { FREE(""), CLAIM_TEXT("", SOURCE REQUEST("1")), REJECT_SIZE },
        { FREE(",'storageClassName':'gold'"), CLAIM_TEXT("", SOURCE), REJECT_DATA_SOURCE },
        { VOLUME_TEXT("", "", ""), CLAIM_TEXT("", SOURCE), REJECT_DATA_SOURCE },
    };
    static const struct kvs no_labels;

    check_rows(rows, ARRAY_LEN(rows), &(struct match_options){ 0 });
    check_rows(rows, ARRAY_LEN(rows),
               &(struct match_options){ .is_delayed = true, .node_labels = &no_labels });
    ASSERT_INT(REJECT_DELAYED,
               match(FREE(""), CLAIM_TEXT("", SOURCE), &(struct match_options){ .is_delayed = true }));
    ASSERT_INT(REJECT_NONE,
               match(FREE(""), CLAIM_TEXT("", SOURCE), &(struct match_options){ .is_assumed = true }));
}

/* The first rule that refuses is the one that is told. */
TEST(rules_are_asked_in_their_order)
{
    static const char claim[] =
        CLAIM_TEXT("", REQUEST("1Gi") ",'volumeMode':'Block'"
                                      ",'volumeAttributesClassName':'gold'"
                                      ",'storageClassName':'fast','accessModes':['ReadWriteMany']"
                                      ",'selector':{'matchLabels':{'foo':'true'}}");
#define FITS CAPACITY("1Gi") ",'volumeMode':'Block','volumeAttributesClassName':'gold'"
    static const struct match_row rows[] = {
        { VOLUME_TEXT(DELETING, KEPT("other"), ""), claim, REJECT_TAKEN },
        { VOLUME_TEXT(DELETING, "", ""), claim, REJECT_SIZE },
        { VOLUME_TEXT(DELETING, CAPACITY("1Gi"), ""), claim, REJECT_VOLUME_MODE },
        { VOLUME_TEXT(DELETING, CAPACITY("1Gi") ",'volumeMode':'Block'", ""), claim,
          REJECT_ATTRIBUTES_CLASS },
        { VOLUME_TEXT(DELETING, FITS, ""), claim, REJECT_DELETING },
        { VOLUME_TEXT("", FITS, ""), claim, REJECT_PHASE },
        { VOLUME_TEXT("", FITS, AVAILABLE), claim, REJECT_SELECTOR },
        { LABELLED("'foo':'true'", FITS), claim, REJECT_CLASS },
        { LABELLED("'foo':'true'", FITS ",'storageClassName':'fast'"), claim, REJECT_ACCESS_MODES },
        { LABELLED("'foo':'true'", FITS ",'storageClassName':'fast','accessModes':['ReadWriteMany']"), claim,
          REJECT_NONE },
        { VOLUME_TEXT("", FITS KEPT("u"), ""), claim, REJECT_ACCESS_MODES },
    };

    check_rows(rows, ARRAY_LEN(rows), &(struct match_options){ 0 });
}

/* S90, S91: while the class waits, the binder only completes what the scheduler began. */
TEST(delayed_binding)
{
    static const struct match_options delayed = { .is_delayed = true };
    static const struct match_row rows[] = {
        { FREE(""), CLAIM_TEXT("", ""), REJECT_DELAYED },
        { VOLUME_TEXT("", "", ""), CLAIM_TEXT("", ""), REJECT_DELAYED },
        { FREE(KEPT("u")), CLAIM_TEXT("", ""), REJECT_NONE },
        { FREE(CAPACITY("1")), CLAIM_TEXT("", REQUEST("2")), REJECT_SIZE },
    };

    check_rows(rows, ARRAY_LEN(rows), &delayed);
}

#define ON_NODE(op)                                                                                        \
    ",'nodeAffinity':{'required':{'nodeSelectorTerms':[{'matchExpressions':[{'key':'zone','operator':'" op \
    "','values':['a']}]}]}}"

/* The class of the claim may yet come and say that the node comes first. */
TEST(a_class_that_is_waited_for)
{
    static const struct match_options waits = { .awaits_class = true };
    static const struct match_row rows[] = {
        { FREE(ON_NODE("In")), CLAIM_TEXT("", ""), REJECT_AWAITS_CLASS },
        { VOLUME_TEXT("", ON_NODE("In"), ""), CLAIM_TEXT("", ""), REJECT_AWAITS_CLASS },
        { FREE(""), CLAIM_TEXT("", ""), REJECT_NONE },
        { FREE(KEPT("u") ON_NODE("In")), CLAIM_TEXT("", ""), REJECT_NONE },
        { FREE(KEPT("") ON_NODE("In")), CLAIM_TEXT("", ""), REJECT_NONE },
        { FREE(CAPACITY("1") ON_NODE("In")), CLAIM_TEXT("", REQUEST("2")), REJECT_SIZE },
        { FREE(ON_NODE("In")), CLAIM_TEXT("", SOURCE), REJECT_DATA_SOURCE },
    };

    check_rows(rows, ARRAY_LEN(rows), &waits);
    check_rows(&(struct match_row){ FREE(ON_NODE("In")), CLAIM_TEXT("", ""), REJECT_NONE }, 1,
               &(struct match_options){ 0 });
}

TEST(with_a_node)
{
    static const struct kv labels[] = { { "zone", "a" } };
    const struct kvs kvs = { labels, 1 };
    const struct match_options here = { .is_delayed = true, .node_labels = &kvs };
    static const struct match_row rows[] = {
        { FREE(""), CLAIM_TEXT("", ""), REJECT_NONE }, /* the wait is over */
        { FREE(ON_NODE("In")), CLAIM_TEXT("", ""), REJECT_NONE },
        { FREE(ON_NODE("NotIn")), CLAIM_TEXT("", ""), REJECT_NODE },
        { FREE(ON_NODE("Odd")), CLAIM_TEXT("", ""), REJECT_NODE },
        { FREE(KEPT("u") ON_NODE("NotIn")), CLAIM_TEXT("", ""), REJECT_NODE },
        { FREE(KEPT("u") ON_NODE("In")), CLAIM_TEXT("", ""), REJECT_NONE },
        /* Class before node before modes; what is kept is asked neither for class nor for modes. */
        { FREE(ON_NODE("NotIn")), CLAIM_TEXT("", ",'storageClassName':'gold'"), REJECT_CLASS },
        { FREE(ON_NODE("NotIn")), CLAIM_TEXT("", ",'accessModes':['ReadWriteOnce']"), REJECT_NODE },
        { FREE(ON_NODE("In")), CLAIM_TEXT("", ",'accessModes':['ReadWriteOnce']"), REJECT_ACCESS_MODES },
        { FREE(KEPT("")), CLAIM_TEXT("", ",'accessModes':['ReadWriteOnce']"), REJECT_NONE },
    };

    check_rows(rows, ARRAY_LEN(rows), &here);
    ASSERT_INT(REJECT_NONE, match(FREE(ON_NODE("NotIn")), CLAIM_TEXT("", ""), &(struct match_options){ 0 }));
}

TEST(whose_the_volume_is)
{
    static const struct {
        const char *ref;
        bool is_for;
        const char *key;
    } rows[] = {
        { "", false, "" },
        { KEPT(""), true, "ns/c" },
        { KEPT("u"), true, "ns/c" },
        { KEPT("other"), false, "ns/c" },
        { ",'claimRef':{'namespace':'ns','name':'d','uid':'u'}", false, "ns/d" },
        { ",'claimRef':{'namespace':'other','name':'c'}", false, "other/c" },
        { ",'claimRef':{'name':'c'}", false, "/c" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(buf_done_p) struct buf key = BUF_INIT(256);
        char text[512];
        (void)snprintf(text, sizeof text, FREE("%s"), rows[i].ref);
        _cleanup_(pair_done) struct pair p = pair_of(text, CLAIM_TEXT("", ""));
        ASSERT_INT(rows[i].is_for, volume_is_for(volume_of(p.volume), claim_of(p.claim)));
        volume_claim_key(volume_of(p.volume), &key);
        ASSERT_STR(rows[i].key, buf_cstr(&key));
    }
}

/* S48 to S54: the claim names its volume. Selector, phase and node do not matter; the order does. */
TEST(named_volumes)
{
    static const char claim[] =
        CLAIM_TEXT("", REQUEST("2Gi") ",'volumeMode':'Block'"
                                      ",'volumeAttributesClassName':'gold'"
                                      ",'storageClassName':'fast','accessModes':['ReadWriteMany']"
                                      ",'selector':{'matchLabels':{'foo':'true'}}");
    static const struct {
        const char *volume;
        const char *claim;
        enum reject expected;
        const char *text;
    } rows[] = {
        { VOLUME_TEXT(DELETING, "", ""), claim, REJECT_DELETING, "the volume is marked for deletion" },
        { FREE(""), claim, REJECT_SIZE, "requested PV is too small" },
        { FREE(CAPACITY("2Gi")), claim, REJECT_CLASS, "storageClassName does not match" },
        { FREE(CAPACITY("2Gi") ",'storageClassName':'fast'"), claim, REJECT_ATTRIBUTES_CLASS,
          "volumeAttributesClassName does not match" },
        { FREE(CAPACITY("2Gi") ",'storageClassName':'fast','volumeAttributesClassName':'gold'"), claim,
          REJECT_VOLUME_MODE, "incompatible volumeMode" },
        { FREE(CAPACITY("2Gi") ",'storageClassName':'fast','volumeAttributesClassName':'gold'"
                               ",'volumeMode':'Block'"),
          claim, REJECT_ACCESS_MODES, "incompatible accessMode" },
        { VOLUME_TEXT("",
                      CAPACITY("2Gi") ",'storageClassName':'fast','volumeAttributesClassName':'gold'"
                                      ",'volumeMode':'Block','accessModes':['ReadWriteMany']",
                      "'phase':'Failed'"),
          claim, REJECT_NONE, NULL },
        { FREE(CAPACITY("1.2")), CLAIM_TEXT("", REQUEST("1.5")), REJECT_NONE, NULL },
        { FREE(CAPACITY("1.2")), CLAIM_TEXT("", REQUEST("2.5")), REJECT_SIZE, "requested PV is too small" },
        { FREE(CAPACITY("12E")), CLAIM_TEXT("", REQUEST("1Gi")), REJECT_NONE, NULL },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        ASSERT_STR(reject_names[rows[i].expected], named(rows[i].volume, rows[i].claim));
        if (rows[i].text)
            ASSERT_STR(rows[i].text, match_named_text(rows[i].expected));
    }
}

TEST(smaller_first_then_by_name)
{
    static const struct {
        const char *a;
        const char *b;
        int expected;
    } rows[] = {
        { "{'metadata':{'name':'a'},'spec':{"
          "'capacity':{'storage':'1Gi'}}}",
          "{'metadata':{'name':'b'},'spec':{'capacity':{'storage':'1024Mi'}}}", -1 },
        { "{'metadata':{'name':'a'},'spec':{'capacity':{'storage':'1Gi'}}}",
          "{'metadata':{'name':'b'},'spec':{'capacity':{'storage':'1G'}}}", 1 },
        { "{'metadata':{'name':'a'},'spec':{'capacity':{'storage':'1200m'}}}",
          "{'metadata':{'name':'b'},'spec':{'capacity':{'storage':'1100m'}}}", 1 },
        { "{'metadata':{'name':'a'}}", "{'metadata':{'name':'a'},'spec':{'capacity':{'storage':'0'}}}", 0 },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(object_unref_p) struct object *a = kind_object(KIND_VOLUME, rows[i].a);
        _cleanup_(object_unref_p) struct object *b = kind_object(KIND_VOLUME, rows[i].b);
        int r = volume_cmp_size_name(volume_of(a), volume_of(b));
        ASSERT_INT(rows[i].expected, (r > 0) - (r < 0));
        r = volume_cmp_size_name(volume_of(b), volume_of(a));
        ASSERT_INT(-rows[i].expected, (r > 0) - (r < 0));
    }
}

/* --- In words --- */

#define BOUND(ref, phase) \
    VOLUME_TEXT("", ",'claimRef':{'namespace':'shop','name':'db'" ref "}", "'phase':'" phase "'")

TEST(refusals_in_words)
{
    static const struct {
        const char *volume, *claim;
        enum reject rule;
        const char *words;
    } rows[] = {
        { BOUND(",'uid':'x'", "Bound"), CLAIM_TEXT("", ""), REJECT_TAKEN, "bound to shop/db" },
        { BOUND("", "Available"), CLAIM_TEXT("", ""), REJECT_TAKEN, "reserved for shop/db" },
        { BOUND("", "Pending"), CLAIM_TEXT("", ""), REJECT_TAKEN, "reserved for shop/db" },
        { BOUND(",'uid':'x'", "Released"), CLAIM_TEXT("", ""), REJECT_TAKEN,
          "Released: still has the data of its former claim shop/db" },
        { BOUND(",'uid':'x'", "Failed','message':'m"), CLAIM_TEXT("", ""), REJECT_TAKEN,
          "Failed: cannot reclaim it from shop/db: m" },
        { FREE(CAPACITY("5Gi")), CLAIM_TEXT("", REQUEST("8Gi")), REJECT_SIZE, "5Gi < 8Gi asked" },
        { FREE(",'volumeMode':'Block'"), CLAIM_TEXT("", ""), REJECT_VOLUME_MODE, "Block, Filesystem asked" },
        { FREE(",'volumeAttributesClassName':'gold'"), CLAIM_TEXT("", ""), REJECT_ATTRIBUTES_CLASS,
          "volume has attributes class gold, claim has none" },
        { VOLUME_TEXT(DELETING, "", AVAILABLE), CLAIM_TEXT("", ""), REJECT_DELETING, "is being deleted" },
        { FREE(""), CLAIM_TEXT("", ""), REJECT_DELAYED,
          "free, but its class waits for a pod that uses the claim" },
        { FREE(""), CLAIM_TEXT("", ",'storageClassName':'gold'"), REJECT_AWAITS_CLASS,
          "has node affinity, and class gold does not exist yet" },
        { VOLUME_TEXT("", "", "'phase':'Pending'"), CLAIM_TEXT("", ""), REJECT_PHASE, "Pending" },
        { VOLUME_TEXT("", "", "'phase':'Failed','message':'no luck'"), CLAIM_TEXT("", ""), REJECT_PHASE,
          "Failed: no luck" },
        { VOLUME_TEXT("", "", ""), CLAIM_TEXT("", ""), REJECT_PHASE, "has no phase yet" },
        { LABELLED("'a':'1','b':'2'", ""),
          CLAIM_TEXT("", ",'selector':{'matchLabels':{'a':'1','b':'3','c':'4'}}"), REJECT_SELECTOR,
          "labels do not match b=3,c=4" },
        { FREE(""), CLAIM_TEXT("", SELECTOR("a", "In", ",'values':['x','y']")), REJECT_SELECTOR,
          "labels do not match a in (x,y)" },
        { FREE(""), CLAIM_TEXT("", SELECTOR("a", "Exists", "")), REJECT_SELECTOR, "labels do not match a" },
        { FREE(",'storageClassName':'fast'"), CLAIM_TEXT("", ",'storageClassName':'standard'"), REJECT_CLASS,
          "volume has class fast, claim has standard" },
        { FREE(""), CLAIM_TEXT("", ",'storageClassName':'standard'"), REJECT_CLASS,
          "volume has no class, claim has standard" },
        { FREE(""), CLAIM_TEXT("", ""), REJECT_NODE, "not reachable from the node" },
        { FREE(",'accessModes':['ReadWriteOnce']"), CLAIM_TEXT("", ",'accessModes':['ReadWriteMany']"),
          REJECT_ACCESS_MODES, "ReadWriteOnce only, ReadWriteMany asked" },
        { FREE(""), CLAIM_TEXT("", ",'accessModes':['ReadOnlyMany','Odd']"), REJECT_ACCESS_MODES,
          "no mode only, ReadOnlyMany+an unknown mode asked" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(pair_done) struct pair p = pair_of(rows[i].volume, rows[i].claim);
        _cleanup_(buf_done_p) struct buf words = BUF_INIT(1024);

        match_words(rows[i].rule, volume_of(p.volume), claim_of(p.claim), &words);
        ASSERT_STR(rows[i].words, buf_cstr(&words));
    }
}

/* All that is wrong, not only the first. */
TEST(all_refusals)
{
    _cleanup_(pair_done) struct pair p =
        pair_of(VOLUME_TEXT(DELETING, CAPACITY("1Gi") ",'storageClassName':'a'", "'phase':'Pending'"),
                CLAIM_TEXT("", REQUEST("2Gi") ",'storageClassName':'b','accessModes':['ReadWriteOnce']"));
    const struct match_options o = { .is_delayed = true };

    ASSERT_INT(1 << REJECT_SIZE | 1 << REJECT_DELETING | 1 << REJECT_DELAYED | 1 << REJECT_PHASE |
                   1 << REJECT_CLASS | 1 << REJECT_ACCESS_MODES,
               match_refusals(volume_of(p.volume), claim_of(p.claim), &o));
}

TEST_MAIN()

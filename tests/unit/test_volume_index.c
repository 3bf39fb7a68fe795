/* The binder's index: the scenarios of matching, holds, lack of memory; and against a search that looks at
 * every volume, in random worlds. */
#include "tests/unit/test_kind.h"

#include "base/rng.h"
#include "volumes/index.h"
#include "volumes/index_int.h"

/* What the scenarios leave out: RWO, Filesystem, no class, Available, 1Gi. */
struct volume_row {
    const char *name, *size, *modes, *class, *beta_class, *attributes_class, *mode, *phase, *labels;
    const char *kept_for, *kept_uid; /* a claim's name in "ns"; no uid: by name alone */
    bool is_deleting, is_pinned;
};
struct claim_row {
    const char *name, *uid, *size, *modes, *class, *beta_class, *attributes_class, *mode, *selector;
    bool has_source;
};

static const char *or_else(const char *text, const char *fallback)
{
    return text ? text : fallback;
}

/* "RWO,RWX" as a list of names. */
static void add_modes(struct buf *out, const char *modes)
{
    static const char *const shorts[] = { "RWO", "ROX", "RWX", "RWOP" };
    struct str rest = str_of(modes);
    bool is_first = true;

    buf_add_cstr(out, "'accessModes':[");
    while (rest.s && rest.len) {
        struct str mode = str_next(&rest, ',');
        const char *name = "Odd";
        for (size_t i = 0; i < ARRAY_LEN(shorts); i++)
            if (str_is(mode, shorts[i]))
                name = access_mode_names[i];
        buf_addf(out, "%s'%s'", is_first ? "" : ",", name);
        is_first = false;
    }
    buf_add_char(out, ']');
}

static void add_member(struct buf *out, const char *name, const char *value)
{
    if (value)
        buf_addf(out, ",'%s':'%s'", name, value);
}

static struct object *new_volume(const struct volume_row *row)
{
    _cleanup_(buf_done_p) struct buf t = BUF_INIT(1 << 16);

    buf_addf(&t, "{'metadata':{'name':'%s','labels':{%s}", row->name, or_else(row->labels, ""));
    if (row->beta_class)
        buf_addf(&t, ",'annotations':{'" ANN_CLASS_BETA "':'%s'}", row->beta_class);
    add_member(&t, "deletionTimestamp", row->is_deleting ? "2026-01-02T03:04:05Z" : NULL);
    buf_add_cstr(&t, "},'spec':{");
    add_modes(&t, or_else(row->modes, "RWO"));
    buf_addf(&t, ",'capacity':{'storage':'%s'}", or_else(row->size, "1Gi"));
    add_member(&t, "storageClassName", row->class);
    add_member(&t, "volumeAttributesClassName", row->attributes_class);
    add_member(&t, "volumeMode", row->mode);
    if (row->is_pinned)
        buf_add_cstr(&t, ",'nodeAffinity':{'required':{'nodeSelectorTerms':[{'matchExpressions':[{"
                         "'key':'zone','operator':'Exists'}]}]}}");
    if (row->kept_for)
        buf_addf(&t, ",'claimRef':{'namespace':'ns','name':'%s','uid':'%s'}", row->kept_for,
                 or_else(row->kept_uid, ""));
    buf_addf(&t, "},'status':{'phase':'%s'}}", or_else(row->phase, "Available"));
    return kind_object(KIND_VOLUME, buf_cstr(&t));
}

static struct object *new_claim(const struct claim_row *row)
{
    _cleanup_(buf_done_p) struct buf t = BUF_INIT(1 << 16);

    buf_addf(&t, "{'metadata':{'name':'%s','namespace':'ns','uid':'%s'", or_else(row->name, "c"),
             or_else(row->uid, "u"));
    if (row->beta_class)
        buf_addf(&t, ",'annotations':{'" ANN_CLASS_BETA "':'%s'}", row->beta_class);
    buf_add_cstr(&t, "},'spec':{");
    add_modes(&t, or_else(row->modes, "RWO"));
    buf_addf(&t, ",'resources':{'requests':{'storage':'%s'}}", or_else(row->size, "1Gi"));
    add_member(&t, "storageClassName", row->class);
    add_member(&t, "volumeAttributesClassName", row->attributes_class);
    add_member(&t, "volumeMode", row->mode);
    if (row->selector)
        buf_addf(&t, ",'selector':{%s}", row->selector);
    if (row->has_source)
        buf_add_cstr(&t, ",'dataSource':{'kind':'PersistentVolumeClaim','name':'old'}");
    buf_add_cstr(&t, "}}");
    return kind_object(KIND_CLAIM, buf_cstr(&t));
}

static struct volume_index *new_index(void)
{
    struct volume_index *x = NULL;

    ASSERT_OK(volume_index_new((struct hash_seed){ 1, 2 }, &x, &err));
    return x;
}

static int put_row(struct volume_index *x, const struct volume_row *row)
{
    _cleanup_(object_unref_p) struct object *o = new_volume(row);

    return volume_index_put(x, volume_of(o), &err);
}

/* The name of the volume that the claim gets; "" for none, "!" and the words for an error. */
static const char *match_row(struct volume_index *x, const struct claim_row *row,
                             const struct match_options *options)
{
    static char text[ERROR_MSG_BYTES_MAX + 1];
    _cleanup_(object_unref_p) struct object *o = new_claim(row);
    const struct volume *v = NULL;

    if (volume_index_match(x, claim_of(o), options, &v, &err) < 0)
        (void)snprintf(text, sizeof text, "!%s", err.msg);
    else
        (void)snprintf(text, sizeof text, "%s", v ? v->obj.name : "");
    return text;
}

#define WORLD _cleanup_(volume_index_free_p) struct volume_index *x = new_index()
#define PUT(...) ASSERT_OK(put_row(x, &(struct volume_row){ __VA_ARGS__ }))
#define ASSERT_MATCH(expected, ...) \
    ASSERT_STR(expected, match_row(x, &(struct claim_row){ __VA_ARGS__ }, &(struct match_options){ 0 }))
#define ASSERT_DELAYED(expected, ...)                                     \
    ASSERT_STR(expected, match_row(x, &(struct claim_row){ __VA_ARGS__ }, \
                                   &(struct match_options){ .is_delayed = true }))
#define ASSERT_UNPINNED(expected, ...)                                    \
    ASSERT_STR(expected, match_row(x, &(struct claim_row){ __VA_ARGS__ }, \
                                   &(struct match_options){ .awaits_class = true }))

/* --- Scenarios --- */

/* A claim whose class may yet come: node affinity counts, unless the volume is kept for it. */
TEST(volumes_with_node_affinity_are_left_out)
{
    WORLD;

    PUT("p", .class = "gold", .is_pinned = true);
    PUT("q", .class = "gold", .size = "5Gi");
    ASSERT_MATCH("p", .class = "gold");
    ASSERT_UNPINNED("q", .class = "gold");
    ASSERT_UNPINNED("", .class = "gold", .size = "6Gi");
    PUT("q", .class = "gold", .size = "5Gi", .is_pinned = true); /* it may be set later */
    ASSERT_UNPINNED("", .class = "gold");
    ASSERT_MATCH("p", .class = "gold");
    PUT("p", .class = "gold", .is_pinned = true, .kept_for = "c");
    ASSERT_UNPINNED("p", .class = "gold");
    PUT("q", .class = "gold", .modes = "RWO");
    ASSERT_UNPINNED("p", .class = "gold");
    ASSERT_UNPINNED("q", .name = "d", .uid = "v", .class = "gold");
}

TEST(S4_S5_smallest_that_fits)
{
    WORLD;

    ASSERT_MATCH("", .size = "1Gi");
    PUT("ten", "10Gi");
    PUT("one", "1Gi");
    PUT("five", "5Gi");
    ASSERT_MATCH("one", .size = "1Gi");
    ASSERT_MATCH("five", .size = "2Gi");
    ASSERT_MATCH("ten", .size = "5.1Gi");
    ASSERT_MATCH("", .size = "11Gi");
}

TEST(S6_S7_S8_S9_kept_volumes)
{
    WORLD;

    PUT("p", "10Gi", .kept_for = "c");
    PUT("q", "1Gi");
    ASSERT_MATCH("p", .size = "1Gi");
    ASSERT_MATCH("q", .name = "other", .uid = "o");
    PUT("p", "10Gi", .kept_for = "c", .kept_uid = "u");
    ASSERT_MATCH("p", .size = "1Gi");
    volume_index_remove(x, "q");
    PUT("p", "10Gi", .kept_for = "other");
    ASSERT_MATCH("", .size = "1Gi");
    PUT("p", "10Gi", .kept_for = "c", .kept_uid = "old", .phase = "Released");
    ASSERT_MATCH("", .size = "1Gi");
}

TEST(S14_S15_S16_selectors)
{
    WORLD;

    PUT("bare", "1Gi");
    ASSERT_MATCH("", .selector = "'matchLabels':{'foo':'true'}");
    PUT("far", "3Gi", .labels = "'foo':'true'");
    PUT("near", "2Gi", .labels = "'foo':''");
    ASSERT_MATCH("far", .selector = "'matchLabels':{'foo':'true'}");
    ASSERT_MATCH("bare", .selector = "'matchExpressions':[{'key':'foo','operator':'NotIn','values':['a']}]");
    ASSERT_MATCH("near", .selector = "'matchExpressions':[{'key':'foo','operator':'Exists'}]");
    ASSERT_MATCH("", .size = "2Gi",
                 .selector = "'matchExpressions':[{'key':'foo','operator':'DoesNotExist'}]");
    ASSERT_MATCH("bare", .selector = "");
}

/* Row 9a */
TEST(a_claim_with_a_data_source)
{
    _cleanup_(volume_index_free_p) struct volume_index *x = new_index();

    PUT(.name = "free");
    ASSERT_MATCH("", .has_source = true);
    PUT(.name = "kept", .size = "9Gi", .kept_for = "c");
    ASSERT_MATCH("kept", .has_source = true);
    ASSERT_DELAYED("kept", .has_source = true);
    volume_index_remove(x, "kept");
    ASSERT_MATCH("free");
}

TEST(S17_a_selector_that_cannot_be_evaluated)
{
#define ODD "'matchExpressions':[{'key':'foo','operator':'Odd'}]"
#define ODD_ERROR                                                                                     \
    "!error creating internal label selector for claim: ns/c: \"Odd\" is not a valid label selector " \
    "operator"
    WORLD;

    ASSERT_MATCH("", .selector = ODD);
    PUT("p", .modes = "ROX", .phase = "Bound", .kept_for = "other", .kept_uid = "o");
    ASSERT_MATCH("", .selector = ODD); /* no group to look in */
    ASSERT_MATCH(ODD_ERROR, .selector = ODD, .modes = "ROX");
    PUT("kept", .kept_for = "c", .kept_uid = "u");
    ASSERT_MATCH(ODD_ERROR, .selector = ODD); /* whatever else there is */
    ASSERT_DELAYED(ODD_ERROR, .selector = ODD);
    volume_index_remove(x, "p");
    ASSERT_MATCH("", .selector = ODD, .modes = "ROX");
}

TEST(S18_S19_what_a_kept_volume_is_exempt_from)
{
    WORLD;

    PUT("p", "2Gi", .class = "gold", .kept_for = "c");
    ASSERT_MATCH("p", .class = "silver", .selector = "'matchLabels':{'foo':'true'}");
    PUT("plain", "4Gi", .class = "silver");
    ASSERT_MATCH("p", .class = "silver", .size = "2Gi");
    ASSERT_MATCH("plain", .class = "silver", .size = "3Gi");
    ASSERT_MATCH("", .class = "silver", .mode = "Block");
    ASSERT_MATCH("", .class = "silver", .attributes_class = "fast");
}

TEST(S20_S21_phases)
{
    static const char *const phases[] = { "Pending", "Bound", "Released", "Failed", "" };
    WORLD;

    for (size_t i = 0; i < ARRAY_LEN(phases); i++) {
        PUT("p", .phase = phases[i], .kept_for = "c");
        ASSERT_MATCH("p", .size = "1Gi");
        PUT("p", .phase = phases[i]);
        ASSERT_MATCH("", .size = "1Gi");
        ASSERT_INT(0, volume_index_free_count(x));
    }
    PUT("p", .phase = "Available");
    ASSERT_MATCH("p", .size = "1Gi");
    ASSERT_INT(1, volume_index_free_count(x));
}

TEST(S23_volumes_that_are_going)
{
    WORLD;

    PUT("p", .is_deleting = true);
    PUT("q", .is_deleting = true, .kept_for = "c", .kept_uid = "u");
    ASSERT_MATCH("", .size = "1Gi");
    PUT("big", "2Gi");
    ASSERT_MATCH("big", .size = "1Gi");
}

TEST(S24_fewest_modes_first)
{
    WORLD;

    PUT("two", "10Gi", "RWO,ROX");
    PUT("one", "10Gi", "RWO");
    PUT("three", "10Gi", "RWO,ROX,RWX");
    ASSERT_MATCH("one", .modes = "RWO");
    volume_index_remove(x, "one");
    ASSERT_MATCH("two", .modes = "RWO");
    PUT("two", "10Gi", "RWO,ROX", .kept_for = "other");
    ASSERT_MATCH("three", .modes = "RWO");
}

TEST(S25_S26_S27_modes)
{
    WORLD;

    PUT("a", "10Gi", "RWO,ROX");
    PUT("b", "20Gi", "ROX");
    PUT("c", "5Gi", "RWO,RWX");
    ASSERT_MATCH("b", .modes = "ROX");
    ASSERT_MATCH("c", .modes = "RWX,RWO");
    ASSERT_MATCH("c", .modes = "RWO,RWX");
    ASSERT_MATCH("", .modes = "RWOP");
    PUT("d", "1Gi", "RWO,RWOP");
    ASSERT_MATCH("d", .modes = "RWOP");
    ASSERT_MATCH("", .modes = "Odd");
    ASSERT_MATCH("b", .modes = ""); /* any group will do; fewest modes first */
    PUT("e", "1Gi", "");
    ASSERT_MATCH("e", .modes = "");
    PUT("e", "1Gi", "Odd"); /* an unknown mode is none */
    ASSERT_MATCH("e", .modes = "");
    ASSERT_MATCH("", .modes = "Odd");
}

/* Groups of as many modes come by their bits. */
TEST(groups_of_as_many_modes)
{
    static const char *const sets[] = { "",
                                        "RWO",
                                        "ROX",
                                        "RWX",
                                        "RWOP",
                                        "RWO,ROX",
                                        "RWO,RWX",
                                        "ROX,RWX",
                                        "RWO,RWOP",
                                        "ROX,RWOP",
                                        "RWX,RWOP",
                                        "RWO,ROX,RWX",
                                        "RWO,ROX,RWOP",
                                        "RWO,RWX,RWOP",
                                        "ROX,RWX,RWOP",
                                        "RWO,ROX,RWX,RWOP" };
    char names[ARRAY_LEN(sets)][8];
    WORLD;

    for (size_t i = 0; i < ARRAY_LEN(sets); i++) {
        (void)snprintf(names[i], sizeof names[i], "v%02zu", i);
        PUT(names[i], .modes = sets[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(sets); i++) {
        ASSERT_MATCH(names[i], .modes = "");
        volume_index_remove(x, names[i]);
    }
    ASSERT_MATCH("", .modes = "");
}

TEST(S28_a_kept_volume_in_a_later_group)
{
    WORLD;

    PUT("kept", .modes = "RWO,ROX", .kept_for = "c", .kept_uid = "u");
    ASSERT_MATCH("kept", .modes = "RWO");
    PUT("plain", "5Gi");
    ASSERT_MATCH("plain", .modes = "RWO");
    ASSERT_DELAYED("kept", .modes = "RWO");
    ASSERT_MATCH("kept", .modes = "ROX");
}

TEST(S29_volume_modes)
{
    WORLD;

    PUT("file", .mode = NULL);
    ASSERT_MATCH("", .mode = "Block");
    ASSERT_MATCH("file", .mode = "Filesystem");
    PUT("file", .mode = "Filesystem");
    ASSERT_MATCH("file", .mode = NULL);
    PUT("file", .mode = "Block");
    ASSERT_MATCH("", .mode = "Filesystem");
    ASSERT_MATCH("", .mode = NULL);
    ASSERT_MATCH("file", .mode = "Block");
}

TEST(S30_S31_attributes_classes)
{
    WORLD;

    PUT("p", .attributes_class = "gold");
    ASSERT_MATCH("p", .attributes_class = "gold");
    ASSERT_MATCH("", .attributes_class = "");
    PUT("p", "1Gi");
    ASSERT_MATCH("", .attributes_class = "gold");
    ASSERT_MATCH("p", .attributes_class = "");
    PUT("p", .attributes_class = "");
    ASSERT_MATCH("p", .attributes_class = NULL);
}

TEST(S32_S33_classes)
{
    WORLD;

    PUT("gold", "10Gi", .class = "gold");
    PUT("none", "1Gi");
    ASSERT_MATCH("gold", .class = "gold");
    ASSERT_MATCH("none", .class = "");
    ASSERT_MATCH("none", .class = NULL);
    ASSERT_MATCH("", .class = "silver");
    ASSERT_MATCH("gold", .class = "silver", .beta_class = "gold");
    PUT("none", "1Gi", .class = "silver", .beta_class = "gold");
    ASSERT_MATCH("none", .class = "gold");
    ASSERT_MATCH("", .class = "silver");
}

/* The words of a key do not run together. */
TEST(classes_that_read_alike)
{
    WORLD;

    PUT("a", .class = "gold", .attributes_class = "fast");
    ASSERT_MATCH("", .class = "goldfast");
    ASSERT_MATCH("", .attributes_class = "goldfast");
    ASSERT_MATCH("", .class = "gol", .attributes_class = "dfast");
    ASSERT_MATCH("a", .class = "gold", .attributes_class = "fast");
}

/* S54 at the index: what rounds to the same bytes is still compared exactly. */
TEST(S34_S54_sizes_are_exact)
{
    WORLD;

    PUT("mib", "1024Mi");
    ASSERT_MATCH("mib", .size = "1Gi");
    PUT("mib", "1G");
    ASSERT_MATCH("", .size = "1Gi");
    PUT("a", "1.2", .class = "tiny");
    ASSERT_MATCH("", .size = "1.5", .class = "tiny");
    PUT("b", "1.6", .class = "tiny");
    PUT("c", "2", .class = "tiny");
    ASSERT_MATCH("b", .size = "1.5", .class = "tiny");
    ASSERT_MATCH("c", .size = "2", .class = "tiny");
    ASSERT_MATCH("a", .size = "1.2", .class = "tiny");
    PUT("d", "20e18", .class = "huge");
    PUT("e", "40e18", .class = "huge");
    ASSERT_MATCH("e", .size = "30e18", .class = "huge");
    ASSERT_MATCH("", .size = "50e18", .class = "huge");
}

TEST(S35_ties_go_by_name)
{
    WORLD;

    PUT("b", "1Gi");
    PUT("a", "1024Mi");
    PUT("c", "1073741824");
    ASSERT_MATCH("a", .size = "1Gi");
    PUT("y", "1Gi", .kept_for = "c");
    PUT("x", "2Gi", .kept_for = "c");
    ASSERT_MATCH("x", .size = "1Gi");
    PUT("z", "3Gi", .kept_for = "c", .kept_uid = "u");
    ASSERT_MATCH("z", .size = "1Gi"); /* by uid before by name */
}

TEST(S90_S91_delayed_binding)
{
    WORLD;

    PUT("plain", "1Gi");
    ASSERT_DELAYED("", .size = "1Gi");
    PUT("kept", "2Gi", .kept_for = "c", .kept_uid = "u");
    ASSERT_DELAYED("kept", .size = "1Gi");
}

/* --- Holds, and what comes and goes --- */

TEST(a_held_volume_is_its_claims)
{
    WORLD;

    PUT("p", "1Gi", .labels = "'foo':'true'");
    PUT("q", "2Gi");
    ASSERT_INT(0, volume_index_hold(x, "p", "u"));
    ASSERT_INT(1, volume_index_free_count(x));
    ASSERT_INT(2, volume_index_count(x));
    ASSERT_MATCH("q", .name = "other", .uid = "o");
    ASSERT_MATCH("p", .size = "1Gi");
    ASSERT_DELAYED("p", .class = "any", .selector = "'matchLabels':{'bar':''}"); /* as good as kept */
    ASSERT_MATCH("q", .size = "2Gi");
    volume_index_release(x, "p", NULL);
    ASSERT_INT(2, volume_index_free_count(x));
    ASSERT_MATCH("p", .name = "other", .uid = "o");
    ASSERT_DELAYED("", .size = "1Gi");
}

TEST(a_hold_outlives_changes_of_the_volume)
{
    WORLD;

    PUT("p", "1Gi");
    ASSERT_INT(0, volume_index_hold(x, "p", "u"));
    PUT("p", "2Gi", .phase = "Pending");
    ASSERT_MATCH("", .name = "other", .uid = "o");
    ASSERT_MATCH("p", .size = "2Gi");
    PUT("p", "2Gi", .kept_for = "c", .kept_uid = "u");
    ASSERT_MATCH("p", .size = "2Gi");
    volume_index_release(x, "p", NULL);
    ASSERT_MATCH("p", .size = "2Gi");
    ASSERT_INT(0, volume_index_hold(x, "p", "u"));
    PUT("p", "2Gi", .kept_for = "other", .kept_uid = "o"); /* somebody else was faster */
    ASSERT_MATCH("", .size = "1Gi");
    ASSERT_MATCH("", .name = "other", .uid = "o"); /* until the loser lets go */
    volume_index_release(x, "p", NULL);
    ASSERT_MATCH("p", .name = "other", .uid = "o");
    ASSERT_INT(0, volume_index_hold(x, "p", "u"));
    volume_index_remove(x, "p");
    PUT("p", "1Gi");
    ASSERT_MATCH("p", .name = "third", .uid = "t"); /* the hold went with the volume */
}

TEST(holding_what_cannot_be_held)
{
    WORLD;

    ASSERT_INT(-ERR_NOT_FOUND, volume_index_hold(x, "p", "u"));
    volume_index_release(x, "p", NULL);
    PUT("p", "1Gi");
    volume_index_release(x, "p", NULL);
    ASSERT_INT(0, volume_index_hold(x, "p", "u"));
    ASSERT_INT(0, volume_index_hold(x, "p", "u"));
    ASSERT_INT(-ERR_BUSY, volume_index_hold(x, "p", "o"));
    ASSERT_MATCH("p", .size = "1Gi");
    volume_index_release(x, "p", "o"); /* is not that claim's */
    ASSERT_MATCH("p", .size = "1Gi");
    volume_index_release(x, "p", "u");
    ASSERT_INT(0, volume_index_hold(x, "p", "o"));
    ASSERT_MATCH("", .size = "1Gi");
}

TEST(a_volume_that_is_free_before_it_is_available)
{
    WORLD;

    volume_index_expect(x, "p", true); /* is not there */
    PUT("p", "1Gi", .phase = "Pending");
    ASSERT_MATCH("", .size = "1Gi");
    assert_null(volume_index_get_free(x, "p"));
    volume_index_expect(x, "p", true);
    ASSERT_MATCH("p", .size = "1Gi");
    assert_ptr_equal(volume_index_get(x, "p"), volume_index_get_free(x, "p"));
    PUT("p", "2Gi", .phase = "Pending"); /* another place, and still free */
    ASSERT_MATCH("p", .size = "2Gi");
    ASSERT_INT(0, volume_index_hold(x, "p", "u"));
    assert_null(volume_index_get_free(x, "p"));
    volume_index_expect(x, "p", false);
    volume_index_release(x, "p", "u");
    ASSERT_MATCH("", .size = "2Gi");
    volume_index_expect(x, "p", true);
    PUT("p", "2Gi", .kept_for = "other", .kept_uid = "o");
    ASSERT_MATCH("", .size = "1Gi");
    volume_index_expect(x, "p", false);
    ASSERT_MATCH("p", .name = "other", .uid = "o");
    PUT("p", "2Gi");
    ASSERT_MATCH("p", .size = "2Gi");
    volume_index_expect(x, "p", true);
    volume_index_expect(x, "p", false); /* it is Available */
    ASSERT_MATCH("p", .size = "2Gi");
}

/* A reservation by name that is held for one claim is hidden from the next of that name. */
TEST(a_held_reservation)
{
    WORLD;

    PUT("p", .kept_for = "c");
    ASSERT_INT(0, volume_index_hold(x, "p", "u"));
    ASSERT_MATCH("p", .size = "1Gi");
    ASSERT_MATCH("", .uid = "next");
    volume_index_release(x, "p", NULL);
    ASSERT_MATCH("p", .uid = "next");
}

/* Uids come from outside: one that reads like a claim's name is still a uid. */
TEST(a_uid_that_reads_like_a_name)
{
    WORLD;

    PUT("p", .kept_for = "other", .kept_uid = "ns/c");
    PUT("q", "2Gi");
    ASSERT_MATCH("q", .size = "1Gi");
    ASSERT_INT(0, volume_index_hold(x, "q", "ns/c"));
    ASSERT_MATCH("", .size = "1Gi");
    ASSERT_MATCH("p", .name = "other", .uid = "ns/c");
    PUT("r", "2Gi", .kept_for = "c");
    ASSERT_MATCH("r", .size = "1Gi");
}

TEST(volumes_by_name)
{
    _cleanup_(object_unref_p) struct object *o = new_volume(&(struct volume_row){ "p" });
    WORLD;

    assert_null(volume_index_get(x, "p"));
    volume_index_remove(x, "p");
    ASSERT_OK(volume_index_put(x, volume_of(o), &err));
    assert_ptr_equal(volume_of(o), volume_index_get(x, "p"));
    ASSERT_INT(1, volume_index_count(x));
    PUT("p", "1Gi"); /* the same place, another object */
    assert_non_null(volume_index_get(x, "p"));
    assert_ptr_not_equal(volume_of(o), volume_index_get(x, "p"));
    ASSERT_INT(1, volume_index_count(x));
    volume_index_remove(x, "p");
    assert_null(volume_index_get(x, "p"));
    ASSERT_INT(0, volume_index_count(x));
    ASSERT_INT(0, volume_index_free_count(x));
    assert_null(volume_index_free(NULL));
}

/* --- Lack of memory --- */

static void *no_memory(size_t count, size_t bytes)
{
    (void)count;
    (void)bytes;
    return NULL;
}

/* Fills a table of eight to the brim, so that the next bucket or list makes it grow. */
static void fill_maps(struct volume_index *x)
{
    char name[16];

    for (int i = 0; i < 6; i++) {
        (void)snprintf(name, sizeof name, "f%d", i);
        PUT(name, .class = name);
        (void)snprintf(name, sizeof name, "k%d", i);
        PUT(name, .kept_for = name);
    }
    ASSERT_INT(6, x->buckets.by_key.count);
    ASSERT_INT(6, x->lists.by_key.count);
}

TEST(no_memory_changes_nothing)
{
    WORLD;

    PUT("p", .class = "f0");
    fill_maps(x);
    x->buckets.by_key.alloc = x->lists.by_key.alloc = no_memory;
    ASSERT_ERR(ERR_NO_MEMORY, put_row(x, &(struct volume_row){ "new", .class = "seventh" }));
    ASSERT_ERR(ERR_NO_MEMORY, put_row(x, &(struct volume_row){ "p", .class = "seventh" }));
    ASSERT_ERR(ERR_NO_MEMORY, put_row(x, &(struct volume_row){ "p", .kept_for = "seventh" }));
    ASSERT_INT(-ERR_NO_MEMORY, volume_index_hold(x, "p", "u"));
    assert_null(volume_index_get(x, "new"));
    ASSERT_INT(13, volume_index_count(x));
    ASSERT_INT(7, volume_index_free_count(x));
    ASSERT_MATCH("f0", .class = "f0");
    volume_index_remove(x, "f0");
    ASSERT_MATCH("p", .class = "f0");
    x->by_name.alloc = no_memory;
    while (x->by_name.count < x->by_name.cap * 4 / 5) {
        char name[32];
        (void)snprintf(name, sizeof name, "n%zu", x->by_name.count);
        PUT(name, .class = "f1");
    }
    ASSERT_ERR(ERR_NO_MEMORY, put_row(x, &(struct volume_row){ "new", "1", .class = "f1" }));
    ASSERT_MATCH("f1", .class = "f1", .size = "1");
}

TEST(a_stray_finds_its_place_later)
{
    WORLD;

    PUT("p", .class = "seventh");
    PUT("q", .kept_for = "seventh");
    ASSERT_INT(0, volume_index_hold(x, "p", "k0"));
    ASSERT_INT(0, volume_index_hold(x, "q", "k0"));
    for (int i = 0; i < 6; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "f%d", i);
        PUT(name, .class = name);
        if (i < 5) {
            (void)snprintf(name, sizeof name, "k%d", i);
            PUT(name, .kept_for = "k", .kept_uid = name);
        }
    }
    PUT("k5", .kept_for = "k5");
    x->buckets.by_key.alloc = x->lists.by_key.alloc = no_memory;
    volume_index_release(x, "p", NULL);
    volume_index_release(x, "q", NULL);
    ASSERT_MATCH("", .class = "seventh");
    ASSERT_MATCH("", .name = "seventh", .uid = "k0", .class = "none"); /* nobody's, for now */
    PUT("f0", .class = "f0");                                          /* nor with this one */
    ASSERT_MATCH("", .class = "seventh");
    x->buckets.by_key.alloc = x->lists.by_key.alloc = calloc;
    PUT("f0", .class = "f0");
    ASSERT_MATCH("p", .class = "seventh");
    ASSERT_MATCH("q", .name = "seventh");
}

/* --- Against a search that looks at every volume --- */

#define STEPS 100000
#define SLOTS 24U
#define VOLUMES 4000U
#define CLAIMS 600U
#define UIDS 4U

static const char *const uids[UIDS] = { "u0", "u1", "u2", "u3" };

struct model {
    struct rng rng;
    struct volume_index *x;
    struct object *volumes[VOLUMES]; /* to draw from; each has a slot's name */
    struct object *claims[CLAIMS];
    const struct volume *slots[SLOTS]; /* NULL: no such volume */
    const char *held_for[SLOTS];       /* NULL: nobody */
    bool is_expected[SLOTS];
    size_t plain, kept, held, none, failed;
};

static unsigned draw(struct model *m, unsigned n)
{
    return (unsigned)rng_below(&m->rng, n);
}

#define DRAW_OF(m, texts) texts[draw(m, (unsigned)ARRAY_LEN(texts))]

static struct object *draw_volume(struct model *m)
{
    static const char *const sizes[] = { "1", "1.2", "1.5", "2", "1Gi", "1024Mi", "20e18", "30e18" };
    static const char *const sets[] = {
        "RWO", "RWO", "RWO", "ROX", "RWO,ROX", "RWO,ROX,RWX", "RWO,RWOP", ""
    };
    static const char *const phases[] = { "Available", "Available", "Available", "Available",
                                          "Pending",   "Bound",     "Released",  "" };
    static const char *const names[] = { "c0", "c1", "c2" };
    char name[8];
    struct volume_row row = {
        .name = name,
        .size = DRAW_OF(m, sizes),
        .modes = DRAW_OF(m, sets),
        .class = draw(m, 3) ? NULL : "gold",
        .attributes_class = draw(m, 8) ? NULL : "fast",
        .mode = draw(m, 8) ? NULL : "Block",
        .phase = DRAW_OF(m, phases),
        .labels = draw(m, 2) ? "'foo':'true'" : NULL,
        .kept_for = draw(m, 10) < 7 ? NULL : DRAW_OF(m, names),
        .kept_uid = draw(m, 2) ? NULL : DRAW_OF(m, uids),
        .is_deleting = draw(m, 12) == 0,
        .is_pinned = draw(m, 3) == 0,
    };

    (void)snprintf(name, sizeof name, "v%02u", draw(m, SLOTS));
    return new_volume(&row);
}

static struct object *draw_claim(struct model *m)
{
    static const char *const sizes[] = { "0", "1", "1.3", "1.5", "2", "1Gi", "25e18", "40e18" };
    static const char *const sets[] = { "RWO", "RWO", "RWO", "ROX", "RWO,ROX", "RWX", "RWOP", "", "Odd" };
    static const char *const selectors[] = { NULL,
                                             NULL,
                                             NULL,
                                             "",
                                             "'matchLabels':{'foo':'true'}",
                                             "'matchExpressions':[{'key':'foo','operator':'Odd'}]" };
    static const char *const names[] = { "c0", "c1", "c2", "c0" };
    unsigned who = draw(m, UIDS); /* the last one is the first one's name, made again */
    struct claim_row row = {
        .name = names[who],
        .uid = uids[who],
        .size = DRAW_OF(m, sizes),
        .modes = DRAW_OF(m, sets),
        .class = draw(m, 3) ? NULL : "gold",
        .attributes_class = draw(m, 8) ? NULL : "fast",
        .mode = draw(m, 8) ? NULL : "Block",
        .selector = DRAW_OF(m, selectors),
        .has_source = draw(m, 8) == 0,
    };

    return new_claim(&row);
}

/* Steps 2 to 12 of the table, for one volume. */
static bool naive_fits(const struct volume *v, const struct claim *c, const char *held_for, bool is_expected,
                       const struct match_options *o, bool *ret_kept)
{
    bool is_mine = v->claim.is_set && strcmp(v->claim.ns, c->obj.ns) == 0 &&
                   strcmp(v->claim.name, c->obj.name) == 0 &&
                   (!v->claim.uid[0] || strcmp(v->claim.uid, c->obj.uid) == 0);

    if (held_for && strcmp(held_for, c->obj.uid) != 0)
        return false;
    if ((v->claim.is_set && !is_mine) || quantity_cmp(&v->capacity, &c->request) < 0 || v->mode != c->mode ||
        strcmp(v->attributes_class, c->attributes_class) != 0 || v->obj.is_deleting)
        return false;
    *ret_kept = is_mine || held_for;
    if (*ret_kept)
        return true;
    return !o->is_delayed && !c->source && !(o->awaits_class && v->affinity) &&
           (is_expected || v->phase == VOLUME_AVAILABLE) && strcmp(v->class, c->class) == 0 &&
           (!c->selector || label_selector_matches(c->selector, v->obj.labels.items, v->obj.labels.count));
}

/* The best of one group: what is kept, by uid, then by name; else the smallest, then by name. Slots are in
 * the order of their names. */
static const struct volume *naive_group(struct model *m, const struct claim *c, unsigned modes,
                                        const struct match_options *o, size_t **ret_count)
{
    const struct volume *by_uid = NULL, *by_name = NULL, *plain = NULL;

    for (unsigned i = 0; i < SLOTS; i++) {
        const struct volume *v = m->slots[i];
        bool is_kept;
        if (!v || (v->modes & 15U) != modes ||
            !naive_fits(v, c, m->held_for[i], m->is_expected[i], o, &is_kept))
            continue;
        if (is_kept && (m->held_for[i] || v->claim.uid[0]))
            by_uid = by_uid ? by_uid : v;
        else if (is_kept)
            by_name = by_name ? by_name : v;
        else if (!plain || quantity_cmp(&v->capacity, &plain->capacity) < 0)
            plain = v;
    }
    *ret_count = by_uid ? &m->held : by_name ? &m->kept : plain ? &m->plain : &m->none;
    return by_uid ? by_uid : by_name ? by_name : plain;
}

/* *ret_fails: the selector is looked at and cannot be evaluated. */
static const struct volume *naive_match(struct model *m, const struct claim *c, const struct match_options *o,
                                        bool *ret_fails)
{
    const struct volume *found = NULL;
    size_t *count = &m->none;

    *ret_fails = false;
    for (unsigned i = 0; i < SLOTS; i++)
        if (m->slots[i] && (c->modes & ~(m->slots[i]->modes & 15U)) == 0)
            *ret_fails = c->selector && c->selector->error;
    for (int bits = 0; !*ret_fails && !found && bits <= 4; bits++)
        for (unsigned modes = 0; !found && modes < 16; modes++)
            if (__builtin_popcount(modes) == bits && (c->modes & ~modes) == 0)
                found = naive_group(m, c, modes, o, &count);
    (*(*ret_fails ? &m->failed : count))++;
    return found;
}

static void model_check_match(struct model *m, unsigned step)
{
    const struct claim *c = claim_of(m->claims[draw(m, CLAIMS)]);
    struct match_options o = { .is_delayed = draw(m, 6) == 0, .awaits_class = draw(m, 3) == 0 };
    bool fails;
    const struct volume *expected = naive_match(m, c, &o, &fails), *v = NULL;
    int r = volume_index_match(m->x, c, &o, &v, &err);

    if (fails != (r < 0))
        fail_msg("step %u: returned %d for %.*s", step, r, STR_ARG(c->obj.text));
    if (r == 0 && v != expected)
        fail_msg("step %u: %s, expected %s, for %.*s", step, v ? v->obj.name : "none",
                 expected ? expected->obj.name : "none", STR_ARG(c->obj.text));
}

static void model_check_counts(struct model *m)
{
    size_t count = 0, free_count = 0;

    assert_null(volume_index_check(m->x, NULL, NULL));
    for (unsigned i = 0; i < SLOTS; i++) {
        const struct volume *v = m->slots[i];
        count += v != NULL;
        free_count += v && !m->held_for[i] && !v->claim.is_set &&
                      (m->is_expected[i] || v->phase == VOLUME_AVAILABLE) && !v->obj.is_deleting;
    }
    ASSERT_INT(count, volume_index_count(m->x));
    ASSERT_INT(free_count, volume_index_free_count(m->x));
}

static void model_put(struct model *m)
{
    const struct volume *v = volume_of(m->volumes[draw(m, VOLUMES)]);
    unsigned slot = (unsigned)(v->obj.name[1] - '0') * 10 + (unsigned)(v->obj.name[2] - '0');

    ASSERT_OK(volume_index_put(m->x, v, &err));
    m->slots[slot] = v;
}

static void model_change(struct model *m)
{
    unsigned slot = draw(m, SLOTS), what = draw(m, 11);
    const char *uid = uids[draw(m, UIDS)];
    char name[8];

    (void)snprintf(name, sizeof name, "v%02u", slot);
    if (what < 5) {
        model_put(m);
    } else if (what < 7) {
        volume_index_remove(m->x, name);
        m->slots[slot] = NULL;
        m->held_for[slot] = NULL;
        m->is_expected[slot] = false;
    } else if (what < 8) {
        int r = volume_index_hold(m->x, name, uid);
        const char *holder = m->held_for[slot];
        ASSERT_INT(!m->slots[slot] ? -ERR_NOT_FOUND : holder && strcmp(holder, uid) != 0 ? -ERR_BUSY : 0, r);
        m->held_for[slot] = r == 0 ? uid : holder;
    } else if (what < 9) {
        m->is_expected[slot] = m->slots[slot] && draw(m, 2);
        volume_index_expect(m->x, name, m->is_expected[slot]);
    } else {
        const char *holder = m->held_for[slot];
        bool is_any = draw(m, 2);
        volume_index_release(m->x, name, is_any ? NULL : uid);
        m->held_for[slot] = is_any || (holder && strcmp(holder, uid) == 0) ? NULL : holder;
    }
    assert_ptr_equal(m->slots[slot], volume_index_get(m->x, name));
}

TEST(as_a_search_through_all_volumes)
{
    struct model *m = calloc(1, sizeof *m);

    assert_non_null(m);
    rng_init(&m->rng, 5);
    m->x = new_index();
    for (unsigned i = 0; i < VOLUMES; i++)
        m->volumes[i] = draw_volume(m);
    for (unsigned i = 0; i < CLAIMS; i++)
        m->claims[i] = draw_claim(m);
    for (unsigned step = 0; step < STEPS; step++) {
        model_change(m);
        model_check_match(m, step);
        model_check_counts(m);
    }
    /* Every kind of answer came often. */
    assert_true(m->plain > STEPS / 50);
    assert_true(m->kept > STEPS / 200);
    assert_true(m->held > STEPS / 200);
    assert_true(m->none > STEPS / 50);
    assert_true(m->failed > STEPS / 50);
    m->x = volume_index_free(m->x);
    for (unsigned i = 0; i < VOLUMES; i++)
        (void)object_unref(m->volumes[i]);
    for (unsigned i = 0; i < CLAIMS; i++)
        (void)object_unref(m->claims[i]);
    free(m);
}

TEST_MAIN()

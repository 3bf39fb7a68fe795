/* Explanations in slices: what a slice may cost, counted in looks; the same report whatever the slices;
 * objects that change, come and go in between. */
#include "tests/unit/test_why_still.h"

#include "why/explanation.h"

#define MANY 1000
#define SLICE 150
/* What a step may take beyond what it is given: a pass, and one object. */
#define PASS 101

/* --- The world --- */

/* Volumes that are too small, of one class, some of them bound; a claim that waits for each way to bind. */
static void put_world(struct scene *x)
{
    char name[32];

    put_node(x, "n1", "", "", "True");
    put_node(x, "n2", "", "", "True");
    put_class(x, "now", NEVER, "Immediate", "");
    put_class(x, "later", NEVER, LATER, "");
    for (unsigned i = 0; i < MANY; i++) {
        (void)snprintf(name, sizeof name, "v%04u", i);
        if (i % 4 == 0)
            put_volume(x, name, "", CLASSED("later") ON_NODE("n1"), "Available");
        else if (i % 4 == 1)
            put_volume(x, name, "", CLASSED("now") NFS OF_CLAIM("other"), "Bound");
        else
            put_volume(x, name, "", CLASSED("now") NFS, "Available");
    }
    put_claim(x, "big", "", ",'accessModes':['ReadWriteMany'],'storageClassName':'now'", "Pending");
    put_claim(x, "delayed", "", CLASSED("later"), "Pending");
    put_claim(x, "lonely", "", CLASSED("later"), "Pending");
    put_pod(x, "pod", "", USES("delayed"), PENDING);
    put_event(x, "PersistentVolumeClaim", "big", "FailedBinding", "nothing");
}

static void open_world(struct scene *x)
{
    *x = (struct scene){ 0 };
    put_world(x);
    scene_open(x);
}

/* Another version of a volume, as the watch brings it. */
static void observe(struct scene *x, const char *name, const char *spec, const char *phase)
{
    static unsigned version = 200;
    char text[STILL_TEXT_MAX];
    struct object *o;

    (void)snprintf(text, sizeof text,
                   "{'apiVersion':'v1','kind':'PersistentVolume','metadata':{'name':'%s','uid':'u-%s',"
                   "'resourceVersion':'%u'},'spec':{'capacity':{'storage':'2Gi'}%s},'status':{'phase':'%s'}}",
                   name, name, version++, spec, phase);
    o = new_object(KIND_VOLUME, text);
    informer_observe((struct informer *)(uintptr_t)x->w.caches[KIND_VOLUME], o);
    assert_ptr_equal(o, why_get(&x->w, KIND_VOLUME, "", name));
    (void)object_unref(o);
}

/* --- Asking --- */

struct asked {
    struct explanation *x;
    struct buf out;
    unsigned steps;
    size_t looks_most;
};

static void ask(struct scene *s, struct asked *a, enum kind k, const char *name, bool all)
{
    *a = (struct asked){ .out = BUF_INIT(WHY_BYTES_MAX) };
    ASSERT_OK(explanation_new(
        &s->w,
        &(struct why_question){
            .kind = k, .ns = k == KIND_VOLUME ? "" : "default", .name = name, .shows_all = all },
        &a->x, &err));
}

static bool step(struct asked *a, size_t looks_max)
{
    int r = explanation_step(a->x, looks_max, &a->out, &err);

    assert_true(r >= 0);
    a->steps++;
    if (explanation_looks(a->x) > a->looks_most)
        a->looks_most = explanation_looks(a->x);
    return r == 0;
}

static void asked_done(struct asked *a)
{
    a->x = explanation_free(a->x);
    buf_done(&a->out);
}

static const char *whole(struct scene *s, enum kind k, const char *name, bool all, struct buf *out)
{
    struct why_question q = {
        .kind = k, .ns = k == KIND_VOLUME ? "" : "default", .name = name, .shows_all = all
    };

    ASSERT_OK(why_explain(&s->w, &q, out, &err));
    return buf_cstr(out);
}

/* --- Slices --- */

static const struct {
    enum kind kind;
    const char *name;
    bool all;
    unsigned steps_min;
} rows[] = {
    { KIND_CLAIM, "big", false, MANY / SLICE },
    { KIND_CLAIM, "big", true, MANY / SLICE },
    { KIND_CLAIM, "delayed", false, MANY / SLICE },
    { KIND_CLAIM, "lonely", false, MANY / SLICE },
    { KIND_POD, "pod", false, MANY / SLICE },
    { KIND_POD, "pod", true, MANY / SLICE },
    { KIND_VOLUME, "v0002", false, 2 },
    { KIND_VOLUME, "v0001", false, 1 },
};

TEST(no_slice_costs_more_than_it_may)
{
    struct scene s;

    open_world(&s);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct asked a;

        ask(&s, &a, rows[i].kind, rows[i].name, rows[i].all);
        while (step(&a, SLICE))
            ;
        if (a.looks_most > SLICE + PASS)
            fail_msg("%s: %zu looks in one slice", rows[i].name, a.looks_most);
        if (a.steps < rows[i].steps_min)
            fail_msg("%s: only %u slices", rows[i].name, a.steps);
        asked_done(&a);
    }
    scene_close(&s);
}

TEST(many_nodes_are_filtered_in_slices)
{
    struct scene s = { 0 };
    struct asked a;
    char name[32];

    for (unsigned i = 0; i < MANY; i++) {
        (void)snprintf(name, sizeof name, "n%04u", i);
        put_node(&s, name, "", "'unschedulable':true", "True");
    }
    put_pod(&s, "pod", "", "", PENDING);
    scene_open(&s);
    ask(&s, &a, KIND_POD, "pod", /* all= */ false);
    while (step(&a, SLICE))
        ;
    assert_true(a.looks_most <= SLICE + PASS);
    assert_true(a.steps >= MANY / SLICE);
    assert_non_null(strstr(buf_cstr(&a.out), "none of the 1000 nodes is suitable"));
    asked_done(&a);
    scene_close(&s);
}

TEST(the_report_is_the_same_whatever_the_slices)
{
    static const size_t slices[] = { 1, 7, SLICE, 100000 };
    struct scene s;

    open_world(&s);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        for (size_t k = 0; k < ARRAY_LEN(slices); k++) {
            _cleanup_(buf_done_p) struct buf expected = BUF_INIT(WHY_BYTES_MAX);
            struct asked a;

            ask(&s, &a, rows[i].kind, rows[i].name, rows[i].all);
            while (step(&a, slices[k]))
                ;
            ASSERT_STR(whole(&s, rows[i].kind, rows[i].name, rows[i].all, &expected), buf_cstr(&a.out));
            asked_done(&a);
        }
    scene_close(&s);
}

/* A claim that two volumes of a pod stand for: both parts have the candidates. */
TEST(one_walk_for_two_parts)
{
    struct scene s = { 0 };
    json_ref parts;

    put_world(&s);
    put_pod(&s, "twice", "",
            ",'volumes':[{'name':'a','persistentVolumeClaim':{'claimName':'delayed'}},"
            "{'name':'b','persistentVolumeClaim':{'claimName':'delayed'}}]",
            PENDING);
    scene_open(&s);
    scene_ask(&s, KIND_POD, "twice");
    parts = json_get(&said.doc, said.report, "parts");
    ASSERT_INT(2, json_count(&said.doc, parts));
    for (uint32_t i = 0; i < 2; i++) {
        json_ref candidates = json_get(&said.doc, json_at(&said.doc, parts, i), "candidates");
        json_ref groups = json_get(&said.doc, candidates, "groups");

        assert_true(str_is(json_text(&said.doc, json_get(&said.doc, candidates, "total")), "1000"));
        ASSERT_INT(3, json_count(&said.doc, groups));
        ASSERT_INT(WHY_EXAMPLES,
                   json_count(&said.doc, json_get(&said.doc, json_at(&said.doc, groups, 0), "examples")));
    }
    scene_close(&s);
}

/* --- Changes in between --- */

/* A volume that the walk has passed fits by now: the walk starts again, and the report is of the last turn.
 */
TEST(a_change_is_in_the_report)
{
    struct scene s;
    struct asked a;

    open_world(&s);
    ask(&s, &a, KIND_CLAIM, "big", false);
    for (unsigned i = 0; i < 5; i++)
        assert_true(step(&a, SLICE));
    observe(&s, "v0002", ",'accessModes':['ReadWriteMany'],'storageClassName':'now'" NFS, "Available");
    while (step(&a, SLICE))
        ;
    assert_non_null(strstr(buf_cstr(&a.out), "volume v0002 fits"));
    assert_non_null(strstr(buf_cstr(&a.out), "{\"reason\":\"none\",\"count\":1,"));
    assert_non_null(strstr(buf_cstr(&a.out), "\"total\":1000"));
    asked_done(&a);
    scene_close(&s);
}

/* Something changes in every slice: it ends all the same. */
TEST(changes_without_end)
{
    struct scene s;
    struct asked a;

    open_world(&s);
    ask(&s, &a, KIND_CLAIM, "big", false);
    while (step(&a, SLICE)) {
        observe(&s, a.steps % 2 ? "v0002" : "v0003", CLASSED("now") NFS, a.steps % 4 ? "Available" : "Bound");
        assert_true(a.steps < 10 * MANY / SLICE);
    }
    assert_non_null(strstr(buf_cstr(&a.out), "\"total\":1000"));
    asked_done(&a);
    scene_close(&s);
}

/* The explained object itself has another version: what was found for the old one is not used. */
TEST(the_claim_changes)
{
    struct scene s;
    struct asked a;
    struct object *o;

    open_world(&s);
    ask(&s, &a, KIND_CLAIM, "big", false);
    for (unsigned i = 0; i < 3; i++)
        assert_true(step(&a, SLICE));
    o = new_object(KIND_CLAIM,
                   "{'apiVersion':'v1','kind':'PersistentVolumeClaim','metadata':{'name':'big',"
                   "'namespace':'default','uid':'u-big','resourceVersion':'200'},'spec':{"
                   "'resources':{'requests':{'storage':'9Gi'}}" CLASSED("now") "},'status':{"
                                                                               "'phase':'Pending'}}");
    informer_observe((struct informer *)(uintptr_t)s.w.caches[KIND_CLAIM], o);
    (void)object_unref(o);
    while (step(&a, SLICE))
        ;
    assert_non_null(strstr(buf_cstr(&a.out), "2Gi < 9Gi asked"));
    asked_done(&a);
    scene_close(&s);
}

/* --- The end --- */

/* The asker goes away in the middle of a walk; the caches and the scheduler went before. */
TEST(an_explanation_is_dropped)
{
    static const enum kind kinds[] = { KIND_CLAIM, KIND_CLAIM, KIND_POD, KIND_VOLUME };
    static const char *const names[] = { "big", "lonely", "pod", "v0002" };

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct scene s;
        struct asked a;

        open_world(&s);
        ask(&s, &a, kinds[i], names[i], true);
        assert_true(step(&a, SLICE));
        scene_close(&s);
        asked_done(&a);
    }
}

TEST(what_is_not_there)
{
    struct explanation *x = NULL;
    struct scene s;

    open_world(&s);
    ASSERT_INT(-ERR_NOT_FOUND,
               explanation_new(&s.w,
                               &(struct why_question){ .kind = KIND_CLAIM, .ns = "default", .name = "no" },
                               &x, &err));
    ASSERT_STR("persistentvolumeclaims \"no\" not found", err.msg);
    ASSERT_INT(
        -ERR_BAD_REQUEST,
        explanation_new(&s.w, &(struct why_question){ .kind = KIND_NODE, .ns = "", .name = "n1" }, &x, &err));
    assert_null(x);
    scene_close(&s);
}

TEST_MAIN()

/* Reports as such: one verdict, bounded lists, texts that no terminal obeys; events and paths of the world.
 */
#include "tests/unit/test_kind.h"

#include "why/events.h"
#include "why/report.h"
#include "why/text.h"
#include "why/why_world.h"

/* A report on the way, and what became of it. */
struct paper {
    struct json doc;
    struct why_report r;
    struct buf text;
};

static void paper_open(struct paper *p, bool shows_all)
{
    json_init(&p->doc, WHY_BYTES_MAX);
    p->text = BUF_INIT(WHY_BYTES_MAX);
    report_begin(&p->r, &p->doc, "PersistentVolumeClaim", "shop", "db", shows_all);
    report_state(&p->r, "Pending");
}

static const char *paper_text(struct paper *p)
{
    report_end(&p->r);
    ASSERT_OK(json_check(&p->doc, &err));
    buf_clear(&p->text);
    why_text_write(&p->doc, p->r.json, &(struct why_style){ .is_verbose = true }, &p->text);
    return buf_cstr(&p->text);
}

static void paper_done(struct paper *p)
{
    json_done(&p->doc);
    buf_done(&p->text);
}

TEST(the_first_cause_is_the_verdict)
{
    struct paper p;

    paper_open(&p, false);
    assert_false(report_has_cause(&p.r));
    assert_true(str_is(report_cause_code(&p.r), ""));
    report_cause(&p.r, "first", "the %s reason", "true");
    report_cause(&p.r, "second", "another one");
    report_fact(&p.r, "a fact");
    report_next(&p.r, "it goes on");
    report_advise(&p.r, "Wait.");
    assert_true(report_has_cause(&p.r));
    assert_true(str_is(report_cause_code(&p.r), "first"));
    assert_true(str_is(report_sentence(&p.r), "the true reason"));
    ASSERT_STR("pvc shop/db: Pending, because the true reason\n"
               "What you can do:\n"
               "  - Wait.\n"
               "Next: it goes on\n"
               "Details:\n"
               "  another one\n"
               "  a fact\n",
               paper_text(&p));
    paper_done(&p);
}

TEST(without_a_cause_nothing_is_wrong)
{
    struct paper p;

    paper_open(&p, false);
    ASSERT_STR("pvc shop/db: Pending; nothing is wrong\n", paper_text(&p));
    paper_done(&p);
}

static void add_candidates(struct why_report *r, unsigned small, unsigned taken)
{
    char name[32];

    for (unsigned i = 0; i < small + taken; i++) {
        const char *reason = i < small ? "too-small" : "taken";

        (void)snprintf(name, sizeof name, "pv-%u", i);
        if (report_count(r, reason))
            report_example(r, reason, name, "%s it is", reason);
    }
}

TEST(a_few_candidates_stand_one_by_one)
{
    struct paper p;

    paper_open(&p, false);
    report_cause(&p.r, "x", "it is so");
    add_candidates(&p.r, 1, 2);
    ASSERT_STR("pvc shop/db: Pending, because it is so\n"
               "Candidates (3):\n"
               "  pv-1: taken it is\n"
               "  pv-2: taken it is\n"
               "  pv-0: too-small it is\n",
               paper_text(&p));
    paper_done(&p);
}

TEST(many_candidates_are_counted_by_reason)
{
    struct paper p;

    paper_open(&p, false);
    report_cause(&p.r, "x", "it is so");
    add_candidates(&p.r, 3, 18);
    ASSERT_STR("pvc shop/db: Pending, because it is so\n"
               "Candidates (21):\n"
               "  taken: 18\n"
               "    pv-3: taken it is\n"
               "    pv-4: taken it is\n"
               "    pv-5: taken it is\n"
               "    pv-6: taken it is\n"
               "    pv-7: taken it is\n"
               "    \u2026 and 13 more\n"
               "  too-small: 3\n"
               "    pv-0: too-small it is\n"
               "    pv-1: too-small it is\n"
               "    pv-2: too-small it is\n",
               paper_text(&p));
    paper_done(&p);
}

/* Words are wanted of a few, however many there are, unless all are asked for. */
TEST(words_are_made_for_examples_alone)
{
    for (int all = 0; all < 2; all++) {
        struct paper p;
        unsigned wanted = 0;

        paper_open(&p, all);
        for (unsigned i = 0; i < 10000; i++)
            if (report_count(&p.r, "taken")) {
                report_example(&p.r, "taken", "v", "x");
                wanted++;
            }
        ASSERT_INT(all ? 10000 : WHY_FEW, wanted);
        (void)paper_text(&p);
        ASSERT_INT(all ? 10000 : WHY_EXAMPLES, json_count(&p.doc, p.r.groups[0].examples));
        paper_done(&p);
    }
}

TEST(parts_are_bounded_in_number_and_depth)
{
    struct why_report parts[WHY_DEPTH_MAX], many;
    struct paper p;
    unsigned depth = 0, count = 0;

    paper_open(&p, false);
    while (report_begin_part(depth ? &parts[depth - 1] : &p.r, &parts[depth], "Pod", "shop", "web")) {
        report_state(&parts[depth], "Running");
        depth++;
        assert_true(depth < WHY_DEPTH_MAX);
    }
    ASSERT_INT(WHY_DEPTH_MAX - 1, depth);
    while (depth > 0)
        report_end(&parts[--depth]);
    while (report_begin_part(&p.r, &many, "PersistentVolume", "", "pv")) {
        report_state(&many, "Bound");
        report_end(&many);
        count++;
    }
    ASSERT_INT(WHY_PARTS_MAX - 1, count);
    assert_non_null(strstr(paper_text(&p), "\nVolumes:\n  pod shop/web: Running; nothing is wrong\n"
                                           "  Volumes:\n"
                                           "    pod shop/web: Running; nothing is wrong\n"));
    assert_non_null(strstr(buf_cstr(&p.text), "\n  pv pv: Bound; nothing is wrong\n"));
    paper_done(&p);
}

/* What is too large is an error in the end, and nothing worse on the way there. */
TEST(a_report_knows_its_ceiling)
{
    for (size_t bytes_max = 1; bytes_max < 4096; bytes_max += bytes_max / 8 + 1) {
        struct why_report part;
        struct paper p;

        paper_open(&p, true);
        json_done(&p.doc);
        json_init(&p.doc, bytes_max);
        report_begin(&p.r, &p.doc, "PersistentVolumeClaim", "shop", "db", true);
        report_state(&p.r, "Pending");
        report_cause(&p.r, "x", "because");
        report_cause(&p.r, "y", "and");
        report_next(&p.r, "next");
        add_candidates(&p.r, 20, 20);
        report_operation(&p.r, &(struct report_operation){ .name = "provision", .message = "no" });
        report_event(&p.r, &(struct report_event){ "Warning", "Bad", "it is", 3, "5m" });
        if (report_begin_part(&p.r, &part, "Pod", "shop", "web"))
            report_end(&part);
        report_end(&p.r);
        if (bytes_max < 100)
            ASSERT_ERR(ERR_TOO_LARGE, json_check(&p.doc, &err));
        paper_done(&p);
    }
}

TEST(lines_are_cut_at_whole_characters)
{
    struct paper p;
    char longer[2 * WHY_LINE_BYTES_MAX];
    struct str line;

    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    memcpy(longer + WHY_LINE_BYTES_MAX - 3, "\u2260", 3);
    paper_open(&p, false);
    report_fact(&p.r, "%s", longer);
    line = json_text(&p.doc, json_at(&p.doc, p.r.facts, 0));
    assert_true(line.len < WHY_LINE_BYTES_MAX);
    assert_true(line.len > WHY_LINE_BYTES_MAX - 8);
    assert_true(str_is_utf8(line));
    paper_done(&p);
}

TEST(operations_and_events_in_words)
{
    struct paper p;

    paper_open(&p, false);
    report_cause(&p.r, "x", "so");
    report_operation(&p.r,
                     &(struct report_operation){
                         .name = "provision", .failures = 2, .retry_seconds = 4, .message = "no luck" });
    report_operation(
        &p.r, &(struct report_operation){
                  .name = "delete", .is_running = true, .failures = 1, .retry_seconds = -1, .message = "" });
    report_event(&p.r, &(struct report_event){ "Warning", "Bad", "it is", 3, "5m" });
    report_event(&p.r, &(struct report_event){ "Normal", "Good", "it was", 1, "1s" });
    ASSERT_STR("pvc shop/db: Pending, because so\n"
               "Operations:\n"
               "  provision, failed 2 times, next try in 4s: no luck\n"
               "  delete, running, failed 1 time\n"
               "Events:\n"
               "  5m ago  Warning Bad (x3): it is\n"
               "  1s ago  Normal Good: it was\n",
               paper_text(&p));
    paper_done(&p);
}

/* Operations and events are for who asks, or where they say something new. */
TEST(what_was_said_is_not_repeated)
{
    const struct why_style terse = { .is_verbose = false }, ascii = { .is_ascii = true };
    struct why_report part;
    struct paper p;

    paper_open(&p, false);
    report_cause(&p.r, "x", "claim db: volume \"v\": no luck; a \u2260 b");
    report_fact(&p.r, "a fact");
    report_advise(&p.r, "Wait.");
    report_operation(&p.r, &(struct report_operation){
                               .name = "mount", .failures = 2, .retry_seconds = 4, .message = "no luck" });
    report_operation(&p.r, &(struct report_operation){
                               .name = "stat", .is_running = true, .retry_seconds = -1, .message = "" });
    report_event(&p.r,
                 &(struct report_event){ "Warning", "Bad", "X failed for volume \"v\" : no luck", 3, "5m" });
    report_event(&p.r, &(struct report_event){ "Warning", "Worse", "something else", 1, "1m" });
    report_event(&p.r, &(struct report_event){ "Warning", "Past", "before", 1, "9m", .is_over = true });
    report_event(&p.r, &(struct report_event){ "Normal", "Good", "it was", 1, "1s" });
    assert_true(report_begin_part(&p.r, &part, "PersistentVolumeClaim", "shop", "db"));
    report_state(&part, "Bound to pv");
    report_cause(&part, "x", "no luck");
    report_fact(&part, "a fact");
    report_fact(&part, "another");
    report_advise(&part, "Wait.");
    report_end(&part);
    report_end(&p.r);
    why_text_write(&p.doc, p.r.json, &terse, &p.text);
    ASSERT_STR("pvc shop/db: Pending, because claim db: volume \"v\": no luck; a \u2260 b\n"
               "What you can do:\n"
               "  - Wait.\n"
               "Details:\n"
               "  a fact\n"
               "Operations:\n"
               "  stat, running\n"
               "Events:\n"
               "  1m ago  Warning Worse: something else\n"
               "Volumes:\n"
               "  pvc shop/db: Bound to pv\n"
               "    another\n",
               buf_cstr(&p.text));
    buf_clear(&p.text);
    why_text_write(&p.doc, p.r.json, &ascii, &p.text);
    assert_non_null(strstr(buf_cstr(&p.text), "no luck; a != b\n"));
    paper_done(&p);
}

/* What is wrong with an object that is as it should be is not why it is so. */
TEST(a_state_that_is_right_has_no_cause)
{
    struct paper p;

    paper_open(&p, false);
    report_state(&p.r, "Bound to pv");
    report_cause(&p.r, "x", "no luck");
    ASSERT_STR("pvc shop/db: Bound to pv, but no luck\n", paper_text(&p));
    paper_done(&p);
}

/* A report that a server sent. */
static const char *text_of(const char *json)
{
    static struct buf text;
    struct json d;
    json_ref root;

    buf_done(&text);
    text = BUF_INIT(WHY_BYTES_MAX);
    json_init(&d, WHY_BYTES_MAX);
    ASSERT_OK(json_parse(&d, str_of(json), &root, &err));
    why_text_write(&d, root, &(struct why_style){ .is_verbose = true }, &text);
    json_done(&d);
    return buf_cstr(&text);
}

TEST(what_a_server_sends_is_taken_for_hostile)
{
    static const struct {
        const char *json, *text;
    } rows[] = {
        { "{}", " : , because \n" },
        { "[]", " : , because \n" },
        { "{\"kind\":7,\"facts\":{\"a\":\"b\"},\"candidates\":[],\"parts\":\"x\",\"next\":[1]}",
          " : , because \n  b\n" },
        { "{\"kind\":\"Pod\",\"name\":\"a\\u001b[31m\",\"state\":\"\\u009b\\u007f\\n\",\"sentence\":"
          "\"\u00e4\"}",
          "pod a?[31m: ?? , because \u00e4\n" },
        { "{\"candidates\":{\"total\":9223372036854775807,\"groups\":[{\"reason\":\"r\",\"count\":-1}]}}",
          " : , because \nCandidates (9223372036854775807):\n  r: -1\n" },
        { "{\"parts\":[{\"parts\":[{\"parts\":[{\"parts\":[{\"name\":\"deep\"}]}]}]}]}",
          " : , because \nVolumes:\n   : , because \n  Volumes:\n     : , because \n    Volumes:\n"
          "       : , because \n" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ASSERT_STR(rows[i].text, text_of(rows[i].json));
}

/* --- Paths --- */

TEST(paths_name_what_is_asked_about)
{
    static const struct {
        const char *path;
        enum kind kind;
        const char *ns, *name; /* NULL: refused */
    } rows[] = {
        { "pvc/shop/db", KIND_CLAIM, "shop", "db" },
        { "pv/disk-3", KIND_VOLUME, "", "disk-3" },
        { "pod/shop/web-0", KIND_POD, "shop", "web-0" },
        { "pvc/db", KIND_CLAIM, NULL, NULL },
        { "pv/a/b", KIND_CLAIM, NULL, NULL },
        { "node/n1", KIND_CLAIM, NULL, NULL },
        { "pvcs/a/b", KIND_CLAIM, NULL, NULL },
        { "pv", KIND_CLAIM, NULL, NULL },
        { "", KIND_CLAIM, NULL, NULL },
        { "/", KIND_CLAIM, NULL, NULL },
    };
    char names[WHY_PATH_BYTES_MAX], longer[2 * WHY_PATH_BYTES_MAX];
    struct why_question q;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (!rows[i].name) {
            ASSERT_ERR(ERR_NOT_FOUND, why_read_path(rows[i].path, names, &q, &err));
            continue;
        }
        ASSERT_OK(why_read_path(rows[i].path, names, &q, &err));
        ASSERT_INT(rows[i].kind, q.kind);
        ASSERT_STR(rows[i].ns, q.ns);
        ASSERT_STR(rows[i].name, q.name);
    }
    memset(longer, 'x', sizeof longer);
    memcpy(longer, "pv/", 3);
    longer[sizeof longer - 1] = '\0';
    ASSERT_ERR(ERR_NOT_FOUND, why_read_path(longer, names, &q, &err));
    ASSERT_STR("pvc", why_type(KIND_CLAIM));
    assert_null(why_type(KIND_NODE));
}

/* --- Events --- */

static const char *const event_texts[] = {
    "{'metadata':{'name':'a'},'reason':'A','message':'a','type':'Normal','lastTimestamp':"
    "'2026-01-01T00:00:05Z','count':2}",
    "{'metadata':{'name':'b'},'reason':'B','message':'b','type':'Normal','eventTime':"
    "'2026-01-01T00:00:01.000000Z'}",
    "{'metadata':{'name':'c'},'reason':'C','message':'c','type':'Normal','eventTime':"
    "'2026-01-01T00:00:00.000000Z','series':{'count':9,'lastObservedTime':'2026-01-01T00:00:09.000000Z'}}",
    "{'metadata':{'name':'d'},'reason':'D','message':'d','type':'Normal','firstTimestamp':"
    "'2026-01-01T00:00:07Z'}",
    "{'metadata':{'name':'e'},'reason':'E','message':'e','type':'Normal','lastTimestamp':"
    "'2026-01-01T00:00:05Z'}",
    "{'metadata':{'name':'f'},'reason':'F','message':'f','type':'Normal','lastTimestamp':"
    "'2026-01-01T00:00:06Z'}",
    "{'metadata':{'name':'g'},'reason':'G','message':'g','type':'Normal'}",
};

static void each_event(void *ctx, const struct object *about, struct why_event_slice *slice, why_event_fn *fn,
                       void *fn_ctx)
{
    (void)about;
    (void)slice;
    for (size_t i = 0; i < ARRAY_LEN(event_texts); i++) {
        size_t at = *(const bool *)ctx ? ARRAY_LEN(event_texts) - 1 - i : i;
        struct object *o = kind_object(KIND_EVENT, event_texts[at]);

        fn(fn_ctx, (const struct event *)(const void *)o);
        (void)object_unref(o);
    }
}

/* Of seven the five newest, the oldest of them first, in whatever order they come. */
TEST(the_newest_events_are_shown)
{
    struct object *about = kind_object(KIND_CLAIM, "{'metadata':{'name':'db','namespace':'shop'}}");
    struct manual_clock clock;

    manual_clock_init(&clock, 0, INT64_C(1767225610) * (int64_t)NS_PER_S); /* 00:00:10 */
    for (int backwards = 0; backwards < 2; backwards++) {
        bool is_backwards = backwards;
        struct why_world w = { .clock = &clock.clock, .each_event = each_event, .ctx = &is_backwards };
        struct paper p;

        paper_open(&p, false);
        why_add_events(&w, &p.r, about, NULL);
        ASSERT_STR("pvc shop/db: Pending; nothing is wrong\n"
                   "Events:\n"
                   "  5s ago  Normal A (x2): a\n"
                   "  5s ago  Normal E: e\n"
                   "  4s ago  Normal F: f\n"
                   "  3s ago  Normal D: d\n"
                   "  1s ago  Normal C (x9): c\n",
                   paper_text(&p));
        paper_done(&p);
    }
    (void)object_unref(about);
}

TEST(events_are_about_one_object)
{
    static const struct {
        const char *involved;
        bool is_about;
    } rows[] = {
        { "{'kind':'Pod','namespace':'other','name':'x','uid':'u1'}", true },
        { "{'kind':'PersistentVolumeClaim','namespace':'shop','name':'db','uid':'u2'}", false },
        { "{'kind':'PersistentVolumeClaim','namespace':'shop','name':'db'}", true },
        { "{'kind':'Pod','namespace':'shop','name':'db'}", false },
        { "{'kind':'PersistentVolumeClaim','namespace':'shop','name':'d'}", false },
        { "{'kind':'PersistentVolumeClaim','namespace':'other','name':'db'}", false },
    };
    struct object *about =
        kind_object(KIND_CLAIM, "{'metadata':{'name':'db','namespace':'shop','uid':'u1'}}");

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[256];
        struct object *o;

        (void)snprintf(text, sizeof text, "{'metadata':{'name':'e'},'involvedObject':%s}", rows[i].involved);
        o = kind_object(KIND_EVENT, text);
        ASSERT_INT(rows[i].is_about, why_event_is_about((const struct event *)(const void *)o, about));
        (void)object_unref(o);
    }
    (void)object_unref(about);
}

TEST_MAIN()

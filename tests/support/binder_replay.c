/* The bodies of what tests/unit/test_binder_replay.h declares. */
#include "tests/unit/test_binder_replay.h"

/* --- What is left of a world, in words that two runs have in common --- */

static void names_read(struct world *w, struct names *n)
{
    char path[64];

    n->count = 0;
    ASSERT_SENT(&w->served, 200, "GET", CLAIMS, NULL);
    for (size_t i = 0; i < got_items(&w->served); i++, n->count++) {
        assert_true(n->count < NAMES_MAX);
        (void)snprintf(path, sizeof path, "items/%zu/metadata/uid", i);
        (void)snprintf(n->uid[i], sizeof n->uid[i], "%s", got(&w->served, path));
        (void)snprintf(path, sizeof path, "items/%zu/metadata/name", i);
        (void)snprintf(n->name[i], sizeof n->name[i], "<%s>", got(&w->served, path));
    }
}

static bool is_uid_at(const char *text)
{
    return strspn(text, "0123456789abcdef-") >= UID_BYTES && text[8] == '-' && text[13] == '-' &&
           text[18] == '-' && text[23] == '-';
}

static const char *name_at(const struct names *n, const char *text)
{
    for (unsigned i = 0; i < n->count; i++)
        if (strncmp(text, n->uid[i], UID_BYTES) == 0)
            return n->name[i];
    return "<gone>";
}

static void add_with_names(const struct names *n, const char *text, struct buf *out)
{
    while (*text) {
        bool is_uid = is_uid_at(text);

        if (is_uid)
            buf_add_cstr(out, name_at(n, text));
        else
            buf_add_char(out, *text);
        text += is_uid ? UID_BYTES : 1;
    }
}

static void strip(struct world *w, json_ref o)
{
    static const char *const of_meta[] = { "resourceVersion",   "uid",           "creationTimestamp",
                                           "deletionTimestamp", "managedFields", "generation" };
    struct json *d = &w->served.doc;
    json_ref metadata = json_get(d, o, "metadata"), ref = json_path(d, o, "spec", "claimRef");

    for (size_t i = 0; i < ARRAY_LEN(of_meta); i++)
        (void)json_remove(d, metadata, of_meta[i]);
    if (json_get(d, metadata, "annotations"))
        json_sort_members(d, json_get(d, metadata, "annotations"));
    json_sort_members(d, metadata);
    json_sort_members(d, json_get(d, o, "spec"));
    if (json_get(d, o, "status")) {
        json_sort_members(d, json_get(d, o, "status"));
        (void)json_remove(d, json_get(d, o, "status"), "lastPhaseTransitionTime");
    }
    if (!ref)
        return;
    (void)json_remove(d, ref, "resourceVersion");
    json_sort_members(d, ref);
}

/* Which pod is where. */
static void places_write(struct world *w, struct buf *out)
{
    char path[64];

    ASSERT_SENT(&w->served, 200, "GET", PODS, NULL);
    for (size_t i = 0, count = got_items(&w->served); i < count; i++) {
        (void)snprintf(path, sizeof path, "items/%zu/metadata/name", i);
        buf_addf(out, "%s ", got(&w->served, path));
        (void)snprintf(path, sizeof path, "items/%zu/spec/nodeName", i);
        buf_addf(out, "%s\n", got(&w->served, path));
    }
}

static void state_write(struct world *w, const struct names *n, struct buf *out)
{
    static const char *const paths[] = { VOLUMES, CLAIMS };

    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        _cleanup_(buf_done_p) struct buf text = BUF_INIT((size_t)1 << 20);
        json_ref items;

        ASSERT_SENT(&w->served, 200, "GET", paths[i], NULL);
        items = json_get(&w->served.doc, w->served.root, "items");
        for (json_ref o = json_first(&w->served.doc, items); o; o = json_next(&w->served.doc, o)) {
            strip(w, o);
            json_write(&w->served.doc, o, &text);
            buf_add_char(&text, '\n');
        }
        add_with_names(n, text.len ? buf_cstr(&text) : "", out);
    }
    if (w->scheduling)
        places_write(w, out);
}

/* One line an event: "count object type reason message". */
static void events_write(struct world *w, const struct names *n, struct buf *out)
{
    static const char *const parts[] = { "count", "involvedObject/name", "type", "reason", "message" };
    char path[128];

    ASSERT_SENT(&w->served, 200, "GET", "/api/v1/events", NULL);
    for (size_t i = 0, count = got_items(&w->served); i < count; i++) {
        for (size_t k = 0; k < ARRAY_LEN(parts); k++) {
            (void)snprintf(path, sizeof path, "items/%zu/%s", i, parts[k]);
            add_with_names(n, got(&w->served, path), out);
            buf_add_char(out, k + 1 < ARRAY_LEN(parts) ? ' ' : '\n');
        }
    }
}

/* --- One world against the same without the fault --- */

static struct replay replay;

struct str text_of(const struct buf *b)
{
    return b->len ? buf_str(b) : STR_LIT("");
}

void outcome_done(struct outcome *o)
{
    buf_done(&o->state);
    buf_done(&o->events);
}

static void outcome_read(struct world *w, struct outcome *ret)
{
    static struct names n;

    *ret = (struct outcome){ .state = BUF_INIT((size_t)1 << 20),
                             .events = BUF_INIT((size_t)1 << 20),
                             .sent = w->sent,
                             .made = scripted.provisioned };
    names_read(w, &n);
    state_write(w, &n, &ret->state);
    events_write(w, &n, &ret->events);
}

/* How often the event of this line, "count text", was told in all. */
static long times_told(const struct buf *all, struct str line)
{
    struct str rest = text_of(all), text = line;
    long count = 0;

    (void)str_next(&text, ' ');
    while (rest.len) {
        struct str other = str_next(&rest, '\n'), number = str_next(&other, ' ');

        if (str_eq(other, text)) /* a series has no count while it is one event */
            count += str_is(number, "-") ? 1 : strtol(number.s, NULL, 10);
    }
    return count;
}

static bool line_has(struct str line, const char *words)
{
    return memmem(line.s, line.len, words, strlen(words)) != NULL;
}

/* A volume that could not be made Available is none yet, and a claim may be told so in the meantime. What was
 * emptied and could not be saved is emptied again, and told again; so is what is tried again and
 * again, whose times depend on how long we look. So is a pod refused that has to wait for such a volume. */
static bool may_be_told(struct str line, long usual, long times)
{
    if (line_has(line, "tapped") || line_has(line, NO_VOLUMES) || line_has(line, NO_VOLUME_THERE))
        return true;
    if (usual == 0)
        return false;
    return times <= usual || usual > 1 || plan.fault == TAP_CRASH || line_has(line, " VolumeRecycled ") ||
           line_has(line, " FailedScheduling ") || line_has(line, " WaitForPodScheduled ");
}

static void compare_events(const struct outcome *good, const struct outcome *bad)
{
    struct str rest = text_of(&bad->events);

    while (rest.len) {
        struct str line = str_next(&rest, '\n');

        if (!may_be_told(line, times_told(&good->events, line), times_told(&bad->events, line)))
            fail_msg("tells\n%.*s\nexpected of\n%.*s", STR_ARG(line), STR_ARG(text_of(&good->events)));
    }
    /* Who does not hear of the change that it made cannot tell of it. */
    for (rest = text_of(&good->events); plan.fault != TAP_LOSE && plan.fault != TAP_CRASH && rest.len;) {
        struct str line = str_next(&rest, '\n');

        if (times_told(&bad->events, line) == 0)
            fail_msg("does not tell\n%.*s\nbut\n%.*s", STR_ARG(line), STR_ARG(text_of(&bad->events)));
    }
}

void compare(const struct outcome *good, const struct outcome *bad, bool is_open)
{
    /* Of what is tried again and again: in a new process, and after somebody else's write. */
    bool has_delays_anew = plan.fault == TAP_CRASH || plan.fault == TAP_CONFLICT;

    if (!is_open && !str_eq(text_of(&good->state), text_of(&bad->state)))
        fail_msg("ends as\n%.*sand without a fault as\n%.*s", STR_ARG(text_of(&bad->state)),
                 STR_ARG(text_of(&good->state)));
    if (!is_open)
        compare_events(good, bad);
    if (bad->sent > (has_delays_anew ? 2 : 1) * good->sent + REPLAY_EXTRA_MAX)
        fail_msg("%u requests instead of %u", bad->sent, good->sent);
    if (plan.fault != TAP_CRASH && bad->made != good->made)
        fail_msg("%u storages instead of %u", bad->made, good->made);
}

static void replay_on_end(struct world *w)
{
    struct outcome bad;

    world_settle(w);
    if (plan.fault == TAP_NONE) {
        assert_true(replay.good_count < REPLAY_WORLDS_MAX);
        outcome_read(w, &replay.good[replay.good_count++]);
        return;
    }
    assert_true(replay.ended < replay.good_count);
    outcome_read(w, &bad);
    compare(&replay.good[replay.ended++], &bad, w->is_open);
    outcome_done(&bad);
}

/* --- A body, again and again --- */

/* False when no world has that many requests. */
static bool replay_with(CMUnitTestFunction body, enum tap_fault fault, unsigned at)
{
    void *state = NULL;

    plan.fault = fault;
    plan.at = at;
    plan.is_reached = false;
    replay.ended = 0;
    body(&state);
    return plan.is_reached;
}

/* After a test that failed the plan is still there, and says when. */
static void replay_tell(void)
{
    static const char *const names[] = { "no fault",   "a refusal",     "an error",
                                         "a conflict", "a lost answer", "a crash" };

    if (plan.on_end)
        print_message("# that was with %s at request %u, in world %u\n", names[plan.fault], plan.at,
                      replay.ended + 1);
    for (unsigned i = 0; i < replay.good_count; i++)
        outcome_done(&replay.good[i]);
    memset(&replay, 0, sizeof replay);
    plan = (struct plan){ 0 };
}

/* Refusals and errors both leave nothing done: they take turns. Of a share every body and fault begin at
 * another request. */
static void replay_fault(CMUnitTestFunction body, enum tap_fault fault)
{
    static unsigned begun;
    unsigned at = fault == TAP_ERROR ? 2 : 1, step = fault == TAP_ERROR || fault == TAP_REFUSE ? 2 : 1;
    unsigned each = tests_share();

    at += step * (begun++ % each);
    while (replay_with(body, fault, at)) {
        assert_true(at < REPLAY_REQUESTS_MAX);
        at += each * (at < REPLAY_EACH_MAX ? step : 4);
    }
}

static void replay_test(void **state)
{
    const struct replayed *x = *state;

    plan.on_end = replay_on_end;
    (void)replay_with(x->body, TAP_NONE, 0);
    for (int fault = TAP_REFUSE; fault <= TAP_CRASH; fault++)
        if (x->faults & (1U << fault))
            replay_fault(x->body, (enum tap_fault)fault);
    plan.on_end = NULL;
    replay_tell();
}

static int replay_setup(void **state)
{
    (void)state;
    replay_tell();
    return 0;
}

static unsigned faults_of(const char *test, const struct unfit *unfit)
{
    for (; unfit->test; unfit++)
        if (strcmp(unfit->test, test) == 0) {
            print_message("# %s: not with %s: %s\n", test,
                          unfit->faults == FAULT_ANY ? "faults" : "all faults", unfit->why);
            return FAULT_ANY & ~unfit->faults;
        }
    return FAULT_ANY;
}

/* A row that names no test says nothing. */
static void check_unfit(const struct unfit *unfit)
{
    for (; unfit->test; unfit++) {
        size_t i = 0;

        while (i < tests_count && strcmp(tests[i].name, unfit->test) != 0)
            i++;
        if (i == tests_count) {
            (void)fprintf(stderr, "no test is named %s\n", unfit->test);
            abort();
        }
    }
}

int replayed_run(int argc, char **argv, const struct unfit *unfit)
{
    static struct replayed replayed[TESTS_PER_FILE_MAX];
    size_t kept = 0;
    int failed;

    check_unfit(unfit);
    if (!getenv("TEST_FAULTS"))
        return tests_run(argc, argv);
    for (size_t i = 0; i < tests_count; i++) {
        replayed[i] = (struct replayed){ tests[i].test_func, faults_of(tests[i].name, unfit) };
        if (replayed[i].faults)
            tests[kept++] =
                (struct CMUnitTest){ tests[i].name, replay_test, replay_setup, NULL, &replayed[i] };
    }
    tests_count = kept;
    failed = tests_run(argc, argv);
    replay_tell();
    return failed;
}

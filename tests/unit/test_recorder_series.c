/* The recorder of events.k8s.io/v1 events, against the whole API server. */
#include "tests/unit/test_recording.h"

static void fail_pod(struct recording *w, const struct object *pod, const char *note)
{
    recorder_record(w->recorder, &(struct recorded){ .about = pod,
                                                     .type = EVENT_WARNING,
                                                     .reason = "FailedScheduling",
                                                     .action = "Scheduling",
                                                     .message = str_of(note) });
}

static struct object *a_pod(const char *version)
{
    char text[256];

    (void)snprintf(text, sizeof text,
                   "{'metadata':{'name':'web','namespace':'default','uid':'u','resourceVersion':'%s'}}",
                   version);
    return object_of(KIND_POD, text);
}

#define ASSERT_NEW_EVENTS(w, expected)                           \
    do {                                                         \
        ASSERT_SENT(&(w)->served, 200, "GET", NEW_EVENTS, NULL); \
        ASSERT_INT(expected, got_items(&(w)->served));           \
    } while (0)

TEST(recorder_series_writes_every_field)
{
    _cleanup_(object_unref_p) struct object *pod = a_pod("7");
    _cleanup_(object_unref_p) struct object *node = object_of(KIND_NODE, "{'metadata':{'name':'n1'}}");
    struct recording w;

    recording_init(&w, RECORDER_SERIES);
    recorder_record(w.recorder, &(struct recorded){ .about = pod,
                                                    .related = node,
                                                    .type = EVENT_NORMAL,
                                                    .reason = "Scheduled",
                                                    .action = "Binding",
                                                    .message = STR_LIT("to n1") });
    recording_settle(&w);
    ASSERT_NEW_EVENTS(&w, 1);
    ASSERT_GOT(&w.served, "2023-11-14T22:13:20.000000Z", "items/0/eventTime");
    ASSERT_GOT(&w.served, "persistentvolume-controller", "items/0/reportingController");
    ASSERT_GOT(&w.served, "persistentvolume-controller-node-1", "items/0/reportingInstance");
    ASSERT_GOT(&w.served, "Binding", "items/0/action");
    ASSERT_GOT(&w.served, "Scheduled", "items/0/reason");
    ASSERT_GOT(&w.served, "Normal", "items/0/type");
    ASSERT_GOT(&w.served, "to n1", "items/0/note");
    ASSERT_GOT(&w.served, "Pod", "items/0/regarding/kind");
    ASSERT_GOT(&w.served, "7", "items/0/regarding/resourceVersion");
    ASSERT_GOT(&w.served, "Node", "items/0/related/kind");
    ASSERT_GOT(&w.served, "-", "items/0/series");
    ASSERT_GOT(&w.served, "-", "items/0/deprecatedCount");
    ASSERT_GOT(&w.served, "{}", "items/0/deprecatedSource");
    recording_done(&w);
}

/* machinery-64 */
TEST(recorder_series_counts)
{
    _cleanup_(object_unref_p) struct object *pod = a_pod("7");
    struct recording w;

    recording_init(&w, RECORDER_SERIES);
    fail_pod(&w, pod, "no node");
    served_pass(&w.served, 60);
    ASSERT_NEW_EVENTS(&w, 1);
    ASSERT_GOT(&w.served, "-", "items/0/series");
    fail_pod(&w, pod, "still no node");
    recording_settle(&w);
    ASSERT_NEW_EVENTS(&w, 1);
    ASSERT_GOT(&w.served, "2", "items/0/series/count");
    ASSERT_GOT(&w.served, "2023-11-14T22:14:20.000000Z", "items/0/series/lastObservedTime");
    ASSERT_GOT(&w.served, "no node", "items/0/note");
    for (unsigned minute = 2; minute < 31; minute++) {
        served_pass(&w.served, 60);
        fail_pod(&w, pod, "no node");
    }
    ASSERT_INT(2, w.wire->started); /* thirty of them */
    served_pass(&w.served, 60);
    ASSERT_INT(3, w.wire->started);
    ASSERT_NEW_EVENTS(&w, 1);
    ASSERT_GOT(&w.served, "31", "items/0/series/count");
    fail_pod(&w, pod, "no node");
    served_pass(&w.served, 359);
    ASSERT_INT(3, w.wire->started);
    served_pass(&w.served, 1);
    ASSERT_INT(4, w.wire->started);
    ASSERT_NEW_EVENTS(&w, 1);
    ASSERT_GOT(&w.served, "32", "items/0/series/count");
    ASSERT_GOT(&w.served, "2023-11-14T22:44:20.000000Z", "items/0/series/lastObservedTime");
    /* Forgotten: the next is another event. */
    fail_pod(&w, pod, "no node");
    recording_settle(&w);
    ASSERT_NEW_EVENTS(&w, 2);
    assert_outcome(&w, "created", 2);
    assert_outcome(&w, "patched", 3);
    assert_outcome(&w, "aggregated", 30);
    ASSERT_STR("", buf_cstr(&w.log));
    recording_done(&w);
}

/* A change of the pod, of the reason, of the action or of what it is related to makes another event. */
TEST(recorder_series_tells_events_apart)
{
    _cleanup_(object_unref_p) struct object *pod = a_pod("7"), *later = a_pod("8");
    _cleanup_(object_unref_p) struct object *node = object_of(KIND_NODE, "{'metadata':{'name':'n1'}}");
    struct recording w;
    struct recorded rows[6];

    recording_init(&w, RECORDER_SERIES);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        rows[i] = (struct recorded){
            .about = pod, .type = EVENT_NORMAL, .reason = "R", .action = "A", .message = STR_LIT("m")
        };
    rows[1].about = later;
    rows[2].reason = "S";
    rows[3].action = "B";
    rows[4].type = EVENT_WARNING;
    rows[5].related = node;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        recorder_record(w.recorder, &rows[i]);
    recording_settle(&w);
    ASSERT_NEW_EVENTS(&w, ARRAY_LEN(rows));
    recording_done(&w);
}

/* The event is gone when its total comes: it is made again, with the series in it. */
TEST(recorder_series_outlives_its_event)
{
    _cleanup_(object_unref_p) struct object *pod = a_pod("7");
    struct recording w;
    char path[512];

    recording_init(&w, RECORDER_SERIES);
    fail_pod(&w, pod, "no node");
    recording_settle(&w);
    ASSERT_NEW_EVENTS(&w, 1);
    (void)snprintf(path, sizeof path, NEW_EVENTS "/%s", got(&w.served, "items/0/metadata/name"));
    ASSERT_SENT(&w.served, 200, "DELETE", path, NULL);
    served_pass(&w.served, 60);
    fail_pod(&w, pod, "no node");
    recording_settle(&w);
    ASSERT_SENT(&w.served, 200, "GET", path, NULL);
    ASSERT_GOT(&w.served, "2", "series/count");
    ASSERT_GOT(&w.served, "2023-11-14T22:13:20.000000Z", "eventTime");
    ASSERT_GOT(&w.served, "no node", "note");
    recording_done(&w);
}

/* machinery-65 */
TEST(recorder_series_cuts_notes)
{
    _cleanup_(object_unref_p) struct object *pod = a_pod("7");
    char text[3001];
    struct recording w;

    memset(text, '\xff', 3000); /* grows on the way: what is no UTF-8 is replaced */
    text[3000] = '\0';
    recording_init(&w, RECORDER_SERIES);
    fail_pod(&w, pod, text);
    memset(text, 'x', 3000);
    recorder_event(w.recorder, pod, EVENT_NORMAL, "Long", "%s", text);
    recording_settle(&w);
    ASSERT_NEW_EVENTS(&w, 2);
    ASSERT_INT(1023, strlen(got(&w.served, "items/0/note")));
    ASSERT_INT(1024, strlen(got(&w.served, "items/1/note")));
    /* Without an action of its own it has the reason's name: the server wants one. */
    ASSERT_GOT(&w.served, "Long", "items/1/action");
    recording_done(&w);
}

/* Beyond what is followed, the oldest is over at once, and its total written. */
TEST(recorder_series_are_so_many)
{
    _cleanup_(object_unref_p) struct object *pod = a_pod("1");
    struct recording w;
    char version[16];

    recording_init(&w, RECORDER_SERIES);
    for (unsigned i = 0; i < 3; i++)
        fail_pod(&w, pod, "no node");
    for (unsigned i = 2; i < 4200; i++) {
        struct object *other;

        (void)snprintf(version, sizeof version, "%u", i);
        other = a_pod(version);
        fail_pod(&w, other, "no node");
        (void)object_unref(other);
        if (i % 500 == 0)
            recording_settle(&w);
    }
    recording_settle(&w);
    assert_outcome(&w, "created", 4199);
    assert_outcome(&w, "patched", 2);
    assert_outcome(&w, "dropped", 0);
    recording_done(&w);
}

/* A crash with series under way: no total follows. */
TEST(recorder_series_can_go_at_any_time)
{
    _cleanup_(object_unref_p) struct object *pod = a_pod("7");

    for (unsigned events = 0; events < 4; events++) {
        struct recording w;
        unsigned started;

        recording_init(&w, RECORDER_SERIES);
        for (unsigned i = 0; i < events; i++)
            fail_pod(&w, pod, "no node");
        (void)loop_poll(w.served.loop);
        w.recorder = recorder_free(w.recorder);
        started = w.wire->started;
        served_pass(&w.served, 3600);
        ASSERT_INT(started, w.wire->started);
        recording_done(&w);
    }
}

TEST_MAIN()

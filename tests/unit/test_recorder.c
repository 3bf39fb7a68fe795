/* The recorder of core/v1 events, against the whole API server: what stands there in the end, how it got
 * there, and what becomes of events that cannot be written. */
#include "tests/unit/test_recording.h"

#include "api/uid.h"

#define NOTE(w, o, reason, ...) recorder_event((w)->recorder, o, EVENT_NORMAL, reason, __VA_ARGS__)

/* --- What stands on the server --- */

TEST(recorder_writes_every_field)
{
    _cleanup_(object_unref_p) struct object *claim = NULL;
    struct recording w;

    recording_init(&w, RECORDER_CORE);
    claim = object_made(&w, KIND_CLAIM, CLAIMS, "{'metadata':{'name':'db'}," CLAIM_SPEC "}");
    recorder_event(w.recorder, claim, EVENT_WARNING, "ProvisioningFailed", "no %s for %d", "class", 5);
    recording_settle(&w);
    ASSERT_EVENTS(&w, 1);
    ASSERT_GOT(&w.served, "default", "items/0/metadata/namespace");
    assert_true(str_has_prefix(str_of(got(&w.served, "items/0/metadata/name")), "db.17979cfe36"));
    ASSERT_GOT(&w.served, "PersistentVolumeClaim", "items/0/involvedObject/kind");
    ASSERT_GOT(&w.served, "v1", "items/0/involvedObject/apiVersion");
    ASSERT_GOT(&w.served, "default", "items/0/involvedObject/namespace");
    ASSERT_GOT(&w.served, "db", "items/0/involvedObject/name");
    ASSERT_GOT(&w.served, claim->uid, "items/0/involvedObject/uid");
    ASSERT_INT(claim->revision, strtoll(got(&w.served, "items/0/involvedObject/resourceVersion"), NULL, 10));
    ASSERT_GOT(&w.served, "ProvisioningFailed", "items/0/reason");
    ASSERT_GOT(&w.served, "no class for 5", "items/0/message");
    ASSERT_GOT(&w.served, "Warning", "items/0/type");
    ASSERT_GOT(&w.served, "persistentvolume-controller", "items/0/source/component");
    ASSERT_GOT(&w.served, "node-1", "items/0/source/host");
    ASSERT_GOT(&w.served, "2023-11-14T22:13:20Z", "items/0/firstTimestamp");
    ASSERT_GOT(&w.served, "2023-11-14T22:13:20Z", "items/0/lastTimestamp");
    ASSERT_GOT(&w.served, "1", "items/0/count");
    ASSERT_GOT(&w.served, "-", "items/0/eventTime");
    ASSERT_GOT(&w.served, "persistentvolume-controller", "items/0/reportingComponent");
    ASSERT_GOT(&w.served, "node-1", "items/0/reportingInstance");
    assert_outcome(&w, "created", 1);
    recording_done(&w);
}

/* machinery-56 */
TEST(recorder_counts_the_same_event)
{
    _cleanup_(object_unref_p) struct object *claim = a_claim("default", "db");
    struct recording w;
    long long version = 0;

    recording_init(&w, RECORDER_CORE);
    for (unsigned i = 1; i <= 5; i++) {
        char count[8];

        NOTE(&w, claim, "Waiting", "for a volume");
        recording_settle(&w);
        ASSERT_EVENTS(&w, 1);
        (void)snprintf(count, sizeof count, "%u", i);
        ASSERT_GOT(&w.served, count, "items/0/count");
        assert_true(strtoll(got(&w.served, "items/0/metadata/resourceVersion"), NULL, 10) > version);
        version = strtoll(got(&w.served, "items/0/metadata/resourceVersion"), NULL, 10);
        if (i < 5)
            served_pass(&w.served, 10);
    }
    ASSERT_GOT(&w.served, "2023-11-14T22:13:20Z", "items/0/firstTimestamp");
    ASSERT_GOT(&w.served, "2023-11-14T22:14:00Z", "items/0/lastTimestamp");
    ASSERT_GOT(&w.served, "for a volume", "items/0/message");
    assert_outcome(&w, "created", 1);
    assert_outcome(&w, "patched", 4);
    recording_done(&w);
}

/* The same five in one turn: none overtakes another. */
TEST(recorder_keeps_the_order_of_one_event)
{
    _cleanup_(object_unref_p) struct object *claim = a_claim("default", "db");
    struct recording w;

    recording_init(&w, RECORDER_CORE);
    for (unsigned i = 0; i < 5; i++)
        NOTE(&w, claim, "Waiting", "for a volume");
    assert_false(recorder_is_idle(w.recorder));
    recording_settle(&w);
    ASSERT_EVENTS(&w, 1);
    ASSERT_GOT(&w.served, "5", "items/0/count");
    ASSERT_INT(5, w.wire->started);
    ASSERT_STR("", buf_cstr(&w.log));
    recording_done(&w);
}

/* machinery-57 */
TEST(recorder_combines_similar_events)
{
    _cleanup_(object_unref_p) struct object *claim = a_claim("default", "db");
    struct recording w;
    unsigned combined = 0;

    recording_init(&w, RECORDER_CORE);
    for (unsigned i = 1; i <= 12; i++)
        NOTE(&w, claim, "Failed", "try %u", i);
    recording_settle(&w);
    ASSERT_EVENTS(&w, 10);
    for (unsigned i = 0; i < 10; i++) {
        char path[32];

        (void)snprintf(path, sizeof path, "items/%u/message", i);
        if (strcmp(got(&w.served, path), "(combined from similar events): try 12") == 0) {
            combined++;
            (void)snprintf(path, sizeof path, "items/%u/count", i);
            ASSERT_GOT(&w.served, "3", path);
        }
    }
    ASSERT_INT(1, combined);
    assert_outcome(&w, "created", 10);
    assert_outcome(&w, "patched", 2);
    assert_outcome(&w, "aggregated", 3);
    recording_done(&w);
}

/* machinery-58 */
TEST(recorder_filters_a_storm)
{
    _cleanup_(object_unref_p) struct object *claim = a_claim("default", "db");
    struct recording w;

    recording_init(&w, RECORDER_CORE);
    for (unsigned i = 1; i <= 30; i++) {
        char reason[16];

        (void)snprintf(reason, sizeof reason, "R%u", i);
        NOTE(&w, claim, reason, "m");
    }
    recording_settle(&w);
    ASSERT_EVENTS(&w, 25);
    assert_outcome(&w, "filtered", 5);
    served_pass(&w.served, 300);
    NOTE(&w, claim, "Later", "m");
    NOTE(&w, claim, "Latest", "m");
    recording_settle(&w);
    ASSERT_EVENTS(&w, 26);
    assert_outcome(&w, "created", 26);
    assert_outcome(&w, "filtered", 6);
    recording_done(&w);
}

/* machinery-59 */
TEST(recorder_makes_an_event_again_that_is_gone)
{
    _cleanup_(object_unref_p) struct object *claim = a_claim("default", "db");
    struct recording w;

    recording_init(&w, RECORDER_CORE);
    NOTE(&w, claim, "Waiting", "for a volume");
    NOTE(&w, claim, "Waiting", "for a volume");
    recording_settle(&w);
    served_pass(&w.served, EVENT_TTL_S + 600);
    ASSERT_EVENTS(&w, 0);
    NOTE(&w, claim, "Waiting", "for a volume");
    recording_settle(&w);
    ASSERT_EVENTS(&w, 1);
    ASSERT_GOT(&w.served, "3", "items/0/count");
    ASSERT_GOT(&w.served, "2023-11-14T22:13:20Z", "items/0/firstTimestamp");
    ASSERT_GOT(&w.served, "2023-11-14T23:23:20Z", "items/0/lastTimestamp");
    assert_outcome(&w, "created", 2);
    assert_outcome(&w, "failed", 0);
    ASSERT_STR("", buf_cstr(&w.log));
    recording_done(&w);
}

/* machinery-60 */
TEST(recorder_keeps_events_of_the_cluster_in_default)
{
    _cleanup_(object_unref_p) struct object *volume = NULL;
    struct recording w;

    recording_init(&w, RECORDER_CORE);
    volume = object_made(&w, KIND_VOLUME, VOLUMES, "{'metadata':{'name':'pv-1'}," VOLUME_SPEC "}");
    NOTE(&w, volume, "VolumeFailedDelete", "busy");
    recording_settle(&w);
    ASSERT_EVENTS(&w, 1);
    ASSERT_GOT(&w.served, "default", "items/0/metadata/namespace");
    ASSERT_GOT(&w.served, "PersistentVolume", "items/0/involvedObject/kind");
    ASSERT_GOT(&w.served, "-", "items/0/involvedObject/namespace");
    recording_done(&w);
}

/* Other namespaces keep their own, and other groups say their version. */
TEST(recorder_keeps_events_with_their_objects)
{
    _cleanup_(object_unref_p) struct object *claim = a_claim("shop", "db");
    _cleanup_(object_unref_p) struct object *class =
        object_of(KIND_CLASS, "{'metadata':{'name':'fast','uid':'u'},'provisioner':'x'}");
    struct recording w;

    recording_init(&w, RECORDER_CORE);
    ASSERT_SENT(&w.served, 201, "POST", NAMESPACES, "{'metadata':{'name':'shop'}}");
    NOTE(&w, claim, "Waiting", "for a volume");
    NOTE(&w, class, "Odd", "class");
    recording_settle(&w);
    ASSERT_SENT(&w.served, 200, "GET", NAMESPACES "/shop/events", NULL);
    ASSERT_INT(1, got_items(&w.served));
    ASSERT_EVENTS(&w, 1);
    ASSERT_GOT(&w.served, "storage.k8s.io/v1", "items/0/involvedObject/apiVersion");
    recording_done(&w);
}

/* machinery-61 */
TEST(recorder_is_quiet_about_namespaces_that_go)
{
    _cleanup_(object_unref_p) struct object *claim = a_claim("shop", "db");
    struct recording w;

    recording_init(&w, RECORDER_CORE);
    ASSERT_SENT(&w.served, 201, "POST", NAMESPACES, "{'metadata':{'name':'shop'}}");
    ASSERT_SENT(&w.served, 201, "POST", NAMESPACES "/shop/configmaps",
                "{'metadata':{'name':'stays','finalizers':['example.com/x']}}");
    ASSERT_SENT(&w.served, 200, "DELETE", NAMESPACES "/shop", NULL);
    NOTE(&w, claim, "Waiting", "for a volume");
    recording_settle(&w);
    ASSERT_SENT(&w.served, 200, "GET", NAMESPACES "/shop/events", NULL);
    ASSERT_INT(0, got_items(&w.served));
    ASSERT_INT(1, w.wire->started);
    assert_outcome(&w, "failed", 1);
    ASSERT_STR("", buf_cstr(&w.log));
    recording_done(&w);
}

/* What a server refuses is not sent again, and somebody hears of it. */
TEST(recorder_takes_no_for_an_answer)
{
    _cleanup_(object_unref_p) struct object *claim = a_claim("nowhere", "db");
    struct recording w;

    recording_init(&w, RECORDER_CORE);
    NOTE(&w, claim, "Waiting", "for a volume");
    recording_settle(&w);
    ASSERT_INT(1, w.wire->started);
    assert_outcome(&w, "failed", 1);
    assert_non_null(
        strstr(buf_cstr(&w.log), "ERROR event not written, giving up namespace=nowhere event=db."));
    recording_done(&w);
}

/* machinery-62 */
TEST(recorder_names_events_of_long_names_by_uuid)
{
    char name[251];
    struct object *claim;
    struct recording w;

    memset(name, 'a', 250);
    name[250] = '\0';
    claim = a_claim("default", name);
    recording_init(&w, RECORDER_CORE);
    NOTE(&w, claim, "Waiting", "for a volume");
    NOTE(&w, claim, "Waiting", "for a volume");
    recording_settle(&w);
    ASSERT_EVENTS(&w, 1);
    assert_true(uid_is_valid(str_of(got(&w.served, "items/0/metadata/name"))));
    ASSERT_GOT(&w.served, name, "items/0/involvedObject/name");
    ASSERT_GOT(&w.served, "2", "items/0/count");
    (void)object_unref(claim);
    recording_done(&w);
}

/* Time stands still here: without care each of them would have the same name. */
TEST(recorder_names_are_unique_in_one_moment)
{
    _cleanup_(object_unref_p) struct object *claim = a_claim("default", "db");
    struct recording w;
    struct recorder *first;
    struct recorder_options o;

    recording_init(&w, RECORDER_CORE);
    for (unsigned i = 0; i < 5; i++)
        NOTE(&w, claim, "R", "m%u", i);
    first = w.recorder;
    o = (struct recorder_options){ .loop = w.served.loop,
                                   .clock = &w.served.clock.clock,
                                   .client = w.client,
                                   .metrics = w.metrics, /* one family for both */
                                   .seed = 12,
                                   .component = "attachdetach-controller",
                                   .host = "" };
    ASSERT_OK(recorder_new(&o, &w.recorder, &err));
    for (unsigned i = 0; i < 5; i++)
        NOTE(&w, claim, "R", "m%u", i);
    recording_settle(&w);
    assert_true(recorder_is_idle(first));
    ASSERT_EVENTS(&w, 10);
    assert_outcome(&w, "created", 10);
    (void)recorder_free(first);
    recording_done(&w);
}

/* machinery-65, in the old dialect too. */
TEST(recorder_cuts_messages)
{
    _cleanup_(object_unref_p) struct object *claim = a_claim("default", "db");
    char text[3001];
    struct recording w;

    for (size_t i = 0; i < 1500; i++)
        memcpy(text + 2 * i, "\xc3\xa9", 2);
    text[3000] = '\0';
    recording_init(&w, RECORDER_CORE);
    NOTE(&w, claim, "R", "%s", text);
    NOTE(&w, claim, "S", "x%s: the cause", text);
    recording_settle(&w);
    ASSERT_EVENTS(&w, 2);
    /* Of 1021 bytes besides the three of the gap each end has its half, less what would be half a letter. */
    ASSERT_INT(1023, strlen(got(&w.served, "items/0/message")));
    assert_memory_equal(got(&w.served, "items/0/message"), text, 510);
    assert_memory_equal(got(&w.served, "items/0/message") + 510, "…", 3);
    assert_memory_equal(got(&w.served, "items/0/message") + 513, text, 510);
    ASSERT_INT(1023, strlen(got(&w.served, "items/1/message")));
    assert_true(str_has_suffix(str_of(got(&w.served, "items/1/message")), ": the cause"));
    recording_done(&w);
}

/* What is combined is no longer than the rest. */
TEST(recorder_cuts_combined_messages)
{
    _cleanup_(object_unref_p) struct object *claim = a_claim("default", "db");
    char text[3001];
    struct recording w;
    unsigned long longest = 0;

    memset(text, 'x', 3000);
    text[3000] = '\0';
    recording_init(&w, RECORDER_CORE);
    for (unsigned i = 0; i < 10; i++)
        NOTE(&w, claim, "R", "%u%s", i, text);
    recording_settle(&w);
    ASSERT_EVENTS(&w, 10);
    for (unsigned i = 0; i < 10; i++) {
        char path[32];

        (void)snprintf(path, sizeof path, "items/%u/message", i);
        if (strlen(got(&w.served, path)) > longest)
            longest = strlen(got(&w.served, path));
    }
    ASSERT_INT(1024, longest);
    recording_done(&w);
}

/* --- Nobody answers --- */

TEST(recorder_tries_twelve_times)
{
    _cleanup_(object_unref_p) struct object *claim = a_claim("default", "db");
    struct recording w;

    recording_init(&w, RECORDER_CORE);
    w.wire->mode = WIRE_DOWN;
    NOTE(&w, claim, "Waiting", "for a volume");
    served_settle(&w.served);
    ASSERT_INT(1, w.wire->started);
    served_pass(&w.served, 10); /* the first delay is anything up to that */
    ASSERT_INT(2, w.wire->started);
    for (unsigned tries = 3; tries <= RECORDER_TRIES_MAX; tries++) {
        served_pass(&w.served, 10);
        ASSERT_INT(tries, w.wire->started);
    }
    recording_settle(&w);
    served_pass(&w.served, 600);
    ASSERT_INT(RECORDER_TRIES_MAX, w.wire->started);
    assert_outcome(&w, "failed", 1);
    assert_non_null(strstr(buf_cstr(&w.log), "INFO event not written, will retry"));
    assert_non_null(strstr(buf_cstr(&w.log), "ERROR event not written, giving up"));
    recording_done(&w);
}

/* Whoever lost the server together does not come back together. */
TEST(recorder_first_delay_differs)
{
    _cleanup_(object_unref_p) struct object *claim = a_claim("default", "db");
    struct recording w;
    unsigned seconds;

    recording_init(&w, RECORDER_CORE);
    w.wire->mode = WIRE_DOWN;
    for (unsigned i = 0; i < 8; i++)
        NOTE(&w, claim, "R", "m%u", i);
    served_settle(&w.served);
    ASSERT_INT(8, w.wire->started);
    for (seconds = 0; w.wire->started == 8; seconds++)
        served_pass(&w.served, 1);
    assert_true(seconds < 10);
    assert_true(w.wire->started < 16); /* not all of them */
    served_pass(&w.served, 10 - seconds);
    assert_true(w.wire->started >= 16);
    recording_done(&w);
}

/* An answer is an answer. */
TEST(recorder_tries_once_when_it_is_answered)
{
    _cleanup_(object_unref_p) struct object *claim = a_claim("default", "db");
    struct recording w;

    recording_init(&w, RECORDER_CORE);
    w.wire->mode = WIRE_FULL;
    NOTE(&w, claim, "Waiting", "for a volume");
    recording_settle(&w);
    served_pass(&w.served, 60);
    ASSERT_INT(1, w.wire->started);
    assert_outcome(&w, "failed", 1);
    recording_done(&w);
}

TEST(recorder_writes_when_the_server_is_back)
{
    _cleanup_(object_unref_p) struct object *claim = a_claim("default", "db");
    struct recording w;

    recording_init(&w, RECORDER_CORE);
    w.wire->mode = WIRE_DOWN;
    NOTE(&w, claim, "Waiting", "for a volume");
    NOTE(&w, claim, "Waiting", "for a volume");
    served_pass(&w.served, 35);
    w.wire->mode = WIRE_OPEN;
    served_pass(&w.served, 10);
    recording_settle(&w);
    ASSERT_EVENTS(&w, 1);
    ASSERT_GOT(&w.served, "2", "items/0/count");
    ASSERT_GOT(&w.served, "2023-11-14T22:13:20Z", "items/0/lastTimestamp"); /* when it happened */
    recording_done(&w);
}

/* The event was made, and the answer lost: the next try finds it there, and that is well. */
TEST(recorder_finds_what_it_wrote)
{
    _cleanup_(object_unref_p) struct object *claim = a_claim("default", "db");
    struct recording w;

    recording_init(&w, RECORDER_CORE);
    w.wire->mode = WIRE_LOST;
    NOTE(&w, claim, "Waiting", "for a volume");
    served_settle(&w.served);
    w.wire->mode = WIRE_OPEN;
    served_pass(&w.served, 10);
    recording_settle(&w);
    ASSERT_INT(2, w.wire->started);
    ASSERT_EVENTS(&w, 1);
    assert_outcome(&w, "created", 1);
    assert_outcome(&w, "failed", 0);
    assert_null(strstr(buf_cstr(&w.log), "giving up"));
    recording_done(&w);
}

/* Of 50 objects, each within what may be written about it. */
static void storm(struct recording *w, unsigned events)
{
    for (unsigned i = 0; i < 50; i++) {
        char name[16];
        struct object *claim;

        (void)snprintf(name, sizeof name, "c%u", i);
        claim = a_claim("default", name);
        for (unsigned n = 0; n < events; n++) {
            char reason[16];

            (void)snprintf(reason, sizeof reason, "R%u", n);
            NOTE(w, claim, reason, "m");
        }
        (void)object_unref(claim);
    }
}

/* machinery-63 */
TEST(recorder_queue_is_bounded)
{
    struct recording w;

    recording_init(&w, RECORDER_CORE);
    w.wire->mode = WIRE_DOWN;
    storm(&w, 24);
    served_settle(&w.served);
    assert_outcome(&w, "dropped", 200);
    served_pass(&w.served, 60);         /* eight try, the others wait */
    ASSERT_INT(8 * 7, w.wire->started); /* at once, within ten seconds, then every ten */
    w.wire->mode = WIRE_OPEN;
    served_pass(&w.served, 10);
    recording_settle(&w);
    ASSERT_EVENTS(&w, RECORDER_QUEUE_MAX);
    assert_outcome(&w, "created", RECORDER_QUEUE_MAX);
    assert_outcome(&w, "failed", 0);
    /* Said once, not 200 times. */
    assert_non_null(strstr(buf_cstr(&w.log), "ERROR event queue full, dropping events"));
    assert_null(strstr(strstr(buf_cstr(&w.log), "ERROR event queue full, dropping events") + 1,
                       "ERROR event queue full, dropping events"));
    recording_done(&w);
}

/* --- Order and ends --- */

TEST(recorder_sends_a_few_at_once_and_one_for_each_event)
{
    _cleanup_(object_unref_p) struct object *claim = a_claim("default", "db");
    struct recording w;

    recording_init(&w, RECORDER_CORE);
    w.wire->mode = WIRE_HELD;
    for (unsigned i = 0; i < 3; i++)
        NOTE(&w, claim, "Same", "m");
    served_settle(&w.served);
    ASSERT_INT(1, w.wire->held_count);
    for (unsigned i = 0; i < 9; i++)
        NOTE(&w, claim, "Other", "m%u", i);
    served_settle(&w.served);
    ASSERT_INT(8, w.wire->held_count);
    wire_release(&w);
    recording_settle(&w);
    ASSERT_EVENTS(&w, 10);
    assert_outcome(&w, "created", 10);
    assert_outcome(&w, "patched", 2);
    recording_done(&w);
}

/* A server in the same process commits together what it is asked together. Each of a controller's keys has
 * one event for each request of its own, so a backlog of any length loses none. */
TEST(recorder_sends_many_at_once_to_a_server_in_process)
{
    const unsigned waves = 8;
    struct recording w;

    recording_init(&w, RECORDER_CORE);
    recorder_free(w.recorder);
    w.is_local = true;
    recorder_start(&w, RECORDER_CORE, "persistentvolume-controller");
    for (unsigned wave = 0; wave < waves; wave++) {
        w.wire->mode = WIRE_HELD;
        for (unsigned i = 0; i < RECORDER_LOCAL_MAX + 10; i++) {
            char name[16];
            struct object *claim;

            (void)snprintf(name, sizeof name, "c%u-%u", wave, i);
            claim = a_claim("default", name);
            NOTE(&w, claim, "Bound", "to a volume");
            (void)object_unref(claim);
        }
        served_settle(&w.served);
        ASSERT_INT(RECORDER_LOCAL_MAX, w.wire->held_count);
        wire_release(&w);
    }
    recording_settle(&w);
    assert_outcome(&w, "created", waves * (RECORDER_LOCAL_MAX + 10)); /* twice what the queue holds */
    assert_outcome(&w, "dropped", 0);
    recording_done(&w);
}

/* Requests for one event never leave side by side, and in their order, however many there are. */
TEST(recorder_keeps_the_order_of_many)
{
    struct object *claims[3];
    struct recording w;

    recording_init(&w, RECORDER_CORE);
    w.wire->mode = WIRE_HELD;
    for (unsigned i = 0; i < 3; i++) {
        char name[8];

        (void)snprintf(name, sizeof name, "c%u", i);
        claims[i] = a_claim("default", name);
    }
    for (unsigned n = 0; n < 20; n++)
        for (unsigned i = 0; i < 3; i++)
            NOTE(&w, claims[i], "Same", "m");
    served_settle(&w.served);
    ASSERT_INT(3, w.wire->held_count);
    wire_release(&w);
    recording_settle(&w);
    ASSERT_EVENTS(&w, 3);
    assert_outcome(&w, "created", 3);
    assert_outcome(&w, "patched", 3 * 19);
    for (unsigned i = 0; i < 3; i++)
        ASSERT_GOT(&w.served, "20", i == 0 ? "items/0/count" : i == 1 ? "items/1/count" : "items/2/count");
    recording_done(&w);
    for (unsigned i = 0; i < 3; i++)
        (void)object_unref(claims[i]);
}

/* A crash at any moment: nothing is sent, nothing is left behind (the loop would say so). */
TEST(recorder_can_go_at_any_time)
{
    static const enum wire_mode modes[] = { WIRE_OPEN, WIRE_DOWN, WIRE_HELD };
    _cleanup_(object_unref_p) struct object *claim = a_claim("default", "db");

    for (size_t m = 0; m < ARRAY_LEN(modes); m++)
        for (unsigned turns = 0; turns < 12; turns++) {
            struct recording w;
            unsigned started;

            recording_init(&w, RECORDER_CORE);
            w.wire->mode = modes[m];
            for (unsigned i = 0; i < 20; i++)
                NOTE(&w, claim, "R", "m%u", i % 10);
            for (unsigned i = 0; i < turns; i++)
                (void)loop_poll(w.served.loop);
            w.recorder = recorder_free(w.recorder);
            started = w.wire->started;
            served_pass(&w.served, 60);
            ASSERT_INT(started, w.wire->started);
            recording_done(&w);
        }
}

static bool closed(void *ctx, struct error *e)
{
    (void)ctx;
    (void)error_set(e, ERR_CANCELLED, "not the leader");
    return false;
}

/* Who may not write any more gives up at once, and says nothing. */
TEST(recorder_keeps_to_the_gate)
{
    _cleanup_(object_unref_p) struct object *claim = a_claim("default", "db");
    struct recording w;

    recording_init(&w, RECORDER_CORE);
    client_set_gate(w.client, closed, NULL);
    NOTE(&w, claim, "Waiting", "for a volume");
    recording_settle(&w);
    ASSERT_INT(0, w.wire->started);
    assert_outcome(&w, "failed", 1);
    ASSERT_STR("", buf_cstr(&w.log));
    recording_done(&w);
}

/* The same seed and the same events: the same requests. */
TEST(recorder_replays)
{
    _cleanup_(buf_done_p) struct buf first = BUF_INIT(1 << 20);

    for (unsigned run = 0; run < 2; run++) {
        struct recording w;

        recording_init(&w, RECORDER_CORE);
        storm(&w, 5);
        w.wire->mode = WIRE_DOWN;
        served_pass(&w.served, 20);
        w.wire->mode = WIRE_OPEN;
        served_pass(&w.served, 20);
        recording_settle(&w);
        if (run == 0)
            buf_add_str(&first, buf_str(&w.wire->log));
        else
            ASSERT_STR(buf_cstr(&first), buf_cstr(&w.wire->log));
        recording_done(&w);
    }
}

TEST(recorder_without_metrics)
{
    _cleanup_(object_unref_p) struct object *claim = a_claim("default", "db");
    struct recording w;

    recording_init(&w, RECORDER_CORE);
    (void)recorder_free(w.recorder);
    w.metrics = metrics_free(w.metrics);
    recorder_start(&w, RECORDER_CORE, "x");
    NOTE(&w, claim, "Waiting", "for a volume");
    recording_settle(&w);
    ASSERT_EVENTS(&w, 1);
    recording_done(&w);
}

TEST_MAIN()

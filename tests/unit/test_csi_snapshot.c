/* The snapshotter of a CSI driver on the real API core, with a driver in this process: csi-26, csi-28, csi-29
 * and csi-30, as far as they are the driver's. The tests write what the snapshot-controller would. */
#include "tests/unit/test_csi_part.h"

#include "controllers/csi/csi_snapshot_plan.h"

#define SECRETS "/api/v1/namespaces/default/secrets"
#define RECORDS "/api/v1/namespaces/default/configmaps"
#define RECORD RECORDS "/berth-csi-snapshots-" FAKE_DRIVER
#define C1 SNAPSHOT_CONTENTS "/snapcontent-u1"
#define P "csi.storage.k8s.io/"
#define GIB INT64_C(1073741824)
#define MARKED "{'" ANN_SNAPSHOT_BEING_CREATED "':'yes'}"
#define TYPE(kind) "{'apiVersion':'snapshot.storage.k8s.io/v1','kind':'" kind "',"
#define CONTENT_HEAD TYPE("VolumeSnapshotContent") "'metadata':{'name':'snapcontent-u1'"
#define REF "'volumeSnapshotRef':{'kind':'VolumeSnapshot','namespace':'default','name':'s1'"

static void put_class(struct parts *w, const char *parameters)
{
    char body[1024];

    (void)snprintf(body, sizeof body,
                   TYPE("VolumeSnapshotClass") "'metadata':{'name':'c'},'driver':'" FAKE_DRIVER
                                               "','deletionPolicy':'Delete','parameters':{%s}}",
                   parameters);
    ASSERT_SENT(&w->served, 201, "POST", SNAPSHOT_CLASSES, body);
}

/* A dynamic content of volume v1. meta: more members of the metadata. */
static void put_content(struct parts *w, const char *policy, const char *meta)
{
    char body[2048];

    (void)snprintf(body, sizeof body,
                   CONTENT_HEAD "%s},'spec':{" REF ",'uid':'u1'},'deletionPolicy':'%s','driver':'" FAKE_DRIVER
                                "','volumeSnapshotClassName':'c','source':{'volumeHandle':'v1'},"
                                "'sourceVolumeMode':'Filesystem'}}",
                   meta, policy);
    ASSERT_SENT(&w->served, 201, "POST", SNAPSHOT_CONTENTS, body);
}

/* A content for a snapshot of the driver. more: of the reference. */
static void put_given(struct parts *w, const char *policy, const char *more, const char *handle)
{
    char body[2048];

    (void)snprintf(body, sizeof body,
                   CONTENT_HEAD "},'spec':{" REF "%s},'deletionPolicy':'%s','driver':'" FAKE_DRIVER
                                "','source':{'snapshotHandle':'%s'}}}",
                   more, policy, handle);
    ASSERT_SENT(&w->served, 201, "POST", SNAPSHOT_CONTENTS, body);
}

/* As the snapshot-controller does when the snapshot is deleted. */
static void delete_content(struct parts *w)
{
    ASSERT_SENT(&w->served, 200, "MERGE", C1,
                "{'metadata':{'annotations':{'" ANN_SNAPSHOT_BEING_DELETED "':'yes'}}}");
    ASSERT_SENT(&w->served, 200, "DELETE", C1, NULL);
}

static void begin(struct parts *w, void (*on_made)(struct fake_csi *f))
{
    settings = (struct csi_driver_settings){ 0 };
    the_function = &csi_snapshotter_type;
    fake_on_made = on_made;
    parts_init(w, &csi_part);
    (void)fake_csi_add(fake_of_parts(), "v1", GIB);
    put_class(w, "'a':'1'");
    parts_rest(w);
    buf_clear(&w->log);
}

static void end(struct parts *w)
{
    assert_careful(fake_of_parts());
    assert_null(the_function->check(((struct part *)w->part)->function));
    parts_done(w);
    fake_on_made = NULL;
}

/* --- Creation --- */

/* csi-26 */
TEST(snapshot_is_taken_and_reported)
{
    struct parts w;

    begin(&w, NULL);
    put_content(&w, "Delete", "");
    parts_rest(&w);
    assert_asked(&w, "POST " RECORDS "\nPATCH " C1 "\nPATCH " C1 "/status\nPATCH " C1 "\nPATCH " RECORD
                     "\n"); /* the record before the call, and its end after it */
    assert_called(fake_of_parts(), "CreateSnapshot snapshot-u1 OK\n");
    ASSERT_STR("name=snapshot-u1 source=v1 p.a=1 ", fake_of_parts()->last);
    ASSERT_THERE(&w,
                 "{'snapshotHandle':'snapshot-u1','creationTime':1700000000000000000,"
                 "'restoreSize':1073741824,'readyToUse':true}",
                 C1, "status");
    ASSERT_GOT(&w.served, "['" FINALIZER_SNAPSHOT_CONTENT "']", "metadata/finalizers");
    ASSERT_GOT(&w.served, "-", "metadata/annotations");
    parts_settle(&w);
    assert_asked(&w, ""); /* at rest */
    end(&w);
}

static void take_time(struct fake_csi *f)
{
    f->snapshot_polls = 3;
}

/* csi-26: CreateSnapshot is the question whether it is ready. */
TEST(snapshot_that_takes_time_is_asked_for_again)
{
    struct parts w;

    begin(&w, take_time);
    put_content(&w, "Delete", "");
    parts_rest(&w);
    ASSERT_THERE(&w, "false", C1, "status/readyToUse");
    ASSERT_GOT(&w.served, "snapshot-u1", "status/snapshotHandle");
    ASSERT_GOT(&w.served, "-", "metadata/annotations");
    buf_clear(&w.log);
    parts_pass_ns(&w, NS_PER_S);
    parts_pass_ns(&w, 2 * NS_PER_S);
    assert_asked(&w, ""); /* nothing is written for an answer that says nothing new */
    assert_int_equal(count_calls("CreateSnapshot"), 3);
    parts_pass_ns(&w, 4 * NS_PER_S);
    ASSERT_THERE(&w, "true", C1, "status/readyToUse");
    parts_settle(&w);
    assert_int_equal(count_calls("CreateSnapshot"), 4);
    end(&w);
}

/* csi-26: parameters, extra metadata, secrets (csi-37: as they are at each call). */
TEST(request_follows_from_class_and_content)
{
    struct parts w;

    begin(&w, NULL);
    process_kill(&w);
    settings.has_extra_metadata = true;
    process_start(&w);
    ASSERT_SENT(&w.served, 200, "MERGE", SNAPSHOT_CLASSES "/c",
                "{'parameters':{'" P "snapshotter-secret-name':'s','" P "snapshotter-secret-namespace':"
                "'default','" P "snapshotter-list-secret-name':'s','" P
                "snapshotter-list-secret-namespace':'default'}}");
    put_content(&w, "Delete",
                ",'annotations':{'" ANN_SNAPSHOT_SECRET_NAME "':'s','" ANN_SNAPSHOT_SECRET_NAMESPACE
                "':'default'}");
    parts_rest(&w);
    ASSERT_THERE(&w,
                 "Failed to create snapshot: error getting secret s in namespace default: secrets \"s\" not "
                 "found",
                 C1, "status/error/message");
    ASSERT_GOT(&w.served,
               "{'" ANN_SNAPSHOT_SECRET_NAME "':'s','" ANN_SNAPSHOT_SECRET_NAMESPACE "':'default'}",
               "metadata/annotations"); /* nothing was called, and nothing is marked */
    ASSERT_SENT(&w.served, 201, "POST", SECRETS, "{'metadata':{'name':'s'},'stringData':{'k':'first'}}");
    parts_pass_ns(&w, NS_PER_S);
    ASSERT_STR("name=snapshot-u1 source=v1 p.a=1 p." P "volumesnapshot/name=s1 p." P
               "volumesnapshot/namespace=default p." P "volumesnapshotcontent/name=snapcontent-u1 "
               "secret.k=first ",
               fake_of_parts()->last);
    ASSERT_THERE(&w, "-", C1, "status/error");
    ASSERT_SENT(&w.served, 200, "MERGE", SECRETS "/s", "{'stringData':{'k':'second'}}");
    delete_content(&w);
    parts_rest(&w);
    ASSERT_STR("id=snapshot-u1 secret.k=second ", fake_of_parts()->last);
    ASSERT_GONE(&w, C1);
    end(&w);
}

TEST(unknown_parameter_and_missing_class_are_refused_without_a_call)
{
    struct parts w;

    begin(&w, NULL);
    ASSERT_SENT(&w.served, 200, "MERGE", SNAPSHOT_CLASSES "/c", "{'parameters':{'" P "other':'x'}}");
    put_content(&w, "Delete", "");
    parts_rest(&w);
    ASSERT_THERE(&w,
                 "Failed to create snapshot: failed to remove CSI Parameters of prefixed keys: found unknown "
                 "parameter key \"" P "other\" with reserved namespace " P,
                 C1, "status/error/message");
    ASSERT_SENT(&w.served, 200, "DELETE", SNAPSHOT_CLASSES "/c", NULL);
    parts_settle(&w);
    ASSERT_THERE(&w,
                 "Failed to check and update snapshot content: failed to get input parameters to create "
                 "snapshot for content snapcontent-u1: \"failed to retrieve snapshot class c from the "
                 "informer\"",
                 C1, "status/error/message");
    ASSERT_GOT(&w.served, "false", "status/readyToUse");
    assert_called(fake_of_parts(), "");
    put_class(&w, "");
    parts_settle(&w);
    ASSERT_THERE(&w, "true", C1, "status/readyToUse");
    ASSERT_GOT(&w.served, "-", "status/error");
    end(&w);
}

TEST(contents_of_other_drivers_and_groups_are_left_alone)
{
    struct parts w;

    begin(&w, NULL);
    ASSERT_SENT(&w.served, 201, "POST", SNAPSHOT_CONTENTS,
                TYPE("VolumeSnapshotContent") "'metadata':{'name':'other'},'spec':{" REF
                                              ",'uid':'u2'},'deletionPolicy':'Delete','driver':"
                                              "'other.csi','volumeSnapshotClassName':'c','source':{'"
                                              "volumeHandle':'v1'}}}");
    put_content(&w, "Delete", ",'annotations':{'" ANN_GROUP_SNAPSHOT_HANDLE "':'g'}");
    parts_settle(&w);
    assert_asked(&w, "");
    assert_called(fake_of_parts(), "");
    end(&w);
}

/* --- Failures --- */

/* csi-26: an end that is known removes the mark, another one leaves it; the report starts nothing. */
TEST(failure_is_reported_and_tried_later)
{
    static const struct {
        enum rpc_code code;
        const char *mark;
    } rows[] = {
        { RPC_INTERNAL, "-" },   { RPC_INVALID_ARGUMENT, "-" },      { RPC_DEADLINE_EXCEEDED, MARKED },
        { RPC_ABORTED, MARKED }, { RPC_RESOURCE_EXHAUSTED, MARKED }, { RPC_UNAVAILABLE, MARKED }
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct csi_work_state state;
        const struct object *o;
        char message[256];
        struct parts w;

        begin(&w, NULL);
        fail_next("CreateSnapshot", rows[i].code, "busy", 2);
        put_content(&w, "Delete", "");
        parts_rest(&w);
        (void)snprintf(message, sizeof message,
                       "Failed to create snapshot: failed to take snapshot of the volume v1: \"rpc error: "
                       "code = %s desc = busy\"",
                       rpc_code_name(rows[i].code));
        ASSERT_THERE(&w, message, C1, "status/error/message");
        ASSERT_GOT(&w.served, "false", "status/readyToUse");
        ASSERT_GOT(&w.served, rows[i].mark, "metadata/annotations");
        assert_int_equal(count_calls("CreateSnapshot"), 1);
        ASSERT_EVENT(&w, "Warning", "SnapshotCreationFailed", message);
        o = informer_get(informers_get(w.informers, KIND_SNAPSHOT_CONTENT, &err), "", "snapcontent-u1");
        assert_true(the_function->explain(((struct part *)w.part)->function, o, &state));
        ASSERT_STR(message, state.last_error);
        assert_int_equal(state.next_try_ns, w.served.clock.mono_ns + NS_PER_S);
        parts_pass_ns(&w, NS_PER_S);
        assert_int_equal(count_calls("CreateSnapshot"), 2);
        (void)snprintf(message, sizeof message,
                       "Failed to check and update snapshot content: failed to take snapshot of the volume "
                       "v1: \"rpc error: code = %s desc = busy\"",
                       rpc_code_name(rows[i].code));
        ASSERT_EVENT(&w, "Warning", "SnapshotContentCheckandUpdateFailed", message);
        parts_settle(&w);
        ASSERT_THERE(&w, "true", C1, "status/readyToUse");
        ASSERT_GOT(&w.served, "-", "status/error");
        ASSERT_GOT(&w.served, "-", "metadata/annotations");
        end(&w);
    }
}

static bool answer_nothing(struct fake_csi *f, struct fake_request *q)
{
    (void)f;
    return strcmp(q->method, "CreateSnapshot") == 0;
}

TEST(answer_without_a_handle_is_no_end)
{
    struct parts w;

    begin(&w, NULL);
    fake_of_parts()->serve = answer_nothing;
    put_content(&w, "Delete", "");
    parts_rest(&w);
    ASSERT_THERE(&w, MARKED, C1, "metadata/annotations");
    ASSERT_GOT(&w.served,
               "Failed to create snapshot: driver answered CreateSnapshot without a valid snapshot_id",
               "status/error/message");
    fake_of_parts()->serve = NULL;
    parts_settle(&w);
    ASSERT_THERE(&w, "true", C1, "status/readyToUse");
    end(&w);
}

/* --- Pre-provisioned --- */

/* csi-28 */
TEST(given_snapshot_is_found)
{
    struct parts w;

    begin(&w, NULL);
    fake_csi_add_snapshot(fake_of_parts(), "h", "v1")->polls = 1;
    put_given(&w, "Retain", "", "h");
    parts_rest(&w);
    ASSERT_THERE(&w, "false", C1, "status/readyToUse");
    ASSERT_GOT(&w.served, "h", "status/snapshotHandle");
    parts_settle(&w);
    ASSERT_THERE(&w,
                 "{'snapshotHandle':'h','creationTime':1700000000000000000,"
                 "'restoreSize':1073741824,'readyToUse':true}",
                 C1, "status");
    assert_called(fake_of_parts(), "ListSnapshots h OK\nListSnapshots h OK\n");
    end(&w);
}

/* csi-28: it is looked for until it is there. */
TEST(given_snapshot_that_is_missing_is_reported)
{
    struct parts w;

    begin(&w, NULL);
    put_given(&w, "Retain", "", "h");
    parts_rest(&w);
    ASSERT_EVENT(&w, "Warning", "SnapshotCreationFailed",
                 "Failed to create snapshot: can not find snapshot for snapshotID h");
    (void)fake_csi_add_snapshot(fake_of_parts(), "h", "v1");
    parts_settle(&w);
    ASSERT_THERE(&w, "true", C1, "status/readyToUse");
    ASSERT_GOT(&w.served, "-", "status/error");
    end(&w);
}

/* A driver that ignores what it is asked for. */
static bool list_everything(struct fake_csi *f, struct fake_request *q)
{
    Csi__V1__ListSnapshotsResponse out;
    Csi__V1__ListSnapshotsResponse__Entry entries[2], *list[2];
    Csi__V1__Snapshot snapshots[2];

    (void)f;
    if (strcmp(q->method, "ListSnapshots") != 0)
        return false;
    csi__v1__list_snapshots_response__init(&out);
    for (size_t i = 0; i < ARRAY_LEN(entries); i++) {
        csi__v1__list_snapshots_response__entry__init(&entries[i]);
        csi__v1__snapshot__init(&snapshots[i]);
        snapshots[i].snapshot_id = (char *)(uintptr_t)(i == 0 ? "other" : "h");
        snapshots[i].size_bytes = (int64_t)i + 1;
        snapshots[i].ready_to_use = true;
        entries[i].snapshot = &snapshots[i];
        list[i] = &entries[i];
    }
    out.entries = list;
    out.n_entries = ARRAY_LEN(list);
    assert_int_equal(rpc_message_pack(&out.base, &q->answer, &err), 0);
    return true;
}

TEST(given_snapshot_is_found_among_others)
{
    struct parts w;

    begin(&w, NULL);
    fake_of_parts()->serve = list_everything;
    put_given(&w, "Retain", "", "h");
    parts_rest(&w);
    ASSERT_THERE(&w, "2", C1, "status/restoreSize");
    end(&w);
}

static void list_nothing(struct fake_csi *f)
{
    f->controller &= ~FAKE_BIT(6);
}

TEST(driver_that_cannot_list_has_every_given_snapshot)
{
    struct parts w;

    begin(&w, list_nothing);
    put_given(&w, "Retain", "", "h");
    parts_rest(&w);
    assert_called(fake_of_parts(), "");
    ASSERT_THERE(&w, "{'snapshotHandle':'h','creationTime':1700000000000000000,'readyToUse':true}", C1,
                 "status");
    end(&w);
}

/* --- Deletion --- */

static void delete_under_policy(const char *policy, const char *calls, unsigned left)
{
    struct parts w;

    begin(&w, NULL);
    put_content(&w, policy, "");
    parts_rest(&w);
    buf_clear(&fake_of_parts()->log);
    delete_content(&w);
    parts_settle(&w);
    ASSERT_GONE(&w, C1);
    assert_called(fake_of_parts(), calls);
    assert_int_equal(fake_csi_count_snapshots(fake_of_parts()), left);
    end(&w);
}

/* csi-29 */
TEST(snapshot_is_deleted_or_retained)
{
    delete_under_policy("Delete", "DeleteSnapshot snapshot-u1 OK\n", 0);
    delete_under_policy("Retain", "", 1);
}

/* csi-29: a content that is deleted by hand keeps its snapshot until the snapshot-controller agrees. */
TEST(content_is_not_deleted_without_its_snapshot)
{
    struct parts w;

    begin(&w, NULL);
    put_content(&w, "Delete", "");
    parts_rest(&w);
    ASSERT_DONE(&w, 200, "DELETE", C1, NULL);
    ASSERT_THERE(&w, "snapshot-u1", C1, "status/snapshotHandle");
    assert_int_equal(fake_csi_count_snapshots(fake_of_parts()), 1);
    ASSERT_DONE(&w, 200, "MERGE", C1,
                "{'metadata':{'annotations':{'" ANN_SNAPSHOT_BEING_DELETED "':'yes'}}}");
    ASSERT_GONE(&w, C1);
    assert_int_equal(fake_csi_count_snapshots(fake_of_parts()), 0);
    end(&w);
}

/* csi-28: one that nobody is bound to is deleted by whoever deletes it. */
TEST(given_content_without_a_snapshot_is_deleted)
{
    struct parts w;

    begin(&w, NULL);
    (void)fake_csi_add_snapshot(fake_of_parts(), "h", "v1");
    put_given(&w, "Delete", "", "h");
    ASSERT_SENT(&w.served, 200, "MERGE", C1,
                "{'metadata':{'finalizers':['" FINALIZER_SNAPSHOT_CONTENT "']}}");
    parts_rest(&w);
    ASSERT_DONE(&w, 200, "DELETE", C1, NULL);
    ASSERT_GONE(&w, C1);
    assert_int_equal(fake_csi_count_snapshots(fake_of_parts()), 0);
    end(&w);
}

TEST(failed_deletion_is_told_and_repeated)
{
    struct parts w;

    begin(&w, NULL);
    put_content(&w, "Delete", "");
    parts_rest(&w);
    fail_next("DeleteSnapshot", RPC_FAILED_PRECONDITION, "in use", 2);
    delete_content(&w);
    parts_rest(&w);
    ASSERT_EVENT(&w, "Warning", "SnapshotDeleteError",
                 "Failed to delete snapshot: rpc error: code = FailedPrecondition desc = in use");
    ASSERT_THERE(&w, "snapshot-u1", C1, "status/snapshotHandle");
    parts_settle(&w);
    ASSERT_GONE(&w, C1);
    end(&w);
}

/* csi-30: whatever the driver says in the end, and whether it has taken the snapshot or not. */
TEST(deletion_waits_for_the_end_of_a_creation)
{
    for (unsigned is_final = 0; is_final < 2; is_final++) {
        struct parts w;

        begin(&w, NULL);
        fail_next("CreateSnapshot", RPC_DEADLINE_EXCEEDED, "slow", 3);
        put_content(&w, "Delete", "");
        parts_rest(&w);
        delete_content(&w);
        parts_rest(&w);
        ASSERT_THERE(&w, "{'" ANN_SNAPSHOT_BEING_CREATED "':'yes','" ANN_SNAPSHOT_BEING_DELETED "':'yes'}",
                     C1, "metadata/annotations");
        if (is_final)
            fail_next("CreateSnapshot", RPC_INTERNAL, "broken", 1);
        else
            (void)fake_csi_add_snapshot(fake_of_parts(), "other", "v1");
        parts_settle(&w);
        ASSERT_GONE(&w, C1);
        assert_int_equal(count_calls("DeleteSnapshot snapshot-u1"), is_final ? 0 : 1);
        assert_null(fake_csi_snapshot(fake_of_parts(), "snapshot-u1"));
        end(&w);
    }
}

/* csi-30: somebody removes the finalizer by hand; the record knows of the snapshot, after a restart, too. */
TEST(snapshot_of_a_content_that_is_gone_is_deleted)
{
    for (unsigned is_killed = 0; is_killed < 2; is_killed++) {
        struct parts w;

        begin(&w, NULL);
        fail_next("CreateSnapshot", RPC_DEADLINE_EXCEEDED, "slow",
                  is_killed ? 1 : 2); /* a deletion tries at once */
        put_content(&w, "Delete", "");
        parts_rest(&w);
        if (is_killed)
            process_kill(&w);
        ASSERT_SENT(&w.served, 200, "DELETE", C1, NULL);
        ASSERT_SENT(&w.served, 200, "MERGE", C1, "{'metadata':{'finalizers':null}}");
        ASSERT_GONE(&w, C1);
        if (is_killed)
            process_start(&w);
        parts_settle(&w);
        assert_int_equal(count_calls("CreateSnapshot snapshot-u1 OK"), 1);
        assert_int_equal(count_calls("DeleteSnapshot snapshot-u1 OK"), 1);
        assert_int_equal(fake_csi_count_snapshots(fake_of_parts()), 0);
        ASSERT_THERE(&w, "-", RECORD, "data");
        end(&w);
    }
}

/* csi-30: the class is not needed for a snapshot that nobody wants. */
TEST(creation_of_a_deleted_class_is_brought_to_its_end)
{
    struct parts w;

    begin(&w, NULL);
    ASSERT_SENT(&w.served, 200, "MERGE", SNAPSHOT_CLASSES "/c", "{'parameters':null}");
    fail_next("CreateSnapshot", RPC_DEADLINE_EXCEEDED, "slow", 1);
    put_content(&w, "Delete", "");
    parts_rest(&w);
    ASSERT_SENT(&w.served, 200, "DELETE", SNAPSHOT_CLASSES "/c", NULL);
    delete_content(&w);
    parts_settle(&w);
    ASSERT_GONE(&w, C1);
    assert_int_equal(fake_csi_count_snapshots(fake_of_parts()), 0);
    end(&w);
}

/* csi-30: nothing is begun for a content that is deleted before its turn. */
TEST(nothing_is_taken_for_a_deleted_content)
{
    struct parts w;

    begin(&w, NULL);
    process_kill(&w);
    put_content(&w, "Delete", ",'finalizers':['example.com/other','" FINALIZER_SNAPSHOT_CONTENT "']");
    delete_content(&w);
    process_start(&w);
    parts_settle(&w);
    assert_called(fake_of_parts(), "");
    ASSERT_THERE(&w, "['example.com/other']", C1, "metadata/finalizers");
    end(&w);
}

/* --- Whatever goes wrong --- */

static void prepare_snapshots(struct parts *w)
{
    (void)fake_csi_add(fake_of_parts(), "v1", GIB);
    put_class(w, "'a':'1'");
    ASSERT_SENT(&w->served, 201, "POST", SECRETS, "{'metadata':{'name':'s'},'stringData':{'k':'x'}}");
}

static void take_snapshot(struct parts *w)
{
    prepare_snapshots(w);
    fake_of_parts()->snapshot_polls = 1;
    put_content(w, "Delete",
                ",'annotations':{'" ANN_SNAPSHOT_SECRET_NAME "':'s','" ANN_SNAPSHOT_SECRET_NAMESPACE
                "':'default'}");
    parts_settle(w);
}

static void take_and_delete_snapshot(struct parts *w)
{
    take_snapshot(w);
    delete_content(w);
    parts_settle(w);
}

/* The finalizer is removed by hand while the snapshot is taken. */
static void drop_content(struct parts *w)
{
    prepare_snapshots(w);
    fake_of_parts()->delay_ns = 2 * NS_PER_S;
    put_content(w, "Delete", "");
    parts_rest(w);
    ASSERT_SENT(&w->served, 200, "DELETE", C1, NULL); /* is all, when the finalizer could not be written */
    (void)send_request(&w->served, "MERGE", C1, "{'metadata':{'finalizers':null}}");
    ASSERT_GONE(w, C1);
    parts_settle(w);
    parts_settle(w);
}

/* The deletion arrives while the snapshot is taken. */
static void delete_snapshot_early(struct parts *w)
{
    prepare_snapshots(w);
    fake_of_parts()->delay_ns = 2 * NS_PER_S;
    put_content(w, "Delete", "");
    parts_rest(w);
    delete_content(w);
    parts_settle(w);
    parts_settle(w);
}

static void find_and_retain_snapshot(struct parts *w)
{
    prepare_snapshots(w);
    if (!fake_csi_snapshot(fake_of_parts(), "h"))
        (void)fake_csi_add_snapshot(fake_of_parts(), "h", "v1");
    put_given(w, "Retain", ",'uid':'u1'", "h");
    parts_settle(w);
}

/* csi-26, csi-28 to csi-30: every request and every call fails once in every way, and the process ends behind
 * each. */
TEST(faults_change_nothing_in_the_end)
{
    settings = (struct csi_driver_settings){ 0 };
    the_function = &csi_snapshotter_type;
    assert_all_ends_the_same(&csi_part, take_snapshot);
    assert_all_ends_the_same(&csi_part, take_and_delete_snapshot);
    assert_all_ends_the_same(&csi_part, delete_snapshot_early);
    assert_all_ends_the_same(&csi_part, drop_content);
    assert_all_ends_the_same(&csi_part, find_and_retain_snapshot);
}

/* csi-10, csi-34: the driver ends in the middle of a call. */
TEST(driver_that_ends_in_a_call_is_asked_again)
{
    struct parts w;

    begin(&w, NULL);
    fake_of_parts()->held = "CreateSnapshot";
    put_content(&w, "Delete", "");
    parts_rest(&w);
    fake_csi_end(fake_of_parts());
    parts_rest(&w);
    fake_of_parts()->held = NULL;
    fake_csi_begin(fake_of_parts());
    parts_settle(&w);
    ASSERT_THERE(&w, "true", C1, "status/readyToUse");
    assert_int_equal(fake_csi_count_snapshots(fake_of_parts()), 1);
    end(&w);
}

TEST_MAIN()

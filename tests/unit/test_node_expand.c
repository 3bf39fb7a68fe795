/* The last step of growth, on the node: the decisions as a table, and whole runs against the API server with
 * a plugin that does what it is told; one of them real. */
/* First: it has errors of its own. */
#include "tests/unit/test_mounts.h"

#include "tests/unit/test_node_hand.h"

#include <semaphore.h>
#include <sys/statvfs.h>

#include "node/node_expand.h"
#include "node/node_expand_int.h"
#include "plugins/builtin.h"

#define CLAIM CLAIMS "/c"
#define HOST_PATH_2GI "'capacity':{'storage':'2Gi'},'hostPath':{'path':'/x'}"
#define RWO_2GI "'accessModes':['ReadWriteOnce'],'resources':{'requests':{'storage':'2Gi'}}"
#define RWX_2GI "'accessModes':['ReadWriteMany'],'resources':{'requests':{'storage':'2Gi'}}"
#define TO_2GI "'capacity':{'storage':'1Gi'},'allocatedResources':{'storage':'2Gi'}"
#define AT(status) ",'allocatedResourceStatuses':{'storage':'" status "'}"
#define PENDING TO_2GI AT("NodeResizePending")
#define GROWN "'capacity':{'storage':'2Gi'},'allocatedResources':{'storage':'2Gi'}"
#define SUCCEEDED "MountVolume.NodeExpandVolume succeeded for volume \"pv\" n1"

/* --- The plugin --- */

static struct script {
    enum err fails_with; /* from here on */
    bool is_blank;       /* there is nothing to grow yet */
    bool is_gated;       /* it waits for the gate */
    sem_t gate;
    unsigned calls;
    uint64_t new_bytes, old_bytes;
    char mount_path[64];
} script;

static int scripted_grow(const struct volume_plugin *self, const struct volume_env *env,
                         const struct expand_request *q, bool *ret_done, struct error *e)
{
    (void)self;
    assert(env->stop && env->stop == env->tools.stop);
    assert(strcmp(spec_name(&q->spec), "pv") == 0);
    if (script.is_gated)
        (void)sem_wait(&script.gate);
    script.calls++;
    script.new_bytes = q->new_bytes;
    script.old_bytes = q->old_bytes;
    (void)snprintf(script.mount_path, sizeof script.mount_path, "%s", q->mount_path);
    if (script.fails_with)
        return error_set(e, script.fails_with, "no \"luck\"");
    *ret_done = !script.is_blank;
    return 0;
}

static const struct expand_table grows = { .needs_fs_resize = true, .expand_on_node = scripted_grow };
static const struct volume_plugin growing = { .name = "test.io/grows", .expand = &grows };

/* --- Runs --- */

static struct outcome {
    struct expand_run *run;
    unsigned done;
    enum expand_end end;
    struct error err;
} outcome;

static void on_end(void *ctx, enum expand_end end, const struct error *e)
{
    assert_ptr_equal(ctx, &outcome);
    outcome.run = NULL;
    outcome.done++;
    outcome.end = end;
    outcome.err = *e;
}

static struct node_mount *scene(const char *spec, const char *status, bool is_read_only)
{
    struct object *pv;
    struct node_mount *m;

    memset(&script, 0, sizeof script);
    hand_open();
    hand_put_claim(spec, status, HOST_PATH_2GI);
    pv = hand_get(KIND_VOLUME, VOLUMES "/pv");
    m = hand_mount(&growing, "test.io/grows/pv", pv, is_read_only);
    m->volume->bytes = GIB;
    node_world_set_text(&m->volume->device_mount_path, "/global");
    (void)object_unref(pv);
    buf_clear(&hand.w.log);
    return m;
}

static void begin(struct node_mount *m, bool in_use)
{
    outcome = (struct outcome){ 0 };
    outcome.run = expand_begin(&hand.agent, m, in_use, on_end, &outcome);
    assert_non_null(outcome.run);
    ASSERT_INT(0, outcome.done);
}

static enum expand_end grow(struct node_mount *m, bool in_use)
{
    begin(m, in_use);
    hand_rest();
    for (unsigned i = 0; i < 60 && !outcome.done; i++)
        hand_pass(NS_PER_S); /* a conflict costs a while */
    ASSERT_INT(1, outcome.done);
    if (outcome.end != EXPAND_FAILED)
        ASSERT_INT(0, outcome.err.code);
    return outcome.end;
}

static void assert_claim(const char *capacity, const char *status, const char *conditions)
{
    ASSERT_THERE(&hand.w, capacity, CLAIM, "status/capacity/storage");
    ASSERT_GOT(&hand.w.served, status, "status/allocatedResourceStatuses/storage");
    if (conditions)
        ASSERT_GOT(&hand.w.served, conditions, "status/conditions/0/type");
    else
        ASSERT_GOT(&hand.w.served, "-", "status/conditions");
}

static unsigned events_about(const char *kind, const char *reason, const char *message)
{
    unsigned count = 0;
    char path[64];

    ASSERT_SENT(&hand.w.served, 200, "GET", EVENTS, NULL);
    for (size_t i = 0, n = got_items(&hand.w.served); i < n; i++) {
        (void)snprintf(path, sizeof path, "items/%zu/involvedObject/kind", i);
        if (strcmp(got(&hand.w.served, path), kind) != 0)
            continue;
        (void)snprintf(path, sizeof path, "items/%zu/reason", i);
        if (strcmp(got(&hand.w.served, path), reason) != 0)
            continue;
        (void)snprintf(path, sizeof path, "items/%zu/source/component", i);
        ASSERT_STR("kubelet", got(&hand.w.served, path));
        (void)snprintf(path, sizeof path, "items/%zu/message", i);
        count += strcmp(got(&hand.w.served, path), message) == 0;
    }
    return count;
}

/* --- Decisions --- */

#define SPEC(modes, request) "'accessModes':['" modes "'],'resources':{'requests':{'storage':'" request "'}}"
#define RWO "ReadWriteOnce"
#define RWX "ReadWriteMany"
#define EXEMPT "'annotations':{'volume.kubernetes.io/node-expansion-not-required':'true'}"

TEST(what_a_node_does_about_a_claim)
{
    static const struct {
        const char *meta, *modes, *status;
        bool in_use, is_read_only;
        enum growth expected;
        const char *to;
    } rows[] = {
        /* At a mount: the claim has less than its volume. */
        { "", RWO, "'capacity':{'storage':'2Gi'}", false, false, GROWTH_NONE, "2Gi" },
        { "", RWO, "'capacity':{'storage':'3Gi'}", false, false, GROWTH_NONE, "2Gi" },
        { "", RWO, "'capacity':{'storage':'2Gi'}", false, true, GROWTH_NONE, "2Gi" },
        { "", RWO, GROWN AT("NodeResizePending"), false, false, GROWTH_NONE, "2Gi" },
        { "", RWO, "'capacity':{'storage':'1Gi'}", false, false, GROWTH_PLAIN, "2Gi" },
        { "", RWO, "'phase':'Bound'", false, false, GROWTH_PLAIN, "2Gi" },
        { "", RWO, PENDING, false, false, GROWTH_BEGIN, "2Gi" },
        { "", RWO, PENDING, false, true, GROWTH_READ_ONLY, "2Gi" },
        /* In use: who asks has compared before. */
        { "", RWO, "'capacity':{'storage':'2Gi'}", true, false, GROWTH_PLAIN, "2Gi" },
        { "", RWO, PENDING, true, true, GROWTH_READ_ONLY, "2Gi" },
        { "", RWO, PENDING, true, false, GROWTH_BEGIN, "2Gi" },
        { "", RWO, TO_2GI AT("NodeResizeInProgress"), true, false, GROWTH_GO_ON, "2Gi" },
        /* The size is what was allocated, not what the volume has. */
        { "", RWO,
          "'capacity':{'storage':'1Gi'},'allocatedResources':{'storage':'1536Mi'}" AT("NodeResizePending"),
          true, false, GROWTH_BEGIN, "1536Mi" },
        { "", RWO, "'capacity':{'storage':'1Gi'}" AT("NodeResizePending"), true, false, GROWTH_BEGIN, "2Gi" },
        /* Others' turn. */
        { "", RWO, TO_2GI, true, false, GROWTH_NOT_NOW, "2Gi" },
        { "", RWO, TO_2GI AT("ControllerResizeInProgress"), true, false, GROWTH_NOT_NOW, "2Gi" },
        { "", RWO, TO_2GI AT("ControllerResizeInfeasible"), true, false, GROWTH_NOT_NOW, "2Gi" },
        { "", RWO, TO_2GI AT("NodeResizeInfeasible"), true, false, GROWTH_NOT_NOW, "2Gi" },
        /* Somebody has finished it; where all nodes write, each grows its own. */
        { "", RWO, GROWN, true, false, GROWTH_OVER, "2Gi" },
        { "", RWX, GROWN, true, false, GROWTH_HERE_TOO, "2Gi" },
        { EXEMPT, RWX, GROWN, true, false, GROWTH_OVER, "2Gi" },
        { "", RWX, GROWN, false, false, GROWTH_NONE, "2Gi" },
        { EXEMPT, RWX, PENDING, true, false, GROWTH_BEGIN, "2Gi" },
    };
    struct object *pv =
        hand_decode(KIND_VOLUME, str_of(kind_row("{'metadata':{'name':'pv'},'spec':{" HOST_PATH_2GI "}}")));

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(buf_done_p) struct buf to = BUF_INIT(100);
        struct growth_plan p;
        struct object *c;
        char text[1024];

        (void)snprintf(text, sizeof text,
                       "{'metadata':{'name':'c'%s%s},'spec':{'accessModes':['%s']},'status':{%s}}",
                       rows[i].meta[0] ? "," : "", rows[i].meta, rows[i].modes, rows[i].status);
        c = hand_decode(KIND_CLAIM, str_of(kind_row(text)));
        p = growth_plan(claim_of(c), volume_of(pv), rows[i].in_use, rows[i].is_read_only);
        quantity_format(&p.to, &to);
        if (p.what != rows[i].expected || strcmp(buf_cstr(&to), rows[i].to) != 0)
            fail_msg("row %zu: %d to %s", i, (int)p.what, buf_cstr(&to));
        (void)object_unref(c);
    }
    (void)object_unref(pv);
}

TEST(what_a_failed_call_means)
{
    enum { OVER = 1, TOLD = 2, INFEASIBLE = 4, REFUSED = 8 };
    static const struct {
        enum growth what;
        enum err code;
        bool had_failed, wants_other_size;
        unsigned expected;
    } rows[] = {
        { GROWTH_BEGIN, ERR_IO, false, false, TOLD },
        { GROWTH_BEGIN, ERR_IO, true, false, TOLD },
        { GROWTH_BEGIN, ERR_IO, false, true, TOLD },
        { GROWTH_BEGIN, ERR_IO, true, true, TOLD | INFEASIBLE },
        { GROWTH_BEGIN, ERR_TIMEOUT, true, true, TOLD | INFEASIBLE }, /* a timeout is an end, too */
        { GROWTH_BEGIN, ERR_UNCERTAIN, false, false, TOLD },
        { GROWTH_BEGIN, ERR_UNCERTAIN, true, true, TOLD | INFEASIBLE },
        { GROWTH_GO_ON, ERR_INVALID, false, false, TOLD | INFEASIBLE },
        { GROWTH_GO_ON, ERR_BUSY, false, false, TOLD | REFUSED },
        { GROWTH_GO_ON, ERR_BUSY, true, true, TOLD | INFEASIBLE | REFUSED },
        { GROWTH_BEGIN, ERR_UNSUPPORTED, false, false, TOLD },
        { GROWTH_HERE_TOO, ERR_UNSUPPORTED, false, false, OVER },
        { GROWTH_HERE_TOO, ERR_INVALID, false, false, TOLD | INFEASIBLE },
        { GROWTH_PLAIN, ERR_UNSUPPORTED, false, false, OVER },
        { GROWTH_PLAIN, ERR_INVALID, true, true, 0 },
        { GROWTH_PLAIN, ERR_BUSY, false, false, REFUSED },
        { GROWTH_BEGIN, ERR_NO_MEMORY, true, true, 0 },
        { GROWTH_BEGIN, ERR_CANCELLED, true, true, 0 },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct object *c = hand_decode(
            KIND_CLAIM,
            str_of(
                kind_row(rows[i].wants_other_size
                             ? "{'metadata':{'name':'c'},'spec':{'resources':{'requests':{'storage':'1Gi'}}}}"
                             : "{'metadata':{'name':'c'},'spec':{'resources':{'requests':{'storage':'2Gi'}}}"
                               "}")));
        struct growth_plan p = { rows[i].what, quantity_of((int64_t)(2 * GIB), QUANTITY_BINARY_SI) };
        struct growth_failure f = growth_failure(&p, claim_of(c), rows[i].code, rows[i].had_failed);
        unsigned is = (f.is_over ? OVER : 0) | (f.is_reported ? TOLD : 0) |
                      (f.is_infeasible ? INFEASIBLE : 0) | (f.is_refused ? REFUSED : 0);

        if (is != rows[i].expected)
            fail_msg("row %zu: %u, expected %u", i, is, rows[i].expected);
        (void)object_unref(c);
    }
}

/* --- Runs --- */

/* node-37 */
TEST(a_volume_in_use_grows_step_by_step)
{
    struct node_mount *m = scene(RWO_2GI, PENDING, false);

    ASSERT_SENT(&hand.w.served, 200, "MERGE", CLAIM "/status",
                "{'status':{'conditions':[{'type':'FileSystemResizePending','status':'True'},{'type':'Mine',"
                "'status':'True'}]}}");
    buf_clear(&hand.w.log);
    script.is_gated = true;
    (void)sem_init(&script.gate, 0, 0);
    begin(m, true);
    parts_rest(&hand.w);
    assert_claim("1Gi", "NodeResizeInProgress", "FileSystemResizePending");
    assert_asked(&hand.w, "GET " CLAIM "\nPATCH " CLAIM "/status\n");
    ASSERT_INT(0, outcome.done);
    (void)sem_post(&script.gate);
    hand_rest();
    ASSERT_INT(1, outcome.done);
    ASSERT_INT(EXPAND_DONE, outcome.end);
    ASSERT_INT(1, script.calls);
    ASSERT_INT(2 * GIB, script.new_bytes);
    ASSERT_INT(GIB, script.old_bytes);
    ASSERT_STR("/global", script.mount_path);
    assert_claim("2Gi", "-", "Mine");
    ASSERT_GOT(&hand.w.served, "-", "status/conditions/1/type");
    ASSERT_INT(2 * GIB, m->volume->bytes);
    assert_asked(&hand.w, "GET " CLAIM "\nPATCH " CLAIM "/status\n");
    ASSERT_INT(1, events_about("Pod", "FileSystemResizeSuccessful", SUCCEEDED));
    ASSERT_INT(1, events_about("PersistentVolumeClaim", "FileSystemResizeSuccessful", SUCCEEDED));
    ASSERT_INT(EXPAND_NOT_NEEDED, grow(m, true)); /* it is as large as can be */
    ASSERT_INT(1, script.calls);
    assert_asked(&hand.w, "");
    hand_close();
}

/* node-38 */
TEST(a_volume_that_grows_only_when_it_is_free_is_left_alone)
{
    struct node_mount *m = scene(RWO_2GI, PENDING, false);

    script.fails_with = ERR_BUSY;
    ASSERT_INT(EXPAND_NOT_NEEDED, grow(m, true));
    assert_true(m->volume->refuses_growth);
    assert_claim("1Gi", "NodeResizeInProgress", "NodeResizeError");
    buf_clear(&hand.w.log);
    script.fails_with = ERR_NONE;
    ASSERT_INT(EXPAND_NOT_NEEDED, grow(m, true));
    ASSERT_INT(EXPAND_NOT_NEEDED, grow(m, false));
    ASSERT_INT(1, script.calls);
    assert_asked(&hand.w, "");
    m->volume->refuses_growth = false; /* it left and came back */
    ASSERT_INT(EXPAND_DONE, grow(m, false));
    assert_claim("2Gi", "-", NULL);
    hand_close();
}

/* node-39 */
TEST(a_size_that_cannot_be_is_said_to_be_infeasible)
{
    struct node_mount *m = scene(RWO_2GI, PENDING, false);

    script.fails_with = ERR_INVALID;
    ASSERT_INT(EXPAND_FAILED, grow(m, true));
    ASSERT_INT(ERR_INVALID, outcome.err.code);
    ASSERT_STR("no \"luck\"", outcome.err.msg);
    assert_claim("1Gi", "NodeResizeInfeasible", "NodeResizeError");
    ASSERT_GOT(&hand.w.served, "True", "status/conditions/0/status");
    ASSERT_STR("failed to expand pvc with no \"luck\"", got(&hand.w.served, "status/conditions/0/message"));
    ASSERT_INT(GIB, m->volume->bytes);
    buf_clear(&hand.w.log);
    ASSERT_INT(EXPAND_LATER, grow(m, true)); /* until somebody decides on it */
    ASSERT_INT(1, script.calls);
    assert_asked(&hand.w, "GET " CLAIM "\n");
    hand_close();
}

/* node-40 */
TEST(a_read_only_mount_is_told_and_goes_on)
{
    static const char failed[] =
        "MountVolume.NodeExpandVolume failed for volume \"pv\" requested read-only file system";
    struct node_mount *m = scene(RWO_2GI, PENDING, true);

    m->volume->bytes = 0; /* nobody noted it */
    assert_true(expand_is_due(m));
    ASSERT_INT(EXPAND_NOT_NEEDED, grow(m, false));
    ASSERT_INT(0, script.calls);
    assert_asked(&hand.w, "GET " CLAIM "\n");
    ASSERT_INT(1, events_about("Pod", "FileSystemResizeFailed", failed));
    ASSERT_INT(1, events_about("PersistentVolumeClaim", "FileSystemResizeFailed", failed));
    assert_claim("1Gi", "NodeResizePending", NULL);
    hand_close();
}

/* node-41 */
TEST(a_volume_of_many_nodes_grows_on_each)
{
    struct node_mount *m = scene(RWX_2GI, GROWN, false);

    ASSERT_INT(EXPAND_DONE, grow(m, true));
    ASSERT_INT(1, script.calls);
    ASSERT_INT(2 * GIB, script.new_bytes);
    assert_asked(&hand.w, "GET " CLAIM "\n");
    ASSERT_INT(1, events_about("Pod", "FileSystemResizeSuccessful", SUCCEEDED));
    ASSERT_INT(2 * GIB, m->volume->bytes);
    hand_close();

    m = scene(RWX_2GI, GROWN, false);
    ASSERT_SENT(&hand.w.served, 200, "MERGE", CLAIM, "{'metadata':{" EXEMPT "}}");
    ASSERT_INT(EXPAND_NOT_NEEDED, grow(m, true));
    ASSERT_INT(0, script.calls);
    ASSERT_INT(2 * GIB, m->volume->bytes);
    hand_close();

    m = scene(RWX_2GI, GROWN, false);
    script.fails_with = ERR_UNSUPPORTED;
    ASSERT_INT(EXPAND_NOT_NEEDED, grow(m, true)); /* nothing to call: done */
    ASSERT_INT(2 * GIB, m->volume->bytes);
    assert_claim("2Gi", "-", NULL);
    hand_close();
}

TEST(a_claim_without_steps_grows_all_the_same)
{
    struct node_mount *m = scene(RWO_2GI, "'capacity':{'storage':'1Gi'}", false);

    ASSERT_INT(EXPAND_DONE, grow(m, false));
    ASSERT_INT(1, script.calls);
    assert_asked(&hand.w, "GET " CLAIM "\nGET " CLAIM "\nPATCH " CLAIM "/status\n");
    assert_claim("2Gi", "-", NULL);
    ASSERT_INT(1, events_about("Pod", "FileSystemResizeSuccessful", SUCCEEDED));
    hand_close();

    m = scene(RWO_2GI, "'capacity':{'storage':'1Gi'}", false);
    script.fails_with = ERR_IO;
    ASSERT_INT(EXPAND_FAILED, grow(m, true));
    ASSERT_STR("no \"luck\"", outcome.err.msg);
    assert_claim("1Gi", "-", NULL); /* there is no place to say it */
    script.fails_with = ERR_BUSY;
    ASSERT_INT(EXPAND_NOT_NEEDED, grow(m, true));
    assert_true(m->volume->refuses_growth);
    hand_close();

    m = scene(RWO_2GI, "'capacity':{'storage':'1Gi'}", false);
    script.fails_with = ERR_UNSUPPORTED;
    ASSERT_INT(EXPAND_NOT_NEEDED, grow(m, true));
    ASSERT_INT(2 * GIB, m->volume->bytes);
    hand_close();
}

/* The condition first; infeasible when it fails again and the claim asks for another size by now. */
TEST(a_volume_that_keeps_failing_is_given_up_when_the_claim_wants_something_else)
{
    struct node_mount *m = scene(RWO_2GI, PENDING, false);

    script.fails_with = ERR_UNSUPPORTED;
    ASSERT_INT(EXPAND_FAILED, grow(m, true));
    assert_claim("1Gi", "NodeResizeInProgress", "NodeResizeError");
    assert_true(m->volume->failed_to_grow);
    script.fails_with = ERR_IO;
    ASSERT_INT(EXPAND_FAILED, grow(m, true));
    assert_claim("1Gi", "NodeResizeInProgress", "NodeResizeError");
    hand_close();

    m = scene("'accessModes':['ReadWriteOnce'],'resources':{'requests':{'storage':'1536Mi'}}", PENDING,
              false);
    script.fails_with = ERR_IO;
    ASSERT_INT(EXPAND_FAILED, grow(m, true));
    assert_claim("1Gi", "NodeResizeInProgress", "NodeResizeError");
    ASSERT_INT(EXPAND_FAILED, grow(m, true));
    assert_claim("1Gi", "NodeResizeInfeasible", "NodeResizeError");
    hand_close();
}

TEST(what_is_not_due_is_left_for_later)
{
    struct node_mount *m = scene(RWO_2GI, TO_2GI AT("ControllerResizeInProgress"), false);

    ASSERT_INT(EXPAND_LATER, grow(m, true));
    ASSERT_INT(0, script.calls);
    ASSERT_INT(GIB, m->volume->bytes);
    hand_close();

    m = scene(RWO_2GI, PENDING, false);
    script.is_blank = true;
    ASSERT_INT(EXPAND_LATER, grow(m, true));
    assert_claim("1Gi", "NodeResizeInProgress", NULL);
    script.is_blank = false;
    ASSERT_INT(EXPAND_DONE, grow(m, true)); /* what was begun goes on, as after a crash */
    assert_claim("2Gi", "-", NULL);
    hand_close();
}

TEST(what_does_not_grow_is_not_asked_about)
{
    static const struct expand_table no_call = { .needs_fs_resize = true };
    static const struct expand_table no_need = { .expand_on_node = scripted_grow };
    static const struct volume_plugin none = { .name = "a" },
                                      without_call = { .name = "b", .expand = &no_call },
                                      without_need = { .name = "c", .expand = &no_need };
    static const struct volume_plugin *const rows[] = { &none, &without_call, &without_need };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct node_mount *m = scene(RWO_2GI, PENDING, false);

        m->volume->plugin = rows[i];
        assert_false(expand_is_due(m));
        ASSERT_INT(EXPAND_NOT_NEEDED, grow(m, true));
        assert_asked(&hand.w, "");
        hand_close();
    }
}

/* A pod's own volume, as one that was migrated, has no claim that could grow. */
TEST(a_pods_own_volume_does_not_grow)
{
    struct node_mount *m = scene(RWO_2GI, PENDING, false);
    struct object *pod = hand_decode(
        KIND_POD,
        str_of(kind_row("{'metadata':{'name':'q'},'spec':{'volumes':[{'name':'v','emptyDir':{}}]}}")));

    held_spec_clear(&m->volume->wanted);
    assert_true(held_spec_set(&m->wanted, pod, "v", false));
    assert_false(expand_is_due(m));
    ASSERT_INT(EXPAND_NOT_NEEDED, grow(m, true));
    assert_asked(&hand.w, "");
    (void)object_unref(pod);
    hand_close();
}

/* A claim that another one has replaced is nobody's business here; one that is gone is told. */
TEST(another_claim_of_that_name_is_left_alone)
{
    struct node_mount *m = scene(RWO_2GI, PENDING, false);

    ASSERT_SENT(&hand.w.served, 200, "MERGE", CLAIM, "{'metadata':{'finalizers':null}}");
    ASSERT_SENT(&hand.w.served, 200, "DELETE", CLAIM, NULL);
    ASSERT_INT(EXPAND_FAILED, grow(m, true));
    ASSERT_INT(ERR_NOT_FOUND, outcome.err.code);
    ASSERT_STR(
        "cannot start expanding the volume of claim 'default/c': persistentvolumeclaims \"c\" not found",
        outcome.err.msg);
    ASSERT_SENT(&hand.w.served, 201, "POST", CLAIMS, "{'metadata':{'name':'c'},'spec':{" RWO_2GI "}}");
    ASSERT_INT(EXPAND_NOT_NEEDED, grow(m, true));
    ASSERT_INT(0, script.calls);
    hand_close();
}

/* A claim that others have gone on with during the call: what failed is not what it is about any more. */
TEST(a_failure_is_not_told_when_others_went_on)
{
    static const struct {
        const char *meanwhile, *capacity, *status;
    } rows[] = {
        { "{'status':{'capacity':{'storage':'2Gi'},'allocatedResourceStatuses':null}}", "2Gi", "-" },
        { "{'status':{'allocatedResources':{'storage':'3Gi'},'allocatedResourceStatuses':{"
          "'storage':'ControllerResizeInProgress'}}}",
          "1Gi", "ControllerResizeInProgress" },
        { "{'status':{'allocatedResources':{'storage':'3Gi'}}}", "1Gi", "NodeResizeInProgress" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct node_mount *m = scene(RWO_2GI, PENDING, false);

        script.fails_with = ERR_INVALID;
        script.is_gated = true;
        (void)sem_init(&script.gate, 0, 0);
        begin(m, true);
        parts_rest(&hand.w);
        ASSERT_SENT(&hand.w.served, 200, "MERGE", CLAIM "/status", rows[i].meanwhile);
        (void)sem_post(&script.gate);
        hand_rest();
        ASSERT_INT(1, outcome.done);
        ASSERT_INT(EXPAND_FAILED, outcome.end);
        assert_claim(rows[i].capacity, rows[i].status, NULL);
        hand_close();
    }
}

/* Whatever goes wrong with a request, trying again ends it; the plugin may be called once more. */
TEST(growth_ends_well_whatever_gets_lost)
{
    static const enum trouble troubles[] = { TROUBLE_REFUSED, TROUBLE_CONFLICT, TROUBLE_LOST };

    for (size_t t = 0; t < ARRAY_LEN(troubles); t++)
        for (unsigned at = 1; at <= 4; at++) {
            struct node_mount *m = scene(RWO_2GI, PENDING, false);
            unsigned tries = 0;

            hand.w.trouble = troubles[t];
            hand.w.at = hand.w.count + at;
            while (grow(m, true) != EXPAND_DONE)
                assert_true(++tries < 3);
            assert_true(tries <= 1);
            assert_true(script.calls >= 1 && script.calls <= 2);
            assert_claim("2Gi", "-", NULL);
            hand_close();
        }
}

/* What cannot be said on the claim is a failure where it means that all is well, and else is passed over. */
TEST(a_server_that_is_gone_after_the_call)
{
    static const enum err codes[] = { ERR_NONE, ERR_IO };

    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        struct node_mount *m = scene(RWO_2GI, PENDING, false);

        script.fails_with = codes[i];
        script.is_gated = true;
        (void)sem_init(&script.gate, 0, 0);
        begin(m, true);
        parts_rest(&hand.w);
        hand.w.is_down = true;
        (void)sem_post(&script.gate);
        hand_rest();
        hand_pass(60 * NS_PER_S);
        ASSERT_INT(1, outcome.done);
        ASSERT_INT(EXPAND_FAILED, outcome.end);
        ASSERT_STR(
            codes[i] ? "no \"luck\""
                     : "volume expanded, but cannot update the status of claim 'default/c': connection reset",
            outcome.err.msg);
        ASSERT_INT(GIB, m->volume->bytes);
        hand_close();
    }
}

TEST(a_run_that_is_cancelled_tells_nobody)
{
    (void)expand_cancel(NULL);
    for (unsigned step = 0; step < 4; step++) {
        struct node_mount *m = scene(RWO_2GI, PENDING, false);

        script.is_gated = true;
        (void)sem_init(&script.gate, 0, 0);
        if (step == 3)
            m->volume->refuses_growth = true; /* nothing to do, and not told yet */
        begin(m, true);
        if (step == 1)
            (void)loop_poll(hand.w.served.loop);
        else if (step == 2)
            parts_rest(&hand.w);
        outcome.run = expand_cancel(outcome.run);
        (void)sem_post(&script.gate);
        (void)sem_post(&script.gate);
        hand_pass(60 * NS_PER_S);
        ASSERT_INT(0, outcome.done);
        hand_close();
    }
}

/* --- For real --- */

#define MIB ((off_t)1 << 20)

/* A local volume on a device that has grown: xfs follows while it is mounted. */
TEST(a_file_system_follows_its_device)
{
    skip_without_private_mounts();
    struct test_dir *d = mounts_dir_new();
    char device[32], at[PATH_MAX], spec[256];
    struct statvfs before, after;
    struct node_mount *m;
    struct object *pv;

    loop_device_new(d, "image", 320 * MIB, device);
    sh("mkfs.xfs -q -f %s", device);
    (void)snprintf(at, sizeof at, "%s", in_dir(d, "at"));
    assert_int_equal(mkdir(at, 0755), 0);
    sh("mount %s %s", device, at);
    assert_int_equal(statvfs(at, &before), 0);
    assert_int_equal(truncate(in_dir(d, "image"), 640 * MIB), 0);
    sh("losetup -c %s", device);
    hand_open();
    (void)snprintf(
        spec, sizeof spec,
        "'capacity':{'storage':'640Mi'},'local':{'path':'%s','fsType':'xfs'},'nodeAffinity':{"
        "'required':{'nodeSelectorTerms':[{'matchExpressions':[{'key':'x','operator':'Exists'}]}]}}",
        device);
    hand_put_claim(
        "'accessModes':['ReadWriteOnce'],'resources':{'requests':{'storage':'640Mi'}}",
        "'capacity':{'storage':'320Mi'},'allocatedResources':{'storage':'640Mi'}" AT("NodeResizePending"),
        spec);
    pv = hand_get(KIND_VOLUME, VOLUMES "/pv");
    m = hand_mount(&local_plugin, "kubernetes.io/local-volume/pv", pv, false);
    m->volume->bytes = 320 * (uint64_t)MIB;
    node_world_set_text(&m->volume->device_mount_path, at);
    (void)object_unref(pv);
    ASSERT_INT(EXPAND_DONE, grow(m, true));
    assert_int_equal(statvfs(at, &after), 0);
    assert_true(after.f_blocks > before.f_blocks * 3 / 2);
    assert_claim("640Mi", "-", NULL);
    hand_close();
    (void)mounts_dir_free(d);
}

TEST_MAIN()

/* Volumes that are there: which of them a pod's claims get, and which they do not. Each scene is played with
 * the scheduler alone, whose own writes are looked at, and with the binder beside it, to the pod's node. */
#include "tests/unit/test_scheduler.h"

#include "tests/unit/test_binder_objects.h"
#include "tests/unit/test_binder_replay.h"

#define LOCAL "local"
#define NO_PROVISIONER "kubernetes.io/no-provisioner"
#define WFFC "WaitForFirstConsumer"
#define ON_N2 ",'nodeSelector':{'kubernetes.io/hostname':'n2'}"
#define CSI "'csi':{'driver':'x.csi','volumeHandle':'h'}"
#define NONE_FOUND "0/1 nodes are available: 1 node(s) didn't find available persistent volumes to bind."
#define SCENE_MAX 4

/* What is left out: 5Gi, ReadWriteOnce, of the class, Available, reachable from n1. */
struct volume_row {
    const char *name, *size, *modes, *labels, *class, *source;
    const char *reach; /* a node's name, "" for all of them, or terms in brackets */
    const char *rest;  /* of the spec, with a comma in front */
    const char *phase;
    const char *kept_uid; /* "" for none: kept for the claim "c" */
    bool is_deleting;
};

struct claim_row {
    const char *name, *size, *modes, *meta, *class, *rest;
};

struct scene {
    struct volume_row volumes[SCENE_MAX];
    struct claim_row claims[2];
    const char *gets[2]; /* the volumes of the claims; NULL: the pod has to wait */
    const char *pod;     /* further members of its spec */
    const char *on;      /* NULL: n1 */
    const char *says;    /* NULL: that nothing was found on the only node */
    bool has_two_nodes;
    bool is_alone; /* the binder would do it, or see it otherwise */
};

static const char *or_else(const char *text, const char *fallback)
{
    return text ? text : fallback;
}

static void write_reach(const char *reach, char to[static 512])
{
    if (reach[0] == '[')
        (void)snprintf(to, 512, ",'nodeAffinity':{'required':{'nodeSelectorTerms':%s}}", reach);
    else if (reach[0])
        (void)snprintf(to, 512,
                       ",'nodeAffinity':{'required':{'nodeSelectorTerms':[{'matchExpressions':[{'key':"
                       "'kubernetes.io/hostname','operator':'In','values':['%s']}]}]}}",
                       reach);
    else
        to[0] = '\0';
}

static void put_volume(struct world *w, const struct volume_row *v)
{
    char body[4096], reach[512];

    write_reach(or_else(v->reach, "n1"), reach);
    (void)snprintf(
        body, sizeof body,
        "{'apiVersion':'v1','kind':'PersistentVolume','metadata':{'name':'%s','labels':{%s}},"
        "'spec':{'capacity':{'storage':'%s'},'accessModes':[%s],'storageClassName':'%s',%s%s%s%s}}",
        v->name, or_else(v->labels, ""), or_else(v->size, "5Gi"), or_else(v->modes, RWO),
        or_else(v->class, LOCAL), or_else(v->source, HOST_PATH), reach, or_else(v->rest, ""),
        v->kept_uid ? ref_to("c", v->kept_uid) : "");
    ASSERT_SENT(&w->served, 201, "POST", VOLUMES, body);
    if (w->is_alone)
        set_phase(w, v->name, or_else(v->phase, "Available"));
    if (!v->is_deleting)
        return;
    (void)snprintf(body, sizeof body, VOLUMES "/%s", v->name);
    ASSERT_SENT(&w->served, 200, "DELETE", body, NULL);
}

static void put_claim(struct world *w, const struct claim_row *c)
{
    char body[2048];

    (void)snprintf(body, sizeof body,
                   "{'apiVersion':'v1','kind':'PersistentVolumeClaim','metadata':{'name':'%s'%s},'spec':{"
                   "'accessModes':[%s],'resources':{'requests':{'storage':'%s'}},'storageClassName':'%s'%s}}",
                   c->name, or_else(c->meta, ""), or_else(c->modes, RWO), or_else(c->size, "5Gi"),
                   or_else(c->class, LOCAL), or_else(c->rest, ""));
    ASSERT_SENT(&w->served, 201, "POST", CLAIMS, body);
}

static void build(struct world *w, const struct scene *s, bool is_alone)
{
    scheduling_init(w);
    w->is_alone = is_alone;
    add_class(w, LOCAL, NO_PROVISIONER, WFFC, "");
    add_node(w, "n1", "", "");
    if (s->has_two_nodes)
        add_node(w, "n2", "", "");
    for (unsigned i = 0; i < SCENE_MAX && s->volumes[i].name; i++)
        put_volume(w, &s->volumes[i]);
    for (unsigned i = 0; i < 2 && s->claims[i].name; i++)
        put_claim(w, &s->claims[i]);
    add_pod(w, "p", s->claims[0].name, or_else(s->claims[1].name, ""), or_else(s->pod, ""));
    world_start(w);
    world_settle(w);
}

/* The claim that the volume must belong to by now; NULL for none. */
static const char *owner_of(const struct scene *s, const char *volume)
{
    for (unsigned i = 0; i < 2; i++)
        if (s->gets[i] && strcmp(s->gets[i], volume) == 0)
            return s->claims[i].name;
    return NULL;
}

static void check_volume(struct world *w, const struct volume_row *v, const char *owner)
{
    char uid[64] = "-";

    if (owner) {
        look_at_claim(w, owner);
        uid_of_last(w, uid);
    }
    look_at_volume(w, v->name);
    if (owner || !v->kept_uid)
        ASSERT_GOT(&w->served, uid, "spec/claimRef/uid");
    assert_string_equal(annotation(w, ANN_BOUND_BY_CONTROLLER), owner && !v->kept_uid ? "yes" : "-");
}

static void play_alone(const struct scene *s)
{
    struct world w;

    build(&w, s, /* is_alone= */ true);
    for (unsigned i = 0; i < SCENE_MAX && s->volumes[i].name; i++)
        check_volume(&w, &s->volumes[i], owner_of(s, s->volumes[i].name));
    for (unsigned i = 0; i < 2 && s->claims[i].name; i++) {
        look_at_claim(&w, s->claims[i].name);
        assert_string_equal(annotation(&w, ANN_SELECTED_NODE), "-");
    }
    if (s->gets[0])
        assert_on(&w, "p", "");
    else
        assert_pending(&w, "p", "Unschedulable", or_else(s->says, NONE_FOUND));
    world_done(&w);
}

static void play_together(const struct scene *s)
{
    struct world w;

    build(&w, s, /* is_alone= */ false);
    for (unsigned i = 0; i < 2 && s->gets[i]; i++)
        assert_bound(&w, s->claims[i].name, s->gets[i]);
    if (s->gets[0])
        assert_on(&w, "p", or_else(s->on, "n1"));
    else
        assert_pending(&w, "p", "Unschedulable", or_else(s->says, NONE_FOUND));
    world_done(&w);
}

static void play(const struct scene *s)
{
    play_alone(s);
    if (!s->is_alone)
        play_together(s);
}

#define PLAY(...) play(&(struct scene){ __VA_ARGS__ })

/* --- Size --- */

TEST(scheduler_24_the_smallest)
{
    PLAY(.volumes = { { "big", "10Gi" }, { "small", "5Gi" } }, .claims = { { "c" } }, .gets = { "small" });
    PLAY(.volumes = { { "big", "10Gi" }, { "tiny", "4.9Gi" } }, .claims = { { "c" } }, .gets = { "big" });
    PLAY(.volumes = { { "tiny", "5119Mi" } }, .claims = { { "c" } });
}

TEST(scheduler_25_ties_by_name)
{
    PLAY(.volumes = { { "pv-b" }, { "pv-a" } }, .claims = { { "c" } }, .gets = { "pv-a" });
    PLAY(.volumes = { { "pv-b", "5Gi" }, { "pv-c", "5120Mi" }, { "pv-d" } }, .claims = { { "c" } },
         .gets = { "pv-b" });
}

TEST(scheduler_26_claims_by_request)
{
    PLAY(.volumes = { { "four", "4Gi" }, { "ten", "10Gi" } },
         .claims = { { "big", "8Gi" }, { "small", "3Gi" } }, .gets = { "ten", "four" });
    /* Equal ones in the pod's order, each volume once. */
    PLAY(.volumes = { { "pv-b" }, { "pv-a" } }, .claims = { { "z" }, { "a" } }, .gets = { "pv-a", "pv-b" });
    PLAY(.volumes = { { "only", "10Gi" } }, .claims = { { "x", "1Gi" }, { "y", "1Gi" } });
    /* Greedy: what the small one takes the large one does not get. */
    PLAY(.volumes = { { "five", "5Gi" }, { "ten", "10Gi", .modes = "'ReadOnlyMany'" } },
         .claims = { { "x", "1Gi" }, { "y", "5Gi" } });
}

/* --- The other rules --- */

/* scheduler-27 */
TEST(scheduler_27_only_available_ones)
{
    struct world w;

    build(&w, &(struct scene){ .volumes = { { "pv", .phase = "Pending" } }, .claims = { { "c" } } },
          /* is_alone= */ true);
    assert_pending(&w, "p", "Unschedulable", NONE_FOUND);
    ASSERT_VOLUME(&w, "pv", "-", "spec/claimRef");
    set_phase(&w, "pv", "Available");
    world_settle(&w);
    ASSERT_VOLUME(&w, "pv", "c", "spec/claimRef/name");
    world_done(&w);
    PLAY(.volumes = { { "pv", .phase = "Released" } }, .claims = { { "c" } }, .is_alone = true);
    PLAY(.volumes = { { "pv", .phase = "Failed" } }, .claims = { { "c" } }, .is_alone = true);
}

TEST(scheduler_28_volume_modes)
{
    PLAY(.volumes = { { "pv", .rest = ",'volumeMode':'Block'" } }, .claims = { { "c" } });
    PLAY(.volumes = { { "pv" } }, .claims = { { "c", .rest = ",'volumeMode':'Filesystem'" } },
         .gets = { "pv" });
    PLAY(.volumes = { { "pv", .rest = ",'volumeMode':'Block'" } },
         .claims = { { "c", .rest = ",'volumeMode':'Block'" } }, .gets = { "pv" });
}

#define SSD ",'selector':{'matchLabels':{'disk':'ssd'}}"

TEST(scheduler_29_selectors)
{
    PLAY(.volumes = { { "pv" } }, .claims = { { "c", .rest = SSD } });
    PLAY(.volumes = { { "big", "9Gi", .labels = "'disk':'ssd'" }, { "pv", .labels = "'disk':'hdd'" } },
         .claims = { { "c", .rest = SSD } }, .gets = { "big" });
}

#define SOURCE ",'dataSource':{'kind':'PersistentVolumeClaim','name':'old'}"

/* A free volume is not filled from anything; one that is kept for the claim is its filler's business. */
TEST(claims_with_a_data_source)
{
    PLAY(.volumes = { { "pv" } }, .claims = { { "c", .rest = SOURCE } });
    PLAY(.volumes = { { "pv" }, { "kept", "9Gi", .kept_uid = "" } }, .claims = { { "c", .rest = SOURCE } },
         .gets = { "kept" }, .is_alone = true);
    PLAY(.volumes = { { "pv" } }, .claims = { { "c", .rest = SOURCE }, { "d" } });
}

TEST(scheduler_30_access_modes)
{
    PLAY(.volumes = { { "pv" } }, .claims = { { "c", .modes = RWO ",'ReadOnlyMany'" } });
    PLAY(.volumes = { { "pv", .modes = "'ReadOnlyMany'," RWO } }, .claims = { { "c" } }, .gets = { "pv" });
}

TEST(scheduler_31_kept_for_the_claim)
{
    PLAY(.volumes = { { "kept", "10Gi", .kept_uid = "" }, { "free", "5Gi" } }, .claims = { { "c" } },
         .gets = { "kept" }, .is_alone = true);
    /* Neither modes nor labels nor the phase of a kept one matter. */
    PLAY(.volumes = { { "kept", .modes = "'ReadOnlyMany'", .phase = "Pending", .kept_uid = "" } },
         .claims = { { "c", .rest = SSD } }, .gets = { "kept" }, .is_alone = true);
    /* Its size, mode and class do: then it counts for nothing. */
    PLAY(.volumes = { { "kept", "4Gi", .kept_uid = "" }, { "free" } }, .claims = { { "c" } },
         .gets = { "free" }, .is_alone = true);
    PLAY(.volumes = { { "kept", .class = "other", .kept_uid = "" }, { "free" } }, .claims = { { "c" } },
         .gets = { "free" }, .is_alone = true);
    /* Kept for one claim, it is not the other's. */
    PLAY(.volumes = { { "kept", .kept_uid = "" } }, .claims = { { "d" } }, .is_alone = true);
}

TEST(scheduler_32_kept_elsewhere)
{
    PLAY(.volumes = { { "kept", .reach = "n2", .kept_uid = "" }, { "free" } }, .claims = { { "c" } },
         .is_alone = true);
    PLAY(.volumes = { { "kept", .reach = "n2", .kept_uid = "" }, { "free" } }, .claims = { { "c" } },
         .gets = { "kept" }, .has_two_nodes = true, .is_alone = true);
}

TEST(scheduler_33_kept_for_an_older_claim)
{
    PLAY(.volumes = { { "pv", .kept_uid = "older" } }, .claims = { { "c" } }, .is_alone = true);
    PLAY(.volumes = { { "pv", .kept_uid = "older" } }, .claims = { { "c" } });
}

TEST(scheduler_34_going_ones)
{
    PLAY(.volumes = { { "pv", .is_deleting = true } }, .claims = { { "c" } });
    PLAY(.volumes = { { "kept", .kept_uid = "", .is_deleting = true }, { "pv" } }, .claims = { { "c" } },
         .gets = { "pv" }, .is_alone = true);
}

TEST(scheduler_35_attributes_classes)
{
    PLAY(.volumes = { { "pv", .source = CSI, .rest = ",'volumeAttributesClassName':'gold'" } },
         .claims = { { "c" } });
    PLAY(.volumes = { { "pv", .source = CSI, .rest = ",'volumeAttributesClassName':'gold'" } },
         .claims = { { "c", .rest = ",'volumeAttributesClassName':'gold'" } }, .gets = { "pv" });
}

TEST(scheduler_36_reachable_from_everywhere)
{
    PLAY(.volumes = { { "pv", .reach = "" } }, .claims = { { "c" } }, .gets = { "pv" }, .pod = ON_N2,
         .on = "n2", .has_two_nodes = true);
    PLAY(.volumes = { { "all", "6Gi", .reach = "" }, { "ours", "7Gi" } }, .claims = { { "c" } },
         .gets = { "all" });
}

TEST(scheduler_37_fields_of_nodes_do_not_count)
{
    PLAY(.volumes = { { "pv", .reach = "[{'matchFields':[{'key':'metadata.name','operator':'In','values':["
                                       "'n2']}]}]" } },
         .claims = { { "c" } }, .gets = { "pv" });
}

TEST(scheduler_38_class_by_annotation)
{
#define BETA ",'annotations':{'" ANN_CLASS_BETA "':'" LOCAL "'}"
    PLAY(.volumes = { { "pv" }, { "aa", .class = "other" } },
         .claims = { { "c", .meta = BETA, .class = "other" } }, .gets = { "pv" });
}

/* Terms of which any will do, and operators that name no values. */
TEST(affinity_of_several_kinds)
{
#define HOST(op, values) \
    "{'matchExpressions':[{'key':'kubernetes.io/hostname','operator':'" op "'" values "}]}"
    PLAY(.volumes = { { "pv", .reach = "[" HOST("In", ",'values':['n9']") "," HOST(
                                  "In", ",'values':['n8','n1']") "]" } },
         .claims = { { "c" } }, .gets = { "pv" });
    PLAY(.volumes = { { "far", .reach = "[" HOST("NotIn", ",'values':['n1']") "]" },
                      { "near", "6Gi", .reach = "[" HOST("Exists", "") "]" } },
         .claims = { { "c" } }, .gets = { "near" });
}

/* A pod may mount a claim in two places: it is one claim still. */
TEST(one_claim_twice)
{
    for (int is_alone = 0; is_alone < 2; is_alone++) {
        struct world w;

        scheduling_init(&w);
        w.is_alone = is_alone;
        add_class(&w, LOCAL, NO_PROVISIONER, WFFC, "");
        add_node(&w, "n1", "", "");
        put_volume(&w, &(struct volume_row){ "pv-a" });
        put_volume(&w, &(struct volume_row){ "pv-b" });
        put_claim(&w, &(struct claim_row){ "c" });
        add_pod(&w, "p", "c", "c", "");
        world_start(&w);
        world_settle(&w);
        ASSERT_VOLUME(&w, "pv-a", "c", "spec/claimRef/name");
        ASSERT_VOLUME(&w, "pv-b", "-", "spec/claimRef");
        assert_on(&w, "p", is_alone ? "" : "n1");
        world_done(&w);
    }
}

/* --- Several pods --- */

static void build_rivals(struct world *w)
{
    scheduling_init(w);
    w->is_alone = true;
    add_class(w, LOCAL, NO_PROVISIONER, WFFC, "");
    add_node(w, "n1", "", "");
    put_volume(w, &(struct volume_row){ "pv" });
    put_claim(w, &(struct claim_row){ "a" });
    put_claim(w, &(struct claim_row){ "b" });
    add_pod(w, "p", "a", "", "");
    add_pod(w, "q", "b", "", "");
}

/* scheduler-39: both have their turn before the first one's write is answered. */
TEST(scheduler_39_promised_to_another)
{
    struct world w;

    build_rivals(&w);
    world_start(&w);
    world_settle(&w);
    ASSERT_VOLUME(&w, "pv", "a", "spec/claimRef/name");
    assert_pending(&w, "q", "Unschedulable", NONE_FOUND);
    if (plan.fault == TAP_NONE)
        ASSERT_INT(1, count_writes(&w, "PATCH " VOLUMES "/pv"));
    world_done(&w);
}

/* What was promised and could not be had is free again, and whoever was refused for it hears of that. */
TEST(a_promise_that_is_given_back)
{
    struct world w;

    build_rivals(&w);
    world_start(&w);
    fail_next(&w, TAP_ERROR, "PATCH " VOLUMES "/pv", 1);
    ASSERT_SENT(&w.served, 200, "GET", VOLUMES "/pv", NULL); /* both had their turn */
    ASSERT_SENT(&w.served, 200, "DELETE", PODS "/p", NULL);
    world_settle_for(&w, 10);
    ASSERT_VOLUME(&w, "pv", "b", "spec/claimRef/name");
    world_done(&w);
}

static const struct unfit unfit[] = {
    { "scheduler_39_promised_to_another", FAULT_ANY, "after a failure the other pod may be the first" },
    { "a_promise_that_is_given_back", FAULT_ANY, "is about a fault of its own" },
    { 0 },
};

REPLAYED_MAIN(unfit)

/* Exclusive volumes: one node at a time, and what the others are told. */
#include "tests/unit/test_attach.h"

#define V DISK("v")
#define EXCLUSIVE                                                                                      \
    "Waiting for detach for volume \"v\" Volume is already exclusively attached to one node, waiting " \
    "on detach before it can be attached to another node"

/* Attached to n1 for p. */
static void make_attached(struct parts *w)
{
    add_node(w, "n1");
    add_node(w, "n2");
    add_pair(w, "c", "v", RWO, NFS);
    add_pod(w, "p", "n1", CLAIMED("d", "c"));
    set_in_use(w, "n1", "'" V "'");
}

/* The last one told, and how many. */
struct told {
    char volume[64];
    char elsewhere[64];
    bool is_attached, is_used_there;
    uint64_t forced_at_ns;
    unsigned count;
};

static void on_wait(void *ctx, const struct attach_wait *x)
{
    struct told *t = ctx;

    t->count++;
    (void)snprintf(t->volume, sizeof t->volume, "%s", x->volume);
    (void)snprintf(t->elsewhere, sizeof t->elsewhere, "%s", x->elsewhere ? x->elsewhere : "");
    t->is_attached = x->is_attached;
    t->is_used_there = x->is_used_there;
    t->forced_at_ns = x->forced_at_ns;
}

TEST(attach_tells_where_an_exclusive_volume_is)
{
    struct told told = { 0 };
    struct parts w;

    attach_init(&w);
    make_attached(&w);
    add_pod(&w, "q", "n2", CLAIMED("d", "c"));
    ASSERT_THERE(&w, "q", PODS "/q", "metadata/name");
    attach_each_wait(((struct attach_part *)w.part)->attach, "n2", got(&w.served, "metadata/uid"), on_wait,
                     &told);
    ASSERT_INT(1, told.count);
    ASSERT_STR("v", told.volume);
    ASSERT_STR("n1", told.elsewhere);
    assert_false(told.is_attached);
    assert_true(told.is_used_there);
    ASSERT_INT(0, told.forced_at_ns); /* somebody there wants it */
    drop_pod(&w, "p");
    ASSERT_THERE(&w, "q", PODS "/q", "metadata/name");
    attach_each_wait(((struct attach_part *)w.part)->attach, "n2", got(&w.served, "metadata/uid"), on_wait,
                     &told);
    assert_true(told.forced_at_ns > 0);
    set_in_use(&w, "n1", "");
    ASSERT_THERE(&w, "q", PODS "/q", "metadata/name");
    attach_each_wait(((struct attach_part *)w.part)->attach, "n2", got(&w.served, "metadata/uid"), on_wait,
                     &told);
    ASSERT_INT(3, told.count);
    ASSERT_STR("", told.elsewhere);
    assert_true(told.is_attached);
    parts_done(&w);
}

/* attach-16, attach-18: told once, and again to the next that comes. */
TEST(attach_tells_who_waits_once)
{
    struct parts w;

    attach_init(&w);
    make_attached(&w);
    drop_pod(&w, "p");
    add_pod(&w, "q", "n2", CLAIMED("d", "c"));
    ASSERT_TOLD(&w, 1, "q", "FailedAttachVolume", EXCLUSIVE);
    pass_s(&w, 1800);
    set_in_use(&w, "n2", "'" V "'");
    ASSERT_TOLD(&w, 1, "q", "FailedAttachVolume", NULL);
    ASSERT_INT(1, script.attaches);
    drop_pod(&w, "q");
    add_pod(&w, "r", "n2", CLAIMED("d", "c"));
    ASSERT_TOLD(&w, 1, "r", "FailedAttachVolume", EXCLUSIVE);
    /* The first node lets go. */
    set_in_use(&w, "n1", "");
    ASSERT_INT(1, script.detaches);
    ASSERT_INT(2, script.attaches);
    ASSERT_STR("n2", script.attached_to);
    ASSERT_ATTACHED(&w, "n1", "");
    ASSERT_ATTACHED(&w, "n2", V " ");
    ASSERT_TOLD(&w, 1, "r", "SuccessfulAttachVolume", NULL);
    parts_done(&w);
}

/* attach-17: {pods on the other node: of the same namespace, of others} and what is told. The pods elsewhere
 * have the same disk by other volumes' names. */
TEST(attach_names_the_pods_that_use_it)
{
    static const struct {
        unsigned here;
        unsigned elsewhere;
        const char *tail;
    } rows[] = {
        { 1, 2, "Volume is already used by pod(s) p1 and 2 pod(s) in different namespaces" },
        { 2, 0, "Volume is already used by pod(s) p1, p2" },
        { 0, 1, "Volume is already used by 1 pod(s) in different namespaces" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct parts w;
        char message[256];

        attach_init(&w);
        add_node(&w, "n1");
        add_node(&w, "n2");
        ASSERT_DID(&w, 201, "POST", NAMESPACES, "{'metadata':{'name':'other'}}");
        add_pair(&w, "c", "v", RWO, CSI("h"));
        add_pair_in(&w, "other", "c", "v2", RWO, CSI("h"));
        for (unsigned k = 0; k < rows[i].here; k++)
            add_pod(&w, k ? "p2" : "p1", "n1", CLAIMED("d", "c"));
        for (unsigned k = 0; k < rows[i].elsewhere; k++)
            add_pod_in(&w, "other", k ? "x2" : "x1", "n1", CLAIMED("d", "c"));
        grant(&w, "h", "n1");
        add_pod(&w, "q", "n2", CLAIMED("d", "c"));
        (void)snprintf(message, sizeof message, "Waiting for detach for volume \"v\" %s", rows[i].tail);
        ASSERT_TOLD(&w, 1, "q", "FailedAttachVolume", message);
        assert_attachment(&w, "h", "n2", false);
        parts_done(&w);
    }
}

/* attach-15: nobody knows whether n1 has it; the storage does. */
TEST(attach_tries_when_the_other_node_is_uncertain)
{
    struct parts w;

    attach_init(&w);
    make_attached(&w);
    script.fails = 1;
    drop_pod(&w, "p");
    set_in_use(&w, "n1", ""); /* the detach fails */
    ASSERT_INT(1, script.detaches);
    script.fails = 1;
    script.says = "FAILED_PRECONDITION: published to another node";
    add_pod(&w, "q", "n2", CLAIMED("d", "c"));
    ASSERT_INT(2, script.attaches);
    ASSERT_STR("n2", script.attached_to);
    ASSERT_TOLD(
        &w, 1, "q", "FailedAttachVolume",
        "AttachVolume.Attach failed for volume \"v\" : FAILED_PRECONDITION: published to another node");
    /* Both go on failing: the two operations do not chase each other. */
    script.fails = 1000;
    script.attaches = script.detaches = 0;
    pass_s(&w, 1);
    assert_true(script.attaches + script.detaches <= 11);
    script.fails = 0;
    /* In the end it is on n2 alone. */
    pass_s(&w, 10);
    ASSERT_ATTACHED(&w, "n1", "");
    ASSERT_ATTACHED(&w, "n2", V " ");
    ASSERT_STR("n1", script.detached_from);
    parts_done(&w);
}

/* Operations of an exclusive volume share one delay: who fails again and again does not take every turn. */
TEST(attach_gives_each_node_its_turn)
{
    struct parts w;

    attach_init(&w);
    add_node(&w, "n1");
    add_node(&w, "n2");
    add_pair(&w, "c", "v", RWO, CSI("h"));
    add_pod(&w, "p", "n1", CLAIMED("d", "c"));
    patch_attachment(&w, "h", "n1", "/status", "{'status':{'attachError':{'message':'no luck'}}}");
    add_pod(&w, "q", "n2", CLAIMED("d", "c"));
    pass_s(&w, 10);
    assert_attachment(&w, "h", "n2", true);
    parts_done(&w);
}

/* attach-22 */
TEST(attach_finds_an_attachment_that_nobody_knew_of)
{
    struct parts w;

    attach_init(&w);
    add_node(&w, "n1");
    add_node(&w, "n3");
    add_pair(&w, "c", "v", RWO, NFS);
    script.fails = 2;
    script.fails_with = ERR_EXISTS;
    script.elsewhere = "n3";
    script.says = "attached to n3";
    add_pod(&w, "p", "n1", CLAIMED("d", "c"));
    ASSERT_INT(1, script.attaches);
    ASSERT_TOLD(&w, 1, "p", "FailedAttachVolume",
                "AttachVolume.Attach failed for volume \"v\" : attached to n3");
    pass_ms(&w, 501);
    ASSERT_INT(2, script.attaches); /* tried again meanwhile */
    ASSERT_INT(0, script.detaches);
    set_in_use(&w, "n3", "");
    ASSERT_INT(1, script.detaches);
    ASSERT_STR("n3", script.detached_from);
    pass_s(&w, 2);
    ASSERT_ATTACHED(&w, "n1", V " ");
    ASSERT_ATTACHED(&w, "n3", "");
    parts_done(&w);
}

/* A node that nobody has heard of, named by a plugin. */
TEST(attach_bears_a_dangling_attachment_to_no_node)
{
    static const char *const names[] = { "", "nowhere" };

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct parts w;

        attach_init(&w);
        add_node(&w, "n1");
        add_pair(&w, "c", "v", RWO, NFS);
        script.fails = 1;
        script.fails_with = ERR_EXISTS;
        script.elsewhere = names[i];
        add_pod(&w, "p", "n1", CLAIMED("d", "c"));
        pass_s(&w, 1);
        ASSERT_ATTACHED(&w, "n1", V " ");
        pass_s(&w, 361); /* assumed in use there, by a node that does not answer */
        ASSERT_INT(i, script.detaches);
        parts_done(&w);
    }
}

/* Inline volumes of a plugin may be in several places. */
TEST(attach_shares_volumes_without_access_modes)
{
    struct parts w;

    attach_init(&w);
    add_node(&w, "n1");
    add_node(&w, "n2");
    add_pod(&w, "p", "n1", "{'name':'d','nfs':{'server':'s','path':'/x'}}");
    add_pod(&w, "q", "n2", "{'name':'d','nfs':{'server':'s','path':'/x'}}");
    ASSERT_ATTACHED(&w, "n1", DISK("d") " ");
    ASSERT_ATTACHED(&w, "n2", DISK("d") " ");
    ASSERT_INT(2, script.attaches);
    parts_done(&w);
}

/* ReadWriteOncePod is as exclusive. */
TEST(attach_holds_back_volumes_of_one_pod)
{
    struct parts w;

    attach_init(&w);
    add_node(&w, "n1");
    add_node(&w, "n2");
    add_pair(&w, "c", "v", "'ReadWriteOncePod'", NFS);
    add_pod(&w, "p", "n1", CLAIMED("d", "c"));
    add_pod(&w, "q", "n2", CLAIMED("d", "c"));
    ASSERT_INT(1, script.attaches);
    ASSERT_TOLD(&w, 1, "q", "FailedAttachVolume",
                "Waiting for detach for volume \"v\" Volume is already used by pod(s) p");
    parts_done(&w);
}

TEST_MAIN()

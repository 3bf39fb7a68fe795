/* Local volumes whose node is gone are reported, against the whole API server. */
#include "tests/unit/test_parts.h"

#include "controllers/stranded/stranded.h"

static int make(const struct component_deps *o, void **ret, struct error *e)
{
    struct stranded *x = NULL;
    int r = stranded_new(o, &x, e);

    if (r == 0)
        *ret = x;
    return r;
}

static void start(void *part)
{
    stranded_start(part);
}

static void end(void *part)
{
    (void)stranded_free(part);
}

static const struct part_type stranded_type = { make, start, end };

#define NODES "/api/v1/nodes"
#define HOST(name) \
    "{'matchExpressions':[{'key':'kubernetes.io/hostname','operator':'In','values':['" name "']}]}"
#define ZONE(name) "{'matchExpressions':[{'key':'zone','operator':'In','values':['" name "']}]}"
#define SPEC(source, terms)                                                        \
    "'spec':{'capacity':{'storage':'1Gi'},'accessModes':['ReadWriteOnce']," source \
    ",'nodeAffinity':{'required':{"                                                \
    "'nodeSelectorTerms':[" terms "]}}}"
#define LOCAL "'local':{'path':'/mnt/v'}"
#define CSI "'csi':{'driver':'d.example.com','volumeHandle':'h'}"

#define GONE                                                                                              \
    "no node matches the node affinity of this volume: its data is unreachable until a matching node is " \
    "registered"
#define GONE_CLAIM                                                                                         \
    "no node matches the node affinity of volume \"v\": its data is unreachable until a matching node is " \
    "registered"
#define BACK "a node matches the node affinity of this volume again"
#define BACK_CLAIM "a node matches the node affinity of volume \"v\" again"

static void add_node(struct parts *w, const char *labels)
{
    char body[256];

    (void)snprintf(body, sizeof body, "{'metadata':{'name':'n','labels':{%s}}}", labels);
    ASSERT_SENT(&w->served, 201, "POST", NODES, body);
}

static void add_volume(struct parts *w, const char *spec)
{
    char body[1024];

    (void)snprintf(body, sizeof body, "{'metadata':{'name':'v'},%s}", spec);
    ASSERT_SENT(&w->served, 201, "POST", VOLUMES, body);
}

static void expect(struct parts *w, unsigned gone, unsigned back)
{
    ASSERT_INT(gone, count_events(w, "Warning", "NodeGone", GONE));
    ASSERT_INT(back, count_events(w, "Normal", "NodeBack", BACK));
}

/* Five minutes after the node went, and not before; once it is back, again. */
TEST(stranded_after_five_minutes)
{
    struct parts w;

    parts_init(&w, &stranded_type);
    add_node(&w, "'kubernetes.io/hostname':'n1'");
    add_volume(&w, SPEC(LOCAL, HOST("n1")));
    parts_pass_ns(&w, 2 * STRANDED_NS);
    expect(&w, 0, 0);
    ASSERT_SENT(&w.served, 200, "DELETE", NODES "/n", NULL);
    parts_pass_ns(&w, STRANDED_NS - NS_PER_S);
    expect(&w, 0, 0);
    parts_pass_ns(&w, 2 * NS_PER_S);
    expect(&w, 1, 0);
    add_node(&w, "'kubernetes.io/hostname':'n1'");
    parts_pass_ns(&w, 10 * NS_PER_S);
    expect(&w, 1, 1);
    parts_pass_ns(&w, 2 * STRANDED_REPEAT_NS);
    ASSERT_INT(0, w.count); /* events are all it writes */
    parts_done(&w);
}

/* A node that is back in time was never gone; the next time counts anew. */
TEST(stranded_for_a_moment)
{
    struct parts w;

    parts_init(&w, &stranded_type);
    add_node(&w, "'kubernetes.io/hostname':'n1'");
    add_volume(&w, SPEC(LOCAL, HOST("n1")));
    for (int i = 0; i < 3; i++) {
        ASSERT_SENT(&w.served, 200, "DELETE", NODES "/n", NULL);
        parts_pass_ns(&w, STRANDED_NS - 10 * NS_PER_S);
        add_node(&w, "'kubernetes.io/hostname':'n1'");
        parts_pass_ns(&w, 5 * NS_PER_S);
    }
    parts_pass_ns(&w, 2 * STRANDED_NS);
    expect(&w, 0, 0);
    parts_done(&w);
}

/* The claim that has the volume is told too; one that merely has its name is not. */
TEST(stranded_claim)
{
    static const struct {
        const char *volume_name;
        unsigned told;
    } rows[] = { { "v", 1 }, { "other", 0 } };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char body[512], uid[64];
        struct parts w;

        parts_init(&w, &stranded_type);
        (void)snprintf(body, sizeof body,
                       "{'metadata':{'name':'c'},'spec':{'accessModes':['ReadWriteOnce'],'volumeName':'%s',"
                       "'resources':{'requests':{'storage':'1Gi'}}}}",
                       rows[i].volume_name);
        ASSERT_SENT(&w.served, 201, "POST", CLAIMS, body);
        (void)snprintf(uid, sizeof uid, "%s", got(&w.served, "metadata/uid"));
        add_volume(&w, SPEC(LOCAL, HOST("n1")));
        (void)snprintf(body, sizeof body,
                       "{'spec':{'claimRef':{'namespace':'default','name':'c','uid':'%s'}}}", uid);
        ASSERT_SENT(&w.served, 200, "MERGE", VOLUMES "/v", body);
        parts_pass_ns(&w, STRANDED_NS + NS_PER_S);
        expect(&w, 1, 0);
        ASSERT_INT(rows[i].told, count_events(&w, "Warning", "NodeGone", GONE_CLAIM));
        add_node(&w, "'kubernetes.io/hostname':'n1'");
        parts_pass_ns(&w, 10 * NS_PER_S);
        ASSERT_INT(rows[i].told, count_events(&w, "Normal", "NodeBack", BACK_CLAIM));
        parts_done(&w);
    }
}

/* Which volumes, and which nodes. */
TEST(stranded_which)
{
    static const struct {
        const char *spec;
        const char *labels; /* of a node that is there */
        unsigned gone;
    } rows[] = {
        { SPEC(LOCAL, HOST("n1")), "'kubernetes.io/hostname':'n1'", 0 },
        { SPEC(LOCAL, HOST("n1")), "'kubernetes.io/hostname':'n2'", 1 },
        { SPEC(LOCAL, HOST("n1") "," HOST("n2")), "'kubernetes.io/hostname':'n2'", 0 },
        { SPEC(LOCAL, ZONE("a")), "'zone':'a'", 0 },
        { SPEC(LOCAL, ZONE("a")), "'zone':'b'", 1 },
        { SPEC(LOCAL, HOST("n1") "," ZONE("a")), "'zone':'a'", 0 },
        { SPEC(CSI, HOST("n1")), "'kubernetes.io/hostname':'n2'", 0 },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct parts w;

        parts_init(&w, &stranded_type);
        add_node(&w, rows[i].labels);
        add_volume(&w, rows[i].spec);
        parts_pass_ns(&w, STRANDED_NS + NS_PER_S);
        expect(&w, rows[i].gone, 0);
        parts_done(&w);
    }
}

/* A label that goes is a node that goes, and one that comes a node that comes; by host name or otherwise. */
TEST(stranded_by_labels)
{
    static const struct {
        const char *spec;
        const char *away;
        const char *here;
    } rows[] = {
        { SPEC(LOCAL, HOST("n1")), "'kubernetes.io/hostname':'n2'", "'kubernetes.io/hostname':'n1'" },
        { SPEC(LOCAL, ZONE("a")), "'zone':'b'", "'zone':'a'" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct parts w;
        char body[256];

        parts_init(&w, &stranded_type);
        add_node(&w, rows[i].here);
        add_volume(&w, rows[i].spec);
        (void)snprintf(body, sizeof body, "{'metadata':{'labels':{%s}}}", rows[i].away);
        ASSERT_SENT(&w.served, 200, "MERGE", NODES "/n", body);
        parts_pass_ns(&w, STRANDED_NS + NS_PER_S);
        expect(&w, 1, 0);
        (void)snprintf(body, sizeof body, "{'metadata':{'labels':{%s}}}", rows[i].here);
        ASSERT_SENT(&w.served, 200, "MERGE", NODES "/n", body);
        parts_pass_ns(&w, 10 * NS_PER_S);
        expect(&w, 1, 1);
        parts_done(&w);
    }
}

/* As long as it lasts it is said again; a volume that is deleted is let go of. */
TEST(stranded_again_and_deleted)
{
    struct parts w;

    parts_init(&w, &stranded_type);
    add_volume(&w, SPEC(LOCAL, HOST("n1")));
    parts_pass_ns(&w, STRANDED_NS + STRANDED_REPEAT_NS + NS_PER_S);
    expect(&w, 1, 0); /* one event, counted twice */
    ASSERT_GOT(&w.served, "2", "items/0/count");
    ASSERT_SENT(&w.served, 200, "MERGE", VOLUMES "/v", "{'metadata':{'finalizers':null}}");
    ASSERT_SENT(&w.served, 200, "DELETE", VOLUMES "/v", NULL);
    add_node(&w, "'kubernetes.io/hostname':'n1'");
    parts_pass_ns(&w, STRANDED_REPEAT_NS);
    expect(&w, 1, 0);
    parts_done(&w);
}

TEST_MAIN()

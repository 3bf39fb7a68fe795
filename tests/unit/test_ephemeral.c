/* Claims of generic ephemeral volumes, against the whole API server. */
#include "tests/unit/test_parts.h"

#include "controllers/ephemeral/ephemeral.h"

static int make(const struct component_deps *o, void **ret, struct error *e)
{
    struct ephemeral *x = NULL;
    int r = ephemeral_new(o, &x, e);

    if (r == 0)
        *ret = x;
    return r;
}

static void start(void *part)
{
    ephemeral_start(part);
}

static void end(void *part)
{
    (void)ephemeral_free(part);
}

static const struct part_type ephemeral_type = { make, start, end };

#define TEMPLATE                                                                      \
    "'volumeClaimTemplate':{'metadata':{'labels':{'l':'1'},'annotations':{'a':'2'}}," \
    "'spec':{'accessModes':['ReadWriteOnce'],'storageClassName':'s',"                 \
    "'resources':{'requests':{'storage':'1Gi'}}}}"
#define VOLUME(name) "{'name':'" name "','ephemeral':{" TEMPLATE "}}"
#define POD_WITH(name, volumes)                                                                             \
    "{'metadata':{'name':'" name "'},'spec':{'containers':[{'name':'c','image':'i:1'}],'volumes':[" volumes \
    "]}}"

/* S142 */
TEST(ephemeral_makes_the_claim)
{
    char uid[64];
    struct parts w;

    parts_init(&w, &ephemeral_type);
    ASSERT_DONE(&w, 201, "POST", PODS, POD_WITH("p", VOLUME("v")));
    ASSERT_SENT(&w.served, 200, "GET", PODS "/p", NULL);
    (void)snprintf(uid, sizeof uid, "%s", got(&w.served, "metadata/uid"));
    ASSERT_THERE(&w, uid, CLAIMS "/p-v", "metadata/ownerReferences/0/uid");
    ASSERT_GOT(&w.served, "v1", "metadata/ownerReferences/0/apiVersion");
    ASSERT_GOT(&w.served, "Pod", "metadata/ownerReferences/0/kind");
    ASSERT_GOT(&w.served, "p", "metadata/ownerReferences/0/name");
    ASSERT_GOT(&w.served, "true", "metadata/ownerReferences/0/controller");
    ASSERT_GOT(&w.served, "true", "metadata/ownerReferences/0/blockOwnerDeletion");
    ASSERT_GOT(&w.served, "{'l':'1'}", "metadata/labels");
    ASSERT_GOT(&w.served, "{'a':'2'}", "metadata/annotations");
    ASSERT_GOT(&w.served, "s", "spec/storageClassName");
    ASSERT_GOT(&w.served, "1Gi", "spec/resources/requests/storage");
    ASSERT_GOT(&w.served, "['ReadWriteOnce']", "spec/accessModes");
    ASSERT_GOT(&w.served, "berth-ephemeral-volume", "metadata/managedFields/0/manager");
    assert_asked(&w, "POST " CLAIMS "\n");
    assert_metric(&w, "\nephemeral_volume_controller_create_total 1\n");
    assert_metric(&w, "\nephemeral_volume_controller_create_failures_total 0\n");
    assert_metric(&w, "workqueue_adds_total{name=\"ephemeral_volume\"} 2\n");
    parts_done(&w);
}

static void delete_claim(struct parts *w, const char *claim)
{
    ASSERT_SENT(&w->served, 200, "MERGE", claim, "{'metadata':{'finalizers':null}}");
    ASSERT_DONE(w, 200, "DELETE", claim, NULL);
}

static void make_again(struct parts *w)
{
    ASSERT_DONE(w, 201, "POST", PODS, POD_WITH("p", VOLUME("v") ",{'name':'e','emptyDir':{}}," VOLUME("u")));
    ASSERT_THERE(w, "p", CLAIMS "/p-v", "metadata/ownerReferences/0/name");
    ASSERT_THERE(w, "p", CLAIMS "/p-u", "metadata/ownerReferences/0/name");
    delete_claim(w, CLAIMS "/p-u");
    ASSERT_THERE(w, "p", CLAIMS "/p-u", "metadata/ownerReferences/0/name");
}

/* S142: deleted by a user */
TEST(ephemeral_makes_a_claim_again)
{
    struct parts w;

    parts_init(&w, &ephemeral_type);
    make_again(&w);
    assert_asked(&w, "POST " CLAIMS "\nPOST " CLAIMS "\nPOST " CLAIMS "\n");
    parts_done(&w);
}

/* S142: terminating pod */
TEST(ephemeral_makes_nothing_for_a_pod_that_goes)
{
    struct parts w;

    parts_init(&w, &ephemeral_type);
    ASSERT_DONE(
        &w, 201, "POST", PODS,
        "{'metadata':{'name':'p','finalizers':['a/b']},'spec':{'nodeName':'n','containers':[{'name':'c',"
        "'image':'i:1'}],'volumes':[" VOLUME("v") "]}}");
    ASSERT_DONE(&w, 200, "DELETE", PODS "/p", NULL);
    assert_asked(&w, "POST " CLAIMS "\n");
    delete_claim(&w, CLAIMS "/p-v");
    ASSERT_GONE(&w, CLAIMS "/p-v");
    /* Neither does the next process. */
    process_kill(&w);
    process_start(&w);
    parts_settle(&w);
    ASSERT_GONE(&w, CLAIMS "/p-v");
    assert_asked(&w, "");
    parts_done(&w);
}

/* Pods without such volumes cost nothing. */
TEST(ephemeral_looks_at_its_own_pods_alone)
{
    struct parts w;

    parts_init(&w, &ephemeral_type);
    ASSERT_DONE(
        &w, 201, "POST", PODS,
        POD_WITH("p", "{'name':'v','persistentVolumeClaim':{'claimName':'c'}},{'name':'e','emptyDir':{}}"));
    assert_asked(&w, "");
    assert_metric(&w, "workqueue_adds_total{name=\"ephemeral_volume\"} 0\n");
    parts_done(&w);
}

static void wait_for_the_name(struct parts *w)
{
    ASSERT_DONE(w, 201, "POST", CLAIMS, "{'metadata':{'name':'p-v'}," CLAIM_SPEC "}");
    ASSERT_DONE(w, 201, "POST", PODS, POD_WITH("p", VOLUME("v") "," VOLUME("u")));
    ASSERT_THERE(w, "-", CLAIMS "/p-v", "metadata/ownerReferences");
    ASSERT_GONE(w, CLAIMS "/p-u"); /* one after the other */
    delete_claim(w, CLAIMS "/p-v");
    ASSERT_THERE(w, "p", CLAIMS "/p-v", "metadata/ownerReferences/0/name");
    ASSERT_THERE(w, "p", CLAIMS "/p-u", "metadata/ownerReferences/0/name");
}

/* S143 */
TEST(ephemeral_leaves_a_foreign_claim_alone)
{
    struct parts w;

    parts_init(&w, &ephemeral_type);
    wait_for_the_name(&w);
    ASSERT_EVENT(&w, "Warning", "FailedBinding",
                 "ephemeral volume v: PVC default/p-v was not created for pod default/p (pod is not owner)");
    ASSERT_GOT(&w.served, "Pod", "items/0/involvedObject/kind");
    ASSERT_GOT(&w.served, "ephemeral_volume", "items/0/source/component");
    assert_true(strtol(got(&w.served, "items/0/count"), NULL, 10) > 1); /* retried */
    assert_asked(&w, "POST " CLAIMS "\nPOST " CLAIMS "\n");
    parts_done(&w);
}

/* A claim that the server refuses. */
TEST(ephemeral_tells_why_there_is_no_claim)
{
    struct parts w;

    parts_init(&w, &ephemeral_type);
    w.trouble = TROUBLE_REFUSED;
    w.at = 1;
    ASSERT_DONE(&w, 201, "POST", PODS, POD_WITH("p", VOLUME("v")));
    ASSERT_THERE(&w, "p", CLAIMS "/p-v", "metadata/ownerReferences/0/name");
    ASSERT_EVENT(&w, "Warning", "FailedBinding", "ephemeral volume v: create PVC p-v: connection reset");
    assert_metric(&w, "\nephemeral_volume_controller_create_total 2\n");
    assert_metric(&w, "\nephemeral_volume_controller_create_failures_total 1\n");
    parts_done(&w);
}

/* A claim that the cache has not heard of: whose it is will show, and nobody is told before. */
TEST(ephemeral_waits_to_see_whose_a_claim_is)
{
    struct parts w;

    parts_init(&w, &ephemeral_type);
    w.is_blind_to[KIND_CLAIM] = true;
    ASSERT_DONE(&w, 201, "POST", CLAIMS, "{'metadata':{'name':'p-v'}," CLAIM_SPEC "}");
    ASSERT_DONE(&w, 201, "POST", PODS, POD_WITH("p", VOLUME("v")));
    assert_true(w.count > 1);
    ASSERT_SENT(&w.served, 200, "GET", EVENTS, NULL);
    ASSERT_INT(0, got_items(&w.served));
    process_kill(&w);
    w.is_blind_to[KIND_CLAIM] = false;
    process_start(&w);
    parts_settle(&w);
    ASSERT_EVENT(&w, "Warning", "FailedBinding",
                 "ephemeral volume v: PVC default/p-v was not created for pod default/p (pod is not owner)");
    parts_done(&w);
}

TEST(ephemeral_ends_the_same_on_bad_days)
{
    assert_ends_the_same(&ephemeral_type, make_again);
    assert_ends_the_same(&ephemeral_type, wait_for_the_name);
}

TEST_MAIN()

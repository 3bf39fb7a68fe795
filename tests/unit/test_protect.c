/* Protection of volumes, claims and attributes classes, against the whole API server. */
#include "tests/unit/test_parts.h"

#include "controllers/protect/protect.h"

static int make(const struct component_deps *o, void **ret, struct error *e)
{
    struct protect *p = NULL;
    int r = protect_new(o, &p, e);

    if (r == 0)
        *ret = p;
    return r;
}

static void start(void *part)
{
    protect_start(part);
}

static void end(void *part)
{
    (void)protect_free(part);
}

static const struct part_type protect_type = { make, start, end };

#define CLAIM_C CLAIMS "/c"
#define POD_P PODS "/p"
#define USES(claim) "'volumes':[{'name':'v','persistentVolumeClaim':{'claimName':'" claim "'}}]"
#define CONTAINERS "'containers':[{'name':'c','image':'i:1'}]"
#define POD(name, node, volumes) \
    "{'metadata':{'name':'" name "'},'spec':{'nodeName':'" node "'," CONTAINERS "," volumes "}}"
#define WAITING_POD(name, volumes) "{'metadata':{'name':'" name "'},'spec':{" CONTAINERS "," volumes "}}"
#define CLASS(name) "{'metadata':{'name':'" name "'},'driverName':'d.io','parameters':{'a':'b'}}"

static void make_claim(struct parts *w)
{
    ASSERT_DONE(w, 201, "POST", CLAIMS, "{'metadata':{'name':'c'}," CLAIM_SPEC "}");
}

static void bind_claim(struct parts *w)
{
    ASSERT_DONE(w, 200, "MERGE", CLAIM_C, "{'spec':{'volumeName':'v'}}");
    ASSERT_DONE(w, 200, "MERGE", CLAIM_C "/status",
                "{'status':{'phase':'Bound','capacity':{'storage':'1Gi'}}}");
}

static void end_pod(struct parts *w, const char *pod)
{
    ASSERT_DONE(w, 200, "MERGE", pod, "{'status':{'phase':'Succeeded'}}");
}

/* --- Volumes --- */

static void set_phase(struct parts *w, const char *phase)
{
    char body[128];

    (void)snprintf(body, sizeof body, "{'status':{'phase':'%s'}}", phase);
    ASSERT_DONE(w, 200, "MERGE", VOLUMES "/v/status", body);
}

static void delete_bound_volume(struct parts *w)
{
    ASSERT_DONE(w, 201, "POST", VOLUMES, "{'metadata':{'name':'v'}," VOLUME_SPEC "}");
    set_phase(w, "Bound");
    ASSERT_DONE(w, 200, "DELETE", VOLUMES "/v", NULL);
    ASSERT_THERE(w, "['kubernetes.io/pv-protection']", VOLUMES "/v", "metadata/finalizers");
    set_phase(w, "Released");
    ASSERT_GONE(w, VOLUMES "/v");
}

/* S132 */
TEST(protect_keeps_a_bound_volume)
{
    struct parts w;

    parts_init(&w, &protect_type);
    delete_bound_volume(&w);
    assert_asked(&w, "PATCH /api/v1/persistentvolumes/v\n");
    parts_done(&w);
}

/* S132 */
TEST(protect_lets_an_available_volume_go)
{
    struct parts w;

    parts_init(&w, &protect_type);
    ASSERT_DONE(&w, 201, "POST", VOLUMES, "{'metadata':{'name':'v'}," VOLUME_SPEC "}");
    set_phase(&w, "Available");
    assert_asked(&w, "");
    ASSERT_DONE(&w, 200, "DELETE", VOLUMES "/v", NULL);
    ASSERT_GONE(&w, VOLUMES "/v");
    assert_asked(&w, "PATCH /api/v1/persistentvolumes/v\n");
    parts_done(&w);
}

static void lose_finalizers(struct parts *w)
{
    ASSERT_DONE(w, 201, "POST", VOLUMES, "{'metadata':{'name':'v','finalizers':['a/b']}," VOLUME_SPEC "}");
    ASSERT_DONE(w, 200, "MERGE", VOLUMES "/v", "{'metadata':{'finalizers':['a/b']}}");
    make_claim(w);
    ASSERT_DONE(w, 200, "MERGE", CLAIM_C, "{'metadata':{'finalizers':null}}");
    ASSERT_DONE(w, 201, "POST", ATTRIBUTES_CLASSES, CLASS("k"));
    ASSERT_DONE(w, 200, "MERGE", ATTRIBUTES_CLASSES "/k", "{'metadata':{'finalizers':[]}}");
}

/* S132: one that lacks the finalizer gets it; those of others stay. */
TEST(protect_puts_finalizers_back)
{
    struct parts w;

    parts_init(&w, &protect_type);
    lose_finalizers(&w);
    ASSERT_THERE(&w, "['a/b','kubernetes.io/pv-protection']", VOLUMES "/v", "metadata/finalizers");
    ASSERT_THERE(&w, "['kubernetes.io/pvc-protection']", CLAIM_C, "metadata/finalizers");
    ASSERT_THERE(&w, "['kubernetes.io/vac-protection']", ATTRIBUTES_CLASSES "/k", "metadata/finalizers");
    assert_asked(&w, "PATCH /api/v1/persistentvolumes/v\n"
                     "PATCH " CLAIM_C "\n"
                     "PATCH " ATTRIBUTES_CLASSES "/k\n");
    parts_done(&w);
}

/* --- Claims --- */

/* S133 */
TEST(protect_keeps_a_claim_that_a_node_may_have)
{
    struct parts w;

    parts_init(&w, &protect_type);
    make_claim(&w);
    ASSERT_DONE(&w, 201, "POST", PODS, POD("p", "n", USES("c")));
    ASSERT_DONE(&w, 200, "DELETE", CLAIM_C, NULL);
    ASSERT_THERE(&w, "['kubernetes.io/pvc-protection']", CLAIM_C, "metadata/finalizers");
    end_pod(&w, POD_P "/status");
    ASSERT_THERE(&w, "['kubernetes.io/pvc-protection']", CLAIM_C, "metadata/finalizers");
    assert_asked(&w, ""); /* the cache knows of a user: nobody else was asked */
    ASSERT_DONE(&w, 200, "DELETE", POD_P "?gracePeriodSeconds=0", NULL);
    ASSERT_GONE(&w, CLAIM_C);
    assert_asked(&w, "GET " PODS "\nPATCH " CLAIM_C "\n");
    parts_done(&w);
}

/* S133 */
TEST(protect_lets_a_claim_go_that_no_node_has)
{
    struct parts w;

    parts_init(&w, &protect_type);
    make_claim(&w);
    ASSERT_DONE(&w, 201, "POST", PODS, WAITING_POD("p", USES("c")));
    ASSERT_DONE(&w, 201, "POST", PODS, POD("q", "n", USES("other")));
    ASSERT_DONE(&w, 200, "DELETE", CLAIM_C, NULL);
    ASSERT_GONE(&w, CLAIM_C);
    parts_done(&w);
}

/* A volume that is ephemeral and has the claim's name does not make it the pod's. */
TEST(protect_knows_whose_an_ephemeral_claim_is)
{
    struct parts w;

    parts_init(&w, &protect_type);
    ASSERT_DONE(&w, 201, "POST", CLAIMS, "{'metadata':{'name':'p-v'}," CLAIM_SPEC "}");
    ASSERT_DONE(
        &w, 201, "POST", PODS,
        POD("p", "n", "'volumes':[{'name':'v','ephemeral':{'volumeClaimTemplate':{" CLAIM_SPEC "}}}]"));
    ASSERT_DONE(&w, 200, "DELETE", CLAIMS "/p-v", NULL);
    ASSERT_GONE(&w, CLAIMS "/p-v");
    parts_done(&w);
}

/* S134 */
TEST(protect_asks_the_server_before_it_lets_go)
{
    struct parts w;

    parts_init(&w, &protect_type);
    make_claim(&w);
    w.is_blind_to[KIND_POD] = true;
    ASSERT_DONE(&w, 201, "POST", PODS, POD("p", "n", USES("c")));
    ASSERT_DONE(&w, 200, "DELETE", CLAIM_C, NULL);
    ASSERT_THERE(&w, "['kubernetes.io/pvc-protection']", CLAIM_C, "metadata/finalizers");
    assert_true(strstr(buf_cstr(&w.log), "GET " PODS));
    assert_null(strstr(buf_cstr(&w.log), "PATCH"));
    /* It came and went, and no event says so. */
    ASSERT_DONE(&w, 200, "DELETE", POD_P "?gracePeriodSeconds=0", NULL);
    ASSERT_GONE(&w, CLAIM_C);
    parts_done(&w);
}

/* A request of the test while a list of pods is in flight: no time passes. */
#define ASSERT_MEANWHILE(w, status, ...)                \
    do {                                                \
        ASSERT_SENT(&(w)->served, status, __VA_ARGS__); \
        parts_rest(w);                                  \
    } while (0)

/* Answers the list in flight: it is older than everything that happened meanwhile, and has no pods. The watch
 * of pods does not deliver them either. */
static void answer_with_an_old_list(struct parts *w)
{
    const struct client_answer old = { .http_status = 200,
                                       .list = { .resource_version = "1", .continue_token = "" },
                                       .retry_after_seconds = -1 };

    w->late = NULL;
    buf_clear(&w->log);
    parts_answer_late(w, &old);
    parts_settle(w);
    ASSERT_THERE(w, "['kubernetes.io/pvc-protection']", CLAIM_C, "metadata/finalizers");
    assert_true(strstr(buf_cstr(&w->log), "GET " PODS));
    assert_null(strstr(buf_cstr(&w->log), "PATCH"));
}

/* The list is older than the deletion of the claim: a pod that was created before the deletion may use it. */
TEST(protect_does_not_trust_a_list_from_before_the_deletion)
{
    struct parts w;

    parts_init(&w, &protect_type);
    make_claim(&w);
    w.late = "GET " PODS;
    ASSERT_MEANWHILE(&w, 200, "MERGE", CLAIM_C, "{'spec':{'volumeName':'v'}}");
    ASSERT_MEANWHILE(&w, 200, "MERGE", CLAIM_C "/status",
                     "{'status':{'phase':'Bound','capacity':{'storage':'1Gi'}}}"); /* is it unused? */
    w.is_blind_to[KIND_POD] = true;
    ASSERT_MEANWHILE(&w, 201, "POST", PODS, POD("p", "n", USES("c")));
    ASSERT_MEANWHILE(&w, 200, "DELETE", CLAIM_C, NULL);
    answer_with_an_old_list(&w);
    ASSERT_DONE(&w, 200, "DELETE", POD_P "?gracePeriodSeconds=0", NULL);
    ASSERT_GONE(&w, CLAIM_C);
    parts_done(&w);
}

/* The list is older than the claim, which has the name of the claim that it was requested for. */
TEST(protect_does_not_trust_a_list_from_before_the_claim)
{
    struct parts w;

    parts_init(&w, &protect_type);
    make_claim(&w);
    w.late = "GET " PODS;
    ASSERT_MEANWHILE(&w, 200, "DELETE", CLAIM_C, NULL);
    ASSERT_MEANWHILE(&w, 200, "MERGE", CLAIM_C, "{'metadata':{'finalizers':null}}"); /* by hand */
    ASSERT_GONE(&w, CLAIM_C);
    w.is_blind_to[KIND_POD] = true;
    ASSERT_MEANWHILE(&w, 201, "POST", CLAIMS,
                     "{'metadata':{'name':'c','finalizers':['kubernetes.io/pvc-protection']}," CLAIM_SPEC
                     "}");
    ASSERT_MEANWHILE(&w, 201, "POST", PODS, POD("p", "n", USES("c")));
    ASSERT_MEANWHILE(&w, 200, "DELETE", CLAIM_C, NULL);
    answer_with_an_old_list(&w);
    parts_done(&w);
}

/* A pod that cannot be read may use anything. */
TEST(protect_keeps_a_claim_when_a_pod_is_unreadable)
{
    struct parts w;

    parts_init(&w, &protect_type);
    make_claim(&w);
    w.is_blind_to[KIND_POD] = true;
    ASSERT_DONE(&w, 201, "POST", PODS, POD("p", "n", USES("c")));
    w.trouble = TROUBLE_UNREADABLE;
    w.at = w.count + 1;
    ASSERT_DONE(&w, 200, "DELETE", CLAIM_C, NULL);
    assert_true(w.count > w.at);
    ASSERT_THERE(&w, "['kubernetes.io/pvc-protection']", CLAIM_C, "metadata/finalizers");
    parts_done(&w);
}

#define EPHEMERAL_POD(name)                                                                   \
    "{'metadata':{'name':'" name "','finalizers':['a/b']},'spec':{'nodeName':'n'," CONTAINERS \
    ",'volumes':[{'name':'v','ephemeral':{'volumeClaimTemplate':{" CLAIM_SPEC "}}}]}}"

static void shut_down_pod(struct parts *w)
{
    char body[1024];

    ASSERT_DONE(w, 201, "POST", PODS, EPHEMERAL_POD("p"));
    (void)snprintf(body, sizeof body,
                   "{'metadata':{'name':'p-v','ownerReferences':[{'apiVersion':'v1','kind':'Pod','name':'p',"
                   "'uid':'%s','controller':true}]}," CLAIM_SPEC "}",
                   got(&w->served, "metadata/uid"));
    ASSERT_DONE(w, 201, "POST", CLAIMS, body);
    ASSERT_DONE(w, 200, "DELETE", CLAIMS "/p-v", NULL);
    ASSERT_THERE(w, "['kubernetes.io/pvc-protection']", CLAIMS "/p-v", "metadata/finalizers");
    ASSERT_DONE(w, 200, "DELETE", POD_P "?gracePeriodSeconds=0", NULL);
    ASSERT_THERE(w, "['a/b']", POD_P, "metadata/finalizers");
    ASSERT_GONE(w, CLAIMS "/p-v");
}

/* S135 */
TEST(protect_lets_an_ephemeral_claim_go_with_its_pod)
{
    struct parts w;

    parts_init(&w, &protect_type);
    shut_down_pod(&w);
    parts_done(&w);
}

#define UNUSED(w, member, expected) ASSERT_THERE(w, expected, CLAIM_C, "status/conditions/0/" member)

static void use_and_leave(struct parts *w)
{
    make_claim(w);
    ASSERT_THERE(w, "-", CLAIM_C, "status/conditions"); /* not bound yet */
    bind_claim(w);
    UNUSED(w, "status", "True");
    ASSERT_DONE(w, 201, "POST", PODS, WAITING_POD("p", USES("c")));
    UNUSED(w, "status", "False");
    end_pod(w, POD_P "/status");
    UNUSED(w, "status", "True");
}

/* S136 */
TEST(protect_says_whether_a_claim_is_used)
{
    char first[64];
    struct parts w;

    parts_init(&w, &protect_type);
    make_claim(&w);
    ASSERT_DONE(&w, 201, "POST", PODS, WAITING_POD("p", USES("c")));
    ASSERT_THERE(&w, "-", CLAIM_C, "status/conditions");
    assert_asked(&w, "");
    ASSERT_DONE(&w, 200, "DELETE", POD_P "?gracePeriodSeconds=0", NULL);
    ASSERT_DONE(&w, 200, "MERGE", CLAIM_C "/status",
                "{'status':{'conditions':[{'type':'Other','status':'True'}]}}");
    bind_claim(&w);
    ASSERT_THERE(&w, "Other", CLAIM_C, "status/conditions/1/type");
    ASSERT_GOT(&w.served, "Unused", "status/conditions/0/type");
    ASSERT_GOT(&w.served, "True", "status/conditions/0/status");
    ASSERT_GOT(&w.served, "NoPodsUsingPVC", "status/conditions/0/reason");
    ASSERT_GOT(&w.served, "No pods are currently referencing this PVC", "status/conditions/0/message");
    (void)snprintf(first, sizeof first, "%s", got(&w.served, "status/conditions/0/lastTransitionTime"));
    assert_asked(&w, "GET " PODS "\nPATCH " CLAIM_C "/status\n");
    ASSERT_DONE(&w, 201, "POST", PODS, WAITING_POD("p", USES("c")));
    ASSERT_THERE(&w, "False", CLAIM_C, "status/conditions/0/status");
    ASSERT_GOT(&w.served, "PodUsingPVC", "status/conditions/0/reason");
    ASSERT_GOT(&w.served, "A pod is currently referencing this PVC", "status/conditions/0/message");
    assert_asked(&w, "PATCH " CLAIM_C "/status\n");
    end_pod(&w, POD_P "/status");
    ASSERT_THERE(&w, "True", CLAIM_C, "status/conditions/0/status");
    assert_string_not_equal(first, got(&w.served, "status/conditions/0/lastTransitionTime"));
    assert_asked(&w, "GET " PODS "\nPATCH " CLAIM_C "/status\n");
    parts_done(&w);
}

/* A server that does not have the condition is not sent it, and is asked nothing for it. */
TEST(protect_says_nothing_where_the_condition_is_unknown)
{
    static const struct server_version others[] = { { 0 }, { 1, 36, false } };

    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        struct parts w;

        parts_init(&w, &protect_type);
        process_kill(&w);
        w.server = others[i];
        process_start(&w);
        parts_rest(&w);
        make_claim(&w);
        bind_claim(&w);
        ASSERT_DONE(&w, 201, "POST", PODS, WAITING_POD("p", USES("c")));
        end_pod(&w, POD_P "/status");
        ASSERT_THERE(&w, "-", CLAIM_C, "status/conditions");
        assert_asked(&w, "");
        ASSERT_DONE(&w, 200, "DELETE", CLAIM_C, NULL); /* it guards all the same */
        assert_asked(&w, "GET " PODS "\nPATCH " CLAIM_C "\n");
        parts_done(&w);
    }
}

/* Pods that went while nobody was looking. */
TEST(protect_finds_out_what_changed_while_it_was_away)
{
    struct parts w;

    parts_init(&w, &protect_type);
    make_claim(&w);
    ASSERT_DONE(&w, 201, "POST", PODS, WAITING_POD("p", USES("c")));
    bind_claim(&w);
    UNUSED(&w, "status", "False");
    process_kill(&w);
    ASSERT_SENT(&w.served, 200, "DELETE", POD_P "?gracePeriodSeconds=0", NULL);
    process_start(&w);
    parts_settle(&w);
    UNUSED(&w, "status", "True");
    parts_done(&w);
}

#define MANY 200

/* One list for all claims of a namespace that are asked about together, in pages. */
TEST(protect_lists_pods_once_for_many_claims)
{
    static char name[64], body[512];
    struct parts w;
    unsigned lists = 0;

    parts_init(&w, &protect_type);
    process_kill(&w);
    for (unsigned i = 0; i < MANY; i++) {
        (void)snprintf(body, sizeof body, "{'metadata':{'name':'c%u'}," CLAIM_SPEC "}", i);
        ASSERT_SENT(&w.served, 201, "POST", CLAIMS, body);
        if (i < MANY / 2) {
            (void)snprintf(body, sizeof body,
                           "{'metadata':{'name':'p%u'},'spec':{'nodeName':'n'," CONTAINERS
                           ",'volumes':[{'name':'v','persistentVolumeClaim':{'claimName':'c%u'}}]}}",
                           i, i);
            ASSERT_SENT(&w.served, 201, "POST", PODS, body);
        }
        (void)snprintf(name, sizeof name, CLAIMS "/c%u", i);
        ASSERT_SENT(&w.served, 200, "DELETE", name, NULL);
    }
    process_start(&w);
    parts_settle(&w);
    ASSERT_SENT(&w.served, 200, "GET", CLAIMS, NULL);
    ASSERT_INT(MANY / 2, got_items(&w.served));
    for (const char *at = buf_cstr(&w.log); (at = strstr(at, "GET " PODS)); at++)
        lists++;
    assert_in_range(lists, 1, 4);
    assert_metric(&w, "workqueue_adds_total{name=\"pvcprotection\"}");
    parts_done(&w);
}

/* --- Attributes classes --- */

static void use_attributes_class(struct parts *w)
{
    ASSERT_DONE(w, 201, "POST", ATTRIBUTES_CLASSES, CLASS("k"));
    ASSERT_DONE(
        w, 201, "POST", VOLUMES,
        "{'metadata':{'name':'v'},'spec':{'capacity':{'storage':'5Gi'},'accessModes':['ReadWriteOnce'],"
        "'volumeAttributesClassName':'k','csi':{'driver':'d.io','volumeHandle':'h'}}}");
    ASSERT_DONE(w, 201, "POST", CLAIMS,
                "{'metadata':{'name':'c'},'spec':{'accessModes':['ReadWriteOnce'],"
                "'volumeAttributesClassName':'k','resources':{'requests':{'storage':'1Gi'}}}}");
}

static void let_attributes_class_go(struct parts *w)
{
    use_attributes_class(w);
    ASSERT_DONE(w, 200, "DELETE", ATTRIBUTES_CLASSES "/k", NULL);
    ASSERT_DONE(w, 200, "DELETE", VOLUMES "/v", NULL);
    ASSERT_GONE(w, VOLUMES "/v");
    ASSERT_THERE(w, "['kubernetes.io/vac-protection']", ATTRIBUTES_CLASSES "/k", "metadata/finalizers");
    ASSERT_DONE(w, 200, "DELETE", CLAIM_C, NULL);
    ASSERT_GONE(w, CLAIM_C);
    ASSERT_GONE(w, ATTRIBUTES_CLASSES "/k");
}

/* S144 */
TEST(protect_keeps_an_attributes_class_that_is_named)
{
    struct parts w;

    parts_init(&w, &protect_type);
    let_attributes_class_go(&w);
    parts_done(&w);
}

/* S144: what is in force, and what is being applied. */
TEST(protect_keeps_an_attributes_class_that_is_in_force)
{
    static const char *const uses[] = { "'currentVolumeAttributesClassName':'k'",
                                        "'modifyVolumeStatus':{'targetVolumeAttributesClassName':'k',"
                                        "'status':'InProgress'}" };
    static const char *const leaves[] = { "'currentVolumeAttributesClassName':'other'",
                                          "'modifyVolumeStatus':null" };

    for (size_t i = 0; i < ARRAY_LEN(uses); i++) {
        char body[256];
        struct parts w;

        parts_init(&w, &protect_type);
        make_claim(&w);
        ASSERT_DONE(&w, 201, "POST", ATTRIBUTES_CLASSES, CLASS("k"));
        (void)snprintf(body, sizeof body, "{'status':{%s}}", uses[i]);
        ASSERT_DONE(&w, 200, "MERGE", CLAIM_C "/status", body);
        ASSERT_DONE(&w, 200, "DELETE", ATTRIBUTES_CLASSES "/k", NULL);
        ASSERT_THERE(&w, "['kubernetes.io/vac-protection']", ATTRIBUTES_CLASSES "/k", "metadata/finalizers");
        (void)snprintf(body, sizeof body, "{'status':{%s}}", leaves[i]);
        ASSERT_DONE(&w, 200, "MERGE", CLAIM_C "/status", body);
        ASSERT_GONE(&w, ATTRIBUTES_CLASSES "/k");
        parts_done(&w);
    }
}

/* --- Bad days --- */

TEST(protect_ends_the_same_on_bad_days)
{
    assert_ends_the_same(&protect_type, delete_bound_volume);
    assert_ends_the_same(&protect_type, lose_finalizers);
    assert_ends_the_same(&protect_type, shut_down_pod);
    assert_ends_the_same(&protect_type, use_and_leave);
    assert_ends_the_same(&protect_type, let_attributes_class_go);
}

TEST_MAIN()

/* What the server does of itself, through the whole server: dependents that follow their owners, accounts and
 * namespaces that every cluster has, namespaces that are emptied. */
#include "tests/unit/test_served.h"

#define ACCOUNTS "/api/v1/namespaces/default/serviceaccounts"
#define SERVICE "/api/v1/namespaces/default/services/kubernetes"
#define ENDPOINTS "/api/v1/namespaces/default/endpoints/kubernetes"
#define SLICE "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes"
#define ROOT_CA "/configmaps/kube-root-ca.crt"
#define UID_ROOM 64
#define VERSION_ROOM 32

/* Makes a config map with these members in its metadata, after its name and a comma. Its uid is kept. */
static void make_map(struct served *w, const char *name, const char *rest, char ret_uid[UID_ROOM])
{
    char body[2048];

    (void)snprintf(body, sizeof body, "{'metadata':{'name':'%s'%s%s}}", name, rest[0] ? "," : "", rest);
    ASSERT_SENT(w, 201, "POST", MAPS, body);
    if (ret_uid)
        (void)snprintf(ret_uid, UID_ROOM, "%s", got(w, "metadata/uid"));
}

static const char *owner(const char *name, const char *uid, bool blocks)
{
    static char text[2][256];
    static unsigned turn;
    char *at = text[turn++ % 2];

    (void)snprintf(at, sizeof text[0],
                   "{'apiVersion':'v1','kind':'ConfigMap','name':'%s','uid':'%s','blockOwnerDeletion':%s}",
                   name, uid, blocks ? "true" : "false");
    return at;
}

static void make_owned(struct served *w, const char *name, const char *rest, const char *owners,
                       char ret_uid[UID_ROOM])
{
    char members[1024];

    (void)snprintf(members, sizeof members, "%s'ownerReferences':[%s]", rest, owners);
    make_map(w, name, members, ret_uid);
}

static void assert_there(struct served *w, bool is_there, const char *name)
{
    char target[256];

    (void)snprintf(target, sizeof target, MAPS "/%s", name);
    ASSERT_SENT(w, is_there ? 200 : 404, "GET", target, NULL);
}

/* --- Owners --- */

TEST(an_owner_waits_for_those_that_block_it)
{
    _cleanup_(served_done) struct served w;
    char uid[UID_ROOM];

    served_init(&w);
    make_map(&w, "owner", "", uid);
    make_owned(&w, "held", "'finalizers':['a/b'],", owner("owner", uid, true), NULL);
    make_owned(&w, "free", "", owner("owner", uid, true), NULL);
    ASSERT_SENT(&w, 200, "DELETE", MAPS "/owner", "{'propagationPolicy':'Foreground'}");
    ASSERT_GOT(&w, "['foregroundDeletion']", "metadata/finalizers");
    assert_there(&w, false, "free");
    assert_there(&w, true, "held");
    assert_true(strcmp(got(&w, "metadata/deletionTimestamp"), "-") != 0);
    assert_there(&w, true, "owner");
    ASSERT_SENT(&w, 200, "MERGE", MAPS "/held", "{'metadata':{'finalizers':null}}");
    assert_there(&w, false, "held");
    assert_there(&w, false, "owner");
}

TEST(an_owner_does_not_wait_for_others)
{
    _cleanup_(served_done) struct served w;
    char uid[UID_ROOM];

    served_init(&w);
    make_map(&w, "owner", "", uid);
    make_owned(&w, "held", "'finalizers':['a/b'],", owner("owner", uid, false), NULL);
    ASSERT_SENT(&w, 200, "DELETE", MAPS "/owner", "{'propagationPolicy':'Foreground'}");
    assert_there(&w, false, "owner");
    assert_there(&w, true, "held");
    assert_true(strcmp(got(&w, "metadata/deletionTimestamp"), "-") != 0);
}

TEST(a_dependent_that_stops_blocking)
{
    _cleanup_(served_done) struct served w;
    char uid[UID_ROOM];

    served_init(&w);
    make_map(&w, "owner", "", uid);
    make_owned(&w, "held", "'finalizers':['a/b'],", owner("owner", uid, true), NULL);
    ASSERT_SENT(&w, 200, "DELETE", MAPS "/owner", "{'propagationPolicy':'Foreground'}");
    assert_there(&w, true, "owner");
    ASSERT_SENT(&w, 200, "JSON", MAPS "/held",
                "[{'op':'replace','path':'/metadata/ownerReferences/0/blockOwnerDeletion','value':false}]");
    assert_there(&w, false, "owner");
    assert_there(&w, true, "held");
}

/* Whoever has another owner that stays, stays: it lets go of the one that leaves. */
TEST(a_dependent_with_another_owner_stays)
{
    static const char *const policies[] = { "Foreground", "Background" };
    _cleanup_(served_done) struct served w;

    served_init(&w);
    for (size_t i = 0; i < ARRAY_LEN(policies); i++) {
        char a[UID_ROOM], b[UID_ROOM], owners[600], body[64];

        make_map(&w, "a", "", a);
        make_map(&w, "b", "", b);
        (void)snprintf(owners, sizeof owners, "%s,%s", owner("a", a, true), owner("b", b, true));
        make_owned(&w, "child", "", owners, NULL);
        (void)snprintf(body, sizeof body, "{'propagationPolicy':'%s'}", policies[i]);
        ASSERT_SENT(&w, 200, "DELETE", MAPS "/a", body);
        assert_there(&w, false, "a");
        assert_there(&w, true, "child");
        ASSERT_GOT(&w, "-", "metadata/deletionTimestamp");
        ASSERT_SENT(&w, 200, "DELETE", MAPS "/b", body);
        assert_there(&w, false, "b");
        assert_there(&w, false, "child");
    }
}

/* Makes a and b, each the other's owner. */
static void make_cycle(struct served *w)
{
    char a[UID_ROOM], b[UID_ROOM], patch[512];

    make_map(w, "a", "", a);
    make_owned(w, "b", "", owner("a", a, true), b);
    (void)snprintf(patch, sizeof patch, "{'metadata':{'ownerReferences':[%s]}}", owner("b", b, true));
    ASSERT_SENT(w, 200, "MERGE", MAPS "/a", patch);
}

TEST(owners_of_one_another)
{
    static const char *const policies[] = { "Background", "Foreground" };
    _cleanup_(served_done) struct served w;

    served_init(&w);
    for (size_t i = 0; i < ARRAY_LEN(policies); i++) {
        char body[64];

        make_cycle(&w);
        served_pass(&w, 5);
        assert_there(&w, true, "a");
        assert_there(&w, true, "b");
        (void)snprintf(body, sizeof body, "{'propagationPolicy':'%s'}", policies[i]);
        ASSERT_SENT(&w, 200, "DELETE", MAPS "/a", body);
        served_pass(&w, 5);
        assert_there(&w, false, "a");
        assert_there(&w, false, "b");
    }
}

/* Both are asked to wait before either has begun. */
TEST(two_that_wait_for_one_another)
{
    _cleanup_(served_done) struct served w;
    struct sent a, b;

    served_init(&w);
    make_cycle(&w);
    send_begin(&w, &a, "DELETE", MAPS "/a", "{'propagationPolicy':'Foreground'}");
    send_begin(&w, &b, "DELETE", MAPS "/b", "{'propagationPolicy':'Foreground'}");
    ASSERT_INT(200, sent_wait(&a));
    ASSERT_INT(200, sent_wait(&b));
    sent_done(&a);
    sent_done(&b);
    served_settle(&w);
    assert_there(&w, false, "a");
    assert_there(&w, false, "b");
}

TEST(a_circle_of_three)
{
    _cleanup_(served_done) struct served w;
    char a[UID_ROOM], b[UID_ROOM], c[UID_ROOM], patch[512];

    served_init(&w);
    make_map(&w, "a", "", a);
    make_owned(&w, "b", "", owner("a", a, true), b);
    make_owned(&w, "c", "", owner("b", b, true), c);
    (void)snprintf(patch, sizeof patch, "{'metadata':{'ownerReferences':[%s]}}", owner("c", c, true));
    ASSERT_SENT(&w, 200, "MERGE", MAPS "/a", patch);
    ASSERT_SENT(&w, 200, "DELETE", MAPS "/a", "{'propagationPolicy':'Foreground'}");
    ASSERT_SENT(&w, 200, "GET", MAPS, NULL);
    ASSERT_INT(0, got_items(&w));
}

TEST(an_owner_of_itself)
{
    _cleanup_(served_done) struct served w;
    char a[UID_ROOM], patch[512];

    served_init(&w);
    make_map(&w, "a", "", a);
    (void)snprintf(patch, sizeof patch, "{'metadata':{'ownerReferences':[%s]}}", owner("a", a, true));
    ASSERT_SENT(&w, 200, "MERGE", MAPS "/a", patch);
    ASSERT_SENT(&w, 200, "DELETE", MAPS "/a", "{'propagationPolicy':'Foreground'}");
    assert_there(&w, false, "a");
}

TEST(a_chain_goes_from_its_end)
{
    _cleanup_(served_done) struct served w;
    char uid[2][UID_ROOM], name[2][16];

    served_init(&w);
    make_map(&w, "link-0", "", uid[0]);
    for (unsigned i = 1; i < 50; i++) {
        (void)snprintf(name[0], sizeof name[0], "link-%u", i - 1);
        (void)snprintf(name[1], sizeof name[1], "link-%u", i);
        make_owned(&w, name[1], "", owner(name[0], uid[(i + 1) % 2], true), uid[i % 2]);
    }
    ASSERT_SENT(&w, 200, "DELETE", MAPS "/link-0", "{'propagationPolicy':'Foreground'}");
    ASSERT_SENT(&w, 200, "GET", MAPS, NULL);
    ASSERT_INT(0, got_items(&w));
}

TEST(owners_that_cannot_be_looked_up)
{
    static const struct {
        const char *reference;
        bool stays;
    } rows[] = {
        { "{'apiVersion':'apps/v1','kind':'Deployment','name':'d','uid':'1'}", true },
        { "{'apiVersion':'v1','kind':'Nothing','name':'d','uid':'1'}", true },
        { "{'apiVersion':'v1','kind':'Pod','name':'d','uid':'1'}", false },
        { "{'apiVersion':'v1','kind':'Node','name':'d','uid':'1'}", false },
        { "{'apiVersion':'v1','kind':'Pod','name':'d','uid':'1'},"
          "{'apiVersion':'apps/v1','kind':'Deployment','name':'d','uid':'2'}",
          true },
        { "{'apiVersion':'v1','kind':'Namespace','name':'default','uid':'of-another'}", false },
    };
    _cleanup_(served_done) struct served w;

    served_init(&w);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        make_owned(&w, "m", "", rows[i].reference, NULL);
        assert_there(&w, rows[i].stays, "m");
        if (rows[i].stays)
            ASSERT_SENT(&w, 200, "DELETE", MAPS "/m", NULL);
    }
    /* Of one at cluster scope nobody knows in which namespace its owner would be. */
    ASSERT_SENT(&w, 201, "POST", NODES,
                "{'metadata':{'name':'n','ownerReferences':[{'apiVersion':'v1','kind':'Pod','name':'d',"
                "'uid':'1'}]}}");
    ASSERT_SENT(&w, 200, "GET", NODES "/n", NULL);
}

TEST(orphans_keep_their_other_owners)
{
    _cleanup_(served_done) struct served w;
    char a[UID_ROOM], b[UID_ROOM], owners[600];

    served_init(&w);
    make_map(&w, "a", "", a);
    make_map(&w, "b", "", b);
    (void)snprintf(owners, sizeof owners, "%s,%s", owner("a", a, true), owner("b", b, true));
    for (int i = 0; i < 200; i++) {
        char name[16];

        (void)snprintf(name, sizeof name, "child-%d", i);
        make_owned(&w, name, "", owners, NULL);
    }
    ASSERT_SENT(&w, 200, "DELETE", MAPS "/a?propagationPolicy=Orphan", NULL);
    assert_there(&w, false, "a");
    ASSERT_SENT(&w, 200, "GET", MAPS, NULL);
    ASSERT_INT(201, got_items(&w));
    assert_there(&w, true, "child-77");
    ASSERT_GOT(&w, b, "metadata/ownerReferences/0/uid");
    ASSERT_GOT(&w, "true", "metadata/ownerReferences/0/blockOwnerDeletion");
    ASSERT_GOT(&w, "-", "metadata/ownerReferences/1");
}

/* What was under way when the server ended goes on at the next start. */
TEST(a_second_server_goes_on)
{
    _cleanup_(served_done) struct served w;
    struct sent x;
    char uid[UID_ROOM];

    served_init(&w);
    make_map(&w, "owner", "", uid);
    make_owned(&w, "child", "", owner("owner", uid, true), NULL);
    send_begin(&w, &x, "DELETE", MAPS "/owner", "{'propagationPolicy':'Foreground'}");
    ASSERT_INT(200, sent_wait(&x));
    sent_done(&x);
    served_restart(&w);
    assert_there(&w, false, "child");
    assert_there(&w, false, "owner");
}

/* --- What every cluster has --- */

TEST(default_accounts_are_made_again)
{
    _cleanup_(served_done) struct served w;
    char uid[UID_ROOM];

    served_init(&w);
    ASSERT_SENT(&w, 200, "GET", ACCOUNTS "/default", NULL);
    (void)snprintf(uid, sizeof uid, "%s", got(&w, "metadata/uid"));
    ASSERT_SENT(&w, 200, "DELETE", ACCOUNTS "/default", NULL);
    ASSERT_SENT(&w, 200, "GET", ACCOUNTS "/default", NULL);
    assert_true(strcmp(uid, got(&w, "metadata/uid")) != 0);
    ASSERT_SENT(&w, 201, "POST", NAMESPACES, "{'metadata':{'name':'t'}}");
    ASSERT_SENT(&w, 200, "GET", NAMESPACES "/t/serviceaccounts/default", NULL);
    ASSERT_SENT(&w, 200, "DELETE", NAMESPACES "/t/serviceaccounts", NULL);
    ASSERT_SENT(&w, 200, "GET", NAMESPACES "/t/serviceaccounts/default", NULL);
    ASSERT_SENT(&w, 200, "DELETE", NAMESPACES "/t", NULL);
    ASSERT_SENT(&w, 404, "GET", NAMESPACES "/t", NULL);
}

TEST(predefined_namespaces)
{
    static const char *const names[] = { "default", "kube-node-lease", "kube-public", "kube-system" };
    _cleanup_(served_done) struct served w;

    served_init(&w);
    ASSERT_SENT(&w, 200, "GET", NAMESPACES, NULL);
    ASSERT_INT(ARRAY_LEN(names), got_items(&w));
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char path[128];

        (void)snprintf(path, sizeof path, NAMESPACES "/%s", names[i]);
        ASSERT_SENT(&w, 200, "GET", path, NULL);
        ASSERT_GOT(&w, "Active", "status/phase");
        assert_non_null(strstr(got(&w, "metadata/labels"), names[i])); /* kubernetes.io/metadata.name */
        ASSERT_GOT(&w, "['kubernetes']", "spec/finalizers");
    }
}

/* --- The server itself --- */

static void served_forget(struct served *w)
{
    served_advertised = served_ca_pem = NULL;
    served_done(w);
}

static void assert_self(struct served *w, const char *ip, const char *family, const char *port)
{
    char text[256];

    ASSERT_SENT(w, 200, "GET", SERVICE, NULL);
    ASSERT_GOT(w, ip, "spec/clusterIP");
    (void)snprintf(text, sizeof text, "['%s']", ip);
    ASSERT_GOT(w, text, "spec/clusterIPs");
    (void)snprintf(text, sizeof text, "['%s']", family);
    ASSERT_GOT(w, text, "spec/ipFamilies");
    (void)snprintf(text, sizeof text, "[{'name':'http','protocol':'TCP','port':%s,'targetPort':%s}]", port,
                   port);
    ASSERT_GOT(w, text, "spec/ports");
    ASSERT_GOT(w, "{'component':'apiserver','provider':'kubernetes'}", "metadata/labels");
    ASSERT_SENT(w, 200, "GET", ENDPOINTS, NULL);
    (void)snprintf(text, sizeof text,
                   "[{'addresses':[{'ip':'%s'}],'ports':[{'name':'http','port':%s,'protocol':'TCP'}]}]", ip,
                   port);
    ASSERT_GOT(w, text, "subsets");
    ASSERT_SENT(w, 200, "GET", SLICE, NULL);
    ASSERT_GOT(w, family, "addressType");
    ASSERT_GOT(w, "{'kubernetes.io/service-name':'kubernetes'}", "metadata/labels");
    (void)snprintf(text, sizeof text, "[{'addresses':['%s'],'conditions':{'ready':true}}]", ip);
    ASSERT_GOT(w, text, "endpoints");
    (void)snprintf(text, sizeof text, "[{'name':'http','protocol':'TCP','port':%s}]", port);
    ASSERT_GOT(w, text, "ports");
}

TEST(the_server_tells_where_it_is)
{
    _cleanup_(served_forget) struct served w;
    char uid[UID_ROOM], version[VERSION_ROOM];

    served_advertised = "10.0.0.7:7443";
    served_init(&w);
    assert_self(&w, "10.0.0.7", "IPv4", "7443");
    ASSERT_SENT(&w, 200, "GET", SERVICE, NULL);
    (void)snprintf(uid, sizeof uid, "%s", got(&w, "metadata/uid"));
    (void)snprintf(version, sizeof version, "%s", got(&w, "metadata/resourceVersion"));
    served_restart(&w); /* at the same address: nothing is written */
    ASSERT_SENT(&w, 200, "GET", SERVICE, NULL);
    ASSERT_GOT(&w, version, "metadata/resourceVersion");
    served_advertised = "[fd00::7]:8443";
    served_restart(&w);
    assert_self(&w, "fd00::7", "IPv6", "8443");
    ASSERT_SENT(&w, 200, "GET", SERVICE, NULL);
    ASSERT_GOT(&w, uid, "metadata/uid");
}

TEST(clients_only_read_where_it_is)
{
    static const char *const paths[] = { SERVICE, ENDPOINTS, SLICE };
    _cleanup_(served_forget) struct served w;

    served_advertised = "10.0.0.7:7443";
    served_init(&w);
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        char collection[128];

        (void)snprintf(collection, sizeof collection, "%.*s", (int)(strrchr(paths[i], '/') - paths[i]),
                       paths[i]);
        ASSERT_SENT(&w, 405, "POST", collection, "{'metadata':{'name':'x'}}");
        ASSERT_SENT(&w, 405, "DELETE", collection, NULL);
        ASSERT_SENT(&w, 405, "PUT", paths[i], "{'metadata':{'name':'kubernetes'}}");
        ASSERT_SENT(&w, 405, "MERGE", paths[i], "{'metadata':{'labels':{'a':'b'}}}");
        ASSERT_SENT(&w, 405, "DELETE", paths[i], NULL);
        ASSERT_SENT(&w, 200, "GET", collection, NULL);
        ASSERT_INT(1, got_items(&w));
    }
}

/* A disk that is full for a while delays them. */
TEST(where_it_is_after_a_failure)
{
    _cleanup_(served_forget) struct served w;

    served_advertised = "10.0.0.7:7443";
    served_ca_pem = "PEM";
    served_make(&w, true, 2, 4);
    served_settle(&w);
    ASSERT_SENT(&w, 404, "GET", SERVICE, NULL);
    served_pass(&w, 10);
    assert_self(&w, "10.0.0.7", "IPv4", "7443");
    ASSERT_SENT(&w, 200, "GET", NAMESPACES "/kube-system" ROOT_CA, NULL);
}

/* --- The authority's certificate --- */

static void assert_root_ca(struct served *w, const char *ns, const char *data)
{
    char path[128];

    (void)snprintf(path, sizeof path, NAMESPACES "/%s" ROOT_CA, ns);
    ASSERT_SENT(w, 200, "GET", path, NULL);
    ASSERT_GOT(w, data, "data");
    ASSERT_GOT(w, "-", "binaryData");
    assert_non_null(
        strstr(got(w, "metadata/annotations"), "Contains a CA bundle that can be used to verify"));
}

TEST(every_namespace_has_the_authority)
{
    static const char *const names[] = { "default", "kube-node-lease", "kube-public", "kube-system", "t" };
    _cleanup_(served_forget) struct served w;

    served_ca_pem = "PEM\n";
    served_init(&w);
    ASSERT_SENT(&w, 201, "POST", NAMESPACES, "{'metadata':{'name':'t'}}");
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        assert_root_ca(&w, names[i], "{'ca.crt':'PEM\\n'}");
    ASSERT_SENT(&w, 200, "DELETE", NAMESPACES "/t", NULL);
    ASSERT_SENT(&w, 404, "GET", NAMESPACES "/t", NULL);
    ASSERT_SENT(&w, 404, "GET", NAMESPACES "/t" ROOT_CA, NULL);
}

TEST(the_authority_is_restored)
{
    static const char *const patches[] = {
        "{'data':{'ca.crt':'mine'}}",
        "{'data':{'ca.crt':null}}",
        "{'data':{'a':'1','b':'2'},'binaryData':{'c':'AAAA'}}",
        "{'metadata':{'annotations':{'kubernetes.io/description':null}}}",
        "{'data':{'ca.crt':'mine'},'immutable':true}",
    };
    _cleanup_(served_forget) struct served w;

    served_ca_pem = "PEM";
    served_init(&w);
    for (size_t i = 0; i < ARRAY_LEN(patches); i++) {
        ASSERT_SENT(&w, 200, "MERGE", NAMESPACES "/default" ROOT_CA, patches[i]);
        assert_root_ca(&w, "default", "{'ca.crt':'PEM'}");
        ASSERT_GOT(&w, "-", "immutable");
    }
    ASSERT_SENT(&w, 200, "DELETE", NAMESPACES "/default/configmaps", NULL);
    assert_root_ca(&w, "default", "{'ca.crt':'PEM'}");
}

TEST(labels_on_the_authority_stay)
{
    _cleanup_(served_forget) struct served w;

    served_ca_pem = "PEM";
    served_init(&w);
    ASSERT_SENT(&w, 200, "MERGE", NAMESPACES "/default" ROOT_CA, "{'metadata':{'labels':{'a':'b'}}}");
    ASSERT_SENT(&w, 200, "MERGE", NAMESPACES "/default" ROOT_CA, "{'data':{'ca.crt':'mine'}}");
    assert_root_ca(&w, "default", "{'ca.crt':'PEM'}");
    ASSERT_GOT(&w, "{'a':'b'}", "metadata/labels");
}

TEST(a_renewed_authority_reaches_every_namespace)
{
    enum { MANY = 300 }; /* more than the calls that a duty has under way at a time */
    _cleanup_(served_forget) struct served w;
    char name[32], body[64];

    served_ca_pem = "old";
    served_init(&w);
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(body, sizeof body, "{'metadata':{'name':'n%d'}}", i);
        ASSERT_SENT(&w, 201, "POST", NAMESPACES, body);
    }
    ASSERT_OK(apiserver_set_ca(w.server, "new", &err));
    served_settle(&w);
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(name, sizeof name, "n%d", i);
        assert_root_ca(&w, name, "{'ca.crt':'new'}");
    }
    served_ca_pem = "newer"; /* renewed while the server was down */
    served_restart(&w);
    assert_root_ca(&w, "n7", "{'ca.crt':'newer'}");
    assert_root_ca(&w, "default", "{'ca.crt':'newer'}");
}

/* --- What every cluster has, again --- */

/* The one of them that may be deleted is there again after a while or with the next server. */
TEST(a_predefined_namespace_that_was_deleted)
{
    _cleanup_(served_done) struct served w;

    served_init(&w);
    ASSERT_SENT(&w, 200, "DELETE", NAMESPACES "/kube-node-lease", NULL);
    served_pass(&w, 5);
    served_restart(&w);
    ASSERT_SENT(&w, 200, "GET", NAMESPACES "/kube-node-lease", NULL);
    ASSERT_GOT(&w, "Active", "status/phase");
}

/* Objects of many kinds, more than one round of deletions takes. */
TEST(a_namespace_with_everything_in_it)
{
    static const struct {
        const char *plural, *body;
    } rows[] = {
        { "/api/v1/namespaces/t/configmaps", "{'metadata':{'generateName':'a-'}}" },
        { "/api/v1/namespaces/t/secrets", "{'metadata':{'generateName':'a-'}}" },
        { "/api/v1/namespaces/t/serviceaccounts", "{'metadata':{'generateName':'a-'}}" },
        { "/api/v1/namespaces/t/pods", "{'metadata':{'generateName':'a-'}," POD_SPEC "}" },
        { "/apis/coordination.k8s.io/v1/namespaces/t/leases", "{'metadata':{'generateName':'a-'}}" },
        { "/api/v1/namespaces/t/events",
          "{'metadata':{'generateName':'a-'},'involvedObject':{'namespace':'t'}}" },
    };
    _cleanup_(served_done) struct served w;

    served_init(&w);
    ASSERT_SENT(&w, 201, "POST", NAMESPACES, "{'metadata':{'name':'t'}}");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        for (int k = 0; k < 80; k++)
            ASSERT_SENT(&w, 201, "POST", rows[i].plural, rows[i].body);
    ASSERT_SENT(&w, 201, "POST", "/api/v1/namespaces/t/persistentvolumeclaims",
                "{'metadata':{'name':'c'}," CLAIM_SPEC "}");
    ASSERT_SENT(&w, 201, "POST", MAPS, "{'metadata':{'name':'elsewhere'}}");
    ASSERT_SENT(&w, 200, "DELETE", NAMESPACES "/t", NULL);
    ASSERT_GOT(&w, "Terminating", "status/phase");
    served_pass(&w, 5);
    ASSERT_SENT(&w, 200, "GET", NAMESPACES "/t", NULL); /* the claim is protected */
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        ASSERT_SENT(&w, 200, "GET", rows[i].plural, NULL);
        ASSERT_INT(0, got_items(&w));
    }
    ASSERT_SENT(&w, 200, "MERGE", "/api/v1/namespaces/t/persistentvolumeclaims/c",
                "{'metadata':{'finalizers':null}}");
    ASSERT_SENT(&w, 404, "GET", NAMESPACES "/t", NULL);
    assert_there(&w, true, "elsewhere");
}

TEST_MAIN()

/* What a node has to do with, object by object. */
#include "tests/unit/test_access_lookup.h"

#include "apiserver/node_relations.h"
#include "base/cleanup.h"

#define SPEC(...) "'spec':{'nodeName':'n1','containers':[{'name':'c','image':'i'}]" __VA_ARGS__ "}"

static bool uses(const char *node, enum kind kind, const char *ns, const char *name)
{
    return node_uses(&test_facts, str_of(node), kind, str_of(ns), str_of(name));
}

/* Whether a pod with this spec on n1 makes the object the node's concern. */
static bool pod_makes_used(const char *spec, enum kind kind, const char *name)
{
    char text[2048];
    bool used;

    (void)snprintf(text, sizeof text, "{'metadata':{'name':'p','namespace':'shop'},%s}", spec);
    facts_add(KIND_POD, text);
    used = uses("n1", kind, "shop", name);
    assert_false(uses("n2", kind, "shop", name));
    assert_false(uses("n1", kind, "bank", name));
    assert_false(uses("n1", kind, "", name));
    assert_false(uses("", kind, "shop", name));
    facts_clear();
    return used;
}

TEST(secrets_of_pods)
{
    static const struct {
        const char *spec;
        bool used;
    } rows[] = {
        { SPEC(), false },
        { SPEC(",'volumes':[{'name':'v','secret':{'secretName':'it'}}]"), true },
        { SPEC(",'volumes':[{'name':'v','secret':{'secretName':'its'}}]"), false },
        { SPEC(",'volumes':[{'name':'it','secret':{'secretName':'other'}}]"), false },
        { SPEC(",'volumes':[{'name':'v','configMap':{'name':'it'}}]"), false },
        { SPEC(",'volumes':[{'name':'v','projected':{'sources':[{'secret':{'name':'it'}}]}}]"), true },
        { SPEC(",'volumes':[{'name':'v','projected':{'sources':[{'configMap':{'name':'it'}}]}}]"), false },
        { SPEC(",'volumes':[{'name':'v','flexVolume':{'driver':'d','secretRef':{'name':'it'}}}]"), true },
        { SPEC(",'volumes':[{'name':'v','csi':{'driver':'d','nodePublishSecretRef':{'name':'it'}}}]"), true },
        { SPEC(",'volumes':[{'name':'v','azureFile':{'secretName':'it','shareName':'s'}}]"), true },
        { SPEC(",'imagePullSecrets':[{'name':'it'}]"), true },
        { SPEC(",'initContainers':[{'name':'i','image':'i','env':[{'name':'E','valueFrom':{'secretKeyRef':{'"
               "name':"
               "'it','key':'k'}}}]}]"),
          true },
        { SPEC(",'initContainers':[{'name':'i','image':'i','env':[{'name':'E','value':'it'}]}]"), false },
        { SPEC(",'ephemeralContainers':[{'name':'i','image':'i','envFrom':[{'secretRef':{'name':'it'}}]}]"),
          true },
        { SPEC(
              ",'ephemeralContainers':[{'name':'i','image':'i','envFrom':[{'configMapRef':{'name':'it'}}]}]"),
          false },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (pod_makes_used(rows[i].spec, KIND_SECRET, "it") != rows[i].used)
            fail_msg("row %zu: expected %d", i, rows[i].used);
}

TEST(config_maps_of_pods)
{
    static const struct {
        const char *spec;
        bool used;
    } rows[] = {
        { SPEC(), false },
        { SPEC(",'volumes':[{'name':'v','configMap':{'name':'it'}}]"), true },
        { SPEC(",'volumes':[{'name':'v','secret':{'secretName':'it'}}]"), false },
        { SPEC(",'volumes':[{'name':'v','projected':{'sources':[{'configMap':{'name':'it'}}]}}]"), true },
        { SPEC(",'initContainers':[{'name':'i','image':'i','env':[{'name':'E','valueFrom':{'configMapKeyRef':"
               "{'name':'it','key':'k'}}}]}]"),
          true },
        { SPEC(",'initContainers':[{'name':'i','image':'i','envFrom':[{'configMapRef':{'name':'it'}}]}]"),
          true },
        { SPEC(",'imagePullSecrets':[{'name':'it'}]"), false },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (pod_makes_used(rows[i].spec, KIND_CONFIG_MAP, "it") != rows[i].used)
            fail_msg("row %zu: expected %d", i, rows[i].used);
}

TEST(claims_and_accounts_of_pods)
{
    static const struct {
        const char *spec;
        enum kind kind;
        const char *name;
        bool used;
    } rows[] = {
        { SPEC(",'volumes':[{'name':'v','persistentVolumeClaim':{'claimName':'it'}}]"), KIND_CLAIM, "it",
          true },
        { SPEC(",'volumes':[{'name':'v','persistentVolumeClaim':{'claimName':'it'}}]"), KIND_CLAIM, "v",
          false },
        { SPEC(",'volumes':[{'name':'v','ephemeral':{'volumeClaimTemplate':{'spec':{}}}}]"), KIND_CLAIM,
          "p-v", true },
        { SPEC(",'volumes':[{'name':'v','ephemeral':{'volumeClaimTemplate':{'spec':{}}}}]"), KIND_CLAIM,
          "p-w", false },
        { SPEC(",'serviceAccountName':'it'"), KIND_SERVICE_ACCOUNT, "it", true },
        { SPEC(",'serviceAccountName':'it'"), KIND_SERVICE_ACCOUNT, "default", false },
        { SPEC(), KIND_SERVICE_ACCOUNT, "default", true },
        { SPEC(), KIND_SERVICE_ACCOUNT, "it", false },
        { SPEC(), KIND_POD, "p", true },
        { SPEC(), KIND_POD, "q", false },
        { SPEC(), KIND_LEASE, "p", false },
        { SPEC(), KIND_NODE, "n1", false },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (pod_makes_used(rows[i].spec, rows[i].kind, rows[i].name) != rows[i].used)
            fail_msg("row %zu: expected %d", i, rows[i].used);
}

/* A mirror pod is a pod of the node, and gives it nothing: not even the account that others have who name
 * none. */
TEST(mirror_pods_give_access_to_nothing)
{
    static const struct {
        enum kind kind;
        const char *name;
        bool used;
    } rows[] = {
        { KIND_POD, "p", true },
        { KIND_CLAIM, "claim", false },
        { KIND_CLAIM, "p-own", false },
        { KIND_SECRET, "secret", false },
        { KIND_SECRET, "pull", false },
        { KIND_CONFIG_MAP, "map", false },
        { KIND_SERVICE_ACCOUNT, "default", false },
    };
    static const char *const values[] = { "x", "" };
    char text[2048];

    for (size_t v = 0; v < ARRAY_LEN(values); v++) {
        (void)snprintf(
            text, sizeof text,
            "{'metadata':{'name':'p','namespace':'shop','annotations':{'kubernetes.io/"
            "config.mirror':'%s'}},%s}",
            values[v],
            SPEC(",'imagePullSecrets':[{'name':'pull'}],'volumes':[{'name':'v','persistentVolumeClaim':"
                 "{'claimName':'claim'}},{'name':'s','secret':{'secretName':'secret'}},{'name':'m',"
                 "'configMap':{'name':'map'}},{'name':'own','ephemeral':{'volumeClaimTemplate':{'spec':{}}}}"
                 "]"));
        facts_add(KIND_POD, text);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
            if (uses("n1", rows[i].kind, "shop", rows[i].name) != rows[i].used)
                fail_msg("row %zu: expected %d", i, rows[i].used);
        facts_clear();
    }
}

#define CLAIM(volume, uid) \
    "{'metadata':{'name':'data','namespace':'shop','uid':'" uid "'},'spec':{'volumeName':'" volume "'}}"
#define VOLUME(uid, source)                                                                                  \
    "{'metadata':{'name':'pv1','uid':'v-1'},'spec':{" source "'claimRef':{'namespace':'shop','name':'data'," \
    "'uid':'" uid "'}}}"
#define POD_WITH_CLAIM                                   \
    "{'metadata':{'name':'p','namespace':'shop'}," SPEC( \
        ",'volumes':[{'name':'v','persistentVolumeClaim':{'claimName':'data'}}]") "}"

TEST(volumes_through_claims)
{
    static const struct {
        const char *claim;
        const char *volume;
        bool used;
    } rows[] = {
        { CLAIM("pv1", "c-1"), VOLUME("c-1", ""), true },
        { CLAIM("pv1", "c-2"), VOLUME("c-1", ""), false }, /* the claim that it belonged to is gone */
        { CLAIM("pv2", "c-1"), VOLUME("c-1", ""), false },
        { CLAIM("pv1", "c-1"), "{'metadata':{'name':'pv1'}}", false },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        facts_add(KIND_POD, POD_WITH_CLAIM);
        facts_add(KIND_CLAIM, rows[i].claim);
        facts_add(KIND_VOLUME, rows[i].volume);
        if (uses("n1", KIND_VOLUME, "", "pv1") != rows[i].used)
            fail_msg("row %zu: expected %d", i, rows[i].used);
        assert_false(uses("n2", KIND_VOLUME, "", "pv1"));
        assert_false(uses("n1", KIND_VOLUME, "", "pv2"));
        facts_clear();
    }
}

TEST(secrets_of_volumes)
{
    static const struct {
        const char *source;
        const char *ns;
        bool used;
    } rows[] = {
        { "'csi':{'driver':'d','volumeHandle':'h','nodeStageSecretRef':{'name':'it','namespace':'sys'}},",
          "sys", true },
        { "'csi':{'driver':'d','volumeHandle':'h','nodePublishSecretRef':{'name':'it','namespace':'sys'}},",
          "sys", true },
        { "'csi':{'driver':'d','volumeHandle':'h','nodeExpandSecretRef':{'name':'it','namespace':'sys'}},",
          "sys", true },
        { "'csi':{'driver':'d','volumeHandle':'h','controllerExpandSecretRef':{'name':'it','namespace':'sys'}"
          "},",
          "sys", false },
        { "'csi':{'driver':'d','volumeHandle':'h','controllerPublishSecretRef':{'name':'it','namespace':'sys'"
          "}},",
          "sys", false },
        { "'csi':{'driver':'d','volumeHandle':'h','nodeStageSecretRef':{'name':'it','namespace':'sys'}},",
          "shop", false },
        { "'flexVolume':{'driver':'d','secretRef':{'name':'it'}},", "shop", true },
        { "'flexVolume':{'driver':'d','secretRef':{'name':'it','namespace':'sys'}},", "sys", true },
        { "'flexVolume':{'driver':'d','secretRef':{'name':'it','namespace':'sys'}},", "shop", false },
        { "'iscsi':{'targetPortal':'t','iqn':'iqn.x','lun':1,'secretRef':{'name':'it'}},", "shop", true },
        { "'azureFile':{'shareName':'x','secretName':'it'},", "shop", true },
        { "'azureFile':{'shareName':'x','secretName':'it','secretNamespace':'sys'},", "sys", true },
        { "'azureFile':{'shareName':'x','secretName':'it','secretNamespace':'sys'},", "shop", false },
        { "'hostPath':{'path':'/it'},", "shop", false },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char volume[1024];
        (void)snprintf(volume, sizeof volume, VOLUME("c-1", "%s"), rows[i].source);
        facts_add(KIND_POD, POD_WITH_CLAIM);
        facts_add(KIND_CLAIM, CLAIM("pv1", "c-1"));
        facts_add(KIND_VOLUME, volume);
        if (uses("n1", KIND_SECRET, rows[i].ns, "it") != rows[i].used)
            fail_msg("row %zu: expected %d", i, rows[i].used);
        assert_false(uses("n2", KIND_SECRET, rows[i].ns, "it"));
        facts_clear();
    }
}

TEST(attachments)
{
    facts_add(KIND_ATTACHMENT, "{'metadata':{'name':'a'},'spec':{'nodeName':'n1'}}");
    assert_true(uses("n1", KIND_ATTACHMENT, "", "a"));
    assert_false(uses("n2", KIND_ATTACHMENT, "", "a"));
    assert_false(uses("n1", KIND_ATTACHMENT, "", "b"));
    facts_clear();
}

TEST(names_nobody_has)
{
    static char longest[400];

    memset(longest, 'a', sizeof longest - 1);
    facts_add(KIND_POD, POD_WITH_CLAIM);
    assert_false(uses("n1", KIND_SECRET, "shop", longest));
    assert_false(uses("n1", KIND_SECRET, longest, "it"));
    assert_false(uses("n1", KIND_POD, "shop", ""));
    assert_false(node_uses(&test_facts, STR_LIT("n1"), KIND_POD, STR_LIT("shop"), (struct str){ "p\0x", 3 }));
    assert_true(uses("n1", KIND_POD, "shop", "p"));
    facts_clear();
}

/* For whoever asks whether a pod names anything at all. */
TEST(any_name)
{
    static const struct {
        const char *spec;
        enum kind kind;
        bool any;
    } rows[] = {
        { SPEC(), KIND_SECRET, false },
        { SPEC(), KIND_CONFIG_MAP, false },
        { SPEC(), KIND_CLAIM, false },
        { SPEC(), KIND_SERVICE_ACCOUNT, false },
        { SPEC(",'imagePullSecrets':[{'name':'x'}]"), KIND_SECRET, true },
        { SPEC(",'imagePullSecrets':[{'name':''}]"), KIND_SECRET, false },
        { SPEC(",'volumes':[{'name':'v','configMap':{'name':'x'}}]"), KIND_CONFIG_MAP, true },
        { SPEC(",'volumes':[{'name':'v','persistentVolumeClaim':{'claimName':'x'}}]"), KIND_CLAIM, true },
        { SPEC(",'volumes':[{'name':'v','ephemeral':{}}]"), KIND_CLAIM, true },
        { SPEC(",'serviceAccountName':'x'"), KIND_SERVICE_ACCOUNT, true },
        { SPEC(",'serviceAccount':'x'"), KIND_SERVICE_ACCOUNT, true },
        { SPEC(",'serviceAccount':'x'"), KIND_LEASE, false },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(json_done_p) struct json d;
        char text[512];
        json_ref root;
        json_init(&d, 1 << 20);
        (void)snprintf(text, sizeof text, "{'metadata':{'name':'p'},%s}", rows[i].spec);
        ASSERT_OK(json_parse(&d, str_of(kind_row(text)), &root, &err));
        if (pod_names(&d, root, rows[i].kind, (struct str){ NULL, 0 }) != rows[i].any)
            fail_msg("row %zu: expected %d", i, rows[i].any);
    }
}

TEST_MAIN()

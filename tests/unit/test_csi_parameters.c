/* Class parameters for CSI drivers (csi-4, csi-5), and the topology of a new volume (csi-11, csi-12). */
#include "tests/unit/test_still.h"

#include "controllers/csi/csi_parameters.h"
#include "controllers/csi/csi_topology.h"

#define DRIVER "disk.example.com"
#define P "csi.storage.k8s.io/"

static struct arena arena;

static const struct storage_class *class_view(const struct object *o)
{
    return (const struct storage_class *)(const void *)o;
}

static struct object *new_class(const char *members)
{
    char text[STILL_TEXT_MAX];

    (void)snprintf(text, sizeof text, "{'metadata':{'name':'c'},'provisioner':'" DRIVER "'%s}", members);
    return new_object(KIND_CLASS, text);
}

static struct object *new_class_with(const char *parameters)
{
    char text[STILL_TEXT_MAX];

    (void)snprintf(text, sizeof text, ",'parameters':{%s}", parameters);
    return new_class(text);
}

static void arena_begin(void)
{
    arena = ARENA_INIT((size_t)4 << 20);
}

/* --- Parameters --- */

/* csi-4 */
TEST(csi_fs_type_in_both_spellings)
{
    static const struct {
        const char *parameters, *fs_type, *error;
    } rows[] = {
        { "", "", NULL },
        { "'fstype':'xfs'", "xfs", NULL },
        { "'FSType':'ext4'", "ext4", NULL },
        { "'" P "fstype':'btrfs'", "btrfs", NULL },
        { "'fstype':'xfs','" P "fstype':'ext4'", NULL,
          "fstype specified in parameters with both \"fstype\" and \"" P "fstype\" keys" },
        { "'fstype':'xfs','fsType':'xfs'", NULL,
          "fstype specified in parameters with both \"fstype\" and \"" P "fstype\" keys" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(object_unref_p) struct object *k = new_class_with(rows[i].parameters);
        const char *found = NULL;

        if (rows[i].error) {
            ASSERT_ERR(ERR_INVALID, csi_fs_type(class_view(k), &found, &err));
            ASSERT_STR(rows[i].error, err.msg);
        } else {
            ASSERT_OK(csi_fs_type(class_view(k), &found, &err));
            ASSERT_STR(rows[i].fs_type, found);
        }
    }
}

static const char *parameters_words(const struct kvs *pairs)
{
    static char text[STILL_TEXT_MAX];
    size_t len = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < pairs->count; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%s=%s", i ? " " : "", pairs->items[i].key,
                                pairs->items[i].value);
    return text;
}

/* csi-4: reserved keys are for the provisioner; unknown ones are an error. */
TEST(csi_parameters_of_the_driver)
{
    _cleanup_(object_unref_p) struct object *k = new_class_with(
        "'type':'ssd','fstype':'xfs','" P "fstype':'','" P "provisioner-secret-name':'s','" P
        "provisioner-secret-namespace':'n','csiNodeStageSecretName':'x','csiNodeStageSecretNamespace':'y'");
    _cleanup_(object_unref_p) struct object *bad = new_class_with("'" P "typo':'1'");
    _cleanup_(object_unref_p) struct object *claim =
        new_object(KIND_CLAIM, "{'metadata':{'namespace':'team','name':'data','uid':'u'},'spec':{}}");
    const struct csi_extra_metadata extra = { claim_of(claim), "pvc-u" };
    struct kvs found;

    arena_begin();
    ASSERT_OK(csi_driver_parameters(&arena, class_view(k), NULL, &found, &err));
    ASSERT_STR("csiNodeStageSecretName=x csiNodeStageSecretNamespace=y fstype=xfs type=ssd",
               parameters_words(&found));
    ASSERT_OK(csi_driver_parameters(&arena, class_view(k), &extra, &found, &err));
    ASSERT_STR("csi.storage.k8s.io/pv/name=pvc-u csi.storage.k8s.io/pvc/name=data "
               "csi.storage.k8s.io/pvc/namespace=team csiNodeStageSecretName=x csiNodeStageSecretNamespace=y "
               "fstype=xfs type=ssd",
               parameters_words(&found));
    ASSERT_ERR(ERR_INVALID, csi_driver_parameters(&arena, class_view(bad), NULL, &found, &err));
    ASSERT_STR("failed to strip CSI Parameters of prefixed keys: found unknown parameter key \"" P
               "typo\" with reserved namespace " P,
               err.msg);
    arena_done(&arena);
}

/* csi-5: pairs, templates, and each invalid form. */
TEST(csi_secrets_of_a_class)
{
#define PAIR(name, ns) \
    "'" P "provisioner-secret-name':'" name "','" P "provisioner-secret-namespace':'" ns "'"
    static const struct {
        const char *parameters, *found, *error;
    } rows[] = {
        { "", "/", NULL },
        { PAIR("s", "n"), "n/s", NULL },
        { "'csiProvisionerSecretName':'s','csiProvisionerSecretNamespace':'n'", "n/s", NULL },
        { "'" P "secret-name':'d','" P "secret-namespace':'e'", "e/d", NULL },
        { PAIR("s", "n") ",'" P "secret-name':'d','" P "secret-namespace':'e'", "n/s", NULL },
        { PAIR("${pvc.name}-${pv.name}", "${pvc.namespace}"), "team/data-pvc-u", NULL },
        { PAIR("${pvc.annotations[\\u0027example.com/key\\u0027]}", "n"), "n/from-annotation", NULL },
        { PAIR("s", "${pv.name}"), "pvc-u/s", NULL },
        { "'" P "provisioner-secret-name':'s'", NULL,
          "failed to get name and namespace template from params: either name and namespace for Provisioner "
          "secrets specified, Both must be specified" },
        { PAIR("s", "n") ",'csiProvisionerSecretName':'s','csiProvisionerSecretNamespace':'n'", NULL,
          "failed to get name and namespace template from params: Provisioner secrets specified in "
          "parameters "
          "with both \"csi\" and \"" P "\" keys" },
        { "'" P "secret-name':'s'", NULL,
          "failed to get default name and namespace template from params: either name and namespace for "
          "Default secrets specified, Both must be specified" },
        { PAIR("s", "${pvc.name}"), NULL,
          "error resolving value \"${pvc.name}\": invalid tokens: [\"pvc.name\"]" },
        { PAIR("${x}${pvc.annotations[\\u0027none\\u0027]}", "n"), NULL,
          "error resolving value \"${x}${pvc.annotations['none']}\": invalid tokens: [\"x\" "
          "\"pvc.annotations['none']\"]" },
        { PAIR("s", "Upper"), NULL, "\"Upper\" is not a valid namespace name" },
        { PAIR("s_${pvc.name}", "n"), NULL,
          "\"s_${pvc.name}\" resolved to \"s_data\" which is not a valid secret name" },
        { PAIR("a/b", "n"), NULL, "\"a/b\" is not a valid secret name" },
    };
    _cleanup_(object_unref_p) struct object *claim =
        new_object(KIND_CLAIM, "{'metadata':{'namespace':'team','name':'data','uid':'u','annotations':{"
                               "'example.com/key':'from-annotation'}},'spec':{}}");

    arena_begin();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(object_unref_p) struct object *k = new_class_with(rows[i].parameters);
        struct secret_ref found = { "", "" };
        char text[512];

        if (rows[i].error) {
            ASSERT_ERR(ERR_INVALID, csi_secret_reference(&arena, class_view(k), CSI_FOR_PROVISIONER,
                                                         claim_of(claim), "pvc-u", &found, &err));
            ASSERT_STR(rows[i].error, err.msg);
        } else {
            ASSERT_OK(csi_secret_reference(&arena, class_view(k), CSI_FOR_PROVISIONER, claim_of(claim),
                                           "pvc-u", &found, &err));
            (void)snprintf(text, sizeof text, "%s/%s", found.ns, found.name);
            ASSERT_STR(rows[i].found, text);
        }
    }
    arena_done(&arena);
}

/* csi-5: each use has its own pair of keys. */
TEST(csi_secrets_of_every_use)
{
    static const char *const names[] = { "provisioner",      "controller-publish", "node-stage",
                                         "node-publish",     "controller-expand",  "node-expand",
                                         "controller-modify" };
    char text[STILL_TEXT_MAX] = "";
    size_t len = 0;

    arena_begin();
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        len += (size_t)snprintf(text + len, sizeof text - len,
                                "%s'" P "%s-secret-name':'name-%zu','" P "%s-secret-namespace':'ns-%zu'",
                                i ? "," : "", names[i], i, names[i], i);
    for (size_t i = 0; i < CSI_SECRET_USE_COUNT; i++) {
        _cleanup_(object_unref_p) struct object *k = new_class_with(text);
        struct secret_ref found;
        char expected[64];

        ASSERT_OK(
            csi_secret_reference(&arena, class_view(k), (enum csi_secret_use)i, NULL, "pvc-u", &found, &err));
        (void)snprintf(expected, sizeof expected, "ns-%zu/name-%zu", i, i);
        (void)snprintf(text + len, sizeof text - len, "%s/%s", found.ns, found.name);
        ASSERT_STR(expected, text + len);
        text[len] = '\0';
    }
    arena_done(&arena);
}

/* --- Topology --- */

static struct still world;

static void add_node(const char *name, const char *zone, const char *keys)
{
    char text[1024];

    (void)snprintf(text, sizeof text,
                   "{'metadata':{'name':'%s','labels':{'zone':'%s','rack':'r-%s'}},'spec':{}}", name, zone,
                   name);
    still_add(&world, KIND_NODE, text);
    if (!keys)
        return;
    (void)snprintf(text, sizeof text,
                   "{'metadata':{'name':'%s'},'spec':{'drivers':[{'name':'" DRIVER
                   "','nodeID':'%s','topologyKeys':[%s]}]}}",
                   name, name, keys);
    still_add(&world, KIND_CSI_NODE, text);
}

static void add_three_zones(void)
{
    add_node("n1", "a", "'zone'");
    add_node("n2", "b", "'zone'");
    add_node("n3", "c", "'zone'");
    add_node("n4", "c", "'zone'");
    add_node("bare", "d", NULL);
    add_node("keyless", "e", "");
}

static const char *terms_words(const struct csi_terms *t)
{
    static char texts[2][2048];
    static unsigned next;
    char *text = texts[next++ % 2];
    size_t len = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < t->count; i++)
        len += (size_t)snprintf(text + len, sizeof texts[0] - len, "%s%s", i ? "|" : "",
                                parameters_words(&t->items[i]));
    return text;
}

struct topology_row {
    const char *what;
    const char *class_members;
    const char *node;  /* NULL: none selected */
    const char *claim; /* NULL: "c" */
    bool is_strict, has_no_immediate;
    const char *requisite, *preferred; /* NULL: fails */
    enum err code;
    const char *error;
};

#define ALLOWED_AB ",'allowedTopologies':[{'matchLabelExpressions':[{'key':'zone','values':['b','a']}]}]"

/* csi-2, csi-11, csi-12 */
static const struct topology_row topology_rows[] = {
    { "selected node first", "", "n2", NULL, false, false, "zone=a|zone=b|zone=c|zone=d|zone=e",
      "zone=b|zone=c|zone=d|zone=e|zone=a", ERR_NONE, NULL },
    { "strict", "", "n2", NULL, true, false, "zone=b", "zone=b", ERR_NONE, NULL },
    { "allowed", ALLOWED_AB, "n2", NULL, false, false, "zone=a|zone=b", "zone=b|zone=a", ERR_NONE, NULL },
    { "strict and allowed", ALLOWED_AB, "n1", NULL, true, false, "zone=a", "zone=a", ERR_NONE, NULL },
    { "strict and not allowed", ALLOWED_AB, "n3", NULL, true, false, NULL, NULL, ERR_UNAVAILABLE,
      "selected node '\"n3\"' topology '[{zone c}]' is not in allowed topologies: [[{zone a}] [{zone b}]]" },
    { "not allowed", ALLOWED_AB, "n3", NULL, false, false, NULL, NULL, ERR_UNAVAILABLE,
      "topology [{zone c}] from selected node \"n3\" is not in requisite: [[{zone a}] [{zone b}]]" },
    { "no CSINode", "", "bare", NULL, false, false, NULL, NULL, ERR_NOT_FOUND,
      "error getting CSINode for selected node \"bare\": csinode \"bare\" not found" },
    { "no keys", "", "keyless", NULL, false, false, NULL, NULL, ERR_UNAVAILABLE,
      "no topology key found for node keyless" },
    { "immediate, allowed", ALLOWED_AB, NULL, "c", false, false, "zone=a|zone=b", NULL, ERR_NONE, NULL },
    { "immediate, not wanted", "", NULL, NULL, false, true, "", "", ERR_NONE, NULL },
    { "two keys",
      ",'allowedTopologies':[{'matchLabelExpressions':[{'key':'zone','values':['a','b']},{'key':'rack',"
      "'values':['1','2']}]}]",
      NULL, NULL, false, false, "rack=1 zone=a|rack=1 zone=b|rack=2 zone=a|rack=2 zone=b", NULL, ERR_NONE,
      NULL },
};

static void check_topology(const struct topology_row *row)
{
    _cleanup_(object_unref_p) struct object *k = new_class(row->class_members);
    const struct informer *nodes = informers_get(world.informers, KIND_NODE, &err);
    const struct object *node = row->node ? informer_get(nodes, "", row->node) : NULL;
    struct csi_topology_request q = { .driver = DRIVER,
                                      .claim_name = row->claim ? row->claim : "c",
                                      .class = class_view(k),
                                      .node = node ? node_of(node) : NULL,
                                      .nodes = nodes,
                                      .csi_nodes = informers_get(world.informers, KIND_CSI_NODE, &err),
                                      .is_strict = row->is_strict,
                                      .has_no_immediate = row->has_no_immediate };
    struct csi_topology t;

    print_message("%s\n", row->what);
    arena_begin();
    if (row->error) {
        ASSERT_ERR(row->code, csi_topology_of(&arena, &q, &t, &err));
        ASSERT_STR(row->error, err.msg);
    } else {
        ASSERT_OK(csi_topology_of(&arena, &q, &t, &err));
        ASSERT_STR(row->requisite, terms_words(&t.requisite));
        if (row->preferred)
            ASSERT_STR(row->preferred, terms_words(&t.preferred));
        assert_int_equal(t.requisite.count, t.preferred.count);
    }
    arena_done(&arena);
}

TEST(csi_topology_of_a_claim)
{
    world = (struct still){ 0 };
    add_three_zones();
    still_run(&world);
    for (size_t i = 0; i < ARRAY_LEN(topology_rows); i++)
        check_topology(&topology_rows[i]);
    still_done(&world);
}

/* csi-11: members of a StatefulSet are spread; the claims of one member are together. */
TEST(csi_topology_spreads_stateful_sets)
{
    uint32_t first = csi_topology_offset("data-web-0");

    assert_int_equal(csi_topology_offset("data-web-1") - first, 1);
    assert_int_equal(csi_topology_offset("data-web-11") - first, 11);
    assert_int_equal(csi_topology_offset("logs-web-2") - first, 2);
    assert_int_not_equal(csi_topology_offset("data-api-0"), first);
    /* FNV-1 of "web", and of a name without an ordinal. */
    assert_int_equal(first, 0x46661985U);
    assert_int_equal(csi_topology_offset("a"), 0x050c5d7eU);
}

TEST(csi_topology_is_recorded_and_read_again)
{
    _cleanup_(object_unref_p) struct object *k = new_class(ALLOWED_AB);
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(STILL_TEXT_MAX);
    _cleanup_(json_done_p) struct json d;
    struct csi_topology_request q = { .driver = DRIVER, .claim_name = "c", .class = class_view(k) };
    struct csi_topology t, again;
    json_ref root;

    arena_begin();
    json_init(&d, STILL_TEXT_MAX);
    ASSERT_OK(csi_topology_of(&arena, &q, &t, &err));
    csi_topology_write(&text, NULL, &t);
    ASSERT_OK(json_parse(&d, buf_str(&text), &root, &err));
    ASSERT_OK(csi_topology_read(&arena, &d, root, &again, &err));
    ASSERT_STR(terms_words(&t.requisite), terms_words(&again.requisite));
    ASSERT_STR(terms_words(&t.preferred), terms_words(&again.preferred));
    buf_clear(&text);
    csi_topology_write_affinity(&text, &t.requisite);
    ASSERT_STR(
        "\"nodeAffinity\":{\"required\":{\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":\"zone\","
        "\"operator\":\"In\",\"values\":[\"a\"]}]},{\"matchExpressions\":[{\"key\":\"zone\",\"operator\":"
        "\"In\",\"values\":[\"b\"]}]}]}}",
        buf_cstr(&text));
    arena_done(&arena);
}

TEST_MAIN()

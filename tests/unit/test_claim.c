/* PersistentVolumeClaim: defaults, rules, what may not change, data sources, status, the view. */
#include "tests/unit/test_prepare.h"

#include "api/claim.h"

#define META "'kind':'PersistentVolumeClaim','apiVersion':'v1','metadata':{'name':'c','namespace':'n'}"
#define CLAIM_RAW(rest) "{" META rest "}"
#define CLAIM(spec) CLAIM_RAW(",'spec':{" spec "}")
#define MODES "'accessModes':['ReadWriteOnce']"
#define REQUEST(size) "'resources':{'requests':{'storage':'" size "'}}"
#define PLAIN MODES "," REQUEST("5Gi")
#define BETA "volume.beta.kubernetes.io/storage-class"
#define IMMUTABLE                                                                      \
    "spec: Forbidden: spec is immutable after creation except resources.requests and " \
    "volumeAttributesClassName "                                                       \
    "for bound claims\n"
#define SUBDOMAIN                                                                                         \
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and " \
    "must "                                                                                               \
    "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "     \
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"

/* --- Form --- */

TEST(claim_defaults_and_canonical_form)
{
    ASSERT_STORED(KIND_CLAIM,
                  "{" META ",'spec':{" MODES
                  ",'resources':{'requests':{'storage':'1Gi'}},'storageClassName':'',"
                  "'volumeMode':'Filesystem'},'status':{'phase':'Pending'}}",
                  CLAIM("'storageClassName':'','volumeName':'','resources':{'limits':{},'requests':"
                        "{'storage':'1024Mi'}},'selector':null," MODES));
    ASSERT_STORED(KIND_CLAIM,
                  "{" META ",'spec':{'resources':{},'volumeMode':'Filesystem'},'status':{'phase':'Pending'}}",
                  "{" META "}");
    ASSERT_STORED(KIND_CLAIM,
                  "{" META ",'spec':{'selector':{},'resources':{'requests':{'storage':'1m'}},"
                  "'volumeMode':'Block'},'status':{'phase':'Bound','capacity':{'storage':'2m'},"
                  "'conditions':[{'type':'Resizing','status':''}]}}",
                  CLAIM_RAW(",'spec':{'volumeMode':'Block','selector':{},'resources':{'requests':{'storage':"
                            "'1n'}}},'status':{'capacity':{'storage':'1001u'},'phase':'Bound','conditions':"
                            "[{'type':'Resizing','lastProbeTime':null}]}"));
}

TEST(claim_wrong_types)
{
    static const struct {
        const char *text, *error;
    } rows[] = {
        { CLAIM("'resources':[]"),
          "json: cannot unmarshal array into Go struct field "
          "PersistentVolumeClaimSpec.spec.resources of type v1.VolumeResourceRequirements" },
        { CLAIM("'storageClassName':7"), "json: cannot unmarshal number into Go struct field "
                                         "PersistentVolumeClaimSpec.spec.storageClassName of type string" },
        { CLAIM("'accessModes':[1]"), "json: cannot unmarshal number into Go struct field "
                                      "PersistentVolumeClaimSpec.spec.accessModes of type "
                                      "v1.PersistentVolumeAccessMode" },
        { CLAIM("'dataSource':'x'"), "json: cannot unmarshal string into Go struct field "
                                     "PersistentVolumeClaimSpec.spec.dataSource of type "
                                     "v1.TypedLocalObjectReference" },
        { CLAIM_RAW(",'status':{'conditions':{}}"), "json: cannot unmarshal object into Go struct field "
                                                    "PersistentVolumeClaimStatus.status.conditions of "
                                                    "type []v1.PersistentVolumeClaimCondition" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ASSERT_STR(rows[i].error, kind_text(KIND_CLAIM, rows[i].text));
}

TEST(claim_unknown_and_duplicate_fields)
{
    ASSERT_STR(
        "unknown field \"spec.resources.claims\", unknown field \"spec.dataSource.namespace\", duplicate "
        "field \"spec.volumeName\", unknown field \"status.resizeStatus\"",
        kind_report(KIND_CLAIM,
                    CLAIM_RAW(",'spec':{'resources':{'claims':[]},'dataSource':{'namespace':'x'},"
                              "'volumeName':'a','volumeName':'b'},'status':{'resizeStatus':''}")));
    ASSERT_STR("", kind_report(KIND_CLAIM, CLAIM_RAW(",'status':{'modifyVolumeStatus':{'status':'Pending',"
                                                     "'targetVolumeAttributesClassName':'g'}}")));
}

/* --- Rules --- */

TEST(claim_rules)
{
    static const struct {
        const char *text, *errors;
    } rows[] = {
        { CLAIM(PLAIN), "" },
        { CLAIM(""), "spec.accessModes: Required value: at least 1 access mode is required\n"
                     "spec.resources[storage]: Required value" },
        { CLAIM("'accessModes':['ReadWriteOncePod','ReadWriteMany']," REQUEST("1")),
          "spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes" },
        { CLAIM("'accessModes':['RWX']," REQUEST("1")),
          "spec.accessModes: Unsupported value: \"RWX\": supported values: \"ReadOnlyMany\", "
          "\"ReadWriteMany\", "
          "\"ReadWriteOnce\", \"ReadWriteOncePod\"" },
        { CLAIM(MODES "," REQUEST("1500m")), "" },
        { CLAIM(MODES "," REQUEST("-1Gi")),
          "spec.resources[storage]: Invalid value: \"-1Gi\": must be greater than zero" },
        { CLAIM(MODES ",'resources':{'limits':{'storage':'1'},'requests':{'cpu':'1'}}"),
          "spec.resources[storage]: Required value" },
        { CLAIM(PLAIN ",'storageClassName':''"), "" },
        { CLAIM(PLAIN ",'storageClassName':'fast'"), "" },
        { CLAIM(PLAIN ",'storageClassName':'Fast'"),
          "spec.storageClassName: Invalid value: \"Fast\": " SUBDOMAIN },
        { CLAIM(PLAIN ",'volumeMode':'Disk'"),
          "spec.volumeMode: Unsupported value: \"Disk\": supported values: \"Block\", \"Filesystem\"" },
        { CLAIM(PLAIN ",'volumeAttributesClassName':''"), "" },
        { CLAIM(PLAIN ",'volumeAttributesClassName':'Gold'"),
          "spec.volumeAttributesClassName: Invalid value: \"Gold\": " SUBDOMAIN },
        { "{'metadata':{'name':'c'},'spec':{" PLAIN "}}", "metadata.namespace: Required value" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ASSERT_CREATE(KIND_CLAIM, rows[i].errors, rows[i].text);
}

TEST(apiserver_59_request_of_nothing)
{
    ASSERT_CREATE(KIND_CLAIM, "spec.resources[storage]: Invalid value: \"0\": must be greater than zero",
                  CLAIM(MODES "," REQUEST("0")));
}

TEST(claim_selector)
{
    static const struct {
        const char *selector, *errors;
    } rows[] = {
        { "{'matchLabels':{'a':'b'},'matchExpressions':[{'key':'k','operator':'In','values':['v']},"
          "{'key':'k','operator':'DoesNotExist'}]}",
          "" },
        { "{'matchExpressions':[{'key':'k','operator':'NotIn'}]}",
          "spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is "
          "'In' or "
          "'NotIn'" },
        { "{'matchExpressions':[{'key':'k','operator':'Exists','values':['v']}]}",
          "spec.selector.matchExpressions[0].values: Forbidden: may not be specified when `operator` is "
          "'Exists' "
          "or 'DoesNotExist'" },
        { "{'matchExpressions':[{'key':'k','operator':'Gt','values':['1']}]}",
          "spec.selector.matchExpressions[0].operator: Invalid value: \"Gt\": not a valid selector "
          "operator" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[512];
        (void)snprintf(text, sizeof text, CLAIM(PLAIN ",'selector':%s"), rows[i].selector);
        ASSERT_CREATE(KIND_CLAIM, rows[i].errors, text);
    }
}

TEST(claim_data_source_rules)
{
#define SNAPSHOT "{'apiGroup':'snapshot.storage.k8s.io','kind':'VolumeSnapshot','name':'s'}"
#define OTHER "{'kind':'PersistentVolumeClaim','name':'o'}"
    static const struct {
        const char *text, *errors;
    } rows[] = {
        { CLAIM(PLAIN ",'dataSource':" SNAPSHOT ",'dataSourceRef':" SNAPSHOT), "" },
        { CLAIM(PLAIN ",'dataSource':" OTHER), "" },
        { CLAIM(PLAIN ",'dataSource':{}"),
          "spec.dataSource.name: Required value\nspec.dataSource.kind: Required value\n"
          "spec.dataSource: Invalid value: \"\": must be 'PersistentVolumeClaim' when referencing the "
          "default "
          "apiGroup" },
        { CLAIM(PLAIN ",'dataSourceRef':{'kind':'Pod','name':'p'}"),
          "spec.dataSourceRef: Invalid value: \"Pod\": must be 'PersistentVolumeClaim' when referencing the "
          "default apiGroup" },
        { CLAIM(PLAIN ",'dataSourceRef':{'apiGroup':'Foo','kind':'Bar','name':'p'}"),
          "spec.dataSourceRef.apiGroup: Invalid value: \"Foo\": " SUBDOMAIN },
        { CLAIM(PLAIN ",'dataSource':" SNAPSHOT ",'dataSourceRef':" OTHER),
          "spec: Invalid value: {}: must match dataSourceRef" },
        { CLAIM(PLAIN ",'dataSource':" OTHER
                      ",'dataSourceRef':{'apiGroup':'','kind':'PersistentVolumeClaim','name':'o'}"),
          "spec: Invalid value: {}: must match dataSourceRef" },
        { CLAIM(PLAIN ",'dataSource':" OTHER ",'dataSourceRef':{'kind':'PersistentVolumeClaim','name':'o',"
                      "'namespace':'elsewhere'}"),
          "spec: Invalid value: {}: may not be specified when dataSourceRef.namespace is specified" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ASSERT_CREATE(KIND_CLAIM, rows[i].errors, rows[i].text);
    assert_non_null(
        strstr(kind_errors(KIND_CLAIM, WRITE_MAIN, NULL,
                           CLAIM(PLAIN ",'dataSourceRef':{'kind':'PersistentVolumeClaim','name':'o',"
                                       "'namespace':'A'}")),
               "spec.dataSourceRef.namespace: Invalid value: \"A\": a lowercase RFC 1123 label"));
}

/* A group that was let in once is not judged again. */
TEST(claim_data_source_group_of_old)
{
    ASSERT_UPDATE(KIND_CLAIM, "", CLAIM(PLAIN ",'dataSourceRef':{'apiGroup':'Foo','kind':'Bar','name':'p'}"),
                  CLAIM(PLAIN ",'dataSourceRef':{'apiGroup':'Foo','kind':'Bar','name':'p'}"));
}

/* --- Change --- */

#define WITH_STATUS(spec, status) CLAIM_RAW(",'spec':{" spec "},'status':{" status "}")
#define BOUND "'phase':'Bound','capacity':{'storage':'5Gi'}"
#define BOUND_CLAIM(spec) WITH_STATUS(spec, BOUND)

TEST(claim_may_change)
{
    ASSERT_UPDATE(KIND_CLAIM, "", CLAIM(PLAIN), CLAIM(PLAIN ",'volumeName':'v'"));
    ASSERT_UPDATE(KIND_CLAIM, "", CLAIM(PLAIN), CLAIM(PLAIN ",'storageClassName':'fast'"));
    ASSERT_UPDATE(KIND_CLAIM, "", CLAIM(PLAIN), CLAIM(PLAIN ",'storageClassName':''"));
    ASSERT_UPDATE(KIND_CLAIM, "", CLAIM(PLAIN), CLAIM(MODES "," REQUEST("5368709120")));
    ASSERT_UPDATE(KIND_CLAIM, "", BOUND_CLAIM(PLAIN), CLAIM(MODES "," REQUEST("6Gi")));
    ASSERT_UPDATE(KIND_CLAIM, "", BOUND_CLAIM(PLAIN), CLAIM(PLAIN ",'volumeAttributesClassName':'gold'"));
    ASSERT_UPDATE(KIND_CLAIM, "", BOUND_CLAIM(PLAIN ",'volumeAttributesClassName':'gold'"), CLAIM(PLAIN));
}

TEST(apiserver_37_resize_while_pending)
{
    ASSERT_UPDATE(KIND_CLAIM,
                  IMMUTABLE "- resources.requests.storage: \"5Gi\"\n+ resources.requests.storage: \"6Gi\"\n",
                  CLAIM(PLAIN), CLAIM(MODES "," REQUEST("6Gi")));
    /* the phase that counts is the stored one */
    ASSERT_UPDATE(KIND_CLAIM,
                  IMMUTABLE "- resources.requests.storage: \"5Gi\"\n+ resources.requests.storage: \"6Gi\"\n",
                  CLAIM(PLAIN), BOUND_CLAIM(MODES "," REQUEST("6Gi")));
}

TEST(apiserver_39_shrink)
{
    static const char refused[] =
        "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity";
    static const struct {
        const char *size, *errors;
    } rows[] = {
        { "10Gi", "" },       { "20Gi", "" },     { "8Gi", "" },
        { "5368709121", "" }, { "5Gi", refused }, { "1Gi", refused },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[256];
        (void)snprintf(text, sizeof text, CLAIM(MODES ",'resources':{'requests':{'storage':'%s'}}"),
                       rows[i].size);
        ASSERT_UPDATE(KIND_CLAIM, rows[i].errors, BOUND_CLAIM(MODES "," REQUEST("10Gi")), text);
    }
    ASSERT_UPDATE(KIND_CLAIM, "", WITH_STATUS(PLAIN, "'phase':'Bound'"), CLAIM(MODES "," REQUEST("1")));
}

TEST(claim_spec_stays)
{
    static const struct {
        const char *old, *text, *errors;
    } rows[] = {
        { CLAIM(PLAIN ",'volumeName':'v'"), CLAIM(PLAIN ",'volumeName':'w'"),
          IMMUTABLE "- volumeName: \"v\"\n+ volumeName: \"w\"\n" },
        { BOUND_CLAIM(PLAIN ",'volumeName':'v'"), CLAIM(PLAIN), IMMUTABLE "- volumeName: \"v\"\n" },
        { CLAIM(PLAIN), CLAIM("'accessModes':['ReadOnlyMany']," REQUEST("5Gi")),
          IMMUTABLE "- accessModes: [\"ReadWriteOnce\"]\n+ accessModes: [\"ReadOnlyMany\"]\n" },
        { CLAIM(PLAIN), CLAIM(PLAIN ",'selector':{}"), IMMUTABLE "+ selector: {}\n" },
        { CLAIM(PLAIN), CLAIM(PLAIN ",'volumeMode':'Block'"),
          IMMUTABLE "- volumeMode: \"Filesystem\"\n+ volumeMode: \"Block\"\n\n"
                    "volumeMode: Invalid value: \"Block\": field is immutable" },
        { CLAIM(PLAIN), CLAIM(PLAIN ",'volumeAttributesClassName':'gold'"),
          IMMUTABLE "+ volumeAttributesClassName: \"gold\"\n" },
        { BOUND_CLAIM(PLAIN),
          CLAIM(MODES ",'resources':{'requests':{'storage':'5Gi'},'limits':{'storage':'9Gi'}}"),
          IMMUTABLE "+ resources.limits: {\"storage\":\"9Gi\"}\n" },
        { BOUND_CLAIM(PLAIN), CLAIM(MODES ",'resources':{'requests':{'storage':'6Gi','cpu':'1'}}"),
          IMMUTABLE "- resources.requests.storage: \"5Gi\"\n+ resources.requests.storage: \"6Gi\"\n"
                    "+ resources.requests.cpu: \"1\"\n" },
        { CLAIM(PLAIN), CLAIM(PLAIN ",'dataSource':" OTHER),
          IMMUTABLE "+ dataSource: {\"kind\":\"PersistentVolumeClaim\",\"name\":\"o\"}\n" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ASSERT_UPDATE(KIND_CLAIM, rows[i].errors, rows[i].old, rows[i].text);
}

TEST(claim_class_change)
{
#define ANNOTATED(class, spec) \
    "{'metadata':{'name':'c','namespace':'n','annotations':{'" BETA "':'" class "'}},'spec':{" PLAIN spec "}}"
#define FIXED_ANNOTATION(value) \
    "metadata.annotations." BETA ": Invalid value: \"" value "\": field is immutable"
    static const struct {
        const char *old, *text, *errors;
    } rows[] = {
        { CLAIM(PLAIN ",'storageClassName':'a'"), CLAIM(PLAIN ",'storageClassName':'b'"),
          IMMUTABLE "- storageClassName: \"a\"\n+ storageClassName: \"b\"\n" },
        { CLAIM(PLAIN ",'storageClassName':''"), CLAIM(PLAIN ",'storageClassName':'b'"),
          IMMUTABLE "- storageClassName: \"\"\n+ storageClassName: \"b\"\n" },
        { CLAIM(PLAIN ",'storageClassName':'a'"), CLAIM(PLAIN), IMMUTABLE "- storageClassName: \"a\"\n" },
        /* from the annotation into the spec */
        { ANNOTATED("a", ""), ANNOTATED("a", ",'storageClassName':'a'"), "" },
        { ANNOTATED("a", ""), CLAIM(PLAIN ",'storageClassName':'a'"), "" },
        { ANNOTATED("a", ""), ANNOTATED("a", ",'storageClassName':'b'"),
          IMMUTABLE "+ storageClassName: \"b\"\n" },
        { ANNOTATED("a", ""), ANNOTATED("b", ",'storageClassName':'a'"), FIXED_ANNOTATION("b") },
        { ANNOTATED("a", ""), ANNOTATED("b", ""), FIXED_ANNOTATION("b") },
        { ANNOTATED("a", ""), CLAIM(PLAIN), FIXED_ANNOTATION("") },
        { CLAIM(PLAIN), ANNOTATED("a", ""), FIXED_ANNOTATION("a") },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ASSERT_UPDATE(KIND_CLAIM, rows[i].errors, rows[i].old, rows[i].text);
}

TEST(claim_attributes_class_in_force)
{
#define IN_FORCE BOUND ",'currentVolumeAttributesClassName':'gold'"
#define GOLD ",'volumeAttributesClassName':'gold'"
    static const struct {
        const char *old, *text, *errors;
    } rows[] = {
        { WITH_STATUS(PLAIN GOLD, IN_FORCE), CLAIM(PLAIN ",'volumeAttributesClassName':'silver'"), "" },
        { WITH_STATUS(PLAIN GOLD, IN_FORCE), CLAIM(PLAIN),
          "spec.volumeAttributesClassName: Forbidden: update to nil is forbidden when "
          "status.currentVolumeAttributesClassName is not nil" },
        { WITH_STATUS(PLAIN GOLD, IN_FORCE), CLAIM(PLAIN ",'volumeAttributesClassName':''"),
          "spec.volumeAttributesClassName: Forbidden: update to empty string is forbidden when "
          "status.currentVolumeAttributesClassName is not nil" },
        { WITH_STATUS(PLAIN GOLD, BOUND), CLAIM(PLAIN ",'volumeAttributesClassName':''"), "" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ASSERT_UPDATE(KIND_CLAIM, rows[i].errors, rows[i].old, rows[i].text);
}

TEST(claim_status_rules)
{
#define STATUSES "\"ControllerResizeInProgress\", \"ControllerResizeInfeasible\", \"NodeResizeInProgress\", "
    static const struct {
        const char *status, *errors;
    } rows[] = {
        { "'phase':'Bound','capacity':{'storage':'1Gi'},'allocatedResources':{'storage':'2Gi','example.com/"
          "x':'1'},"
          "'allocatedResourceStatuses':{'storage':'NodeResizePending','example.com/"
          "x':'NodeResizeInfeasible'}",
          "" },
        { "'capacity':{'storage':'0'}", "" },
        { "'capacity':{'storage':'-1Gi'}",
          "status.capacity[storage]: Invalid value: -1073741824: must be a valid resource quantity" },
        { "'allocatedResourceStatuses':{'storage':'Resizing'}",
          "status.allocatedResourceStatus: Unsupported value: \"storage\": supported values: "
          "\"ControllerResizeInProgress\", \"ControllerResizeInfeasible\", \"NodeResizeInProgress\", "
          "\"NodeResizeInfeasible\", \"NodeResizePending\"" },
        { "'allocatedResourceStatuses':{'cpu':'NodeResizePending','requests.kubernetes.io/"
          "x':'NodeResizePending'}",
          "status.allocatedResourceStatus: Unsupported value: \"cpu\": supported values: \"storage\"\n"
          "status.allocatedResourceStatus: Unsupported value: \"requests.kubernetes.io/x\": supported "
          "values: "
          "\"storage\"" },
        { "'allocatedResources':{'storage':'-1','memory':'-1'}",
          "status.allocatedResources: Unsupported value: \"memory\": supported values: \"storage\"\n"
          "status.allocatedResources[storage]: Invalid value: -1: must be a valid resource quantity" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[512];
        (void)snprintf(text, sizeof text, CLAIM_RAW(",'status':{%s}"), rows[i].status);
        ASSERT_STATUS(KIND_CLAIM, rows[i].errors, CLAIM(PLAIN), text);
        ASSERT_UPDATE(KIND_CLAIM, "", CLAIM(PLAIN), CLAIM(PLAIN)); /* and a main write does not look at it */
    }
    assert_non_null(strstr(kind_errors(KIND_CLAIM, WRITE_STATUS, CLAIM(PLAIN),
                                       CLAIM_RAW(",'status':{'allocatedResources':{'a b':'1'}}")),
                           "status.allocatedResources: Invalid value: \"a b\": name part must consist of"));
}

/* --- Preparation --- */

#define STORED(sources, status) \
    "{" META ",'spec':{" PLAIN ",'volumeMode':'Filesystem'" sources "},'status':{" status "}}"
#define PENDING "'phase':'Pending'"

TEST(claim_is_created_pending)
{
    ASSERT_PREPARED(KIND_CLAIM, WRITE_MAIN, STORED("", PENDING), NULL, BOUND_CLAIM(PLAIN));
}

TEST(claim_writes_keep_to_their_part)
{
    ASSERT_PREPARED(KIND_CLAIM, WRITE_MAIN, STORED("", "'phase':'Lost'"),
                    WITH_STATUS(PLAIN, "'phase':'Lost'"), BOUND_CLAIM(PLAIN));
    ASSERT_PREPARED(KIND_CLAIM, WRITE_STATUS, STORED("", BOUND), CLAIM(PLAIN),
                    BOUND_CLAIM(PLAIN ",'volumeName':'v'"));
}

TEST(apiserver_60_foreign_data_source_is_dropped)
{
    ASSERT_PREPARED(KIND_CLAIM, WRITE_MAIN, STORED("", PENDING), NULL,
                    CLAIM(PLAIN ",'dataSource':{'kind':'Foo','name':'f'}"));
}

TEST(claim_data_sources_on_create)
{
#define POPULATOR "{'apiGroup':'pop.io','kind':'Filler','name':'f'}"
#define ABROAD "{'kind':'PersistentVolumeClaim','name':'o','namespace':'elsewhere'}"
    static const struct {
        const char *sources, *stored;
    } rows[] = {
        { ",'dataSource':" OTHER, ",'dataSource':" OTHER ",'dataSourceRef':" OTHER },
        { ",'dataSource':" SNAPSHOT, ",'dataSource':" SNAPSHOT ",'dataSourceRef':" SNAPSHOT },
        { ",'dataSourceRef':" POPULATOR, ",'dataSource':" POPULATOR ",'dataSourceRef':" POPULATOR },
        { ",'dataSource':" POPULATOR, "" },
        { ",'dataSource':{'kind':'VolumeSnapshot','name':'s'}", "" },
        { ",'dataSource':" POPULATOR ",'dataSourceRef':" POPULATOR,
          ",'dataSource':" POPULATOR ",'dataSourceRef':" POPULATOR },
        { ",'dataSource':" OTHER ",'dataSourceRef':" SNAPSHOT,
          ",'dataSource':" OTHER ",'dataSourceRef':" SNAPSHOT },
        { ",'dataSourceRef':" ABROAD, "" },
        { ",'dataSource':" OTHER ",'dataSourceRef':" ABROAD,
          ",'dataSource':" OTHER ",'dataSourceRef':" OTHER },
        { ",'dataSourceRef':{'kind':'PersistentVolumeClaim','name':'o','namespace':''}",
          ",'dataSource':" OTHER
          ",'dataSourceRef':{'kind':'PersistentVolumeClaim','name':'o','namespace':''}" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[1024], stored[1024];
        (void)snprintf(text, sizeof text, CLAIM(PLAIN "%s"), rows[i].sources);
        (void)snprintf(stored, sizeof stored, STORED("%s", PENDING), rows[i].stored);
        ASSERT_PREPARED(KIND_CLAIM, WRITE_MAIN, stored, NULL, text);
    }
}

TEST(claim_data_sources_on_update)
{
#define BOTH(source) ",'dataSource':" source ",'dataSourceRef':" source
    static const struct {
        const char *old, *text, *stored;
    } rows[] = {
        { BOTH(POPULATOR), ",'dataSource':" POPULATOR, BOTH(POPULATOR) }, /* a client that knows one field */
        { BOTH(POPULATOR), ",'dataSourceRef':" POPULATOR, BOTH(POPULATOR) },
        { BOTH(OTHER), "", "" }, /* refused by validation, not repaired here */
        { "", ",'dataSource':" POPULATOR, "" },
        { "", ",'dataSourceRef':" ABROAD, "" },
        { ",'dataSourceRef':" ABROAD, ",'dataSourceRef':" ABROAD, ",'dataSourceRef':" ABROAD },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char old[1024], text[1024], stored[1024];
        (void)snprintf(old, sizeof old, CLAIM(PLAIN "%s"), rows[i].old);
        (void)snprintf(text, sizeof text, CLAIM(PLAIN "%s"), rows[i].text);
        (void)snprintf(stored, sizeof stored, STORED("%s", PENDING), rows[i].stored);
        ASSERT_PREPARED(KIND_CLAIM, WRITE_MAIN, stored, old, text);
    }
}

/* --- The view --- */

TEST(claim_view)
{
    _cleanup_(object_unref_p) struct object *o = kind_object(
        KIND_CLAIM,
        "{'metadata':{'name':'c','namespace':'n'},'spec':{'accessModes':['ReadWriteOnce','ReadOnlyMany'],"
        "'resources':{'requests':{'storage':'6Gi'}},'volumeName':'v','storageClassName':'fast','volumeMode':"
        "'Block','dataSource':" SNAPSHOT ",'volumeAttributesClassName':'gold'},'status':{'phase':'Bound',"
        "'accessModes':['ReadWriteOnce'],'capacity':{'storage':'5Gi'},'conditions':[{'type':'Resizing','"
        "status':"
        "'True','lastTransitionTime':'2024-05-01T10:00:00Z','reason':'r','message':'m'},{'type':'Unused','"
        "status':"
        "'False'}],'allocatedResources':{'storage':'7Gi'},'allocatedResourceStatuses':{'storage':"
        "'NodeResizePending'},'currentVolumeAttributesClassName':'silver','modifyVolumeStatus':{'status':"
        "'Pending','targetVolumeAttributesClassName':'bronze'}}}");
    const struct claim *c = claim_of(o);

    ASSERT_INT(ACCESS_RWO | ACCESS_ROX, c->modes);
    ASSERT_INT(ACCESS_RWO, c->status_modes);
    assert_true(c->has_request && c->has_capacity && c->has_allocated && c->has_class);
    ASSERT_INT(6442450944, quantity_value(&c->request));
    ASSERT_INT(5368709120, quantity_value(&c->capacity));
    ASSERT_INT(7516192768, quantity_value(&c->allocated));
    ASSERT_STR("v", c->volume_name);
    ASSERT_STR("fast", c->class);
    ASSERT_STR("fast", c->spec_class);
    ASSERT_INT(VOLUME_MODE_BLOCK, c->mode);
    ASSERT_STR("gold", c->attributes_class);
    ASSERT_STR("silver", c->current_attributes_class);
    ASSERT_STR("bronze", c->target_attributes_class);
    assert_null(c->selector);
    ASSERT_STR("snapshot.storage.k8s.io", c->source->group);
    ASSERT_STR("VolumeSnapshot", c->source->kind);
    ASSERT_STR("s", c->source->name);
    ASSERT_STR("", c->source->ns);
    ASSERT_INT(CLAIM_BOUND, c->phase);
    ASSERT_INT(RESIZE_NODE_PENDING, c->resize);
    ASSERT_INT(2, c->conditions.count);
    ASSERT_INT(CONDITION_FALSE, condition_status(&c->conditions, "Unused"));
    ASSERT_STR("r", condition_get(&c->conditions, CLAIM_RESIZING)->reason);
    ASSERT_STR("m", c->conditions.items[0].message);
    ASSERT_INT(1714557600, c->conditions.items[0].changed.seconds);
    assert_true(timestamp_is_zero(c->conditions.items[1].changed));
    assert_null(condition_get(&c->conditions, CLAIM_NODE_RESIZE_ERROR));
}

TEST(claim_view_of_an_empty_claim)
{
    _cleanup_(object_unref_p) struct object *o = kind_object(KIND_CLAIM, "{'metadata':{'name':'c'}}");
    const struct claim *c = claim_of(o);

    assert_false(c->has_request || c->has_capacity || c->has_allocated || c->has_class);
    ASSERT_INT(0, c->modes);
    ASSERT_STR("", c->class);
    ASSERT_STR("", c->volume_name);
    ASSERT_STR("", c->attributes_class);
    ASSERT_STR("", c->current_attributes_class);
    ASSERT_STR("", c->target_attributes_class);
    assert_null(c->source);
    ASSERT_INT(VOLUME_MODE_FILESYSTEM, c->mode);
    ASSERT_INT(CLAIM_PHASE_UNSET, c->phase);
    ASSERT_INT(RESIZE_NONE, c->resize);
    ASSERT_INT(0, c->conditions.count);
}

TEST(claim_classes_in_the_view)
{
    static const struct {
        const char *meta, *spec, *class;
        bool has_class;
    } rows[] = {
        { "", "", "", false },
        { "", "'storageClassName':''", "", true },
        { "", "'storageClassName':'a'", "a", true },
        { ",'annotations':{'" BETA "':'b'}", "", "b", true },
        { ",'annotations':{'" BETA "':''}", "'storageClassName':'a'", "", true },
        { ",'annotations':{'other':'b'}", "", "", false },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[512];
        (void)snprintf(text, sizeof text, "{'metadata':{'name':'c'%s},'spec':{%s}}", rows[i].meta,
                       rows[i].spec);
        struct object *o = kind_object(KIND_CLAIM, text);
        ASSERT_STR(rows[i].class, claim_of(o)->class);
        ASSERT_INT(rows[i].has_class, claim_of(o)->has_class);
        (void)object_unref(o);
    }
}

TEST(claim_source_in_the_view)
{
    _cleanup_(object_unref_p) struct object *o =
        kind_object(KIND_CLAIM, "{'metadata':{'name':'c'},'spec':{'dataSourceRef':" ABROAD "}}");

    ASSERT_STR("elsewhere", claim_of(o)->source->ns);
    ASSERT_STR("", claim_of(o)->source->group);
}

TEST(claim_names_both_ways)
{
    for (int i = 0; i < CLAIM_PHASE_COUNT; i++)
        ASSERT_INT(i, claim_phase_parse(str_of(claim_phase_name((enum claim_phase)i))));
    for (int i = 0; i < RESIZE_STATUS_COUNT; i++)
        ASSERT_INT(i, resize_status_parse(str_of(resize_status_name((enum resize_status)i))));
    ASSERT_STR("Lost", claim_phase_name(CLAIM_LOST));
    ASSERT_STR("ControllerResizeInfeasible", resize_status_name(RESIZE_CONTROLLER_INFEASIBLE));
    ASSERT_INT(CLAIM_PHASE_UNSET, claim_phase_parse(STR_LIT("Dreaming")));
    ASSERT_INT(RESIZE_NONE, resize_status_parse(STR_LIT("NodeExpansionPending")));
}

TEST(claim_kind_row)
{
    _cleanup_(object_unref_p) struct object *o = kind_object(KIND_CLAIM, CLAIM(PLAIN));

    assert_ptr_equal(&claim_kind, kind_by_word(STR_LIT("PVC")));
    assert_ptr_equal(&claim_kind, kind_by_api_version(STR_LIT("v1"), STR_LIT("PersistentVolumeClaim")));
    ASSERT_STR("n", object_field(o, "metadata.namespace"));
    assert_null(object_field(o, "spec.volumeName"));
}

TEST(claim_status_is_rounded_up_to_thousandths)
{
    const char *text = kind_text(KIND_CLAIM, "{'status':{'capacity':{'storage':'1u'},'allocatedResources':"
                                             "{'example.com/x':'1500u','storage':'2u'}}}");

    assert_non_null(strstr(text, "\"capacity\":{\"storage\":\"1m\"}"));
    assert_non_null(strstr(text, "{\"example.com/x\":\"2m\",\"storage\":\"1m\"}"));
}

TEST(claim_warnings)
{
    ASSERT_STR("",
               kind_warnings(KIND_CLAIM, NULL, "{'spec':{'resources':{'requests':{'storage':'2000m'}}}}"));
    ASSERT_STR(
        "spec.resources.requests[storage]: fractional byte value \"1500m\" is invalid, must be an integer\n"
        "spec.resources.limits[storage]: fractional byte value \"1m\" is invalid, must be an integer",
        kind_warnings(KIND_CLAIM, NULL,
                      "{'spec':{'resources':{'requests':{'storage':'1.5'},"
                      "'limits':{'storage':'1u'}}}}"));
    ASSERT_STR("metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since v1.8; use "
               "\"storageClassName\" attribute instead",
               kind_warnings(KIND_CLAIM, NULL,
                             "{'metadata':{'annotations':{'volume.beta.kubernetes.io/storage-class':'c'}}}"));
}

TEST_MAIN()

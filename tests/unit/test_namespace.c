/* Namespace: label, finalizers, phase. */
#include "tests/unit/test_prepare.h"

#include "api/namespace.h"

#define LABELS "'labels':{'kubernetes.io/metadata.name':'n'}"
#define NS(meta, rest) "{'metadata':{'name':'n'" meta "}" rest "}"
#define STORED(meta, rest) "{'metadata':{'name':'n'," LABELS meta "}" rest "}"
#define KUBERNETES "'spec':{'finalizers':['kubernetes']}"
#define ACTIVE "'status':{'phase':'Active'}"
#define DELETED ",'deletionTimestamp':'2024-05-01T10:00:00Z'"

TEST(namespace_defaults_and_canonical_form)
{
    ASSERT_STORED(KIND_NAMESPACE, STORED("", ",'spec':{}," ACTIVE), NS("", ""));
    ASSERT_STORED(KIND_NAMESPACE,
                  "{'kind':'Namespace','apiVersion':'v1','metadata':{'name':'n','labels':{'a':'b',"
                  "'kubernetes.io/metadata.name':'n','z':''}},'spec':{'finalizers':['kubernetes']},"
                  "'status':{'phase':'Terminating','conditions':[{'type':'T','status':'True',"
                  "'lastTransitionTime':'2024-05-01T10:00:00Z','reason':'R','message':'M'}]}}",
                  "{'status':{'conditions':[{'message':'M','reason':'R','status':'True','type':'T',"
                  "'lastTransitionTime':'2024-05-01T12:00:00+02:00'}],'phase':'Terminating'},"
                  "'spec':{'finalizers':['kubernetes']},'metadata':{'labels':{'z':'','a':'b'},'name':'n'},"
                  "'apiVersion':'v1','kind':'Namespace'}");
    /* no name yet: it is going to be generated */
    ASSERT_STORED(KIND_NAMESPACE, "{'metadata':{'generateName':'n-'},'spec':{}," ACTIVE "}",
                  "{'metadata':{'generateName':'n-'}}");
}

TEST(namespace_wrong_types_and_unknown_fields)
{
    ASSERT_STR("json: cannot unmarshal string into Go struct field NamespaceSpec.spec.finalizers of type "
               "[]v1.FinalizerName",
               kind_text(KIND_NAMESPACE, NS("", ",'spec':{'finalizers':'kubernetes'}")));
    ASSERT_STR("json: cannot unmarshal number into Go struct field NamespaceStatus.status.phase of type "
               "v1.NamespacePhase",
               kind_text(KIND_NAMESPACE, NS("", ",'status':{'phase':1}")));
    ASSERT_STR("unknown field \"spec.foo\"", kind_report(KIND_NAMESPACE, NS("", ",'spec':{'foo':1}")));
}

TEST(apiserver_18_new_namespace_gets_its_label_finalizer_and_phase)
{
    ASSERT_PREPARED(KIND_NAMESPACE, WRITE_MAIN, STORED("", "," KUBERNETES "," ACTIVE), NULL, NS("", ""));
    ASSERT_PREPARED(KIND_NAMESPACE, WRITE_MAIN,
                    STORED("", ",'spec':{'finalizers':['a.io/b','kubernetes']}," ACTIVE), NULL,
                    NS(",'labels':{'kubernetes.io/metadata.name':'other'}",
                       ",'spec':{'finalizers':['a.io/b']},'status':{'phase':'Terminating'}"));
    ASSERT_PREPARED(KIND_NAMESPACE, WRITE_MAIN, STORED("", "," KUBERNETES "," ACTIVE), NULL,
                    NS("", "," KUBERNETES));
}

TEST(namespace_updates_keep_what_they_may_not_touch)
{
    const char *old = NS("", "," KUBERNETES ",'status':{'phase':'Active','conditions':[{'type':'T',"
                             "'status':'True'}]}");

    ASSERT_PREPARED(KIND_NAMESPACE, WRITE_MAIN,
                    "{'metadata':{'name':'n','labels':{'a':'b','kubernetes.io/metadata.name':'n'}},"
                    "'spec':{'finalizers':['kubernetes']},'status':{'phase':'Active','conditions':"
                    "[{'type':'T','status':'True'}]}}",
                    old, NS(",'labels':{'a':'b'}", ",'spec':{},'status':{'phase':'Terminating'}"));
    ASSERT_PREPARED(KIND_NAMESPACE, WRITE_STATUS,
                    STORED("", "," KUBERNETES ",'status':{'phase':'Terminating'}"), old,
                    NS("", ",'spec':{'finalizers':['x.io/y']},'status':{'phase':'Terminating'}"));
}

TEST(namespace_finalize_changes_the_spec_alone)
{
    _cleanup_(json_done_p) struct json d;
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(1 << 20);
    json_ref old, now;

    json_init(&d, 1 << 20);
    ASSERT_OK(kind_read(KIND_NAMESPACE, NS("", "," KUBERNETES ",'status':{'phase':'Terminating'}"), &d, &old,
                        NULL));
    ASSERT_OK(kind_read(KIND_NAMESPACE, NS("", ""), &d, &now, NULL));
    namespace_prepare_finalize(&d, now, old);
    json_write(&d, now, &out);
    ASSERT_STR(kind_row(STORED("", ",'spec':{},'status':{'phase':'Terminating'}")), buf_cstr(&out));
}

TEST(namespace_rules)
{
    ASSERT_CREATE(KIND_NAMESPACE, "", NS("", ",'spec':{'finalizers':['kubernetes','a.io/b']}"));
    ASSERT_CREATE(
        KIND_NAMESPACE,
        "spec.finalizers: Invalid value: \"mine\": name is neither a standard finalizer name nor is "
        "it fully qualified",
        NS("", ",'spec':{'finalizers':['mine']}"));
    ASSERT_CREATE(KIND_NAMESPACE, "metadata.name: Invalid value: \"a.b\": must not contain dots",
                  "{'metadata':{'name':'a.b'}}");
    ASSERT_CREATE(KIND_NAMESPACE, "metadata.namespace: Forbidden: not allowed on this type",
                  NS(",'namespace':'n'", ""));
}

TEST(namespace_is_terminating_exactly_when_deleted)
{
    static const struct {
        const char *meta, *status, *errors;
    } rows[] = {
        { "", ",'status':{'phase':'Active'}", "" },
        { DELETED, ",'status':{'phase':'Terminating'}", "" },
        { "", ",'status':{'phase':'Terminating'}",
          "status.Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is "
          "empty" },
        { DELETED, ",'status':{'phase':'Active'}",
          "status.Phase: Invalid value: \"Active\": may only be 'Terminating' if `deletionTimestamp` is not "
          "empty" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[256], old[256];
        snprintf(text, sizeof text, "{'metadata':{'name':'n'%s}%s}", rows[i].meta, rows[i].status);
        snprintf(old, sizeof old, "{'metadata':{'name':'n'%s}}", rows[i].meta);
        ASSERT_STATUS(KIND_NAMESPACE, rows[i].errors, old, text);
        ASSERT_UPDATE(KIND_NAMESPACE, "", old, text); /* a main write keeps the status: nothing to say */
    }
}

TEST(namespace_view)
{
    _cleanup_(object_unref_p) struct object *o =
        kind_object(KIND_NAMESPACE, NS("", ",'spec':{'finalizers':['kubernetes','a.io/b']},"
                                           "'status':{'phase':'Terminating'}"));
    _cleanup_(object_unref_p) struct object *bare = kind_object(KIND_NAMESPACE, NS("", ""));
    const struct namespace *n = namespace_of(o);

    ASSERT_INT(NAMESPACE_TERMINATING, n->phase);
    ASSERT_INT(2, n->spec_finalizers.count);
    ASSERT_STR("a.io/b", n->spec_finalizers.items[1]);
    ASSERT_INT(NAMESPACE_ACTIVE, namespace_of(bare)->phase);
    ASSERT_INT(0, namespace_of(bare)->spec_finalizers.count);
    ASSERT_STR("Terminating", object_field(o, "status.phase"));
    ASSERT_STR("n", object_field(o, "metadata.name"));
    assert_null(object_field(o, "metadata.namespace"));
    assert_true(kind_by_word(STR_LIT("ns")) == &namespace_kind);
}

TEST_MAIN()

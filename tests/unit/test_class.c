/* StorageClass: defaults, rules, what may not change, the view. */
#include "tests/unit/test_kind.h"

#include "api/class.h"

#define CLASS(rest) "{'kind':'StorageClass','apiVersion':'storage.k8s.io/v1','metadata':{'name':'c'}" rest "}"
#define PLAIN ",'provisioner':'vendor.io/x'"
#define NAME_PART                                                                                         \
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an " \
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "  \
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"

TEST(class_defaults_and_canonical_form)
{
    ASSERT_STORED(
        KIND_CLASS,
        CLASS(PLAIN
              ",'parameters':{'a':'2','b':'1'},'reclaimPolicy':'Delete','volumeBindingMode':'Immediate'"),
        "{'provisioner':'vendor.io/x','parameters':{'b':'1','a':'2'},'mountOptions':[],'reclaimPolicy':null,"
        "'metadata':{'labels':{},'name':'c','creationTimestamp':null},'apiVersion':'storage.k8s.io/v1',"
        "'kind':'StorageClass'}");
    ASSERT_STORED(KIND_CLASS,
                  CLASS(PLAIN ",'reclaimPolicy':'Retain','allowVolumeExpansion':false,"
                              "'volumeBindingMode':'WaitForFirstConsumer'"),
                  CLASS(PLAIN ",'volumeBindingMode':'WaitForFirstConsumer','reclaimPolicy':'Retain',"
                              "'allowVolumeExpansion':false"));
}

TEST(class_wrong_types_and_unknown_fields)
{
    ASSERT_STR("json: cannot unmarshal number into Go struct field StorageClass.provisioner of type string",
               kind_text(KIND_CLASS, CLASS(",'provisioner':5")));
    ASSERT_STR(
        "json: cannot unmarshal string into Go struct field StorageClass.mountOptions of type []string",
        kind_text(KIND_CLASS, CLASS(PLAIN ",'mountOptions':'ro'")));
    ASSERT_STR("json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string",
               kind_text(KIND_CLASS, "{'metadata':{'labels':{'a':1}}}"));
    ASSERT_STR("unknown field \"bogus\", duplicate field \"parameters.a\", unknown field "
               "\"allowedTopologies[1].matchLabelExpressions[0].foo\"",
               kind_report(KIND_CLASS,
                           CLASS(PLAIN ",'bogus':1,'parameters':{'a':'1','a':'2'},'allowedTopologies':[{},"
                                       "{'matchLabelExpressions':[{'key':'k','foo':1}]}]")));
}

TEST(class_rules)
{
    static const struct {
        const char *text, *errors;
    } rows[] = {
        { CLASS(PLAIN), "" },
        { CLASS(""), "provisioner: Required value" },
        { CLASS(",'provisioner':'Vendor.IO/X'"), "" },
        { CLASS(",'provisioner':'vendor.io/-x'"),
          "provisioner: Invalid value: \"vendor.io/-x\": " NAME_PART },
        { CLASS(PLAIN ",'allowedTopologies':[{'matchLabelExpressions':[{'key':'z-','values':['a']}]}]"),
          "allowedTopologies[0].matchLabelExpressions[0].key: Invalid value: \"z-\": " NAME_PART },
        { CLASS(PLAIN ",'reclaimPolicy':'Recycle'"),
          "reclaimPolicy: Unsupported value: \"Recycle\": supported values: \"Delete\", \"Retain\"" },
        { CLASS(PLAIN ",'volumeBindingMode':'Later'"),
          "volumeBindingMode: Unsupported value: \"Later\": supported values: \"Immediate\", "
          "\"WaitForFirstConsumer\"" },
        { CLASS(PLAIN ",'parameters':{'':'x'}"), "parameters: Invalid value: \"\": field can not be empty." },
        { CLASS(PLAIN ",'allowedTopologies':[{'matchLabelExpressions':[{'key':'z','values':[]}]}]"),
          "allowedTopologies[0].matchLabelExpressions[0].values: Required value" },
        { CLASS(PLAIN
                ",'allowedTopologies':[{'matchLabelExpressions':[{'key':'z','values':['a','b','a']}]}]"),
          "allowedTopologies[0].matchLabelExpressions[0].values[2]: Duplicate value: \"a\"" },
        { CLASS(PLAIN ",'allowedTopologies':[{'matchLabelExpressions':[{'key':'z','values':['a']},"
                      "{'key':'z','values':['b']}]}]"),
          "allowedTopologies[0].matchLabelExpressions[1].key: Duplicate value: \"z\"" },
        { CLASS(PLAIN ",'allowedTopologies':[{'matchLabelExpressions':[{'key':'z','values':['a']}]},"
                      "{'matchLabelExpressions':[{'key':'z','values':['a']}]}]"),
          "allowedTopologies[1].matchLabelExpressions: Duplicate value: \"\"" },
        { CLASS(PLAIN ",'allowedTopologies':[{'matchLabelExpressions':[{'key':'z','values':['a']}]},"
                      "{'matchLabelExpressions':[{'key':'y','values':['a']},{'key':'z-','values':['a']}]}]"),
          "allowedTopologies[1].matchLabelExpressions[1].key: Invalid value: \"z-\": " NAME_PART },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ASSERT_CREATE(KIND_CLASS, rows[i].errors, rows[i].text);
}

/* A class with count parameters, the last of which has a value of that many bytes. */
static const char *class_with_parameters(unsigned count, unsigned bytes)
{
    static struct buf text = { .len_max = 1 << 20 };

    buf_clear(&text);
    buf_add_cstr(&text, "{'metadata':{'name':'c'}" PLAIN ",'parameters':{");
    for (unsigned i = 1; i < count; i++)
        buf_addf(&text, "'p%u':'',", i);
    buf_add_cstr(&text, "'last':'");
    for (unsigned i = 0; i < bytes; i++)
        buf_add_char(&text, 'x');
    buf_add_cstr(&text, "'}}");
    assert_true(!text.failed);
    return buf_cstr(&text);
}

TEST(class_parameters_have_bounds)
{
    ASSERT_CREATE(KIND_CLASS, "", class_with_parameters(512, 0));
    ASSERT_CREATE(KIND_CLASS, "parameters: Too long: may not be more than 512 bytes",
                  class_with_parameters(513, 0));
    ASSERT_CREATE(KIND_CLASS, "", class_with_parameters(1, 256 * 1024 - 4));
    ASSERT_CREATE(KIND_CLASS, "parameters: Too long: may not be more than 262144 bytes",
                  class_with_parameters(1, 256 * 1024 - 3));
}

TEST(class_fixed_fields)
{
    ASSERT_UPDATE(KIND_CLASS, "", CLASS(PLAIN),
                  CLASS(PLAIN ",'allowVolumeExpansion':true,'mountOptions':['ro']"));
    ASSERT_UPDATE(KIND_CLASS,
                  "parameters: Invalid value: {\"a\":\"b\"}: field is immutable\n"
                  "provisioner: Invalid value: \"y\": field is immutable\n"
                  "reclaimPolicy: Invalid value: \"Retain\": field is immutable\n"
                  "volumeBindingMode: Invalid value: \"WaitForFirstConsumer\": field is immutable",
                  CLASS(PLAIN),
                  CLASS(",'provisioner':'y','parameters':{'a':'b'},'reclaimPolicy':'Retain',"
                        "'volumeBindingMode':'WaitForFirstConsumer'"));
    ASSERT_UPDATE(KIND_CLASS, "parameters: Invalid value: null: field is immutable",
                  CLASS(PLAIN ",'parameters':{'a':'b'}"), CLASS(PLAIN));
}

TEST(class_view)
{
    _cleanup_(object_unref_p) struct object *o = kind_object(
        KIND_CLASS,
        "{'metadata':{'name':'fast','annotations':{'storageclass.kubernetes.io/is-default-class':'true'}},"
        "'provisioner':'p','reclaimPolicy':'Retain','volumeBindingMode':'WaitForFirstConsumer',"
        "'allowVolumeExpansion':true,'mountOptions':['ro','noatime'],'parameters':{'b':'2','a':'1'}}");
    const struct storage_class *c = CONTAINER_OF(o, struct storage_class, obj);

    ASSERT_STR("fast", o->name);
    ASSERT_STR("p", c->provisioner);
    assert_true(c->is_default);
    assert_true(c->allows_expansion);
    ASSERT_INT(RECLAIM_RETAIN, c->reclaim);
    ASSERT_INT(BINDING_WAIT_FOR_FIRST_CONSUMER, c->binding);
    ASSERT_INT(2, c->mount_options.count);
    ASSERT_STR("noatime", c->mount_options.items[1]);
    ASSERT_STR("a", c->parameters.items[0].key);
    ASSERT_STR("fast", object_field(o, "metadata.name"));
    assert_null(object_field(o, "provisioner"));
}

TEST_MAIN()

/* Event: the two forms of one object, the rules of each way in, what may change, the view, field selectors.
 */
#include "tests/unit/test_kind.h"

#include "api/event.h"

#define META(ns) "'metadata':{'name':'e','namespace':'" ns "'}"
#define CORE(ns, rest) "{'kind':'Event','apiVersion':'v1'," META(ns) rest "}"
#define V1(ns, rest) "{'kind':'Event','apiVersion':'events.k8s.io/v1'," META(ns) rest "}"

#define WHEN "'2026-01-02T03:04:05.123456Z'"
#define REPORTER \
    ",'reportingController':'k8s.io/x','reportingInstance':'x-1','action':'Bind','reason':'Bound'"
#define NEW_CORE                                                                                \
    ",'involvedObject':{'namespace':'a'},'eventTime':" WHEN ",'reportingComponent':'k8s.io/x'," \
    "'reportingInstance':'x-1','action':'Bind','reason':'Bound'"
#define NEW_V1 ",'regarding':{'namespace':'a'},'type':'Normal','eventTime':" WHEN REPORTER

#define LONG_128 TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN "12345678"
#define TEN "0123456789"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
#define LONG_1024 \
    HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED TEN TEN "1234"

TEST(event_canonical_form)
{
    ASSERT_STORED(
        KIND_EVENT,
        CORE("a", ",'involvedObject':{},'source':{},'reportingComponent':'','reportingInstance':''"),
        CORE("a", ",'firstTimestamp':null,'eventTime':null,'count':0,'reason':''"));
    ASSERT_STORED(KIND_EVENT,
                  CORE("a", ",'involvedObject':{'kind':'Pod','name':'p'},'reason':'R','message':'m',"
                            "'source':{'component':'c','host':'h'},'firstTimestamp':'2026-01-02T03:04:05Z',"
                            "'lastTimestamp':'2026-01-02T03:04:05Z','count':2,'type':'Normal',"
                            "'eventTime':'2026-01-02T03:04:05.500000Z','series':{'count':3,"
                            "'lastObservedTime':'2026-01-02T03:04:05.000000Z'},'action':'A',"
                            "'related':{},'reportingComponent':'c','reportingInstance':'i'"),
                  CORE("a", ",'reportingInstance':'i','reportingComponent':'c','related':{},'action':'A',"
                            "'series':{'lastObservedTime':'2026-01-02T03:04:05.000000Z','count':3},"
                            "'eventTime':'2026-01-02T04:04:05.500000+01:00','type':'Normal','count':2,"
                            "'lastTimestamp':'2026-01-02T03:04:05.9Z','source':{'host':'h','component':'c'},"
                            "'firstTimestamp':'2026-01-02T03:04:05Z','message':'m','reason':'R',"
                            "'involvedObject':{'name':'p','kind':'Pod'}"));
    ASSERT_STORED(KIND_EVENT_V1, V1("a", ",'series':{'count':0},'regarding':{},'deprecatedSource':{}"),
                  V1("a", ",'series':{},'reportingController':'','note':''"));
}

TEST(event_wrong_types_and_unknown_fields)
{
    ASSERT_STR("json: cannot unmarshal string into Go struct field Event.count of type int32",
               kind_text(KIND_EVENT, CORE("a", ",'count':'1'")));
    ASSERT_STR(
        "json: cannot unmarshal number 2147483648 into Go struct field EventSeries.series.count of type "
        "int32",
        kind_text(KIND_EVENT, CORE("a", ",'series':{'count':2147483648}")));
    ASSERT_STR("json: cannot unmarshal array into Go struct field Event.source of type v1.EventSource",
               kind_text(KIND_EVENT, CORE("a", ",'source':[]")));
    ASSERT_STR("json: cannot unmarshal number into Go struct field Event.note of type string",
               kind_text(KIND_EVENT_V1, V1("a", ",'note':1")));
    ASSERT_STR("unknown field \"note\", duplicate field \"involvedObject.kind\"",
               kind_report(KIND_EVENT, CORE("a", ",'note':'x','involvedObject':{'kind':'A','kind':'B'}")));
    ASSERT_STR("unknown field \"message\"", kind_report(KIND_EVENT_V1, V1("a", ",'message':'x'")));
}

/* --- The two forms --- */

/* Reads text as `from`, converts it, and returns the text of the tree; checks that it is canonical. */
static const char *convert(enum kind from, const char *text)
{
    static struct buf out = { .len_max = 1 << 20 };
    _cleanup_(json_done_p) struct json d;
    _cleanup_(buf_done_p) struct buf again = BUF_INIT(1 << 20);
    _cleanup_(buf_done_p) struct buf quoted = BUF_INIT(1 << 20);
    enum kind to = from == KIND_EVENT ? KIND_EVENT_V1 : KIND_EVENT;
    json_ref v;

    json_init(&d, 1 << 20);
    kind_quotes(text, &quoted);
    ASSERT_OK(json_parse(&d, buf_str(&quoted), &v, &err));
    ASSERT_OK(schema_normalize(kind_info(from)->schema, &d, v, SCHEMA_KEEP_UNKNOWN, NULL, &err));
    ASSERT_OK(from == KIND_EVENT ? event_to_v1(&d, v, &err) : event_to_core(&d, v, &err));
    buf_clear(&out);
    json_write(&d, v, &out);
    ASSERT_OK(schema_normalize(kind_info(to)->schema, &d, v, SCHEMA_KEEP_UNKNOWN, NULL, &err));
    json_write(&d, v, &again);
    ASSERT_STR(buf_cstr(&out), buf_cstr(&again));
    return buf_cstr(&out);
}

#define FULL_CORE                                                                                  \
    CORE("a",                                                                                      \
         ",'involvedObject':{'kind':'Pod','namespace':'a','name':'p','uid':'u','apiVersion':'v1'," \
         "'resourceVersion':'7','fieldPath':'spec','odd':1},'reason':'R','message':'m','source':"  \
         "{'component':'c','host':'h'},'firstTimestamp':'2026-01-02T03:04:05Z',"                   \
         "'lastTimestamp':'2026-01-02T03:04:06Z','count':2,'type':'Normal','eventTime':" WHEN      \
         ",'series':{'count':3,'lastObservedTime':" WHEN "},'action':'A','related':{'name':'r'},"  \
         "'reportingComponent':'rc','reportingInstance':'ri','unknown':{'deep':[1,null,{'b':1,'a':2}]}")
#define FULL_V1                                                                                            \
    V1("a", ",'eventTime':" WHEN ",'series':{'count':3,'lastObservedTime':" WHEN "},"                      \
            "'reportingController':'rc','reportingInstance':'ri','action':'A','reason':'R','regarding':"   \
            "{'kind':'Pod','namespace':'a','name':'p','uid':'u','apiVersion':'v1','resourceVersion':'7',"  \
            "'fieldPath':'spec','odd':1},'related':{'name':'r'},'note':'m','type':'Normal',"               \
            "'deprecatedSource':{'component':'c','host':'h'},'deprecatedFirstTimestamp':"                  \
            "'2026-01-02T03:04:05Z','deprecatedLastTimestamp':'2026-01-02T03:04:06Z','deprecatedCount':2," \
            "'unknown':{'deep':[1,null,{'b':1,'a':2}]}")

TEST(event_forms_convert_both_ways)
{
    ASSERT_STR(kind_row(FULL_V1), convert(KIND_EVENT, FULL_CORE));
    ASSERT_STR(kind_row(FULL_CORE), convert(KIND_EVENT_V1, FULL_V1));
    ASSERT_STR(kind_row(V1("a", ",'regarding':{},'deprecatedSource':{}")),
               convert(KIND_EVENT, CORE("a", "")));
    ASSERT_STR(kind_row(CORE(
                   "a", ",'involvedObject':{},'source':{},'reportingComponent':'','reportingInstance':''")),
               convert(KIND_EVENT_V1, V1("a", "")));
}

/* A field of the other form's name is unknown here; it must neither be lost nor take the known one's place.
 */
TEST(event_forms_keep_names_of_the_other_form)
{
    static const char both[] =
        CORE("a", ",'involvedObject':{'name':'p'},'message':'m','source':{},'reportingComponent':'rc',"
                  "'reportingInstance':'','note':5,'regarding':'x','deprecatedCount':null");
    _cleanup_(freep) char *v1 = strdup(convert(KIND_EVENT, both));

    ASSERT_STR(kind_row(V1("a", ",'reportingController':'rc','regarding':{'name':'p'},'note':'m',"
                                "'deprecatedSource':{},'message':5,'involvedObject':'x','count':null")),
               v1);
    ASSERT_STR(kind_row(both), convert(KIND_EVENT_V1, v1));
}

TEST(event_form_that_is_there_already_stays)
{
    _cleanup_(json_done_p) struct json d;
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(1 << 20);
    json_ref core, v1;

    json_init(&d, 1 << 20);
    ASSERT_OK(json_parse(&d, str_of(kind_row(FULL_CORE)), &core, &err));
    ASSERT_OK(event_to_core(&d, core, &err));
    json_write(&d, core, &out);
    ASSERT_STR(kind_row(FULL_CORE), buf_cstr(&out));
    ASSERT_OK(json_parse(&d, str_of(kind_row(FULL_V1)), &v1, &err));
    ASSERT_OK(event_to_v1(&d, v1, &err));
    buf_clear(&out);
    json_write(&d, v1, &out);
    ASSERT_STR(kind_row(FULL_V1), buf_cstr(&out));
}

/* --- Rules --- */

#define MISMATCH(ns) "involvedObject.namespace: Invalid value: \"" ns "\": does not match event.namespace"

TEST(event_core_rules_of_the_old_style)
{
    static const struct {
        const char *text, *errors;
    } rows[] = {
        { CORE("a", ",'involvedObject':{'namespace':'a'}"), "" },
        { CORE("default", ""), "" },
        { CORE("b", ",'involvedObject':{'namespace':'a'}"), MISMATCH("a") },
        { CORE("b", ""), MISMATCH("") },
        { CORE("kube-system", ""), MISMATCH("") },
        { CORE("a", ",'involvedObject':{'namespace':'a'},'type':'Odd','series':{'count':1},'count':-1"), "" },
        { "{'metadata':{'name':'Any_Name.17','namespace':'default'}}", "" },
        { "{'metadata':{'name':'a/b','namespace':'default'}}",
          "metadata.name: Invalid value: \"a/b\": may not contain '/'" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ASSERT_CREATE(KIND_EVENT, rows[i].errors, rows[i].text);
}

TEST(apiserver_85_event_of_another_namespace)
{
    ASSERT_CREATE(KIND_EVENT, MISMATCH("a"), CORE("b", ",'involvedObject':{'namespace':'a','name':'p'}"));
    ASSERT_STR(kind_row(V1("a", ",'regarding':{'namespace':'a'},'note':'m','deprecatedSource':{}")),
               convert(KIND_EVENT, CORE("a", ",'involvedObject':{'namespace':'a'},'message':'m'")));
}

TEST(event_core_rules_of_the_new_style)
{
    static const struct {
        const char *text, *errors;
    } rows[] = {
        { CORE("b", NEW_CORE), "" }, /* the namespaces need not be the same */
        { CORE("kube-system", NEW_CORE ",'involvedObject':{}"), "" },
        { CORE("default", NEW_CORE ",'involvedObject':{}"), "" },
        { CORE("b", NEW_CORE ",'involvedObject':{}"), MISMATCH("") },
        { CORE("a", ",'involvedObject':{'namespace':'a'},'eventTime':" WHEN),
          "reportingController: Required value\n"
          "reportingController: Invalid value: \"\": name part must be non-empty\n"
          "reportingController: Invalid value: \"\": name part must consist of alphanumeric characters, '-', "
          "'_' "
          "or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or "
          "'123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')\n"
          "reportingInstance: Required value\naction: Required value\nreason: Required value" },
        { CORE("a", NEW_CORE ",'reportingInstance':'" LONG_128 "','action':'" LONG_128 "','reason':'" LONG_128
                             "','message':'" LONG_1024 "'"),
          "" },
        { CORE("a", NEW_CORE ",'reportingInstance':'" LONG_128 "9','action':'" LONG_128
                             "9','reason':'" LONG_128 "9','message':'" LONG_1024 "9'"),
          "reportingInstance: Invalid value: \"\": can have at most 128 characters\n"
          "action: Invalid value: \"\": can have at most 128 characters\n"
          "reason: Invalid value: \"\": can have at most 128 characters\n"
          "message: Invalid value: \"\": can have at most 1024 characters" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ASSERT_CREATE(KIND_EVENT, rows[i].errors, rows[i].text);
}

TEST(event_namespace_is_a_subdomain)
{
    const char *errors = kind_errors(KIND_EVENT, WRITE_MAIN, NULL, CORE("B_B", NEW_CORE));

    assert_non_null(strstr(errors, "metadata.namespace: Invalid value: \"B_B\": a lowercase RFC 1123 label"));
    assert_non_null(strstr(errors, "\nnamespace: Invalid value: \"B_B\": a lowercase RFC 1123 subdomain"));
}

TEST(event_v1_rules)
{
    static const struct {
        const char *text, *errors;
    } rows[] = {
        { V1("a", NEW_V1), "" },
        { V1("a", NEW_V1 ",'type':'Warning','series':{'count':2,'lastObservedTime':" WHEN "}"), "" },
        { V1("a", NEW_V1 ",'series':{'count':1}"), "series.count: Invalid value: \"\": should be at least "
                                                   "2\nseries.lastObservedTime: Required value" },
        { V1("a", ",'regarding':{'namespace':'a'},'type':'Normal'" REPORTER), "eventTime: Required value" },
        { V1("a", NEW_V1 ",'type':'Odd'"), "type: Invalid value: \"\": has invalid value: Odd" },
        { V1("a", NEW_V1 ",'type':''"), "type: Invalid value: \"\": has invalid value: " },
        { V1("a", NEW_V1 ",'deprecatedFirstTimestamp':'2026-01-02T03:04:05Z','deprecatedLastTimestamp':"
                         "'2026-01-02T03:04:05Z','deprecatedCount':1,'deprecatedSource':{'host':'h'}"),
          "firstTimestamp: Invalid value: \"\": needs to be unset\n"
          "lastTimestamp: Invalid value: \"\": needs to be unset\n"
          "count: Invalid value: \"\": needs to be unset\n"
          "source: Invalid value: \"\": needs to be unset" },
        { V1("a", NEW_V1 ",'deprecatedCount':0,'deprecatedSource':{'component':''}"), "" },
        { V1("a", NEW_V1 ",'note':'" LONG_1024 "9'"),
          "message: Invalid value: \"\": can have at most 1024 characters" },
        { V1("b", NEW_V1 ",'regarding':{}"), MISMATCH("") },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ASSERT_CREATE(KIND_EVENT_V1, rows[i].errors, rows[i].text);
    assert_non_null(strstr(kind_errors(KIND_EVENT_V1, WRITE_MAIN, NULL,
                                       "{'metadata':{'name':'Any_Name','namespace':'a'}" NEW_V1 "}"),
                           "metadata.name: Invalid value: \"Any_Name\": a lowercase RFC 1123 subdomain"));
}

/* Through core/v1 everything may change, as the recorders of old need it. */
TEST(event_core_updates)
{
    ASSERT_UPDATE(KIND_EVENT, "", CORE("a", ",'involvedObject':{'namespace':'a'},'count':1,'message':'x'"),
                  CORE("a", ",'involvedObject':{'namespace':'a','name':'q'},'count':2,'message':'y'"));
    ASSERT_UPDATE(KIND_EVENT, MISMATCH("b"), CORE("a", ",'involvedObject':{'namespace':'a'}"),
                  CORE("a", ",'involvedObject':{'namespace':'b'}"));
}

TEST(event_v1_updates_touch_series_and_metadata_alone)
{
    ASSERT_UPDATE(KIND_EVENT_V1, "", V1("a", NEW_V1),
                  "{'metadata':{'name':'e','namespace':'a','labels':{'x':'y'}},'series':{'count':2,"
                  "'lastObservedTime':" WHEN "}" NEW_V1 "}");
    ASSERT_UPDATE(KIND_EVENT_V1, "series.count: Invalid value: \"\": should be at least 2", V1("a", NEW_V1),
                  V1("a", NEW_V1 ",'series':{'count':1,'lastObservedTime':" WHEN "}"));
    /* what was stored through core/v1 and would not be let in here may stay as it is */
    ASSERT_UPDATE(KIND_EVENT_V1, "", V1("a", NEW_V1 ",'type':'Odd','deprecatedCount':1,'series':{'count':1}"),
                  V1("a", NEW_V1 ",'type':'Odd','deprecatedCount':1,'series':{'count':1}"));
    ASSERT_UPDATE(
        KIND_EVENT_V1,
        "involvedObject: Invalid value: {\"namespace\":\"b\"}: field is immutable\n"
        "reason: Invalid value: \"Other\": field is immutable\n"
        "message: Invalid value: \"n\": field is immutable\n"
        "source: Invalid value: {\"host\":\"h\"}: field is immutable\n"
        "firstTimestamp: Invalid value: \"2026-01-02T03:04:05Z\": field is immutable\n"
        "lastTimestamp: Invalid value: \"2026-01-02T03:04:05Z\": field is immutable\n"
        "count: Invalid value: 2: field is immutable\n"
        "reason: Invalid value: \"Other\": field is immutable\n"
        "type: Invalid value: \"\": field is immutable\n"
        "eventTime: Invalid value: \"2027-01-02T03:04:05.000000Z\": field is immutable\n"
        "action: Invalid value: \"Other\": field is immutable\n"
        "related: Invalid value: null: field is immutable\n"
        "reportingController: Invalid value: \"y\": field is immutable\n"
        "reportingInstance: Invalid value: \"y-1\": field is immutable",
        V1("a", NEW_V1 ",'related':{'name':'r'}"),
        V1("a", ",'regarding':{'namespace':'b'},'eventTime':'2027-01-02T03:04:05.000000Z','reason':'Other',"
                "'note':'n','deprecatedSource':{'host':'h'},'deprecatedFirstTimestamp':"
                "'2026-01-02T03:04:05Z','deprecatedLastTimestamp':'2026-01-02T03:04:05Z',"
                "'deprecatedCount':2,'action':'Other','reportingController':'y',"
                "'reportingInstance':'y-1'"));
}

/* --- The view --- */

static void check_view(enum kind kind, const char *text)
{
    _cleanup_(object_unref_p) struct object *o = kind_object(kind, text);
    const struct event *e = CONTAINER_OF(o, struct event, obj);

    ASSERT_STR("Pod", e->involved.kind);
    ASSERT_STR("a", e->involved.ns);
    ASSERT_STR("p", e->involved.name);
    ASSERT_STR("u", e->involved.uid);
    ASSERT_STR("v1", e->involved.api_version);
    ASSERT_STR("7", e->involved.resource_version);
    ASSERT_STR("spec", e->involved.field_path);
    ASSERT_STR("R", e->reason);
    ASSERT_STR("m", e->message);
    ASSERT_STR("Normal", e->type);
    ASSERT_STR("c", e->source_component);
    ASSERT_STR("h", e->source_host);
    ASSERT_STR("A", e->action);
    ASSERT_STR("rc", e->reporting_controller);
    ASSERT_STR("ri", e->reporting_instance);
    ASSERT_INT(1767323045, e->first.seconds);
    ASSERT_INT(1767323046, e->last.seconds);
    ASSERT_INT(123456000, e->time.nanos);
    ASSERT_INT(123456000, e->series_last.nanos);
    ASSERT_INT(2, e->count);
    ASSERT_INT(3, e->series_count);
}

TEST(event_view_is_the_same_in_both_forms)
{
    check_view(KIND_EVENT, FULL_CORE);
    check_view(KIND_EVENT_V1, FULL_V1);
}

TEST(event_view_of_nothing)
{
    _cleanup_(object_unref_p) struct object *o = kind_object(KIND_EVENT, "{}");
    const struct event *e = CONTAINER_OF(o, struct event, obj);

    ASSERT_STR("", e->involved.name);
    ASSERT_STR("", e->message);
    assert_true(timestamp_is_zero(e->time));
    ASSERT_INT(0, e->series_count);
}

TEST(event_field_selectors)
{
    static const struct {
        const char *core, *v1, *value;
    } rows[] = {
        { "involvedObject.kind", "regarding.kind", "Pod" },
        { "involvedObject.namespace", "regarding.namespace", "a" },
        { "involvedObject.name", "regarding.name", "p" },
        { "involvedObject.uid", "regarding.uid", "u" },
        { "involvedObject.apiVersion", "regarding.apiVersion", "v1" },
        { "involvedObject.resourceVersion", "regarding.resourceVersion", "7" },
        { "involvedObject.fieldPath", "regarding.fieldPath", "spec" },
        { "reason", "reason", "R" },
        { "reportingComponent", "reportingController", "rc" },
        { "type", "type", "Normal" },
        { "metadata.name", "metadata.name", "e" },
        { "metadata.namespace", "metadata.namespace", "a" },
    };
    _cleanup_(object_unref_p) struct object *core = kind_object(KIND_EVENT, FULL_CORE);
    _cleanup_(object_unref_p) struct object *v1 = kind_object(KIND_EVENT_V1, FULL_V1);

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        ASSERT_STR(rows[i].value, object_field(core, rows[i].core));
        ASSERT_STR(rows[i].value, object_field(v1, rows[i].v1));
    }
    ASSERT_STR("c", object_field(core, "source"));
    assert_null(object_field(core, "regarding.name"));
    assert_null(object_field(core, "message"));
    assert_null(object_field(v1, "involvedObject.name"));
    assert_null(object_field(v1, "source"));
}

TEST(event_source_falls_back_on_the_reporter)
{
    _cleanup_(object_unref_p) struct object *o = kind_object(KIND_EVENT, CORE("a", NEW_CORE));

    ASSERT_STR("k8s.io/x", object_field(o, "source"));
}

TEST(event_is_found_in_both_groups)
{
    assert_ptr_equal(&event_kind, kind_by_plural(STR_LIT(""), STR_LIT("v1"), STR_LIT("events")));
    assert_ptr_equal(&event_v1_kind, kind_by_api_version(STR_LIT("events.k8s.io/v1"), STR_LIT("Event")));
    assert_ptr_equal(&event_kind, kind_by_word(STR_LIT("ev")));
}

TEST_MAIN()

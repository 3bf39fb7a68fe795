/* Canonical form: every type with right and wrong values, what is left out, what strict decoding reports. */
#include "tests/unit/test.h"

#include "api/json.h"
#include "api/schema.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/rng.h"

#define BYTES_MAX ((size_t)16 << 20)

static struct error err;

static const struct field leaf_fields[] = {
    { "name", FIELD_STRING },
    { "count", FIELD_INT32, .flags = FIELD_POINTER },
};
static const struct schema leaf_schema = SCHEMA("Leaf", leaf_fields);

static const struct field open_fields[] = {
    { "known", FIELD_STRING },
    { "leaf", FIELD_OBJECT, .sub = &leaf_schema },
};
static const struct schema open_schema = SCHEMA_OPEN("Open", open_fields);

static const struct field always_fields[] = {
    { "text", FIELD_STRING, .flags = FIELD_ALWAYS },
    { "flag", FIELD_BOOL, .flags = FIELD_ALWAYS },
    { "small", FIELD_INT32, .flags = FIELD_ALWAYS },
    { "large", FIELD_INT64, .flags = FIELD_ALWAYS },
    { "size", FIELD_QUANTITY, .flags = FIELD_ALWAYS },
    { "port", FIELD_INT_OR_STRING, .flags = FIELD_ALWAYS },
    { "bytes", FIELD_BYTES, .flags = FIELD_ALWAYS },
    { "sub", FIELD_OBJECT, .sub = &leaf_schema, .flags = FIELD_ALWAYS },
    { "list", FIELD_LIST, .item = FIELD_STRING, .flags = FIELD_ALWAYS },
    { "map", FIELD_MAP, .item = FIELD_STRING, .flags = FIELD_ALWAYS },
};
static const struct schema always_schema = SCHEMA("Always", always_fields);

static const struct field pointer_fields[] = {
    { "text", FIELD_STRING, .flags = FIELD_POINTER },
    { "flag", FIELD_BOOL, .flags = FIELD_POINTER },
    { "small", FIELD_INT32, .flags = FIELD_POINTER },
    { "large", FIELD_INT64, .flags = FIELD_POINTER },
    { "size", FIELD_QUANTITY, .flags = FIELD_POINTER },
    { "port", FIELD_INT_OR_STRING, .flags = FIELD_POINTER },
    { "sub", FIELD_OBJECT, .sub = &leaf_schema, .flags = FIELD_POINTER },
    { "list", FIELD_LIST, .item = FIELD_STRING, .flags = FIELD_POINTER },
    { "map", FIELD_MAP, .item = FIELD_STRING, .flags = FIELD_POINTER },
};
static const struct schema pointer_schema = SCHEMA("Pointer", pointer_fields);

static const struct field top_fields[] = {
    { "text", FIELD_STRING },
    { "named", FIELD_STRING, .go_type = "types.UID" },
    { "flag", FIELD_BOOL },
    { "small", FIELD_INT32 },
    { "large", FIELD_INT64 },
    { "size", FIELD_QUANTITY },
    { "time", FIELD_TIME },
    { "micro", FIELD_MICRO_TIME },
    { "bytes", FIELD_BYTES },
    { "port", FIELD_INT_OR_STRING },
    { "any", FIELD_ANY },
    { "leaf", FIELD_OBJECT, .sub = &leaf_schema },
    { "open", FIELD_OBJECT, .sub = &open_schema },
    { "always", FIELD_OBJECT, .sub = &always_schema },
    { "pointer", FIELD_OBJECT, .sub = &pointer_schema },
    { "texts", FIELD_LIST, .item = FIELD_STRING },
    { "modes", FIELD_LIST, .item = FIELD_STRING, .go_type = "v1.Mode" },
    { "flags", FIELD_LIST, .item = FIELD_BOOL },
    { "numbers", FIELD_LIST, .item = FIELD_INT64 },
    { "sizes", FIELD_LIST, .item = FIELD_QUANTITY },
    { "times", FIELD_LIST, .item = FIELD_TIME },
    { "ports", FIELD_LIST, .item = FIELD_INT_OR_STRING },
    { "things", FIELD_LIST, .item = FIELD_ANY },
    { "leaves", FIELD_LIST, .item = FIELD_OBJECT, .sub = &leaf_schema },
    { "labels", FIELD_MAP, .item = FIELD_STRING },
    { "capacity", FIELD_MAP, .item = FIELD_QUANTITY },
    { "secret", FIELD_MAP, .item = FIELD_BYTES },
    { "byName", FIELD_MAP, .item = FIELD_OBJECT, .sub = &leaf_schema },
    { "old", FIELD_STRING, .flags = FIELD_DROPPED },
    { "oldLeaf", FIELD_OBJECT, .sub = &leaf_schema, .flags = FIELD_DROPPED },
};
static const struct schema top_schema = SCHEMA("Top", top_fields);

static void quotes(const char *text, struct buf *out)
{
    size_t len = strlen(text);
    char *at = buf_grow(out, len);

    assert_non_null(at);
    memcpy(at, text, len);
    for (size_t i = 0; i < len; i++)
        if (at[i] == '\'')
            at[i] = '"';
}

/* Parses a text in which ' stands for " and normalizes it in d. */
static int normalize(const char *text, struct json *d, json_ref *ret, enum schema_unknown unknown,
                     struct field_report *report)
{
    _cleanup_(buf_done_p) struct buf quoted = BUF_INIT(BYTES_MAX);

    quotes(text, &quoted);
    ASSERT_OK(json_parse(d, buf_str(&quoted), ret, &err));
    return schema_normalize(&top_schema, d, *ret, unknown, report, &err);
}

/* The canonical text, or the error's message. Checks that a second pass changes nothing. Lives until the next
 * call. */
static const char *canonical_as(const char *text, enum schema_unknown unknown)
{
    static struct buf out = { .len_max = BYTES_MAX };
    _cleanup_(buf_done_p) struct buf again = BUF_INIT(BYTES_MAX);
    _cleanup_(json_done_p) struct json d;
    json_ref v;
    int r;

    json_init(&d, BYTES_MAX);
    buf_clear(&out);
    r = normalize(text, &d, &v, unknown, NULL);
    if (r < 0) {
        ASSERT_INT(-ERR_BAD_REQUEST, r);
        buf_add_cstr(&out, err.msg);
        return buf_cstr(&out);
    }
    json_write(&d, v, &out);
    ASSERT_OK(schema_normalize(&top_schema, &d, v, unknown, NULL, &err));
    json_write(&d, v, &again);
    ASSERT_STR(buf_cstr(&out), buf_cstr(&again));
    json_clear(&d);
    ASSERT_OK(json_parse(&d, buf_str(&out), &v, &err));
    ASSERT_OK(schema_normalize(&top_schema, &d, v, unknown, NULL, &err));
    buf_clear(&again);
    json_write(&d, v, &again);
    ASSERT_STR(buf_cstr(&out), buf_cstr(&again));
    return buf_cstr(&out);
}

static const char *canonical(const char *text)
{
    return canonical_as(text, SCHEMA_KEEP_UNKNOWN);
}

static void assert_canonical(const char *expected, const char *text)
{
    _cleanup_(buf_done_p) struct buf want = BUF_INIT(BYTES_MAX);

    quotes(expected, &want);
    ASSERT_STR(buf_cstr(&want), canonical(text));
}

/* What strict decoding says, one a line. */
static const char *reported(const char *text)
{
    static struct buf out = { .len_max = BYTES_MAX };
    _cleanup_(json_done_p) struct json d;
    _cleanup_(field_report_done_p) struct field_report report = FIELD_REPORT_INIT;
    uint32_t lines = 0;
    json_ref v;

    json_init(&d, BYTES_MAX);
    buf_clear(&out);
    ASSERT_OK(normalize(text, &d, &v, SCHEMA_DROP_UNKNOWN, &report));
    for (const char *line = field_report_next(&report, NULL); line; line = field_report_next(&report, line))
        buf_addf(&out, "%s%s", lines++ ? "\n" : "", line);
    ASSERT_INT(report.count, lines);
    return buf_cstr(&out);
}

TEST(fields_are_found_by_their_exact_name)
{
    ASSERT_STR("text", schema_field(&top_schema, STR_LIT("text"))->name);
    ASSERT_STR("oldLeaf", schema_field(&top_schema, STR_LIT("oldLeaf"))->name);
    assert_null(schema_field(&top_schema, STR_LIT("Text")));
    assert_null(schema_field(&top_schema, STR_LIT("tex")));
    assert_null(schema_field(&top_schema, STR_LIT("texts2")));
    assert_null(schema_field(&top_schema, STR_LIT("")));
    assert_null(schema_field(&top_schema, (struct str){ "text\0", 5 }));
}

TEST(right_values_stay)
{
    static const char *const rows[] = {
        "{}",
        "{'text':'a','named':'b','flag':true,'small':-2147483648,'large':-9223372036854775808}",
        "{'small':2147483647,'large':9223372036854775807}",
        "{'size':'5Gi','time':'2024-05-01T10:00:00Z','micro':'2024-05-01T10:00:00.000001Z'}",
        "{'bytes':'AAEC','port':80,'any':{'z':1,'a':[null,1.5,'x']},'leaf':{'name':'n','count':0}}",
        "{'port':'http','texts':['b','a','b'],'flags':[true,false],'numbers':[3,0,1],'ports':[1,'x']}",
        "{'labels':{'a':'1','b':''},'capacity':{'cpu':'1500m','storage':'0'},'secret':{'a':'','b':'eA=='}}",
        "{'leaves':[{'name':'b'},{},{'name':'a'}],'byName':{'x':{},'y':{'count':1}}}",
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_canonical(rows[i], rows[i]);
}

TEST(wrong_values_are_refused_in_the_decoders_words)
{
#define INTO(have, field, type) "json: cannot unmarshal " have " into Go struct field " field " of type " type
    static const struct {
        const char *text, *message;
    } rows[] = {
        { "{'text':5}", INTO("number", "Top.text", "string") },
        { "{'text':true}", INTO("bool", "Top.text", "string") },
        { "{'text':[]}", INTO("array", "Top.text", "string") },
        { "{'text':{}}", INTO("object", "Top.text", "string") },
        { "{'named':5}", INTO("number", "Top.named", "types.UID") },
        { "{'flag':'true'}", INTO("string", "Top.flag", "bool") },
        { "{'flag':1}", INTO("number", "Top.flag", "bool") },
        { "{'small':'1'}", INTO("string", "Top.small", "int32") },
        { "{'small':1.5}", INTO("number 1.5", "Top.small", "int32") },
        { "{'small':1.0}", INTO("number 1.0", "Top.small", "int32") },
        { "{'small':1e3}", INTO("number 1e3", "Top.small", "int32") },
        { "{'small':2147483648}", INTO("number 2147483648", "Top.small", "int32") },
        { "{'small':-2147483649}", INTO("number -2147483649", "Top.small", "int32") },
        { "{'large':9223372036854775808}", INTO("number 9223372036854775808", "Top.large", "int64") },
        { "{'large':true}", INTO("bool", "Top.large", "int64") },
        { "{'time':5}", INTO("number", "Top.time", "string") },
        { "{'micro':{}}", INTO("object", "Top.micro", "string") },
        { "{'time':'noon'}",
          "parsing time \"noon\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"noon\" as \"2006\"" },
        { "{'micro':'2024-05-01T10:00:00Z'}",
          "parsing time \"2024-05-01T10:00:00Z\" as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse \"Z\" "
          "as \".000000\"" },
        { "{'bytes':5}", INTO("number", "Top.bytes", "[]uint8") },
        { "{'bytes':'a'}", "illegal base64 data at input byte 0" },
        { "{'bytes':'a?=='}", "illegal base64 data at input byte 1" },
        { "{'port':1.5}", INTO("number 1.5", "Top.port", "int32") },
        { "{'port':2147483648}", INTO("number 2147483648", "Top.port", "int32") },
        { "{'port':true}", INTO("bool", "Top.port", "int32") },
        { "{'port':{}}", INTO("object", "Top.port", "int32") },
        { "{'leaf':'x'}", INTO("string", "Top.leaf", "v1.Leaf") },
        { "{'leaf':[]}", INTO("array", "Top.leaf", "v1.Leaf") },
        { "{'texts':'x'}", INTO("string", "Top.texts", "[]string") },
        { "{'texts':{}}", INTO("object", "Top.texts", "[]string") },
        { "{'modes':1}", INTO("number", "Top.modes", "[]v1.Mode") },
        { "{'leaves':{}}", INTO("object", "Top.leaves", "[]v1.Leaf") },
        { "{'labels':[]}", INTO("array", "Top.labels", "map[string]string") },
        { "{'byName':1}", INTO("number", "Top.byName", "map[string]v1.Leaf") },
        /* below: neither indexes nor the keys of maps are named */
        { "{'leaf':{'count':'x'}}", INTO("string", "Leaf.leaf.count", "int32") },
        { "{'open':{'leaf':{'name':1}}}", INTO("number", "Leaf.open.leaf.name", "string") },
        { "{'texts':['a',1]}", INTO("number", "Top.texts", "string") },
        { "{'modes':[{}]}", INTO("object", "Top.modes", "v1.Mode") },
        { "{'numbers':[1,2.5]}", INTO("number 2.5", "Top.numbers", "int64") },
        { "{'leaves':[{},7]}", INTO("number", "Top.leaves", "v1.Leaf") },
        { "{'leaves':[{},{'count':2147483648}]}", INTO("number 2147483648", "Leaf.leaves.count", "int32") },
        { "{'labels':{'a':1}}", INTO("number", "Top.labels", "string") },
        { "{'byName':{'k':{'name':false}}}", INTO("bool", "Leaf.byName.name", "string") },
        { "{'secret':{'k':1}}", INTO("number", "Top.secret", "[]uint8") },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ASSERT_STR(rows[i].message, canonical(rows[i].text));
}

TEST(the_first_wrong_field_of_the_table_is_told)
{
    ASSERT_STR(INTO("number", "Top.text", "string"), canonical("{'flag':1,'text':1}"));
}

TEST(a_dropped_field_is_checked_too)
{
    assert_canonical("{}", "{'old':'x','oldLeaf':{'name':'n'}}");
    ASSERT_STR(INTO("number", "Top.old", "string"), canonical("{'old':1}"));
    ASSERT_STR(INTO("number", "Leaf.oldLeaf.name", "string"), canonical("{'oldLeaf':{'name':1}}"));
}

TEST(the_root_must_be_an_object)
{
    static const char *const rows[][2] = {
        { "[]", "array" }, { "'x'", "string" }, { "5", "number" }, { "true", "bool" }, { "null", "null" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char want[128];
        (void)snprintf(want, sizeof want, "json: cannot unmarshal %s into Go value of type v1.Top",
                       rows[i][1]);
        ASSERT_STR(want, canonical(rows[i][0]));
    }
}

TEST(nulls_go)
{
    assert_canonical("{}", "{'text':null,'flag':null,'small':null,'large':null,'size':null,'time':null,"
                           "'micro':null,'bytes':null,'port':null,'any':null,'leaf':null,'texts':null,"
                           "'leaves':null,'labels':null,'old':null}");
    assert_canonical("{'leaf':{}}", "{'leaf':{'name':null,'count':null}}");
    /* inside a list or a map a null is the zero value of its type */
    assert_canonical("{'texts':['','a'],'flags':[false],'numbers':[0],'sizes':['0'],'ports':[0],"
                     "'things':[null],'leaves':[{},{'name':'x'}]}",
                     "{'texts':[null,'a'],'flags':[null],'numbers':[null],'sizes':[null],'ports':[null],"
                     "'things':[null],'leaves':[null,{'name':'x'}]}");
    assert_canonical("{'times':[null,'2024-05-01T10:00:00Z']}", "{'times':[null,'2024-05-01T10:00:00Z']}");
    assert_canonical("{'labels':{'a':''},'capacity':{'x':'0'},'secret':{'k':''},'byName':{'n':{}}}",
                     "{'labels':{'a':null},'capacity':{'x':null},'secret':{'k':null},'byName':{'n':null}}");
    /* what nobody knows keeps its nulls */
    assert_canonical("{'any':{'x':null},'foo':null}", "{'foo':null,'any':{'x':null}}");
}

TEST(empty_optional_fields_go)
{
    assert_canonical("{}", "{'text':'','flag':false,'small':0,'large':0,'port':0,'bytes':'','texts':[],"
                           "'labels':{},'leaves':[],'byName':{}}");
    assert_canonical("{}", "{'small':-0,'large':-0,'port':-0}");
    assert_canonical("{}", "{'port':''}");
    /* an empty struct says something, and so does whatever is in a field of any type */
    assert_canonical("{'leaf':{}}", "{'leaf':{}}");
    assert_canonical("{'any':''}", "{'any':''}");
    assert_canonical("{'any':[]}", "{'any':[]}");
    /* zero is a quantity */
    assert_canonical("{'size':'0'}", "{'size':'0'}");
}

TEST(pointers_keep_what_is_empty)
{
    assert_canonical("{'pointer':{'text':'','flag':false,'small':0,'large':0,'size':'0','port':0,'sub':{}}}",
                     "{'pointer':{'text':'','flag':false,'small':0,'large':0,'size':0,'port':0,'sub':{},"
                     "'list':[],'map':{}}}");
    assert_canonical("{'pointer':{'port':''}}", "{'pointer':{'port':''}}");
    assert_canonical("{'pointer':{'small':0,'large':0,'port':0}}",
                     "{'pointer':{'small':-0,'large':-0,'port':-0}}");
    assert_canonical("{'pointer':{}}", "{'pointer':{'text':null,'small':null,'sub':null}}");
}

TEST(some_fields_always_stand)
{
#define ALWAYS                                                                              \
    "{'always':{'text':'','flag':false,'small':0,'large':0,'size':'0','port':0,'bytes':''," \
    "'sub':{},'list':[],'map':{}}}"
    assert_canonical(ALWAYS, "{'always':{}}");
    assert_canonical(ALWAYS, ALWAYS);
    assert_canonical(ALWAYS, "{'always':{'text':null,'flag':null,'small':null,'large':null,'size':null,"
                             "'port':null,'bytes':null,'sub':null,'list':null,'map':null}}");
    assert_canonical("{'always':{'text':'x','flag':true,'small':1,'large':2,'size':'3','port':'p',"
                     "'bytes':'eA==','sub':{'name':'n'},'list':['a'],'map':{'k':'v'}}}",
                     "{'always':{'map':{'k':'v'},'list':['a'],'sub':{'name':'n'},'bytes':'eA==','port':'p',"
                     "'size':3,'large':2,'small':1,'flag':true,'text':'x'}}");
}

TEST(known_fields_come_first_and_in_order)
{
    assert_canonical("{'text':'t','small':1,'leaf':{'name':'n','count':1,'zz':1,'aa':2},'zoo':1,'bar':2,"
                     "'Text':'T'}",
                     "{'zoo':1,'leaf':{'zz':1,'count':1,'aa':2,'name':'n'},'bar':2,'small':1,'Text':'T',"
                     "'text':'t'}");
    ASSERT_STR("{\"leaf\":{\"name\":\"n\"},\"open\":{\"known\":\"k\",\"leaf\":{},\"zz\":1}}",
               canonical_as("{'foo':1,'open':{'zz':1,'known':'k','leaf':{'bar':1}},"
                            "'leaf':{'x':{},'name':'n'}}",
                            SCHEMA_DROP_UNKNOWN));
}

TEST(maps_are_sorted_lists_are_not)
{
    assert_canonical("{'labels':{'':'0','B':'1','a':'2','a-':'3','a.b':'4','aa':'5','é':'6'}}",
                     "{'labels':{'é':'6','aa':'5','a.b':'4','a-':'3','a':'2','B':'1','':'0'}}");
    assert_canonical("{'byName':{'a':{'count':2},'b':{'name':'x'}}}",
                     "{'byName':{'b':{'name':'x'},'a':{'count':2}}}");
}

TEST(quantities_in_canonical_text)
{
    static const char *const rows[][2] = {
        { "'1024Mi'", "'1Gi'" }, { "' 5Gi '", "'5Gi'" },
        { "'\\t1\\n'", "'1'" },  { "5", "'5'" },
        { "1.5", "'1500m'" },    { "1e3", "'1e3'" },
        { "-1", "'-1'" },        { "'0.5Gi'", "'512Mi'" },
        { "'1000M'", "'1G'" },   { "10000000000000000000", "'10E'" },
        { "null", "'0'" },       { "'00'", "'0'" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[128], want[128];
        (void)snprintf(text, sizeof text, "{'capacity':{'storage':%s}}", rows[i][0]);
        (void)snprintf(want, sizeof want, "{'capacity':{'storage':%s}}", rows[i][1]);
        assert_canonical(want, text);
    }
}

TEST(wrong_quantities)
{
    static const char shape[] = "quantities must match the regular expression "
                                "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
    static const char *const rows[][2] = {
        { "{'size':''}", shape },
        { "{'size':'5GiB'}", shape },
        { "{'size':true}", shape },
        { "{'size':{}}", shape },
        { "{'sizes':[[]]}", shape },
        { "{'capacity':{'a':'1 Gi'}}", shape },
        { "{'size':'--5'}", "unable to parse quantity's suffix" },
        { "{'size':'1K'}", "unable to parse quantity's suffix" },
        { "{'size':'1e1001'}", "unable to parse quantity's suffix" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ASSERT_STR(rows[i][1], canonical(rows[i][0]));
}

TEST(times_and_bytes_in_canonical_text)
{
    assert_canonical("{'time':'2024-05-01T10:00:00Z'}", "{'time':'2024-05-01T12:00:00.999+02:00'}");
    assert_canonical("{'micro':'2024-05-01T10:00:00.123456Z'}",
                     "{'micro':'2024-05-01T12:00:00.123456+02:00'}");
    assert_canonical("{'bytes':'AAEC','secret':{'k':'eA=='}}",
                     "{'bytes':'AA\\nEC','secret':{'k':'e\\r\\nA=='}}");
}

TEST(reports_name_unknown_and_duplicate_fields)
{
    static const char *const rows[][2] = {
        { "{'text':'a','leaf':{'name':'n'},'labels':{'any':'x'},'any':{'what':'ever'}}", "" },
        { "{'foo':null}", "unknown field \"foo\"" },
        { "{'Text':'x'}", "unknown field \"Text\"" },
        { "{'leaf':{'foo':1}}", "unknown field \"leaf.foo\"" },
        { "{'leaves':[{},{'x':1},{'name':'a','y':{}}]}",
          "unknown field \"leaves[1].x\"\nunknown field \"leaves[2].y\"" },
        { "{'byName':{'a.b':{'x':1}}}", "unknown field \"byName.a.b.x\"" },
        { "{'text':'a','text':'b'}", "duplicate field \"text\"" },
        { "{'labels':{'a':'1','a':'2'}}", "duplicate field \"labels.a\"" },
        { "{'leaves':[{},{'name':'a','name':'b'}]}", "duplicate field \"leaves[1].name\"" },
        /* in the order of the text, a duplicate where it comes again, each thing once */
        { "{'z':1,'text':'a','y':1,'text':'b','x':1}",
          "unknown field \"z\"\nunknown field \"y\"\nduplicate field \"text\"\nunknown field \"x\"" },
        { "{'text':'a','y':1,'text':'b','x':1,'text':'c','w':1}",
          "unknown field \"y\"\nduplicate field \"text\"\nunknown field \"x\"\nunknown field \"w\"" },
        { "{'foo':1,'foo':2}", "unknown field \"foo\"\nduplicate field \"foo\"" },
        { "{'leaf':{'x':1},'z':1,'leaf':{'y':1}}",
          "unknown field \"z\"\nduplicate field \"leaf\"\nunknown field \"leaf.y\"" },
        { "{'always':null,'always':null}", "duplicate field \"always\"" },
        /* open schemas: only what stands below in closed ones */
        { "{'open':{'foo':1,'leaf':{'bar':1}}}", "unknown field \"open.leaf.bar\"" },
        /* fields that are never stored are known */
        { "{'old':'x'}", "" },
        /* quoted as Go quotes */
        { "{'a\\u0001\\n\\\"<\\u00e9':1}", "unknown field \"a\\x01\\n\\\"<é\"" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ASSERT_STR(rows[i][1], reported(rows[i][0]));
}

TEST(reports_are_capped)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(BYTES_MAX);
    const char *lines;
    uint32_t count = 0;

    buf_add_char(&text, '{');
    for (int i = 0; i < 1000; i++)
        buf_addf(&text, "%s'u%d':1", i ? "," : "", i);
    buf_add_char(&text, '}');
    lines = reported(buf_cstr(&text));
    for (const char *at = lines; at; at = strchr(at + 1, '\n'))
        count++;
    ASSERT_INT(FIELD_REPORT_COUNT_MAX, count);
    assert_non_null(strstr(lines, "unknown field \"u0\"\n"));
    ASSERT_STR("\nunknown field \"u99\"", strrchr(lines, '\n'));
}

/* A name of any length costs its line a part of the name, never the report another line. */
TEST(reports_cut_long_names)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(BYTES_MAX);
    const char *lines;
    uint32_t count = 0;

    buf_add_char(&text, '{');
    for (int i = 0; i < 120; i++) {
        buf_addf(&text, "%s'u%d", i ? "," : "", i);
        for (int k = 0; k < 1000; k++)
            buf_add_cstr(&text, "\\u0001éx");
        buf_add_cstr(&text, "':1");
    }
    buf_add_char(&text, '}');
    lines = reported(buf_cstr(&text));
    assert_true(str_is_utf8(str_of(lines)));
    for (const char *at = lines; at; at = strchr(at, '\n')) {
        char want[64];
        at += count ? 1 : 0;
        (void)snprintf(want, sizeof want, "unknown field \"u%u\\x01éx", count++);
        assert_memory_equal(at, want, strlen(want));
    }
    ASSERT_INT(FIELD_REPORT_COUNT_MAX, count);
}

TEST(a_report_is_added_to)
{
    _cleanup_(json_done_p) struct json d;
    _cleanup_(field_report_done_p) struct field_report report = FIELD_REPORT_INIT;
    json_ref v;

    json_init(&d, BYTES_MAX);
    assert_null(field_report_next(&report, NULL));
    ASSERT_OK(normalize("{'a':1}", &d, &v, SCHEMA_KEEP_UNKNOWN, &report));
    /* duplicates of another tree in the same document are none of this one's */
    ASSERT_OK(normalize("{'text':'1','text':'2'}", &d, &v, SCHEMA_KEEP_UNKNOWN, NULL));
    ASSERT_OK(normalize("{'b':1}", &d, &v, SCHEMA_KEEP_UNKNOWN, &report));
    ASSERT_INT(2, report.count);
    ASSERT_STR("unknown field \"a\"", field_report_next(&report, NULL));
    ASSERT_STR("unknown field \"b\"", field_report_next(&report, field_report_next(&report, NULL)));
}

TEST(of_duplicates_the_last_counts)
{
    assert_canonical("{'text':'b','leaf':{'count':1}}",
                     "{'text':'a','leaf':{'name':'n'},'text':'b','leaf':{'count':1}}");
    /* one that is dropped may be of any type */
    assert_canonical("{'text':'b'}", "{'text':{},'text':'b'}");
    assert_canonical("{}", "{'text':'a','text':null}");
}

static void add_many(struct buf *text, const char *open, const char *item, const char *close, int count)
{
    buf_add_cstr(text, open);
    for (int i = 0; i < count; i++) {
        buf_add_cstr(text, i ? "," : "");
        if (item[0] == '%')
            buf_addf(text, "'k%d':", i);
        buf_add_cstr(text, item[0] == '%' ? item + 2 : item);
    }
    buf_add_cstr(text, close);
}

/* Would not end in a test's patience if any of these were quadratic. */
TEST(large_objects_finish)
{
    static const struct {
        const char *open, *item, *close;
    } rows[] = {
        { "{", "%d1", "}" },
        { "{'always':{'sub':null,", "%d{}", "}}" },
        { "{'labels':{", "%dnull", "}}" },
        { "{'sizes':[", "1024", "]}" },
        { "{'texts':[", "null", "]}" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(buf_done_p) struct buf text = BUF_INIT(BYTES_MAX);
        _cleanup_(json_done_p) struct json d;
        _cleanup_(field_report_done_p) struct field_report report = FIELD_REPORT_INIT;
        json_ref v;
        add_many(&text, rows[i].open, rows[i].item, rows[i].close, 100000);
        json_init(&d, BYTES_MAX);
        ASSERT_OK(normalize(buf_cstr(&text), &d, &v, SCHEMA_KEEP_UNKNOWN, &report));
        assert_true(report.count == 0 || report.count == FIELD_REPORT_COUNT_MAX);
    }
}

/* --- What has been seen to --- */

TEST(unknown_fields_that_were_kept_can_still_be_dropped)
{
    _cleanup_(json_done_p) struct json d;
    _cleanup_(field_report_done_p) struct field_report report = FIELD_REPORT_INIT;
    json_ref v;

    json_init(&d, BYTES_MAX);
    ASSERT_OK(normalize("{'text':'a','leaf':{'name':'b','odd':1},'open':{'odd':{}}}", &d, &v,
                        SCHEMA_KEEP_UNKNOWN, NULL));
    assert_false(schema_is_normalized(&d, v));
    ASSERT_OK(schema_normalize(&top_schema, &d, v, SCHEMA_DROP_UNKNOWN, &report, &err));
    ASSERT_STR("unknown field \"leaf.odd\"", field_report_next(&report, NULL));
    assert_true(schema_is_normalized(&d, v));
}

TEST(a_canonical_copy_is_taken_at_its_word)
{
    _cleanup_(json_done_p) struct json d;
    json_ref v, copy;

    json_init(&d, BYTES_MAX);
    ASSERT_OK(normalize("{'leaf':{'name':'a'},'labels':{'b':'1'}}", &d, &v, SCHEMA_DROP_UNKNOWN, NULL));
    copy = json_copy_canonical(&d, v);
    assert_true(schema_is_normalized(&d, copy));
    json_set(&d, json_get(&d, copy, "labels"), "a", json_new_int(&d, 2));
    assert_false(schema_is_normalized(&d, copy));
    assert_true(schema_is_normalized(&d, v));
    assert_true(schema_is_normalized(&d, json_get(&d, copy, "leaf")));
    ASSERT_ERR(ERR_BAD_REQUEST, schema_normalize(&top_schema, &d, copy, SCHEMA_DROP_UNKNOWN, NULL, &err));
}

/* A map of labels is no leaf, though nothing in it has changed. */
TEST(what_moves_is_looked_at_again)
{
    static const char *const texts[] = {
        "{'labels':{'odd':'1'}}",
        "{'leaf':{'name':'there'},'labels':{'odd':'1'}}",
    };

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        _cleanup_(json_done_p) struct json d;
        json_ref v, labels, list;

        json_init(&d, BYTES_MAX);
        ASSERT_OK(normalize(texts[i], &d, &v, SCHEMA_DROP_UNKNOWN, NULL));
        list = json_new_array(&d);
        labels = json_get(&d, v, "labels");
        json_unlink(&d, labels);
        json_set(&d, v, "leaf", labels);
        ASSERT_OK(schema_normalize(&top_schema, &d, v, SCHEMA_DROP_UNKNOWN, NULL, &err));
        ASSERT_INT(0, json_count(&d, labels));
        json_set(&d, labels, "name", json_new_string(&d, STR_LIT("1")));
        json_unlink(&d, labels);
        json_set(&d, v, "labels", labels);
        ASSERT_OK(schema_normalize(&top_schema, &d, v, SCHEMA_DROP_UNKNOWN, NULL, &err));
        json_set(&d, labels, "odd", json_new_string(&d, STR_LIT("2")));
        ASSERT_OK(schema_normalize(&top_schema, &d, v, SCHEMA_DROP_UNKNOWN, NULL, &err));
        json_unlink(&d, labels);
        json_append(&d, list, labels);
        json_set(&d, v, "leaves", list);
        ASSERT_OK(schema_normalize(&top_schema, &d, v, SCHEMA_DROP_UNKNOWN, NULL, &err));
        ASSERT_INT(1, json_count(&d, labels));
    }
}

/* A member or item somewhere in the tree. */
static json_ref some_value(struct rng *rng, const struct json *d, json_ref v)
{
    uint64_t steps = rng_below(rng, 4);

    while (json_count(d, v) > 0) {
        json_ref child = json_first(d, v);
        for (uint64_t n = rng_below(rng, json_count(d, v)); n > 0; n--)
            child = json_next(d, child);
        v = child;
        if (steps-- == 0)
            break;
    }
    return v;
}

/* Something that the schema may or may not like at its new place, moved or made. */
static json_ref some_content(struct rng *rng, struct json *d, json_ref root)
{
    static const char *const texts[] = {
        "null",
        "{}",
        "[]",
        "''",
        "0",
        "'2026-01-02T03:04:05+01:00'",
        "'1024Mi'",
        "{'count':1,'name':'z','x':2}",
        "['b','a']",
        "{'b':'1','a':'2'}",
        "[{'name':''},null]",
        "{'leaf':{'count':0,'name':null}}",
        "true",
    };
    _cleanup_(buf_done_p) struct buf quoted = BUF_INIT(BYTES_MAX);
    json_ref v = some_value(rng, d, root);

    if (v != root && rng_chance(rng, 40)) {
        if (rng_chance(rng, 50))
            return json_copy(d, v);
        json_unlink(d, v);
        return v;
    }
    quotes(texts[rng_below(rng, ARRAY_LEN(texts))], &quoted);
    ASSERT_OK(json_parse(d, buf_str(&quoted), &v, &err));
    return v;
}

static void change_something(struct rng *rng, struct json *d, json_ref root)
{
    static const char *const keys[] = { "leaf",   "labels", "name",   "count",    "odd",  "open",
                                        "always", "leaves", "byName", "capacity", "size", "time",
                                        "text",   "list",   "map",    "sub" };
    json_ref value = some_content(rng, d, root), at = some_value(rng, d, root);
    const char *key = keys[rng_below(rng, ARRAY_LEN(keys))];

    if (json_type(d, at) == JSON_OBJECT)
        json_set(d, at, key, value);
    else if (json_type(d, at) == JSON_ARRAY)
        json_insert(d, at, rng_chance(rng, 50) ? json_first(d, at) : 0, value);
    else if (at != root && rng_chance(rng, 50))
        json_replace(d, at, value);
    else if (at != root)
        json_unlink(d, at);
}

/* Passes that skip what they know end up with what a pass over everything does. */
TEST(what_is_skipped_would_not_have_changed)
{
    static const char start[] =
        "{'text':'a','size':'1Gi','time':'2026-01-02T03:04:05Z','any':{'b':null},'leaf':{'name':'l'},"
        "'open':{'odd':{},'leaf':{'name':'o'}},'always':{},'pointer':{'sub':{},'list':['x'],'map':{'k':''}},"
        "'leaves':[{'name':'1'},{'count':0}],'labels':{'b':'2','a':'1'},'capacity':{'storage':'1Gi'},"
        "'byName':{'n':{'name':'m'}}}";
    unsigned agreed = 0;

    for (uint64_t seed = 0; seed < 3000; seed++) {
        _cleanup_(json_done_p) struct json d;
        struct error why, same_why;
        struct rng rng;
        json_ref v, plain;
        int r;

        rng_init(&rng, seed);
        json_init(&d, BYTES_MAX);
        ASSERT_OK(normalize(start, &d, &v, SCHEMA_DROP_UNKNOWN, NULL));
        if (rng_chance(&rng, 50))
            v = json_copy_canonical(&d, v);
        for (uint64_t rounds = 1 + rng_below(&rng, 2), i = 0; i < rounds; i++) {
            for (uint64_t n = 1 + rng_below(&rng, 3); n > 0; n--)
                change_something(&rng, &d, v);
            plain = json_copy(&d, v);
            enum schema_unknown unknown = rng_chance(&rng, 50) ? SCHEMA_KEEP_UNKNOWN : SCHEMA_DROP_UNKNOWN;
            r = schema_normalize(&top_schema, &d, plain, unknown, NULL, &why);
            ASSERT_INT(r, schema_normalize(&top_schema, &d, v, unknown, NULL, &same_why));
            if (r < 0) {
                ASSERT_STR(why.msg, same_why.msg);
                break;
            }
            if (!json_is_same(&d, plain, v))
                fail_msg("seed %d", (int)seed);
            agreed++;
        }
    }
    assert_true(agreed > 500);
}

TEST(a_document_too_small_for_the_result_is_an_error)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(BYTES_MAX), quoted = BUF_INIT(BYTES_MAX);
    _cleanup_(json_done_p) struct json d;
    json_ref v;

    add_many(&text, "{'leaves':[", "null", "]}", 1000);
    quotes(buf_cstr(&text), &quoted);
    json_init(&d, quoted.len);
    ASSERT_OK(json_parse(&d, buf_str(&quoted), &v, &err));
    while (json_new_null(&d)) /* until the document is full */
        ;
    ASSERT_ERR(ERR_TOO_LARGE, schema_normalize(&top_schema, &d, v, SCHEMA_KEEP_UNKNOWN, NULL, &err));
}

TEST_MAIN()

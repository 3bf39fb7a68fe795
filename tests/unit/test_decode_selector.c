/* Selectors as they come out of claims, volumes and classes, and what they then select. */
#include "tests/unit/test_kind.h"

#include "api/claim.h"
#include "api/class.h"
#include "api/volume.h"

/* The labels that everything below is matched against, sorted. */
static const struct kv labels[] = {
    { "disk", "ssd" },
    { "empty", "" },
    { "size", "10" },
    { "zone", "a" },
};

/* --- Label selectors of claims --- */

#define CLAIM(selector) "{'metadata':{'name':'c','namespace':'ns'},'spec':{" selector "}}"
#define EXPRESSION(key, op, rest) \
    CLAIM("'selector':{'matchExpressions':[{'key':'" key "','operator':'" op "'" rest "}]}")

static bool claim_selects(const char *text)
{
    _cleanup_(object_unref_p) struct object *o = kind_object(KIND_CLAIM, text);
    const struct claim *c = CONTAINER_OF(o, struct claim, obj);

    assert_non_null(c->selector);
    assert_null(c->selector->error);
    return label_selector_matches(c->selector, labels, ARRAY_LEN(labels));
}

TEST(binder_4_1_label_selectors)
{
    static const struct {
        const char *text;
        bool matches;
    } rows[] = {
        { CLAIM("'selector':{}"), true },
        { CLAIM("'selector':{'matchLabels':{},'matchExpressions':[]}"), true },
        { CLAIM("'selector':{'matchLabels':{'disk':'ssd'}}"), true },
        { CLAIM("'selector':{'matchLabels':{'disk':'hdd'}}"), false },
        { CLAIM("'selector':{'matchLabels':{'absent':'x'}}"), false },
        { CLAIM("'selector':{'matchLabels':{'empty':''}}"), true },
        { CLAIM("'selector':{'matchLabels':{'absent':''}}"), false }, /* empty is not absent */
        { CLAIM("'selector':{'matchLabels':{'disk':'ssd','zone':'b'}}"), false },
        { EXPRESSION("zone", "In", ",'values':['b','a']"), true },
        { EXPRESSION("zone", "In", ",'values':['b','c']"), false },
        { EXPRESSION("absent", "In", ",'values':['a','']"), false },
        { EXPRESSION("zone", "NotIn", ",'values':['b','c']"), true },
        { EXPRESSION("zone", "NotIn", ",'values':['c','a']"), false },
        { EXPRESSION("absent", "NotIn", ",'values':['a']"), true },
        { EXPRESSION("empty", "Exists", ""), true },
        { EXPRESSION("absent", "Exists", ""), false },
        { EXPRESSION("absent", "DoesNotExist", ""), true },
        { EXPRESSION("empty", "DoesNotExist", ",'values':[]"), false },
        { CLAIM("'selector':{'matchLabels':{'disk':'ssd'},'matchExpressions':[{'key':'zone','operator':'In',"
                "'values':['a']},{'key':'absent','operator':'DoesNotExist'}]}"),
          true },
        { CLAIM("'selector':{'matchLabels':{'disk':'ssd'},'matchExpressions':[{'key':'zone','operator':'In',"
                "'values':['a']},{'key':'absent','operator':'Exists'}]}"),
          false },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (claim_selects(rows[i].text) != rows[i].matches)
            fail_msg("%s: expected %d", rows[i].text, rows[i].matches);
}

TEST(an_absent_selector_is_none)
{
    static const char *const rows[] = { "{}", CLAIM(""), CLAIM("'selector':null") };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(object_unref_p) struct object *o = kind_object(KIND_CLAIM, rows[i]);
        assert_null(CONTAINER_OF(o, struct claim, obj)->selector);
    }
}

TEST(a_broken_selector_keeps_its_error)
{
    static const char *const rows[][2] = {
        { EXPRESSION("a", "Gt", ",'values':['1']"), "\"Gt\" is not a valid label selector operator" },
        { EXPRESSION("a", "", ""), "\"\" is not a valid label selector operator" },
        { EXPRESSION("a", "in", ",'values':['x']"), "\"in\" is not a valid label selector operator" },
        { EXPRESSION("a", "In", ""),
          "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty" },
        { EXPRESSION("a", "NotIn", ",'values':[]"),
          "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty" },
        { EXPRESSION("a", "Exists", ",'values':['x']"),
          "values: Invalid value: [\"x\"]: values set must be empty for exists and does not exist" },
        { EXPRESSION("a", "DoesNotExist", ",'values':['x']"),
          "values: Invalid value: [\"x\"]: values set must be empty for exists and does not exist" },
        /* the first is told */
        { CLAIM("'selector':{'matchExpressions':[{'key':'a','operator':'X'},{'key':'a','operator':'Y'}]}"),
          "\"X\" is not a valid label selector operator" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(object_unref_p) struct object *o = kind_object(KIND_CLAIM, rows[i][0]);
        const struct claim *c = CONTAINER_OF(o, struct claim, obj);
        ASSERT_STR("c", o->name);
        assert_non_null(c->selector);
        assert_non_null(c->selector->error);
        ASSERT_STR(rows[i][1], c->selector->error);
    }
}

TEST(wrong_keys_and_values_break_a_selector)
{
    static const char *const rows[][2] = {
        { CLAIM("'selector':{'matchLabels':{'-':'x'}}"),
          "key: Invalid value: \"-\": name part must consist" },
        { CLAIM("'selector':{'matchLabels':{'':'x'}}"),
          "key: Invalid value: \"\": name part must be non-empty" },
        { CLAIM("'selector':{'matchLabels':{'a':'x y'}}"),
          "values[0][a]: Invalid value: \"x y\": a valid label" },
        { CLAIM("'selector':{'matchLabels':{'a':'x\\u0000'}}"), "values[0][a]: Invalid value: \"x\\x00\"" },
        { EXPRESSION("A/b", "Exists", ""), "key: Invalid value: \"A/b\": prefix part" },
        { EXPRESSION("a", "In", ",'values':['ok','-']"), "values[1][a]: Invalid value: \"-\"" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(object_unref_p) struct object *o = kind_object(KIND_CLAIM, rows[i][0]);
        const struct claim *c = CONTAINER_OF(o, struct claim, obj);
        assert_non_null(c->selector->error);
        if (strncmp(rows[i][1], c->selector->error, strlen(rows[i][1])) != 0)
            fail_msg("%s: %s", rows[i][0], c->selector->error);
    }
}

/* --- Node affinity of volumes --- */

#define VOLUME(rest) "{'metadata':{'name':'v'},'spec':{" rest "}}"
#define TERMS(terms) VOLUME("'nodeAffinity':{'required':{'nodeSelectorTerms':[" terms "]}}")
#define ON(key, op, rest) "{'matchExpressions':[{'key':'" key "','operator':'" op "'" rest "}]}"
#define FIELD(key, op, rest) "{'matchFields':[{'key':'" key "','operator':'" op "'" rest "}]}"
#define GOOD ON("zone", "In", ",'values':['a']")
#define OTHER ON("zone", "In", ",'values':['b']")
#define NO_MATCH "no matching NodeSelectorTerms"

/* "" when the volume can be used on the node with these labels, else the error. */
static const char *affinity(const char *text)
{
    _cleanup_(object_unref_p) struct object *o = kind_object(KIND_VOLUME, text);
    const struct volume *v = CONTAINER_OF(o, struct volume, obj);
    int r = node_affinity_check(v->affinity, labels, ARRAY_LEN(labels), &err);

    if (r == 0)
        return "";
    ASSERT_INT(strcmp(err.msg, NO_MATCH) == 0 ? -ERR_UNAVAILABLE : -ERR_INVALID, r);
    return err.msg;
}

TEST(binder_4_2_node_selectors)
{
    static const char *const rows[][2] = {
        { TERMS(GOOD), "" },
        { TERMS(OTHER), NO_MATCH },
        { TERMS(OTHER "," GOOD), "" }, /* terms are ored */
        { TERMS("{'matchExpressions':[{'key':'zone','operator':'In','values':['a']},"
                "{'key':'disk','operator':'In','values':['hdd']}]}"),
          NO_MATCH }, /* requirements are anded */
        { TERMS(""), NO_MATCH },
        { VOLUME("'nodeAffinity':{'required':{}}"), NO_MATCH },
        { TERMS("{}"), NO_MATCH },
        { TERMS("{'matchExpressions':[],'matchFields':null}"), NO_MATCH },
        { TERMS("{}," GOOD), "" },
        { TERMS(ON("zone", "NotIn", ",'values':['b']")), "" },
        { TERMS(ON("absent", "NotIn", ",'values':['b']")), "" },
        { TERMS(ON("zone", "Exists", "")), "" },
        { TERMS(ON("absent", "Exists", "")), NO_MATCH },
        { TERMS(ON("absent", "DoesNotExist", "")), "" },
        { TERMS(ON("size", "Gt", ",'values':['9']")), "" },
        { TERMS(ON("size", "Gt", ",'values':['10']")), NO_MATCH },
        { TERMS(ON("size", "Lt", ",'values':['11']")), "" },
        { TERMS(ON("size", "Lt", ",'values':['10']")), NO_MATCH },
        { TERMS(ON("zone", "Gt", ",'values':['1']")), NO_MATCH }, /* "a" is no number */
        { TERMS(ON("absent", "Lt", ",'values':['1']")), NO_MATCH },
        { TERMS(ON("empty", "Gt", ",'values':['1']")), NO_MATCH },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (strcmp(rows[i][1], affinity(rows[i][0])) != 0)
            fail_msg("%s: \"%s\"", rows[i][0], affinity(rows[i][0]));
}

TEST(binder_4_2_errors_show_when_no_term_matches)
{
#define BROKEN ON("zone", "Nope", "")
    static const char *const broken[] = {
        ON("zone", "Nope", ""),
        ON("zone", "In", ""),
        ON("zone", "Exists", ",'values':['a']"),
        ON("size", "Gt", ",'values':['1','2']"),
        ON("size", "Gt", ""),
        ON("size", "Gt", ",'values':['x']"),
        ON("size", "Gt", ",'values':['-5']"), /* no label value */
        ON("size", "Lt", ",'values':['99999999999999999999']"),
        ON("-", "Exists", ""),
        ON("zone", "In", ",'values':['a','x y']"),
        "{'matchExpressions':[{'key':'zone','operator':'In','values':['a']},{'key':'zone','operator':'?'}]}",
        FIELD("metadata.name", "Exists", ""),
        FIELD("metadata.name", "In", ",'values':['a','b']"),
        FIELD("metadata.name", "NotIn", ""),
    };

    for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
        char alone[512], with_good[512];
        (void)snprintf(alone, sizeof alone, TERMS(OTHER ",%s"), broken[i]);
        (void)snprintf(with_good, sizeof with_good, TERMS("%s," GOOD), broken[i]);
        if (strstr(affinity(alone), "nodeSelectorTerms[1].match") == NULL)
            fail_msg("%s: \"%s\"", alone, affinity(alone));
        ASSERT_STR("", affinity(with_good)); /* evaluation goes on */
    }
    ASSERT_STR("nodeSelectorTerms[0].matchExpressions[0].operator: Unsupported value: \"Nope\": supported "
               "values: \"In\", \"NotIn\", \"Exists\", \"DoesNotExist\", \"Gt\", \"Lt\"",
               affinity(TERMS(BROKEN)));
}

TEST(binder_4_3_volumes_without_affinity_fit_everywhere)
{
    static const char *const rows[] = { VOLUME(""), VOLUME("'nodeAffinity':{}"),
                                        VOLUME("'nodeAffinity':{'required':null}") };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(object_unref_p) struct object *o = kind_object(KIND_VOLUME, rows[i]);
        assert_null(CONTAINER_OF(o, struct volume, obj)->affinity);
        ASSERT_STR("", affinity(rows[i]));
    }
}

/* A volume is judged by the node's labels alone. */
TEST(binder_4_3_fields_hold_when_no_name_is_given)
{
    static const char text[] = TERMS(FIELD("metadata.name", "In", ",'values':['node-1']"));
    _cleanup_(object_unref_p) struct object *o = kind_object(KIND_VOLUME, text);
    const struct node_selector *sel = CONTAINER_OF(o, struct volume, obj)->affinity;

    ASSERT_STR("", affinity(text));
    ASSERT_INT(1, node_selector_matches(sel, labels, ARRAY_LEN(labels), "node-1", &err));
    ASSERT_INT(0, node_selector_matches(sel, labels, ARRAY_LEN(labels), "node-2", &err));
    ASSERT_STR(NO_MATCH, affinity(TERMS("{'matchFields':[{'key':'metadata.name','operator':'In','values':"
                                        "['node-1']}],'matchExpressions':[{'key':'zone','operator':'In',"
                                        "'values':['b']}]}")));
}

TEST(binder_4_2_fields_against_a_name)
{
    static const struct {
        const char *text, *node;
        int result;
    } rows[] = {
        { TERMS(FIELD("metadata.name", "NotIn", ",'values':['node-1']")), "node-1", 0 },
        { TERMS(FIELD("metadata.name", "NotIn", ",'values':['node-1']")), "node-2", 1 },
        { TERMS(FIELD("metadata.other", "In", ",'values':['x']")), "node-1", 0 },
        { TERMS(FIELD("metadata.other", "NotIn", ",'values':['x']")), "node-1", 1 },
        { TERMS(FIELD("metadata.other", "In", ",'values':['']")), "node-1", 1 }, /* absent reads as "" */
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(object_unref_p) struct object *o = kind_object(KIND_VOLUME, rows[i].text);
        const struct volume *v = CONTAINER_OF(o, struct volume, obj);
        int r = node_selector_matches(v->affinity, labels, ARRAY_LEN(labels), rows[i].node, &err);
        if (r != rows[i].result)
            fail_msg("%s on %s: %d", rows[i].text, rows[i].node, r);
    }
}

/* --- Allowed topologies of classes --- */

#define CLASS(rest) "{'metadata':{'name':'c'},'provisioner':'x/y'" rest "}"
#define ALLOWED(terms) CLASS(",'allowedTopologies':[" terms "]")
#define IN(key, values) "{'key':'" key "','values':[" values "]}"
#define TERM(expressions) "{'matchLabelExpressions':[" expressions "]}"

TEST(binder_4_4_allowed_topologies)
{
    static const struct {
        const char *text;
        bool matches;
    } rows[] = {
        { ALLOWED(TERM(IN("zone", "'a','b'"))), true },
        { ALLOWED(TERM(IN("zone", "'c'"))), false },
        { ALLOWED(TERM(IN("absent", "'c'"))), false },
        { ALLOWED(TERM(IN("zone", "'c'")) "," TERM(IN("zone", "'a'"))), true },
        { ALLOWED(TERM(IN("zone", "'a'") "," IN("disk", "'ssd'"))), true },
        { ALLOWED(TERM(IN("zone", "'a'") "," IN("disk", "'hdd'"))), false },
        { ALLOWED(TERM("")), false }, /* a term without expressions matches nothing */
        { ALLOWED("{}"), false },
        { ALLOWED("{}," TERM(IN("zone", "'a'"))), true },
        { ALLOWED(TERM(IN("zone", ""))), false },
        { ALLOWED(TERM(IN("-", "'a'") "," IN("zone", "'a'"))), false },
        { ALLOWED(TERM(IN("zone", "'a','x y'"))), false },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(object_unref_p) struct object *o = kind_object(KIND_CLASS, rows[i].text);
        const struct storage_class *c = CONTAINER_OF(o, struct storage_class, obj);
        assert_non_null(c->topologies);
        if (topology_selector_matches(c->topologies, labels, ARRAY_LEN(labels)) != rows[i].matches)
            fail_msg("%s: expected %d", rows[i].text, rows[i].matches);
    }
}

TEST(binder_4_4_none_allowed_means_all)
{
    static const char *const rows[] = { CLASS(""), ALLOWED(""), CLASS(",'allowedTopologies':null") };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(object_unref_p) struct object *o = kind_object(KIND_CLASS, rows[i]);
        assert_null(CONTAINER_OF(o, struct storage_class, obj)->topologies);
    }
}

/* --- Memory --- */

/* Whatever room there is, the decoder ends with a selector or with an error, never with half of one. */
TEST(selectors_without_room_fail_the_decoder)
{
    static const char text[] =
        "{'label':{'matchLabels':{'a':'b'},'matchExpressions':[{'key':'zone','operator':'In','values':['a',"
        "'b']},{'key':'x','operator':'?'}]},'node':{'nodeSelectorTerms':[{'matchExpressions':[{'key':'zone',"
        "'operator':'In','values':['a']},{'key':'-','operator':'?'}],'matchFields':[{'key':'metadata.name',"
        "'operator':'In','values':['n']}]}]},'topologies':[{'matchLabelExpressions':[{'key':'zone','values':"
        "['a']}]}]}";
    _cleanup_(buf_done_p) struct buf quoted = BUF_INIT(4096);
    _cleanup_(json_done_p) struct json d;
    json_ref v;
    bool fitted = false;

    json_init(&d, 1 << 16);
    kind_quotes(text, &quoted);
    ASSERT_OK(json_parse(&d, buf_str(&quoted), &v, &err));
    for (size_t room = 0; !fitted; room += 16) {
        struct arena a = ARENA_INIT(room);
        struct decoder x = { .d = &d, .arena = &a, .err = &err };
        bool all = decode_label_selector(&x, v, "label") && decode_node_selector(&x, v, "node") &&
                   decode_topologies(&x, v, "topologies");
        assert_true(room < 1 << 16);
        if (all != (x.r == 0) || (!all && x.r != -ERR_TOO_LARGE))
            fail_msg("with %zu bytes: %d, %d", room, all, x.r);
        fitted = all;
        arena_done(&a);
    }
}

TEST(a_decoder_that_failed_decodes_nothing_more)
{
    _cleanup_(json_done_p) struct json d;
    struct arena a = ARENA_INIT(1 << 16);
    struct decoder x = { .d = &d, .arena = &a, .err = &err, .r = -ERR_BAD_REQUEST };
    json_ref v;

    json_init(&d, 1 << 16);
    ASSERT_OK(json_parse(&d, STR_LIT("{\"s\":{},\"n\":{\"nodeSelectorTerms\":[{}]},\"t\":[{}]}"), &v, &err));
    assert_null(decode_label_selector(&x, v, "s"));
    assert_null(decode_node_selector(&x, v, "n"));
    assert_null(decode_topologies(&x, v, "t"));
    ASSERT_INT(-ERR_BAD_REQUEST, x.r);
    ASSERT_INT(0, a.used);
    arena_done(&a);
}

TEST_MAIN()

/* JSON Patch (RFC 6902), by the rules of Kubernetes' API server. */
#include "tests/unit/test_patch.h"

TEST(operations)
{
    /* The examples of the RFC's appendix A among them, with names of our own. */
    static const struct patch_row rows[] = {
        { "{\"a\":1}", "[]", "{\"a\":1}" },
        { "{\"a\":1}", "[{\"op\":\"add\",\"path\":\"/b\",\"value\":2}]", "{\"a\":1,\"b\":2}" },
        { "{\"l\":[1,3]}", "[{\"op\":\"add\",\"path\":\"/l/1\",\"value\":2}]", "{\"l\":[1,2,3]}" },
        { "{\"l\":[1]}", "[{\"op\":\"add\",\"path\":\"/l/0\",\"value\":0}]", "{\"l\":[0,1]}" },
        { "{\"l\":[1]}", "[{\"op\":\"add\",\"path\":\"/l/1\",\"value\":2}]", "{\"l\":[1,2]}" },
        { "{\"l\":[1]}", "[{\"op\":\"add\",\"path\":\"/l/-\",\"value\":[2,3]}]", "{\"l\":[1,[2,3]]}" },
        { "{\"l\":[]}", "[{\"op\":\"add\",\"path\":\"/l/-\",\"value\":null}]", "{\"l\":[null]}" },
        { "{\"a\":1,\"b\":2}", "[{\"op\":\"add\",\"path\":\"/a\",\"value\":{}}]", "{\"a\":{},\"b\":2}" },
        { "{\"a\":1,\"b\":2}", "[{\"op\":\"remove\",\"path\":\"/b\"}]", "{\"a\":1}" },
        { "{\"l\":[1,2,3]}", "[{\"op\":\"remove\",\"path\":\"/l/1\"}]", "{\"l\":[1,3]}" },
        { "{\"l\":[1]}", "[{\"op\":\"remove\",\"path\":\"/l/0\"}]", "{\"l\":[]}" },
        { "{\"a\":1,\"b\":2}", "[{\"op\":\"replace\",\"path\":\"/a\",\"value\":\"x\"}]",
          "{\"a\":\"x\",\"b\":2}" },
        { "{\"l\":[1,2]}", "[{\"op\":\"replace\",\"path\":\"/l/1\",\"value\":[]}]", "{\"l\":[1,[]]}" },
        { "{\"a\":{\"x\":1,\"y\":2},\"b\":{\"z\":3}}",
          "[{\"op\":\"move\",\"from\":\"/a/x\",\"path\":\"/b/w\"}]",
          "{\"a\":{\"y\":2},\"b\":{\"z\":3,\"w\":1}}" },
        { "{\"l\":[1,2,3,4]}", "[{\"op\":\"move\",\"from\":\"/l/1\",\"path\":\"/l/3\"}]",
          "{\"l\":[1,3,4,2]}" },
        { "{\"l\":[1,2,3]}", "[{\"op\":\"move\",\"from\":\"/l/2\",\"path\":\"/l/0\"}]", "{\"l\":[3,1,2]}" },
        { "{\"l\":[1,2]}", "[{\"op\":\"move\",\"from\":\"/l/0\",\"path\":\"/l/-\"}]", "{\"l\":[2,1]}" },
        { "{\"a\":1}", "[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/a\"}]", "{\"a\":1}" },
        { "{\"a\":1,\"ab\":2}", "[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/ab\"}]", "{\"ab\":1}" },
        { "{\"a\":{\"x\":[1]}}",
          "[{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/b\"},"
          "{\"op\":\"add\",\"path\":\"/b/x/-\",\"value\":2}]",
          "{\"a\":{\"x\":[1]},\"b\":{\"x\":[1,2]}}" },
        { "{\"a\":[0]}", "[{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/a/0\"}]", "{\"a\":[[0],0]}" },
        { "{\"a\":\"x\",\"l\":[1,\"y\"]}",
          "[{\"op\":\"test\",\"path\":\"/a\",\"value\":\"x\"},{\"op\":\"test\",\"path\":\"/l/"
          "1\",\"value\":\"y\"}]",
          "{\"a\":\"x\",\"l\":[1,\"y\"]}" },
        { "{\"a\":{\"x\":1,\"y\":[null]}}",
          "[{\"op\":\"test\",\"path\":\"/a\",\"value\":{\"y\":[null],\"x\":1}}]",
          "{\"a\":{\"x\":1,\"y\":[null]}}" },
        { "{\"a\":null}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":null}]", "{\"a\":null}" },
        { "{\"a\":1}",
          "[{\"op\":\"add\",\"path\":\"/b\",\"value\":{\"c\":{}}},"
          "{\"op\":\"add\",\"path\":\"/b/c/d\",\"value\":3},{\"op\":\"remove\",\"path\":\"/a\"}]",
          "{\"b\":{\"c\":{\"d\":3}}}" },
        /* what the RFC does not define is passed over; of duplicates the last counts */
        { "{}", "[{\"op\":\"add\",\"path\":\"/a\",\"value\":1,\"comment\":{},\"from\":7}]", "{\"a\":1}" },
        { "{}", "[{\"op\":\"remove\",\"path\":\"/a\",\"value\":1,\"op\":\"add\"}]", "{\"a\":1}" },
    };

    CHECK_ROWS(PATCH_JSON, NULL, rows);
}

#define REFUSED_WHOLE ": the whole document can only be replaced or tested"
#define REFUSED_SCALAR "replacing path '': the whole document must be an object or an array"

TEST(the_whole_document)
{
    static const struct patch_row rows[] = {
        { "{\"a\":1}", "[{\"op\":\"replace\",\"path\":\"\",\"value\":[1,2]}]", "[1,2]" },
        { "[1]",
          "[{\"op\":\"replace\",\"path\":\"\",\"value\":{\"a\":\"x\"}},{\"op\":\"test\",\"path\":\"\","
          "\"value\":{\"a\":\"x\"}}]",
          "{\"a\":\"x\"}" },
        { "[1,2]", "[{\"op\":\"add\",\"path\":\"/-\",\"value\":3},{\"op\":\"remove\",\"path\":\"/0\"}]",
          "[2,3]" },
        { "{\"a\":1}", "[{\"op\":\"test\",\"path\":\"\",\"value\":{\"a\":1}}]", "{\"a\":1}" },
        { "{\"a\":1}",
          "[{\"op\":\"replace\",\"path\":\"\",\"value\":{}},"
          "{\"op\":\"add\",\"path\":\"/b\",\"value\":1}]",
          "{\"b\":1}" },
        { "{\"a\":1}", "[{\"op\":\"replace\",\"path\":\"\",\"value\":\"x\"}]", NULL, ERR_INVALID,
          REFUSED_SCALAR },
        { "{\"a\":1}", "[{\"op\":\"replace\",\"path\":\"\",\"value\":null}]", NULL, ERR_INVALID,
          REFUSED_SCALAR },
        { "{\"a\":1}", "[{\"op\":\"replace\",\"path\":\"\"}]", NULL, ERR_INVALID, REFUSED_SCALAR },
        { "{\"a\":1}", "[{\"op\":\"test\",\"path\":\"\"}]", NULL, ERR_INVALID,
          "testing path '': value differs" },
        { "{\"a\":1}", "[{\"op\":\"test\",\"path\":\"\",\"value\":null}]", NULL, ERR_INVALID,
          "testing path '': value differs" },
        { "{\"a\":1}", "[{\"op\":\"add\",\"path\":\"\",\"value\":{\"b\":2}}]", NULL, ERR_INVALID,
          "adding path ''" REFUSED_WHOLE },
        { "{\"a\":1}", "[{\"op\":\"remove\",\"path\":\"\"}]", NULL, ERR_INVALID,
          "removing path ''" REFUSED_WHOLE },
        { "{\"a\":1}", "[{\"op\":\"move\",\"from\":\"\",\"path\":\"/a\"}]", NULL, ERR_INVALID,
          "moving from path ''" REFUSED_WHOLE },
        { "{\"a\":1}", "[{\"op\":\"move\",\"from\":\"\",\"path\":\"\"}]", NULL, ERR_INVALID,
          "moving from path ''" REFUSED_WHOLE },
        { "{\"a\":{\"x\":[1]},\"b\":0}", "[{\"op\":\"move\",\"from\":\"/a/x\",\"path\":\"\"}]", NULL,
          ERR_INVALID, "moving to path ''" REFUSED_WHOLE },
        { "{\"a\":1}", "[{\"op\":\"copy\",\"from\":\"\",\"path\":\"/b\"}]", NULL, ERR_INVALID,
          "copying from path ''" REFUSED_WHOLE },
        { "{\"a\":1}", "[{\"op\":\"copy\",\"from\":\"\",\"path\":\"\"}]", NULL, ERR_INVALID,
          "copying from path ''" REFUSED_WHOLE },
    };

    CHECK_ROWS(PATCH_JSON, NULL, rows);
}

TEST(pointers_name_any_key)
{
    static const struct patch_row rows[] = {
        { "{\"a/b\":1}", "[{\"op\":\"replace\",\"path\":\"/a~1b\",\"value\":2}]", "{\"a/b\":2}" },
        { "{\"m~n\":1}", "[{\"op\":\"replace\",\"path\":\"/m~0n\",\"value\":2}]", "{\"m~n\":2}" },
        { "{\"~1\":10,\"/\":9}",
          "[{\"op\":\"test\",\"path\":\"/~01\",\"value\":10},"
          "{\"op\":\"test\",\"path\":\"/~1\",\"value\":9}]",
          "{\"~1\":10,\"/\":9}" },
        { "{}", "[{\"op\":\"add\",\"path\":\"/~0~1~01\",\"value\":1}]", "{\"~/~1\":1}" },
        { "{\"\":{\"\":1}}", "[{\"op\":\"replace\",\"path\":\"//\",\"value\":2}]", "{\"\":{\"\":2}}" },
        { "{\"\":0}", "[{\"op\":\"replace\",\"path\":\"/\",\"value\":2}]", "{\"\":2}" },
        { "{\" \":1,\"\\\"\":2,\"\\\\\":3}",
          "[{\"op\":\"remove\",\"path\":\"/ \"},"
          "{\"op\":\"remove\",\"path\":\"/\\\"\"},{\"op\":\"remove\",\"path\":\"/\\\\\"}]",
          "{}" },
        { "{\"metadata\":{\"annotations\":{\"pv.kubernetes.io/x\":\"y\"}}}",
          "[{\"op\":\"remove\",\"path\":\"/metadata/annotations/pv.kubernetes.io~1x\"}]",
          "{\"metadata\":{\"annotations\":{}}}" },
        { "{\"0\":1,\"01\":2,\"-\":3}",
          "[{\"op\":\"remove\",\"path\":\"/01\"},{\"op\":\"remove\",\"path\":\"/-\"}]",
          "{\"0\":1}" }, /* in an object these are keys like any other */
        { "{\"\\u00e9\":1}", "[{\"op\":\"replace\",\"path\":\"/\\u00e9\",\"value\":2}]", "{\"\xc3\xa9\":2}" },
        /* what is no escape stands for itself */
        { "{\"a~2b\":1,\"~\":2,\"c~~1\":3}",
          "[{\"op\":\"remove\",\"path\":\"/a~2b\"},{\"op\":\"remove\",\"path\":\"/~\"},"
          "{\"op\":\"test\",\"path\":\"/c~~01\",\"value\":3}]",
          "{\"c~~1\":3}" },
        /* nothing looks at what is in front of the first slash */
        { "{\"a\":1}", "[{\"op\":\"remove\",\"path\":\"b/a\"}]", "{}" },
        { "{\"a\":{\"b\":1}}", "[{\"op\":\"move\",\"from\":\"x/a/b\",\"path\":\"~/c\"}]",
          "{\"a\":{},\"c\":1}" },
    };

    CHECK_ROWS(PATCH_JSON, NULL, rows);
}

TEST(places_that_are_not_there)
{
    static const struct patch_row rows[] = {
        { "{\"a\":1}", "[{\"op\":\"remove\",\"path\":\"/b\"}]", NULL, ERR_INVALID,
          "removing path '/b': value not found" },
        { "{\"a\":1}", "[{\"op\":\"replace\",\"path\":\"/b/c\",\"value\":1}]", NULL, ERR_INVALID,
          "replacing path '/b/c': the parent of 'c' does not exist" },
        { "{\"a\":1}", "[{\"op\":\"test\",\"path\":\"/b\",\"value\":0}]", NULL, ERR_INVALID,
          "testing path '/b': value not found" },
        { "{\"a\":null}", "[{\"op\":\"add\",\"path\":\"/a/b\",\"value\":0}]", NULL, ERR_INVALID,
          "adding path '/a/b': a null cannot hold 'b'" },
        { "{\"a\":1}", "[{\"op\":\"move\",\"from\":\"/b\",\"path\":\"/c\"}]", NULL, ERR_INVALID,
          "moving from path '/b': value not found" },
        { "{\"a\":1}", "[{\"op\":\"copy\",\"from\":\"/b/x\",\"path\":\"/c\"}]", NULL, ERR_INVALID,
          "copying from path '/b/x': the parent of 'x' does not exist" },
        { "{\"a\":1}", "[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/b/c\"}]", NULL, ERR_INVALID,
          "moving to path '/b/c': the parent of 'c' does not exist" },
        { "{\"a\":1}", "[{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/b/c\"}]", NULL, ERR_INVALID,
          "copying to path '/b/c': the parent of 'c' does not exist" },
        { "{\"a\":1}", "[{\"op\":\"add\",\"path\":\"/b/c\",\"value\":1}]", NULL, ERR_INVALID,
          "adding path '/b/c': the parent of 'c' does not exist" },
        { "{\"a\":1}", "[{\"op\":\"add\",\"path\":\"/a/c\",\"value\":1}]", NULL, ERR_INVALID,
          "adding path '/a/c': a number cannot hold 'c'" },
        { "\"x\"", "[{\"op\":\"add\",\"path\":\"/a\",\"value\":1}]", NULL, ERR_INVALID,
          "adding path '/a': a string cannot hold 'a'" },
        { "{\"l\":[]}", "[{\"op\":\"remove\",\"path\":\"/l/0\"}]", NULL, ERR_INVALID,
          "removing path '/l/0': value not found" },
        { "{\"l\":[1]}", "[{\"op\":\"replace\",\"path\":\"/l/-\",\"value\":2}]", NULL, ERR_INVALID,
          "replacing path '/l/-': value not found" },
        { "{\"l\":[1]}", "[{\"op\":\"copy\",\"from\":\"/l/-\",\"path\":\"/l/-\"}]", NULL, ERR_INVALID,
          "copying from path '/l/-': value not found" },
        { "{\"l\":[[]]}", "[{\"op\":\"add\",\"path\":\"/l/-/0\",\"value\":2}]", NULL, ERR_INVALID,
          "adding path '/l/-/0': the parent of '0' does not exist" },
        { "{\"l\":[1]}", "[{\"op\":\"add\",\"path\":\"/l/2\",\"value\":2}]", NULL, ERR_INVALID,
          "adding path '/l/2': index 2 is beyond the end of an array of 1" },
        { "{\"l\":[1]}", "[{\"op\":\"test\",\"path\":\"/l/99999999999999999999\",\"value\":2}]", NULL,
          ERR_INVALID,
          "testing path '/l/99999999999999999999': '99999999999999999999' is not an array index" },
        { "{\"l\":[1]}", "[{\"op\":\"test\",\"path\":\"/l/4294967296\",\"value\":1}]", NULL, ERR_INVALID,
          "testing path '/l/4294967296': index 4294967296 is beyond the end of an array of 1" },
        /* moving takes away first: one place fewer to put it */
        { "{\"l\":[1,2]}", "[{\"op\":\"move\",\"from\":\"/l/0\",\"path\":\"/l/2\"}]", NULL, ERR_INVALID,
          "moving to path '/l/2': index 2 is beyond the end of an array of 1" },
        { "{\"a\":{\"b\":{}}}", "[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/a/b/c\"}]", NULL, ERR_INVALID,
          "moving to path '/a/b/c': the parent of 'b' does not exist" },
    };

    CHECK_ROWS(PATCH_JSON, NULL, rows);
}

/* Moving takes away first: the item behind the moved one takes its place. */
TEST(moves_into_what_follows)
{
    static const struct patch_row rows[] = {
        { "{\"l\":[1,{},3]}", "[{\"op\":\"move\",\"from\":\"/l/0\",\"path\":\"/l/0/x\"}]",
          "{\"l\":[{\"x\":1},3]}" },
        { "{\"l\":[[1],[2]]}", "[{\"op\":\"move\",\"from\":\"/l/-2\",\"path\":\"/l/-1/-1\"}]",
          "{\"l\":[[2,[1]]]}" },
    };

    CHECK_ROWS(PATCH_JSON, NULL, rows);
}

TEST(array_indexes_are_whole_numbers)
{
    static const char *const steps[] = { "1.0", "1e0", " 1", "1 ", "0x1", "--",      "+",
                                         "+-1", "",    "a",  "1_", "-1a", "\xd9\xa1" };

    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        char patch[100], message[200];
        snprintf(patch, sizeof patch, "[{\"op\":\"add\",\"path\":\"/l/%s\",\"value\":1}]", steps[i]);
        snprintf(message, sizeof message, "adding path '/l/%s': '%s' is not an array index", steps[i],
                 steps[i]);
        check_row(PATCH_JSON, NULL,
                  &(struct patch_row){ "{\"l\":[1,2]}", patch, NULL, ERR_INVALID, message });
    }
}

/* Which of the items 0, 1 and 2 an index names, and what the array is after adding 9 there. */
TEST(array_indexes_count_from_both_ends)
{
    static const struct {
        const char *step, *item, *added; /* NULL: refused */
    } rows[] = {
        { "0", "0", "[9,0,1,2]" },
        { "2", "2", "[0,1,9,2]" },
        { "3", NULL, "[0,1,2,9]" },
        { "4", NULL, NULL },
        { "-", NULL, "[0,1,2,9]" },
        { "-0", "0", "[9,0,1,2]" },
        { "+0", "0", "[9,0,1,2]" },
        { "+2", "2", "[0,1,9,2]" },
        { "01", "1", "[0,9,1,2]" },
        { "-1", "2", "[0,1,2,9]" },
        { "-03", "0", "[0,9,1,2]" },
        { "-4", NULL, "[9,0,1,2]" },
        { "-5", NULL, NULL },
        { "00000000000000000000000000001", "1", "[0,9,1,2]" },
        { "-00000000000000000000000000001", "2", "[0,1,2,9]" },
        { "4294967296", NULL, NULL },
        { "-4294967296", NULL, NULL },
        { "18446744073709551615", NULL, NULL },
        { "-18446744073709551615", NULL, NULL },
        { "18446744073709551616", NULL, NULL },
        { "-18446744073709551616", NULL, NULL },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char test[100], add[100];
        int code;
        snprintf(test, sizeof test, "[{\"op\":\"test\",\"path\":\"/%s\",\"value\":%s}]", rows[i].step,
                 rows[i].item ? rows[i].item : "null");
        snprintf(add, sizeof add, "[{\"op\":\"add\",\"path\":\"/%s\",\"value\":9}]", rows[i].step);
        _cleanup_(freep) char *tested = patch_text(PATCH_JSON, NULL, "[0,1,2]", test, &code);
        if (!tested == !!rows[i].item)
            fail_msg("%s: %s", test, tested ? tested : err.msg);
        _cleanup_(freep) char *added = patch_text(PATCH_JSON, NULL, "[0,1,2]", add, &code);
        if (!added == !!rows[i].added || (added && strcmp(rows[i].added, added) != 0))
            fail_msg("%s: %s", add, added ? added : err.msg);
    }
}

TEST(failing_tests)
{
    static const struct patch_row rows[] = {
        { "{\"spec\":{\"volumeMode\":\"Filesystem\"}}",
          "[{\"op\":\"test\",\"path\":\"/spec/volumeMode\",\"value\":\"Block\"}]", NULL, ERR_INVALID,
          "testing path '/spec/volumeMode': value differs" },
        { "{\"a\":10}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":\"10\"}]", NULL, ERR_INVALID,
          "testing path '/a': value differs" },
        { "{\"a\":[1,2]}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":[2,1]}]", NULL, ERR_INVALID,
          "testing path '/a': value differs" },
        { "{\"a\":{}}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":{\"b\":null}}]", NULL, ERR_INVALID,
          "testing path '/a': value differs" },
        /* what came before does not count: the patch fails as a whole */
        { "{\"a\":1}",
          "[{\"op\":\"replace\",\"path\":\"/a\",\"value\":2},{\"op\":\"test\",\"path\":\"/a\","
          "\"value\":1}]",
          NULL, ERR_INVALID, "testing path '/a': value differs" },
    };

    CHECK_ROWS(PATCH_JSON, NULL, rows);
}

#define NOT_DECODED "json: cannot unmarshal "
#define NO_OP "operation 0: 'op' must be add, remove, replace, move, copy or test"
#define NO_PATH "operation 0: 'path' must be a string"

TEST(patches_that_are_not_understood)
{
    static const struct patch_row rows[] = {
        { "{}", "{\"op\":\"add\"}", NULL, ERR_BAD_REQUEST,
          NOT_DECODED "object into Go value of type jsonpatch.Patch" },
        { "{}", "true", NULL, ERR_BAD_REQUEST, NOT_DECODED "bool into Go value of type jsonpatch.Patch" },
        { "{}", "[", NULL, ERR_BAD_REQUEST, "error decoding patch: offset 1: parse error: premature EOF" },
        { "{}", "[1]", NULL, ERR_BAD_REQUEST,
          NOT_DECODED "number into Go value of type jsonpatch.Operation" },
        { "{", "[]", NULL, ERR_BAD_REQUEST,
          "error decoding the object to patch: offset 1: parse error: premature EOF" },
        /* reported before the first operation runs and fails */
        { "{}", "[{\"op\":\"remove\",\"path\":\"/a\"},[]]", NULL, ERR_BAD_REQUEST,
          NOT_DECODED "array into Go value of type jsonpatch.Operation" },
        /* an operation that is an object fails in its turn */
        { "{}", "[{\"op\":\"remove\",\"path\":\"/a\"},{}]", NULL, ERR_INVALID,
          "removing path '/a': value not found" },
        { "{}", "[{\"op\":\"add\",\"path\":\"/a\"},{}]", NULL, ERR_INVALID,
          "operation 1: 'op' must be add, remove, replace, move, copy or test" },
        { "{}", "[null]", NULL, ERR_INVALID, NO_OP },
        { "{}", "[{\"path\":\"\"}]", NULL, ERR_INVALID, NO_OP },
        { "{}", "[{\"op\":1,\"path\":\"\"}]", NULL, ERR_INVALID, NO_OP },
        { "{}", "[{\"op\":\"spam\",\"path\":\"\"}]", NULL, ERR_INVALID, NO_OP },
        { "{}", "[{\"op\":\"Add\",\"path\":\"\",\"value\":1}]", NULL, ERR_INVALID, NO_OP },
        { "{}", "[{\"op\":\"remove\"}]", NULL, ERR_INVALID, NO_PATH },
        { "{}", "[{\"op\":\"remove\",\"path\":[]}]", NULL, ERR_INVALID, NO_PATH },
        { "{}", "[{\"op\":\"remove\",\"path\":null}]", NULL, ERR_INVALID, NO_PATH },
        { "{}", "[{\"op\":\"remove\",\"path\":\"a\"}]", NULL, ERR_INVALID,
          "removing path 'a': a JSON pointer begins with '/'" },
        { "{}", "[{\"op\":\"move\",\"path\":\"/a\"}]", NULL, ERR_INVALID,
          "operation 0: 'from' must be a string" },
        { "{}", "[{\"op\":\"copy\",\"path\":\"/a\",\"from\":\"b\"}]", NULL, ERR_INVALID,
          "copying from path 'b': a JSON pointer begins with '/'" },
    };

    CHECK_ROWS(PATCH_JSON, NULL, rows);
}

/* --- Cases recorded on kube-apiserver v1.36.4 ---
 *
 * The recording has the names of the cases and, of those where Berth differed, the outcomes; of the others it
 * says that Berth had the same one. The patches are written after the names. */

struct recorded_row {
    const char *name;
    const char *patch; /* with ' for " */
    const char *want;  /* the document, with ' for "; NULL when it is refused */
};

#define ANNOTATIONS "/metadata/annotations"
#define OPTIONS "/spec/mountOptions"
#define DOCUMENT(annotations, options) \
    "{'metadata':{'name':'v','annotations':" annotations "},'spec':{'mountOptions':" options "}}"
#define THREE "['m0','m1','m2']"
#define AS_BEFORE DOCUMENT("{'a':'1'}", THREE)
#define WITH(annotations) DOCUMENT(annotations, THREE)
#define MOUNTED(options) DOCUMENT("{'a':'1'}", options)
/* after the operation in question, if it passes */
#define THEN_OK ",{'op':'add','path':'" ANNOTATIONS "/ok','value':'1'}]"
#define PASSED WITH("{'a':'1','ok':'1'}")
#define REMOVE_ANNOTATIONS "[{'op':'remove','path':'" ANNOTATIONS "'},"

/* The text with ' turned into ", malloc'd. */
static char *quoted(const char *text)
{
    struct buf b = BUF_INIT(BYTES_MAX);

    for (; *text; text++)
        buf_add_char(&b, *text == '\'' ? '"' : *text);
    assert_true(!b.failed);
    return buf_take(&b);
}

static void check_recorded(const struct recorded_row *rows, size_t count, enum err refusal)
{
    _cleanup_(freep) char *target = quoted(AS_BEFORE);

    for (size_t i = 0; i < count; i++) {
        const struct recorded_row *row = &rows[i];
        _cleanup_(freep) char *patch = quoted(row->patch), *want = quoted(row->want ? row->want : "");
        int code;
        _cleanup_(freep) char *have = patch_text(PATCH_JSON, NULL, target, patch, &code);
        if (row->want && !have)
            fail_msg("%s: %s", row->name, err.msg);
        if (!row->want && have)
            fail_msg("%s: %s, expected a refusal", row->name, have);
        if (have && strcmp(want, have) != 0)
            fail_msg("%s: %s, expected %s", row->name, have, want);
        if (!have)
            ASSERT_INT(-(int)refusal, code);
    }
}

TEST(recorded_replace_and_remove)
{
    static const struct recorded_row rows[] = {
        { "replace existing member", "[{'op':'replace','path':'" ANNOTATIONS "/a','value':'2'}]",
          WITH("{'a':'2'}") },
        { "replace missing object member", "[{'op':'replace','path':'" ANNOTATIONS "/new','value':'2'}]",
          WITH("{'a':'1','new':'2'}") },
        { "replace missing map (annotations absent)",
          REMOVE_ANNOTATIONS "{'op':'replace','path':'" ANNOTATIONS "','value':{'b':'2'}}]",
          "{'metadata':{'name':'v','annotations':{'b':'2'}},'spec':{'mountOptions':" THREE "}}" },
        { "replace missing typed field not set (nodeAffinity)",
          "[{'op':'replace','path':'/spec/nodeAffinity','value':{}}]",
          "{'metadata':{'name':'v','annotations':{'a':'1'}},'spec':{'mountOptions':" THREE
          ",'nodeAffinity':{}}}" },
        { "replace unknown field", "[{'op':'replace','path':'/spec/bogus','value':1}]",
          "{'metadata':{'name':'v','annotations':{'a':'1'}},'spec':{'mountOptions':" THREE ",'bogus':1}}" },
        { "replace missing member, parent missing", "[{'op':'replace','path':'/spec/x/y','value':'2'}]",
          NULL },
        { "replace member of missing map",
          REMOVE_ANNOTATIONS "{'op':'replace','path':'" ANNOTATIONS "/b','value':'2'}]", NULL },
        { "replace existing array index", "[{'op':'replace','path':'" OPTIONS "/1','value':'r'}]",
          MOUNTED("['m0','r','m2']") },
        { "replace array index = len", "[{'op':'replace','path':'" OPTIONS "/3','value':'r'}]", NULL },
        { "replace array index > len", "[{'op':'replace','path':'" OPTIONS "/9','value':'r'}]", NULL },
        { "replace array \"-\"", "[{'op':'replace','path':'" OPTIONS "/-','value':'r'}]", NULL },
        { "replace array index -1", "[{'op':'replace','path':'" OPTIONS "/-1','value':'r'}]",
          MOUNTED("['m0','m1','r']") },
        { "replace array index -9", "[{'op':'replace','path':'" OPTIONS "/-9','value':'r'}]", NULL },
        { "replace array index 01", "[{'op':'replace','path':'" OPTIONS "/01','value':'r'}]",
          MOUNTED("['m0','r','m2']") },
        { "replace array index \"x\"", "[{'op':'replace','path':'" OPTIONS "/x','value':'r'}]", NULL },
        { "replace value null", "[{'op':'replace','path':'" ANNOTATIONS "/a','value':null}]",
          WITH("{'a':null}") },
        { "replace without value", "[{'op':'replace','path':'" ANNOTATIONS "/a'}]", WITH("{'a':null}") },
        { "remove existing member", "[{'op':'remove','path':'" ANNOTATIONS "/a'}]", WITH("{}") },
        { "remove missing member", "[{'op':'remove','path':'" ANNOTATIONS "/b'}]", NULL },
        { "remove missing parent", "[{'op':'remove','path':'/spec/x/y'}]", NULL },
        { "remove missing top member", "[{'op':'remove','path':'/x'}]", NULL },
        { "remove array index = len", "[{'op':'remove','path':'" OPTIONS "/3'}]", NULL },
        { "remove array index -1", "[{'op':'remove','path':'" OPTIONS "/-1'}]", MOUNTED("['m0','m1']") },
        { "remove array index -3", "[{'op':'remove','path':'" OPTIONS "/-3'}]", MOUNTED("['m1','m2']") },
        { "remove array index -4", "[{'op':'remove','path':'" OPTIONS "/-4'}]", NULL },
        { "remove array \"-\"", "[{'op':'remove','path':'" OPTIONS "/-'}]", NULL },
        { "remove whole document \"\"", "[{'op':'remove','path':''}]", NULL },
    };

    check_recorded(rows, ARRAY_LEN(rows), ERR_INVALID);
}

TEST(recorded_add_and_test)
{
    static const struct recorded_row rows[] = {
        { "add to missing parent", "[{'op':'add','path':'/spec/x/y','value':'n'}]", NULL },
        { "add to missing annotations map",
          REMOVE_ANNOTATIONS "{'op':'add','path':'" ANNOTATIONS "/b','value':'2'}]", NULL },
        { "add \"-\"", "[{'op':'add','path':'" OPTIONS "/-','value':'n'}]", MOUNTED("['m0','m1','m2','n']") },
        { "add index = len", "[{'op':'add','path':'" OPTIONS "/3','value':'n'}]",
          MOUNTED("['m0','m1','m2','n']") },
        { "add index > len", "[{'op':'add','path':'" OPTIONS "/4','value':'n'}]", NULL },
        { "add index -1", "[{'op':'add','path':'" OPTIONS "/-1','value':'n'}]",
          MOUNTED("['m0','m1','m2','n']") },
        { "add index -4", "[{'op':'add','path':'" OPTIONS "/-4','value':'n'}]",
          MOUNTED("['n','m0','m1','m2']") },
        { "add index -5", "[{'op':'add','path':'" OPTIONS "/-5','value':'n'}]", NULL },
        { "add value null", "[{'op':'add','path':'" ANNOTATIONS "/b','value':null}]",
          WITH("{'a':'1','b':null}") },
        { "add without value", "[{'op':'add','path':'" ANNOTATIONS "/b'}]", WITH("{'a':'1','b':null}") },
        /* these two keys are no names of annotations: validation refuses the object */
        { "add empty key", "[{'op':'add','path':'" ANNOTATIONS "/','value':'n'}]", WITH("{'a':'1','':'n'}") },
        { "add bad escape ~2", "[{'op':'add','path':'" ANNOTATIONS "/b~2','value':'n'}]",
          WITH("{'a':'1','b~2':'n'}") },
        { "add escaped ~1", "[{'op':'add','path':'" ANNOTATIONS "/x.io~1b','value':'n'}]",
          WITH("{'a':'1','x.io/b':'n'}") },
        { "test equal", "[{'op':'test','path':'" ANNOTATIONS "/a','value':'1'}" THEN_OK, PASSED },
        { "test not equal", "[{'op':'test','path':'" ANNOTATIONS "/a','value':'2'}" THEN_OK, NULL },
        { "test missing with value", "[{'op':'test','path':'" ANNOTATIONS "/b','value':'2'}" THEN_OK, NULL },
        { "test missing with null", "[{'op':'test','path':'" ANNOTATIONS "/b','value':null}" THEN_OK,
          PASSED },
        { "test missing without value", "[{'op':'test','path':'" ANNOTATIONS "/b'}" THEN_OK, PASSED },
        { "test missing parent with null", "[{'op':'test','path':'/spec/x/y','value':null}" THEN_OK, NULL },
        { "test array index out of range, null", "[{'op':'test','path':'" OPTIONS "/9','value':null}" THEN_OK,
          NULL },
        { "test array -1", "[{'op':'test','path':'" OPTIONS "/-1','value':'m2'}" THEN_OK, PASSED },
        { "test existing with null", "[{'op':'test','path':'" ANNOTATIONS "/a','value':null}" THEN_OK, NULL },
        { "test whole array", "[{'op':'test','path':'" OPTIONS "','value':" THREE "}" THEN_OK, PASSED },
        { "test whole document \"\"", "[{'op':'test','path':'','value':" AS_BEFORE "}" THEN_OK, PASSED },
    };

    check_recorded(rows, ARRAY_LEN(rows), ERR_INVALID);
}

TEST(recorded_copy_move_and_the_rest)
{
    static const struct recorded_row rows[] = {
        { "copy", "[{'op':'copy','from':'" ANNOTATIONS "/a','path':'" ANNOTATIONS "/b'}]",
          WITH("{'a':'1','b':'1'}") },
        { "copy from missing member", "[{'op':'copy','from':'" ANNOTATIONS "/x','path':'" ANNOTATIONS "/b'}]",
          WITH("{'a':'1','b':null}") },
        { "copy from missing parent", "[{'op':'copy','from':'/spec/x/y','path':'" ANNOTATIONS "/b'}]", NULL },
        { "copy from -1", "[{'op':'copy','from':'" OPTIONS "/-1','path':'" OPTIONS "/-'}]",
          MOUNTED("['m0','m1','m2','m2']") },
        { "copy to missing parent", "[{'op':'copy','from':'" ANNOTATIONS "/a','path':'/spec/x/y'}]", NULL },
        { "copy without from", "[{'op':'copy','path':'" ANNOTATIONS "/b'}]", NULL },
        { "move", "[{'op':'move','from':'" ANNOTATIONS "/a','path':'" ANNOTATIONS "/b'}]",
          WITH("{'b':'1'}") },
        { "move from missing member", "[{'op':'move','from':'" ANNOTATIONS "/x','path':'" ANNOTATIONS "/b'}]",
          NULL },
        { "move from missing parent", "[{'op':'move','from':'/spec/x/y','path':'" ANNOTATIONS "/b'}]", NULL },
        { "move onto itself", "[{'op':'move','from':'" ANNOTATIONS "/a','path':'" ANNOTATIONS "/a'}]",
          AS_BEFORE },
        { "move into own child", "[{'op':'move','from':'" ANNOTATIONS "','path':'" ANNOTATIONS "/x'}]",
          NULL },
        { "whole-document replace \"\"", "[{'op':'replace','path':'','value':" WITH("{'whole':'y'}") "}]",
          WITH("{'whole':'y'}") },
        { "whole-document add \"\"", "[{'op':'add','path':'','value':" WITH("{'whole':'y'}") "}]", NULL },
        { "path \"/\"", "[{'op':'add','path':'/','value':'n'}]",
          "{'metadata':{'name':'v','annotations':{'a':'1'}},'spec':{'mountOptions':" THREE "},'':'n'}" },
        { "path without leading slash", "[{'op':'add','path':'metadata/annotations/b','value':'n'}]", NULL },
        { "unknown op", "[{'op':'spam','path':'" ANNOTATIONS "/b','value':'n'}]", NULL },
        { "no op member", "[{'path':'" ANNOTATIONS "/b','value':'n'}]", NULL },
        { "no path member", "[{'op':'add','value':'n'}]", NULL },
        { "path null", "[{'op':'add','path':null,'value':'n'}]", NULL },
        { "op upper case", "[{'op':'ADD','path':'" ANNOTATIONS "/b','value':'n'}]", NULL },
        { "empty patch []", "[]", AS_BEFORE },
        { "body is null", "null", AS_BEFORE },
        { "extra member in op", "[{'op':'add','path':'" ANNOTATIONS "/b','value':'n','more':1}]",
          WITH("{'a':'1','b':'n'}") },
        { "second op fails (atomic)",
          "[{'op':'add','path':'" ANNOTATIONS "/b','value':'n'},{'op':'remove','path':'/x'}]", NULL },
    };

    check_recorded(rows, ARRAY_LEN(rows), ERR_INVALID);
}

TEST(recorded_bodies_that_are_no_patch)
{
    static const struct recorded_row rows[] = {
        { "body is object", "{'op':'add','path':'" ANNOTATIONS "/b','value':'n'}", NULL },
        { "body not JSON", "not JSON", NULL },
        { "array of non-objects", "[1,2]", NULL },
    };

    check_recorded(rows, ARRAY_LEN(rows), ERR_BAD_REQUEST);
}

TEST(long_paths_leave_room_for_the_reason)
{
    _cleanup_(freep) char *path = nested_text("\xe2\x82\xac", 1000, "", "");
    _cleanup_(buf_done_p) struct buf patch = BUF_INIT(BYTES_MAX);
    int code;

    for (unsigned shift = 0; shift < 3; shift++) {
        buf_clear(&patch);
        buf_addf(&patch, "[{\"op\":\"test\",\"path\":\"/%.*s%s/%s\",\"value\":1}]", (int)shift, "xx", path,
                 path);
        assert_null(patch_text(PATCH_JSON, NULL, "{}", buf_cstr(&patch), &code));
        ASSERT_INT(-ERR_INVALID, code);
        assert_true(str_is_utf8(str_of(err.msg)));
        assert_non_null(strstr(err.msg, ": the parent of '\xe2\x82\xac"));
    }
}

TEST(operations_are_counted)
{
    static const char op[] = "{\"op\":\"add\",\"path\":\"/a\",\"value\":#}";
    _cleanup_(freep) char *most = large_text("[", op, PATCH_OPERATIONS_MAX, "]");
    _cleanup_(freep) char *more = large_text("[", op, PATCH_OPERATIONS_MAX + 1, "]");
    struct patch_row rows[] = {
        { "{}", most, "{\"a\":9999}" },
        { "{}", more, NULL, ERR_TOO_LARGE,
          "The allowed maximum operations in a JSON patch is 10000, got 10001" },
    };

    CHECK_ROWS(PATCH_JSON, NULL, rows);
}

/* Adds operations that test v and all that is in it. */
static void add_tests(const struct json *d, json_ref v, struct str pointer, struct buf *patch)
{
    uint32_t index = 0;

    buf_addf(patch, "%c{\"op\":\"test\",\"path\":", patch->len ? ',' : '[');
    json_write_string(patch, pointer);
    buf_add_cstr(patch, ",\"value\":");
    json_write(d, v, patch);
    buf_add_char(patch, '}');
    for (json_ref m = json_first(d, v); m; m = json_next(d, m), index++) {
        _cleanup_(buf_done_p) struct buf below = BUF_INIT(BYTES_MAX);
        struct str key = json_key(d, m);
        buf_add_str(&below, pointer);
        buf_add_char(&below, '/');
        if (json_type(d, v) == JSON_ARRAY)
            buf_addf(&below, "%u", index);
        for (size_t i = 0; i < key.len; i++)
            if (key.s[i] == '~')
                buf_add_cstr(&below, "~0");
            else if (key.s[i] == '/')
                buf_add_cstr(&below, "~1");
            else
                buf_add_char(&below, key.s[i]);
        add_tests(d, m, buf_str(&below), patch);
    }
}

TEST(a_patch_that_tests_everything_passes_and_changes_nothing)
{
    static const char target[] = "{\"a\":[1,{\"b/c\":[true,null,\"x\"]},[]],\"~\":{\"\":{\"~1/0\":0}},"
                                 "\"n\":-1.5e3,\"\xc3\xa9\\u0000\":\"\\u0000\"}";
    _cleanup_(json_done_p) struct json d;
    _cleanup_(buf_done_p) struct buf patch = BUF_INIT(BYTES_MAX);
    json_ref t, p, before;

    json_init(&d, BYTES_MAX);
    ASSERT_OK(json_parse(&d, str_of(target), &t, &err));
    before = json_copy(&d, t);
    add_tests(&d, t, STR_LIT(""), &patch);
    buf_add_char(&patch, ']');
    ASSERT_OK(json_parse(&d, buf_str(&patch), &p, &err));
    ASSERT_INT(14, json_count(&d, p));
    ASSERT_OK(patch_json(&d, t, p, &err));
    assert_true(json_equal(&d, before, t));
}

/* --- Hostile input --- */

/* The nodes and text bytes that applying the patch took, on top of those of target and patch. */
struct patch_cost {
    uint32_t nodes;
    size_t text_bytes;
};

static int patch_measure(const char *target, const char *patch, struct patch_cost *ret)
{
    _cleanup_(json_done_p) struct json d;
    json_ref t, p;
    int r;

    json_init(&d, (size_t)64 << 20); /* as large as the server's */
    ASSERT_OK(json_parse(&d, str_of(target), &t, &err));
    ASSERT_OK(json_parse(&d, str_of(patch), &p, &err));
    *ret = (struct patch_cost){ d.count, d.texts.used };
    r = patch_json(&d, t, p, &err);
    *ret = (struct patch_cost){ d.count - ret->nodes, d.texts.used - ret->text_bytes };
    return r;
}

#define COPIES_REFUSED ": the copies of one patch exceed 3145728 bytes in total"

/* Each operation copies all earlier ones. */
TEST(copies_that_double_are_refused_before_they_take_memory)
{
    static const struct {
        const char *from, *to;
        unsigned text_bytes; /* in the target */
        uint32_t nodes_max;  /* that the patch takes: fewer where they have more text */
    } rows[] = {
        { "/metadata", "/metadata/annotations/x#", 100000, 200 },
        { "/metadata", "/metadata/annotations/x#", 0, PATCH_COPY_BYTES_MAX / 8 },
        { "/metadata/annotations", "/metadata/annotations/x#", 1000, 20000 },
        { "/metadata", "/metadata/annotations", 100000, 2000 },
        { "/list", "/list/-", 0, PATCH_COPY_BYTES_MAX / 2 + 1 },
        { "/list", "/list/0", 0, PATCH_COPY_BYTES_MAX / 2 + 1 },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(freep) char *text = nested_text("x", rows[i].text_bytes, "", "");
        _cleanup_(buf_done_p) struct buf target = BUF_INIT(BYTES_MAX), op = BUF_INIT(BYTES_MAX),
                                         message = BUF_INIT(BYTES_MAX);
        struct patch_cost cost;

        buf_addf(&target, "{\"metadata\":{\"name\":\"n1\",\"annotations\":{\"a\":\"%s\"}},\"list\":[0]}",
                 text);
        buf_addf(&op, "{\"op\":\"copy\",\"from\":\"%s\",\"path\":\"%s\"}", rows[i].from, rows[i].to);
        buf_addf(&message, "copying from path '%s'" COPIES_REFUSED, rows[i].from);
        _cleanup_(freep) char *patch = large_text("[", buf_cstr(&op), 40, "]");
        ASSERT_ERR(ERR_INVALID, patch_measure(buf_cstr(&target), patch, &cost));
        ASSERT_STR(buf_cstr(&message), err.msg);
        if (cost.nodes > rows[i].nodes_max || cost.text_bytes > strlen(patch))
            fail_msg("row %zu: %u nodes, %zu bytes of text", i, cost.nodes, cost.text_bytes);
    }
}

/* What is removed again was copied all the same. */
TEST(copies_are_counted_over_the_whole_patch)
{
    static const char copy_and_remove[] = "{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/b\"},"
                                          "{\"op\":\"remove\",\"path\":\"/b\"}";
    static const struct {
        size_t value_bytes; /* of /a as JSON */
        unsigned copies;
        bool is_allowed;
    } rows[] = {
        { PATCH_COPY_BYTES_MAX, 1, true },        { PATCH_COPY_BYTES_MAX + 1, 1, false },
        { PATCH_COPY_BYTES_MAX, 2, false },       { PATCH_COPY_BYTES_MAX / 64, 64, true },
        { PATCH_COPY_BYTES_MAX / 64, 65, false }, { PATCH_COPY_BYTES_MAX / 64 + 1, 64, false },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(freep) char *target =
            nested_text("x", (unsigned)rows[i].value_bytes - 2, "", ""); /* without its quotes */
        _cleanup_(freep) char *patch = large_text("[", copy_and_remove, rows[i].copies, "]");
        _cleanup_(buf_done_p) struct buf object = BUF_INIT(BYTES_MAX);
        struct patch_cost cost;

        buf_addf(&object, "{\"a\":\"%s\"}", target);
        if (rows[i].is_allowed) {
            ASSERT_OK(patch_measure(buf_cstr(&object), patch, &cost));
            continue;
        }
        ASSERT_ERR(ERR_INVALID, patch_measure(buf_cstr(&object), patch, &cost));
        ASSERT_STR("copying from path '/a'" COPIES_REFUSED, err.msg);
    }
}

/* Whatever moves: nothing but the keys in the pointers is made anew. */
TEST(moves_and_additions_take_no_more_than_the_patch)
{
    static const char *const ops[] = {
        "{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/b\"},{\"op\":\"move\",\"from\":\"/b\",\"path\":\"/a\"}",
        "{\"op\":\"add\",\"path\":\"/x~0#\",\"value\":{\"a\":[#]}}",
        "{\"op\":\"replace\",\"path\":\"/a\",\"value\":[[#]]}",
    };

    for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
        _cleanup_(freep) char *patch = large_text("[", ops[i], 1000, "]");
        struct patch_cost cost;

        ASSERT_OK(patch_measure("{\"a\":[1,2,3]}", patch, &cost));
        ASSERT_INT(0, cost.nodes);
        if (cost.text_bytes > strlen(patch))
            fail_msg("row %zu: %zu bytes of text", i, cost.text_bytes);
    }
}

TEST(walking_far_too_often_is_refused)
{
    _cleanup_(freep) char *list = large_text("[", "#", 100000, "]");
    _cleanup_(freep) char *object = large_text("{", "\"k#\":#", 100000, "}");
    static const struct {
        bool list;
        const char *op;
    } rows[] = {
        { true, "{\"op\":\"add\",\"path\":\"/50000\",\"value\":1}" },
        { true, "{\"op\":\"move\",\"from\":\"/99999\",\"path\":\"/0\"}" },
        { false, "{\"op\":\"replace\",\"path\":\"/k99999\",\"value\":99999}" },
        { false, "{\"op\":\"move\",\"from\":\"/k50000\",\"path\":\"/k50000\"}" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(buf_done_p) struct buf patch = BUF_INIT(BYTES_MAX);
        int code;
        for (unsigned n = 0; n < 10000; n++)
            buf_addf(&patch, "%c%s", n ? ',' : '[', rows[i].op);
        buf_add_char(&patch, ']');
        assert_null(patch_text(PATCH_JSON, NULL, rows[i].list ? list : object, buf_cstr(&patch), &code));
        ASSERT_INT(-ERR_TOO_LARGE, code);
        ASSERT_STR("the patch takes more than 20000000 steps to apply", err.msg);
    }
}

TEST(moving_a_large_value_often_is_refused)
{
    _cleanup_(freep) char *target = large_text("{\"a\":[", "#", 100000, "]}");
    _cleanup_(buf_done_p) struct buf patch = BUF_INIT(BYTES_MAX);
    int code;

    for (unsigned n = 0; n < 5000; n++)
        buf_addf(&patch,
                 "%c{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/b\"},"
                 "{\"op\":\"move\",\"from\":\"/b\",\"path\":\"/a\"}",
                 n ? ',' : '[');
    buf_add_char(&patch, ']');
    assert_null(patch_text(PATCH_JSON, NULL, target, buf_cstr(&patch), &code));
    ASSERT_INT(-ERR_TOO_LARGE, code);
}

TEST(ordinary_work_on_large_documents_is_not_refused)
{
    _cleanup_(freep) char *list = large_text("[", "#", 100000, "]");
    _cleanup_(freep) char *patch =
        large_text("[", "{\"op\":\"add\",\"path\":\"/-\",\"value\":#}", 10000, "]");
    int code;
    _cleanup_(freep) char *have = patch_text(PATCH_JSON, NULL, list, patch, &code);

    ASSERT_INT(0, code);
    assert_non_null(strstr(have, ",99999,0,1,2,"));
}

TEST(results_do_not_nest_too_deep)
{
    _cleanup_(freep) char *half = nested_text("[", JSON_DEPTH_MAX / 2, "", "]");
    _cleanup_(freep) char *path = nested_text("/0", JSON_DEPTH_MAX / 2 - 1, "", ""); /* the innermost list */
    static const struct {
        const char *head, *middle, *tail; /* path and half go between */
        bool refused;
    } rows[] = {
        { "[{\"op\":\"add\",\"path\":\"", "/-\",\"value\":", "}]", false },
        { "[{\"op\":\"add\",\"path\":\"", "/-\",\"value\":[", "]}]", true },
        { "[{\"op\":\"replace\",\"path\":\"", "\",\"value\":[", "]}]", false },
        { "[{\"op\":\"replace\",\"path\":\"", "\",\"value\":[[", "]]}]", true },
        { "[{\"op\":\"copy\",\"from\":\"/0\",\"path\":\"",
          "/-\",\"x\":", "},{\"op\":\"copy\",\"from\":\"/0\",\"path\":\"/0/-\"}]", false },
        { "[{\"op\":\"copy\",\"from\":\"/0\",\"path\":\"",
          "/-\",\"x\":", "},{\"op\":\"copy\",\"from\":\"/0\",\"path\":\"/0/0/-\"}]", true },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(buf_done_p) struct buf patch = BUF_INIT(BYTES_MAX);
        int code;
        buf_addf(&patch, "%s%s%s%s%s", rows[i].head, path, rows[i].middle, half, rows[i].tail);
        _cleanup_(freep) char *have = patch_text(PATCH_JSON, NULL, half, buf_cstr(&patch), &code);
        ASSERT_INT(rows[i].refused ? -ERR_INVALID : 0, code);
        assert_true(have || strstr(err.msg, "the document would nest deeper than 10000"));
    }
}

TEST(moving_deeper_and_deeper_is_refused)
{
    /* {"a":{…5001…},"b":{…5000…}}: b goes to the bottom of a, one level too many. */
    _cleanup_(freep) char *a = nested_text("{\"a\":", JSON_DEPTH_MAX / 2, "{}", "}");
    _cleanup_(freep) char *b = nested_text("[", JSON_DEPTH_MAX / 2 - 1, "", "]");
    _cleanup_(freep) char *path = nested_text("/a", JSON_DEPTH_MAX / 2, "", "");
    _cleanup_(buf_done_p) struct buf target = BUF_INIT(BYTES_MAX), patch = BUF_INIT(BYTES_MAX);

    for (int extra = 0; extra < 2; extra++) {
        int code;
        buf_clear(&target);
        buf_clear(&patch);
        buf_addf(&target, "{\"b\":%s%s%s,%s", extra ? "[" : "", b, extra ? "]" : "", a + 1);
        buf_addf(&patch, "[{\"op\":\"move\",\"from\":\"/b\",\"path\":\"%s/b\"}]", path);
        _cleanup_(freep) char *have =
            patch_text(PATCH_JSON, NULL, buf_cstr(&target), buf_cstr(&patch), &code);
        ASSERT_INT(extra ? -ERR_INVALID : 0, code);
        assert_true(have || strstr(err.msg, "the document would nest deeper than 10000"));
    }
}

TEST(deep_documents_are_tested_and_copied)
{
    _cleanup_(freep) char *deep = nested_text("{\"a\":", JSON_DEPTH_MAX, "1", "}");
    _cleanup_(buf_done_p) struct buf patch = BUF_INIT(BYTES_MAX);
    _cleanup_(freep) char *inner = nested_text("{\"a\":", JSON_DEPTH_MAX - 2, "1", "}");
    int code;

    /* The patch itself nests two deeper than the value in it. */
    buf_addf(&patch,
             "[{\"op\":\"test\",\"path\":\"/a/a\",\"value\":%s},"
             "{\"op\":\"copy\",\"from\":\"/a/a\",\"path\":\"/b\"},{\"op\":\"remove\",\"path\":\"/b\"}]",
             inner);
    _cleanup_(freep) char *have = patch_text(PATCH_JSON, NULL, deep, buf_cstr(&patch), &code);
    ASSERT_INT(0, code);
    ASSERT_STR(deep, have);
}

TEST(a_result_too_large_to_write_is_refused)
{
    struct buf out = BUF_INIT(100);

    ASSERT_ERR(ERR_TOO_LARGE,
               patch_apply_text(PATCH_JSON, NULL, STR_LIT("{\"a\":\"0123456789012345678901234567890123\"}"),
                                STR_LIT("[{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/b\"},"
                                        "{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/c\"}]"),
                                &out, &err));
    ASSERT_STR("the patched object is larger than 100 bytes", err.msg);
    buf_done(&out);
}

TEST_MAIN()

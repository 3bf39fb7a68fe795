/* Documents: streams, keys, anchors, merges, errors and bounds. Scalars are in test_yaml_scalar.c. */
#include "tests/unit/test.h"

#include "api/json.h"
#include "api/yaml.h"
#include "base/cleanup.h"

#define TEST_BYTES_MAX (3u << 20)

static struct error err;

/* Every document of a text as "LINE JSON\n", then the error if there was one. */
static const char *documents_of(struct str text)
{
    static char answer[16384];
    struct buf out = BUF_INIT(sizeof answer - 1);
    struct yaml_reader *reader = NULL;
    struct yaml_doc doc;
    struct json d;
    int r;

    json_init(&d, TEST_BYTES_MAX);
    r = yaml_reader_new(text, &reader, &err);
    while (r >= 0 && (r = yaml_reader_next(reader, &d, &doc, &err)) > 0) {
        buf_addf(&out, "%u ", doc.line);
        json_write(&d, doc.root, &out);
        buf_add_char(&out, '\n');
    }
    if (r < 0)
        buf_add_cstr(&out, err.msg);
    else
        ASSERT_INT(0, yaml_reader_next(reader, &d, &doc, &err)); /* the end stays the end */
    (void)snprintf(answer, sizeof answer, "%s", buf_cstr(&out));
    reader = yaml_reader_free(reader);
    buf_done(&out);
    json_done(&d);
    return answer;
}

static void check_rows(const char *const rows[][2], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *actual = documents_of(str_of(rows[i][0]));
        if (strcmp(rows[i][1], actual) != 0)
            fail_msg("%s\nread as %s, expected %s", rows[i][0], actual, rows[i][1]);
    }
}

/* Fails with this code; the message is in err. */
static int parse(struct str text)
{
    struct json d;
    json_ref v;
    int r;

    json_init(&d, TEST_BYTES_MAX);
    r = yaml_parse(&d, text, &v, &err);
    json_done(&d);
    return r;
}

/* --- Streams --- */

TEST(streams)
{
    static const char *const rows[][2] = {
        { "", "" },
        { "\n  \n", "" },
        { "# only a comment\n", "" },
        { "---\n", "" },
        { "---\n---\n# c\n---\nnull\n--- ~\n...\n", "" },
        { "a: 1\n", "1 {\"a\":1}\n" },
        { "a: 1\n---\nb: 2\n", "1 {\"a\":1}\n3 {\"b\":2}\n" },
        { "---\n# c\na: 1\n---\n---\n\nb: 2\n---\n", "3 {\"a\":1}\n7 {\"b\":2}\n" },
        { "a: 1\n...\n# between\n---\nb: 2\n...\n", "1 {\"a\":1}\n5 {\"b\":2}\n" },
        { "--- a\n--- [b]\n--- |\n c\n", "1 \"a\"\n2 [\"b\"]\n3 \"c\\n\"\n" },
        { "%YAML 1.1\n---\na: 1\n", "3 {\"a\":1}\n" },
        { "a: 1\n---\nb: [\n", "1 {\"a\":1}\nline 4, column 1, in b: did not find expected node content" },
        { "a: \"---\"\nb: |\n  ---\n  x\n", "1 {\"a\":\"---\",\"b\":\"---\\nx\\n\"}\n" },
        { "&a 1\n---\n*a\n", "1 1\nline 3, column 1: unknown anchor 'a' referenced" },
    };
    check_rows(rows, ARRAY_LEN(rows));
}

TEST(shapes)
{
    static const char *const rows[][2] = {
        { "{}", "1 {}\n" },
        { "[]", "1 []\n" },
        { "a:\nb:\n- 1\n- - 2\n  - 3\n-\nc: {d: [e, {f: g}]}\n",
          "1 {\"a\":null,\"b\":[1,[2,3],null],\"c\":{\"d\":[\"e\",{\"f\":\"g\"}]}}\n" },
        { "a:\n  - 1\nb:\n- 1\n", "1 {\"a\":[1],\"b\":[1]}\n" },
        { "- a: 1\n  b: 2\n- c: 3\n", "1 [{\"a\":1,\"b\":2},{\"c\":3}]\n" },
        { "[a: 1, b]", "1 [{\"a\":1},\"b\"]\n" },
        { "{a, b: }", "1 {\"a\":null,\"b\":null}\n" },
        { "? a\n? b\n: 2\n", "1 {\"a\":null,\"b\":2}\n" },
        { "a:\t1 # tabs may part, not indent\n", "1 {\"a\":1}\n" },
        { "a: 1\r\nb: 2\r\n", "1 {\"a\":1,\"b\":2}\n" },
        { "b: 1\na: 2\n", "1 {\"b\":1,\"a\":2}\n" },
    };
    check_rows(rows, ARRAY_LEN(rows));
}

TEST(a_class_a_volume_and_a_claim)
{
    static const char text[] = "apiVersion: storage.k8s.io/v1\n"
                               "kind: StorageClass\n"
                               "metadata:\n"
                               "  name: local-storage\n"
                               "provisioner: kubernetes.io/no-provisioner\n"
                               "volumeBindingMode: WaitForFirstConsumer\n"
                               "---\n"
                               "# The disk of one node.\n"
                               "apiVersion: v1\n"
                               "kind: PersistentVolume\n"
                               "metadata:\n"
                               "  name: example-local-pv\n"
                               "spec:\n"
                               "  capacity:\n"
                               "    storage: 5Gi\n"
                               "  accessModes:\n"
                               "  - ReadWriteOnce\n"
                               "  persistentVolumeReclaimPolicy: Delete\n"
                               "  storageClassName: local-storage\n"
                               "  local:\n"
                               "    path: /mnt/disks/ssd1\n"
                               "  nodeAffinity:\n"
                               "    required:\n"
                               "      nodeSelectorTerms:\n"
                               "      - matchExpressions:\n"
                               "        - key: kubernetes.io/hostname\n"
                               "          operator: In\n"
                               "          values:\n"
                               "          - my-node\n"
                               "---\n"
                               "kind: PersistentVolumeClaim\n"
                               "apiVersion: v1\n"
                               "metadata:\n"
                               "  name: example-local-claim\n"
                               "  annotations: {\"a/b\": \"1\", c: 'yes'}\n"
                               "spec:\n"
                               "  accessModes: [ReadWriteOnce]\n"
                               "  resources: {requests: {storage: 5Gi}}\n"
                               "  storageClassName: local-storage\n";
    static const char expected[] =
        "1 "
        "{\"apiVersion\":\"storage.k8s.io/"
        "v1\",\"kind\":\"StorageClass\",\"metadata\":{\"name\":\"local-storage\"},"
        "\"provisioner\":\"kubernetes.io/no-provisioner\",\"volumeBindingMode\":\"WaitForFirstConsumer\"}\n"
        "9 {\"apiVersion\":\"v1\",\"kind\":\"PersistentVolume\",\"metadata\":{\"name\":\"example-local-pv\"},"
        "\"spec\":{\"capacity\":{\"storage\":\"5Gi\"},\"accessModes\":[\"ReadWriteOnce\"],"
        "\"persistentVolumeReclaimPolicy\":\"Delete\",\"storageClassName\":\"local-storage\","
        "\"local\":{\"path\":\"/mnt/disks/ssd1\"},\"nodeAffinity\":{\"required\":{\"nodeSelectorTerms\":"
        "[{\"matchExpressions\":[{\"key\":\"kubernetes.io/"
        "hostname\",\"operator\":\"In\",\"values\":[\"my-node\"]}]}]}}}}\n"
        "31 "
        "{\"kind\":\"PersistentVolumeClaim\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"example-local-"
        "claim\","
        "\"annotations\":{\"a/b\":\"1\",\"c\":\"yes\"}},\"spec\":{\"accessModes\":[\"ReadWriteOnce\"],"
        "\"resources\":{\"requests\":{\"storage\":\"5Gi\"}},\"storageClassName\":\"local-storage\"}}\n";

    ASSERT_STR(expected, documents_of(STR_LIT(text)));
}

TEST(encodings)
{
    ASSERT_STR("1 {\"a\":\"\303\251\"}\n", documents_of(STR_LIT("\xEF\xBB\xBF"
                                                                "a: \303\251\n")));
    ASSERT_STR("1 {\"a\":\"\303\251\"}\n", documents_of(STR_LIT("\xFF\xFE"
                                                                "a\0:\0 \0\xE9\0\n\0")));
    ASSERT_STR("1 {\"a\":\"\303\251\"}\n", documents_of(STR_LIT("\xFE\xFF"
                                                                "\0a\0:\0 \0\xE9\0\n")));
    ASSERT_STR("line 2, column 4: control characters are not allowed",
               documents_of(STR_LIT("a: 1\nb: \0\n")));
    ASSERT_STR("line 1, column 4: invalid leading UTF-8 octet", documents_of(STR_LIT("a: \xFF\n")));
    ASSERT_STR("line 1, column 4: invalid Unicode character", documents_of(STR_LIT("a: \xED\xA0\x80\n")));
    ASSERT_STR("line 1, column 4: invalid length of a UTF-8 sequence",
               documents_of(STR_LIT("a: \xC0\x80\n")));
}

/* --- JSON --- */

static const char *either_of(const char *text)
{
    static char answer[1024];
    struct buf out = BUF_INIT(sizeof answer - 1);
    struct json d;
    json_ref v;

    json_init(&d, TEST_BYTES_MAX);
    if (yaml_or_json_parse(&d, str_of(text), &v, &err) == 0)
        json_write(&d, v, &out);
    else
        buf_add_cstr(&out, err.msg);
    (void)snprintf(answer, sizeof answer, "%s", buf_cstr(&out));
    buf_done(&out);
    json_done(&d);
    return answer;
}

TEST(json_is_read_as_json)
{
    ASSERT_STR("{\"a\":\"\xF0\x9F\x98\x80\"}", either_of("{\"a\": \"\\ud83d\\ude00\"}"));
    ASSERT_STR("{\"a\":2}",
               either_of(" \n{\"a\": 1, \"a\": 2}\n")); /* noted by the JSON reader, not refused */
    ASSERT_STR("[1.50,-0]", either_of("[1.50, -0]"));
    ASSERT_STR("{\"a\":\"b\"}", either_of("{a: b}"));
    ASSERT_STR("[\"a\",\"b\"]", either_of("[a,\n b]"));
    ASSERT_STR("\"a\"", either_of("a"));
    ASSERT_STR("2 {\"a\":1}\n", documents_of(STR_LIT("\n{\"a\": 1}\n")));
    ASSERT_STR("1 {\"a\":1}\n3 {\"b\":2}\n", documents_of(STR_LIT("{\"a\": 1}\n---\n{\"b\": 2}\n")));
    assert_non_null(strstr(either_of("{\"a\": 1,, \"b\": 2}"), "offset 9"));
    ASSERT_STR("line 1, column 5, in a: unknown anchor 'b' referenced", either_of("{a: *b}"));
    assert_non_null(strstr(documents_of(STR_LIT("{\"a\": \"\\ud83d\"x}")), "offset"));
}

TEST(one_document_is_one)
{
    struct json d;
    json_ref v = 77;

    json_init(&d, TEST_BYTES_MAX);
    ASSERT_ERR(ERR_BAD_REQUEST, yaml_parse(&d, STR_LIT("# nothing\n"), &v, &err));
    ASSERT_STR("the text contains no document", err.msg);
    ASSERT_ERR(ERR_BAD_REQUEST, yaml_parse(&d, STR_LIT("a: 1\n---\nb: 2\n"), &v, &err));
    ASSERT_STR("line 3: unexpected second document", err.msg);
    ASSERT_ERR(ERR_BAD_REQUEST, yaml_parse(&d, STR_LIT("a: 1\n---\n\"\n"), &v, &err));
    ASSERT_INT(77, v);
    ASSERT_OK(yaml_parse(&d, STR_LIT("a: 1\n---\n# no more\n"), &v, &err));
    ASSERT_INT(1, json_count(&d, v));
    json_done(&d);
}

/* --- Anchors and merges --- */

TEST(anchors)
{
    static const char *const rows[][2] = {
        { "a: &x 1\nb: *x\n", "1 {\"a\":1,\"b\":1}\n" },
        { "a: &x {w: [1, z]}\nb: *x\nc: [*x]\n",
          "1 {\"a\":{\"w\":[1,\"z\"]},\"b\":{\"w\":[1,\"z\"]},\"c\":[{\"w\":[1,\"z\"]}]}\n" },
        { "- &x 1\n- *x\n- &x 2\n- *x\n", "1 [1,1,2,2]\n" },
        { "&a [&b x, *b, &a z, *a]\n", "1 [\"x\",\"x\",\"z\",\"z\"]\n" },
        { "- &b [1]\n- &a [*b]\n- *a\n- *b\n", "1 [[1],[[1]],[[1]],[1]]\n" },
        { "{&x a: 1, b: *x, *x : 3}\n", "line 1, column 18: key \"a\" already set in map" },
        { "{&x a: 1, b: *x}\n", "1 {\"a\":1,\"b\":\"a\"}\n" },
        { "- &x 0x10\n- &t true\n- {*x : 1, *t : 2}\n", "1 [16,true,{\"16\":1,\"true\":2}]\n" },
        { "- &x 1.50\n- {*x : 1}\n", "1 [1.50,{\"1.5\":1}]\n" },
        { "- &x\n- *x\n", "1 [null,null]\n" },
        { "- &x ~\n- {*x : 1}\n", "line 2, column 4, in [1]: null cannot be a map key" },
        { "- &x [1]\n- {*x : 1}\n", "line 2, column 4, in [1]: invalid map key: a list cannot be a key" },
        { "- &x {}\n- {*x : 1}\n", "line 2, column 4, in [1]: invalid map key: a map cannot be a key" },
        { "*x\n", "line 1, column 1: unknown anchor 'x' referenced" },
        { "a: *x\nb: &x 1\n", "line 1, column 4, in a: unknown anchor 'x' referenced" },
        { "a: &x [1, *x]\n", "line 1, column 11, in a: anchor 'x' value contains itself" },
        { "a: &x {b: {c: *x}}\n", "line 1, column 15, in a.b.c: anchor 'x' value contains itself" },
    };
    check_rows(rows, ARRAY_LEN(rows));
}

/* As kubectl: what is written last wins, and a merge stands where it is written. */
TEST(merges)
{
    static const char *const rows[][2] = {
        { "{<<: {a: 1, b: 2}, a: 3}", "1 {\"b\":2,\"a\":3}\n" },
        { "{a: 3, <<: {a: 1, b: 2}}", "1 {\"a\":1,\"b\":2}\n" },
        { "{<<: [{a: 1, b: 2}, {a: 2, c: 3}]}", "1 {\"c\":3,\"a\":1,\"b\":2}\n" },
        { "{<<: {a: 1}, <<: {b: 2}}", "1 {\"a\":1,\"b\":2}\n" },
        { "{<<: {<<: {a: 1}, b: 2}}", "1 {\"a\":1,\"b\":2}\n" },
        { "{<<: {}}", "1 {}\n" },
        { "{<<: []}", "1 {}\n" },
        { "base: &b {a: 1, l: [x]}\nuse:\n  <<: *b\n  c: 2\n",
          "1 {\"base\":{\"a\":1,\"l\":[\"x\"]},\"use\":{\"a\":1,\"l\":[\"x\"],\"c\":2}}\n" },
        { "- &a {x: 1}\n- &b {x: 2, z: 3}\n- {<<: [*a, *b]}\n",
          "1 [{\"x\":1},{\"x\":2,\"z\":3},{\"z\":3,\"x\":1}]\n" },
        { "{!!merge <<: {a: 1}}", "1 {\"a\":1}\n" },
        { "{\"<<\": {a: 1}}", "1 {\"<<\":{\"a\":1}}\n" },
        { "{!!str <<: {a: 1}}", "1 {\"<<\":{\"a\":1}}\n" },
        { "[<<]", "1 [\"<<\"]\n" },
        { "{<<: 3}", "line 1, column 2, in <<: map merge requires map or sequence of maps as the value" },
        { "{<<: [{a: 1}, 2]}",
          "line 1, column 2, in <<: map merge requires map or sequence of maps as the value" },
        { "{<<: }", "line 1, column 2, in <<: map merge requires map or sequence of maps as the value" },
        { "- &l [{a: 1}]\n- {<<: *l}\n",
          "line 2, column 8, in [1].<<: map merge requires map or sequence of maps as the value" },
        { "x: {<<: {a: 1}, b: 1, b: 2}", "line 1, column 23, in x: key \"b\" already set in map" },
        { "x: {b: 1, <<: {b: 3}, b: 2}", "line 1, column 23, in x: key \"b\" already set in map" },
        { "x: {<<: {b: *c}}", "line 1, column 13, in x.<<.b: unknown anchor 'c' referenced" },
    };
    check_rows(rows, ARRAY_LEN(rows));
}

/* --- Errors --- */

TEST(keys_set_twice_are_refused)
{
    static const char *const rows[][2] = {
        { "a: 1\na: 2\n", "line 2, column 1: key \"a\" already set in map" },
        { "a:\n  b: {x: 1, y: 2, x: 3, x: 4}\n", "line 2, column 19, in a.b: key \"x\" already set in map" },
        { "items:\n- a: 1\n- b: 1\n  \"b\": 2\n",
          "line 4, column 3, in items[1]: key \"b\" already set in map" },
        { "y: 1\ntrue: 2\n", "line 2, column 1: key \"true\" already set in map" },
        { "1: 1\n'1': 2\n", "line 2, column 1: key \"1\" already set in map" },
        { "\"a\\nb\": 1\n\"a\\nb\": 2\n", "line 2, column 1: key \"a\\nb\" already set in map" },
        { "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\303\251y: 1\n"
          "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\303\251y: 1\n",
          "line 2, column 1: key \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\" already "
          "set in map" },
        { "a: 1\nb: 2\nc: 3\nb: 4\na: 5\n", "line 4, column 1: key \"b\" already set in map" },
    };
    check_rows(rows, ARRAY_LEN(rows));
}

TEST(keys_set_twice_among_many)
{
    struct buf text = BUF_INIT(TEST_BYTES_MAX);

    for (int i = 0; i < 1000; i++)
        buf_addf(&text, "key-%d: %d\n", i, i);
    ASSERT_OK(parse(buf_str(&text)));
    buf_add_cstr(&text, "key-999: x\nkey-500: x\n");
    ASSERT_ERR(ERR_BAD_REQUEST, parse(buf_str(&text)));
    ASSERT_STR("line 1001, column 1: key \"key-999\" already set in map", err.msg);
    buf_done(&text);
}

TEST(errors_name_line_column_and_field)
{
    static const char *const rows[][2] = {
        { "spec:\n  capacity:\n    storage: 5Gi\n   accessModes: [a]\n",
          "line 4, column 4, in spec: did not find expected key (while parsing a block mapping from line "
          "2)" },
        { "spec:\n  a: [1, 2\nb: 3\n", "line 3, column 2, in spec.a: did not find expected ',' or ']' (while "
                                       "parsing a flow sequence from line 2)" },
        { "a: \"x\n",
          "line 2, column 1, in a: found unexpected end of stream (while scanning a quoted scalar from "
          "line 1)" },
        { "\ta: 1\n", "line 1, column 1: found a tab: YAML is indented with spaces" },
        { "a:\n  b: 1\n\tc: 2\n", "line 3, column 1, in a.b: found a tab: YAML is indented with spaces" },
        { "a: %x\n", "line 1, column 4, in a: found character that cannot start any token" },
        { "spec:\n  capacity:\n    storage: !!int 5Gi\n",
          "line 3, column 14, in spec.capacity.storage: cannot decode !!str `5Gi` as a !!int" },
        { "a: b: c\n", "line 1, column 5: mapping values are not allowed in this context" },
        { "a: \"\\ud800\"\n", "line 1, column 7, in a: found invalid Unicode character escape code" },
        { "a: !x!y z\n", "line 1, column 4, in a: found undefined tag handle" },
        { "%YAML 2.0\n---\na: 1\n", "line 1, column 1: found incompatible YAML document" },
    };
    check_rows(rows, ARRAY_LEN(rows));
}

TEST(long_fields_are_cut)
{
    struct buf text = BUF_INIT(TEST_BYTES_MAX);

    for (int i = 0; i < 900; i++)
        buf_add_cstr(&text, "k");
    buf_add_cstr(&text, ": {b: *x}\n");
    ASSERT_ERR(ERR_BAD_REQUEST, parse(buf_str(&text)));
    assert_non_null(strstr(err.msg, "unknown anchor 'x' referenced"));
    buf_done(&text);
}

/* --- Bounds --- */

TEST(depth_is_bounded)
{
    struct buf text = BUF_INIT(TEST_BYTES_MAX);

    for (int i = 0; i < YAML_DEPTH_MAX; i++)
        buf_add_char(&text, '[');
    for (int i = 0; i < YAML_DEPTH_MAX; i++)
        buf_add_char(&text, ']');
    ASSERT_OK(parse(buf_str(&text)));
    buf_clear(&text);
    for (int i = 0; i < 1000000; i++)
        buf_add_char(&text, '[');
    ASSERT_ERR(ERR_BAD_REQUEST, parse(buf_str(&text)));
    assert_non_null(strstr(err.msg, "line 1, column 1001, in [0]"));
    assert_non_null(strstr(err.msg, ": exceeded max depth"));
    buf_clear(&text);
    for (int i = 0; i < 100000; i++)
        buf_add_cstr(&text, "- ");
    ASSERT_ERR(ERR_BAD_REQUEST, parse(buf_str(&text)));
    assert_non_null(strstr(err.msg, "exceeded max depth"));
    buf_done(&text);
}

/* Each anchor nests the one before 100 levels deep. */
TEST(depth_counts_through_aliases)
{
    struct buf text = BUF_INIT(TEST_BYTES_MAX);

    for (int i = 0; i < 20; i++) {
        buf_addf(&text, "- &a%d ", i);
        for (int k = 0; k < 100; k++)
            buf_add_char(&text, '[');
        if (i)
            buf_addf(&text, "*a%d", i - 1);
        for (int k = 0; k < 100; k++)
            buf_add_char(&text, ']');
        buf_add_char(&text, '\n');
    }
    ASSERT_ERR(ERR_BAD_REQUEST, parse(buf_str(&text)));
    assert_non_null(strstr(err.msg, "line 10, ")); /* one level is the list around them */
    assert_non_null(strstr(err.msg, "exceeded max depth"));
    buf_done(&text);
}

TEST(depth_counts_through_merges)
{
    struct buf text = BUF_INIT(TEST_BYTES_MAX);

    for (int i = 0; i < 20; i++) {
        buf_addf(&text, "- &a%d {x: ", i);
        for (int k = 0; k < 100; k++)
            buf_add_char(&text, '[');
        if (i)
            buf_addf(&text, "{<<: *a%d}", i - 1);
        for (int k = 0; k < 100; k++)
            buf_add_char(&text, ']');
        buf_add_cstr(&text, "}\n");
    }
    ASSERT_ERR(ERR_BAD_REQUEST, parse(buf_str(&text)));
    assert_non_null(strstr(err.msg, "exceeded max depth"));
    buf_done(&text);
}

TEST(bombs_are_refused)
{
    struct buf laughs = BUF_INIT(TEST_BYTES_MAX), merges = BUF_INIT(TEST_BYTES_MAX);

    buf_add_cstr(&laughs, "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n");
    for (int i = 1; i < 10; i++) {
        buf_addf(&laughs, "a%d: &a%d [", i, i);
        for (int k = 0; k < 9; k++)
            buf_addf(&laughs, "%s*a%d", k ? ", " : "", i - 1);
        buf_add_cstr(&laughs, "]\n");
    }
    ASSERT_ERR(ERR_TOO_LARGE, parse(buf_str(&laughs)));
    assert_non_null(strstr(err.msg, "document contains excessive aliasing"));

    buf_add_cstr(&merges, "- &a0 {a: [1, 2, 3, 4, 5, 6, 7, 8, 9]}\n");
    for (int i = 1; i < 40; i++)
        buf_addf(&merges, "- &a%d {x: *a%d, y: *a%d, <<: *a%d}\n", i, i - 1, i - 1, i - 1);
    ASSERT_ERR(ERR_TOO_LARGE, parse(buf_str(&merges)));
    buf_done(&laughs);
    buf_done(&merges);
}

/* A long text named often: few values, but each would be written out. */
TEST(bombs_of_text_are_refused)
{
    struct buf text = BUF_INIT(TEST_BYTES_MAX);

    buf_add_cstr(&text, "- &a ");
    for (int i = 0; i < 100000; i++)
        buf_add_char(&text, 'x');
    buf_add_cstr(&text, "\n");
    for (int i = 0; i < 30; i++)
        buf_add_cstr(&text, "- *a\n");
    ASSERT_OK(parse(buf_str(&text)));
    buf_add_cstr(&text, "- *a\n");
    ASSERT_ERR(ERR_TOO_LARGE, parse(buf_str(&text)));
    assert_non_null(strstr(err.msg, "the document is larger than 3145728 bytes"));
    buf_done(&text);
}

TEST(bombs_of_nested_merges_are_refused)
{
    struct buf text = BUF_INIT(TEST_BYTES_MAX);

    for (int i = 0; i < 500; i++)
        buf_add_cstr(&text, "{<<: ");
    buf_add_char(&text, '{');
    for (int i = 0; i < 10000; i++)
        buf_addf(&text, "k%d: 1,\n", i);
    buf_add_char(&text, '}');
    for (int i = 0; i < 500; i++)
        buf_add_char(&text, '}');
    ASSERT_ERR(ERR_TOO_LARGE, parse(buf_str(&text)));
    buf_done(&text);
}

TEST(honest_aliases_pass)
{
    struct buf text = BUF_INIT(TEST_BYTES_MAX);

    buf_add_cstr(&text, "- &t {a: 1, b: [1, 2, 3], c: {d: e}}\n");
    for (int i = 0; i < 2000; i++)
        buf_addf(&text, "- {<<: *t, name: n%d, copy: *t}\n", i);
    ASSERT_OK(parse(buf_str(&text)));
    buf_done(&text);
}

TEST(anchors_are_bounded)
{
    struct buf text = BUF_INIT(TEST_BYTES_MAX);

    for (unsigned i = 0; i < YAML_ANCHORS_MAX; i++)
        buf_addf(&text, "- &a%u x\n", (i * 2654435761u) % 1000003);
    for (unsigned i = 0; i < YAML_ANCHORS_MAX; i++)
        buf_addf(&text, "- *a%u\n", (i * 2654435761u) % 1000003);
    ASSERT_OK(parse(buf_str(&text)));
    buf_add_cstr(&text, "- &a-again x\n");
    ASSERT_ERR(ERR_TOO_LARGE, parse(buf_str(&text)));
    assert_non_null(strstr(err.msg, "more than 4096 anchors"));
    buf_done(&text);
}

/* What costs libyaml more than linear time. */
TEST(costly_syntax_is_bounded)
{
    struct buf flow = BUF_INIT(TEST_BYTES_MAX), tags = BUF_INIT(TEST_BYTES_MAX);

    for (int i = 0; i < 900; i++)
        buf_add_char(&flow, '[');
    for (int i = 0; i < 30000; i++)
        buf_add_cstr(&flow, i % 100 ? "a," : "a,\n");
    ASSERT_ERR(ERR_TOO_LARGE, parse(buf_str(&flow)));
    assert_non_null(strstr(err.msg, "brackets and braces are nested too deeply"));

    buf_add_cstr(&tags, "script: |\n");
    for (int i = 0; i < 1000; i++)
        buf_add_cstr(&tags, "  echo %TAG%\n  %TAG%\n");
    ASSERT_OK(parse(buf_str(&tags)));
    buf_clear(&tags);
    for (int i = 0; i < 64; i++)
        buf_addf(&tags, "%%TAG !a%d! tag:x,2000:\n", i);
    buf_add_cstr(&tags, "--- !a63!x y\n");
    ASSERT_OK(parse(buf_str(&tags)));
    buf_clear(&tags);
    for (int i = 0; i < 65; i++)
        buf_addf(&tags, "%%TAG !a%d! tag:x,2000:\n", i);
    buf_add_cstr(&tags, "--- x\n");
    ASSERT_ERR(ERR_TOO_LARGE, parse(buf_str(&tags)));
    ASSERT_STR("more than 64 %TAG directives", err.msg);
    buf_done(&flow);
    buf_done(&tags);
}

TEST(documents_larger_than_the_tree_may_be_are_refused)
{
    struct json d;
    json_ref v = 77;

    json_init(&d, 64);
    ASSERT_OK(yaml_parse(&d,
                         STR_LIT("a: 123456789012345678901234567890\n# comments cost nothing "
                                 "................................................................\n"),
                         &v, &err));
    json_done(&d);
    v = 77;
    ASSERT_ERR(ERR_TOO_LARGE,
               yaml_parse(&d, STR_LIT("a: 123456789012345678901234567890123456789012345678901234567890123\n"),
                          &v, &err));
    ASSERT_INT(77, v);
    json_done(&d);
}

TEST_MAIN()

/* What the API must refuse, row by row, through the doors by which objects come in: each refusal says where,
 * none makes an object, none leaves memory behind. */
#include "tests/unit/test_kind.h"

#include "api/volume.h"
#include "api/yaml.h"

#define BODY_BYTES_MAX ((size_t)3145728)

static const char volume_text[] =
    "{\"kind\":\"PersistentVolume\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"v\",\"labels\":{\"a\":\"\\"
    "u00e9\\n\"}},\"spec\":{\"capacity\":{\"storage\":\"1Gi\"},\"accessModes\":[\"ReadWriteOnce\"],"
    "\"hostPath\""
    ":{\"path\":\"/"
    "x\"},\"nodeAffinity\":{\"required\":{\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":"
    "\"k\",\"operator\":\"In\",\"values\":[\"v\"]}]}]}},\"future\":[1.5e3,-2,true,false,null]}}";

static struct json scratch;

static int decode(struct str text)
{
    struct object *o = NULL;
    int r;

    err = (struct error){ 0 };
    r = object_decode_any(text, &scratch, &o, &err);
    if (r < 0)
        assert_null(o);
    (void)object_unref(o);
    return r;
}

static int decode_row(const char *text)
{
    _cleanup_(buf_done_p) struct buf quoted = BUF_INIT(BODY_BYTES_MAX);

    kind_quotes(text, &quoted);
    return decode(buf_str(&quoted));
}

/* A YAML manifest, up to the object. */
static int decode_yaml(const char *text)
{
    struct object *o = NULL;
    const struct kind_info *k;
    json_ref v;
    int r;

    err = (struct error){ 0 };
    json_clear(&scratch);
    r = yaml_parse(&scratch, str_of(text), &v, &err);
    if (r < 0)
        return r;
    k = kind_by_api_version(json_get_text(&scratch, v, "apiVersion"), json_get_text(&scratch, v, "kind"));
    assert_non_null(k);
    r = schema_normalize(k->schema, &scratch, v, SCHEMA_KEEP_UNKNOWN, NULL, &err);
    if (r == 0)
        r = object_new(k, &scratch, v, &o, &err);
    (void)object_unref(o);
    return r;
}

static void assert_says(const char *part)
{
    if (!strstr(err.msg, part))
        fail_msg("\"%s\" is not in \"%s\"", part, err.msg);
}

#define VOLUME(rest) "{'kind':'PersistentVolume','apiVersion':'v1','metadata':{'name':'v'}" rest "}"

TEST(truncated_anywhere)
{
    ASSERT_OK(decode(str_of(volume_text)));
    for (size_t len = 0; len < sizeof volume_text - 1; len++) {
        _cleanup_(freep) char *part = malloc(len + 1); /* so that reading on is seen */
        assert_non_null(part);
        memcpy(part, volume_text, len);
        ASSERT_ERR(ERR_BAD_REQUEST, decode((struct str){ part, len }));
        assert_says("offset ");
    }
}

TEST(one_byte_wrong_anywhere)
{
    char text[sizeof volume_text];

    for (size_t i = 0; i < sizeof volume_text - 1; i++) {
        static const char wrong[] = { '\0', '\xff', '\x80', '"', '{', '\\', '\n', '9' };
        for (size_t k = 0; k < sizeof wrong; k++) {
            memcpy(text, volume_text, sizeof text);
            text[i] = wrong[k];
            if (decode((struct str){ text, sizeof text - 1 }) < 0) /* a few are still fine */
                assert_true(err.msg[0] != '\0');
        }
    }
}

static void add_nested(struct buf *out, const char *open, const char *inner, const char *close, int depth)
{
    for (int i = 0; i < depth; i++)
        buf_add_cstr(out, open);
    buf_add_cstr(out, inner);
    for (int i = 0; i < depth; i++)
        buf_add_cstr(out, close);
}

/* The object itself is one level. */
TEST(nesting_ends_at_ten_thousand)
{
    static const char *const rows[][3] = { { "[", "", "]" }, { "{'a':", "1", "}" } };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        for (int depth = JSON_DEPTH_MAX - 1; depth <= JSON_DEPTH_MAX; depth++) {
            _cleanup_(buf_done_p) struct buf text = BUF_INIT(BODY_BYTES_MAX);
            buf_add_cstr(&text, "{'kind':'PersistentVolume','apiVersion':'v1','deep':");
            add_nested(&text, rows[i][0], rows[i][1], rows[i][2], depth);
            buf_add_char(&text, '}');
            if (depth < JSON_DEPTH_MAX) {
                ASSERT_OK(decode_row(buf_cstr(&text)));
            } else {
                ASSERT_ERR(ERR_BAD_REQUEST, decode_row(buf_cstr(&text)));
                assert_says("offset ");
                assert_says("exceeded max depth");
            }
        }
    }
}

TEST(texts_too_large)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(BODY_BYTES_MAX * 2);
    char *at;

    buf_add_cstr(&text, "{\"kind\":\"PersistentVolume\",\"apiVersion\":\"v1\",\"x\":\"");
    at = buf_grow(&text, BODY_BYTES_MAX - text.len - 2);
    assert_non_null(at);
    memset(at, 'x', (size_t)(text.data + text.len - at));
    buf_add_cstr(&text, "\"}");
    ASSERT_INT(BODY_BYTES_MAX, text.len);
    ASSERT_OK(decode(buf_str(&text)));
    buf_add_char(&text, ' ');
    ASSERT_ERR(ERR_TOO_LARGE, decode(buf_str(&text)));
    ASSERT_STR("the JSON text has 3145729 bytes, the limit is 3145728", err.msg);
}

TEST(duplicate_keys_are_reported_and_the_last_wins)
{
    static const char text[] =
        "{'kind':'PersistentVolume','apiVersion':'v1','metadata':{'name':'a','name':'b','labels':{'k':'1',"
        "'k':'2'}},'spec':{'accessModes':['X'],'accessModes':['ReadWriteOnce']}}";
    _cleanup_(object_unref_p) struct object *o = kind_object(KIND_VOLUME, text);

    ASSERT_STR("b", o->name);
    ASSERT_STR("2", object_label(o, "k"));
    ASSERT_INT(ACCESS_RWO, CONTAINER_OF(o, struct volume, obj)->modes);
    ASSERT_STR("duplicate field \"metadata.name\", duplicate field \"metadata.labels.k\", duplicate field "
               "\"spec.accessModes\"",
               kind_report(KIND_VOLUME, text));
    /* YAML does not let them pass */
    ASSERT_ERR(ERR_BAD_REQUEST, decode_yaml("kind: PersistentVolume\napiVersion: v1\nmetadata:\n  name: a\n"
                                            "  name: b\n"));
    ASSERT_STR("line 5, column 3, in metadata: key \"name\" already set in map", err.msg);
}

TEST(bytes_that_are_no_utf8)
{
    static const struct {
        const char *bytes;
        size_t at; /* of the first byte that is wrong */
    } rows[] = {
        { "\xff", 0 },      { "\x80", 0 },         { "ab\xc3", 2 },           { "\xc0\x80", 0 },
        { "é\xe2\x82", 2 }, { "\xed\xa0\x80", 0 }, { "\xf4\x90\x80\x80", 0 }, { "x\xfe\xff", 1 },
    };
    static const char front[] =
        "{\"kind\":\"PersistentVolume\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"";

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[256], want[128];
        (void)snprintf(text, sizeof text, "%s%s\"}}", front, rows[i].bytes);
        ASSERT_ERR(ERR_BAD_REQUEST, decode(str_of(text)));
        (void)snprintf(want, sizeof want, "offset %zu: the JSON text is not valid UTF-8",
                       sizeof front - 1 + rows[i].at);
        ASSERT_STR(want, err.msg);
        (void)snprintf(text, sizeof text, "kind: PersistentVolume\napiVersion: v1\nmetadata:\n  name: %s\n",
                       rows[i].bytes);
        assert_true(decode_yaml(text) < 0);
        assert_says("line ");
    }
}

TEST(numbers_out_of_range)
{
    _cleanup_(buf_done_p) struct buf digits = BUF_INIT(4096), text = BUF_INIT(8192);

    for (int i = 0; i < 400; i++)
        buf_add_char(&digits, '9');
    ASSERT_ERR(ERR_BAD_REQUEST, decode_row(VOLUME(",'spec':{'x':1e999}")));
    ASSERT_STR("offset 86, in spec.x: number out of range", err.msg);
    ASSERT_ERR(ERR_BAD_REQUEST, decode_row(VOLUME(",'spec':{'capacity':{'storage':-1e999}}")));
    assert_says("in spec.capacity.storage: number out of range");
    buf_addf(&text, VOLUME(",'spec':{'x':%s}"), buf_cstr(&digits));
    ASSERT_ERR(ERR_BAD_REQUEST, decode_row(buf_cstr(&text)));
    assert_says("in spec.x: number out of range");
    buf_clear(&text);
    buf_addf(&text, VOLUME(",'spec':{'x':0.%s}"), buf_cstr(&digits));
    ASSERT_OK(decode_row(buf_cstr(&text))); /* long, but in range */
    buf_clear(&text);
    buf_addf(&text, VOLUME(",'spec':{'x':0.%s%s}"), buf_cstr(&digits), buf_cstr(&digits));
    ASSERT_ERR(ERR_BAD_REQUEST, decode_row(buf_cstr(&text)));
    assert_says("in spec.x: number out of range");
    /* in range for JSON and not for the field */
    ASSERT_ERR(ERR_BAD_REQUEST,
               decode_row("{'kind':'PersistentVolume','apiVersion':'v1','metadata':{'generation':1e18}}"));
    assert_says(
        "cannot unmarshal number 1e18 into Go struct field ObjectMeta.metadata.generation of type int64");
}

TEST(nul_bytes)
{
    static const char raw[] =
        "{\"kind\":\"PersistentVolume\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\0b\"}}";
    static const char behind[] = "{\"kind\":\"PersistentVolume\",\"apiVersion\":\"v1\"}\0";
    static const char *const rows[][2] = {
        { VOLUME(",'spec':{'storageClassName':'\\u0000'}"), "spec.storageClassName: must not contain a NUL" },
        { VOLUME(",'spec':{'claimRef':{'name':'\\u0000'}}"), "spec.claimRef.name: must not contain a NUL" },
        { VOLUME(",'spec':{'hostPath':{'path':'/a\\u0000/..'}}"),
          "spec.hostPath.path: must not contain a NUL" },
        { VOLUME(",'spec':{'mountOptions':['ro','\\u0000']}"),
          "spec.mountOptions[1]: must not contain a NUL" },
    };

    ASSERT_ERR(ERR_BAD_REQUEST, decode((struct str){ raw, sizeof raw - 1 }));
    assert_says("offset 66, in metadata.name");
    ASSERT_ERR(ERR_BAD_REQUEST, decode((struct str){ behind, sizeof behind - 1 }));
    assert_says("offset ");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        ASSERT_ERR(ERR_BAD_REQUEST, decode_row(rows[i][0]));
        assert_says(rows[i][1]);
    }
    ASSERT_ERR(ERR_BAD_REQUEST,
               decode_yaml("kind: PersistentVolume\napiVersion: v1\nmetadata:\n  name: \"a\\0b\"\n"));
    ASSERT_STR("metadata.name: must not contain a NUL character", err.msg);
}

TEST(yaml_bombs)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(BODY_BYTES_MAX);

    buf_add_cstr(&text, "kind: PersistentVolume\napiVersion: v1\na0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for (int i = 1; i < 12; i++) {
        buf_addf(&text, "a%d: &a%d [", i, i);
        for (int k = 0; k < 9; k++)
            buf_addf(&text, "%s*a%d", k ? ", " : "", i - 1);
        buf_add_cstr(&text, "]\n");
    }
    ASSERT_ERR(ERR_TOO_LARGE, decode_yaml(buf_cstr(&text)));
    assert_says("line ");
    ASSERT_ERR(ERR_BAD_REQUEST, decode_yaml("kind: PersistentVolume\napiVersion: v1\nme: &me [*me]\n"));
    assert_says("line 3");
}

TEST(yaml_that_ends_early_or_goes_wrong)
{
    static const char *const rows[] = {
        "kind: PersistentVolume\napiVersion: v1\nmetadata: {name: v",
        "kind: PersistentVolume\napiVersion: v1\nmetadata: \"v",
        "kind: PersistentVolume\n\tapiVersion: v1\n",
        "kind: PersistentVolume\napiVersion: v1\nmetadata: *nobody\n",
        "kind: PersistentVolume\napiVersion: v1\nmetadata: !!binary \"?\"\n",
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        ASSERT_ERR(ERR_BAD_REQUEST, decode_yaml(rows[i]));
        assert_says("line ");
    }
}

TEST(quantities)
{
#define CAPACITY(value) VOLUME(",'spec':{'capacity':{'storage':" value "}}")
#define SHAPE                                                                      \
    "PersistentVolume in version \"v1\" cannot be handled as a PersistentVolume: " \
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
#define SUFFIX                                                                     \
    "PersistentVolume in version \"v1\" cannot be handled as a PersistentVolume: " \
    "unable to parse quantity's suffix"
    static const char *const wrong[][2] = {
        { CAPACITY("'1e1001'"), SUFFIX },
        { CAPACITY("'1e-1001'"), SUFFIX },
        { CAPACITY("'1e99999999999999999999'"), SUFFIX },
        { CAPACITY("'--5'"), SUFFIX },
        { CAPACITY("'5GiB'"), SHAPE },
        { CAPACITY("''"), SHAPE },
        { CAPACITY("'5 Gi'"), SHAPE },
        { CAPACITY("'five'"), SHAPE },
        { CAPACITY("'5\\u0000'"), SHAPE },
        { CAPACITY("[]"), SHAPE },
        { CAPACITY("false"), SHAPE },
        { CAPACITY("'0x10'"), SHAPE },
        { CAPACITY("'٥'"), SHAPE },
    };
    static const char *const right[] = { CAPACITY("'1e999'"), CAPACITY("'1e-999'"), CAPACITY("'-5'"),
                                         CAPACITY("1e308"),   CAPACITY("' 5Gi '"),  CAPACITY("null") };

    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        ASSERT_ERR(ERR_BAD_REQUEST, decode_row(wrong[i][0]));
        ASSERT_STR(wrong[i][1], err.msg);
    }
    for (size_t i = 0; i < ARRAY_LEN(right); i++)
        ASSERT_OK(decode_row(right[i]));
}

TEST(a_quantity_of_many_digits)
{
    static const size_t counts[] = { QUANTITY_DIGITS_MAX, QUANTITY_DIGITS_MAX + 1, 256, 257, 1000000 };
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(BODY_BYTES_MAX);

    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        buf_clear(&text);
        buf_add_cstr(&text, "{'kind':'PersistentVolume','apiVersion':'v1','spec':{'capacity':{'storage':'");
        for (size_t k = 0; k < counts[i]; k++)
            buf_add_char(&text, '7');
        buf_add_cstr(&text, "'}}}");
        if (counts[i] <= QUANTITY_DIGITS_MAX)
            ASSERT_OK(decode_row(buf_cstr(&text)));
        else
            ASSERT_ERR(ERR_BAD_REQUEST, decode_row(buf_cstr(&text)));
    }
}

int main(int argc, char **argv)
{
    int r;

    json_init(&scratch, BODY_BYTES_MAX);
    r = tests_run(argc, argv);
    json_done(&scratch);
    return r;
}

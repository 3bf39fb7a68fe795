/* Quantities: the rows of the specification, the limits, and properties checked against decimal arithmetic
 * on digit strings. */
#include "tests/unit/test.h"

#include "api/quantity.h"
#include "base/cleanup.h"

static struct error err;

#define FORMAT_ERROR \
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
#define SUFFIX_ERROR "unable to parse quantity's suffix"
#define NUMERIC_ERROR "unable to parse numeric part of quantity"

/* From a block of just its size, so that a sanitizer sees a read past its end. */
static int parse_text(const char *text, struct quantity *ret)
{
    struct str given = str_of(text);
    _cleanup_(freep) char *copy = given.len ? malloc(given.len) : NULL;

    if (copy)
        memcpy(copy, text, given.len);
    return quantity_parse((struct str){ copy, given.len }, ret, &err);
}

static struct quantity parse(const char *text)
{
    struct quantity q;

    ASSERT_OK(parse_text(text, &q));
    return q;
}

/* The emitted (canonical) text, in one of a few static buffers. */
static const char *emit(const struct quantity *q, bool canonical)
{
    static char texts[4][QUANTITY_TEXT_BYTES_MAX + 1];
    static unsigned next;
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(QUANTITY_TEXT_BYTES_MAX);
    char *text = texts[next++ % ARRAY_LEN(texts)];

    (canonical ? quantity_canonical : quantity_format)(q, &out);
    ASSERT_OK(buf_check(&out, "quantity", &err));
    memcpy(text, buf_cstr(&out), out.len + 1);
    return text;
}

static int cmp(const char *a, const char *b)
{
    struct quantity qa = parse(a), qb = parse(b);

    return quantity_cmp(&qa, &qb);
}

TEST(quantity_is_small_and_zero_when_zeroed)
{
    struct quantity q = { 0 };

    assert_true(sizeof q <= 32);
    assert_true(quantity_is_zero(&q));
    ASSERT_STR("0", emit(&q, false));
    ASSERT_INT(0, cmp("0", emit(&q, false)));
}

/* Table 3.7: what is emitted, and the canonical form where the text is kept although it is not canonical. */
static const struct {
    const char *in, *out, *canonical;
} texts[] = {
    { "0", "0", NULL },
    { "00", "0", NULL },
    { "-0", "0", NULL },
    { "+", "0", NULL },
    { ".", "0", NULL },
    { "Ki", "0", NULL },
    { "m", "0", NULL },
    { "e3", "0", NULL },
    { "0Ki", "0", NULL },
    { "1", "1", NULL },
    { "+1", "+1", "1" },
    { "007", "007", "7" },
    { "1.", "1.", "1" },
    { ".5", "500m", NULL },
    { "1.5", "1500m", NULL },
    { "1.500", "1.500", "1500m" },
    { "0.001", "1m", NULL },
    { "1000m", "1", NULL },
    { "1500m", "1500m", NULL },
    { "0.5m", "500u", NULL },
    { "0.1n", "1n", NULL },
    { "1.5n", "2n", NULL },
    { "-0.1n", "-1n", NULL },
    { "0.00000012345", "124n", NULL },
    { "1k", "1k", NULL },
    { "1000", "1k", NULL },
    { "999999", "999999", NULL },
    { "1500000", "1500k", NULL },
    { "1.5k", "1500", NULL },
    { "1.001k", "1.001k", "1001" },
    { "3.5T", "3500G", NULL },
    { "1E", "1E", NULL },
    { "12E", "12E", NULL },
    { "9223372036854775808", "9223372036854775808", NULL },
    { "1000000000000000000", "1E", NULL },
    { "1000E", "1000E", NULL },
    { "1Ki", "1Ki", NULL },
    { "1024", "1024", NULL },
    { "1048576", "1048576", NULL },
    { "1024Ki", "1Mi", NULL },
    { "1000Ki", "1000Ki", NULL },
    { "1025Ki", "1025Ki", NULL },
    { "0.5Ki", "512", NULL },
    { "0.5Mi", "512Ki", NULL },
    { "1.1Ki", "1126400m", NULL },
    { "1.5Gi", "1536Mi", NULL },
    { "2.5Gi", "2560Mi", NULL },
    { "1.0Gi", "1Gi", NULL },
    { "0.1Gi", "107374182400m", NULL },
    { "0.05Gi", "53687091200m", NULL },
    { ".001Ki", "1024m", NULL },
    { ".000000000001Ki", "2n", NULL },
    { "+5Ki", "+5Ki", "5Ki" },
    { "05Gi", "05Gi", "5Gi" },
    { "1Ei", "1Ei", NULL },
    { "8Ei", "9223372036854775807", NULL },
    { "-9Ei", "-9223372036854775807", NULL },
    { "1e3", "1e3", NULL },
    { "1E3", "1E3", "1e3" },
    { "12e0", "12e0", "12" },
    { "1e1", "10", NULL },
    { "1.5e3", "1500", NULL },
    { "1000e0", "1e3", NULL },
    { "1e5", "100e3", NULL },
    { "1e20", "100e18", NULL },
    { "1e-10", "1e-9", NULL },
    /* the API server's examples */
    { "1024Mi", "1Gi", NULL },
    { "0.5Gi", "512Mi", NULL },
    { "1000M", "1G", NULL },
    { "5", "5", NULL },
    /* spellings that must come back byte for byte */
    { "-007.100", "-007.100", "-7100m" },
    { "1e+3", "1e+3", "1e3" },
    { "1E-3", "1E-3", "1e-3" },
    { "+012.345e-0003", "+012.345e-0003", "12345e-6" },
    { "1e000", "1e000", "1" },
    { "1e-0", "1e-0", "1" },
    { "1.Ki", "1.Ki", "1Ki" },
    { "-0001.Gi", "-0001.Gi", "-1Gi" },
    { "123456789012345678", "123456789012345678", NULL },
    { "1.23456789012345678E", "1234567890123456780", NULL },
    { "12.3456789012345678M", "12345678901234568n", NULL },
    { "99999999999Ki", "99999999999Ki", NULL },
    { "+1n", "+1n", "1n" },
    { "+99999999999Ki", "+99999999999Ki", "99999999999Ki" },
    { "+99999999Mi", "+99999999Mi", "99999999Mi" },
    { "+99999Gi", "+99999Gi", "99999Gi" },
    { "+99Ti", "+99Ti", "99Ti" },
    /* just off the fast path, or not canonical on it: rewritten */
    { "0001000Ki", "1000Ki", NULL },
    { "+1000", "1k", NULL },
    { "0.100", "100m", NULL },
    { "1.000", "1", NULL },
    { "+1.0", "1", NULL },
    { "8Ki", "8Ki", NULL },
    { "+8Ki", "8Ki", NULL },
    { "+999999999Mi", "999999999Mi", NULL },
    { "+999999Gi", "999999Gi", NULL },
    { "+999Ti", "999Ti", NULL },
    { "+5Pi", "5Pi", NULL },
    { "0.9999999999999Ki", "1Ki", NULL },
    { "1.953125Ki", "2000", NULL }, /* no power of 1024 divides it; read back it is decimal, and 2k */
    { "0.0000000000000000000000000000000000000001e50", "10e9", NULL },
    { "100000000001Ki", "100000000001Ki", NULL },
    { "+100000000001Ki", "100000000001Ki", NULL },
    { "1234567890123456789", "1234567890123456789", NULL },
    { "+1234567890123456789", "1234567890123456789", NULL },
    { "1e-9", "1e-9", NULL },
    { "1.000e-9", "1e-9", NULL },
    { "0.0000000000001e-1000", "1e-9", NULL },
    { "0e-20", "0", NULL },
    { "0.e-20", "0", NULL },
    { "1.0Pi", "1Pi", NULL },
    /* big */
    { "1e999", "1e999", NULL },
    { "1e1000", "10e999", NULL },
    { "1000e1000", "10000e999", NULL },
    { "-1e1000", "-10e999", NULL },
    { "0.001e1000", "10e996", NULL },
    { "1000000000000000000000000", "1000000E", NULL },
    { "99999999999999999999999999999999999999", "99999999999999999999999999999999999999", NULL },
    { "9.9999999999999999999999999999999999999", "10", NULL },
    { "99999999999999999999999999999.9999999990001", "100000000000E", NULL },
    { "9999999999999999999999999999999999999999.9999999999", "10000000000000000000000E", NULL },
    { "7.9999999999999999999Ei", "9223372036854775807", NULL },
    { "7.5Ei", "7680Pi", NULL },
    { "9223372036854775807.5Ki", "9223372036854775807", NULL },
    { "0.0000000000000000000000000000000000000000000000000000001Ei", "1n", NULL },
};

TEST(quantity_texts)
{
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct quantity q = parse(texts[i].in), again;
        const char *canonical = texts[i].canonical ? texts[i].canonical : texts[i].out;

        if (strcmp(emit(&q, false), texts[i].out) != 0)
            fail_msg("'%s' is emitted as '%s', not '%s'", texts[i].in, emit(&q, false), texts[i].out);
        if (strcmp(emit(&q, true), canonical) != 0)
            fail_msg("'%s' is '%s', not '%s'", texts[i].in, emit(&q, true), canonical);
        again = parse(emit(&q, true));
        ASSERT_INT(0, quantity_cmp(&q, &again));
    }
}

TEST(quantity_refusals)
{
    static const struct {
        const char *in, *message;
    } rows[] = {
        /* table 3.7 */
        { "1K", SUFFIX_ERROR },
        { "1ki", SUFFIX_ERROR },
        { "1e", SUFFIX_ERROR },
        { "0.1mi", SUFFIX_ERROR },
        { "1i", SUFFIX_ERROR },
        { "3.01e-", SUFFIX_ERROR },
        { "", FORMAT_ERROR },
        { "1GB", FORMAT_ERROR },
        { "1 Gi", FORMAT_ERROR },
        { "1.1.M", FORMAT_ERROR },
        { "0x10", FORMAT_ERROR },
        { "1e3k", FORMAT_ERROR },
        { " 1", FORMAT_ERROR },
        { "1,5", FORMAT_ERROR },
        { "abc", FORMAT_ERROR },
        /* 3.1 */
        { "K", SUFFIX_ERROR },
        { "mi", SUFFIX_ERROR },
        { "1kk", SUFFIX_ERROR },
        { "1Kim", SUFFIX_ERROR },
        { "1e+", SUFFIX_ERROR },
        { "1ee3", SUFFIX_ERROR },
        { "1Ki3", SUFFIX_ERROR },
        { "1m-3", SUFFIX_ERROR },
        { "--5", SUFFIX_ERROR },
        { "1-5", SUFFIX_ERROR },
        { "5GiB", FORMAT_ERROR },
        { "1 ", FORMAT_ERROR },
        { "1e3.5", FORMAT_ERROR },
        { "+-+5", FORMAT_ERROR },
        { "1_000", FORMAT_ERROR },
        { "\xC2\xB5", FORMAT_ERROR },
        /* no digits: refused where the text must be read exactly, 0 where it need not */
        { ".e-20", NUMERIC_ERROR },
        { "e-10", NUMERIC_ERROR },
        { "+e-10", NUMERIC_ERROR },
        { "Pi", NUMERIC_ERROR },
        { "-.Ei", NUMERIC_ERROR },
        /* limits */
        { "1e1001", SUFFIX_ERROR },
        { "1e-1001", SUFFIX_ERROR },
        { "0e1001", SUFFIX_ERROR },
        { "1e99999999999999999999999", SUFFIX_ERROR },
        { "123456789012345678901234567890123456789", FORMAT_ERROR }, /* 39 digits */
        { "1e1000.", FORMAT_ERROR },
        { "123456789012345678901234567890.1234567881", FORMAT_ERROR }, /* 39 after rounding */
        { "1.000000000000000000000000000000000000001e1000", FORMAT_ERROR },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct quantity q = { .low = 42 };
        ASSERT_ERR(ERR_BAD_REQUEST, parse_text(rows[i].in, &q));
        if (strcmp(err.msg, rows[i].message) != 0)
            fail_msg("'%s': %s", rows[i].in, err.msg);
        ASSERT_INT(42, q.low);
    }
    struct quantity q;
    ASSERT_ERR(ERR_BAD_REQUEST, quantity_parse((struct str){ "1\0", 2 }, &q, &err));
    ASSERT_STR(FORMAT_ERROR, err.msg);
}

TEST(quantity_length_limit)
{
    char text[QUANTITY_TEXT_BYTES_MAX + 2];
    struct quantity q;

    memset(text, '0', sizeof text);
    text[QUANTITY_TEXT_BYTES_MAX - 1] = '7';
    text[QUANTITY_TEXT_BYTES_MAX] = '\0';
    q = parse(text);
    ASSERT_STR(text, emit(&q, false)); /* 255 leading zeros are part of the text */
    ASSERT_STR("7", emit(&q, true));
    ASSERT_ERR(ERR_BAD_REQUEST, quantity_parse((struct str){ text, QUANTITY_TEXT_BYTES_MAX + 1 }, &q, &err));
    ASSERT_STR(FORMAT_ERROR, err.msg);

    /* the largest amount: 251 digits times 10^1000. It is emitted in as many bytes as it came in. */
    memset(text, '0', sizeof text);
    text[0] = '9';
    memcpy(text + 251, "e1000", 6);
    q = parse(text);
    ASSERT_INT(QUANTITY_TEXT_BYTES_MAX, strlen(emit(&q, false)));
    assert_true(cmp(text, "9e999") > 0);
    ASSERT_INT(0, cmp(text, emit(&q, true)));
    text[251] = 'E';
    text[252] = '\0';
    q = parse(text);
    ASSERT_STR(text, emit(&q, false));
}

TEST(quantity_comparisons)
{
    /* each greater than the one before; in a row all equal */
    static const char *const rows[][5] = {
        { "-1e1000", "-10e999" },
        { "-9Ei", "-9223372036854775807" },
        { "-1Gi", "-1024Mi" },
        { "-1", "-1000m", "-1e0" },
        { "-1n", "-0.1n", "-1e-9" },
        { "0", "-0", "0Ki", "0e10", "Ki" },
        { "1n", "0.1n" },
        { "999999999n" },
        { "1", "1000m", "1.0", "1e0", "0.001k" },
        { "1.000000001" },
        { "1000", "1k", "1e3" },
        { "1024", "1Ki" },
        { "1G", "1e9", "1000M" },
        { "1Gi", "1073741824" },
        { "1.1Gi" },
        { "9223372036854775807", "8Ei", "9Ei", "99999999999999999999999Ki" },
        { "9223372036854775808" },
        { "10E", "1e19" },
        { "99999999999999999999999999999999999998" },
        { "99999999999999999999999999999999999999" },
        { "1e38", "100e36", "100000000000000000000000000000000000000" },
        { "1e999" },
        { "1e1000", "10e999", "1000e997" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        for (size_t j = 0; j < ARRAY_LEN(rows); j++)
            for (size_t a = 0; a < 5 && rows[i][a]; a++)
                for (size_t b = 0; b < 5 && rows[j][b]; b++) {
                    int want = (i > j) - (i < j), got = cmp(rows[i][a], rows[j][b]);
                    struct quantity qa = parse(rows[i][a]), qb = parse(rows[j][b]);
                    if ((got > 0) - (got < 0) != want)
                        fail_msg("'%s' against '%s': %d", rows[i][a], rows[j][b], got);
                    if (want < 0 && quantity_rank(&qa) > quantity_rank(&qb))
                        fail_msg("'%s' ranks above '%s'", rows[i][a], rows[j][b]);
                }
}

TEST(quantity_values)
{
    static const struct {
        const char *text;
        int64_t value;
    } rows[] = {
        { "1.5", 2 },
        { "100m", 1 },
        { "1.1Ki", 1127 },
        { "0.1Gi", 107374183 },
        { "1Gi", 1073741824 },
        { "0", 0 },
        { "-1.5", -2 },
        { "-1n", -1 },
        { "1k", 1000 },
        { "9223372036854775807", INT64_MAX },
        { "9223372036854775806.1", INT64_MAX },
        { "9223372036854775808", INT64_MAX },
        { "-9223372036854775808", INT64_MIN },
        { "-9223372036854775809", INT64_MIN },
        { "12E", INT64_MAX },
        { "9E", INT64_C(9000000000000000000) },
        { "1e999", INT64_MAX },
        { "-1e1000", INT64_MIN },
        { "12345678901234567890.123456789", INT64_MAX },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct quantity q = parse(rows[i].text);
        if (quantity_value(&q) != rows[i].value)
            fail_msg("'%s' is %lld", rows[i].text, (long long)quantity_value(&q));
        ASSERT_INT((q.high || q.low) ? (rows[i].text[0] == '-' ? -1 : 1) : 0, quantity_sign(&q));
    }
}

TEST(quantity_from_integers)
{
    static const struct {
        int64_t amount;
        enum quantity_format format;
        const char *text;
    } rows[] = {
        { 0, QUANTITY_BINARY_SI, "0" },
        { 1073741824, QUANTITY_BINARY_SI, "1Gi" },
        { 1000, QUANTITY_BINARY_SI, "1k" },
        { -2048, QUANTITY_BINARY_SI, "-2Ki" },
        { 1500000, QUANTITY_DECIMAL_SI, "1500k" },
        { 1500000, QUANTITY_DECIMAL_EXPONENT, "1500e3" },
        { INT64_MIN, QUANTITY_DECIMAL_SI, "-9223372036854775808" },
        { INT64_MIN, QUANTITY_BINARY_SI, "-9223372036854775808" }, /* "-8Ei" would be read back capped */
        { INT64_MAX, QUANTITY_BINARY_SI, "9223372036854775807" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct quantity q = quantity_of(rows[i].amount, rows[i].format);
        ASSERT_STR(rows[i].text, emit(&q, false));
        assert_true(quantity_value(&q) == rows[i].amount);
        ASSERT_INT(0, cmp(rows[i].text, emit(&q, false)));
    }
}

TEST(quantity_sums)
{
    static const struct {
        const char *a, *b, *sum, *difference;
    } rows[] = {
        { "1Gi", "1Gi", "2Gi", "0" },
        { "1Gi", "512Mi", "1536Mi", "512Mi" },
        { "1Gi", "1", "1073741825", "1073741823" },
        { "1", "1Gi", "1073741825", "-1073741823" },
        { "1k", "1m", "1000001m", "999999m" },
        { "0", "1Gi", "1Gi", "-1Gi" },
        { "0Ki", "5e3", "5e3", "-5e3" },
        { "1Gi", "0", "1Gi", "1Gi" },
        { "+1", "0", "1", "1" }, /* the text as given is gone */
        { "-5", "3", "-2", "-8" },
        { "3", "-5", "-2", "8" },
        { "1n", "1n", "2n", "0" },
        { "1E", "1n", "1000000000000000000000000001n", "999999999999999999999999999n" },
        { "9223372036854775807", "1", "9223372036854775808", "9223372036854775806" },
        { "9Ei", "1Ki", "9223372036854776831", "9223372036854774783" },
        { "1e38", "1", NULL, "99999999999999999999999999999999999999e0" },
        { "1e1000", "1e1000", "20e999", "0" },
        { "1e1000", "1e970", "10000000000000000000000000000010e969", "9999999999999999999999999999990e969" },
        { "1e1000", "1", NULL, NULL },
        { "1e1000", "0.000000001", NULL, NULL },
        { "99999999999999999999999999999999999999", "1", "100000000000000000000E", NULL },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct quantity a = parse(rows[i].a), b = parse(rows[i].b), sum = a, difference = a;
        if (rows[i].sum) {
            ASSERT_OK(quantity_add(&sum, &b, &err));
            ASSERT_STR(rows[i].sum, emit(&sum, false));
            ASSERT_OK(quantity_sub(&sum, &b, &err));
            ASSERT_INT(0, quantity_cmp(&a, &sum));
        } else {
            ASSERT_ERR(ERR_TOO_LARGE, quantity_add(&sum, &b, &err));
            ASSERT_STR("the result has more than 38 digits", err.msg);
            ASSERT_INT(0, quantity_cmp(&a, &sum));
            ASSERT_STR(emit(&a, false), emit(&sum, false));
        }
        if (!rows[i].difference)
            continue;
        ASSERT_OK(quantity_sub(&difference, &b, &err));
        ASSERT_INT(0, cmp(rows[i].difference, emit(&difference, false)));
    }
}

/* A sum whose text would be too long to read again is refused, so that what is stored can be loaded. */
TEST(quantity_sum_keeps_its_text_readable)
{
    char text[QUANTITY_TEXT_BYTES_MAX + 1];
    struct quantity q, other;

    memset(text, '0', sizeof text);
    text[0] = '9';
    memcpy(text + QUANTITY_TEXT_BYTES_MAX - 1, "E", 2);
    q = other = parse(text);
    ASSERT_ERR(ERR_TOO_LARGE, quantity_add(&q, &other, &err));
    text[0] = '4';
    q = other = parse(text);
    ASSERT_OK(quantity_add(&q, &other, &err));
    text[0] = '8';
    ASSERT_STR(text, emit(&q, false));
}

TEST(quantity_rounding_up)
{
    static const struct {
        const char *text;
        int scale;
        const char *out;
        bool exact;
    } rows[] = {
        { "1500m", 0, "2", false },
        { "-1500m", 0, "-2", false },
        { "2", 0, "2", true },
        { "+2", 0, "+2", true }, /* nothing done: the text stays */
        { "2000m", 0, "2", true },
        { "2.000", 0, "2", true },
        { "1n", 0, "1", false },
        { "1", 3, "1k", false },
        { "1001", 3, "2k", false },
        { "1Gi", 9, "1953125Ki", false }, /* 2G, in the format it has */
        { "1500M", 9, "2G", false },
        { "1E", 18, "1E", true },
        { "1n", 18, "1E", false },
        { "1.5e3", 3, "2e3", false },
        { "0", 9, "0", true },
        { "1e999", 18, "1e999", true },
        { "99999999999999999999999999999999999999", 3, "100000000000000000000E", false },
        { "1n", -9, "1n", true },
        { "1.1Ki", 0, "1127", false },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct quantity q = parse(rows[i].text);
        bool exact = quantity_round_up(&q, rows[i].scale);
        if (exact != rows[i].exact || strcmp(emit(&q, false), rows[i].out) != 0)
            fail_msg("'%s' to 10^%d: '%s'", rows[i].text, rows[i].scale, emit(&q, false));
    }
}

TEST(quantity_output_failure_is_told)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(3);
    struct quantity q = parse("1025Ki");

    quantity_format(&q, &out);
    ASSERT_INT(ERR_TOO_LARGE, out.failed);
}

/* The oracle: an amount as decimal digits with the point in the middle, and arithmetic as taught at
 * school. */
#define ORACLE_HALF 1400

struct oracle {
    bool negative;
    unsigned char digits[2 * ORACLE_HALF]; /* the most significant first */
};

static bool oracle_is_zero_from(const struct oracle *o, size_t from)
{
    for (size_t i = from; i < sizeof o->digits; i++)
        if (o->digits[i])
            return false;
    return true;
}

static void oracle_increment(struct oracle *o, size_t at)
{
    while (o->digits[at] == 9)
        o->digits[at--] = 0;
    o->digits[at]++;
}

static void oracle_double(struct oracle *o)
{
    unsigned carry = 0;

    for (size_t i = sizeof o->digits; i-- > 0;) {
        unsigned twice = o->digits[i] * 2U + carry;
        o->digits[i] = (unsigned char)(twice % 10);
        carry = twice / 10;
    }
}

static int oracle_cmp(const struct oracle *a, const struct oracle *b)
{
    bool za = oracle_is_zero_from(a, 0), zb = oracle_is_zero_from(b, 0);
    int r = memcmp(a->digits, b->digits, sizeof a->digits);

    if (za || zb || a->negative != b->negative)
        return (za ? 0 : a->negative ? -1 : 1) - (zb ? 0 : b->negative ? -1 : 1);
    return a->negative ? -r : r;
}

/* Reads a text that is known to be a quantity. The digits go to their places one by one. */
static void oracle_read(const char *text, struct oracle *o)
{
    static const char *const names[] = { "n", "u", "m", "", "k", "M", "G", "T", "P", "E" };
    static const char *const binary[] = { "Ki", "Mi", "Gi", "Ti", "Pi", "Ei" };
    static const char max[] = "9223372036854775807";
    const char *suffix = text + strspn(text, "+-0123456789.");
    size_t place = ORACLE_HALF, bits = 0;
    struct oracle cap = { 0 };

    *o = (struct oracle){ .negative = text[0] == '-' };
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(suffix, names[i]) == 0)
            place = ORACLE_HALF + 9 - 3 * i;
    for (size_t i = 0; i < ARRAY_LEN(binary); i++)
        if (strcmp(suffix, binary[i]) == 0)
            bits = 10 * (i + 1);
    if ((suffix[0] == 'e' || suffix[0] == 'E') && suffix[1])
        place = (size_t)(ORACLE_HALF - strtol(suffix + 1, NULL, 10));
    text += strspn(text, "+-");
    place -= strspn(text, "0123456789");
    for (; text < suffix; text++)
        if (*text != '.')
            o->digits[place++] = (unsigned char)(*text - '0');
    for (size_t i = 0; i < bits; i++)
        oracle_double(o);
    if (!oracle_is_zero_from(o, ORACLE_HALF + 9)) {
        memset(o->digits + ORACLE_HALF + 9, 0, ORACLE_HALF - 9);
        oracle_increment(o, ORACLE_HALF + 8);
    }
    for (size_t i = 0; max[i]; i++)
        cap.digits[ORACLE_HALF - strlen(max) + i] = (unsigned char)(max[i] - '0');
    if (bits && memcmp(o->digits, cap.digits, sizeof cap.digits) > 0)
        memcpy(o->digits, cap.digits, sizeof cap.digits);
}

/* From the first digit that is not 0 to the last. */
static size_t oracle_significant_digits(const struct oracle *o)
{
    size_t first = 0, last = sizeof o->digits;

    while (first < last && !o->digits[first])
        first++;
    while (last > first && !o->digits[last - 1])
        last--;
    return last - first;
}

static uint64_t random_state = 88172645463325252U;

static size_t random_below(size_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (size_t)(random_state % n);
}

static void random_digits(char **at, size_t max)
{
    static const char pool[] = "0000012345678999";
    size_t n = random_below(max + 1);
    char one = random_below(4) ? '\0' : pool[random_below(sizeof pool - 1)]; /* often a run of the same */

    while (n--)
        *(*at)++ = one ? one : pool[random_below(sizeof pool - 1)];
}

/* A text of the grammar that has at least one digit. */
static void random_quantity(char *text)
{
    static const char *const suffixes[] = { "",  "n", "u",  "m",  "k",  "M",  "G",  "T",
                                            "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei" };
    size_t longest = random_below(8) ? 12 : 60, form = random_below(3);
    char *at = text;

    if (random_below(3) == 0)
        *at++ = "+-"[random_below(2)];
    random_digits(&at, 2);
    *at++ = (char)('0' + random_below(10));
    random_digits(&at, longest);
    if (random_below(2)) {
        *at++ = '.';
        random_digits(&at, longest);
    }
    if (form == 0)
        snprintf(at, 16, "%c%s%03zu", "eE"[random_below(2)], random_below(2) ? "-" : "+",
                 random_below(random_below(2) ? 12 : 1001));
    else
        snprintf(at, 16, "%s", suffixes[random_below(ARRAY_LEN(suffixes))]);
}

static void check_against_oracle(const char *text, const struct quantity *q, const struct oracle *o)
{
    struct quantity again = parse(emit(q, false)), canonical = parse(emit(q, true));
    struct oracle o_canonical;

    if (quantity_cmp(q, &again) != 0 || quantity_cmp(q, &canonical) != 0)
        fail_msg("'%s' is not '%s'", text, emit(q, true));
    if (q->format == again.format && strcmp(emit(q, false), emit(&again, false)) != 0)
        fail_msg("'%s' is not stable: '%s'", text, emit(q, false));
    if (q->format == canonical.format && strcmp(emit(q, true), emit(&canonical, true)) != 0)
        fail_msg("'%s' is not stable: '%s'", text, emit(q, true));
    oracle_read(emit(q, true), &o_canonical);
    if (oracle_cmp(o, &o_canonical) != 0)
        fail_msg("'%s' became '%s'", text, emit(q, true));
    if (q->verbatim)
        ASSERT_STR(text, emit(q, false));
}

TEST(quantity_properties_hold_for_random_texts)
{
    static struct oracle oracles[2];
    struct quantity q[2];
    char text[2][256];
    unsigned refused = 0, added = 0;

    for (unsigned round = 0; round < 5000; round++) {
        unsigned now = round % 2, last = 1 - now;
        struct quantity sum;

        random_quantity(text[now]);
        oracle_read(text[now], &oracles[now]);
        if (quantity_parse(str_of(text[now]), &q[now], &err) < 0) {
            if (oracle_significant_digits(&oracles[now]) <= QUANTITY_DIGITS_MAX)
                fail_msg("'%s' refused: %s", text[now], err.msg);
            oracle_read("0", &oracles[now]);
            q[now] = parse("0");
            refused++;
        } else {
            check_against_oracle(text[now], &q[now], &oracles[now]);
        }
        if (round == 0)
            continue;
        int want = oracle_cmp(&oracles[now], &oracles[last]), got = quantity_cmp(&q[now], &q[last]);
        if ((want > 0) - (want < 0) != got || quantity_cmp(&q[last], &q[now]) != -got)
            fail_msg("'%s' against '%s': %d", text[now], text[last], got);
        if (got < 0 && quantity_rank(&q[now]) > quantity_rank(&q[last]))
            fail_msg("'%s' ranks above '%s'", text[now], text[last]);
        sum = q[now];
        if (quantity_add(&sum, &q[last], &err) < 0)
            continue;
        added++;
        ASSERT_INT(quantity_sign(&q[last]), quantity_cmp(&sum, &q[now]));
        ASSERT_OK(quantity_sub(&sum, &q[last], &err));
        ASSERT_INT(0, quantity_cmp(&sum, &q[now]));
    }
    assert_true(refused > 25); /* the generator reaches the limit, and mostly stays below it */
    assert_true(refused < 1000);
    assert_true(added > 1000);
}

TEST_MAIN()

/* The scalar rules of kubectl's YAML: go-yaml v2 (gopkg.in/yaml.v2 2.4, today sigs.k8s.io/yaml/goyaml.v2 and
 * go.yaml.in/yaml/v2), checked against kubectl 1.32.
 *
 * Words are those of YAML 1.1: y, Y, n and N are booleans too, in values and in keys. Integers are those of
 * Go: decimal, 0x, 0b, 0o and a leading 0 for octal, with underscores anywhere after the first character (but
 * only between digits if the first is a point). A decimal fraction is a float, unless it exceeds a 64-bit
 * float: `1e400` is a string. So are base-60 numbers (`12:30`), hexadecimal numbers with more than 64 bits,
 * and, here, numbers with more than 500 digits. */
#include "api/yaml_int.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static const struct {
    const char *text;
    enum yaml_kind kind;
    bool truth;
    const char *number;
} yaml_words[] = {
    { "", YAML_KIND_NULL },
    { "~", YAML_KIND_NULL },
    { "null", YAML_KIND_NULL },
    { "Null", YAML_KIND_NULL },
    { "NULL", YAML_KIND_NULL },
    { "y", YAML_KIND_BOOL, true },
    { "Y", YAML_KIND_BOOL, true },
    { "yes", YAML_KIND_BOOL, true },
    { "Yes", YAML_KIND_BOOL, true },
    { "YES", YAML_KIND_BOOL, true },
    { "true", YAML_KIND_BOOL, true },
    { "True", YAML_KIND_BOOL, true },
    { "TRUE", YAML_KIND_BOOL, true },
    { "on", YAML_KIND_BOOL, true },
    { "On", YAML_KIND_BOOL, true },
    { "ON", YAML_KIND_BOOL, true },
    { "n", YAML_KIND_BOOL, false },
    { "N", YAML_KIND_BOOL, false },
    { "no", YAML_KIND_BOOL, false },
    { "No", YAML_KIND_BOOL, false },
    { "NO", YAML_KIND_BOOL, false },
    { "false", YAML_KIND_BOOL, false },
    { "False", YAML_KIND_BOOL, false },
    { "FALSE", YAML_KIND_BOOL, false },
    { "off", YAML_KIND_BOOL, false },
    { "Off", YAML_KIND_BOOL, false },
    { "OFF", YAML_KIND_BOOL, false },
    { ".inf", YAML_KIND_NOT_FINITE, false, ".inf" },
    { ".Inf", YAML_KIND_NOT_FINITE, false, ".inf" },
    { ".INF", YAML_KIND_NOT_FINITE, false, ".inf" },
    { "+.inf", YAML_KIND_NOT_FINITE, false, ".inf" },
    { "+.Inf", YAML_KIND_NOT_FINITE, false, ".inf" },
    { "+.INF", YAML_KIND_NOT_FINITE, false, ".inf" },
    { "-.inf", YAML_KIND_NOT_FINITE, false, "-.inf" },
    { "-.Inf", YAML_KIND_NOT_FINITE, false, "-.inf" },
    { "-.INF", YAML_KIND_NOT_FINITE, false, "-.inf" },
    { ".nan", YAML_KIND_NOT_FINITE, false, ".nan" },
    { ".NaN", YAML_KIND_NOT_FINITE, false, ".nan" },
    { ".NAN", YAML_KIND_NOT_FINITE, false, ".nan" },
};
#define YAML_WORD_BYTES_MAX 5

#define YAML_EXCERPT_BYTES_MAX 64

const char *yaml_kind_tag(enum yaml_kind kind)
{
    static const char *const tags[] = {
        [YAML_KIND_STRING] = "!!str",          [YAML_KIND_NULL] = "!!null",
        [YAML_KIND_BOOL] = "!!bool",           [YAML_KIND_INT] = "!!int",
        [YAML_KIND_FLOAT] = "!!float",         [YAML_KIND_NOT_FINITE] = "!!float",
        [YAML_KIND_TIMESTAMP] = "!!timestamp",
    };
    static_assert(ARRAY_LEN(tags) == YAML_KIND_COUNT, "a tag for every kind");
    return tags[kind];
}

static bool yaml_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool yaml_is_sign(char c)
{
    return c == '+' || c == '-';
}

static bool yaml_resolve_word(struct str text, struct yaml_scalar *ret)
{
    if (text.len > YAML_WORD_BYTES_MAX)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(yaml_words); i++) {
        if (!str_is(text, yaml_words[i].text))
            continue;
        ret->kind = yaml_words[i].kind;
        ret->truth = yaml_words[i].truth;
        if (yaml_words[i].number)
            (void)snprintf(ret->number, sizeof ret->number, "%s", yaml_words[i].number);
        return true;
    }
    return false;
}

/* The value of digits in one base. False if there are none, an invalid one, or too many for 64 bits. */
static bool yaml_magnitude(struct str digits, unsigned base, uint64_t *ret)
{
    uint64_t value = 0;

    if (!digits.len)
        return false;
    for (size_t i = 0; i < digits.len; i++) {
        char lower = (char)(digits.s[i] | 0x20);
        unsigned digit = base;
        if (yaml_is_digit(digits.s[i]))
            digit = (unsigned)(digits.s[i] - '0');
        else if (lower >= 'a' && lower <= 'f')
            digit = (unsigned)(lower - 'a') + 10;
        if (digit >= base || __builtin_mul_overflow(value, base, &value) ||
            __builtin_add_overflow(value, digit, &value))
            return false;
    }
    *ret = value;
    return true;
}

/* Removes the prefix that names the base. */
static unsigned yaml_take_base(struct str *digits)
{
    unsigned base = 8, skip = 2;

    if (digits->len < 2 || digits->s[0] != '0')
        return 10;
    switch (digits->s[1]) {
    case 'x':
    case 'X':
        base = 16;
        break;
    case 'b':
    case 'B':
        base = 2;
        break;
    case 'o':
    case 'O':
        break;
    default:
        skip = 1;
    }
    digits->s += skip;
    digits->len -= skip;
    return base;
}

/* The text has no underscores. */
static bool yaml_resolve_int(struct str text, struct yaml_scalar *ret)
{
    /* go-yaml parses what follows "0b" separately, and accepts a sign there. */
    bool inner_sign = text.len > 2 && memcmp(text.s, "0b", 2) == 0 && yaml_is_sign(text.s[2]);
    size_t sign_at = inner_sign ? 2 : 0;
    bool has_sign = yaml_is_sign(text.s[sign_at]);
    bool negative = text.s[sign_at] == '-';
    struct str digits = { text.s + sign_at + has_sign, text.len - sign_at - has_sign };
    unsigned base = inner_sign ? 2 : yaml_take_base(&digits);
    uint64_t magnitude, limit = negative ? (uint64_t)INT64_MAX + 1 : has_sign ? INT64_MAX : UINT64_MAX;

    if (!yaml_magnitude(digits, base, &magnitude) || magnitude > limit)
        return false;
    if (!magnitude && base != 10)
        negative = false; /* a decimal -0 is JSON and is kept */
    ret->kind = YAML_KIND_INT;
    (void)snprintf(ret->number, sizeof ret->number, "%s%" PRIu64, negative ? "-" : "", magnitude);
    return true;
}

static struct str yaml_take_digits(struct str *rest)
{
    struct str digits = { rest->s, 0 };

    while (digits.len < rest->len && yaml_is_digit(rest->s[digits.len]))
        digits.len++;
    rest->s += digits.len;
    rest->len -= digits.len;
    return digits;
}

static bool yaml_take_char(struct str *rest, char a, char b)
{
    if (!rest->len || (rest->s[0] != a && rest->s[0] != b))
        return false;
    rest->s++;
    rest->len--;
    return true;
}

/* The parts of a decimal fraction: `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`. */
static bool yaml_split_float(struct str text, bool *negative, struct str *whole, struct str *fraction,
                             struct str *exponent)
{
    struct str rest = text;

    *negative = text.len && text.s[0] == '-';
    *fraction = *exponent = (struct str){ "", 0 };
    (void)yaml_take_char(&rest, '+', '-');
    *whole = yaml_take_digits(&rest);
    if (yaml_take_char(&rest, '.', '.'))
        *fraction = yaml_take_digits(&rest);
    if (!whole->len && !fraction->len)
        return false;
    *exponent = rest;
    if (!rest.len)
        return true;
    if (!yaml_take_char(&rest, 'e', 'E'))
        return false;
    (void)yaml_take_char(&rest, '+', '-');
    return yaml_take_digits(&rest).len && !rest.len;
}

/* Writes the number as JSON: no plus sign, at least one digit on both sides of the point, no leading zeros.
 */
static bool yaml_resolve_float(struct str text, struct yaml_scalar *ret)
{
    struct str whole, fraction, exponent;
    bool negative;
    int len;

    if (!yaml_split_float(text, &negative, &whole, &fraction, &exponent))
        return false;
    while (whole.len > 1 && whole.s[0] == '0')
        whole = (struct str){ whole.s + 1, whole.len - 1 };
    if (!whole.len)
        whole = STR_LIT("0");
    len = snprintf(ret->number, sizeof ret->number, "%s%.*s%s%.*s%.*s", negative ? "-" : "", STR_ARG(whole),
                   fraction.len ? "." : "", STR_ARG(fraction), STR_ARG(exponent));
    if (len < 0 || (size_t)len >= sizeof ret->number || !isfinite(strtod(ret->number, NULL)))
        return false;
    ret->kind = YAML_KIND_FLOAT;
    return true;
}

/* One or two digits with a value in [min, max]. */
static bool yaml_take_field(struct str *rest, unsigned min, unsigned max)
{
    unsigned value = 0, digits = 0;

    while (digits < 2 && digits < rest->len && yaml_is_digit(rest->s[digits]))
        value = value * 10 + (unsigned)(rest->s[digits++] - '0');
    rest->s += digits;
    rest->len -= digits;
    return digits && value >= min && value <= max;
}

static bool yaml_take_zone(struct str *rest)
{
    if (yaml_take_char(rest, 'Z', 'Z'))
        return true;
    return yaml_take_char(rest, '+', '-') && yaml_take_field(rest, 0, 24) && yaml_take_char(rest, ':', ':') &&
           yaml_take_field(rest, 0, 59);
}

/* "2006-1-2", "2006-1-2 15:4:5", "2006-1-2T15:4:5Z", "2006-1-2t15:4:5+07:00", with fractions of a second. */
static bool yaml_is_timestamp(struct str text)
{
    struct str rest = text;
    bool has_zone;

    if (yaml_take_digits(&rest).len != 4 || !yaml_take_char(&rest, '-', '-') ||
        !yaml_take_field(&rest, 1, 12) || !yaml_take_char(&rest, '-', '-') || !yaml_take_field(&rest, 1, 31))
        return false;
    if (!rest.len)
        return true;
    has_zone = yaml_take_char(&rest, 'T', 't');
    if (!has_zone && !yaml_take_char(&rest, ' ', ' '))
        return false;
    if (!yaml_take_field(&rest, 0, 23) || !yaml_take_char(&rest, ':', ':') ||
        !yaml_take_field(&rest, 0, 59) || !yaml_take_char(&rest, ':', ':') || !yaml_take_field(&rest, 0, 59))
        return false;
    if (yaml_take_char(&rest, '.', ',') && !yaml_take_digits(&rest).len)
        return false;
    return (!has_zone || yaml_take_zone(&rest)) && !rest.len;
}

/* Removes underscores; false if the rest is too long for a number. */
static bool yaml_drop_underscores(struct str text, char plain[static JSON_NUMBER_BYTES_MAX], struct str *ret)
{
    size_t len = 0;

    for (size_t i = 0; i < text.len; i++) {
        if (text.s[i] == '_')
            continue;
        if (len == JSON_NUMBER_BYTES_MAX)
            return false;
        plain[len++] = text.s[i];
    }
    *ret = (struct str){ plain, len };
    return true;
}

static bool yaml_underscores_part_digits(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.s[i] == '_' &&
            (i == 0 || i + 1 == text.len || !yaml_is_digit(text.s[i - 1]) || !yaml_is_digit(text.s[i + 1])))
            return false;
    return true;
}

void yaml_resolve(struct str text, struct yaml_scalar *ret)
{
    char plain[JSON_NUMBER_BYTES_MAX];
    char first = text.len ? text.s[0] : '~';
    struct str number;

    ret->kind = YAML_KIND_STRING;
    ret->truth = ret->merges = false;
    ret->text = text;
    ret->number[0] = '\0';
    if (!memchr("yYnNtTfFoO~.+-0123456789", first, 24) || yaml_resolve_word(text, ret))
        return;
    if (first == '.') {
        if (yaml_underscores_part_digits(text) && yaml_drop_underscores(text, plain, &number))
            (void)yaml_resolve_float(number, ret);
    } else if (yaml_is_digit(first) || yaml_is_sign(first)) {
        if (yaml_is_timestamp(text))
            ret->kind = YAML_KIND_TIMESTAMP;
        else if (yaml_drop_underscores(text, plain, &number) && !yaml_resolve_int(number, ret))
            (void)yaml_resolve_float(number, ret);
    }
}

/* `[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?`: a number for other YAML 1.1 parsers, hence quoted. */
static bool yaml_is_base60(struct str text)
{
    struct str rest = text;
    unsigned places = 0;

    (void)yaml_take_char(&rest, '+', '-');
    if (!rest.len || !yaml_is_digit(rest.s[0]))
        return false;
    while (yaml_take_digits(&rest).len || yaml_take_char(&rest, '_', '_'))
        ;
    for (; yaml_take_char(&rest, ':', ':'); places++)
        if (!yaml_take_field(&rest, 0, 59))
            return false;
    if (places && yaml_take_char(&rest, '.', '.'))
        while (yaml_take_digits(&rest).len || yaml_take_char(&rest, '_', '_'))
            ;
    return places && !rest.len;
}

bool yaml_is_ambiguous(struct str text)
{
    struct yaml_scalar s;

    yaml_resolve(text, &s);
    return s.kind != YAML_KIND_STRING || yaml_is_base60(text);
}

struct str yaml_excerpt(struct str text)
{
    size_t len = text.len < YAML_EXCERPT_BYTES_MAX ? text.len : YAML_EXCERPT_BYTES_MAX;

    while (len && len < text.len && ((unsigned char)text.s[len] & 0xC0) == 0x80)
        len--; /* complete characters */
    return (struct str){ text.s, len };
}

void yaml_number_key(const struct yaml_scalar *s, char ret[static YAML_KEY_BYTES_MAX])
{
    float value = strtof(s->number, NULL);
    char digits[YAML_KEY_BYTES_MAX];
    int precision = 0, exponent;

    if (s->kind != YAML_KIND_FLOAT) {
        (void)snprintf(ret, YAML_KEY_BYTES_MAX, "%.*s", YAML_KEY_BYTES_MAX - 1,
                       strcmp(s->number, "-0") == 0 ? "0" : s->number);
        return;
    }
    if (!isfinite(value)) {
        (void)snprintf(ret, YAML_KEY_BYTES_MAX, "%s", value < 0 ? "-.inf" : ".inf");
        return;
    }
    do /* nine digits identify any 32-bit float */
        (void)snprintf(digits, sizeof digits, "%.*e", precision, (double)value);
    while (strtof(digits, NULL) != value && precision++ < 8);
    exponent = (int)strtol(strchr(digits, 'e') + 1, NULL, 10);
    if (exponent < -4 || exponent >= 6)
        (void)snprintf(ret, YAML_KEY_BYTES_MAX, "%s", digits);
    else
        (void)snprintf(ret, YAML_KEY_BYTES_MAX, "%.*f", precision > exponent ? precision - exponent : 0,
                       strtod(digits, NULL));
}

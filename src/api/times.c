/* Parses and formats times and durations. The common form "2026-01-02T03:04:05Z" has a fast path; all other
 * texts are parsed like in Go, with the same error messages. Nothing depends on the time zone of the process.
 */
#include "api/times.h"

#include <assert.h>
#include <inttypes.h>

#include "api/quote.h"
#include "base/civil.h"

#define NANOS_PER_SECOND INT64_C(1000000000)
#define MICRO_DIGITS 6

/* A text and the current position. */
struct time_scan {
    struct str text;
    struct str rest;
    bool is_micro;
};

static int scan_refuse(const struct time_scan *s, const char *element, struct error *err)
{
    /* Go's name of RFC 3339; errors quote it and its elements. */
    const char *layout = s->is_micro ? "2006-01-02T15:04:05.000000Z07:00" : "2006-01-02T15:04:05Z07:00";
    char text[ERROR_MSG_BYTES_MAX], rest[ERROR_MSG_BYTES_MAX];

    return error_set(err, ERR_BAD_REQUEST, "parsing time %s as \"%s\": cannot parse %s as \"%s\"",
                     quote_text(text, sizeof text, s->text), layout, quote_text(rest, sizeof rest, s->rest),
                     element);
}

static int scan_out_of_range(const struct time_scan *s, const char *what, struct error *err)
{
    char text[ERROR_MSG_BYTES_MAX];

    return error_set(err, ERR_BAD_REQUEST, "parsing time %s: %s out of range",
                     quote_text(text, sizeof text, s->text), what);
}

static bool scan_has_digit(const struct time_scan *s, size_t at)
{
    return at < s->rest.len && s->rest.s[at] >= '0' && s->rest.s[at] <= '9';
}

static void scan_skip(struct time_scan *s, size_t len)
{
    s->rest = (struct str){ s->rest.s + len, s->rest.len - len };
}

/* A number with digits_min to digits_max digits. */
static bool scan_number(struct time_scan *s, size_t digits_min, size_t digits_max, int *ret)
{
    size_t n = 0;
    int value = 0;

    for (; n < digits_max && scan_has_digit(s, n); n++)
        value = value * 10 + (s->rest.s[n] - '0');
    if (n < digits_min)
        return false;
    scan_skip(s, n);
    *ret = value;
    return true;
}

/* The six numbers of date and time, with the separator before each. Days are checked against the month at the
 * end. */
static int scan_civil(struct time_scan *s, struct civil *c, struct error *err)
{
    const struct {
        const char *before, *element;
        const char *name; /* NULL: any number is accepted */
        size_t digits_min, digits_max;
        int min, max;
        int *value;
    } parts[] = {
        { "", "2006", NULL, 4, 4, 0, 0, &c->year },       { "-", "01", "month", 2, 2, 1, 12, &c->month },
        { "-", "02", NULL, 2, 2, 0, 0, &c->day },         { "T", "15", "hour", 1, 2, 0, 23, &c->hour },
        { ":", "04", "minute", 2, 2, 0, 59, &c->minute }, { ":", "05", "second", 2, 2, 0, 59, &c->second },
    };

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!str_has_prefix(s->rest, parts[i].before))
            return scan_refuse(s, parts[i].before, err);
        scan_skip(s, strlen(parts[i].before));
        if (!scan_number(s, parts[i].digits_min, parts[i].digits_max, parts[i].value))
            return scan_refuse(s, parts[i].element, err);
        if (parts[i].name && (*parts[i].value < parts[i].min || *parts[i].value > parts[i].max))
            return scan_out_of_range(s, parts[i].name, err);
    }
    return 0;
}

/* ".123" or ",123", if present. */
static int32_t scan_fraction(struct time_scan *s)
{
    int32_t nanos = 0;
    size_t n = 1;

    if (s->rest.len < 2 || (s->rest.s[0] != '.' && s->rest.s[0] != ',') || !scan_has_digit(s, 1))
        return 0;
    for (; scan_has_digit(s, n); n++)
        if (n <= 9)
            nanos = nanos * 10 + (s->rest.s[n] - '0');
    for (size_t digits = n; digits <= 9; digits++)
        nanos *= 10;
    scan_skip(s, n);
    return nanos;
}

/* ".123456", which a MicroTime requires. */
static int scan_micros(struct time_scan *s, int32_t *ret_nanos, struct error *err)
{
    struct time_scan at = *s;
    int micros;

    if (!str_has_prefix(s->rest, ".") && !str_has_prefix(s->rest, ","))
        return scan_refuse(s, ".000000", err);
    scan_skip(&at, 1);
    if (!scan_number(&at, MICRO_DIGITS, MICRO_DIGITS, &micros))
        return scan_refuse(s, ".000000", err);
    *s = at;
    *ret_nanos = micros * 1000;
    return 0;
}

/* "Z" or "+02:00". Like Go, accepts offsets up to 24 hours and 60 minutes. */
static int scan_offset(struct time_scan *s, int *ret_seconds, struct error *err)
{
    struct time_scan at = *s;
    int hours, minutes;
    bool negative;

    if (str_has_prefix(s->rest, "Z")) {
        scan_skip(s, 1);
        *ret_seconds = 0;
        return 0;
    }
    negative = str_has_prefix(s->rest, "-");
    if (!negative && !str_has_prefix(s->rest, "+"))
        return scan_refuse(s, "Z07:00", err);
    scan_skip(&at, 1);
    if (!scan_number(&at, 2, 2, &hours) || !str_has_prefix(at.rest, ":"))
        return scan_refuse(s, "Z07:00", err);
    scan_skip(&at, 1);
    if (!scan_number(&at, 2, 2, &minutes))
        return scan_refuse(s, "Z07:00", err);
    if (hours > 24)
        return scan_out_of_range(s, "time zone offset hour", err);
    if (minutes > 60)
        return scan_out_of_range(s, "time zone offset minute", err);
    *s = at;
    *ret_seconds = (hours * 60 + minutes) * (negative ? -60 : 60);
    return 0;
}

/* Two digits; above 99 if they are invalid. */
static int scan_two(const char *s)
{
    unsigned tens = (unsigned)(s[0] - '0'), ones = (unsigned)(s[1] - '0');

    return tens <= 9 && ones <= 9 ? (int)(tens * 10 + ones) : 100;
}

/* "2026-01-02T03:04:05Z", the most frequent form. False for every other text, valid or not. */
static bool scan_plain(struct str text, struct timestamp *ret)
{
    const char *s = text.s;
    int century, years;
    struct civil c;

    if (text.len != STR_LIT("2006-01-02T15:04:05Z").len || s[4] != '-' || s[7] != '-' || s[10] != 'T' ||
        s[13] != ':' || s[16] != ':' || s[19] != 'Z')
        return false;
    century = scan_two(s);
    years = scan_two(s + 2);
    c = (struct civil){ .year = century * 100 + years,
                        .month = scan_two(s + 5),
                        .day = scan_two(s + 8),
                        .hour = scan_two(s + 11),
                        .minute = scan_two(s + 14),
                        .second = scan_two(s + 17) };
    ret->nanos = 0;
    return century <= 99 && years <= 99 && c.year > 0 && civil_to_unix(&c, &ret->seconds);
}

static int timestamp_scan(struct str text, bool is_micro, struct timestamp *ret, struct error *err)
{
    struct time_scan s = { text, text, is_micro };
    char quoted[ERROR_MSG_BYTES_MAX], rest[ERROR_MSG_BYTES_MAX];
    struct timestamp t = { 0 };
    struct civil c = { 0 };
    int r, offset = 0;

    r = scan_civil(&s, &c, err);
    if (r < 0)
        return r;
    if (is_micro)
        r = scan_micros(&s, &t.nanos, err);
    else
        t.nanos = scan_fraction(&s);
    if (r == 0)
        r = scan_offset(&s, &offset, err);
    if (r < 0)
        return r;
    if (s.rest.len)
        return error_set(err, ERR_BAD_REQUEST, "parsing time %s: extra text: %s",
                         quote_text(quoted, sizeof quoted, text), quote_text(rest, sizeof rest, s.rest));
    if (c.year == 0)
        return scan_out_of_range(&s, "year", err);
    if (!civil_to_unix(&c, &t.seconds))
        return scan_out_of_range(&s, "day", err);
    t.seconds -= offset;
    if (t.seconds < CIVIL_UNIX_MIN || t.seconds > CIVIL_UNIX_MAX)
        return scan_out_of_range(&s, "year", err); /* the offset moved it to year 0 or 10000 */
    *ret = t;
    return 0;
}

int timestamp_parse(struct str text, struct timestamp *ret, struct error *err)
{
    struct timestamp t;

    if (!scan_plain(text, &t))
        return timestamp_scan(text, /* is_micro= */ false, ret, err);
    *ret = t;
    return 0;
}

int timestamp_parse_micro(struct str text, struct timestamp *ret, struct error *err)
{
    return timestamp_scan(text, /* is_micro= */ true, ret, err);
}

struct timestamp timestamp_of_ns(int64_t unix_ns)
{
    int64_t seconds = unix_ns / NANOS_PER_SECOND, nanos = unix_ns % NANOS_PER_SECOND;

    if (nanos < 0) {
        seconds--;
        nanos += NANOS_PER_SECOND;
    }
    return (struct timestamp){ seconds, (int32_t)nanos };
}

int timestamp_cmp(struct timestamp a, struct timestamp b)
{
    if (a.seconds != b.seconds)
        return a.seconds < b.seconds ? -1 : 1;
    return (a.nanos > b.nanos) - (a.nanos < b.nanos);
}

/* Writes `digits` decimal digits and returns the end. */
static char *put_number(char *out, int value, int digits)
{
    for (int i = digits - 1; i >= 0; i--, value /= 10)
        out[i] = (char)('0' + value % 10);
    return out + digits;
}

/* Without printf(), which took an eighth of the time for decoding a volume. */
static void format_time(struct timestamp t, bool is_micro, struct buf *out)
{
    char text[sizeof "2006-01-02T15:04:05.000000Z"], *at = text;
    struct civil c = { 0 };
    bool ok = civil_from_unix(t.seconds, &c);
    const struct {
        int value, digits;
        char behind;
    } parts[] = {
        { c.year, 4, '-' }, { c.month, 2, '-' },  { c.day, 2, 'T' },
        { c.hour, 2, ':' }, { c.minute, 2, ':' }, { c.second, 2, is_micro ? '.' : 'Z' },
    };

    assert(ok);
    (void)ok; /* only used by the assertion */
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        at = put_number(at, parts[i].value, parts[i].digits);
        *at++ = parts[i].behind;
    }
    if (is_micro) {
        at = put_number(at, t.nanos / 1000, MICRO_DIGITS);
        *at++ = 'Z';
    }
    buf_add(out, text, (size_t)(at - text));
}

void timestamp_format(struct timestamp t, struct buf *out)
{
    format_time(t, /* is_micro= */ false, out);
}

void timestamp_format_micro(struct timestamp t, struct buf *out)
{
    format_time(t, /* is_micro= */ true, out);
}

/* Two units; the second is left out if it is zero. */
static void add_two_units(struct buf *out, int64_t first, char first_unit, int64_t second, char second_unit)
{
    buf_addf(out, "%lld%c", (long long)first, first_unit);
    if (second != 0)
        buf_addf(out, "%lld%c", (long long)second, second_unit);
}

void duration_human(int64_t seconds, struct buf *out)
{
    int64_t minutes = seconds / 60, hours = seconds / 3600, days = seconds / 86400, years = days / 365;

    if (seconds < -1)
        buf_add_cstr(out, "<invalid>");
    else if (seconds < 120)
        buf_addf(out, "%llds", seconds < 0 ? 0 : (long long)seconds);
    else if (minutes < 10)
        add_two_units(out, minutes, 'm', seconds % 60, 's');
    else if (hours < 3)
        buf_addf(out, "%lldm", (long long)minutes);
    else if (hours < 8)
        add_two_units(out, hours, 'h', minutes % 60, 'm');
    else if (hours < 48)
        buf_addf(out, "%lldh", (long long)hours);
    else if (days < 8)
        add_two_units(out, days, 'd', hours % 24, 'h');
    else if (years < 2)
        buf_addf(out, "%lldd", (long long)days);
    else
        add_two_units(out, years, 'y', years < 8 ? days % 365 : 0, 'd');
}

/* A number of units of unit_ns nanoseconds, with as many fraction digits as necessary. */
static void add_decimal(struct buf *out, uint64_t ns, uint64_t unit_ns, const char *unit)
{
    char digits[sizeof ".000000000"] = ".", *at = digits + 1;

    buf_addf(out, "%" PRIu64, ns / unit_ns);
    for (uint64_t rest = ns % unit_ns; rest; rest %= unit_ns) {
        unit_ns /= 10;
        *at++ = (char)('0' + rest / unit_ns);
    }
    if (at > digits + 1)
        buf_add(out, digits, (size_t)(at - digits));
    buf_add_cstr(out, unit);
}

void duration_write(int64_t ns, struct buf *out)
{
    const uint64_t second = NANOS_PER_SECOND, minute = 60 * second, hour = 60 * minute;
    uint64_t rest =
        ns < 0 ? -(uint64_t)ns : (uint64_t)ns; /* the smallest number has no positive counterpart */

    if (ns < 0)
        buf_add_char(out, '-');
    if (rest > 0 && rest < second) {
        if (rest < 1000)
            buf_addf(out, "%" PRIu64 "ns", rest);
        else if (rest < 1000000)
            add_decimal(out, rest, 1000, "µs");
        else
            add_decimal(out, rest, 1000000, "ms");
        return;
    }
    if (rest >= hour)
        buf_addf(out, "%" PRIu64 "h", rest / hour);
    if (rest >= minute)
        buf_addf(out, "%" PRIu64 "m", rest % hour / minute);
    add_decimal(out, rest % minute, second, "s");
}

void timestamp_age(struct timestamp t, struct timestamp now, struct buf *out)
{
    int64_t seconds = now.seconds - t.seconds;

    if (timestamp_is_zero(t)) {
        buf_add_cstr(out, "<unknown>");
        return;
    }
    /* whole seconds towards zero, also for a time in the future */
    if (seconds > 0 && now.nanos < t.nanos)
        seconds--;
    else if (seconds < 0 && now.nanos > t.nanos)
        seconds++;
    duration_human(seconds, out);
}

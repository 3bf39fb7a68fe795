#include "api/times.h"

#include <assert.h>

#include "api/quote.h"
#include "base/civil.h"

#define NANOS_PER_SECOND INT64_C(1000000000)
#define LAYOUT "2006-01-02T15:04:05Z07:00" /* how Go calls RFC 3339; errors quote it and its elements */

/* A text and how far it has been read. */
struct time_scan {
    struct str text;
    struct str rest;
};

static int scan_refuse(const struct time_scan *s, const char *element, struct error *err)
{
    char text[ERROR_MSG_BYTES_MAX], rest[ERROR_MSG_BYTES_MAX];

    return error_set(err, ERR_BAD_REQUEST, "parsing time %s as \"" LAYOUT "\": cannot parse %s as \"%s\"",
                     quote(text, sizeof text, s->text), quote(rest, sizeof rest, s->rest), element);
}

static int scan_out_of_range(const struct time_scan *s, const char *what, struct error *err)
{
    char text[ERROR_MSG_BYTES_MAX];

    return error_set(err, ERR_BAD_REQUEST, "parsing time %s: %s out of range",
                     quote(text, sizeof text, s->text), what);
}

static bool scan_has_digit(const struct time_scan *s, size_t at)
{
    return at < s->rest.len && s->rest.s[at] >= '0' && s->rest.s[at] <= '9';
}

static void scan_skip(struct time_scan *s, size_t len)
{
    s->rest = (struct str){ s->rest.s + len, s->rest.len - len };
}

/* A number of digits_min to digits_max digits. */
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

/* The six numbers of date and time with what stands before each. Days are checked against the month at the
 * end. */
static int scan_civil(struct time_scan *s, struct civil *c, struct error *err)
{
    const struct {
        const char *before, *element;
        const char *name; /* NULL: any number will do here */
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

/* ".123" or ",123", if there is one. */
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

/* "Z" or "+02:00". Go lets offsets up to 24 hours and 60 minutes pass, so they pass. */
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

int timestamp_parse(struct str text, struct timestamp *ret, struct error *err)
{
    struct time_scan s = { text, text };
    char quoted[ERROR_MSG_BYTES_MAX], rest[ERROR_MSG_BYTES_MAX];
    struct timestamp t;
    struct civil c;
    int r, offset = 0;

    r = scan_civil(&s, &c, err);
    if (r < 0)
        return r;
    t.nanos = scan_fraction(&s);
    r = scan_offset(&s, &offset, err);
    if (r < 0)
        return r;
    if (s.rest.len)
        return error_set(err, ERR_BAD_REQUEST, "parsing time %s: extra text: %s",
                         quote(quoted, sizeof quoted, text), quote(rest, sizeof rest, s.rest));
    if (c.year == 0)
        return scan_out_of_range(&s, "year", err);
    if (!civil_to_unix(&c, &t.seconds))
        return scan_out_of_range(&s, "day", err);
    t.seconds -= offset;
    if (t.seconds < CIVIL_UNIX_MIN || t.seconds > CIVIL_UNIX_MAX)
        return scan_out_of_range(&s, "year", err); /* the offset moved it into year 0 or 10000 */
    *ret = t;
    return 0;
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

/* Up to the seconds, without the Z. */
static int format_civil(struct timestamp t, struct buf *out)
{
    struct civil c = { 0 };
    bool ok = civil_from_unix(t.seconds, &c);

    assert(ok);
    (void)ok; /* only read by the assertion */
    return buf_addf(out, "%04d-%02d-%02dT%02d:%02d:%02d", c.year, c.month, c.day, c.hour, c.minute, c.second);
}

int timestamp_format(struct timestamp t, struct buf *out)
{
    (void)format_civil(t, out); /* failures stick and show at the end */
    return buf_add_char(out, 'Z');
}

int timestamp_format_micro(struct timestamp t, struct buf *out)
{
    (void)format_civil(t, out);
    return buf_addf(out, ".%06dZ", t.nanos / 1000);
}

/* Two units of which the second is left out when it is nothing. */
static int add_two_units(struct buf *out, int64_t first, char first_unit, int64_t second, char second_unit)
{
    if (second == 0)
        return buf_addf(out, "%lld%c", (long long)first, first_unit);
    return buf_addf(out, "%lld%c%lld%c", (long long)first, first_unit, (long long)second, second_unit);
}

int duration_human(int64_t seconds, struct buf *out)
{
    int64_t minutes = seconds / 60, hours = seconds / 3600, days = seconds / 86400, years = days / 365;

    if (seconds < -1)
        return buf_add_cstr(out, "<invalid>");
    if (seconds < 120)
        return buf_addf(out, "%llds", seconds < 0 ? 0 : (long long)seconds);
    if (minutes < 10)
        return add_two_units(out, minutes, 'm', seconds % 60, 's');
    if (hours < 3)
        return buf_addf(out, "%lldm", (long long)minutes);
    if (hours < 8)
        return add_two_units(out, hours, 'h', minutes % 60, 'm');
    if (hours < 48)
        return buf_addf(out, "%lldh", (long long)hours);
    if (days < 8)
        return add_two_units(out, days, 'd', hours % 24, 'h');
    if (years < 2)
        return buf_addf(out, "%lldd", (long long)days);
    return add_two_units(out, years, 'y', years < 8 ? days % 365 : 0, 'd');
}

int timestamp_age(struct timestamp t, struct timestamp now, struct buf *out)
{
    int64_t seconds = now.seconds - t.seconds;

    if (timestamp_is_zero(t))
        return buf_add_cstr(out, "<unknown>");
    /* whole seconds towards zero, also for a time that is ahead */
    if (seconds > 0 && now.nanos < t.nanos)
        seconds--;
    else if (seconds < 0 && now.nanos > t.nanos)
        seconds++;
    return duration_human(seconds, out);
}

/* Formats log lines in a fixed buffer on the stack and passes each to the logger's sink. Nothing here
 * allocates or takes a lock. A line is always complete: fields that do not fit are left out as a whole. */
#include "base/log.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/civil.h"
#include "base/cleanup.h"

#define LOG_ELLIPSIS "\xE2\x80\xA6"
/* Reserved for the end of a line: ellipsis, closing brace, line end. */
#define LOG_TAIL_BYTES 16

/* A line under construction. After the first piece that did not fit it is full and ignores more. */
struct log_line {
    enum log_format format;
    bool full;
    size_t len;
    size_t len_max;
    char bytes[LOG_LINE_BYTES_MAX];
};

const struct logger *log_installed;

static const char *const log_level_names[] = {
    [LOG_LEVEL_ERROR] = "error", [LOG_LEVEL_WARN] = "warn",   [LOG_LEVEL_INFO] = "info",
    [LOG_LEVEL_DEBUG] = "debug", [LOG_LEVEL_TRACE] = "trace",
};
static_assert(ARRAY_LEN(log_level_names) == LOG_LEVEL_COUNT, "name every level");

static const char *const log_level_titles[] = {
    [LOG_LEVEL_ERROR] = "ERROR", [LOG_LEVEL_WARN] = "WARN",   [LOG_LEVEL_INFO] = "INFO",
    [LOG_LEVEL_DEBUG] = "DEBUG", [LOG_LEVEL_TRACE] = "TRACE",
};
static_assert(ARRAY_LEN(log_level_titles) == LOG_LEVEL_COUNT, "title every level");

static const char *const log_format_names[] = {
    [LOG_FORMAT_TEXT] = "text",
    [LOG_FORMAT_JSON] = "json",
};
static_assert(ARRAY_LEN(log_format_names) == LOG_FORMAT_COUNT, "name every format");

void log_install(const struct logger *l)
{
    log_installed = l;
}

int log_level_parse(const char *text, enum log_level *ret, struct error *err)
{
    for (int i = 0; i < LOG_LEVEL_COUNT; i++)
        if (strcmp(text, log_level_names[i]) == 0) {
            *ret = (enum log_level)i;
            return 0;
        }
    return error_set(err, ERR_INVALID, "unknown log level '%s': use error, warn, info, debug or trace", text);
}

int log_format_parse(const char *text, enum log_format *ret, struct error *err)
{
    for (int i = 0; i < LOG_FORMAT_COUNT; i++)
        if (strcmp(text, log_format_names[i]) == 0) {
            *ret = (enum log_format)i;
            return 0;
        }
    return error_set(err, ERR_INVALID, "unknown log format '%s': use text or json", text);
}

/* --- Adding to a line: a whole piece or nothing --- */

static void log_add(struct log_line *l, struct str s)
{
    if (l->full || s.len > l->len_max - l->len) {
        l->full = true;
        return;
    }
    memcpy(l->bytes + l->len, s.s, s.len);
    l->len += s.len;
}

/* For short pieces without user text. */
__attribute__((format(printf, 2, 3))) static void log_addf(struct log_line *l, const char *fmt, ...)
{
    char piece[64];
    va_list args;
    int n;

    va_start(args, fmt);
    n = vsnprintf(piece, sizeof piece, fmt, args);
    va_end(args);
    assert(n >= 0);
    assert((size_t)n < sizeof piece);
    log_add(l, (struct str){ piece, (size_t)n });
}

/* The code point of the well-formed sequence of n bytes at s. */
static uint32_t log_code_point(const char *s, size_t n)
{
    static const unsigned char lead_mask[] = { 0, 0x7F, 0x1F, 0x0F, 0x07 };
    uint32_t code = (unsigned char)s[0] & lead_mask[n];

    for (size_t i = 1; i < n; i++)
        code = code << 6 | ((unsigned char)s[i] & 0x3F);
    return code;
}

/* Control characters (C0, DEL, C1), line and paragraph separators, and marks that change the text direction:
 * characters that can disguise a line. */
static bool log_is_hidden(uint32_t code)
{
    return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x061C || code == 0x200E ||
           code == 0x200F || (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

/* Removes the next character from *rest and adds it, escaped if needed. `quoted`: the text is between double
 * quotes. */
static void log_add_char(struct log_line *l, struct str *rest, bool quoted)
{
    size_t n = str_utf8_first(*rest);
    size_t taken = n ? n : 1;
    char c = rest->s[0];

    if (n == 0) /* JSON has no \x escape: escape the backslash itself */
        log_addf(l, "%s%02x", l->format == LOG_FORMAT_JSON ? "\\\\x" : "\\x", (unsigned char)c);
    else if (c == '\n')
        log_add(l, STR_LIT("\\n"));
    else if (c == '\t')
        log_add(l, STR_LIT("\\t"));
    else if (quoted && (c == '"' || c == '\\'))
        log_addf(l, "\\%c", c);
    else if (log_is_hidden(log_code_point(rest->s, n)))
        log_addf(l, "\\u%04" PRIx32, log_code_point(rest->s, n));
    else
        log_add(l, (struct str){ rest->s, n });
    rest->s += taken;
    rest->len -= taken;
}

/* Adds a text of any length, cut to LOG_VALUE_BYTES_MAX bytes of output. */
static void log_add_escaped(struct log_line *l, struct str s, bool quoted)
{
    size_t start = l->len;

    while (s.len && !l->full) {
        if (l->len - start >= LOG_VALUE_BYTES_MAX) {
            log_add(l, STR_LIT(LOG_ELLIPSIS));
            return;
        }
        log_add_char(l, &s, quoted);
    }
}

static void log_add_quoted(struct log_line *l, struct str s)
{
    log_add(l, STR_LIT("\""));
    log_add_escaped(l, s, true);
    log_add(l, STR_LIT("\""));
}

/* True when a value of the text format needs no quotes. Reads no more than can be printed of a value. */
static bool log_is_bare(struct str s)
{
    if (s.len == 0 || s.len > LOG_VALUE_BYTES_MAX)
        return false;
    while (s.len) {
        size_t n = str_utf8_first(s);
        char c = s.s[0];
        if (c == ' ' || c == '"' || c == '=' || c == '\\' || n == 0 || log_is_hidden(log_code_point(s.s, n)))
            return false;
        s.s += n;
        s.len -= n;
    }
    return true;
}

static void log_add_text(struct log_line *l, struct str s)
{
    if (l->format == LOG_FORMAT_TEXT && log_is_bare(s))
        log_add(l, s);
    else
        log_add_quoted(l, s);
}

/* --- The parts of a line --- */

static void log_add_time(struct log_line *l, int64_t real_ns)
{
    int64_t second_ns = (int64_t)NS_PER_S;
    int64_t seconds = real_ns / second_ns;
    int64_t ns = real_ns % second_ns;
    struct civil c = { 0 };

    if (ns < 0) { /* before 1970: round down */
        ns += second_ns;
        seconds--;
    }
    (void)civil_from_unix(seconds, &c); /* 64 bits of nanoseconds end in 2262: always in range */
    log_addf(l, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", c.year, c.month, c.day, c.hour, c.minute, c.second,
             (int)(ns / (int64_t)NS_PER_MS));
}

static void log_add_head(struct log_line *l, const struct logger *logger, enum log_level level,
                         const char *msg)
{
    int64_t now_ns = clock_real_ns(logger->clock);

    if (l->format == LOG_FORMAT_JSON) {
        log_add(l, STR_LIT("{\"ts\":\""));
        log_add_time(l, now_ns);
        log_addf(l, "\",\"level\":\"%s\",\"msg\":", log_level_names[level]);
        log_add_quoted(l, str_of(msg));
    } else {
        log_add_time(l, now_ns);
        log_addf(l, " %s ", log_level_titles[level]);
        log_add_escaped(l, str_of(msg), /* quoted= */ false);
    }
}

static void log_add_value(struct log_line *l, const struct log_field *f)
{
    switch (f->kind) {
    case LOG_KIND_TEXT:
        if (f->text.s)
            log_add_text(l, f->text);
        else
            log_add(l, STR_LIT("null"));
        break;
    case LOG_KIND_INT:
        log_addf(l, "%" PRId64, f->integer);
        break;
    case LOG_KIND_UINT:
        log_addf(l, "%" PRIu64, f->natural);
        break;
    case LOG_KIND_BOOL:
        log_addf(l, "%s", f->truth ? "true" : "false");
        break;
    case LOG_KIND_SECRET:
        log_add_text(l, STR_LIT("***"));
        break;
    }
}

static void log_add_field(struct log_line *l, const struct log_field *f)
{
    bool json = l->format == LOG_FORMAT_JSON;

    log_add(l, json ? STR_LIT(",") : STR_LIT(" "));
    log_add_text(l, str_of(f->key));
    log_add(l, json ? STR_LIT(":") : STR_LIT("="));
    log_add_value(l, f);
}

/* Ends the line, using the reserved bytes. */
static void log_add_tail(struct log_line *l, bool cut)
{
    bool json = l->format == LOG_FORMAT_JSON;

    l->full = false;
    l->len_max = sizeof l->bytes;
    if (cut)
        log_add(l, json ? STR_LIT(",\"cut\":\"" LOG_ELLIPSIS "\"") : STR_LIT(" " LOG_ELLIPSIS));
    log_add(l, json ? STR_LIT("}\n") : STR_LIT("\n"));
    assert(!l->full);
}

void log_write(enum log_level level, const char *msg, const struct log_field *fields)
{
    const struct logger *logger = log_installed;
    struct log_line line; /* not zeroed: 4 KiB, of which a line uses a few hundred bytes */
    bool cut = false;

    line.format = logger->format;
    line.full = false;
    line.len = 0;
    line.len_max = sizeof line.bytes - LOG_TAIL_BYTES;
    log_add_head(&line, logger, level, msg);
    for (const struct log_field *f = fields; f->key && !cut; f++) {
        size_t before = line.len;
        log_add_field(&line, f);
        if (line.full) {
            line.len = before;
            cut = true;
        }
    }
    log_add_tail(&line, cut);
    logger->sink(logger->ctx, line.bytes, line.len);
}

/* Structured log lines: a level, a fixed sentence, and typed fields.
 *
 *     log_info("claim bound", LOG_STR("claim", key), LOG_STR("volume", name), LOG_INT("ms", ms));
 *
 *     2026-01-02T03:04:05.678Z INFO claim bound claim=shop/db volume=pv-1 ms=5
 *     {"ts":"2026-01-02T03:04:05.678Z","level":"info","msg":"claim bound","claim":"shop/db",…}
 *
 * What changes from line to line goes into fields, never into the sentence. A level that is off costs one
 * comparison: the fields are not evaluated. Control characters, text-direction marks and bytes that are not
 * UTF-8 come out escaped, so no value can forge a line or drive a terminal. A value of more than
 * LOG_VALUE_BYTES_MAX bytes is cut and ends in an ellipsis; a field that would carry the line past
 * LOG_LINE_BYTES_MAX is left out with those behind it, and the line ends in an ellipsis (JSON: a field
 * "cut"). Secrets are named, not printed: LOG_SECRET("token"). */
#ifndef BERTH_BASE_LOG_H
#define BERTH_BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/str.h"

#define LOG_LINE_BYTES_MAX 4096
#define LOG_VALUE_BYTES_MAX 1024

enum log_level {
    LOG_LEVEL_ERROR,
    LOG_LEVEL_WARN,
    LOG_LEVEL_INFO,
    LOG_LEVEL_DEBUG,
    LOG_LEVEL_TRACE,
    LOG_LEVEL_COUNT,
};

enum log_format {
    LOG_FORMAT_TEXT,
    LOG_FORMAT_JSON,
    LOG_FORMAT_COUNT,
};

/* Gets one whole line with its line end per call, on the thread that logs: with several threads, a sink must
 * support concurrent calls. Must not log. */
typedef void log_sink_fn(void *ctx, const char *line, size_t len);

struct logger {
    enum log_level level; /* this level and more severe ones are written */
    enum log_format format;
    const struct clock *clock;
    log_sink_fn *sink;
    void *ctx; /* for sink */
};

/* Makes l the process's logger; NULL, the initial value, disables logging. Borrowed. Call it while the
 * process has one thread: main() and tests do. */
void log_install(const struct logger *l);

int log_level_parse(const char *text, enum log_level *ret, struct error *err);
int log_format_parse(const char *text, enum log_format *ret, struct error *err);

enum log_kind {
    LOG_KIND_TEXT,
    LOG_KIND_INT,
    LOG_KIND_UINT,
    LOG_KIND_BOOL,
    LOG_KIND_SECRET,
};

struct log_field {
    const char *key; /* NULL after the last field */
    enum log_kind kind;
    union {
        struct str text; /* .s == NULL prints as null */
        int64_t integer;
        uint64_t natural;
        bool truth;
    };
};

/* A C string, which may be NULL; a struct str. */
#define LOG_STR(k, v) ((struct log_field){ .key = (k), .kind = LOG_KIND_TEXT, .text = log_text_of(v) })
#define LOG_TEXT(k, v) ((struct log_field){ .key = (k), .kind = LOG_KIND_TEXT, .text = (v) })
#define LOG_INT(k, v) ((struct log_field){ .key = (k), .kind = LOG_KIND_INT, .integer = (v) })
#define LOG_UINT(k, v) ((struct log_field){ .key = (k), .kind = LOG_KIND_UINT, .natural = (v) })
#define LOG_BOOL(k, v) ((struct log_field){ .key = (k), .kind = LOG_KIND_BOOL, .truth = (v) })
/* The message of a struct error, under the key "error". */
#define LOG_ERR(err) LOG_STR("error", (err)->msg)
/* Logs that a value is set, without the value. */
#define LOG_SECRET(k) ((struct log_field){ .key = (k), .kind = LOG_KIND_SECRET })
#define LOG_END ((struct log_field){ .key = NULL })

#define log_error(...) LOG_AT(LOG_LEVEL_ERROR, __VA_ARGS__, LOG_END)
#define log_warn(...) LOG_AT(LOG_LEVEL_WARN, __VA_ARGS__, LOG_END)
#define log_info(...) LOG_AT(LOG_LEVEL_INFO, __VA_ARGS__, LOG_END)
#define log_debug(...) LOG_AT(LOG_LEVEL_DEBUG, __VA_ARGS__, LOG_END)
#define log_trace(...) LOG_AT(LOG_LEVEL_TRACE, __VA_ARGS__, LOG_END)

/* Implementation of the macros. */
#define LOG_AT(level, msg, ...)                                                   \
    do {                                                                          \
        if (log_is_on(level))                                                     \
            log_write((level), (msg), (const struct log_field[]){ __VA_ARGS__ }); \
    } while (0)

extern const struct logger *log_installed; /* set by log_install() only */

static inline bool log_is_on(enum log_level level)
{
    return log_installed && level <= log_installed->level;
}

static inline struct str log_text_of(const char *s)
{
    return s ? str_of(s) : (struct str){ NULL, 0 };
}

void log_write(enum log_level level, const char *msg, const struct log_field *fields);

#endif

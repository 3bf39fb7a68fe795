/* Draws a progress bar on a terminal, or prints progress lines elsewhere (progress.h has the timing). */
#include "cli/progress.h"

#include <inttypes.h>
#include <stdio.h>

#include "api/times.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "io/clock.h"
#include "io/env.h"
#include "io/status_line.h"

#define DRAW_FIRST_NS (300 * NS_PER_MS)
#define DRAW_NS (100 * NS_PER_MS)
#define SAY_FIRST_NS (2 * NS_PER_S)
#define SAY_NS (5 * NS_PER_S)
#define BAR_COLUMNS_MAX 40
#define BAR_COLUMNS_MIN 8
#define PART_BYTES 96
#define LINE_BYTES_MAX 2048

/* --- Numbers --- */

static const struct {
    uint64_t bytes;
    const char *name;
} units[] = {
    { UINT64_C(1) << 40, "TiB" }, { 1 << 30, "GiB" }, { 1 << 20, "MiB" }, { 1 << 10, "KiB" }, { 1, "B" }
};

/* The largest unit in which the amount is at least 1. */
static size_t unit_of(double bytes)
{
    size_t i = 0;

    while (i + 1 < ARRAY_LEN(units) && bytes < (double)units[i].bytes)
        i++;
    return i;
}

/* "1.5"; "150" from 100 on, and for bytes. */
static void write_in_unit(double bytes, size_t unit, struct buf *out)
{
    double n = bytes / (double)units[unit].bytes;

    buf_addf(out, n < 100 && units[unit].bytes > 1 ? "%.1f" : "%.0f", n);
}

/* "1.5/20.0 GiB", "3/10"; "1.5 GiB" and "3" when the total is not known. */
static void write_amount(const struct progress_bar *p, const char *between, struct buf *out)
{
    size_t unit = unit_of((double)(p->total ? p->total : p->done));

    if (p->work.kind != PROGRESS_BYTES) {
        buf_addf(out, "%" PRIu64, p->done);
        if (p->total)
            buf_addf(out, "%s%" PRIu64, between, p->total);
        return;
    }
    write_in_unit((double)p->done, unit, out);
    if (p->total) {
        buf_add_cstr(out, between);
        write_in_unit((double)p->total, unit, out);
    }
    buf_addf(out, " %s", units[unit].name);
}

static void write_rate(const struct progress_bar *p, double rate, struct buf *out)
{
    if (p->work.kind == PROGRESS_BYTES) {
        size_t unit = unit_of(rate);

        write_in_unit(rate, unit, out);
        buf_addf(out, " %s/s", units[unit].name);
    } else {
        buf_addf(out, rate < 10 ? "%.1f/s" : "%.0f/s", rate);
    }
}

static void write_seconds(uint64_t ns, struct buf *out)
{
    duration_human((int64_t)(ns / NS_PER_S), out);
}

/* "12s of 30s" */
static void write_elapsed(const struct progress_bar *p, uint64_t now_ns, struct buf *out)
{
    write_seconds(now_ns - p->begun_ns, out);
    if (p->work.kind == PROGRESS_WAIT && p->work.timeout_ns && p->work.timeout_ns != PROGRESS_FOREVER) {
        buf_add_cstr(out, " of ");
        write_seconds(p->work.timeout_ns, out);
    }
}

/* --- Parts of a line, the least important last --- */

enum part { PART_AMOUNT, PART_RATE, PART_TIME, PART_COUNT };

struct line_parts {
    struct buf texts[PART_COUNT]; /* empty: left out */
};

static void parts_done(struct line_parts *parts)
{
    for (size_t i = 0; i < PART_COUNT; i++)
        buf_done(&parts->texts[i]);
}

static void write_parts(const struct progress_bar *p, uint64_t now_ns, const char *between,
                        struct line_parts *ret)
{
    double rate = pace_rate(&p->pace, now_ns, p->done);
    int64_t seconds;

    for (size_t i = 0; i < PART_COUNT; i++)
        ret->texts[i] = BUF_INIT(PART_BYTES);
    write_amount(p, between, &ret->texts[PART_AMOUNT]);
    if (p->work.kind == PROGRESS_WAIT) {
        write_elapsed(p, now_ns, &ret->texts[PART_TIME]);
        return;
    }
    if (rate > 0)
        write_rate(p, rate, &ret->texts[PART_RATE]);
    if (p->total == 0) {
        write_elapsed(p, now_ns, &ret->texts[PART_TIME]);
    } else if (pace_seconds_left(&p->pace, now_ns, p->done, p->total, &seconds)) {
        duration_human(seconds, &ret->texts[PART_TIME]);
        buf_add_cstr(&ret->texts[PART_TIME], " left");
    }
}

/* --- The bar --- */

/* "[=====>    ]", with that many columns including brackets. */
static void write_bar(const struct progress_bar *p, size_t columns, struct buf *out)
{
    size_t inside = columns - 2, full = (size_t)((double)inside * (double)p->done / (double)p->total);

    if (full > inside || p->done >= p->total)
        full = inside;
    buf_add_char(out, '[');
    if (p->screen->has_colors)
        buf_add_cstr(out, "\033[32m");
    for (size_t i = 0; i < full; i++)
        buf_add_char(out, '=');
    if (full < inside)
        buf_add_char(out, '>');
    if (p->screen->has_colors)
        buf_add_cstr(out, "\033[0m");
    for (size_t i = full + 1; i < inside; i++)
        buf_add_char(out, ' ');
    buf_add_char(out, ']');
}

/* Parts that do not fit are left out, the bar gets the remaining columns, and a longer line is truncated: a
 * line wider than the terminal could not be redrawn. */
static void draw_bar(struct progress_bar *p, uint64_t now_ns)
{
    _cleanup_(buf_done_p) struct buf line = BUF_INIT(LINE_BYTES_MAX), tail = BUF_INIT(LINE_BYTES_MAX);
    _cleanup_(parts_done) struct line_parts parts;
    size_t columns = p->screen->columns(p->screen->ctx), width = columns ? columns - 1 : 0, room;

    write_parts(p, now_ns, "/", &parts);
    buf_add_cstr(&line, p->work.label);
    if (p->total)
        buf_addf(&tail, "  %3u%%", pace_percent(p->done, p->total));
    for (size_t i = 0; i < PART_COUNT; i++)
        if (parts.texts[i].len && line.len + tail.len + 2 + parts.texts[i].len <= width)
            buf_addf(&tail, "  %s", buf_cstr(&parts.texts[i]));
    room = width > line.len + tail.len + 2 ? width - line.len - tail.len - 2 : 0;
    if (line.len + tail.len > width) {
        buf_add_str(&line, buf_str(&tail));
        p->screen->show(p->screen->ctx, (struct str){ line.data, line.len < width ? line.len : width });
        return;
    }
    if (p->total && room >= BAR_COLUMNS_MIN) {
        /* It only shrinks: numbers of changing length must not resize it back and forth. */
        if (p->bar_columns == 0 || p->bar_columns > room)
            p->bar_columns = room < BAR_COLUMNS_MAX ? room : BAR_COLUMNS_MAX;
        buf_add_cstr(&line, "  ");
        write_bar(p, p->bar_columns, &line);
    }
    buf_add_str(&line, buf_str(&tail));
    p->screen->show(p->screen->ctx, buf_str(&line));
}

/* --- Plain lines --- */

/* "backup: copying: 40%, 2.0 of 5.0 GiB, 200 MiB/s, 15s left" */
static void print_line(const struct progress_bar *p, uint64_t now_ns)
{
    _cleanup_(buf_done_p) struct buf line = BUF_INIT(LINE_BYTES_MAX);
    _cleanup_(parts_done) struct line_parts parts;
    const char *before = ": ";

    write_parts(p, now_ns, " of ", &parts);
    buf_add_cstr(&line, p->work.label);
    if (p->total) {
        buf_addf(&line, ": %u%%", pace_percent(p->done, p->total));
        before = ", ";
    }
    for (size_t i = 0; i < PART_COUNT; i++)
        if (parts.texts[i].len) {
            buf_addf(&line, "%s%s", before, buf_cstr(&parts.texts[i]));
            before = ", ";
        }
    p->screen->say(p->screen->ctx, buf_str(&line));
}

/* "backup: copying: 5.0 GiB in 25s, 200 MiB/s" */
static void print_summary(const struct progress_bar *p, uint64_t now_ns)
{
    _cleanup_(buf_done_p) struct buf line = BUF_INIT(LINE_BYTES_MAX);
    double rate = pace_rate(&p->pace, now_ns, p->done);
    struct progress_bar whole = *p;

    whole.total = 0;
    buf_addf(&line, "%s: ", p->work.label);
    write_amount(&whole, "", &line);
    buf_add_cstr(&line, " in ");
    write_seconds(now_ns - p->begun_ns, &line);
    if (rate > 0) {
        buf_add_cstr(&line, ", ");
        write_rate(p, rate, &line);
    }
    p->screen->say(p->screen->ctx, buf_str(&line));
}

/* --- Interface --- */

void progress_begin(struct progress_bar *p, const struct progress_screen *s, const struct progress_work *work)
{
    uint64_t now_ns = clock_mono_ns(s->clock);

    *p = (struct progress_bar){ .screen = s, .work = *work, .begun_ns = now_ns };
    p->next_ns = now_ns + (s->is_terminal ? DRAW_FIRST_NS : SAY_FIRST_NS);
    pace_begin(&p->pace, now_ns, /* done= */ 0);
}

void progress_tick(struct progress_bar *p)
{
    uint64_t now_ns = clock_mono_ns(p->screen->clock);

    if (now_ns < p->next_ns || p->total < p->work.total_min ||
        (!p->screen->is_terminal && (p->work.is_terminal_only || p->work.kind == PROGRESS_WAIT)))
        return;
    if (p->screen->is_terminal)
        draw_bar(p, now_ns);
    else
        print_line(p, now_ns);
    p->has_said = true;
    p->next_ns = now_ns + (p->screen->is_terminal ? DRAW_NS : SAY_NS);
}

void progress_set(struct progress_bar *p, uint64_t done, uint64_t total)
{
    p->done = done;
    p->total = total;
    progress_tick(p);
}

void progress_end(struct progress_bar *p, bool has_succeeded)
{
    uint64_t now_ns = clock_mono_ns(p->screen->clock);
    bool was_long = now_ns - p->begun_ns >= SAY_FIRST_NS;

    if (has_succeeded && p->total)
        p->done = p->total;
    if (p->screen->is_terminal)
        p->screen->clear(p->screen->ctx);
    if (has_succeeded && was_long && p->has_said && p->done && p->work.kind != PROGRESS_WAIT)
        print_summary(p, now_ns);
}

/* --- Standard error --- */

static unsigned stderr_columns(void *ctx)
{
    (void)ctx;
    return status_line_columns();
}

static void stderr_show(void *ctx, struct str line)
{
    (void)ctx;
    (void)fflush(stdout); /* flush earlier output so that it appears above the line */
    status_line_show(line);
}

static void stderr_clear(void *ctx)
{
    (void)ctx;
    status_line_clear();
}

static void stderr_say(void *ctx, struct str line)
{
    (void)ctx;
    (void)fprintf(stderr, "%.*s\n", STR_ARG(line));
}

const struct progress_screen *progress_stderr(void)
{
    static struct progress_screen screen = {
        .columns = stderr_columns, .show = stderr_show, .clear = stderr_clear, .say = stderr_say
    };

    screen.clock = clock_system();
    screen.is_terminal = status_line_is_possible();
    screen.has_colors = !io_env("NO_COLOR");
    return &screen;
}

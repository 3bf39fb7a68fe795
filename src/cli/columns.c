/* Lays out text in columns with the rules of Go's tabwriter (columns.h). */
#include "cli/columns.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"

#define RESET "\x1b[0m"

struct cell {
    struct str text;
    size_t width;
};

struct line {
    size_t first; /* index of its first cell */
    size_t count;
};

struct layout {
    const struct columns *columns;
    VEC(struct cell) cells;
    VEC(struct line) lines;
    size_t remembered[COLUMNS_CELLS_MAX];
    size_t widths[COLUMNS_CELLS_MAX]; /* widths of the columns to the left of the current one */
    size_t depth;
    struct buf *out;
};

void columns_init_table(struct columns *c)
{
    *c = (struct columns){
        .text = BUF_INIT(COLUMNS_BYTES_MAX), .width_min = 6, .padding = 3, .remembers = true
    };
}

void columns_init_text(struct columns *c)
{
    *c = (struct columns){ .text = BUF_INIT(COLUMNS_BYTES_MAX), .padding = 2 };
}

void columns_done(struct columns *c)
{
    buf_done(&c->text);
}

void columns_write_cell(struct buf *out, struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char byte = (unsigned char)text.s[i];

        if (byte == '\n' || byte == '\r' || byte == '\f') {
            buf_add_cstr(out, "...");
            return;
        }
        if (byte == 0x1B)
            buf_add_cstr(out, "^[");
        else if (byte < ' ' || byte == 0x7F)
            buf_add_char(out, byte == '\t' ? ' ' : '?');
        else
            buf_add_char(out, (char)byte);
    }
}

void columns_add_cell(struct columns *c, struct str text)
{
    columns_write_cell(&c->text, text);
}

void columns_write_painted(struct buf *out, const char *colour, struct str text)
{
    if (colour && text.len)
        buf_add_cstr(out, colour);
    buf_add_str(out, text);
    if (colour && text.len)
        buf_add_cstr(out, RESET);
}

void columns_put_cells(struct columns *c, const char *pattern, const struct str *cells)
{
    for (const char *at = pattern; *at; at++)
        if (*at == '%')
            columns_add_cell(c, *cells++);
        else
            buf_add_char(&c->text, *at);
}

void columns_add_text(struct columns *c, struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.s[i] == '\n' || text.s[i] == '\t')
            buf_add_char(&c->text, text.s[i]);
        else if (text.s[i] != '\r' && text.s[i] != '\f')
            columns_add_cell(c, (struct str){ text.s + i, 1 });
    }
}

/* --- Lines and cells --- */

static size_t count_characters(struct str s)
{
    size_t n = 0;

    for (size_t i = 0; i < s.len; i++)
        n += ((unsigned char)s.s[i] & 0xC0) != 0x80;
    return n;
}

static int split_line(struct layout *l, struct str text)
{
    struct line line = { .first = l->cells.count };
    struct str rest = text;
    int r = 0;

    while (rest.s && r == 0) {
        struct str cell = l->cells.count - line.first < COLUMNS_CELLS_MAX - 1 ? str_next(&rest, '\t') : rest;

        if (cell.s == rest.s && l->cells.count - line.first == COLUMNS_CELLS_MAX - 1)
            rest.s = NULL;
        r = vec_push(&l->cells, (struct cell){ cell, count_characters(cell) });
    }
    line.count = l->cells.count - line.first;
    return r < 0 ? r : vec_push(&l->lines, line);
}

static int split_lines(struct layout *l, struct str text)
{
    struct str rest = text;
    int r = 0;

    if (text.len && text.s[text.len - 1] == '\n')
        rest.len--;
    while (rest.s && text.len && r == 0)
        r = split_line(l, str_next(&rest, '\n'));
    return r;
}

/* --- Writing --- */

static void write_cell(struct layout *l, size_t line, const struct cell *cell, const size_t *width)
{
    const char *colour =
        l->columns->paint ? l->columns->paint(l->columns->lines_done + line, cell->text) : NULL;

    columns_write_painted(l->out, colour, cell->text);
    if (width && *width > cell->width) {
        char *blanks = buf_grow(l->out, *width - cell->width);

        if (blanks)
            memset(blanks, ' ', *width - cell->width);
    }
}

static void write_lines(struct layout *l, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        const struct line *line = &l->lines.items[i];

        for (size_t j = 0; j < line->count; j++)
            write_cell(l, i, &l->cells.items[line->first + j], j < l->depth ? &l->widths[j] : NULL);
        buf_add_char(l->out, '\n');
    }
}

static bool has_column(const struct layout *l, size_t line)
{
    return l->depth + 1 < l->lines.items[line].count;
}

/* The end of the run of lines, starting at `from`, that have this column; its width in *ret. */
static size_t measure_column(struct layout *l, size_t from, size_t to, size_t *ret)
{
    size_t width = l->columns->width_min, at = from;

    for (; at < to && has_column(l, at); at++) {
        size_t own = l->cells.items[l->lines.items[at].first + l->depth].width + l->columns->padding;

        width = own > width ? own : width;
    }
    if (l->columns->remembers) {
        if (width < l->remembered[l->depth])
            width = l->remembered[l->depth];
        l->remembered[l->depth] = width;
    }
    *ret = width;
    return at;
}

/* Lines from..to have the same columns so far. Recurses once for each further column. */
static void lay_out(struct layout *l, size_t from, size_t to)
{
    for (size_t at = from; at < to; at++) {
        size_t end, width;

        if (!has_column(l, at))
            continue;
        write_lines(l, from, at);
        from = at;
        end = measure_column(l, from, to, &width);
        l->widths[l->depth++] = width;
        lay_out(l, from, end);
        l->depth--;
        from = at = end;
    }
    write_lines(l, from, to);
}

static void layout_done_p(struct layout *l)
{
    vec_done(&l->cells);
    vec_done(&l->lines);
}

size_t columns_width(const struct columns *c)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(2 * COLUMNS_BYTES_MAX);
    _cleanup_(layout_done_p) struct layout l = {
        .columns = &(struct columns){ .width_min = c->width_min, .padding = c->padding }, .out = &out
    };
    struct str rest;
    size_t widest = 0;

    if (c->text.failed || split_lines(&l, buf_str(&c->text)) < 0)
        return 0;
    lay_out(&l, 0, l.lines.count);
    rest = buf_str(&out);
    while (rest.s) {
        size_t width = count_characters(str_next(&rest, '\n'));

        widest = width > widest ? width : widest;
    }
    return widest;
}

int columns_flush(struct columns *c, struct buf *out, struct error *err)
{
    _cleanup_(layout_done_p) struct layout l = { .columns = c, .out = out };
    int r = buf_check(&c->text, "output", err);

    if (r < 0)
        return r;
    if (split_lines(&l, buf_str(&c->text)) < 0)
        return error_no_memory(err);
    memcpy(l.remembered, c->widths, sizeof l.remembered);
    lay_out(&l, 0, l.lines.count);
    memcpy(c->widths, l.remembered, sizeof c->widths);
    c->lines_done += l.lines.count;
    buf_clear(&c->text);
    return buf_check(out, "output", err);
}

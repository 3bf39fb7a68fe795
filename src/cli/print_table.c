/* Prints the server's Tables, with columns selected by their priority and colours for states. */
#include "cli/print_table.h"

#include <ctype.h>
#include <string.h>

#include "cli/print.h"
#include "cli/session.h"
#include "io/env.h"

#define BOLD "\x1b[1m"
#define GREEN "\x1b[32m"
#define YELLOW "\x1b[33m"
#define RED "\x1b[31m"

/* --- Colours --- */

static const struct {
    const char *word;
    const char *colour;
} states[] = {
    { "Bound", GREEN },        { "Available", GREEN }, { "Running", GREEN },  { "Ready", GREEN },
    { "Active", GREEN },       { "Succeeded", GREEN }, { "Pending", YELLOW }, { "Released", YELLOW },
    { "Terminating", YELLOW }, { "Unknown", YELLOW },  { "Failed", RED },     { "Lost", RED },
    { "NotReady", RED },       { "Warning", YELLOW },  { "Error", RED },
};

static const char *paint_cell(size_t line, struct str cell)
{
    if (line == 0)
        return BOLD;
    for (size_t i = 0; i < ARRAY_LEN(states); i++)
        if (str_is(cell, states[i].word))
            return states[i].colour;
    return NULL;
}

static const char *paint_headless(size_t line, struct str cell)
{
    return paint_cell(line + 1, cell);
}

const char *(*table_paint(void))(size_t line, struct str cell)
{
    return io_stdout_is_terminal() && !io_env("NO_COLOR") ? paint_cell : NULL;
}

/* --- The printer --- */

void table_printer_init(struct table_printer *t, const struct kind_info *k, const struct table_settings *how)
{
    *t = (struct table_printer){ .how = *how, .kind = k };
    columns_init_table(&t->columns);
    t->columns.paint = table_paint();
    if (t->columns.paint && how->has_no_headers)
        t->columns.paint = paint_headless;
}

void table_printer_done(struct table_printer *t)
{
    columns_done(&t->columns);
}

static void add_upper(struct columns *c, struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char up = (char)toupper((unsigned char)text.s[i]);

        columns_add_cell(c, (struct str){ &up, 1 });
    }
}

static void add_head(struct table_printer *t, const struct json *d, json_ref definitions)
{
    struct columns *c = &t->columns;
    json_ref column = json_first(d, definitions);
    const char *slash; /* after the slash of a label's name: the column header */

    if (t->how.shows_events)
        buf_add_cstr(&c->text, "EVENT\t");
    if (t->how.shows_namespace)
        buf_add_cstr(&c->text, "NAMESPACE\t");
    for (size_t i = 0; i < t->cells_count; i++, column = json_next(d, column)) {
        if (!t->is_shown[i])
            continue;
        if (i)
            buf_add_char(&c->text, '\t');
        add_upper(c, json_get_text(d, column, "name"));
    }
    for (size_t i = 0; i < t->how.label_columns_count; i++) {
        buf_add_char(&c->text, '\t');
        slash = strrchr(t->how.label_columns[i], '/');
        add_upper(c, str_of(slash ? slash + 1 : t->how.label_columns[i]));
    }
    buf_add_cstr(&c->text, t->how.shows_labels ? "\tLABELS\n" : "\n");
}

int table_printer_begin(struct table_printer *t, const struct json *d, json_ref table, struct error *err)
{
    json_ref definitions = json_get(d, table, "columnDefinitions");

    if (!json_is_string(d, json_get(d, table, "kind"), "Table"))
        return error_set(err, ERR_UNSUPPORTED, "the server does not support tables");
    for (json_ref c = t->cells_count ? 0 : json_first(d, definitions);
         c && t->cells_count < COLUMNS_CELLS_MAX / 2; c = json_next(d, c)) {
        int64_t priority = 0;

        (void)json_int64(d, json_get(d, c, "priority"), &priority); /* missing: always shown */
        t->is_shown[t->cells_count++] = priority == 0 || t->how.is_wide;
    }
    if (!t->has_head && json_first(d, json_get(d, table, "rows"))) {
        t->has_head = true;
        if (!t->how.has_no_headers)
            add_head(t, d, definitions);
    }
    return 0;
}

void table_write_labels(const struct json *d, json_ref labels, struct buf *out)
{
    if (!json_first(d, labels))
        buf_add_cstr(out, "<none>");
    for (json_ref l = json_first(d, labels); l; l = json_next(d, l)) {
        buf_add_str(out, json_key(d, l));
        buf_add_char(out, '=');
        buf_add_str(out, json_text(d, l));
        if (json_next(d, l))
            buf_add_char(out, ',');
    }
}

static void add_labels(struct table_printer *t, const struct json *d, json_ref labels)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(SESSION_BYTES_MAX);

    for (size_t i = 0; i < t->how.label_columns_count; i++) {
        json_ref l = json_get(d, labels, t->how.label_columns[i]);

        buf_add_char(&t->columns.text, '\t');
        columns_add_cell(&t->columns, json_text(d, l));
    }
    if (!t->how.shows_labels)
        return;
    table_write_labels(d, labels, &text);
    buf_add_char(&t->columns.text, '\t');
    columns_add_cell(&t->columns, buf_str(&text));
}

static void add_value(struct columns *c, const struct json *d, json_ref cell)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(SESSION_BYTES_MAX);

    if (json_type(d, cell) == JSON_NULL)
        return;
    if (json_type(d, cell) == JSON_STRING)
        buf_add_str(&text, json_text(d, cell));
    else
        json_write(d, cell, &text);
    columns_add_cell(c, buf_str(&text));
}

void table_printer_add(struct table_printer *t, const struct json *d, json_ref row, const char *event)
{
    struct columns *c = &t->columns;
    json_ref meta = json_get(d, json_get(d, row, "object"), "metadata");
    json_ref cell = json_first(d, json_get(d, row, "cells"));

    if (t->how.shows_events)
        buf_addf(&c->text, "%-9s\t", event ? event : "");
    if (t->how.shows_namespace) {
        columns_add_cell(c, json_get_text(d, meta, "namespace"));
        buf_add_char(&c->text, '\t');
    }
    for (size_t i = 0; i < t->cells_count && cell; i++, cell = json_next(d, cell)) {
        if (!t->is_shown[i])
            continue;
        if (i)
            buf_add_char(&c->text, '\t');
        else if (t->how.shows_kind) {
            print_kind(t->kind, &c->text);
            buf_add_char(&c->text, '/');
        }
        add_value(c, d, cell);
    }
    add_labels(t, d, json_get(d, meta, "labels"));
    buf_add_char(&c->text, '\n');
    t->rows++;
}

int table_printer_flush(struct table_printer *t, struct error *err)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(SESSION_BYTES_MAX);
    unsigned width = io_stdout_is_terminal() ? io_stdout_columns() : 0;
    int r;

    if (width && columns_width(&t->columns) > width) {
        t->columns.padding = 2;
        t->columns.width_min = 0;
    }
    r = columns_flush(&t->columns, &out, err);
    if (r == 0)
        print_out(&out);
    return r;
}

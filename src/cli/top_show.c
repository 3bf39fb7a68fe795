#include "cli/top.h"

#include <inttypes.h>

#include "cli/columns.h"
#include "cli/print.h"
#include "cli/print_table.h"
#include "io/env.h"

#define BAR_WIDTH 10

/* --- The table --- */

/* A tab between cells; none behind the last, which is not padded. */
static void begin_cell(struct columns *c)
{
    if (c->text.len && c->text.data[c->text.len - 1] != '\n')
        buf_add_char(&c->text, '\t');
}

static void add_cell(struct columns *c, const char *text)
{
    begin_cell(c);
    columns_add_cell(c, str_of(text[0] ? text : "-"));
}

static void add_bytes(struct columns *c, int64_t bytes)
{
    begin_cell(c);
    usage_write_bytes(bytes, &c->text);
}

static void add_number(struct columns *c, int64_t n, const char *unit)
{
    begin_cell(c);
    if (n < 0)
        buf_add_char(&c->text, '-');
    else
        buf_addf(&c->text, "%" PRId64 "%s", n, unit);
}

static void add_bar(struct columns *c, int64_t used, int64_t whole)
{
    int64_t percent = usage_percent(used, whole);
    bool is_utf8 = io_is_utf8();

    begin_cell(c);
    for (int i = 0; i < BAR_WIDTH && percent >= 0; i++) {
        bool is_full = percent > (int64_t)i * 100 / BAR_WIDTH;

        if (is_utf8)
            buf_add_cstr(&c->text, is_full ? "█" : "░");
        else
            buf_add_char(&c->text, is_full ? '#' : '.');
    }
}

static void add_inodes(const struct top_table *t, const struct usage *u, struct columns *c)
{
    if (!t->is_wide)
        return;
    add_number(c, u->inodes_used, "");
    add_number(c, u->inodes, "");
    add_number(c, usage_percent(u->inodes_used, u->inodes), "%");
}

static void show_volume(const struct top_table *t, const struct top_line *l, struct columns *c)
{
    const struct usage *u = l->usage;

    if (t->shows_namespace)
        add_cell(c, u->ns);
    add_cell(c, u->pod);
    add_cell(c, u->volume);
    add_cell(c, u->plugin);
    add_cell(c, u->node);
    add_bytes(c, u->used);
    add_bytes(c, u->capacity);
    add_number(c, usage_percent(u->used, u->capacity), "%");
    if (t->has_bars)
        add_bar(c, u->used, u->capacity);
    add_inodes(t, u, c);
    buf_add_char(&c->text, '\n');
}

static void add_asked(const struct claim *claim, struct columns *c)
{
    begin_cell(c);
    if (claim->has_request)
        quantity_format(&claim->request, &c->text);
    else
        buf_add_char(&c->text, '-');
}

static void show_claim(const struct top_table *t, const struct top_line *l, struct columns *c)
{
    const struct usage *u = l->usage;

    if (t->shows_namespace)
        add_cell(c, l->claim->obj.ns);
    add_cell(c, l->claim->obj.name);
    add_cell(c, l->claim->volume_name);
    add_asked(l->claim, c);
    add_bytes(c, u->used);
    add_bytes(c, u->capacity);
    add_number(c, usage_percent(u->used, u->capacity), "%");
    if (t->has_bars)
        add_bar(c, u->used, u->capacity);
    add_inodes(t, u, c);
    add_cell(c, u->pod);
    if (l->users > 1)
        buf_addf(&c->text, " (+%zu)", l->users - 1);
    buf_add_char(&c->text, '\n');
}

static void add_head(const struct top_table *t, struct columns *c)
{
    static const char *const of_claims[] = { "NAME", "VOLUME", "ASKED", "USED", "SIZE", "USE%", NULL },
                             *const of_volumes[] = { "POD",  "VOLUME",   "PLUGIN", "NODE",
                                                     "USED", "CAPACITY", "USE%",   NULL };

    if (t->shows_namespace)
        add_cell(c, "NAMESPACE");
    for (const char *const *head = t->is_of_claims ? of_claims : of_volumes; *head; head++)
        add_cell(c, *head);
    if (t->has_bars)
        add_cell(c, "FULL");
    if (t->is_wide) {
        add_cell(c, "IUSED");
        add_cell(c, "INODES");
        add_cell(c, "IUSE%");
    }
    if (t->is_of_claims)
        add_cell(c, "POD");
    buf_add_char(&c->text, '\n');
}

int top_show(const struct top_table *t, struct buf *out, struct error *err)
{
    _cleanup_(columns_done_p) struct columns c;

    columns_init_table(&c);
    c.paint = t->has_no_headers ? NULL : table_paint();
    if (!t->has_no_headers)
        add_head(t, &c);
    for (size_t i = 0; i < t->lines.count; i++)
        if (t->is_of_claims)
            show_claim(t, &t->lines.items[i], &c);
        else
            show_volume(t, &t->lines.items[i], &c);
    return columns_flush(&c, out, err);
}

/* --- JSON --- */

static void set_number(struct json *d, json_ref object, const char *key, int64_t n)
{
    if (n >= 0)
        json_set(d, object, key, json_new_int(d, n));
}

static void set_text(struct json *d, json_ref object, const char *key, const char *text)
{
    if (text[0])
        json_set_string(d, object, key, text);
}

static void set_usage(struct json *d, json_ref o, const struct usage *u)
{
    set_number(d, o, "usedBytes", u->used);
    set_number(d, o, "availableBytes", u->available);
    set_number(d, o, "capacityBytes", u->capacity);
    set_number(d, o, "percent", usage_percent(u->used, u->capacity));
    set_number(d, o, "inodesUsed", u->inodes_used);
    set_number(d, o, "inodesFree", u->inodes_free);
    set_number(d, o, "inodes", u->inodes);
    set_text(d, o, "error", u->error);
}

static json_ref line_as_json(struct json *d, const struct top_line *l)
{
    const struct usage *u = l->usage;
    json_ref o = json_new_object(d);
    _cleanup_(buf_done_p) struct buf asked = BUF_INIT(QUANTITY_TEXT_BYTES_MAX);

    if (l->claim) {
        json_set_string(d, o, "namespace", l->claim->obj.ns);
        json_set_string(d, o, "name", l->claim->obj.name);
        set_text(d, o, "volume", l->claim->volume_name);
        if (l->claim->has_request)
            quantity_format(&l->claim->request, &asked);
        if (asked.len && !asked.failed)
            json_set_string(d, o, "asked", buf_cstr(&asked));
        set_number(d, o, "pods", (int64_t)l->users);
    } else {
        json_set_string(d, o, "namespace", u->ns);
        json_set_string(d, o, "volume", u->volume);
        set_text(d, o, "plugin", u->plugin);
        set_text(d, o, "claim", u->claim);
    }
    set_text(d, o, "pod", u->pod);
    set_text(d, o, "node", u->node);
    set_usage(d, o, u);
    return o;
}

int top_show_json(const struct top_table *t, struct buf *out, struct error *err)
{
    _cleanup_(json_done_p) struct json d = { 0 };
    json_ref root, lines, silent;
    int r;

    json_init(&d, SESSION_BYTES_MAX);
    root = json_new_object(&d);
    lines = json_new_array(&d);
    silent = json_new_array(&d);
    for (size_t i = 0; i < t->lines.count; i++)
        json_append(&d, lines, line_as_json(&d, &t->lines.items[i]));
    for (size_t i = 0; i < t->usages.silent.count; i++) {
        json_ref o = json_new_object(&d);

        json_set_string(&d, o, "node", t->usages.silent.items[i].name);
        json_set_string(&d, o, "error", t->usages.silent.items[i].why);
        json_append(&d, silent, o);
    }
    json_set(&d, root, t->is_of_claims ? "claims" : "volumes", lines);
    json_set(&d, root, "silentNodes", silent);
    r = json_check(&d, err);
    if (r < 0)
        return r;
    print_json(&d, root, out);
    return buf_check(out, "output", err);
}

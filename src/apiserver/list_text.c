/* Writes lists item by item in all formats.
 *
 * The items are last in every list. In indented JSON and in YAML the frame is that of an empty list without
 * its end; each item is then written at its depth. A block sequence has the same indentation in YAML as a
 * document and as a member of the outermost mapping, so an item is written as a sequence of one. */
#include "apiserver/list_text.h"

#include <assert.h>
#include <string.h>

#include "api/yaml.h"
#include "apiserver/api_call.h"

/* The end of an empty list, before the part that is cut off. */
#define PRETTY_EMPTY_END "]\n}"
#define YAML_EMPTY_END " []\n"
#define ITEM_DEPTH 2

static bool is_compact(const struct list_text *t)
{
    return t->rendering.view.media == MEDIA_JSON && !t->rendering.view.is_pretty;
}

static void fail_buffer(struct buf *out, const struct error *err)
{
    if (!out->failed)
        buf_fail(out, err->code == ERR_NO_MEMORY ? ERR_NO_MEMORY : ERR_TOO_LARGE);
}

/* Writes compact JSON in the requested format, at that depth. */
static void rewrite_item(const struct list_text *t, const struct buf *text, unsigned depth, struct buf *out)
{
    struct json *d = t->rendering.scratch;
    struct error err;
    json_ref v;

    json_clear(d);
    if (text->failed || json_parse(d, buf_str(text), &v, &err) < 0) {
        (void)buf_check(text, "list", &err);
        fail_buffer(out, &err);
    } else if (t->rendering.view.media == MEDIA_JSON) {
        json_write_pretty_at(d, v, depth, out);
    } else if (yaml_write(d, v, out, &err) < 0) {
        fail_buffer(out, &err);
    }
}

static void cut_end(struct buf *out, const char *end)
{
    if (out->failed)
        return;
    assert(str_has_suffix(buf_str(out), end));
    buf_cut(out, out->len - strlen(end));
}

void list_text_begin(struct list_text *t, const struct list_meta *meta, struct buf *out)
{
    _cleanup_(buf_done_p) struct buf frame = BUF_INIT(CALL_ANSWER_BYTES_MAX);

    if (is_compact(t)) {
        render_list_begin(&t->rendering, meta, out);
        return;
    }
    render_list_begin(&t->rendering, meta, &frame);
    buf_add_cstr(&frame, LIST_WRITE_END);
    rewrite_item(t, &frame, /* depth= */ 0, out);
    cut_end(out, t->rendering.view.media == MEDIA_JSON ? PRETTY_EMPTY_END : YAML_EMPTY_END);
}

static void add_reshaped(const struct list_text *t, const struct object *o, struct buf *out)
{
    _cleanup_(buf_done_p) struct buf item = BUF_INIT(CALL_ANSWER_BYTES_MAX);
    bool is_yaml = t->rendering.view.media == MEDIA_YAML;

    if (is_yaml)
        buf_add_char(&item, '[');
    render_list_item(&t->rendering, o, &item);
    if (is_yaml)
        buf_add_char(&item, ']');
    rewrite_item(t, &item, ITEM_DEPTH, out);
}

void list_text_add(struct list_text *t, const struct object *o, struct buf *out)
{
    bool is_first = !t->has_items;

    t->has_items = true;
    if (is_compact(t)) {
        if (!is_first)
            buf_add_char(out, ',');
        render_list_item(&t->rendering, o, out);
        return;
    }
    if (t->rendering.view.media == MEDIA_JSON)
        buf_add_cstr(out, is_first ? "\n    " : ",\n    ");
    else if (is_first)
        buf_add_char(out, '\n');
    add_reshaped(t, o, out);
}

void list_text_end(const struct list_text *t, struct buf *out)
{
    if (is_compact(t))
        buf_add_cstr(out, LIST_WRITE_END "\n");
    else if (t->rendering.view.media == MEDIA_JSON)
        buf_add_cstr(out, t->has_items ? "\n  " PRETTY_EMPTY_END "\n" : PRETTY_EMPTY_END "\n");
    else if (!t->has_items)
        buf_add_cstr(out, YAML_EMPTY_END);
}

const char *list_text_type(const struct list_text *t)
{
    return t->rendering.view.media == MEDIA_JSON ? "application/json" : "application/yaml";
}

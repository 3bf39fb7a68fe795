/* Parses -o and prints objects as JSON, YAML, names, templates or custom columns. */
#include "cli/print.h"

#include <ctype.h>
#include <stdio.h>

#include "api/patch.h"
#include "api/yaml.h"
#include "cli/session.h"
#include "io/status_line.h"

/* Part of a template that is quoted in an error. */
#define JSONPATH_SHOWN_BYTES_MAX 512

/* --- The -o flag --- */

static const struct {
    const char *name;
    enum print_form form;
} forms[] = {
    { "table", PRINT_TABLE }, { "wide", PRINT_WIDE }, { "yaml", PRINT_YAML },
    { "json", PRINT_JSON },   { "name", PRINT_NAME },
};

static int read_template(struct print *p, struct str text, struct error *err)
{
    _cleanup_(buf_done_p) struct buf shown = BUF_INIT(JSONPATH_SHOWN_BYTES_MAX);
    int r;

    if (text.len == 0)
        return error_set(err, ERR_INVALID, "template format specified but no template given");
    r = jsonpath_parse(text, &p->template, err);
    if (r == 0)
        return 0;
    buf_add_ends(&shown, text, JSONPATH_SHOWN_BYTES_MAX);
    return error_wrap(err, "error parsing jsonpath %s", buf_cstr(&shown));
}

static int read_column(struct print *p, struct str text, struct error *err)
{
    struct str path = text, header = str_next(&path, ':');
    int r;

    if (!path.s || header.len == 0)
        return error_set(err, ERR_INVALID,
                         "unexpected custom-columns spec: %.*s, expected <header>:<json-path-expr>",
                         STR_ARG(text));
    if (p->columns_count == PRINT_COLUMNS_MAX)
        return error_set(err, ERR_INVALID, "more than %d custom columns", PRINT_COLUMNS_MAX);
    r = jsonpath_parse_path(path, &p->paths[p->columns_count], err);
    if (r < 0)
        return r;
    p->headers[p->columns_count++] = header;
    return 0;
}

int print_init(struct print *p, const char *text, struct error *err)
{
    struct str argument = str_of(text ? text : ""), name = str_next(&argument, '=');
    int r = 0;

    if (name.len == 0)
        return 0;
    if (str_is(name, "jsonpath")) {
        p->form = PRINT_JSONPATH;
        return read_template(p, argument, err);
    }
    if (str_is(name, "custom-columns")) {
        p->form = PRINT_CUSTOM_COLUMNS;
        if (argument.len == 0)
            return error_set(err, ERR_INVALID, "custom-columns format specified but no custom columns given");
        while (argument.s && r == 0)
            r = read_column(p, str_next(&argument, ','), err);
        return r;
    }
    for (size_t i = 0; i < ARRAY_LEN(forms); i++)
        if (str_is(name, forms[i].name) && !argument.s) {
            p->form = forms[i].form;
            return 0;
        }
    return error_set(err, ERR_INVALID,
                     "unable to match a printer suitable for the output format \"%s\", allowed formats are: "
                     "custom-columns,json,jsonpath,name,table,wide,yaml",
                     text);
}

void print_done(struct print *p)
{
    p->template = jsonpath_free(p->template);
    for (size_t i = 0; i < PRINT_COLUMNS_MAX; i++)
        p->paths[i] = jsonpath_free(p->paths[i]);
}

/* --- JSON --- */

/* The member or item after v in the order of the text, skipping v's contents; 0 at the end of root. */
static json_ref step_over(const struct json *d, json_ref root, json_ref v)
{
    while (v != root && !json_next(d, v))
        v = json_parent(d, v);
    return v == root ? 0 : json_next(d, v);
}

void print_sort(struct json *d, json_ref v)
{
    for (json_ref at = v; at;) {
        if (json_type(d, at) == JSON_OBJECT)
            json_sort_members(d, at);
        at = json_first(d, at) ? json_first(d, at) : step_over(d, v, at);
    }
}

/* These characters occur only in strings, so the text needs no parsing. */
static void escape_like_go(struct str text, struct buf *out)
{
    size_t from = 0;

    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.s[i];
        bool is_separator = c == 0xE2 && i + 2 < text.len && (unsigned char)text.s[i + 1] == 0x80 &&
                            ((unsigned char)text.s[i + 2] & 0xFE) == 0xA8;

        if (c != '<' && c != '>' && c != '&' && !is_separator)
            continue;
        buf_add(out, text.s + from, i - from);
        if (is_separator)
            buf_addf(out, "\\u202%d", text.s[i + 2] & 1 ? 9 : 8);
        else
            buf_addf(out, "\\u00%02x", c);
        i += is_separator ? 2 : 0;
        from = i + 1;
    }
    buf_add(out, text.s + from, text.len - from);
}

void print_json_compact(const struct json *d, json_ref v, struct buf *out)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(SESSION_BYTES_MAX);

    json_write(d, v, &text);
    if (text.failed)
        out->failed = text.failed;
    else
        escape_like_go(buf_str(&text), out);
}

void print_json(const struct json *d, json_ref v, struct buf *out)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(SESSION_BYTES_MAX);
    struct str rest;

    json_write_pretty(d, v, &text);
    if (text.failed) {
        out->failed = text.failed;
        return;
    }
    rest = str_trim(buf_str(&text));
    while (rest.s) {
        struct str line = str_next(&rest, '\n');
        size_t indent = 0;

        while (indent < line.len && line.s[indent] == ' ')
            indent++;
        buf_add(out, line.s, indent); /* twice: indented by four, not two */
        escape_like_go(line, out);
        buf_add_char(out, '\n');
    }
}

int print_json_checked(const struct json *d, json_ref v, struct buf *out, struct error *err)
{
    int r = json_check(d, err);

    if (r < 0)
        return r;
    print_json(d, v, out);
    return buf_check(out, "output", err);
}

/* --- Names --- */

void print_kind(const struct kind_info *k, struct buf *out)
{
    for (const char *c = k->name; *c; c++)
        buf_add_char(out, (char)tolower((unsigned char)*c));
    if (k->group[0])
        buf_addf(out, ".%s", k->group);
}

void print_name(const struct kind_info *k, struct str name, struct buf *out)
{
    print_kind(k, out);
    buf_add_char(out, '/');
    buf_add_str(out, name);
}

/* --- Objects --- */

static json_ref list_of(struct json *d, const json_ref *objects, size_t count)
{
    json_ref list = json_new_object(d), items = json_new_array(d), meta = json_new_object(d);

    json_set_string(d, list, "apiVersion", "v1");
    for (size_t i = 0; i < count; i++) {
        if (json_parent(d, objects[i]))
            json_unlink(d, objects[i]);
        json_append(d, items, objects[i]);
    }
    json_set(d, list, "items", items);
    json_set_string(d, list, "kind", "List");
    json_set_string(d, meta, "resourceVersion", "");
    json_set(d, list, "metadata", meta);
    return list;
}

static int print_names(const struct json *d, const json_ref *objects, size_t count, struct buf *out)
{
    for (size_t i = 0; i < count; i++) {
        const struct kind_info *k = kind_by_api_version(json_get_text(d, objects[i], "apiVersion"),
                                                        json_get_text(d, objects[i], "kind"));

        if (k)
            print_name(k, json_get_text(d, json_get(d, objects[i], "metadata"), "name"), out);
        buf_add_char(out, '\n');
    }
    return 0;
}

static int add_column(const struct jsonpath *path, struct json *d, json_ref object, struct columns *c,
                      struct error *err)
{
    _cleanup_(vec_done_p) struct jsonpath_values found = { 0 };
    int r = jsonpath_find(path, d, object, &found, err);

    if (r < 0)
        return r;
    if (found.count == 0)
        buf_add_cstr(&c->text, "<none>");
    for (size_t i = 0; i < found.count; i++) {
        _cleanup_(buf_done_p) struct buf value = BUF_INIT(SESSION_BYTES_MAX);

        if (i)
            buf_add_char(&c->text, ',');
        if (json_type(d, found.items[i]) == JSON_STRING)
            buf_add_str(&value, json_text(d, found.items[i]));
        else
            patch_write_go(d, found.items[i], &value);
        columns_add_text(c, buf_str(&value));
    }
    return 0;
}

static int print_custom(const struct print *p, struct json *d, const json_ref *objects, size_t count,
                        struct buf *out, struct error *err)
{
    _cleanup_(columns_done_p) struct columns c;
    int r = 0;

    columns_init_table(&c);
    for (size_t i = 0; i < p->columns_count && !p->has_no_headers; i++) {
        columns_add_cell(&c, p->headers[i]);
        buf_add_char(&c.text, i + 1 < p->columns_count ? '\t' : '\n');
    }
    for (size_t o = 0; o < count; o++)
        for (size_t i = 0; i < p->columns_count && r == 0; i++) {
            r = add_column(p->paths[i], d, objects[o], &c, err);
            buf_add_char(&c.text, i + 1 < p->columns_count ? '\t' : '\n');
        }
    return r < 0 ? r : columns_flush(&c, out, err);
}

int print_objects(const struct print *p, struct json *d, const json_ref *objects, size_t count,
                  bool is_single, struct buf *out, struct error *err)
{
    json_ref shown;
    int r = 0;

    for (size_t i = 0; i < count && !p->keeps_managed_fields; i++)
        if (p->form == PRINT_YAML || p->form == PRINT_JSON)
            (void)json_remove(d, json_get(d, objects[i], "metadata"), "managedFields");
    if (p->form == PRINT_NAME)
        return print_names(d, objects, count, out);
    if (p->form == PRINT_CUSTOM_COLUMNS)
        return print_custom(p, d, objects, count, out, err);
    shown = is_single && count == 1 ? objects[0] : list_of(d, objects, count);
    r = json_check(d, err);
    if (r < 0)
        return r;
    print_sort(d, shown);
    if (p->form == PRINT_JSON) {
        print_json(d, shown, out);
    } else if (p->form == PRINT_YAML) {
        yaml_sort(d, shown);
        r = yaml_write(d, shown, out, err);
    } else {
        r = jsonpath_print(p->template, d, shown, out, err);
        if (r < 0)
            (void)error_wrap(err, "error executing jsonpath");
    }
    return r < 0 ? r : buf_check(out, "output", err);
}

void print_out(const struct buf *text)
{
    status_line_clear();
    (void)fwrite(buf_cstr(text), 1, text->len, stdout); /* cli_main() checks for errors */
}

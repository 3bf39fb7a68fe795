/* The words of OpenAPI documents: JSON members and references. */
#include "apiserver/openapi_int.h"

#include "api/json.h"

/* What was written last tells whether a comma is due: texts and numbers never end with one of these. */
static void writer_separate(struct writer *w)
{
    char last = w->out->len ? w->out->data[w->out->len - 1] : '{';

    if (last != '{' && last != '[' && last != ':')
        buf_add_char(w->out, ',');
}

static void writer_key(struct writer *w, const char *key)
{
    writer_separate(w);
    if (!key)
        return;
    json_write_string(w->out, str_of(key));
    buf_add_char(w->out, ':');
}

void writer_open(struct writer *w, const char *key, char bracket)
{
    writer_key(w, key);
    buf_add_char(w->out, bracket);
}

void writer_close(struct writer *w, char bracket)
{
    buf_add_char(w->out, bracket);
}

void writer_open_schema(struct writer *w, const char *package, const char *name, const char *suffix)
{
    writer_separate(w);
    buf_addf(w->out, "\"%s.%s%s\":{", package, name, suffix);
}

void writer_text(struct writer *w, const char *key, const char *text)
{
    writer_key(w, key);
    json_write_string(w->out, str_of(text));
}

void writer_item(struct writer *w, struct str text)
{
    writer_separate(w);
    json_write_string(w->out, text);
}

void writer_raw(struct writer *w, const char *key, const char *json)
{
    writer_key(w, key);
    buf_add_cstr(w->out, json);
}

void writer_ref(struct writer *w, const char *package, const char *name, const char *suffix)
{
    writer_key(w, "$ref");
    buf_addf(w->out, "\"#/%s/%s.%s%s\"", w->dialect == OPENAPI_V3 ? "components/schemas" : "definitions",
             package, name, suffix);
}

void writer_gvk(struct writer *w, const char *key, const char *group, const char *version, const char *kind,
                const char *suffix)
{
    writer_open(w, key, '{');
    writer_text(w, "group", group);
    writer_text(w, "version", version);
    writer_key(w, "kind");
    buf_addf(w->out, "\"%s%s\"}", kind, suffix);
}

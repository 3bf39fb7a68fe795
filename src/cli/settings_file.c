#include "cli/settings_file.h"

#include <string.h>

#include "api/yaml.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "io/file.h"

#define FILE_BYTES_MAX ((size_t)1 << 20)

/* One setting of the file: a flag's value, or the provisioners. */
static int read_setting(struct settings_file *f, json_ref m, const struct flag *flags, void *settings,
                        struct error *err)
{
    struct json *d = &f->doc;
    enum json_type type = json_type(d, m);
    const char *name = arena_dup(&d->texts, json_key(d, m)), *value;

    if (name && strcmp(name, "provisioners") == 0)
        return provisioners_read(d, m, &f->provisioners, err);
    /* An empty value is nobody's wish: it must not pass for the default. */
    if (name && (type == JSON_ARRAY || type == JSON_OBJECT || type == JSON_NULL))
        return error_set(err, ERR_INVALID, "setting '%s' is no single value%s", name,
                         type == JSON_ARRAY ? ": write a list as one text, with commas between" : "");
    value = type == JSON_TRUE ? "true" : type == JSON_FALSE ? "false" : arena_dup(&d->texts, json_text(d, m));
    return name && value ? flags_set_default(flags, settings, name, value, err) : error_no_memory(err);
}

/* One document; or none, as in a file of comments that nobody has touched yet: then *ret stays 0. */
static int parse(struct settings_file *f, struct str text, json_ref *ret, struct error *err)
{
    _cleanup_(yaml_reader_free_p) struct yaml_reader *reader = NULL;
    struct yaml_doc doc = { 0 }, more = { 0 };
    int e = yaml_reader_new(text, &reader, err);

    if (e == 0)
        e = yaml_reader_next(reader, &f->doc, &doc, err);
    if (e <= 0)
        return e;
    if (json_type(&f->doc, doc.root) != JSON_OBJECT)
        return error_set(err, ERR_BAD_REQUEST, "line %u: not lines of NAME: VALUE", (unsigned)doc.line);
    *ret = doc.root;
    e = yaml_reader_next(reader, &f->doc, &more, err);
    return e > 0 ? error_set(err, ERR_BAD_REQUEST, "a second document, on line %u", (unsigned)more.line) : e;
}

int settings_file_read(struct settings_file *f, const char *path, const struct flag *flags, void *settings,
                       struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(FILE_BYTES_MAX);
    json_ref root = 0;
    int e = io_read_file(path, FILE_BYTES_MAX, &text, err);

    if (e == 0)
        e = parse(f, buf_str(&text), &root, err);
    for (json_ref m = root ? json_first(&f->doc, root) : 0; m && e == 0; m = json_next(&f->doc, m))
        e = read_setting(f, m, flags, settings, err);
    return e < 0 ? error_wrap(err, "settings in '%s'", path) : 0;
}

void settings_file_init(struct settings_file *f)
{
    *f = (struct settings_file){ 0 };
    json_init(&f->doc, FILE_BYTES_MAX);
}

void settings_file_done(struct settings_file *f)
{
    provisioners_done(&f->provisioners);
    json_done(&f->doc);
}

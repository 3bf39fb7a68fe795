/* Explains why a server refused a manifest: misspelt fields, invalid quantities, missing namespaces. */
#include "cli/hint.h"

#include <stdio.h>
#include <string.h>

#include "api/quantity.h"
#include "cli/suggest.h"

#define HINT_BYTES_MAX 4096

__attribute__((format(printf, 1, 2))) static void print_hint(const char *fmt, ...)
{
    _cleanup_(buf_done_p) struct buf line = BUF_INIT(HINT_BYTES_MAX);
    va_list args;

    va_start(args, fmt);
    buf_addv(&line, fmt, args);
    va_end(args);
    if (!line.failed)
        session_print_error("hint: ", buf_str(&line));
}

/* The text after `before` in the rest, up to `end`; the rest then begins after it. */
static bool take_between(struct str *rest, const char *before, char end, struct str *ret)
{
    const char *at = rest->len ? memmem(rest->s, rest->len, before, strlen(before)) : NULL;
    struct str behind;

    if (!at)
        return false;
    at += strlen(before);
    behind = (struct str){ at, rest->len - (size_t)(at - rest->s) };
    *ret = str_next(&behind, end);
    *rest = behind;
    return behind.s != NULL;
}

/* --- Unknown fields --- */

static void suggest_field(const struct schema *s, struct str name, struct str path)
{
    char typed[SUGGEST_BYTES_MAX + 1];
    struct suggestion guess = { .typed = typed };

    if (!s || name.len >= sizeof typed)
        return;
    (void)snprintf(typed, sizeof typed, "%.*s", STR_ARG(name));
    for (const struct field *f = s->fields; f < s->fields + s->fields_count; f++)
        suggestion_consider(&guess, f->name);
    if (guess.best)
        print_hint("%.*s: did you mean \"%s\"?", STR_ARG(path), guess.best);
}

/* path: "spec.containers[0].imge". */
static void hint_field(const struct schema *s, struct str path)
{
    struct str rest = path, step = str_next(&rest, '.');

    while (rest.s) {
        const struct field *f = s ? schema_field(s, str_next(&step, '[')) : NULL; /* "containers[0]" */

        s = f && (f->type == FIELD_OBJECT || f->type == FIELD_LIST) ? f->sub : NULL;
        step = str_next(&rest, '.');
    }
    suggest_field(s, step, path);
}

/* --- Quantities --- */

/* "1GB", "1 gib": a number, a unit in any case, an 'i', a 'B', in this order. */
static bool hint_units(struct str text, struct str path)
{
    static const char units[] = "kmgtpe", decimal[] = "kMGTPE", binary[] = "KMGTPE";
    size_t digits = 0, at;
    const char *unit;
    char lower;

    while (digits < text.len && ((text.s[digits] >= '0' && text.s[digits] <= '9') || text.s[digits] == '.'))
        digits++;
    for (at = digits; at < text.len && text.s[at] == ' ';)
        at++;
    if (digits == 0 || at == text.len)
        return false;
    lower = (char)(text.s[at] | 0x20);
    unit = strchr(units, lower);
    if (!unit)
        return false;
    if (at + 1 < text.len && (text.s[at + 1] | 0x20) == 'i')
        print_hint("%.*s: \"%.*s\": write %.*s%ci", STR_ARG(path), STR_ARG(text), (int)digits, text.s,
                   binary[unit - units]);
    else
        print_hint("%.*s: \"%.*s\": write %.*s%c or %.*s%ci", STR_ARG(path), STR_ARG(text), (int)digits,
                   text.s, decimal[unit - units], (int)digits, text.s, binary[unit - units]);
    return true;
}

static void hint_quantity(const struct json *d, json_ref v)
{
    _cleanup_(buf_done_p) struct buf path = BUF_INIT(HINT_BYTES_MAX);
    struct str text = json_text(d, v);
    struct quantity ignored;
    struct error err;

    if (json_type(d, v) != JSON_STRING || quantity_parse(text, &ignored, &err) == 0)
        return;
    json_path_text(d, v, &path);
    if (!hint_units(text, buf_str(&path)))
        print_hint("%s: \"%.*s\": write a number with suffix k, M, G, T, P, E or Ki, Mi, Gi, Ti, Pi, Ei, for "
                   "example 1Gi",
                   buf_cstr(&path), STR_ARG(text));
}

static void hint_quantities(const struct schema *s, const struct json *d, json_ref object);

static void hint_quantities_in(const struct field *f, const struct json *d, json_ref v)
{
    if (f->type == FIELD_QUANTITY)
        hint_quantity(d, v);
    else if (f->type == FIELD_OBJECT && f->sub)
        hint_quantities(f->sub, d, v);
    else if (f->type == FIELD_LIST && f->sub)
        for (json_ref item = json_first(d, v); item; item = json_next(d, item))
            hint_quantities(f->sub, d, item);
    else if (f->type == FIELD_MAP && f->item == FIELD_QUANTITY)
        for (json_ref item = json_first(d, v); item; item = json_next(d, item))
            hint_quantity(d, item);
}

/* Depth is bounded by json_parse() and yaml_reader_next(). */
static void hint_quantities(const struct schema *s, const struct json *d, json_ref object)
{
    if (json_type(d, object) != JSON_OBJECT)
        return;
    for (json_ref v = json_first(d, object); v; v = json_next(d, v)) {
        const struct field *f = schema_field(s, json_key(d, v));

        if (f)
            hint_quantities_in(f, d, v);
    }
}

/* --- All of it --- */

void hint_refusal(const struct reply *a, const struct manifest *m, const struct json *d)
{
    struct str text = buf_str(&a->text), rest = text, word;

    if (!a->reason[0] || !text.len)
        return; /* not a response of the server */
    while (take_between(&rest, "unknown field \"", '"', &word))
        hint_field(m->kind->schema, word);
    if (memmem(text.s, text.len, "quantit", strlen("quantit"))) /* both messages for an invalid quantity */
        hint_quantities(m->kind->schema, d, m->object);
    rest = text;
    if (strcmp(a->reason, "NotFound") == 0 && take_between(&rest, "namespaces \"", '"', &word))
        print_hint("create it: berth create namespace %.*s", STR_ARG(word));
}

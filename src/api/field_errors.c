/* Field errors and their texts. The rules that create them are in validate.c and in the files of the kinds.
 */
#include "api/validate.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "api/quote.h"
#include "base/cleanup.h"

#define FIELD_VALUE_BYTES_MAX ((size_t)64 << 10)

static const struct {
    const char *words;
    const char *reason;
} field_error_types[] = {
    [FIELD_ERROR_REQUIRED] = { "Required value", "FieldValueRequired" },
    [FIELD_ERROR_INVALID] = { "Invalid value", "FieldValueInvalid" },
    [FIELD_ERROR_NOT_SUPPORTED] = { "Unsupported value", "FieldValueNotSupported" },
    [FIELD_ERROR_FORBIDDEN] = { "Forbidden", "FieldValueForbidden" },
    [FIELD_ERROR_DUPLICATE] = { "Duplicate value", "FieldValueDuplicate" },
    [FIELD_ERROR_TOO_LONG] = { "Too long", "FieldValueTooLong" },
    [FIELD_ERROR_NOT_FOUND] = { "Not found", "FieldValueNotFound" },
};
static_assert(ARRAY_LEN(field_error_types) == FIELD_ERROR_TYPE_COUNT, "word every type");

struct field_path path_child(const struct field_path *up, const char *name)
{
    return (struct field_path){ .up = up, .name = name };
}

struct field_path path_key(const struct field_path *up, struct str key)
{
    return (struct field_path){ .up = up, .key = key };
}

struct field_path path_index(const struct field_path *up, uint32_t index)
{
    return (struct field_path){ .up = up, .index = index };
}

static void path_write(const struct field_path *p, struct buf *out)
{
    if (p->up)
        path_write(p->up, out);
    if (p->name)
        buf_addf(out, "%s%s", p->up ? "." : "", p->name);
    else if (p->key.s)
        buf_addf(out, "[%.*s]", STR_ARG(p->key));
    else
        buf_addf(out, "[%u]", p->index);
}

/* The only entry of a list that had no memory for its first. */
static struct field_error error_without_memory = {
    .type = FIELD_ERROR_FORBIDDEN,
    .path = "metadata",
    .detail = "not enough memory to validate the object",
};

void field_errors_done(struct field_errors *e)
{
    if (e->items != &error_without_memory)
        free(e->items);
    arena_done(&e->arena);
    *e = FIELD_ERRORS_INIT;
}

static const char *errors_text(struct field_errors *e, struct str text)
{
    const char *copy = arena_dup(&e->arena, text);

    return copy ? copy : "";
}

/* An error that cannot be stored must not make the object valid: without memory the list keeps its earlier
 * entries, and a first entry becomes error_without_memory. */
static void errors_push(struct field_errors *e, struct field_error error)
{
    if (e->count == e->cap) {
        uint32_t cap = e->cap ? e->cap * 2 : 8;
        struct field_error *items = NULL;

        if (e->items != &error_without_memory)
            items = realloc(e->items, cap * sizeof *items);
        if (!items && e->count == 0) {
            e->items = &error_without_memory;
            e->count = e->cap = 1;
        }
        if (!items)
            return;
        e->items = items;
        e->cap = cap;
    }
    e->items[e->count++] = error;
}

static void errors_add(struct field_errors *e, enum field_error_type type, const struct field_path *p,
                       const char *value, const char *detail)
{
    _cleanup_(buf_done_p) struct buf path = BUF_INIT(4096);

    if (e->count == FIELD_ERRORS_COUNT_MAX)
        return;
    path_write(p, &path);
    errors_push(e, (struct field_error){
                       .type = type,
                       .path = errors_text(e, buf_str(&path)),
                       .value = value,
                       .detail = errors_text(e, str_of(detail)),
                   });
}

void errors_no_room(struct field_errors *e)
{
    if (!e->arena.failed)
        e->arena.failed = ERR_NO_MEMORY;
}

void errors_check_room(struct field_errors *e)
{
    if (e->arena.failed && e->count < FIELD_ERRORS_COUNT_MAX)
        errors_push(e, (struct field_error){
                           .type = FIELD_ERROR_FORBIDDEN,
                           .path = "metadata",
                           .detail = "the object has more parts than can be validated",
                       });
}

void errors_required(struct field_errors *e, const struct field_path *p, const char *detail)
{
    errors_add(e, FIELD_ERROR_REQUIRED, p, NULL, detail);
}

void errors_invalid(struct field_errors *e, const struct field_path *p, const char *value, const char *detail)
{
    errors_add(e, FIELD_ERROR_INVALID, p, value, detail);
}

static int compare_words(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void errors_not_supported(struct field_errors *e, const struct field_path *p, const char *value,
                          const char *const *supported)
{
    _cleanup_(buf_done_p) struct buf detail = BUF_INIT(4096);
    const char *sorted[32] = { NULL };
    size_t count = 0;

    while (supported[count]) {
        assert(count < ARRAY_LEN(sorted));
        sorted[count] = supported[count];
        count++;
    }
    qsort(sorted, count, sizeof *sorted, compare_words);
    for (size_t i = 0; i < count; i++)
        buf_addf(&detail, "%s\"%s\"", i ? ", " : "", sorted[i]);
    errors_not_supported_text(e, p, value, buf_cstr(&detail));
}

void errors_not_supported_text(struct field_errors *e, const struct field_path *p, const char *value,
                               const char *supported)
{
    errors_add(e, FIELD_ERROR_NOT_SUPPORTED, p, value, errors_printf(e, "supported values: %s", supported));
}

void errors_forbidden(struct field_errors *e, const struct field_path *p, const char *detail)
{
    errors_add(e, FIELD_ERROR_FORBIDDEN, p, NULL, detail);
}

void errors_duplicate(struct field_errors *e, const struct field_path *p, const char *value)
{
    errors_add(e, FIELD_ERROR_DUPLICATE, p, value, "");
}

void errors_duplicate_because(struct field_errors *e, const struct field_path *p, const char *value,
                              const char *detail)
{
    errors_add(e, FIELD_ERROR_DUPLICATE, p, value, detail);
}

void errors_too_long(struct field_errors *e, const struct field_path *p, const char *detail)
{
    errors_add(e, FIELD_ERROR_TOO_LONG, p, NULL, detail);
}

void errors_not_found(struct field_errors *e, const struct field_path *p, const char *value)
{
    errors_add(e, FIELD_ERROR_NOT_FOUND, p, value, "");
}

const char *errors_printf(struct field_errors *e, const char *fmt, ...)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(FIELD_VALUE_BYTES_MAX);
    va_list args;

    va_start(args, fmt);
    buf_addv(&text, fmt, args);
    va_end(args);
    return errors_text(e, buf_str(&text));
}

const char *show_value(struct field_errors *e, const struct json *d, json_ref v)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(FIELD_VALUE_BYTES_MAX);

    if (json_type(d, v) == JSON_STRING)
        return show_text(e, json_text(d, v));
    json_write(d, v, &text);
    return errors_text(e, text.failed ? STR_LIT("{…}") : buf_str(&text));
}

const char *show_text(struct field_errors *e, struct str text)
{
    /* an escape is up to four times as long as its character */
    size_t size = text.len < FIELD_VALUE_BYTES_MAX / 4 ? text.len * 4 + 3 : FIELD_VALUE_BYTES_MAX;
    _cleanup_(buf_done_p) struct buf quoted = BUF_INIT(FIELD_VALUE_BYTES_MAX);
    char *at = buf_grow(&quoted, size);

    return at ? errors_text(e, str_of(quote_text(at, size, text))) : "";
}

void field_error_message(const struct field_error *e, struct buf *out)
{
    buf_add_cstr(out, field_error_types[e->type].words);
    if (e->value)
        buf_addf(out, ": %s", e->value);
    if (e->detail[0] != '\0')
        buf_addf(out, ": %s", e->detail);
}

void field_error_text(const struct field_error *e, struct buf *out)
{
    buf_addf(out, "%s: ", e->path);
    field_error_message(e, out);
}

const char *field_error_reason(enum field_error_type type)
{
    assert(type < FIELD_ERROR_TYPE_COUNT);
    return field_error_types[type].reason;
}

static int field_error_cmp(const struct field_error *a, const struct field_error *b)
{
    int r = (a->type > b->type) - (a->type < b->type);

    r = r ? r : strcmp(a->path, b->path);
    r = r ? r : strcmp(a->value ? a->value : "", b->value ? b->value : "");
    return r ? r : strcmp(a->detail, b->detail);
}

/* Equal errors keep the order of the list. */
static int field_error_order(const void *a, const void *b)
{
    const struct field_error *error = *(const struct field_error *const *)a;
    const struct field_error *y = *(const struct field_error *const *)b;
    int r = field_error_cmp(error, y);

    return r ? r : (error > y) - (error < y);
}

/* Marks errors with the same text as an earlier one. Returns the number of the others. */
static uint32_t field_errors_mark_duplicates(const struct field_errors *e, bool *is_duplicate)
{
    const struct field_error *sorted[FIELD_ERRORS_COUNT_MAX];
    uint32_t different = e->count;

    assert(e->count <= FIELD_ERRORS_COUNT_MAX);
    for (uint32_t i = 0; i < e->count; i++)
        sorted[i] = &e->items[i];
    if (e->count > 1)
        qsort(sorted, e->count, sizeof *sorted, field_error_order);
    for (uint32_t i = 1; i < e->count; i++) {
        if (field_error_cmp(sorted[i - 1], sorted[i]) != 0)
            continue;
        is_duplicate[sorted[i] - e->items] = true;
        different--;
    }
    return different;
}

void field_errors_message(const struct field_errors *e, const struct kind_info *k, struct str name,
                          struct buf *out)
{
    bool is_duplicate[FIELD_ERRORS_COUNT_MAX] = { 0 };
    uint32_t different = field_errors_mark_duplicates(e, is_duplicate), written = 0;

    buf_addf(out, "%s%s%s \"%.*s\"", k->name, k->group[0] ? "." : "", k->group, STR_ARG(name));
    buf_addf(out, " is invalid: %s", different > 1 ? "[" : "");
    for (uint32_t i = 0; i < e->count; i++) {
        if (is_duplicate[i])
            continue;
        buf_add_cstr(out, written++ ? ", " : "");
        field_error_text(&e->items[i], out);
    }
    buf_add_cstr(out, different > 1 ? "]" : "");
}

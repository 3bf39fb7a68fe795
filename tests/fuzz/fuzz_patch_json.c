/* JSON Patch on any target and patch. A patch that applies gives what its operations give when each is
 * applied alone to the text that the one before it left. Any patch keeps to the bound on copies.
 *
 * A second implementation on jansson values, as plain as possible, has to accept and refuse the same patches
 * and to come to the same document. It knows the rules of Kubernetes' API server and none of the bounds: what
 * Berth refuses because of those is not compared, nor are documents with numbers that jansson does not keep
 * as they are written. */
#include "tests/fuzz/fuzz_patch.h"

#include <errno.h>

#include "base/cleanup.h"
#include "tests/fuzz/fuzz_jansson.h"

#define OPERATIONS_COMPARED_MAX 100

static void check_one_by_one(struct pair *p, const json_ref *ops, uint32_t count)
{
    struct buf now = BUF_INIT(BYTES_MAX), whole = BUF_INIT(BYTES_MAX), op = BUF_INIT(BYTES_MAX),
               next = BUF_INIT(BYTES_MAX);
    struct error err;
    int r = 0;

    json_write(&p->d, p->target, &whole);
    buf_add_str(&now, p->texts[0]);
    for (uint32_t i = 0; i < count && r == 0 && !whole.failed; i++) {
        buf_clear(&op);
        buf_add_char(&op, '[');
        json_write(&p->d, ops[i], &op);
        buf_add_char(&op, ']');
        buf_clear(&next);
        r = patch_apply_text(PATCH_JSON, NULL, buf_str(&now), buf_str(&op), &next, &err);
        FUZZ_CHECK(r == 0 || r == -ERR_TOO_LARGE); /* growing and shrinking again: the document's bound */
        buf_clear(&now);
        buf_add_str(&now, buf_str(&next));
    }
    if (r == 0 && count && !whole.failed)
        FUZZ_CHECK(str_eq(buf_str(&now), buf_str(&whole)));
    buf_done(&now);
    buf_done(&whole);
    buf_done(&op);
    buf_done(&next);
}

/* --- The model --- */

enum model_result { MODEL_ACCEPTS, MODEL_REFUSES, MODEL_CANNOT_DECODE, MODEL_GIVES_UP };

#define MODEL_COPY_BYTES_MAX ((size_t)64 << 10)

struct model {
    json_t *document;
    char *step; /* the last one that was decoded; no step is longer than the text of the patch */
    size_t copied;
};

static bool model_is(const json_t *v, jansson_type type)
{
    return v && json_typeof(v) == type;
}

static struct str model_text(const json_t *v)
{
    return (struct str){ json_string_value(v), json_string_length(v) };
}

/* The number that Go's strconv.Atoi() reads, from the front of an array of count items. */
static bool model_index(struct str step, size_t count, size_t *ret)
{
    char text[32] = "";
    bool has_sign = step.len && (step.s[0] == '+' || step.s[0] == '-');
    struct str digits = { step.s + has_sign, step.len - has_sign };
    long long index;

    for (; digits.len > 1 && digits.s[0] == '0'; digits.len--)
        digits.s++;
    if (digits.len == 0 || digits.len > 20)
        return false;
    text[0] = has_sign ? step.s[0] : '+';
    memcpy(text + 1, digits.s, digits.len);
    if (strspn(text + 1, "0123456789") != digits.len)
        return false;
    errno = 0;
    index = strtoll(text, NULL, 10);
    if (errno == ERANGE)
        return false;
    if (index < 0)
        index += (long long)count;
    if (index < 0 || index >= (long long)count)
        return false;
    *ret = (size_t)index;
    return true;
}

/* A missing member reads as NULL; a missing item is an error. */
static bool model_get(const json_t *container, struct str key, json_t **ret)
{
    size_t index;

    if (model_is(container, JANSSON_OBJECT)) {
        *ret = json_object_getn(container, key.s, key.len);
        return true;
    }
    if (!model_index(key, json_array_size(container), &index))
        return false;
    *ret = json_array_get(container, index);
    return true;
}

/* Takes the value. */
static bool model_set(json_t *container, struct str key, json_t *value)
{
    size_t index;

    if (model_is(container, JANSSON_OBJECT))
        return json_object_setn_new(container, key.s, key.len, value) == 0;
    if (model_index(key, json_array_size(container), &index))
        return json_array_set_new(container, index, value) == 0;
    json_decref(value);
    return false;
}

/* Takes the value. */
static bool model_add(json_t *container, struct str key, json_t *value)
{
    size_t index;

    if (model_is(container, JANSSON_OBJECT))
        return json_object_setn_new(container, key.s, key.len, value) == 0;
    if (str_is(key, "-"))
        return json_array_append_new(container, value) == 0;
    if (model_index(key, json_array_size(container) + 1, &index))
        return json_array_insert_new(container, index, value) == 0;
    json_decref(value);
    return false;
}

static bool model_remove(json_t *container, struct str key)
{
    size_t index;

    if (model_is(container, JANSSON_OBJECT))
        return json_object_deln(container, key.s, key.len) == 0;
    return model_index(key, json_array_size(container), &index) && json_array_remove(container, index) == 0;
}

/* ~1 and ~0 decoded, into a buffer as large as the step. */
static struct str model_decode(struct str step, char *out)
{
    size_t len = 0;

    for (size_t i = 0; i < step.len; i++) {
        struct str two = { step.s + i, i + 1 < step.len ? 2 : 1 };
        char c = step.s[i];
        if (str_is(two, "~1"))
            c = '/', i++;
        else if (str_is(two, "~0"))
            c = '~', i++;
        out[len++] = c;
    }
    return (struct str){ out, len };
}

/* The container that the last step of the pointer is looked up in, and that step; NULL when a step before it
 * leads to nothing, to null or to a scalar. */
static json_t *model_find(struct model *m, struct str pointer, struct str *key)
{
    struct str rest = pointer;
    json_t *at = m->document;

    (void)str_next(&rest, '/');
    if (!rest.s)
        return NULL;
    for (;;) {
        *key = model_decode(str_next(&rest, '/'), m->step);
        if (!rest.s)
            return at;
        if (!model_get(at, *key, &at) || (!model_is(at, JANSSON_OBJECT) && !model_is(at, JANSSON_ARRAY)))
            return NULL;
    }
}

static enum model_result model_equal(const json_t *a, const json_t *b)
{
    const size_t flags = JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS;
    char *one = json_dumps(a, flags), *two = json_dumps(b, flags);
    enum model_result result = !one || !two            ? MODEL_GIVES_UP /* too deep for jansson */
                               : strcmp(one, two) == 0 ? MODEL_ACCEPTS
                                                       : MODEL_REFUSES;

    free(one);
    free(two);
    return result;
}

static enum model_result model_test(const json_t *have, const json_t *value)
{
    bool is_null = !value || model_is(value, JANSSON_NULL);

    if (!have || model_is(have, JANSSON_NULL))
        return is_null ? MODEL_ACCEPTS : MODEL_REFUSES;
    return is_null ? MODEL_REFUSES : model_equal(have, value);
}

static enum model_result model_whole(struct model *m, const char *op, json_t *value)
{
    if (strcmp(op, "test") == 0)
        return model_test(m->document, value);
    if (strcmp(op, "replace") != 0 || (!model_is(value, JANSSON_OBJECT) && !model_is(value, JANSSON_ARRAY)))
        return MODEL_REFUSES;
    json_decref(m->document);
    m->document = json_deep_copy(value);
    return MODEL_ACCEPTS;
}

static enum model_result model_copy(struct model *m, json_t *v, json_t **ret)
{
    size_t size = v ? json_dumpb(v, NULL, 0, JSON_ENCODE_ANY | JSON_COMPACT) : 4;

    m->copied += size;
    if (size == 0 || m->copied > MODEL_COPY_BYTES_MAX)
        return MODEL_GIVES_UP;
    *ret = v ? json_deep_copy(v) : json_null();
    return MODEL_ACCEPTS;
}

/* Takes or copies what move and copy put elsewhere. */
static enum model_result model_from(struct model *m, bool is_move, const json_t *from, json_t **ret)
{
    struct str key = { NULL, 0 };
    json_t *container = from ? model_find(m, model_text(from), &key) : NULL, *v = NULL;
    enum model_result result = MODEL_REFUSES;

    if (container && model_get(container, key, &v)) {
        if (!is_move) {
            result = model_copy(m, v, ret);
        } else if (v) {
            *ret = json_incref(v);
            (void)model_remove(container, key);
            result = MODEL_ACCEPTS;
        }
    }
    return result;
}

static enum model_result model_at(struct model *m, const char *op, struct str path, json_t *value,
                                  const json_t *from)
{
    bool is_move = strcmp(op, "move") == 0, has_from = is_move || strcmp(op, "copy") == 0;
    bool is_add = has_from || strcmp(op, "add") == 0;
    json_t *added = NULL, *have = NULL, *container;
    enum model_result result = MODEL_ACCEPTS;
    struct str key = { NULL, 0 };

    if (has_from)
        result = model_from(m, is_move, from, &added);
    else
        added = value ? json_incref(value) : json_null();
    container = model_find(m, path, &key);
    if (result == MODEL_ACCEPTS && !container)
        result = MODEL_REFUSES;
    if (result == MODEL_ACCEPTS && is_add)
        result = model_add(container, key, json_incref(added)) ? MODEL_ACCEPTS : MODEL_REFUSES;
    else if (result == MODEL_ACCEPTS && strcmp(op, "remove") == 0)
        result = model_remove(container, key) ? MODEL_ACCEPTS : MODEL_REFUSES;
    else if (result == MODEL_ACCEPTS && !model_get(container, key, &have))
        result = MODEL_REFUSES;
    else if (result == MODEL_ACCEPTS && strcmp(op, "replace") == 0)
        result = model_set(container, key, json_incref(added)) ? MODEL_ACCEPTS : MODEL_REFUSES;
    else if (result == MODEL_ACCEPTS)
        result = model_test(have, value);
    json_decref(added);
    return result;
}

static enum model_result model_operation(struct model *m, const json_t *operation)
{
    static const char *const ops[] = { "add", "remove", "replace", "move", "copy", "test" };
    const json_t *op = json_object_get(operation, "op"), *path = json_object_get(operation, "path"),
                 *from = json_object_get(operation, "from");

    for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
        if (!model_is(op, JANSSON_STRING) || !str_is(model_text(op), ops[i]))
            continue;
        if (!model_is(path, JANSSON_STRING))
            return MODEL_REFUSES;
        if (json_string_length(path) == 0)
            return model_whole(m, ops[i], json_object_get(operation, "value"));
        return model_at(m, ops[i], model_text(path), json_object_get(operation, "value"),
                        model_is(from, JANSSON_STRING) ? from : NULL);
    }
    return MODEL_REFUSES;
}

static enum model_result model_apply(struct model *m, const json_t *patch)
{
    enum model_result result = MODEL_ACCEPTS;
    size_t count = json_array_size(patch);

    if (!model_is(patch, JANSSON_ARRAY) && !model_is(patch, JANSSON_NULL))
        return MODEL_CANNOT_DECODE;
    for (size_t i = 0; i < count; i++)
        if (!model_is(json_array_get(patch, i), JANSSON_OBJECT) &&
            !model_is(json_array_get(patch, i), JANSSON_NULL))
            return MODEL_CANNOT_DECODE;
    for (size_t i = 0; i < count && result == MODEL_ACCEPTS; i++)
        result = model_operation(m, json_array_get(patch, i));
    return result;
}

/* True when jansson keeps all numbers as they are written: whole ones. */
static bool model_knows_numbers(const struct json *d)
{
    for (json_ref v = 1; v < d->count; v++) {
        struct str text = json_text(d, v);
        if (json_type(d, v) == JSON_NUMBER &&
            (memchr(text.s, '.', text.len) || memchr(text.s, 'e', text.len) ||
             memchr(text.s, 'E', text.len) || str_is(text, "-0")))
            return false;
    }
    return true;
}

static bool is_bound(int r, const struct error *err)
{
    return r == -ERR_TOO_LARGE || strstr(err->msg, "the copies of one patch") ||
           strstr(err->msg, "nest deeper than");
}

static void check_model(const struct pair *p, int r, const struct error *err)
{
    const size_t flags = JSON_DECODE_ANY | JSON_ALLOW_NUL;
    struct model m = { .document = json_loadb(p->texts[0].s, p->texts[0].len, flags, NULL),
                       .step = malloc(p->texts[1].len + 1) };
    json_t *patch = json_loadb(p->texts[1].s, p->texts[1].len, flags, NULL);
    enum model_result result = MODEL_GIVES_UP;

    FUZZ_CHECK(m.step);
    if (patch && (model_is(m.document, JANSSON_OBJECT) || model_is(m.document, JANSSON_ARRAY)))
        result = model_apply(&m, patch);
    if (result != MODEL_GIVES_UP && !is_bound(r, err)) {
        FUZZ_CHECK((result == MODEL_ACCEPTS) == (r == 0));
        FUZZ_CHECK((result == MODEL_REFUSES) == (r == -ERR_INVALID));
        FUZZ_CHECK((result == MODEL_CANNOT_DECODE) == (r == -ERR_BAD_REQUEST));
        if (r == 0)
            check_same(&p->d, p->target, m.document);
    }
    json_decref(m.document);
    json_decref(patch);
    free(m.step);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_ref ops[OPERATIONS_COMPARED_MAX];
    struct pair p = { .target = 0 };
    struct error err = { .msg = "" };
    uint32_t count = 0;
    bool parsed = pair_parse(&p, data, size), is_modelled = parsed && model_knows_numbers(&p.d);

    if (parsed && json_count(&p.d, p.patch) <= OPERATIONS_COMPARED_MAX)
        for (json_ref v = json_first(&p.d, p.patch); v; v = json_next(&p.d, v))
            ops[count++] = json_copy(&p.d, v); /* the patch is consumed */
    if (parsed) {
        struct patch_use before = patch_use(&p.d);
        int r = patch_json(&p.d, p.target, p.patch, &err);
        check_use(&p, before, PATCH_COPY_BYTES_MAX);
        check_result(&p.d, p.target, r, &err);
        if (is_modelled)
            check_model(&p, r, &err);
        if (r == 0)
            check_one_by_one(&p, ops, count);
    }
    json_done(&p.d);
    return 0;
}

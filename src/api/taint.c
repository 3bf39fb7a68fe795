/* Taints and tolerations: decoding, matching and validation. Duplicates are found by sorting, so that a list
 * of any length costs O(n log n). */
#include "api/taint.h"

#include <stdlib.h>
#include <string.h>

#include "api/names.h"

static const char *const effect_names[] = {
    [TAINT_EFFECT_NONE] = "",
    [TAINT_NO_SCHEDULE] = "NoSchedule",
    [TAINT_PREFER_NO_SCHEDULE] = "PreferNoSchedule",
    [TAINT_NO_EXECUTE] = "NoExecute",
};
static_assert(ARRAY_LEN(effect_names) == TAINT_EFFECT_UNKNOWN, "name every effect");

static const char *const effects_supported[] = { "NoSchedule", "PreferNoSchedule", "NoExecute", NULL };
static const char *const operators_supported[] = { "Equal", "Exists", NULL };

static const struct field taint_fields[] = {
    { "key", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1 },
    { "value", FIELD_STRING, .number = 2 },
    { "effect", FIELD_STRING, .flags = FIELD_ALWAYS, .go_type = "v1.TaintEffect", .number = 3 },
    { "timeAdded", FIELD_TIME, .number = 4 },
};
const struct schema taint_schema = SCHEMA_OPEN("Taint", taint_fields);

static const struct field toleration_fields[] = {
    { "key", FIELD_STRING, .number = 1 },
    { "operator", FIELD_STRING, .go_type = "v1.TolerationOperator", .number = 2 },
    { "value", FIELD_STRING, .number = 3 },
    { "effect", FIELD_STRING, .go_type = "v1.TaintEffect", .number = 4 },
    { "tolerationSeconds", FIELD_INT64, .flags = FIELD_POINTER, .number = 5 },
};
const struct schema toleration_schema = SCHEMA_OPEN("Toleration", toleration_fields);

/* --- Views --- */

static uint8_t decode_effect(struct decoder *dec, json_ref object)
{
    return (uint8_t)decode_enum(dec, object, "effect", effect_names, ARRAY_LEN(effect_names),
                                TAINT_EFFECT_UNKNOWN);
}

struct taints decode_taints(struct decoder *dec, json_ref object, const char *key)
{
    json_ref list = json_get(dec->d, object, key);
    uint32_t count, n = 0;
    struct taint *items = decode_items(dec, list, sizeof *items, &count);

    for (json_ref m = items ? json_first(dec->d, list) : 0; m; m = json_next(dec->d, m)) {
        items[n++] = (struct taint){
            .key = decode_text(dec, m, "key"),
            .value = decode_text(dec, m, "value"),
            .effect = decode_effect(dec, m),
        };
    }
    return (struct taints){ items, count };
}

static uint8_t decode_operator(struct decoder *dec, json_ref object)
{
    static const char *const names[] = { [TOLERATION_EQUAL] = "Equal", [TOLERATION_EXISTS] = "Exists" };
    bool is_absent = json_get_text(dec->d, object, "operator").len == 0;

    return (uint8_t)decode_enum(dec, object, "operator", names, ARRAY_LEN(names),
                                is_absent ? TOLERATION_EQUAL : TOLERATION_OP_UNKNOWN);
}

struct tolerations decode_tolerations(struct decoder *dec, json_ref object, const char *key)
{
    json_ref list = json_get(dec->d, object, key);
    uint32_t count, n = 0;
    struct toleration *items = decode_items(dec, list, sizeof *items, &count);

    for (json_ref m = items ? json_first(dec->d, list) : 0; m; m = json_next(dec->d, m)) {
        items[n++] = (struct toleration){
            .key = decode_text(dec, m, "key"),
            .value = decode_text(dec, m, "value"),
            .seconds = decode_int(dec, m, "tolerationSeconds", -1),
            .op = decode_operator(dec, m),
            .effect = decode_effect(dec, m),
        };
    }
    return (struct tolerations){ items, count };
}

bool toleration_matches(const struct toleration *t, const struct taint *taint)
{
    if (t->effect != TAINT_EFFECT_NONE && t->effect != taint->effect)
        return false;
    if (t->key[0] != '\0' && strcmp(t->key, taint->key) != 0)
        return false;
    if (t->op == TOLERATION_EQUAL) /* the value is also compared without a key */
        return strcmp(t->value, taint->value) == 0;
    return t->op == TOLERATION_EXISTS;
}

bool tolerations_match(const struct tolerations *t, const struct taint *taint)
{
    for (uint32_t i = 0; i < t->count; i++)
        if (toleration_matches(&t->items[i], taint))
            return true;
    return false;
}

/* --- Rules --- */

/* A label value; all problems are combined in one error. */
static void validate_value(struct validation *v, const struct field_path *p, struct str value)
{
    _cleanup_(buf_done_p) struct buf detail = BUF_INIT(4096);
    struct name_problems problems;

    if (name_check(NAME_LABEL_VALUE, value, &problems))
        return;
    for (size_t i = 0; i < problems.count; i++)
        buf_addf(&detail, "%s%s", i ? ";" : "", problems.items[i].detail);
    errors_invalid(v->errors, p, show_text(v->errors, value), buf_cstr(&detail));
}

struct taint_key {
    struct str key;
    struct str effect;
    uint32_t index;
};

static int taint_key_cmp(const void *a, const void *b)
{
    const struct taint_key *left = a, *right = b;
    int r = str_cmp(left->key, right->key);

    if (r == 0)
        r = str_cmp(left->effect, right->effect);
    return r ? r : (left->index > right->index) - (left->index < right->index);
}

/* Flags by index: the taint has the key and effect of an earlier one. NULL if there is nothing to compare. */
static const bool *taint_duplicates(struct validation *v, json_ref taints)
{
    uint32_t count = json_count(v->d, taints), n = 0;
    struct taint_key *keys = count > 1 ? arena_array(&v->errors->arena, count, sizeof *keys) : NULL;
    bool *duplicates = keys ? arena_array(&v->errors->arena, count, sizeof *duplicates) : NULL;

    if (!duplicates)
        return NULL;
    for (json_ref m = json_first(v->d, taints); m; m = json_next(v->d, m), n++)
        keys[n] = (struct taint_key){ json_get_text(v->d, m, "key"), json_get_text(v->d, m, "effect"), n };
    qsort(keys, n, sizeof *keys, taint_key_cmp);
    for (uint32_t i = 1; i < n; i++)
        duplicates[keys[i].index] =
            str_eq(keys[i].key, keys[i - 1].key) && str_eq(keys[i].effect, keys[i - 1].effect);
    return duplicates;
}

void validate_taints(struct validation *v, const struct field_path *p, json_ref taints)
{
    const bool *duplicates = taint_duplicates(v, taints);
    uint32_t i = 0;

    for (json_ref m = json_first(v->d, taints); m && v->errors->count < FIELD_ERRORS_COUNT_MAX;
         m = json_next(v->d, m), i++) {
        struct field_path at = path_index(p, i);
        struct field_path key = path_child(&at, "key"), value = path_child(&at, "value"),
                          effect = path_child(&at, "effect");
        validate_name(v, &key, NAME_QUALIFIED, json_get_text(v->d, m, "key"));
        validate_value(v, &value, json_get_text(v->d, m, "value"));
        if (validate_required_text(v, &at, m, "effect").len)
            validate_one_of(v, &effect, json_get_text(v->d, m, "effect"), effects_supported);
        if (duplicates && duplicates[i])
            errors_duplicate_because(v->errors, &at, show_value(v->errors, v->d, m),
                                     "taints must be unique by key and effect pair");
    }
}

/* Errors about the value are reported at the operator, as in the API. */
static void validate_operator_and_value(struct validation *v, const struct field_path *p, json_ref toleration)
{
    struct str op = json_get_text(v->d, toleration, "operator");
    struct str value = json_get_text(v->d, toleration, "value");

    if (op.len == 0 || str_is(op, "Equal"))
        validate_value(v, p, value);
    else if (!str_is(op, "Exists"))
        validate_one_of(v, p, op, operators_supported);
    else if (value.len)
        errors_invalid(v->errors, p, show_text(v->errors, value),
                       "value must be empty when `operator` is 'Exists'");
}

static void validate_toleration(struct validation *v, const struct field_path *p, json_ref toleration)
{
    struct field_path key_at = path_child(p, "key"), op_at = path_child(p, "operator"),
                      effect_at = path_child(p, "effect");
    struct str key = json_get_text(v->d, toleration, "key");
    struct str op = json_get_text(v->d, toleration, "operator");
    struct str effect = json_get_text(v->d, toleration, "effect");

    if (key.len)
        validate_name(v, &key_at, NAME_QUALIFIED, key);
    else if (!str_is(op, "Exists"))
        errors_invalid(
            v->errors, &op_at, show_text(v->errors, op),
            "operator must be Exists when `key` is empty, which means \"match all values and all keys\"");
    if (json_get(v->d, toleration, "tolerationSeconds") && !str_is(effect, "NoExecute"))
        errors_invalid(v->errors, &effect_at, show_text(v->errors, effect),
                       "effect must be 'NoExecute' when `tolerationSeconds` is set");
    validate_operator_and_value(v, &op_at, toleration);
    if (effect.len)
        validate_one_of(v, &effect_at, effect, effects_supported);
}

void validate_tolerations(struct validation *v, const struct field_path *p, json_ref tolerations)
{
    uint32_t i = 0;

    for (json_ref m = json_first(v->d, tolerations); m && v->errors->count < FIELD_ERRORS_COUNT_MAX;
         m = json_next(v->d, m)) {
        struct field_path at = path_index(p, i++);
        validate_toleration(v, &at, m);
    }
}

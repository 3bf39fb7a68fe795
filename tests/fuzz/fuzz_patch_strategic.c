/* Strategic merge patch on any target and patch, with a schema that has lists of every kind. No directive of
 * the patch is left in the result; without directives and lists it does what a merge patch does. */
#include "tests/fuzz/fuzz_patch.h"

#include "api/meta.h"

static const struct field item_fields[] = {
    { "n", FIELD_STRING },
    { "e", FIELD_LIST, .item = FIELD_OBJECT, .sub = &object_reference_schema, .merge_key = "n" },
    { "s", FIELD_LIST, .item = FIELD_STRING, .flags = FIELD_SET },
    { "r", FIELD_LIST, .item = FIELD_STRING },
};
static const struct schema item_schema = SCHEMA("Item", item_fields);

static const struct field fuzz_fields[] = {
    { "metadata", FIELD_OBJECT, .sub = &meta_schema },
    { "k", FIELD_LIST, .item = FIELD_OBJECT, .sub = &item_schema, .merge_key = "n" },
    { "s", FIELD_LIST, .item = FIELD_STRING, .flags = FIELD_SET },
    { "r", FIELD_LIST, .item = FIELD_OBJECT, .sub = &item_schema },
    { "o", FIELD_OBJECT, .sub = &item_schema },
    { "m", FIELD_MAP, .item = FIELD_STRING },
};
static const struct schema fuzz_schema = SCHEMA("Fuzz", fuzz_fields);

/* Walks a tree: has it a directive, has it a list? */
static void look_over(const struct json *d, json_ref top, bool *directives, bool *lists)
{
    for (json_ref v = top; v;) {
        struct str key = json_key(d, v);
        *directives |= str_is(key, "$patch") || str_is(key, "$retainKeys") ||
                       str_has_prefix(key, "$setElementOrder/") ||
                       str_has_prefix(key, "$deleteFromPrimitiveList/");
        *lists |= json_type(d, v) == JSON_ARRAY;
        if (json_first(d, v)) {
            v = json_first(d, v);
            continue;
        }
        while (v != top && !json_next(d, v))
            v = json_parent(d, v);
        v = v == top ? 0 : json_next(d, v);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pair p = { .target = 0 };
    struct error err = { .msg = "" }, merge_err;
    bool in_target = false, in_patch = false, left = false, lists = false, target_lists = false;

    if (pair_parse(&p, data, size)) {
        json_ref target = json_copy(&p.d, p.target), patch = json_copy(&p.d, p.patch);
        look_over(&p.d, p.target, &in_target, &target_lists);
        look_over(&p.d, p.patch, &in_patch, &lists);
        struct patch_use before = patch_use(&p.d);
        int r = patch_strategic(&fuzz_schema, &p.d, p.target, p.patch, &err);
        check_use(&p, before, /* copied_max= */ 0);
        check_result(&p.d, p.target, r, &err);
        if (r == 0 && !in_target) {
            look_over(&p.d, p.target, &left, &target_lists);
            FUZZ_CHECK(!left);
        }
        if (r == 0 && !in_patch && !lists) {
            FUZZ_CHECK(patch_merge(&p.d, target, patch, &merge_err) == 0);
            FUZZ_CHECK(json_equal(&p.d, p.target, target));
        }
    }
    json_done(&p.d);
    return 0;
}

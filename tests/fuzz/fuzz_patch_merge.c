/* Merge patch on any target and patch. The result is what the RFC's own few lines give, and the patch applied
 * to it changes nothing more. */
#include "tests/fuzz/fuzz_patch.h"

/* The RFC's algorithm, word for word: recursive and quadratic. */
static json_ref model(struct json *d, json_ref target, json_ref patch)
{
    json_ref result;

    if (json_type(d, patch) != JSON_OBJECT)
        return json_copy(d, patch);
    result = json_type(d, target) == JSON_OBJECT ? json_copy(d, target) : json_new_object(d);
    for (json_ref m = json_first(d, patch); m; m = json_next(d, m)) {
        json_ref old = json_get_key(d, result, json_key(d, m));
        if (json_type(d, m) == JSON_NULL)
            json_unlink(d, old);
        else
            json_set_key(d, result, json_key(d, m), model(d, old, m));
    }
    return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pair p = { .target = 0 };
    struct error err = { .msg = "" };

    if (pair_parse(&p, data, size)) {
        json_ref want = model(&p.d, p.target, p.patch), again = json_copy(&p.d, p.patch);
        struct patch_use before = patch_use(&p.d);
        FUZZ_CHECK(patch_merge(&p.d, p.target, p.patch, &err) == 0 || err.code == ERR_TOO_LARGE);
        check_use(&p, before, /* copied_max= */ 0);
        if (json_check(&p.d, &err) == 0) {
            check_result(&p.d, p.target, 0, &err);
            FUZZ_CHECK(json_equal(&p.d, p.target, want));
            FUZZ_CHECK(patch_merge(&p.d, p.target, again, &err) == 0);
            check_result(&p.d, p.target, 0, &err);
            FUZZ_CHECK(json_equal(&p.d, p.target, want));
        }
    }
    json_done(&p.d);
    return 0;
}

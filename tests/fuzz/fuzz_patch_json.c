/* JSON Patch on any target and patch. A patch that applies gives what its operations give when each is
 * applied alone to the text that the one before it left. Any patch keeps to the bound on copies. */
#include "tests/fuzz/fuzz_patch.h"

#define OPERATIONS_COMPARED_MAX 100

static void check_one_by_one(struct pair *p, const json_ref *ops, uint32_t count)
{
    struct buf now = BUF_INIT(BYTES_MAX), whole = BUF_INIT(BYTES_MAX), op = BUF_INIT(BYTES_MAX),
               next = BUF_INIT(BYTES_MAX);
    struct error err;
    int r = 0;

    json_write(&p->d, p->target, &whole);
    (void)buf_add_str(&now, p->texts[0]);
    for (uint32_t i = 0; i < count && r == 0 && !whole.failed; i++) {
        buf_clear(&op);
        (void)buf_add_char(&op, '[');
        json_write(&p->d, ops[i], &op);
        (void)buf_add_char(&op, ']');
        buf_clear(&next);
        r = patch_apply_text(PATCH_JSON, NULL, buf_str(&now), buf_str(&op), &next, &err);
        FUZZ_CHECK(r == 0 || r == -ERR_TOO_LARGE); /* growing and shrinking again: the document's bound */
        buf_clear(&now);
        (void)buf_add_str(&now, buf_str(&next));
    }
    if (r == 0 && count && !whole.failed)
        FUZZ_CHECK(str_eq(buf_str(&now), buf_str(&whole)));
    buf_done(&now);
    buf_done(&whole);
    buf_done(&op);
    buf_done(&next);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_ref ops[OPERATIONS_COMPARED_MAX];
    struct pair p = { .target = 0 };
    struct error err = { .msg = "" };
    uint32_t count = 0;
    bool parsed = pair_parse(&p, data, size);

    if (parsed && json_count(&p.d, p.patch) <= OPERATIONS_COMPARED_MAX)
        for (json_ref v = json_first(&p.d, p.patch); v; v = json_next(&p.d, v))
            ops[count++] = json_copy(&p.d, v); /* the patch is consumed */
    if (parsed) {
        struct patch_use before = patch_use(&p.d);
        int r = patch_json(&p.d, p.target, p.patch, &err);
        check_use(&p, before, PATCH_COPY_BYTES_MAX);
        check_result(&p.d, p.target, r, &err);
        if (r == 0)
            check_one_by_one(&p, ops, count);
    }
    json_done(&p.d);
    return 0;
}

/* Continue tokens of any bytes: as they are, and as the JSON inside one. One that is read, written and read
 * again says the same. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "api/base64.h"
#include "apiserver/continue_token.h"
#include "base/cleanup.h"

#define ARENA_BYTES_MAX (1U << 20)

/* Writing adds the NUL that stands behind the name. */
static struct str without_nul(struct str name)
{
    if (name.len && name.s[name.len - 1] == '\0')
        name.len--;
    return name;
}

static void check_token(struct str text)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(ARENA_BYTES_MAX);
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(1U << 16);
    struct continue_token t, again;
    struct error err;

    if (continue_token_read(text, &a, &t, &err) < 0) {
        FUZZ_CHECK(err.code == ERR_BAD_REQUEST);
        return;
    }
    FUZZ_CHECK(t.revision > 0 || t.revision == CONTINUE_AT_NEWEST);
    FUZZ_CHECK(t.left >= -1);
    t.name = without_nul(t.name);
    if (t.ns.len == 0 && t.name.len && memchr(t.name.s, '/', t.name.len))
        return; /* "/a": no key that is written here begins with a slash */
    continue_token_write(&t, &out);
    if (out.failed || out.len > CONTINUE_TOKEN_BYTES_MAX)
        return; /* escapes make it longer than it was */
    FUZZ_CHECK(continue_token_read(buf_str(&out), &a, &again, &err) == 0);
    FUZZ_CHECK(again.revision == t.revision && again.left == t.left);
    FUZZ_CHECK(str_eq(again.ns, t.ns));
    FUZZ_CHECK(again.name.len == t.name.len + 1);
    FUZZ_CHECK(str_eq(without_nul(again.name), t.name));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_(buf_done_p) struct buf encoded = BUF_INIT(1U << 20);
    struct str bytes = { size ? (const char *)data : "", size };

    if (size > CONTINUE_TOKEN_BYTES_MAX + 16)
        return 0;
    check_token(bytes);
    base64_encode(bytes, &encoded);
    check_token(buf_str(&encoded));
    return 0;
}

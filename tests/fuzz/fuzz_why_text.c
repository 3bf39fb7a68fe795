/* A report that a server sent becomes lines that a terminal does not obey; a path is a question or refused.
 */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "why/text.h"
#include "why/why_world.h"

#define FUZZ_BYTES_MAX (4u << 20)

static void check_text(struct str text)
{
    FUZZ_CHECK(str_is_utf8(text));
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.s[i];

        FUZZ_CHECK(c == '\n' || (c >= 0x20 && c != 0x7f));
        FUZZ_CHECK(c != 0xc2 || (unsigned char)text.s[i + 1] >= 0xa0);
    }
}

static void check_path(const uint8_t *data, size_t size)
{
    char path[2 * WHY_PATH_BYTES_MAX], names[WHY_PATH_BYTES_MAX];
    size_t len = size < sizeof path ? size : sizeof path - 1;
    struct why_question q = { .kind = KIND_COUNT };
    struct error err = { 0 };

    memcpy(path, data, len);
    path[len] = '\0';
    if (why_read_path(path, names, &q, &err) < 0)
        return;
    FUZZ_CHECK(why_type(q.kind) && !strchr(q.name, '/'));
    FUZZ_CHECK(kind_info(q.kind)->is_namespaced || q.ns[0] == '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf text = BUF_INIT((size_t)FUZZ_BYTES_MAX * 8);
    struct error err = { 0 };
    json_ref report = 0;
    struct json d;

    json_init(&d, FUZZ_BYTES_MAX);
    if (json_parse(&d, (struct str){ (const char *)data, size }, &report, &err) == 0) {
        why_text_write(&d, report, &(struct why_style){ .is_verbose = true }, &text);
        if (!text.failed)
            check_text(buf_str(&text));
    }
    if (size)
        check_path(data, size);
    buf_done(&text);
    json_done(&d);
    return 0;
}

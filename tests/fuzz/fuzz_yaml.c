/* Whatever is read as YAML can be sorted, written and read again, and means the same. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "api/json.h"
#include "api/yaml.h"

#define FUZZ_BYTES_MAX (4u << 20)

static void check_document(struct json *d, json_ref v)
{
    struct buf text = BUF_INIT((size_t)FUZZ_BYTES_MAX * 8);
    struct error err = { 0 };
    json_ref again = 0;
    int r;

    yaml_sort(d, v);
    FUZZ_CHECK(json_check(d, &err) == 0);
    r = yaml_write(d, v, &text, &err);
    FUZZ_CHECK(r == 0 || r == -ERR_TOO_LARGE); /* many aliases, written out deep inside */
    if (r == 0) {
        FUZZ_CHECK(str_is_utf8(buf_str(&text)));
        r = yaml_parse(d, buf_str(&text), &again, &err);
        FUZZ_CHECK(r == 0 || strstr(err.msg, "exceeded max depth")); /* JSON may nest deeper than YAML */
        FUZZ_CHECK(r < 0 || json_equal(d, v, again));
    }
    buf_done(&text);
    json_clear(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct yaml_reader *reader = NULL;
    struct error err = { 0 };
    struct yaml_doc doc;
    struct json d;

    json_init(&d, FUZZ_BYTES_MAX);
    if (yaml_reader_new((struct str){ (const char *)data, size }, &reader, &err) == 0)
        while (yaml_reader_next(reader, &d, &doc, &err) > 0)
            check_document(&d, doc.root);
    reader = yaml_reader_free(reader);
    json_done(&d);
    return 0;
}

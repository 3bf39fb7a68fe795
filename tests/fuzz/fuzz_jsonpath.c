/* Templates on any bytes, and on a document with something of everything: each is refused or filled in, and
 * filled in again to the same text. */
#include "tests/fuzz/fuzz.h"

#include "base/cleanup.h"
#include "cli/jsonpath.h"

#define OUT_BYTES_MAX ((size_t)1 << 20)

static const char document[] =
    "{\"kind\":\"List\",\"items\":[{\"name\":\"a\",\"size\":1,\"tags\":[\"x\",\"y\"],\"on\":true},"
    "{\"name\":\"b\",\"size\":2.5,\"tags\":[],\"none\":null,\"labels\":{\"a.b/"
    "c\":\"d\"}}],\"m\":{\"l\":[[1,2],[3]]}}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_(jsonpath_free_p) struct jsonpath *p = NULL;
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(OUT_BYTES_MAX), again = BUF_INIT(OUT_BYTES_MAX);
    _cleanup_(json_done_p) struct json d;
    struct error err;
    json_ref root;

    json_init(&d, (size_t)16 << 20);
    FUZZ_CHECK(json_parse(&d, str_of(document), &root, &err) == 0);
    if (jsonpath_parse((struct str){ (const char *)data, size }, &p, &err) < 0)
        return 0;
    if (jsonpath_print(p, &d, root, &out, &err) < 0)
        return 0;
    FUZZ_CHECK(jsonpath_print(p, &d, root, &again, &err) == 0);
    FUZZ_CHECK(str_eq(buf_str(&out), buf_str(&again)));
    return 0;
}

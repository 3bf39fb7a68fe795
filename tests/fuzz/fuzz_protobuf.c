/* Protobuf bodies on any bytes: what is taken names its kind, is bounded by the document, and comes out of
 * the schema's check or is refused there; the same bytes give the same tree again. The envelope of a kind is
 * put in front of inputs that do not begin with one, so that the messages themselves are reached. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "api/protobuf.h"
#include "base/cleanup.h"

#define BYTES_MAX ((size_t)1 << 16)

static void add_bytes(struct buf *out, unsigned number, struct str bytes)
{
    buf_add_char(out, (char)(number << 3 | 2));
    for (size_t len = bytes.len;; len >>= 7) {
        buf_add_char(out, (char)((len & 0x7F) | (len > 0x7F ? 0x80 : 0)));
        if (len <= 0x7F)
            break;
    }
    buf_add_str(out, bytes);
}

/* New ones at the end: saved inputs name them by their place. */
static const struct {
    const char *api_version, *kind;
} kinds[] = {
    { "v1", "PersistentVolume" },
    { "v1", "PersistentVolumeClaim" },
    { "v1", "Namespace" },
    { "v1", "ConfigMap" },
    { "v1", "Secret" },
    { "v1", "ServiceAccount" },
    { "v1", "Event" },
    { "v1", "Binding" },
    { "storage.k8s.io/v1", "StorageClass" },
    { "storage.k8s.io/v1", "VolumeAttachment" },
    { "storage.k8s.io/v1", "CSIDriver" },
    { "storage.k8s.io/v1", "CSINode" },
    { "storage.k8s.io/v1", "CSIStorageCapacity" },
    { "storage.k8s.io/v1", "VolumeAttributesClass" },
    { "coordination.k8s.io/v1", "Lease" },
    { "events.k8s.io/v1", "Event" },
    { "policy/v1", "Eviction" },
    { "authorization.k8s.io/v1", "SelfSubjectAccessReview" },
    { "authorization.k8s.io/v1", "SelfSubjectRulesReview" },
    { "authentication.k8s.io/v1", "SelfSubjectReview" },
    { "authentication.k8s.io/v1beta1", "SelfSubjectReview" },
    { "authentication.k8s.io/v1", "TokenRequest" },
    { "v1", "DeleteOptions" },
    { "v1", "Pod" },
    { "v1", "Node" },
    { "authorization.k8s.io/v1", "SubjectAccessReview" },
    { "authorization.k8s.io/v1", "LocalSubjectAccessReview" },
    { "authentication.k8s.io/v1", "TokenReview" },
};

/* The first byte chooses the kind, the others are its message. */
static void wrap(const uint8_t *data, size_t size, struct buf *out)
{
    _cleanup_(buf_done_p) struct buf type = BUF_INIT(256);
    size_t i = data[0] % ARRAY_LEN(kinds);

    add_bytes(&type, 1, str_of(kinds[i].api_version));
    add_bytes(&type, 2, str_of(kinds[i].kind));
    buf_add(out, "k8s", 4);
    add_bytes(out, 1, buf_str(&type));
    add_bytes(out, 2, (struct str){ (const char *)data + 1, size - 1 });
}

static int decode(struct json *d, struct str body, json_ref *ret)
{
    struct protobuf_body b;
    struct error err;
    const struct schema *s;
    int r = protobuf_open(body, &b, &err);

    if (r < 0) {
        FUZZ_CHECK(r == -(int)err.code && (r == -ERR_BAD_REQUEST || r == -ERR_UNSUPPORTED));
        return r;
    }
    s = protobuf_schema(b.api_version, b.kind);
    if (!s)
        return -ERR_NOT_FOUND;
    r = protobuf_decode(d, s, &b, ret, &err);
    if (r < 0) {
        FUZZ_CHECK(r == -(int)err.code && (r == -ERR_BAD_REQUEST || r == -ERR_TOO_LARGE));
        return r;
    }
    FUZZ_CHECK(str_is(json_get_text(d, *ret, "kind"), s->go_name));
    FUZZ_CHECK(str_eq(json_get_text(d, *ret, "apiVersion"), b.api_version));
    r = schema_normalize(s, d, *ret, SCHEMA_DROP_UNKNOWN, NULL, &err);
    FUZZ_CHECK(r == 0 || r == -ERR_BAD_REQUEST || r == -ERR_TOO_LARGE);
    return r;
}

static void check_body(struct str body)
{
    _cleanup_(buf_done_p) struct buf first = BUF_INIT(BYTES_MAX * 64), second = BUF_INIT(BYTES_MAX * 64);
    _cleanup_(json_done_p) struct json d;
    json_ref a, b;

    json_init(&d, BYTES_MAX);
    if (decode(&d, body, &a) < 0)
        return;
    json_write(&d, a, &first);
    json_clear(&d);
    FUZZ_CHECK(decode(&d, body, &b) == 0);
    json_write(&d, b, &second);
    FUZZ_CHECK(str_eq(buf_str(&first), buf_str(&second)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(BYTES_MAX);

    check_body((struct str){ size ? (const char *)data : "", size });
    if (size == 0 || (size >= 4 && memcmp(data, "k8s", 4) == 0))
        return 0;
    wrap(data, size, &body);
    if (!body.failed)
        check_body(buf_str(&body));
    return 0;
}

#include "plugins/reconstruct.h"

#include "api/json.h"
#include "api/kind.h"
#include "base/cleanup.h"

#define TEXT_BYTES_MAX 65536
#define SCRATCH_BYTES_MAX ((size_t)1 << 20)

static int decode(enum kind kind, const struct buf *text, struct object **ret, struct error *err)
{
    struct json scratch;
    int r = buf_check(text, "a volume found on disk", err);

    if (r < 0)
        return r;
    json_init(&scratch, SCRATCH_BYTES_MAX);
    r = object_decode(kind_info(kind), buf_str(text), &scratch, ret, err);
    json_done(&scratch);
    return r;
}

int reconstruct_pod(const char *volume, const char *pod_uid, const char *source, struct object **ret,
                    struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(TEXT_BYTES_MAX);

    buf_add_cstr(&text, "{\"metadata\":{\"uid\":");
    json_write_string(&text, str_of(pod_uid));
    buf_add_cstr(&text, "},\"spec\":{\"volumes\":[{\"name\":");
    json_write_string(&text, str_of(volume));
    buf_addf(&text, ",%s}]}}", source);
    return decode(KIND_POD, &text, ret, err);
}

int reconstruct_volume(const char *name, const char *source, bool is_block, struct object **ret,
                       struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(TEXT_BYTES_MAX);

    buf_add_cstr(&text, "{\"metadata\":{\"name\":");
    json_write_string(&text, str_of(name));
    buf_addf(&text, "},\"spec\":{\"volumeMode\":\"%s\",%s}}",
             volume_mode_names[is_block ? VOLUME_MODE_BLOCK : VOLUME_MODE_FILESYSTEM], source);
    return decode(KIND_VOLUME, &text, ret, err);
}

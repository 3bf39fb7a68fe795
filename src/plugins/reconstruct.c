#include "plugins/reconstruct.h"

#include "api/json_out.h"
#include "api/kind.h"
#include "base/cleanup.h"

#define TEXT_BYTES_MAX 65536
#define SCRATCH_BYTES_MAX ((size_t)1 << 20)

static int decode(enum kind kind, const struct buf *source, const struct buf *text, struct object **ret,
                  struct error *err)
{
    struct json scratch;
    int r = buf_check(source->failed ? source : text, "a volume found on disk", err);

    if (r < 0)
        return r;
    json_init(&scratch, SCRATCH_BYTES_MAX);
    r = object_decode(kind_info(kind), buf_str(text), &scratch, ret, err);
    json_done(&scratch);
    return r;
}

int reconstruct_pod(const char *volume, const char *pod_uid, const struct buf *source, struct object **ret,
                    struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(TEXT_BYTES_MAX);

    json_out_object(&text, NULL);
    json_out_object(&text, "metadata");
    json_out_text(&text, "uid", pod_uid);
    json_out_end_object(&text);
    json_out_object(&text, "spec");
    json_out_array(&text, "volumes");
    json_out_object(&text, NULL);
    json_out_text(&text, "name", volume);
    json_out_raw(&text, NULL, buf_str(source));
    json_out_end_object(&text);
    json_out_end_array(&text);
    json_out_end_object(&text);
    json_out_end_object(&text);
    return decode(KIND_POD, source, &text, ret, err);
}

int reconstruct_volume(const char *name, const struct buf *source, bool is_block, struct object **ret,
                       struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(TEXT_BYTES_MAX);

    json_out_object(&text, NULL);
    json_out_object(&text, "metadata");
    json_out_text(&text, "name", name);
    json_out_end_object(&text);
    json_out_object(&text, "spec");
    json_out_text(&text, "volumeMode",
                  volume_mode_names[is_block ? VOLUME_MODE_BLOCK : VOLUME_MODE_FILESYSTEM]);
    json_out_raw(&text, NULL, buf_str(source));
    json_out_end_object(&text);
    json_out_end_object(&text);
    return decode(KIND_VOLUME, source, &text, ret, err);
}

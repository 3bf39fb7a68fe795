/* Names, decoding and validation of access modes, volume modes and reclaim policies, which volumes, claims
 * and classes share. Sets of access modes are bit masks; an unknown mode sets ACCESS_UNKNOWN. */
#include "api/storage.h"

#include "api/validate.h"
#include "base/cleanup.h"

const char *const access_mode_names[] = { "ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany",
                                          "ReadWriteOncePod", NULL };
const char *const volume_mode_names[] = {
    [VOLUME_MODE_FILESYSTEM] = "Filesystem",
    [VOLUME_MODE_BLOCK] = "Block",
    [VOLUME_MODE_COUNT] = NULL,
};
const char *const reclaim_policy_names[] = {
    [RECLAIM_RETAIN] = "Retain",
    [RECLAIM_RECYCLE] = "Recycle",
    [RECLAIM_DELETE] = "Delete",
    [RECLAIM_UNKNOWN] = NULL,
};
static const char *const access_mode_short_names[] = { "RWO", "ROX", "RWX", "RWOP" };

static unsigned access_mode_bit(struct str name)
{
    for (unsigned i = 0; access_mode_names[i]; i++)
        if (str_is(name, access_mode_names[i]))
            return 1U << i;
    return ACCESS_UNKNOWN;
}

unsigned decode_access_modes(struct decoder *dec, json_ref object, const char *key)
{
    unsigned modes = 0;

    for (json_ref v = json_first(dec->d, json_get(dec->d, object, key)); v; v = json_next(dec->d, v))
        modes |= access_mode_bit(json_text(dec->d, v));
    return modes;
}

enum volume_mode decode_volume_mode(struct decoder *dec, json_ref object)
{
    return (enum volume_mode)decode_enum(dec, object, "volumeMode", volume_mode_names, VOLUME_MODE_COUNT,
                                         VOLUME_MODE_FILESYSTEM);
}

void access_modes_short(unsigned modes, struct buf *out)
{
    bool first = true;

    for (unsigned i = 0; i < ARRAY_LEN(access_mode_short_names); i++) {
        if (!(modes & 1U << i))
            continue;
        buf_addf(out, "%s%s", first ? "" : ",", access_mode_short_names[i]);
        first = false;
    }
}

void validate_access_modes(struct validation *v, const struct field_path *p, json_ref modes)
{
    unsigned seen = 0;

    for (json_ref m = json_first(v->d, modes); m; m = json_next(v->d, m)) {
        validate_one_of(v, p, json_text(v->d, m), access_mode_names);
        seen |= access_mode_bit(json_text(v->d, m));
    }
    if ((seen & ACCESS_RWOP) && (seen & (ACCESS_RWO | ACCESS_ROX | ACCESS_RWX)))
        errors_forbidden(v->errors, p, "may not use ReadWriteOncePod with other access modes");
}

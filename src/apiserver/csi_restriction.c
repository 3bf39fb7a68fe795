/* Restrictions of CSI sidecars (group berth:csi): what they may not set on volumes and drivers. Compares
 * fields of the old and the new object. */
#include "apiserver/node_restriction.h"

#include "apiserver/user.h"
#include "base/cleanup.h"

#define REFUSAL_BYTES_MAX 8192

/* `persistentvolumes "x" is forbidden: …`. */
static int csi_refuse(const struct restricted_write *w, const char *why, struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(REFUSAL_BYTES_MAX);
    json_ref meta = json_get(w->d, w->object, "metadata");

    forbidden_prefix(str_of(w->kind->plural), str_of(w->kind->group),
                     w->old ? str_of(w->old->name) : json_get_text(w->d, meta, "name"), &text);
    buf_addf(&text, "group \"" GROUP_CSI "\" %s", why);
    return error_set(err, ERR_DENIED, "%s", text.failed ? "forbidden" : buf_cstr(&text));
}

static bool spec_is_recycled(const struct json *d, json_ref spec)
{
    return json_is_string(d, json_get(d, spec, "persistentVolumeReclaimPolicy"), "Recycle");
}

static bool spec_keeps_field(const struct json *d, json_ref old, json_ref now, const char *field)
{
    return json_equal(d, json_get(d, old, field), json_get(d, now, field));
}

static int csi_check_create(const struct restricted_write *w, json_ref spec, struct error *err)
{
    if (!json_get(w->d, spec, "csi"))
        return csi_refuse(w, "can only create volumes with a csi source", err);
    if (spec_is_recycled(w->d, spec))
        return csi_refuse(w, "can only create volumes with the reclaim policy Delete or Retain", err);
    return 0;
}

static int csi_check_update(const struct restricted_write *w, json_ref spec, struct error *err)
{
    struct json *d = w->d;
    json_ref root, old;
    int r = json_parse(d, w->old->text, &root, err);

    if (r < 0)
        return r;
    old = json_get(d, root, "spec");
    if (spec_is_recycled(d, spec) && !spec_is_recycled(d, old))
        return csi_refuse(w, "cannot set the reclaim policy Recycle", err);
    if (!json_get(d, old, "csi") && (!spec_keeps_field(d, old, spec, "persistentVolumeReclaimPolicy") ||
                                     !spec_keeps_field(d, old, spec, "claimRef")))
        return csi_refuse(w, "cannot change the reclaim policy or the claim of a volume without a csi source",
                          err);
    return 0;
}

/* They record the state of a driver in an annotation. */
static int csi_check_driver(const struct restricted_write *w, json_ref spec, struct error *err)
{
    json_ref root;
    int r = json_parse(w->d, w->old->text, &root, err);

    if (r < 0)
        return r;
    return json_equal(w->d, json_get(w->d, root, "spec"), spec)
               ? 0
               : csi_refuse(w, "cannot change the spec of a CSIDriver", err);
}

int csi_restriction(const struct user *u, const struct restricted_write *w, struct error *err)
{
    json_ref spec = json_get(w->d, w->object, "spec");

    if (!user_is_in(u, GROUP_CSI) || user_is_in(u, GROUP_MASTERS) || !w->object || w->access->sub.len)
        return 0;
    if (w->kind->kind == KIND_CSI_DRIVER && w->old)
        return csi_check_driver(w, spec, err);
    if (w->kind->kind != KIND_VOLUME)
        return 0;
    return w->old ? csi_check_update(w, spec, err) : csi_check_create(w, spec, err);
}

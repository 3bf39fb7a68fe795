/* The writers of status: what differs is written, and nothing when nothing does. */
#include "controllers/binder/binder_int.h"

#include <string.h>

#include "api/json_out.h"
#include "base/log.h"
#include "machinery/json_peek.h"

/* --- Volumes --- */

struct volume_status {
    enum volume_phase phase;
    const char *message;
};

static enum api_decision decide_volume_status(void *ctx, const struct object *now, struct buf *body,
                                              struct error *err)
{
    const struct volume_status *status = ctx;
    struct merge_patch p;

    merge_patch_begin(&p, body, now);
    merge_patch_member(&p, "status");
    json_out_object(body, NULL);
    json_out_text(body, "phase", volume_phase_name(status->phase));
    json_out_text(body, "message", status->message[0] ? status->message : NULL);
    json_out_end_object(body);
    return api_decision_of(merge_patch_end(&p, err));
}

bool set_volume_phase(struct sync *s, const struct volume *v, enum volume_phase phase, const char *message,
                      sync_then_fn *then, const void *arg)
{
    struct volume_status status = { phase, message };

    return v->phase != phase && binder_patch(s, &v->obj, "status", decide_volume_status, &status,
                                             API_STEP_VOLUME_STATUS, then, arg);
}

/* --- Claims --- */

/* The parts of a claim and its volume that the status depends on, parsed into one document; 0: absent. */
struct claim_and_volume {
    struct json *d;
    json_ref claim_status;
    json_ref volume_spec;
};

static int read_part(struct json *d, struct str text, json_ref *ret, struct error *err)
{
    return text.len == 0 ? 0 : json_parse(d, text, ret, err);
}

static int read_claim_and_volume(struct binder *b, const struct claim *c, const struct volume *v,
                                 struct claim_and_volume *ret, struct error *err)
{
    int r;

    json_clear(&b->doc);
    *ret = (struct claim_and_volume){ .d = &b->doc };
    r = read_part(ret->d, json_peek(c->obj.text, "status"), &ret->claim_status, err);
    if (r == 0 && v)
        r = read_part(ret->d, json_peek(v->obj.text, "spec"), &ret->volume_spec, err);
    return r;
}

static void write_text(const struct json *d, json_ref v, struct buf *out)
{
    if (v)
        json_write(d, v, out);
}

static bool is_equal(const struct json *d, json_ref a, json_ref b)
{
    struct buf left = BUF_INIT(BINDER_BODY_BYTES_MAX), right = BUF_INIT(BINDER_BODY_BYTES_MAX);
    bool equal;

    write_text(d, a, &left);
    write_text(d, b, &right);
    equal = str_eq(buf_str(&left), buf_str(&right));
    buf_done(&left);
    buf_done(&right);
    return equal;
}

static void clear_member(struct buf *out, const struct claim_and_volume *pair, const char *name)
{
    if (json_get(pair->d, pair->claim_status, name))
        json_out_null(out, name);
}

static void put_modes(struct buf *out, const struct claim_and_volume *pair)
{
    json_ref modes = json_get(pair->d, pair->volume_spec, "accessModes");

    if (is_equal(pair->d, json_get(pair->d, pair->claim_status, "accessModes"), modes))
        return;
    json_out_key(out, "accessModes");
    if (modes)
        json_write(pair->d, modes, out);
    else
        json_out_null(out, NULL);
}

/* The volume's whole map; of what the claim had besides nothing stays. */
static void put_capacity_map(struct buf *out, const struct claim_and_volume *pair)
{
    json_ref map = json_get(pair->d, pair->volume_spec, "capacity");
    json_ref had = json_get(pair->d, pair->claim_status, "capacity");

    json_out_object(out, "capacity");
    for (json_ref m = json_first(pair->d, map); m; m = json_next(pair->d, m)) {
        json_out_key_str(out, json_key(pair->d, m));
        json_write(pair->d, m, out);
    }
    for (json_ref m = json_first(pair->d, had); m; m = json_next(pair->d, m)) {
        if (json_get_key(pair->d, map, json_key(pair->d, m)))
            continue;
        json_out_key_str(out, json_key(pair->d, m));
        json_out_null(out, NULL);
    }
    json_out_end_object(out);
}

/* A resize under way keeps the size from before; else what the volume has. */
static int put_capacity(struct buf *out, const struct claim_and_volume *pair, const struct claim *c,
                        const struct volume *v, struct error *err)
{
    const char *before = object_annotation(&v->obj, ANN_PRE_RESIZE_CAPACITY);
    struct quantity size;
    struct error ignored;

    if (!v->has_capacity)
        return error_set(err, ERR_INVALID, "PersistentVolume \"%s\" is without a storage capacity",
                         v->obj.name);
    if (before) {
        if (quantity_parse(str_of(before), &size, &ignored) < 0)
            size = v->capacity;
        json_out_storage(out, "capacity", &size);
    } else if (!c->has_capacity || quantity_cmp(&c->capacity, &v->capacity) != 0) {
        put_capacity_map(out, pair);
    }
    return 0;
}

static int put_with_volume(struct buf *out, const struct claim_and_volume *pair, enum claim_phase phase,
                           const struct claim *c, const struct volume *v, struct error *err)
{
    int r = 0;

    put_modes(out, pair);
    if (c->phase != phase)
        r = put_capacity(out, pair, c, v, err);
    if (r == 0 && c->phase == CLAIM_PENDING && phase == CLAIM_BOUND &&
        strcmp(c->current_attributes_class, v->attributes_class) != 0)
        json_out_text(out, "currentVolumeAttributesClassName",
                      v->attributes_class[0] ? v->attributes_class : NULL);
    return r;
}

struct claim_status {
    struct binder *binder;
    enum claim_phase phase;
    const struct volume *volume; /* NULL: none */
};

static int write_claim_status(const struct claim_status *s, const struct claim *c, struct buf *out,
                              bool *ret_differs, struct error *err)
{
    struct claim_and_volume pair;
    size_t empty;
    int r = read_claim_and_volume(s->binder, c, s->volume, &pair, err);

    if (r < 0)
        return r;
    json_out_object(out, NULL);
    empty = out->len;
    if (c->phase != s->phase)
        json_out_text(out, "phase", claim_phase_name(s->phase));
    if (s->volume) {
        r = put_with_volume(out, &pair, s->phase, c, s->volume, err);
    } else {
        clear_member(out, &pair, "accessModes");
        clear_member(out, &pair, "capacity");
        clear_member(out, &pair, "currentVolumeAttributesClassName");
    }
    *ret_differs = out->len > empty || out->failed;
    json_out_end_object(out);
    return r;
}

static enum api_decision decide_claim_status(void *ctx, const struct object *now, struct buf *body,
                                             struct error *err)
{
    bool differs = false;
    struct merge_patch p;

    merge_patch_begin(&p, body, now);
    merge_patch_member(&p, "status");
    if (write_claim_status(ctx, claim_of(now), body, &differs, err) < 0)
        return API_REFUSE;
    return differs ? api_decision_of(merge_patch_end(&p, err)) : API_AS_IT_IS;
}

/* Of most claims at most times, and nothing has to be parsed for it. Of a claim that stays in its phase only
 * the modes follow the volume's; one without a volume has none of these. Texts that differ may still mean the
 * same; equal ones do. */
static bool is_written(const struct claim *c, enum claim_phase phase, const struct volume *v)
{
    struct str text = c->obj.text, modes = json_peek(text, "status", "accessModes");

    if (c->phase != phase)
        return false;
    if (v)
        return str_eq(modes, json_peek(v->obj.text, "spec", "accessModes"));
    return modes.len == 0 && json_peek(text, "status", "capacity").len == 0 &&
           json_peek(text, "status", "currentVolumeAttributesClassName").len == 0;
}

void set_claim_status(struct sync *s, const struct claim *c, enum claim_phase phase, const struct volume *v,
                      sync_then_fn *then, const void *arg)
{
    struct claim_status status = { s->ctx, phase, v };

    if (!is_written(c, phase, v))
        (void)binder_patch(s, &c->obj, "status", decide_claim_status, &status, API_STEP_CLAIM_STATUS, then,
                           arg);
}

/* Snapshots that are being created: in memory, and in the durable record of calls (controllers/call_record.h)
 * from before the first CreateSnapshot until its result is known.
 *
 * The mark on the content says the same as long as the content exists, and its finalizer keeps it. A content
 * whose finalizers somebody has removed by hand is known by the record: its creation is brought to its end,
 * and the snapshot is deleted.
 *
 * Costs: one entry per creation without a known result; entries of one turn are one write. */
#include "controllers/csi/csi_snapshotter_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_out.h"
#include "base/log.h"
#include "machinery/json_peek.h"

#define RECORD_PREFIX "berth-csi-snapshots-"

/* One creation; its key is the name of the content. */
struct csi_snapshot_creation {
    struct object *content; /* as it was when it was recorded */
};

const struct object *csi_snapshot_creation(const struct csi_snapshotter *s, struct str key)
{
    const struct csi_snapshot_creation *c = map_get(&s->creations, key);

    return c ? c->content : NULL;
}

static void creation_free(struct csi_snapshot_creation *c)
{
    (void)object_unref(c->content);
    free(c);
}

static int creation_add(struct csi_snapshotter *s, const struct object *content, struct error *err)
{
    struct csi_snapshot_creation *c = calloc(1, sizeof *c);
    void *old = NULL;

    if (!c)
        return error_no_memory(err);
    c->content = object_ref(content);
    if (map_put(&s->creations, str_of(content->name), c, &old) < 0) {
        creation_free(c);
        return error_no_memory(err);
    }
    if (old)
        creation_free(old); /* of an earlier content with this name, which has ended */
    return 0;
}

void csi_snapshot_creation_end(struct csi_snapshotter *s, struct str key)
{
    struct csi_snapshot_creation *c = map_remove(&s->creations, key);

    if (!c)
        return;
    call_record_remove(s->record, c->content->uid);
    creation_free(c);
}

/* --- As JSON: a content with what a repeated call needs --- */

static void write_creation(struct buf *out, const struct object *o)
{
    static const char *const annotations[] = { ANN_SNAPSHOT_SECRET_NAME, ANN_SNAPSHOT_SECRET_NAMESPACE };

    json_out_object(out, NULL);
    json_out_object(out, "metadata");
    json_out_text(out, "name", o->name);
    json_out_text(out, "uid", o->uid);
    json_out_object(out, "annotations");
    for (size_t i = 0; i < ARRAY_LEN(annotations); i++)
        if (object_annotation(o, annotations[i]))
            json_out_text(out, annotations[i], object_annotation(o, annotations[i]));
    json_out_end_object(out);
    json_out_end_object(out);
    json_out_raw(out, "spec", json_peek(o->text, "spec"));
    json_out_end_object(out);
}

int csi_snapshot_creation_begin(struct csi_snapshotter *s, const struct object *content,
                                struct call_record_write *w, struct error *err)
{
    _cleanup_(buf_done_p) struct buf value = BUF_INIT(CALL_RECORD_VALUE_BYTES_MAX);
    int r;

    write_creation(&value, content);
    r = buf_check(&value, "record of a call", err);
    if (r == 0)
        r = creation_add(s, content, err);
    if (r < 0)
        return r;
    r = call_record_put(s->record, content->uid, buf_str(&value), w, err);
    if (r < 0)
        creation_free(map_remove(&s->creations, str_of(content->name)));
    return r;
}

static void on_record_entry(void *ctx, const char *uid, struct str value)
{
    _cleanup_(object_unref_p) struct object *content = NULL;
    _cleanup_(json_done_p) struct json scratch;
    struct csi_snapshotter *s = ctx;
    struct error err;
    int r;

    json_init(&scratch, CALL_RECORD_VALUE_BYTES_MAX);
    r = object_decode(kind_info(KIND_SNAPSHOT_CONTENT), value, &scratch, &content, &err);
    if (r == 0 && (strcmp(content->uid, uid) != 0 || content->name[0] == '\0'))
        r = error_set(&err, ERR_INVALID, "content has another uid or no name");
    if (r == 0)
        r = creation_add(s, content, &err);
    if (r < 0) {
        log_error("entry in the record of calls is damaged, ignoring it: a snapshot may be left",
                  LOG_STR("driver", csi_peer_name(s->o.peer)), LOG_STR("content_uid", uid), LOG_ERR(&err));
        return;
    }
    component_add(s->controller, content);
}

/* --- Life --- */

static void on_record_loaded(void *ctx)
{
    struct csi_snapshotter *s = ctx;

    s->is_loaded = true;
    controller_wake(s->controller);
}

int csi_snapshot_record_open(struct csi_snapshotter *s, struct error *err)
{
    const struct call_record_options o = { .part = s->o.part,
                                           .ns = s->o.record_ns,
                                           .name = s->record_name,
                                           .node_name = s->o.node_name,
                                           .on_loaded = on_record_loaded,
                                           .on_entry = on_record_entry,
                                           .ctx = s };
    const char *node = s->o.node_name;

    (void)snprintf(s->record_name, sizeof s->record_name, RECORD_PREFIX "%s%s%s", csi_peer_name(s->o.peer),
                   node ? "-" : "", node ? node : "");
    return call_record_new(&o, &s->record, err);
}

void csi_snapshot_record_close(struct csi_snapshotter *s)
{
    struct csi_snapshot_creation *c;

    s->record = call_record_free(s->record);
    for (size_t at = 0; (c = map_next(&s->creations, &at, NULL));)
        creation_free(c);
    map_done(&s->creations);
}

/* Writes objects, lists and watch events in the requested representation. Objects of the plain representation
 * are copied; tables and events of the other group are built per object. */
#include "apiserver/render.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "api/event.h"
#include "api/json_out.h"
#include "apiserver/partial.h"
#include "apiserver/server.h"
#include "apiserver/table.h"
#include "base/cleanup.h"

#define INITIAL_EVENTS_END "k8s.io/initial-events-end"

static const char *const watch_event_names[] = {
    [WATCH_ADDED] = "ADDED",
    [WATCH_MODIFIED] = "MODIFIED",
    [WATCH_DELETED] = "DELETED",
};
static_assert(ARRAY_LEN(watch_event_names) == WATCH_EVENT_TYPE_COUNT, "name every event");

struct rendering rendering_of(const struct call *c)
{
    return (struct rendering){
        .resource = c->route.resource,
        .view = c->view,
        .now = apiserver_now(c->server),
        .scratch = &c->server->doc,
    };
}

/* --- Events of the other group --- */

/* Bare metadata and table cells are the same in both groups. */
static bool needs_event_v1(const struct rendering *r)
{
    if (r->resource->info->kind != KIND_EVENT_V1)
        return false;
    return r->view.shape == SHAPE_OBJECT ||
           (r->view.shape == SHAPE_TABLE && r->view.include == INCLUDE_OBJECT);
}

static int make_event_v1(const struct rendering *r, const struct object *o, struct object **ret,
                         struct error *err)
{
    json_ref v;
    int e;

    json_clear(r->scratch);
    e = json_parse(r->scratch, o->text, &v, err);
    if (e == 0)
        e = event_to_v1(r->scratch, v, err);
    return e == 0 ? object_new(&event_v1_kind, r->scratch, v, ret, err) : e;
}

/* NULL after a failure, which then sticks in the buffer. */
static struct object *event_v1_of(const struct rendering *r, const struct object *o, struct buf *out)
{
    struct object *converted = NULL;
    struct error err;

    if (make_event_v1(r, o, &converted, &err) < 0 && !out->failed)
        buf_fail(out, err.code == ERR_NO_MEMORY ? ERR_NO_MEMORY : ERR_TOO_LARGE);
    return converted;
}

int render_as_object(const struct rendering *r, const struct object *o, struct object **ret,
                     struct error *err)
{
    if (needs_event_v1(r))
        return make_event_v1(r, o, ret, err);
    *ret = object_ref(o);
    return 0;
}

/* --- Objects and lists --- */

static struct table_options table_options_of(const struct rendering *r, bool omits_columns)
{
    return (struct table_options){
        .now = r->now,
        .include = r->view.include,
        .version = r->view.shape_version,
        .omits_columns = omits_columns,
    };
}

void render_list_begin(const struct rendering *r, const struct list_meta *meta, struct buf *out)
{
    struct table_options how = table_options_of(r, /* omits_columns= */ false);

    switch (r->view.shape) {
    case SHAPE_OBJECT:
        list_write_begin(r->resource->info, meta, out);
        break;
    case SHAPE_TABLE:
        table_write_begin(r->resource->info, meta, &how, out);
        break;
    case SHAPE_PARTIAL:
        partial_write_list_begin(meta, r->view.shape_version, out);
        break;
    }
}

static void write_item(const struct rendering *r, const struct object *o, struct buf *out)
{
    struct table_options how;

    switch (r->view.shape) {
    case SHAPE_OBJECT:
        list_write_item(o->kind, o, out);
        break;
    case SHAPE_TABLE:
        how = table_options_of(r, /* omits_columns= */ false);
        table_write_row(o, &how, out);
        break;
    case SHAPE_PARTIAL:
        partial_write(o, r->view.shape_version, out);
        break;
    }
}

void render_list_item(const struct rendering *r, const struct object *o, struct buf *out)
{
    _cleanup_(object_unref_p) struct object *converted = NULL;

    if (needs_event_v1(r)) {
        converted = event_v1_of(r, o, out);
        o = converted;
    }
    if (o)
        write_item(r, o, out);
}

void render_list(const struct rendering *r, const struct list_meta *meta, const struct object *const *objects,
                 size_t count, struct buf *out)
{
    render_list_begin(r, meta, out);
    for (size_t i = 0; i < count; i++) {
        if (i)
            buf_add_char(out, ',');
        render_list_item(r, objects[i], out);
    }
    buf_add_cstr(out, LIST_WRITE_END);
}

static void write_object(const struct rendering *r, const struct object *o, bool omits_columns,
                         struct buf *out)
{
    struct table_options how = table_options_of(r, omits_columns);

    switch (r->view.shape) {
    case SHAPE_OBJECT:
        buf_add_str(out, o->text);
        break;
    case SHAPE_TABLE:
        table_write_object(o, &how, out);
        break;
    case SHAPE_PARTIAL:
        partial_write(o, r->view.shape_version, out);
        break;
    }
}

/* Writes the object as it is, or converted to the other group. */
static void write_converted(const struct rendering *r, const struct object *o, bool omits_columns,
                            struct buf *out)
{
    _cleanup_(object_unref_p) struct object *converted = NULL;

    if (needs_event_v1(r)) {
        converted = event_v1_of(r, o, out);
        o = converted;
    }
    if (o)
        write_object(r, o, omits_columns, out);
}

void render_object(const struct rendering *r, const struct object *o, struct buf *out)
{
    write_converted(r, o, /* omits_columns= */ false, out);
}

/* --- Watches --- */

/* Writes up to the object, whose text follows. */
static void open_watch_event(const char *type, struct buf *out)
{
    json_out_object(out, NULL);
    json_out_text(out, "type", type);
    json_out_key(out, "object");
}

static void close_watch_event(struct buf *out)
{
    json_out_end_object(out);
    buf_add_char(out, '\n');
}

void render_watch_event(const struct rendering *r, enum watch_event_type type, const struct object *o,
                        bool has_columns, struct buf *out)
{
    open_watch_event(watch_event_names[type], out);
    write_converted(r, o, !has_columns, out);
    close_watch_event(out);
}

/* Kind and apiVersion of the objects of a watch with this view. */
static void write_type(const struct rendering *r, struct buf *out)
{
    const char *group = r->resource->group;

    if (r->view.shape == SHAPE_PARTIAL) {
        json_out_text(out, "kind", "PartialObjectMetadata");
        json_out_textf(out, "apiVersion", "meta.k8s.io/%s", r->view.shape_version);
        return;
    }
    json_out_text(out, "kind", r->resource->kind);
    json_out_textf(out, "apiVersion", "%s%s%s", group, group[0] != '\0' ? "/" : "", r->resource->version);
}

static void write_table_bookmark(const struct rendering *r, int64_t revision, struct buf *out)
{
    struct table_options how = table_options_of(r, /* omits_columns= */ true);
    struct list_meta meta = { .remaining = -1 };
    char text[24];

    meta.resource_version = (struct str){ text, (size_t)snprintf(text, sizeof text, "%" PRId64, revision) };
    table_write(r->resource->info, &meta, NULL, 0, &how, out);
}

static void write_object_bookmark(const struct rendering *r, int64_t revision, bool ends_initial_events,
                                  struct buf *out)
{
    json_out_object(out, NULL);
    write_type(r, out);
    json_out_object(out, "metadata");
    json_out_textf(out, "resourceVersion", "%" PRId64, revision);
    json_out_null(out, "creationTimestamp");
    if (ends_initial_events) {
        json_out_object(out, "annotations");
        json_out_text(out, INITIAL_EVENTS_END, "true");
        json_out_end_object(out);
    }
    json_out_end_object(out);
    json_out_end_object(out);
}

void render_bookmark(const struct rendering *r, int64_t revision, bool ends_initial_events, struct buf *out)
{
    open_watch_event("BOOKMARK", out);
    if (r->view.shape == SHAPE_TABLE) /* a Table has list metadata, which has no annotations */
        write_table_bookmark(r, revision, out);
    else
        write_object_bookmark(r, revision, ends_initial_events, out);
    close_watch_event(out);
}

void render_watch_error(const struct error *e, struct buf *out)
{
    open_watch_event("ERROR", out);
    status_write_error(e, /* about= */ NULL, out);
    close_watch_event(out);
}

/* --- Responses --- */

static void answer_rendered(struct call *c, int status, const struct object *o, const struct rendering *r)
{
    struct error err;

    if (!c->wants_objects) {
        render_object(r, o, &c->reply);
        call_answer_json_reply(c, status);
    } else if (render_as_object(r, o, &c->result, &err) == 0) {
        call_answer_objects(c, status);
    } else {
        call_fail(c, &err, /* about= */ NULL);
    }
}

void call_answer_object(struct call *c, int status, const struct object *o)
{
    struct rendering r = rendering_of(c);

    answer_rendered(c, status, o, &r);
}

void call_answer_written(struct call *c, int status, const struct object *o)
{
    struct rendering r = rendering_of(c);

    if (r.view.shape == SHAPE_TABLE)
        r.view.shape = SHAPE_OBJECT;
    answer_rendered(c, status, o, &r);
}

/* Frames the cells of the kinds' files as Tables of meta.k8s.io: columns, rows and documents. Writes directly
 * into the buffer, without a tree. */
#include "apiserver/table.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "api/json.h"
#include "api/json_out.h"
#include "apiserver/partial.h"
#include "apiserver/table_int.h"

static const struct table_kind *const tables[] = {
    [KIND_VOLUME] = &volume_table,
    [KIND_CLAIM] = &claim_table,
    [KIND_CLASS] = &class_table,
    [KIND_ATTACHMENT] = &attachment_table,
    [KIND_CSI_DRIVER] = &csi_driver_table,
    [KIND_CSI_NODE] = &csi_node_table,
    [KIND_CSI_CAPACITY] = &csi_capacity_table,
    [KIND_ATTRIBUTES_CLASS] = &attributes_class_table,
    [KIND_POD] = &pod_table,
    [KIND_NODE] = &node_table,
    [KIND_NAMESPACE] = &namespace_table,
    [KIND_EVENT] = &event_table,
    [KIND_EVENT_V1] = &event_table,
    [KIND_CONFIG_MAP] = &config_map_table,
    [KIND_SECRET] = &secret_table,
    [KIND_SERVICE_ACCOUNT] = &service_account_table,
    [KIND_LEASE] = &lease_table,
    [KIND_SNAPSHOT] = &snapshot_table,
    [KIND_SNAPSHOT_CONTENT] = &snapshot_content_table,
    [KIND_SNAPSHOT_CLASS] = &snapshot_class_table,
    [KIND_SERVICE] = &service_table,
    [KIND_ENDPOINTS] = &endpoints_table,
    [KIND_ENDPOINT_SLICE] = &endpoint_slice_table,
    [KIND_GROUP_SNAPSHOT] = &group_snapshot_table,
    [KIND_GROUP_SNAPSHOT_CONTENT] = &group_snapshot_content_table,
    [KIND_GROUP_SNAPSHOT_CLASS] = &group_snapshot_class_table,
};
static_assert(ARRAY_LEN(tables) == KIND_COUNT, "a table for every kind");

/* --- Cells --- */

void cell_text(struct cells *c, const char *text)
{
    json_out_text(c->out, NULL, text);
}

void cell_text_or(struct cells *c, const char *text, const char *fallback)
{
    cell_text(c, text[0] ? text : fallback);
}

void cell_text_or_null(struct cells *c, const char *text)
{
    if (text[0])
        cell_text(c, text);
    else
        cell_null(c);
}

void cell_int(struct cells *c, int64_t value)
{
    json_out_int(c->out, NULL, value);
}

void cell_bool(struct cells *c, bool value)
{
    json_out_bool(c->out, NULL, value);
}

void cell_null(struct cells *c)
{
    json_out_null(c->out, NULL);
}

void cell_quantity(struct cells *c, const struct quantity *q)
{
    json_out_quantity(c->out, NULL, q);
}

void cell_age(struct cells *c, struct timestamp t)
{
    cell_open(c);
    timestamp_age(t, c->now, c->out);
    cell_close(c);
}

void cell_open(struct cells *c)
{
    json_out_key(c->out, NULL);
    buf_add_char(c->out, '"');
}

void cell_add(struct cells *c, const char *text)
{
    json_write_chars(c->out, str_of(text));
}

void cell_close(struct cells *c)
{
    buf_add_char(c->out, '"');
}

/* --- Columns and rows --- */

void table_write_columns(const struct kind_info *k, struct buf *out)
{
    const struct table_kind *t = tables[k->kind];

    json_out_array(out, NULL);
    for (const struct column *c = t->columns; c < t->columns + t->columns_count; c++) {
        json_out_object(out, NULL);
        json_out_text(out, "name", c->name);
        json_out_text(out, "type", c->type);
        json_out_text(out, "format", c->format ? c->format : "");
        json_out_text(out, "description", c->description);
        json_out_int(out, "priority", c->priority);
        json_out_end_object(out);
    }
    json_out_end_array(out);
}

static void write_included(const struct object *o, const struct table_options *how, struct buf *out)
{
    switch (how->include) {
    case INCLUDE_METADATA:
        partial_write(o, how->version, out);
        break;
    case INCLUDE_OBJECT:
        buf_add_str(out, o->text);
        break;
    case INCLUDE_NONE:
        buf_add_cstr(out, "null");
        break;
    }
}

void table_write_row(const struct object *o, const struct table_options *how, struct buf *out)
{
    const struct table_kind *t = tables[o->kind->kind];
    struct cells c = { .out = out, .now = how->now };

    json_out_object(out, NULL);
    json_out_array(out, "cells");
    t->write_cells(o, &c);
    json_out_end_array(out);
    if (t->write_conditions)
        t->write_conditions(o, out);
    json_out_key(out, "object");
    write_included(o, how, out);
    json_out_end_object(out);
}

/* --- Documents --- */

void table_write_begin(const struct kind_info *k, const struct list_meta *meta,
                       const struct table_options *how, struct buf *out)
{
    json_out_object(out, NULL);
    json_out_text(out, "kind", "Table");
    json_out_textf(out, "apiVersion", "meta.k8s.io/%s", how->version);
    list_write_meta(meta, out);
    json_out_key(out, "columnDefinitions");
    if (how->omits_columns)
        buf_add_cstr(out, "null");
    else
        table_write_columns(k, out);
    json_out_array(out, "rows");
}

void table_write(const struct kind_info *k, const struct list_meta *meta, const struct object *const *objects,
                 size_t count, const struct table_options *how, struct buf *out)
{
    table_write_begin(k, meta, how, out);
    for (size_t i = 0; i < count; i++) {
        assert(k);
        assert(tables[objects[i]->kind->kind] == tables[k->kind]);
        table_write_row(objects[i], how, out);
    }
    buf_add_cstr(out, LIST_WRITE_END);
}

void table_write_object(const struct object *o, const struct table_options *how, struct buf *out)
{
    char revision[24];
    struct list_meta meta = { .remaining = -1 };

    (void)snprintf(revision, sizeof revision, "%" PRId64, o->revision);
    meta.resource_version = str_of(revision);
    table_write(o->kind, &meta, &o, 1, how, out);
}

/* The Event kind in both API groups: schemas, conversion between the two forms, validation and decoding.
 *
 * A conversion renames fields and normalizes the tree again: O(fields). Names are exchanged in pairs, so that
 * no value is lost. Events of events.k8s.io have stricter rules than core/v1 events, which older clients
 * write freely. */
#include "api/event.h"

#include "api/meta.h"
#include "api/validate.h"

#define EVENT_WORD_BYTES_MAX 128
#define EVENT_MESSAGE_BYTES_MAX 1024
#define EVENT_SERIES_COUNT_MIN 2

/* --- Schemas --- */

static const struct field event_source_fields[] = {
    { "component", FIELD_STRING, .number = 1 },
    { "host", FIELD_STRING, .number = 2 },
};
static const struct schema event_source_schema = SCHEMA("EventSource", event_source_fields);

static const struct field core_series_fields[] = {
    { "count", FIELD_INT32, .number = 1 },
    { "lastObservedTime", FIELD_MICRO_TIME, .number = 2 },
};
static const struct schema core_series_schema = SCHEMA("EventSeries", core_series_fields);

static const struct field core_event_fields[] = {
    SCHEMA_OBJECT_FIELDS,
    { "involvedObject", FIELD_OBJECT, .sub = &object_reference_schema, .flags = FIELD_ALWAYS, .number = 2 },
    { "reason", FIELD_STRING, .number = 3 },
    { "message", FIELD_STRING, .number = 4 },
    { "source", FIELD_OBJECT, .sub = &event_source_schema, .flags = FIELD_ALWAYS, .number = 5 },
    { "firstTimestamp", FIELD_TIME, .number = 6 },
    { "lastTimestamp", FIELD_TIME, .number = 7 },
    { "count", FIELD_INT32, .number = 8 },
    { "type", FIELD_STRING, .number = 9 },
    { "eventTime", FIELD_MICRO_TIME, .number = 10 },
    { "series", FIELD_OBJECT, .sub = &core_series_schema, .number = 11 },
    { "action", FIELD_STRING, .number = 12 },
    { "related", FIELD_OBJECT, .sub = &object_reference_schema, .number = 13 },
    { "reportingComponent", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 14 },
    { "reportingInstance", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 15 },
};
static const struct schema core_event_schema = SCHEMA("Event", core_event_fields);

static const struct field v1_series_fields[] = {
    { "count", FIELD_INT32, .flags = FIELD_ALWAYS, .number = 1 },
    { "lastObservedTime", FIELD_MICRO_TIME, .number = 2 },
};
static const struct schema v1_series_schema = SCHEMA("EventSeries", v1_series_fields);

static const struct field v1_event_fields[] = {
    SCHEMA_OBJECT_FIELDS,
    { "eventTime", FIELD_MICRO_TIME, .number = 2 },
    { "series", FIELD_OBJECT, .sub = &v1_series_schema, .number = 3 },
    { "reportingController", FIELD_STRING, .number = 4 },
    { "reportingInstance", FIELD_STRING, .number = 5 },
    { "action", FIELD_STRING, .number = 6 },
    { "reason", FIELD_STRING, .number = 7 },
    { "regarding", FIELD_OBJECT, .sub = &object_reference_schema, .flags = FIELD_ALWAYS, .number = 8 },
    { "related", FIELD_OBJECT, .sub = &object_reference_schema, .number = 9 },
    { "note", FIELD_STRING, .number = 10 },
    { "type", FIELD_STRING, .number = 11 },
    { "deprecatedSource", FIELD_OBJECT, .sub = &event_source_schema, .flags = FIELD_ALWAYS, .number = 12 },
    { "deprecatedFirstTimestamp", FIELD_TIME, .number = 13 },
    { "deprecatedLastTimestamp", FIELD_TIME, .number = 14 },
    { "deprecatedCount", FIELD_INT32, .number = 15 },
};
static const struct schema v1_event_schema = SCHEMA("Event", v1_event_fields);

/* --- The two forms --- */

/* Fields with a different name in each form. */
enum event_field {
    EVENT_INVOLVED,
    EVENT_MESSAGE,
    EVENT_SOURCE,
    EVENT_FIRST,
    EVENT_LAST,
    EVENT_OCCURRENCES,
    EVENT_CONTROLLER,
    EVENT_FIELD_COUNT,
};

static const struct {
    const char *core;
    const char *v1;
    const char *path; /* in error texts, for both forms */
} event_fields[] = {
    [EVENT_INVOLVED] = { "involvedObject", "regarding", "involvedObject" },
    [EVENT_MESSAGE] = { "message", "note", "message" },
    [EVENT_SOURCE] = { "source", "deprecatedSource", "source" },
    [EVENT_FIRST] = { "firstTimestamp", "deprecatedFirstTimestamp", "firstTimestamp" },
    [EVENT_LAST] = { "lastTimestamp", "deprecatedLastTimestamp", "lastTimestamp" },
    [EVENT_OCCURRENCES] = { "count", "deprecatedCount", "count" },
    [EVENT_CONTROLLER] = { "reportingComponent", "reportingController", "reportingController" },
};
static_assert(ARRAY_LEN(event_fields) == EVENT_FIELD_COUNT, "name every field");

static const char *event_field_name(const struct kind_info *form, enum event_field field)
{
    return form->kind == KIND_EVENT_V1 ? event_fields[field].v1 : event_fields[field].core;
}

/* The name of a field in the other form; the same name if the field has only one. */
static struct str event_partner(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(event_fields); i++) {
        if (str_is(name, event_fields[i].core))
            return str_of(event_fields[i].v1);
        if (str_is(name, event_fields[i].v1))
            return str_of(event_fields[i].core);
    }
    return name;
}

/* Moves each member from the front to the back with its new name: the order is kept, and because names are
 * exchanged in pairs no value replaces another. */
static void event_rename_fields(struct json *d, json_ref event)
{
    for (uint32_t left = json_count(d, event); left && !d->failed; left--) {
        json_ref m = json_first(d, event);
        json_unlink(d, m);
        json_add_member(d, event, event_partner(json_key(d, m)), m);
    }
}

static int event_convert(struct json *d, json_ref event, const struct kind_info *to, struct error *err)
{
    _cleanup_(buf_done_p) struct buf api_version = BUF_INIT(64);

    kind_api_version(to, &api_version);
    if (!json_is_string(d, json_get(d, event, "apiVersion"), buf_cstr(&api_version))) {
        event_rename_fields(d, event);
        json_set_string(d, event, "apiVersion", buf_cstr(&api_version));
    }
    return schema_normalize(to->schema, d, event, SCHEMA_KEEP_UNKNOWN, /* report= */ NULL, err);
}

int event_to_core(struct json *d, json_ref event, struct error *err)
{
    return event_convert(d, event, &event_kind, err);
}

int event_to_v1(struct json *d, json_ref event, struct error *err)
{
    return event_convert(d, event, &event_v1_kind, err);
}

/* --- Validation --- */

static json_ref event_get(const struct validation *v, json_ref event, enum event_field field)
{
    return json_get(v->d, event, event_field_name(v->kind, field));
}

static void event_refuse(struct validation *v, const char *path, const char *detail)
{
    struct field_path at = path_child(NULL, path);

    errors_invalid(v->errors, &at, "\"\"", detail); /* the API shows no value here */
}

/* An event about an object is in the object's namespace; an event about a cluster-scoped object in `default`,
 * and for new-style events also in `kube-system`. */
static void event_validate_namespace(struct validation *v, bool is_new_style)
{
    struct field_path involved_at = path_child(NULL, event_fields[EVENT_INVOLVED].path);
    struct field_path at = path_child(&involved_at, "namespace");
    struct str involved = json_get_text(v->d, event_get(v, v->object, EVENT_INVOLVED), "namespace");
    struct str own = json_get_text(v->d, json_get(v->d, v->object, "metadata"), "namespace");
    bool ok;

    if (involved.len == 0)
        ok = str_is(own, "default") || (is_new_style ? str_is(own, "kube-system") : own.len == 0);
    else
        ok = is_new_style || str_eq(own, involved);
    if (!ok)
        errors_invalid(v->errors, &at, show_text(v->errors, involved), "does not match event.namespace");
}

static void event_check_length(struct validation *v, const char *path, struct str text, size_t bytes_max)
{
    if (text.len > bytes_max)
        event_refuse(v, path, errors_printf(v->errors, "can have at most %zu characters", bytes_max));
}

/* A required, short text. */
static void event_validate_word(struct validation *v, const char *key)
{
    event_check_length(v, key, validate_required_text(v, NULL, v->object, key), EVENT_WORD_BYTES_MAX);
}

static void event_validate_new_style(struct validation *v)
{
    struct field_path controller_at = path_child(NULL, event_fields[EVENT_CONTROLLER].path);
    struct str controller = json_text(v->d, event_get(v, v->object, EVENT_CONTROLLER));

    if (controller.len == 0)
        errors_required(v->errors, &controller_at, "");
    validate_name(v, &controller_at, NAME_QUALIFIED, controller);
    event_validate_word(v, "reportingInstance");
    event_validate_word(v, "action");
    event_validate_word(v, "reason");
    event_check_length(v, event_fields[EVENT_MESSAGE].path,
                       json_text(v->d, event_get(v, v->object, EVENT_MESSAGE)), EVENT_MESSAGE_BYTES_MAX);
}

static void event_validate(struct validation *v)
{
    struct field_path namespace_at = path_child(NULL, "namespace");
    bool is_new_style = json_get(v->d, v->object, "eventTime") != 0;

    event_validate_namespace(v, is_new_style);
    if (is_new_style)
        event_validate_new_style(v);
    validate_name(v, &namespace_at, NAME_DNS_SUBDOMAIN,
                  json_get_text(v->d, json_get(v->d, v->object, "metadata"), "namespace"));
}

static void event_validate_series(struct validation *v)
{
    struct field_path series_at = path_child(NULL, "series"),
                      last_at = path_child(&series_at, "lastObservedTime");
    json_ref series = json_get(v->d, v->object, "series");
    int64_t count = 0;

    if (!series)
        return;
    (void)json_int64(v->d, json_get(v->d, series, "count"), &count); /* absent counts as 0 */
    if (count < EVENT_SERIES_COUNT_MIN)
        event_refuse(v, "series.count", "should be at least 2");
    if (!json_get(v->d, series, "lastObservedTime"))
        errors_required(v->errors, &last_at, "");
}

/* Fields of the old style, which events.k8s.io returns but does not accept. */
static void event_validate_unset(struct validation *v)
{
    static const enum event_field old[] = { EVENT_FIRST, EVENT_LAST, EVENT_OCCURRENCES };
    json_ref source = event_get(v, v->object, EVENT_SOURCE);

    for (size_t i = 0; i < ARRAY_LEN(old); i++)
        if (event_get(v, v->object, old[i]))
            event_refuse(v, event_fields[old[i]].path, "needs to be unset");
    if (json_get(v->d, source, "component") || json_get(v->d, source, "host"))
        event_refuse(v, event_fields[EVENT_SOURCE].path, "needs to be unset");
}

static void event_v1_validate(struct validation *v)
{
    struct field_path time_at = path_child(NULL, "eventTime");
    struct str type = json_get_text(v->d, v->object, "type");

    event_validate(v);
    if (v->old)
        return; /* an event created through core/v1 may still be counted */
    event_validate_series(v);
    if (!json_get(v->d, v->object, "eventTime"))
        errors_required(v->errors, &time_at, "");
    if (!str_is(type, "Normal") && !str_is(type, "Warning"))
        event_refuse(v, "type", errors_printf(v->errors, "has invalid value: %.*s", STR_ARG(type)));
    event_validate_unset(v);
}

/* Only series and metadata may change. */
static void event_v1_validate_update(struct validation *v)
{
    static const struct {
        const char *key, *path, *zero; /* zero: the text for an absent value */
    } fixed[] = {
        { "regarding", "involvedObject", "{}" },
        { "reason", "reason", "\"\"" },
        { "note", "message", "\"\"" },
        { "deprecatedSource", "source", "{}" },
        { "deprecatedFirstTimestamp", "firstTimestamp", "null" },
        { "deprecatedLastTimestamp", "lastTimestamp", "null" },
        { "deprecatedCount", "count", "0" },
        { "reason", "reason", "\"\"" }, /* the API reports it twice */
        { "type", "type", "\"\"" },
        { "eventTime", "eventTime", "null" },
        { "action", "action", "\"\"" },
        { "related", "related", "null" },
        { "reportingController", "reportingController", "\"\"" },
        { "reportingInstance", "reportingInstance", "\"\"" },
    };

    if (!json_equal(v->d, json_get(v->d, v->object, "series"), json_get(v->d, v->old, "series")))
        event_validate_series(v);
    for (size_t i = 0; i < ARRAY_LEN(fixed); i++) {
        struct field_path at = path_child(NULL, fixed[i].path);
        json_ref now = json_get(v->d, v->object, fixed[i].key);
        if (!json_equal(v->d, now, json_get(v->d, v->old, fixed[i].key)))
            errors_invalid(v->errors, &at, now ? show_value(v->errors, v->d, now) : fixed[i].zero,
                           "field is immutable");
    }
}

/* --- The view --- */

static struct event_object event_decode_object(struct decoder *dec, json_ref reference)
{
    return (struct event_object){
        .kind = decode_text(dec, reference, "kind"),
        .ns = decode_text(dec, reference, "namespace"),
        .name = decode_text(dec, reference, "name"),
        .uid = decode_text(dec, reference, "uid"),
        .api_version = decode_text(dec, reference, "apiVersion"),
        .resource_version = decode_text(dec, reference, "resourceVersion"),
        .field_path = decode_text(dec, reference, "fieldPath"),
    };
}

static void event_decode(struct decoder *dec, json_ref object, struct object *o)
{
    struct event *e = CONTAINER_OF(o, struct event, obj);
    const struct kind_info *k = o->kind;
    json_ref source = json_get(dec->d, object, event_field_name(k, EVENT_SOURCE));
    json_ref series = json_get(dec->d, object, "series");

    e->involved = event_decode_object(dec, json_get(dec->d, object, event_field_name(k, EVENT_INVOLVED)));
    e->reason = decode_text(dec, object, "reason");
    e->message = decode_text(dec, object, event_field_name(k, EVENT_MESSAGE));
    e->type = decode_text(dec, object, "type");
    e->source_component = decode_text(dec, source, "component");
    e->source_host = decode_text(dec, source, "host");
    e->action = decode_text(dec, object, "action");
    e->reporting_controller = decode_text(dec, object, event_field_name(k, EVENT_CONTROLLER));
    e->reporting_instance = decode_text(dec, object, "reportingInstance");
    (void)decode_time(dec, object, event_field_name(k, EVENT_FIRST), &e->first); /* absent times stay zero */
    (void)decode_time(dec, object, event_field_name(k, EVENT_LAST), &e->last);
    (void)decode_time(dec, object, "eventTime", &e->time);
    (void)decode_time(dec, series, "lastObservedTime", &e->series_last);
    e->count = (int32_t)decode_int(dec, object, event_field_name(k, EVENT_OCCURRENCES), 0);
    e->series_count = (int32_t)decode_int(dec, series, "count", 0);
}

/* --- Field selectors: the same values under each form's names --- */

static const struct event *event_of(const struct object *o)
{
    return (const void *)o; /* the object is the event's first member */
}

#define EVENT_SELECT(name, value)                            \
    static const char *select_##name(const struct object *o) \
    {                                                        \
        return event_of(o)->value;                           \
    }
EVENT_SELECT(kind, involved.kind)
EVENT_SELECT(ns, involved.ns)
EVENT_SELECT(name, involved.name)
EVENT_SELECT(uid, involved.uid)
EVENT_SELECT(api_version, involved.api_version)
EVENT_SELECT(resource_version, involved.resource_version)
EVENT_SELECT(field_path, involved.field_path)
EVENT_SELECT(reason, reason)
EVENT_SELECT(type, type)
EVENT_SELECT(controller, reporting_controller)

/* New-style events have no source; the reporting controller is used instead. */
static const char *select_source(const struct object *o)
{
    const struct event *e = event_of(o);

    return e->source_component[0] != '\0' ? e->source_component : e->reporting_controller;
}

static const struct selectable core_selectable[] = {
    { "involvedObject.kind", select_kind },
    { "involvedObject.namespace", select_ns },
    { "involvedObject.name", select_name },
    { "involvedObject.uid", select_uid },
    { "involvedObject.apiVersion", select_api_version },
    { "involvedObject.resourceVersion", select_resource_version },
    { "involvedObject.fieldPath", select_field_path },
    { "reason", select_reason },
    { "reportingComponent", select_controller },
    { "source", select_source },
    { "type", select_type },
    { 0 },
};

static const struct selectable v1_selectable[] = {
    { "regarding.kind", select_kind },
    { "regarding.namespace", select_ns },
    { "regarding.name", select_name },
    { "regarding.uid", select_uid },
    { "regarding.apiVersion", select_api_version },
    { "regarding.resourceVersion", select_resource_version },
    { "regarding.fieldPath", select_field_path },
    { "reason", select_reason },
    { "reportingController", select_controller },
    { "type", select_type },
    { 0 },
};

const struct kind_info event_kind = {
    .kind = KIND_EVENT,
    .name = "Event",
    .group = "",
    .version = "v1",
    .plural = "events",
    .short_names = (const char *const[]){ "ev", NULL },
    .is_namespaced = true,
    .flags = KIND_UPDATES_UNCONDITIONALLY | KIND_CREATES_ON_UPDATE,
    .name_rule = NAME_PATH_SEGMENT, /* historically events may have any name */
    .schema = &core_event_schema,
    .view_bytes = sizeof(struct event),
    .set_defaults = default_nothing,
    .prepare_create = prepare_create_nothing,
    .prepare_update = prepare_update_nothing,
    .validate = event_validate,
    .validate_update = validate_nothing,
    .decode = event_decode,
    .selectable = core_selectable,
};

const struct kind_info event_v1_kind = {
    .kind = KIND_EVENT_V1,
    .name = "Event",
    .group = "events.k8s.io",
    .version = "v1",
    .plural = "events",
    .short_names = (const char *const[]){ "ev", NULL },
    .is_namespaced = true,
    .flags = KIND_UPDATES_UNCONDITIONALLY | KIND_CREATES_ON_UPDATE,
    .name_rule = NAME_DNS_SUBDOMAIN,
    .schema = &v1_event_schema,
    .view_bytes = sizeof(struct event),
    .set_defaults = default_nothing,
    .prepare_create = prepare_create_nothing,
    .prepare_update = prepare_update_nothing,
    .validate = event_v1_validate,
    .validate_update = event_v1_validate_update,
    .decode = event_decode,
    .selectable = v1_selectable,
};

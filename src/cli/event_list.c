/* Reads age, count and source of events from their JSON, and sorts events by time. */
#include "cli/event_list.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"

struct dated {
    json_ref event;
    struct timestamp time;
    struct str ns, name;
};

static struct timestamp time_at(const struct json *d, json_ref v)
{
    struct timestamp t = { 0 };
    struct error ignored;

    if (json_type(d, v) == JSON_STRING && timestamp_parse(json_text(d, v), &t, &ignored) < 0)
        t = (struct timestamp){ 0 };
    return t;
}

struct timestamp event_list_time(const struct json *d, json_ref event)
{
    struct timestamp t = time_at(d, json_path(d, event, "series", "lastObservedTime"));

    if (timestamp_is_zero(t))
        t = time_at(d, json_get(d, event, "lastTimestamp"));
    return timestamp_is_zero(t) ? time_at(d, json_get(d, event, "eventTime")) : t;
}

static int compare_events(const void *a, const void *b)
{
    const struct dated *left = a, *right = b;
    int order = timestamp_cmp(left->time, right->time);

    if (order == 0)
        order = str_cmp(left->ns, right->ns);
    return order ? order : str_cmp(left->name, right->name);
}

void event_list_sort(const struct json *d, json_ref *events, size_t count)
{
    _cleanup_(vec_done_p) VEC(struct dated) dated = { 0 };

    if (count == 0 || vec_reserve(&dated, count) < 0)
        return; /* in their present order, then */
    for (size_t i = 0; i < count; i++) {
        json_ref meta = json_get(d, events[i], "metadata");

        dated.items[dated.count++] =
            (struct dated){ events[i], event_list_time(d, events[i]), json_get_text(d, meta, "namespace"),
                            json_get_text(d, meta, "name") };
    }
    qsort(dated.items, dated.count, sizeof *dated.items, compare_events);
    for (size_t i = 0; i < count; i++)
        events[i] = dated.items[i].event;
}

void event_list_write_age(const struct json *d, json_ref event, struct timestamp now, struct buf *out)
{
    struct timestamp first = time_at(d, json_get(d, event, "firstTimestamp")),
                     last = event_list_time(d, event);
    json_ref series = json_get(d, event, "series");
    int64_t count = 0;

    if (timestamp_is_zero(first))
        first = time_at(d, json_get(d, event, "eventTime"));
    (void)json_int64(d, json_get(d, series ? series : event, "count"), &count); /* missing: once */
    if (count <= 1 && !series) {
        timestamp_age(first, now, out);
        return;
    }
    timestamp_age(last, now, out);
    buf_addf(out, " (x%" PRId64 " over ", count);
    timestamp_age(first, now, out);
    buf_add_char(out, ')');
}

void event_list_write_from(const struct json *d, json_ref event, struct buf *out)
{
    json_ref source = json_get(d, event, "source");
    struct str component = json_get_text(d, source, "component"), host = json_get_text(d, source, "host");

    if (component.len == 0)
        component = json_get_text(d, event, "reportingComponent");
    buf_add_str(out, component);
    if (host.len)
        buf_addf(out, ", %.*s", STR_ARG(host));
}

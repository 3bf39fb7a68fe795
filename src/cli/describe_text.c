/* The lines that many kinds have. Values come from a server and are not trusted: control characters are made
 * visible, and tabs become blanks. */
#include "cli/describe.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "api/object.h"
#include "base/civil.h"
#include "cli/event_list.h"

#define ANNOTATION_WIDTH_MAX 140

void describe_text(struct describe *page, const char *label, struct str value)
{
    buf_add_cstr(&page->out.text, label);
    columns_put(&page->out, "\t%\n", value);
}

void describe_cstr(struct describe *page, const char *label, const char *value)
{
    describe_text(page, label, str_of(value));
}

void describe_member(struct describe *page, const char *label, json_ref object, const char *member,
                     const char *fallback)
{
    json_ref v = json_get(&page->doc, object, member);

    if (json_type(&page->doc, v) == JSON_TRUE || json_type(&page->doc, v) == JSON_FALSE)
        describe_cstr(page, label, json_type(&page->doc, v) == JSON_TRUE ? "true" : "false");
    else if (json_text(&page->doc, v).len)
        describe_text(page, label, json_text(&page->doc, v));
    else
        describe_cstr(page, label, fallback);
}

void describe_line(struct describe *page, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    buf_addv(&page->out.text, fmt, args);
    va_end(args);
    buf_add_char(&page->out.text, '\n');
}

json_ref describe_meta(const struct describe *page, const char *member)
{
    return json_path(&page->doc, page->object, "metadata", member);
}

json_ref describe_spec(const struct describe *page, const char *member)
{
    return json_path(&page->doc, page->object, "spec", member);
}

json_ref describe_state(const struct describe *page, const char *member)
{
    return json_path(&page->doc, page->object, "status", member);
}

/* --- Lists of values --- */

void describe_labels(struct describe *page, const char *label, json_ref map)
{
    buf_addf(&page->out.text, "%s\t%s", label, json_first(&page->doc, map) ? "" : "<none>\n");
    for (json_ref m = json_first(&page->doc, map); m; m = json_next(&page->doc, m)) {
        if (m != json_first(&page->doc, map))
            buf_add_char(&page->out.text, '\t');
        columns_put(&page->out, "%=%\n", json_key(&page->doc, m), json_text(&page->doc, m));
    }
}

/* Below its key, line by line, if it is long. */
static void add_long_annotation(struct describe *page, struct str value)
{
    buf_add_char(&page->out.text, '\n');
    while (value.s) {
        struct str line = str_next(&value, '\n');
        bool is_cut = line.len > ANNOTATION_WIDTH_MAX - 2;

        if (is_cut)
            line.len = ANNOTATION_WIDTH_MAX - 2;
        columns_put(&page->out, is_cut ? "\t  %...\n" : "\t  %\n", line);
    }
}

static void add_annotation(struct describe *page, json_ref note)
{
    struct str key = json_key(&page->doc, note), value = json_text(&page->doc, note);

    if (value.len && value.s[value.len - 1] == '\n')
        value.len--;
    columns_put(&page->out, "%:", key);
    if (key.len + value.len + 2 < ANNOTATION_WIDTH_MAX && !(value.len && memchr(value.s, '\n', value.len)))
        columns_put(&page->out, " %\n", value);
    else
        add_long_annotation(page, value);
}

void describe_annotations(struct describe *page, json_ref map)
{
    bool has_one = false;

    buf_add_cstr(&page->out.text, "Annotations:\t");
    for (json_ref m = json_first(&page->doc, map); m; m = json_next(&page->doc, m)) {
        if (str_is(json_key(&page->doc, m), LAST_APPLIED_ANNOTATION))
            continue;
        if (has_one)
            buf_add_char(&page->out.text, '\t');
        has_one = true;
        add_annotation(page, m);
    }
    if (!has_one)
        buf_add_cstr(&page->out.text, "<none>\n");
}

static void add_joined(struct describe *page, json_ref list, const char *between)
{
    for (json_ref v = json_first(&page->doc, list); v; v = json_next(&page->doc, v)) {
        columns_add_cell(&page->out, json_text(&page->doc, v));
        if (json_next(&page->doc, v))
            buf_add_cstr(&page->out.text, between);
    }
}

void describe_list(struct describe *page, const char *label, json_ref list)
{
    buf_addf(&page->out.text, "%s\t[", label);
    add_joined(page, list, " ");
    buf_add_cstr(&page->out.text, "]\n");
}

void describe_pairs(struct describe *page, const char *label, json_ref map)
{
    buf_addf(&page->out.text, "%s\t%s", label, json_first(&page->doc, map) ? "" : "<none>");
    for (json_ref m = json_first(&page->doc, map); m; m = json_next(&page->doc, m)) {
        columns_put(&page->out, json_next(&page->doc, m) ? "%=%," : "%=%", json_key(&page->doc, m),
                    json_text(&page->doc, m));
    }
    buf_add_char(&page->out.text, '\n');
}

void describe_expression(struct describe *page, json_ref expression)
{
    struct str op = json_get_text(&page->doc, expression, "operator");
    json_ref values = json_get(&page->doc, expression, "values");

    columns_put(&page->out, "% ", json_get_text(&page->doc, expression, "key"));
    for (size_t i = 0; i < op.len; i++) {
        char low = op.s[i] >= 'A' && op.s[i] <= 'Z' ? (char)(op.s[i] + 32) : op.s[i];

        columns_add_cell(&page->out, (struct str){ &low, 1 });
    }
    if (op.len == 0)
        buf_add_cstr(&page->out.text, "in");
    if (json_first(&page->doc, values)) {
        buf_add_cstr(&page->out.text, " [");
        add_joined(page, values, ", ");
        buf_add_char(&page->out.text, ']');
    }
    buf_add_char(&page->out.text, '\n');
}

void describe_access_modes(struct describe *page, const char *label, json_ref modes)
{
    static const char *const names[][2] = { { "ReadWriteOnce", "RWO" },
                                            { "ReadOnlyMany", "ROX" },
                                            { "ReadWriteMany", "RWX" },
                                            { "ReadWriteOncePod", "RWOP" } };
    bool has_one = false;

    buf_addf(&page->out.text, "%s\t", label);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        for (json_ref m = json_first(&page->doc, modes); m; m = json_next(&page->doc, m))
            if (json_is_string(&page->doc, m, names[i][0])) {
                buf_addf(&page->out.text, "%s%s", has_one ? "," : "", names[i][1]);
                has_one = true;
                break;
            }
    buf_add_char(&page->out.text, '\n');
}

/* --- Times --- */

static struct timestamp time_of(const struct describe *page, json_ref time)
{
    struct timestamp t = { 0 };
    struct error ignored;

    if (timestamp_parse(json_text(&page->doc, time), &t, &ignored) < 0)
        t = (struct timestamp){ 0 };
    return t;
}

void describe_write_time(struct describe *page, json_ref time)
{
    static const char *const days[] = { "Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed" };
    static const char *const months[] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                          "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
    struct timestamp t = time_of(page, time);
    int64_t day = t.seconds / 86400 - (t.seconds % 86400 < 0);
    struct civil c;

    if (timestamp_is_zero(t) || !civil_from_unix(t.seconds, &c)) {
        buf_add_cstr(&page->out.text, "Mon, 01 Jan 0001 00:00:00 +0000");
        return;
    }
    buf_addf(&page->out.text, "%s, %02d %s %04d %02d:%02d:%02d +0000", days[((day % 7) + 7) % 7], c.day,
             months[c.month - 1], c.year, c.hour, c.minute, c.second);
}

void describe_time(struct describe *page, const char *label, json_ref time)
{
    buf_addf(&page->out.text, "%s\t", label);
    describe_write_time(page, time);
    buf_add_char(&page->out.text, '\n');
}

void describe_status(struct describe *page, struct str phase)
{
    json_ref deleted = describe_meta(page, "deletionTimestamp");

    if (!deleted) {
        describe_text(page, "Status:", phase);
        return;
    }
    buf_add_cstr(&page->out.text, "Status:\tTerminating (lasts ");
    timestamp_age(time_of(page, deleted), page->now, &page->out.text);
    buf_add_cstr(&page->out.text, ")\n");
}

/* --- Related objects and events --- */

json_ref describe_list_objects(struct describe *page, enum kind kind, const char *ns, const char *fields)
{
    struct client_request q = {
        .verb = CLIENT_LIST, .kind = kind_info(kind), .ns = ns && ns[0] ? ns : NULL, .field_selector = fields
    };
    struct error ignored;
    json_ref list;

    if (session_ask(page->session, &q) < 0 ||
        json_parse(&page->doc, buf_str(&page->session->reply.text), &list, &ignored) < 0)
        return 0;
    return json_get(&page->doc, list, "items");
}

/* Events about this object, not about an earlier one with the same name. */
static json_ref list_events(struct describe *page)
{
    _cleanup_(buf_done_p) struct buf fields = BUF_INIT(4096), ns = BUF_INIT(512);

    buf_add_str(&ns, json_text(&page->doc, describe_meta(page, "namespace")));
    buf_addf(&fields, "involvedObject.kind=%s,involvedObject.name=%.*s,involvedObject.uid=%.*s",
             page->kind->name, STR_ARG(json_text(&page->doc, describe_meta(page, "name"))),
             STR_ARG(json_text(&page->doc, describe_meta(page, "uid"))));
    if (ns.len)
        buf_addf(&fields, ",involvedObject.namespace=%s", buf_cstr(&ns));
    return fields.failed ? 0 : describe_list_objects(page, KIND_EVENT, buf_cstr(&ns), buf_cstr(&fields));
}

static void add_event(struct describe *page, json_ref event)
{
    _cleanup_(buf_done_p) struct buf from = BUF_INIT(4096);
    const struct json *d = &page->doc;

    columns_put(&page->out, "  %\t%\t", json_get_text(d, event, "type"), json_get_text(d, event, "reason"));
    event_list_write_age(d, event, page->now, &page->out.text);
    event_list_write_from(d, event, &from);
    columns_put(&page->out, "\t%\t%\n", buf_str(&from), str_trim(json_get_text(d, event, "message")));
}

void describe_events(struct describe *page)
{
    _cleanup_(vec_done_p) VEC(json_ref) events = { 0 };
    json_ref list = list_events(page);

    for (json_ref e = json_first(&page->doc, list); e; e = json_next(&page->doc, e))
        if (vec_push(&events, e) < 0)
            break;
    event_list_sort(&page->doc, events.items, events.count);
    if (events.count == 0) {
        describe_line(page, "Events:\t<none>");
        return;
    }
    describe_line(page, "Events:\n  Type\tReason\tAge\tFrom\tMessage\n  ----\t------\t----\t----\t-------");
    for (size_t i = 0; i < events.count; i++)
        add_event(page, events.items[i]);
}

void describe_conditions(struct describe *page, const char *title, const char *key)
{
    json_ref conditions = describe_state(page, "conditions");

    if (!json_first(&page->doc, conditions))
        return;
    describe_line(page, "Conditions:\n  Type\tStatus\t%s\tLastTransitionTime\tReason\tMessage", title);
    describe_line(page, "  ----\t------\t-----------------\t------------------\t------\t-------");
    for (json_ref c = json_first(&page->doc, conditions); c; c = json_next(&page->doc, c)) {
        columns_put(&page->out, "  % \t% \t", json_get_text(&page->doc, c, "type"),
                    json_get_text(&page->doc, c, "status"));
        describe_write_time(page, json_get(&page->doc, c, key));
        buf_add_cstr(&page->out.text, " \t");
        describe_write_time(page, json_get(&page->doc, c, "lastTransitionTime"));
        columns_put(&page->out, " \t% \t%\n", json_get_text(&page->doc, c, "reason"),
                    json_get_text(&page->doc, c, "message"));
    }
}

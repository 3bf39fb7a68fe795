/* The lines that many kinds have. Values come from a server and may hold anything: what a terminal would obey
 * is made visible, and their own tabs are blanks. */
#include "cli/describe.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/object.h"
#include "base/civil.h"
#include "cli/event_list.h"

#define ANNOTATION_WIDTH_MAX 140

void describe_text(struct describe *x, const char *label, struct str value)
{
    buf_add_cstr(&x->out.text, label);
    buf_add_char(&x->out.text, '\t');
    columns_add_cell(&x->out, value);
    buf_add_char(&x->out.text, '\n');
}

void describe_cstr(struct describe *x, const char *label, const char *value)
{
    describe_text(x, label, str_of(value));
}

void describe_member(struct describe *x, const char *label, json_ref object, const char *member,
                     const char *fallback)
{
    json_ref v = json_get(&x->doc, object, member);

    if (json_type(&x->doc, v) == JSON_TRUE || json_type(&x->doc, v) == JSON_FALSE)
        describe_cstr(x, label, json_type(&x->doc, v) == JSON_TRUE ? "true" : "false");
    else if (json_text(&x->doc, v).len)
        describe_text(x, label, json_text(&x->doc, v));
    else
        describe_cstr(x, label, fallback);
}

void describe_line(struct describe *x, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    buf_addv(&x->out.text, fmt, args);
    va_end(args);
    buf_add_char(&x->out.text, '\n');
}

json_ref describe_meta(const struct describe *x, const char *member)
{
    return json_path(&x->doc, x->object, "metadata", member);
}

json_ref describe_spec(const struct describe *x, const char *member)
{
    return json_path(&x->doc, x->object, "spec", member);
}

json_ref describe_state(const struct describe *x, const char *member)
{
    return json_path(&x->doc, x->object, "status", member);
}

/* --- Several values --- */

void describe_labels(struct describe *x, const char *label, json_ref map)
{
    buf_addf(&x->out.text, "%s\t%s", label, json_first(&x->doc, map) ? "" : "<none>\n");
    for (json_ref m = json_first(&x->doc, map); m; m = json_next(&x->doc, m)) {
        if (m != json_first(&x->doc, map))
            buf_add_char(&x->out.text, '\t');
        columns_add_cell(&x->out, json_key(&x->doc, m));
        buf_add_char(&x->out.text, '=');
        columns_add_cell(&x->out, json_text(&x->doc, m));
        buf_add_char(&x->out.text, '\n');
    }
}

/* Below its key, line by line, when it is long. */
static void add_long_annotation(struct describe *x, struct str value)
{
    buf_add_char(&x->out.text, '\n');
    while (value.s) {
        struct str line = str_next(&value, '\n');
        bool is_cut = line.len > ANNOTATION_WIDTH_MAX - 2;

        if (is_cut)
            line.len = ANNOTATION_WIDTH_MAX - 2;
        buf_add_cstr(&x->out.text, "\t  ");
        columns_add_cell(&x->out, line);
        buf_add_cstr(&x->out.text, is_cut ? "...\n" : "\n");
    }
}

static void add_annotation(struct describe *x, json_ref note)
{
    struct str key = json_key(&x->doc, note), value = json_text(&x->doc, note);

    if (value.len && value.s[value.len - 1] == '\n')
        value.len--;
    columns_add_cell(&x->out, key);
    buf_add_char(&x->out.text, ':');
    if (key.len + value.len + 2 < ANNOTATION_WIDTH_MAX && !(value.len && memchr(value.s, '\n', value.len))) {
        buf_add_char(&x->out.text, ' ');
        columns_add_cell(&x->out, value);
        buf_add_char(&x->out.text, '\n');
    } else {
        add_long_annotation(x, value);
    }
}

void describe_annotations(struct describe *x, json_ref map)
{
    bool has_one = false;

    buf_add_cstr(&x->out.text, "Annotations:\t");
    for (json_ref m = json_first(&x->doc, map); m; m = json_next(&x->doc, m)) {
        if (str_is(json_key(&x->doc, m), LAST_APPLIED_ANNOTATION))
            continue;
        if (has_one)
            buf_add_char(&x->out.text, '\t');
        has_one = true;
        add_annotation(x, m);
    }
    if (!has_one)
        buf_add_cstr(&x->out.text, "<none>\n");
}

static void add_joined(struct describe *x, json_ref list, const char *between)
{
    for (json_ref v = json_first(&x->doc, list); v; v = json_next(&x->doc, v)) {
        columns_add_cell(&x->out, json_text(&x->doc, v));
        if (json_next(&x->doc, v))
            buf_add_cstr(&x->out.text, between);
    }
}

void describe_list(struct describe *x, const char *label, json_ref list)
{
    buf_addf(&x->out.text, "%s\t[", label);
    add_joined(x, list, " ");
    buf_add_cstr(&x->out.text, "]\n");
}

void describe_pairs(struct describe *x, const char *label, json_ref map)
{
    buf_addf(&x->out.text, "%s\t%s", label, json_first(&x->doc, map) ? "" : "<none>");
    for (json_ref m = json_first(&x->doc, map); m; m = json_next(&x->doc, m)) {
        columns_add_cell(&x->out, json_key(&x->doc, m));
        buf_add_char(&x->out.text, '=');
        columns_add_cell(&x->out, json_text(&x->doc, m));
        if (json_next(&x->doc, m))
            buf_add_char(&x->out.text, ',');
    }
    buf_add_char(&x->out.text, '\n');
}

void describe_expression(struct describe *x, json_ref expression)
{
    struct str op = json_get_text(&x->doc, expression, "operator");
    json_ref values = json_get(&x->doc, expression, "values");

    columns_add_cell(&x->out, json_get_text(&x->doc, expression, "key"));
    buf_add_char(&x->out.text, ' ');
    for (size_t i = 0; i < op.len; i++) {
        char low = op.s[i] >= 'A' && op.s[i] <= 'Z' ? (char)(op.s[i] + 32) : op.s[i];

        columns_add_cell(&x->out, (struct str){ &low, 1 });
    }
    if (op.len == 0)
        buf_add_cstr(&x->out.text, "in");
    if (json_first(&x->doc, values)) {
        buf_add_cstr(&x->out.text, " [");
        add_joined(x, values, ", ");
        buf_add_char(&x->out.text, ']');
    }
    buf_add_char(&x->out.text, '\n');
}

void describe_access_modes(struct describe *x, const char *label, json_ref modes)
{
    static const char *const names[][2] = { { "ReadWriteOnce", "RWO" },
                                            { "ReadOnlyMany", "ROX" },
                                            { "ReadWriteMany", "RWX" },
                                            { "ReadWriteOncePod", "RWOP" } };
    bool has_one = false;

    buf_addf(&x->out.text, "%s\t", label);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        for (json_ref m = json_first(&x->doc, modes); m; m = json_next(&x->doc, m))
            if (json_is_string(&x->doc, m, names[i][0])) {
                buf_addf(&x->out.text, "%s%s", has_one ? "," : "", names[i][1]);
                has_one = true;
                break;
            }
    buf_add_char(&x->out.text, '\n');
}

/* --- Times --- */

static struct timestamp time_of(const struct describe *x, json_ref time)
{
    struct timestamp t = { 0 };
    struct error ignored;

    if (timestamp_parse(json_text(&x->doc, time), &t, &ignored) < 0)
        t = (struct timestamp){ 0 };
    return t;
}

void describe_write_time(struct describe *x, json_ref time)
{
    static const char *const days[] = { "Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed" };
    static const char *const months[] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                          "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
    struct timestamp t = time_of(x, time);
    int64_t day = t.seconds / 86400 - (t.seconds % 86400 < 0);
    struct civil c;

    if (timestamp_is_zero(t) || !civil_from_unix(t.seconds, &c)) {
        buf_add_cstr(&x->out.text, "Mon, 01 Jan 0001 00:00:00 +0000");
        return;
    }
    buf_addf(&x->out.text, "%s, %02d %s %04d %02d:%02d:%02d +0000", days[((day % 7) + 7) % 7], c.day,
             months[c.month - 1], c.year, c.hour, c.minute, c.second);
}

void describe_time(struct describe *x, const char *label, json_ref time)
{
    buf_addf(&x->out.text, "%s\t", label);
    describe_write_time(x, time);
    buf_add_char(&x->out.text, '\n');
}

void describe_status(struct describe *x, struct str phase)
{
    json_ref deleted = describe_meta(x, "deletionTimestamp");

    if (!deleted) {
        describe_text(x, "Status:", phase);
        return;
    }
    buf_add_cstr(&x->out.text, "Status:\tTerminating (lasts ");
    timestamp_age(time_of(x, deleted), x->now, &x->out.text);
    buf_add_cstr(&x->out.text, ")\n");
}

/* --- Others --- */

json_ref describe_list_objects(struct describe *x, enum kind kind, const char *ns, const char *fields)
{
    struct client_request q = {
        .verb = CLIENT_LIST, .kind = kind_info(kind), .ns = ns && ns[0] ? ns : NULL, .field_selector = fields
    };
    struct error ignored;
    json_ref list;

    if (session_ask(x->session, &q, x->reply) < 0 ||
        json_parse(&x->doc, buf_str(&x->reply->text), &list, &ignored) < 0)
        return 0;
    return json_get(&x->doc, list, "items");
}

/* About this object, not one that had its name before. */
static json_ref list_events(struct describe *x)
{
    _cleanup_(buf_done_p) struct buf fields = BUF_INIT(4096), ns = BUF_INIT(512);

    buf_add_str(&ns, json_text(&x->doc, describe_meta(x, "namespace")));
    buf_addf(&fields, "involvedObject.kind=%s,involvedObject.name=%.*s,involvedObject.uid=%.*s",
             x->kind->name, STR_ARG(json_text(&x->doc, describe_meta(x, "name"))),
             STR_ARG(json_text(&x->doc, describe_meta(x, "uid"))));
    if (ns.len)
        buf_addf(&fields, ",involvedObject.namespace=%s", buf_cstr(&ns));
    return fields.failed ? 0 : describe_list_objects(x, KIND_EVENT, buf_cstr(&ns), buf_cstr(&fields));
}

static void add_event(struct describe *x, json_ref event)
{
    struct buf *out = &x->out.text;
    _cleanup_(buf_done_p) struct buf from = BUF_INIT(4096);

    buf_add_cstr(out, "  ");
    columns_add_cell(&x->out, json_get_text(&x->doc, event, "type"));
    buf_add_char(out, '\t');
    columns_add_cell(&x->out, json_get_text(&x->doc, event, "reason"));
    buf_add_char(out, '\t');
    event_list_write_age(&x->doc, event, x->now, out);
    buf_add_char(out, '\t');
    event_list_write_from(&x->doc, event, &from);
    columns_add_cell(&x->out, buf_str(&from));
    buf_add_char(out, '\t');
    columns_add_cell(&x->out, str_trim(json_get_text(&x->doc, event, "message")));
    buf_add_char(out, '\n');
}

void describe_events(struct describe *x)
{
    _cleanup_(vec_done_p) VEC(json_ref) events = { 0 };
    json_ref list = list_events(x);

    for (json_ref e = json_first(&x->doc, list); e; e = json_next(&x->doc, e))
        if (vec_push(&events, e) < 0)
            break;
    event_list_sort(&x->doc, events.items, events.count);
    if (events.count == 0) {
        describe_line(x, "Events:\t<none>");
        return;
    }
    describe_line(x, "Events:\n  Type\tReason\tAge\tFrom\tMessage\n  ----\t------\t----\t----\t-------");
    for (size_t i = 0; i < events.count; i++)
        add_event(x, events.items[i]);
}

void describe_conditions(struct describe *x, const char *title, const char *key)
{
    json_ref conditions = describe_state(x, "conditions");
    struct buf *out = &x->out.text;

    if (!json_first(&x->doc, conditions))
        return;
    buf_addf(out, "Conditions:\n  Type\tStatus\t%s\tLastTransitionTime\tReason\tMessage\n", title);
    describe_line(x, "  ----\t------\t-----------------\t------------------\t------\t-------");
    for (json_ref c = json_first(&x->doc, conditions); c; c = json_next(&x->doc, c)) {
        buf_add_cstr(out, "  ");
        columns_add_cell(&x->out, json_get_text(&x->doc, c, "type"));
        buf_add_cstr(out, " \t");
        columns_add_cell(&x->out, json_get_text(&x->doc, c, "status"));
        buf_add_cstr(out, " \t");
        describe_write_time(x, json_get(&x->doc, c, key));
        buf_add_cstr(out, " \t");
        describe_write_time(x, json_get(&x->doc, c, "lastTransitionTime"));
        buf_add_cstr(out, " \t");
        columns_add_cell(&x->out, json_get_text(&x->doc, c, "reason"));
        buf_add_cstr(out, " \t");
        columns_add_cell(&x->out, json_get_text(&x->doc, c, "message"));
        buf_add_char(out, '\n');
    }
}

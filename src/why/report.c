/* Builds a report member by member in a JSON document (report.h has its format).
 *
 * All text is copied into the document and bounded; after the first allocation failure the document is marked
 * as failed and the calls do nothing. */
#include "why/report.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"

/* A line of text, truncated at a character boundary if it is too long. */
static json_ref line_new(struct why_report *r, const char *fmt, va_list args)
    __attribute__((format(printf, 2, 0)));

static json_ref line_new(struct why_report *r, const char *fmt, va_list args)
{
    char text[WHY_LINE_BYTES_MAX];
    int len = vsnprintf(text, sizeof text, fmt, args);

    if (len < 0)
        text[0] = '\0';
    if (len >= (int)sizeof text) {
        size_t end = sizeof text - 1;

        while (end > 0 && ((unsigned char)text[end - 1] & 0xc0) == 0x80)
            end--;
        text[end > 0 ? end - 1 : 0] = '\0';
    }
    return json_new_string(r->d, str_of(text));
}

static json_ref array_add(struct why_report *r, const char *key)
{
    json_ref a = json_new_array(r->d);

    json_set(r->d, r->json, key, a);
    return a;
}

void report_begin(struct why_report *r, struct json *d, const char *kind, const char *ns, const char *name,
                  bool shows_all)
{
    *r = (struct why_report){ .d = d, .json = json_new_object(d), .shows_all = shows_all };
    json_set_string(d, r->json, "kind", kind);
    json_set_string(d, r->json, "namespace", ns);
    json_set_string(d, r->json, "name", name);
    json_set_string(d, r->json, "state", "");
    json_set_string(d, r->json, "cause", "");
    json_set_string(d, r->json, "sentence", "");
    r->facts = array_add(r, "facts");
    r->candidates = json_new_object(d);
    json_set(d, r->json, "candidates", r->candidates);
    r->operations = array_add(r, "operations");
    r->events = array_add(r, "events");
    r->parts = array_add(r, "parts");
    json_set_string(d, r->json, "next", "");
    r->advice = array_add(r, "advice");
}

bool report_begin_part(struct why_report *r, struct why_report *part, const char *kind, const char *ns,
                       const char *name)
{
    if (r->depth + 1 >= WHY_DEPTH_MAX || json_count(r->d, r->parts) >= WHY_PARTS_MAX)
        return false;
    report_begin(part, r->d, kind, ns, name, r->shows_all);
    part->depth = r->depth + 1;
    json_append(r->d, r->parts, part->json);
    return true;
}

/* Reasons in descending order of count, then of first occurrence. Of many candidates, a few per reason are
 * kept. */
static void append_groups(struct why_report *r, json_ref groups)
{
    bool is_done[WHY_GROUPS_MAX] = { false };

    for (size_t n = 0; n < r->groups_count; n++) {
        size_t best = WHY_GROUPS_MAX;

        for (size_t i = 0; i < r->groups_count; i++)
            if (!is_done[i] && (best == WHY_GROUPS_MAX || r->groups[i].count > r->groups[best].count))
                best = i;
        assert(best < WHY_GROUPS_MAX);
        is_done[best] = true;
        json_set(r->d, r->groups[best].json, "count", json_new_int(r->d, (int64_t)r->groups[best].count));
        if (!r->shows_all && r->total > WHY_FEW)
            for (json_ref e; (e = json_at(r->d, r->groups[best].examples, WHY_EXAMPLES));)
                json_unlink(r->d, e);
        json_append(r->d, groups, r->groups[best].json);
    }
}

void report_end(struct why_report *r)
{
    json_ref groups = json_new_array(r->d);

    json_set(r->d, r->candidates, "total", json_new_int(r->d, (int64_t)r->total));
    append_groups(r, groups);
    json_set(r->d, r->candidates, "groups", groups);
    if (!r->has_cause)
        report_cause(r, WHY_NOTHING, "nothing is wrong");
}

static void set_line(struct why_report *r, const char *key, const char *fmt, va_list args)
    __attribute__((format(printf, 3, 0)));

static void set_line(struct why_report *r, const char *key, const char *fmt, va_list args)
{
    json_set(r->d, r->json, key, line_new(r, fmt, args));
}

void report_state(struct why_report *r, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    set_line(r, "state", fmt, args);
    va_end(args);
}

void report_cause(struct why_report *r, const char *cause, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    if (r->has_cause) {
        json_append(r->d, r->facts, line_new(r, fmt, args));
    } else {
        json_set_string(r->d, r->json, "cause", cause);
        set_line(r, "sentence", fmt, args);
        r->has_cause = true;
    }
    va_end(args);
}

bool report_has_cause(const struct why_report *r)
{
    return r->has_cause;
}

struct str report_cause_code(const struct why_report *r)
{
    return json_get_text(r->d, r->json, "cause");
}

struct str report_sentence(const struct why_report *r)
{
    return json_get_text(r->d, r->json, "sentence");
}

struct str report_detail(struct str message)
{
    static const char begin[] = " failed for volume \"", end[] = "\" : ";
    const char *at = message.len ? memmem(message.s, message.len, begin, sizeof begin - 1) : NULL;
    const char *words = at ? memmem(at, message.len - (size_t)(at - message.s), end, sizeof end - 1) : NULL;

    if (!words)
        return message;
    words += sizeof end - 1;
    return (struct str){ words, message.len - (size_t)(words - message.s) };
}

void report_fact(struct why_report *r, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    json_append(r->d, r->facts, line_new(r, fmt, args));
    va_end(args);
}

void report_next(struct why_report *r, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    set_line(r, "next", fmt, args);
    va_end(args);
}

void report_advise(struct why_report *r, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    json_append(r->d, r->advice, line_new(r, fmt, args));
    va_end(args);
}

void report_advise_as(struct why_report *r, json_ref advice)
{
    for (json_ref v = advice ? json_first(r->d, advice) : 0; v; v = json_next(r->d, v))
        report_advise(r, "%.*s", STR_ARG(json_text(r->d, v)));
}

/* --- Candidates --- */

static struct report_group *group_of(struct why_report *r, const char *reason)
{
    struct report_group *g;

    for (size_t i = 0; i < r->groups_count; i++)
        if (r->groups[i].reason == reason || strcmp(r->groups[i].reason, reason) == 0)
            return &r->groups[i];
    assert(r->groups_count < WHY_GROUPS_MAX); /* reasons are literals, so their number is bounded */
    g = &r->groups[r->groups_count++];
    *g = (struct report_group){ .reason = reason,
                                .json = json_new_object(r->d),
                                .examples = json_new_array(r->d) };
    json_set_string(r->d, g->json, "reason", reason);
    json_set(r->d, g->json, "count", json_new_int(r->d, 0));
    json_set(r->d, g->json, "examples", g->examples);
    return g;
}

bool report_count(struct why_report *r, const char *reason)
{
    struct report_group *g = group_of(r, reason);

    r->total++;
    g->count++;
    return r->shows_all || g->shown < WHY_FEW;
}

void report_example(struct why_report *r, const char *reason, const char *name, const char *fmt, ...)
{
    struct report_group *g = group_of(r, reason);
    json_ref example = json_new_object(r->d);
    va_list args;

    va_start(args, fmt);
    json_set_string(r->d, example, "name", name);
    json_set(r->d, example, "text", line_new(r, fmt, args));
    va_end(args);
    json_append(r->d, g->examples, example);
    g->shown++;
}

void report_take_candidates(struct why_report *r, const struct why_report *from, bool is_copied)
{
    assert(r->d == from->d && r->total == 0);
    r->groups_count = from->groups_count;
    r->total = from->total;
    for (size_t i = 0; i < from->groups_count; i++) {
        struct report_group *g = &r->groups[i];

        *g = from->groups[i];
        if (is_copied) {
            g->json = json_copy(r->d, g->json);
            g->examples = json_get(r->d, g->json, "examples");
        } else if (json_parent(r->d, g->json)) {
            json_unlink(r->d, g->json);
        }
    }
}

bool why_is_one_of(const char *const *list, const char *text)
{
    for (; list && *list; list++)
        if (strcmp(*list, text) == 0)
            return true;
    return false;
}

/* --- Operations and events --- */

void report_operation(struct why_report *r, const struct report_operation *o)
{
    json_ref x = json_new_object(r->d);

    json_set_string(r->d, x, "name", o->name);
    json_set_string(r->d, x, "state", o->is_running ? "running" : "waiting");
    json_set(r->d, x, "failures", json_new_int(r->d, o->failures));
    if (o->retry_seconds >= 0)
        json_set(r->d, x, "retryInSeconds", json_new_int(r->d, o->retry_seconds));
    json_set_string(r->d, x, "message", o->message);
    json_append(r->d, r->operations, x);
}

void report_event(struct why_report *r, const struct report_event *e)
{
    json_ref x = json_new_object(r->d);

    json_set_string(r->d, x, "type", e->type);
    json_set_string(r->d, x, "reason", e->reason);
    json_set_string(r->d, x, "message", e->message);
    json_set(r->d, x, "count", json_new_int(r->d, e->count));
    json_set_string(r->d, x, "age", e->age);
    if (e->is_over)
        json_set(r->d, x, "over", json_new_bool(r->d, true));
    json_append(r->d, r->events, x);
}

#include "why/text.h"

#include <inttypes.h>

#include "why/report.h"

struct writer {
    const struct json *d;
    struct buf *out;
    unsigned depth;
};

/* --- Lines --- */

static void add_indent(struct writer *x, unsigned more)
{
    for (unsigned i = 0; i < 2 * x->depth + more; i++)
        (void)buf_add_char(x->out, ' ');
}

/* A text of somebody's: one line of it, and nothing that a terminal would obey. */
static void add_text(struct writer *x, struct str text)
{
    while (text.len) {
        size_t len = str_utf8_first(text);
        unsigned char c = (unsigned char)text.s[0];
        bool is_c1 = len == 2 && c == 0xc2 && (unsigned char)text.s[1] < 0xa0;

        if (len == 0 || c < 0x20 || c == 0x7f || is_c1)
            (void)buf_add_char(x->out, c == '\n' || c == '\t' ? ' ' : '?');
        else
            (void)buf_add(x->out, text.s, len);
        text.s += len ? len : 1;
        text.len -= len ? len : 1;
    }
}

static void add_member(struct writer *x, json_ref object, const char *key)
{
    add_text(x, json_get_text(x->d, object, key));
}

static void add_line(struct writer *x, const char *mark, struct str text)
{
    add_indent(x, 2);
    (void)buf_add_cstr(x->out, mark);
    add_text(x, text);
    (void)buf_add_char(x->out, '\n');
}

static int64_t number(const struct writer *x, json_ref object, const char *key)
{
    int64_t n = 0;

    return json_int64(x->d, json_get(x->d, object, key), &n) ? n : 0;
}

/* --- What a report has --- */

static void add_head(struct writer *x, json_ref r)
{
    static const char *const types[][2] = { { "PersistentVolumeClaim", "pvc" },
                                            { "PersistentVolume", "pv" },
                                            { "Pod", "pod" } };
    struct str type = json_get_text(x->d, r, "kind"), ns = json_get_text(x->d, r, "namespace");

    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (str_is(type, types[i][0]))
            type = str_of(types[i][1]);
    add_indent(x, 0);
    add_text(x, type);
    (void)buf_add_char(x->out, ' ');
    add_text(x, ns);
    (void)buf_add_cstr(x->out, ns.len ? "/" : "");
    add_member(x, r, "name");
    (void)buf_add_cstr(x->out, ": ");
    add_member(x, r, "state");
    (void)buf_add_cstr(x->out, str_is(json_get_text(x->d, r, "cause"), WHY_NOTHING) ? "; " : ", because ");
    add_member(x, r, "sentence");
    (void)buf_add_char(x->out, '\n');
}

static void add_lines(struct writer *x, json_ref array, const char *mark)
{
    for (json_ref v = json_first(x->d, array); v; v = json_next(x->d, v))
        add_line(x, mark, json_text(x->d, v));
}

static void add_examples(struct writer *x, json_ref group, unsigned indent)
{
    json_ref examples = json_get(x->d, group, "examples");
    int64_t more = number(x, group, "count") - (int64_t)json_count(x->d, examples);

    for (json_ref e = json_first(x->d, examples); e; e = json_next(x->d, e)) {
        add_indent(x, indent);
        add_member(x, e, "name");
        (void)buf_add_cstr(x->out, ": ");
        add_member(x, e, "text");
        (void)buf_add_char(x->out, '\n');
    }
    if (more > 0) {
        add_indent(x, indent);
        (void)buf_addf(x->out, "\u2026 and %" PRId64 " more\n", more);
    }
}

/* A few stand one by one, many under their reasons. */
static void add_candidates(struct writer *x, json_ref candidates)
{
    json_ref groups = json_get(x->d, candidates, "groups");
    int64_t total = number(x, candidates, "total");

    if (total <= 0)
        return;
    add_indent(x, 0);
    (void)buf_addf(x->out, "Candidates (%" PRId64 "):\n", total);
    for (json_ref g = json_first(x->d, groups); g; g = json_next(x->d, g)) {
        if (total <= WHY_FEW) {
            add_examples(x, g, 2);
            continue;
        }
        add_indent(x, 2);
        add_member(x, g, "reason");
        (void)buf_addf(x->out, ": %" PRId64 "\n", number(x, g, "count"));
        add_examples(x, g, 4);
    }
}

static void add_operations(struct writer *x, json_ref operations)
{
    if (json_count(x->d, operations) == 0)
        return;
    add_indent(x, 0);
    (void)buf_add_cstr(x->out, "Operations:\n");
    for (json_ref o = json_first(x->d, operations); o; o = json_next(x->d, o)) {
        int64_t failures = number(x, o, "failures");

        add_indent(x, 2);
        add_member(x, o, "name");
        if (str_is(json_get_text(x->d, o, "state"), "running"))
            (void)buf_add_cstr(x->out, ", running");
        if (failures > 0)
            (void)buf_addf(x->out, ", failed %" PRId64 " time%s", failures, failures == 1 ? "" : "s");
        if (json_get(x->d, o, "retryInSeconds"))
            (void)buf_addf(x->out, ", next try in %" PRId64 "s", number(x, o, "retryInSeconds"));
        if (json_get_text(x->d, o, "message").len)
            (void)buf_add_cstr(x->out, ": ");
        add_member(x, o, "message");
        (void)buf_add_char(x->out, '\n');
    }
}

static void add_events(struct writer *x, json_ref events)
{
    if (json_count(x->d, events) == 0)
        return;
    add_indent(x, 0);
    (void)buf_add_cstr(x->out, "Events:\n");
    for (json_ref e = json_first(x->d, events); e; e = json_next(x->d, e)) {
        int64_t count = number(x, e, "count");

        add_indent(x, 2);
        add_member(x, e, "age");
        (void)buf_add_cstr(x->out, " ago  ");
        add_member(x, e, "type");
        (void)buf_add_char(x->out, ' ');
        add_member(x, e, "reason");
        if (count > 1)
            (void)buf_addf(x->out, " (x%" PRId64 ")", count);
        (void)buf_add_cstr(x->out, ": ");
        add_member(x, e, "message");
        (void)buf_add_char(x->out, '\n');
    }
}

static void add_report(struct writer *x, json_ref r);

/* Only pods have parts. The head keeps them apart from the events above. */
static void add_parts(struct writer *x, json_ref parts)
{
    if (json_count(x->d, parts) == 0 || x->depth + 1 == WHY_DEPTH_MAX)
        return;
    add_indent(x, 0);
    (void)buf_add_cstr(x->out, "Volumes:\n");
    x->depth++;
    for (json_ref p = json_first(x->d, parts); p; p = json_next(x->d, p))
        add_report(x, p);
    x->depth--;
}

static void add_report(struct writer *x, json_ref r)
{
    json_ref advice = json_get(x->d, r, "advice");

    add_head(x, r);
    add_lines(x, json_get(x->d, r, "facts"), "");
    add_candidates(x, json_get(x->d, r, "candidates"));
    add_operations(x, json_get(x->d, r, "operations"));
    add_events(x, json_get(x->d, r, "events"));
    add_parts(x, json_get(x->d, r, "parts"));
    if (json_get_text(x->d, r, "next").len) {
        add_indent(x, 0);
        (void)buf_add_cstr(x->out, "Next: ");
        add_member(x, r, "next");
        (void)buf_add_char(x->out, '\n');
    }
    if (json_count(x->d, advice)) {
        add_indent(x, 0);
        (void)buf_add_cstr(x->out, "What you can do:\n");
        add_lines(x, advice, "- ");
    }
}

void why_text_write(const struct json *d, json_ref report, struct buf *out)
{
    add_report(&(struct writer){ .d = d, .out = out }, report);
}

#include "why/text.h"

#include <inttypes.h>
#include <string.h>

#include "why/report.h"

struct writer {
    const struct json *d;
    const struct why_style *style;
    json_ref root;
    struct buf *out;
    unsigned depth;
};

/* --- Lines --- */

static void add_indent(struct writer *x, unsigned more)
{
    for (unsigned i = 0; i < 2 * x->depth + more; i++)
        buf_add_char(x->out, ' ');
}

/* The few characters of our own that are not ASCII; others are their author's. */
static const char *ascii_of(struct str character)
{
    if (str_is(character, "\u2260"))
        return "!=";
    return str_is(character, "\u2026") ? "..." : NULL;
}

void why_text_add(struct str text, const struct why_style *style, struct buf *out)
{
    while (text.len) {
        size_t len = str_utf8_first(text);
        unsigned char c = (unsigned char)text.s[0];
        bool is_c1 = len == 2 && c == 0xc2 && (unsigned char)text.s[1] < 0xa0;
        const char *ascii = style->is_ascii && len > 1 ? ascii_of((struct str){ text.s, len }) : NULL;

        if (len == 0 || c < 0x20 || c == 0x7f || is_c1)
            buf_add_char(out, c == '\n' || c == '\t' ? ' ' : '?');
        else if (ascii)
            buf_add_cstr(out, ascii);
        else
            buf_add(out, text.s, len);
        text.s += len ? len : 1;
        text.len -= len ? len : 1;
    }
}

static void add_text(struct writer *x, struct str text)
{
    why_text_add(text, x->style, x->out);
}

static void add_member(struct writer *x, json_ref object, const char *key)
{
    add_text(x, json_get_text(x->d, object, key));
}

static void add_line(struct writer *x, const char *mark, struct str text)
{
    add_indent(x, 2);
    buf_add_cstr(x->out, mark);
    add_text(x, text);
    buf_add_char(x->out, '\n');
}

static int64_t number(const struct writer *x, json_ref object, const char *key)
{
    int64_t n = 0;

    return json_int64(x->d, json_get(x->d, object, key), &n) ? n : 0;
}

/* --- What was said before --- */

static bool has_line(const struct writer *x, json_ref array, struct str text)
{
    for (json_ref v = json_first(x->d, array); v; v = json_next(x->d, v))
        if (str_eq(json_text(x->d, v), text))
            return true;
    return false;
}

static bool contains(struct str text, struct str what)
{
    return what.len == 0 || (text.len && memmem(text.s, text.len, what.s, what.len));
}

static bool mentions(const struct writer *x, json_ref r, struct str text)
{
    json_ref facts = json_get(x->d, r, "facts");
    struct str sentence = json_get_text(x->d, r, "sentence");

    if (contains(sentence, text))
        return true;
    for (json_ref v = json_first(x->d, facts); v; v = json_next(x->d, v))
        if (contains(json_text(x->d, v), text))
            return true;
    return false;
}

/* The message of an operation or event is in the report already. */
static bool is_said(const struct writer *x, json_ref r, struct str message)
{
    struct str detail = report_detail(message);

    return detail.len == 0 || mentions(x, r, detail) || mentions(x, x->root, detail);
}

static bool is_fine(const struct writer *x, json_ref r)
{
    return str_is(json_get_text(x->d, r, "cause"), WHY_NOTHING);
}

/* --- What a report has --- */

/* A state that is as it should be has no cause; what is wrong with the object is something else. */
static const char *conjunction(const struct writer *x, json_ref r)
{
    struct str state = json_get_text(x->d, r, "state");

    if (is_fine(x, r))
        return "; ";
    return str_has_prefix(state, "Bound") || str_has_prefix(state, "Running") ? ", but " : ", because ";
}

/* Without the sentence where the report that it is a part of begins with it. */
static void add_head(struct writer *x, json_ref r, json_ref parent)
{
    static const char *const types[][2] = { { "PersistentVolumeClaim", "pvc" },
                                            { "PersistentVolume", "pv" },
                                            { "Pod", "pod" } };
    struct str type = json_get_text(x->d, r, "kind"), ns = json_get_text(x->d, r, "namespace"),
               sentence = json_get_text(x->d, r, "sentence");

    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (str_is(type, types[i][0]))
            type = str_of(types[i][1]);
    add_indent(x, 0);
    add_text(x, type);
    buf_add_char(x->out, ' ');
    add_text(x, ns);
    buf_add_cstr(x->out, ns.len ? "/" : "");
    add_member(x, r, "name");
    buf_add_cstr(x->out, ": ");
    add_member(x, r, "state");
    if (!parent || is_fine(x, r) || sentence.len == 0 || !mentions(x, parent, sentence)) {
        buf_add_cstr(x->out, conjunction(x, r));
        add_member(x, r, "sentence");
    }
    buf_add_char(x->out, '\n');
}

/* Those of the report that its parent does not have; with a title above the first. True when there was one.
 */
static bool add_lines(struct writer *x, json_ref r, json_ref parent, const char *key, const char *title,
                      const char *mark)
{
    json_ref lines = json_get(x->d, r, key), before = parent ? json_get(x->d, parent, key) : 0;
    bool has_some = false;

    for (json_ref v = json_first(x->d, lines); v; v = json_next(x->d, v)) {
        if (before && has_line(x, before, json_text(x->d, v)))
            continue;
        if (!has_some && title) {
            add_indent(x, 0);
            buf_add_cstr(x->out, title);
        }
        has_some = true;
        add_line(x, mark, json_text(x->d, v));
    }
    return has_some;
}

static void add_examples(struct writer *x, json_ref group, unsigned indent)
{
    json_ref examples = json_get(x->d, group, "examples");
    int64_t more = number(x, group, "count") - (int64_t)json_count(x->d, examples);

    for (json_ref e = json_first(x->d, examples); e; e = json_next(x->d, e)) {
        add_indent(x, indent);
        add_member(x, e, "name");
        buf_add_cstr(x->out, ": ");
        add_member(x, e, "text");
        buf_add_char(x->out, '\n');
    }
    if (more > 0) {
        add_indent(x, indent);
        buf_addf(x->out, "%s and %" PRId64 " more\n", x->style->is_ascii ? "..." : "\u2026", more);
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
    buf_addf(x->out, "Candidates (%" PRId64 "):\n", total);
    for (json_ref g = json_first(x->d, groups); g; g = json_next(x->d, g)) {
        if (total <= WHY_FEW) {
            add_examples(x, g, 2);
            continue;
        }
        add_indent(x, 2);
        add_member(x, g, "reason");
        buf_addf(x->out, ": %" PRId64 "\n", number(x, g, "count"));
        add_examples(x, g, 4);
    }
}

static bool wants_operation(const struct writer *x, json_ref r, json_ref o)
{
    return x->style->is_verbose || (!is_fine(x, r) && (str_is(json_get_text(x->d, o, "state"), "running") ||
                                                       !is_said(x, r, json_get_text(x->d, o, "message"))));
}

static void add_operations(struct writer *x, json_ref r)
{
    json_ref operations = json_get(x->d, r, "operations");
    const char *title = "Operations:\n";

    for (json_ref o = json_first(x->d, operations); o; o = json_next(x->d, o)) {
        int64_t failures = number(x, o, "failures");

        if (!wants_operation(x, r, o))
            continue;
        if (title) {
            add_indent(x, 0);
            buf_add_cstr(x->out, title);
        }
        title = NULL;
        add_indent(x, 2);
        add_member(x, o, "name");
        if (str_is(json_get_text(x->d, o, "state"), "running"))
            buf_add_cstr(x->out, ", running");
        if (failures > 0)
            buf_addf(x->out, ", failed %" PRId64 " time%s", failures, failures == 1 ? "" : "s");
        if (json_get(x->d, o, "retryInSeconds"))
            buf_addf(x->out, ", next try in %" PRId64 "s", number(x, o, "retryInSeconds"));
        if (json_get_text(x->d, o, "message").len)
            buf_add_cstr(x->out, ": ");
        add_member(x, o, "message");
        buf_add_char(x->out, '\n');
    }
}

static bool wants_event(const struct writer *x, json_ref r, json_ref e)
{
    return x->style->is_verbose || (!is_fine(x, r) && !json_get(x->d, e, "over") &&
                                    str_is(json_get_text(x->d, e, "type"), "Warning") &&
                                    !is_said(x, r, json_get_text(x->d, e, "message")));
}

static void add_events(struct writer *x, json_ref r)
{
    json_ref events = json_get(x->d, r, "events");
    const char *title = "Events:\n";

    for (json_ref e = json_first(x->d, events); e; e = json_next(x->d, e)) {
        int64_t count = number(x, e, "count");

        if (!wants_event(x, r, e))
            continue;
        if (title) {
            add_indent(x, 0);
            buf_add_cstr(x->out, title);
        }
        title = NULL;
        add_indent(x, 2);
        add_member(x, e, "age");
        buf_add_cstr(x->out, " ago  ");
        add_member(x, e, "type");
        buf_add_char(x->out, ' ');
        add_member(x, e, "reason");
        if (count > 1)
            buf_addf(x->out, " (x%" PRId64 ")", count);
        buf_add_cstr(x->out, ": ");
        add_member(x, e, "message");
        buf_add_char(x->out, '\n');
    }
}

static void add_report(struct writer *x, json_ref r, json_ref parent);

/* Only pods have parts. The head keeps them apart from the events above. */
static void add_parts(struct writer *x, json_ref r)
{
    json_ref parts = json_get(x->d, r, "parts");

    if (json_count(x->d, parts) == 0 || x->depth + 1 == WHY_DEPTH_MAX)
        return;
    add_indent(x, 0);
    buf_add_cstr(x->out, "Volumes:\n");
    x->depth++;
    for (json_ref p = json_first(x->d, parts); p; p = json_next(x->d, p))
        add_report(x, p, r);
    x->depth--;
}

static bool add_next(struct writer *x, json_ref r, json_ref parent)
{
    struct str next = json_get_text(x->d, r, "next");

    if (next.len == 0 || (parent && str_eq(next, json_get_text(x->d, parent, "next"))))
        return false;
    add_indent(x, 0);
    buf_add_cstr(x->out, "Next: ");
    add_text(x, next);
    buf_add_char(x->out, '\n');
    return true;
}

/* parent: the report that this one is a part of; 0 for none. */
static void add_report(struct writer *x, json_ref r, json_ref parent)
{
    bool has_more;

    add_head(x, r, parent);
    has_more = add_lines(x, r, parent, "advice", "What you can do:\n", "- ");
    has_more |= add_next(x, r, parent);
    (void)add_lines(x, r, parent, "facts", has_more ? "Details:\n" : NULL, "");
    add_candidates(x, json_get(x->d, r, "candidates"));
    add_operations(x, r);
    add_events(x, r);
    add_parts(x, r);
}

void why_text_write(const struct json *d, json_ref report, const struct why_style *style, struct buf *out)
{
    add_report(&(struct writer){ .d = d, .style = style, .root = report, .out = out }, report,
               /* parent= */ 0);
}

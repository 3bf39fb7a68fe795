/* Writes a report as text.
 *
 * The report may come from a server and is not trusted: control characters are replaced, depth is bounded,
 * and members that are missing or have another type are skipped. */
#include "why/text.h"

#include <inttypes.h>
#include <string.h>

#include "why/report.h"

struct text_writer {
    const struct json *d;
    const struct why_style *style;
    json_ref root;
    struct buf *out;
    unsigned depth;
};

/* --- Lines --- */

static void add_indent(struct text_writer *writer, unsigned more)
{
    for (unsigned i = 0; i < 2 * writer->depth + more; i++)
        buf_add_char(writer->out, ' ');
}

void why_text_add(struct str text, const struct why_style *style, struct buf *out)
{
    while (text.len) {
        size_t len = str_utf8_first(text);
        unsigned char c = (unsigned char)text.s[0];
        bool is_c1 = len == 2 && c == 0xc2 && (unsigned char)text.s[1] < 0xa0;
        struct str character = { text.s, len };
        const char *ascii = NULL; /* only the few non-ASCII signs that Berth writes itself */

        if (style->is_ascii && len > 1)
            ascii = str_is(character, "\u2260") ? "!=" : str_is(character, "\u2026") ? "..." : NULL;
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

/* Begins an item of a list; the title is printed above the first item, if there is one. */
static void begin_item(struct text_writer *writer, const char **title)
{
    if (*title) {
        add_indent(writer, 0);
        buf_add_cstr(writer->out, *title);
    }
    *title = NULL;
    add_indent(writer, 2);
}

static void add_text(struct text_writer *writer, struct str text)
{
    why_text_add(text, writer->style, writer->out);
}

static void add_member(struct text_writer *writer, json_ref object, const char *key)
{
    add_text(writer, json_get_text(writer->d, object, key));
}

static int64_t member_number(const struct text_writer *writer, json_ref object, const char *key)
{
    int64_t n = 0;

    return json_int64(writer->d, json_get(writer->d, object, key), &n) ? n : 0;
}

/* --- Repeated text --- */

static bool has_line(const struct text_writer *writer, json_ref array, struct str text)
{
    for (json_ref v = json_first(writer->d, array); v; v = json_next(writer->d, v))
        if (str_eq(json_text(writer->d, v), text))
            return true;
    return false;
}

static bool text_contains(struct str text, struct str what)
{
    return what.len == 0 || (text.len && memmem(text.s, text.len, what.s, what.len));
}

static bool report_mentions(const struct text_writer *writer, json_ref r, struct str text)
{
    json_ref facts = json_get(writer->d, r, "facts");
    struct str sentence = json_get_text(writer->d, r, "sentence");

    if (text_contains(sentence, text))
        return true;
    for (json_ref v = json_first(writer->d, facts); v; v = json_next(writer->d, v))
        if (text_contains(json_text(writer->d, v), text))
            return true;
    return false;
}

/* The report already contains the message of an operation or event. */
static bool is_already_shown(const struct text_writer *writer, json_ref r, struct str message)
{
    struct str detail = report_detail(message);

    return detail.len == 0 || report_mentions(writer, r, detail) ||
           report_mentions(writer, writer->root, detail);
}

static bool is_fine(const struct text_writer *writer, json_ref r)
{
    return str_is(json_get_text(writer->d, r, "cause"), WHY_NOTHING);
}

/* --- Members of a report --- */

/* A state that is as it should be has no cause: the sentence is about another problem of the object. */
static const char *choose_conjunction(const struct text_writer *writer, json_ref r)
{
    struct str state = json_get_text(writer->d, r, "state");

    if (is_fine(writer, r))
        return "; ";
    return str_has_prefix(state, "Bound") || str_has_prefix(state, "Running") ? ", but " : ", because ";
}

/* Leaves the sentence out if the parent report begins with it. */
static void add_head(struct text_writer *writer, json_ref r, json_ref parent)
{
    static const char *const types[][2] = { { "PersistentVolumeClaim", "pvc" },
                                            { "PersistentVolume", "pv" },
                                            { "Pod", "pod" } };
    struct str type = json_get_text(writer->d, r, "kind"), ns = json_get_text(writer->d, r, "namespace"),
               sentence = json_get_text(writer->d, r, "sentence");

    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (str_is(type, types[i][0]))
            type = str_of(types[i][1]);
    add_indent(writer, 0);
    add_text(writer, type);
    buf_add_char(writer->out, ' ');
    add_text(writer, ns);
    buf_add_cstr(writer->out, ns.len ? "/" : "");
    add_member(writer, r, "name");
    buf_add_cstr(writer->out, ": ");
    add_member(writer, r, "state");
    if (!parent || is_fine(writer, r) || sentence.len == 0 || !report_mentions(writer, parent, sentence)) {
        buf_add_cstr(writer->out, choose_conjunction(writer, r));
        add_member(writer, r, "sentence");
    }
    buf_add_char(writer->out, '\n');
}

/* Lines of the report that its parent does not have, with a title above the first. True when there was one.
 */
static bool add_lines(struct text_writer *writer, json_ref r, json_ref parent, const char *key,
                      const char *title, const char *mark)
{
    json_ref lines = json_get(writer->d, r, key), before = parent ? json_get(writer->d, parent, key) : 0;
    bool has_some = false;

    for (json_ref v = json_first(writer->d, lines); v; v = json_next(writer->d, v)) {
        if (before && has_line(writer, before, json_text(writer->d, v)))
            continue;
        has_some = true;
        begin_item(writer, &title);
        buf_add_cstr(writer->out, mark);
        add_text(writer, json_text(writer->d, v));
        buf_add_char(writer->out, '\n');
    }
    return has_some;
}

static void add_examples(struct text_writer *writer, json_ref group, unsigned indent)
{
    json_ref examples = json_get(writer->d, group, "examples");
    int64_t more = member_number(writer, group, "count") - (int64_t)json_count(writer->d, examples);

    for (json_ref e = json_first(writer->d, examples); e; e = json_next(writer->d, e)) {
        add_indent(writer, indent);
        add_member(writer, e, "name");
        buf_add_cstr(writer->out, ": ");
        add_member(writer, e, "text");
        buf_add_char(writer->out, '\n');
    }
    if (more > 0) {
        add_indent(writer, indent);
        buf_addf(writer->out, "%s and %" PRId64 " more\n", writer->style->is_ascii ? "..." : "\u2026", more);
    }
}

/* Few candidates are listed one by one, many by reason. */
static void add_candidates(struct text_writer *writer, json_ref candidates)
{
    json_ref groups = json_get(writer->d, candidates, "groups");
    int64_t total = member_number(writer, candidates, "total");

    if (total <= 0)
        return;
    add_indent(writer, 0);
    buf_addf(writer->out, "Candidates (%" PRId64 "):\n", total);
    for (json_ref g = json_first(writer->d, groups); g; g = json_next(writer->d, g)) {
        if (total <= WHY_FEW) {
            add_examples(writer, g, 2);
            continue;
        }
        add_indent(writer, 2);
        add_member(writer, g, "reason");
        buf_addf(writer->out, ": %" PRId64 "\n", member_number(writer, g, "count"));
        add_examples(writer, g, 4);
    }
}

static bool wants_operation(const struct text_writer *writer, json_ref r, json_ref o)
{
    return writer->style->is_verbose ||
           (!is_fine(writer, r) && (str_is(json_get_text(writer->d, o, "state"), "running") ||
                                    !is_already_shown(writer, r, json_get_text(writer->d, o, "message"))));
}

static void add_operations(struct text_writer *writer, json_ref r)
{
    json_ref operations = json_get(writer->d, r, "operations");
    const char *title = "Operations:\n";

    for (json_ref o = json_first(writer->d, operations); o; o = json_next(writer->d, o)) {
        int64_t failures = member_number(writer, o, "failures");

        if (!wants_operation(writer, r, o))
            continue;
        begin_item(writer, &title);
        add_member(writer, o, "name");
        if (str_is(json_get_text(writer->d, o, "state"), "running"))
            buf_add_cstr(writer->out, ", running");
        if (failures > 0)
            buf_addf(writer->out, ", failed %" PRId64 " time%s", failures, failures == 1 ? "" : "s");
        if (json_get(writer->d, o, "retryInSeconds"))
            buf_addf(writer->out, ", next try in %" PRId64 "s", member_number(writer, o, "retryInSeconds"));
        if (json_get_text(writer->d, o, "message").len)
            buf_add_cstr(writer->out, ": ");
        add_member(writer, o, "message");
        buf_add_char(writer->out, '\n');
    }
}

static bool wants_event(const struct text_writer *writer, json_ref r, json_ref e)
{
    return writer->style->is_verbose ||
           (!is_fine(writer, r) && !json_get(writer->d, e, "over") &&
            str_is(json_get_text(writer->d, e, "type"), "Warning") &&
            !is_already_shown(writer, r, json_get_text(writer->d, e, "message")));
}

static void add_events(struct text_writer *writer, json_ref r)
{
    json_ref events = json_get(writer->d, r, "events");
    const char *title = "Events:\n";

    for (json_ref e = json_first(writer->d, events); e; e = json_next(writer->d, e)) {
        int64_t count = member_number(writer, e, "count");

        if (!wants_event(writer, r, e))
            continue;
        begin_item(writer, &title);
        add_member(writer, e, "age");
        buf_add_cstr(writer->out, " ago  ");
        add_member(writer, e, "type");
        buf_add_char(writer->out, ' ');
        add_member(writer, e, "reason");
        if (count > 1)
            buf_addf(writer->out, " (x%" PRId64 ")", count);
        buf_add_cstr(writer->out, ": ");
        add_member(writer, e, "message");
        buf_add_char(writer->out, '\n');
    }
}

static void add_report(struct text_writer *writer, json_ref r, json_ref parent);

/* Only pods have parts. The title separates them from the events above. */
static void add_parts(struct text_writer *writer, json_ref r)
{
    json_ref parts = json_get(writer->d, r, "parts");

    if (json_count(writer->d, parts) == 0 || writer->depth + 1 == WHY_DEPTH_MAX)
        return;
    add_indent(writer, 0);
    buf_add_cstr(writer->out, "Volumes:\n");
    writer->depth++;
    for (json_ref p = json_first(writer->d, parts); p; p = json_next(writer->d, p))
        add_report(writer, p, r);
    writer->depth--;
}

static bool add_next(struct text_writer *writer, json_ref r, json_ref parent)
{
    struct str next = json_get_text(writer->d, r, "next");

    if (next.len == 0 || (parent && str_eq(next, json_get_text(writer->d, parent, "next"))))
        return false;
    add_indent(writer, 0);
    buf_add_cstr(writer->out, "Next: ");
    add_text(writer, next);
    buf_add_char(writer->out, '\n');
    return true;
}

/* parent: the report that this one is a part of; 0 for none. */
static void add_report(struct text_writer *writer, json_ref r, json_ref parent)
{
    bool has_more;

    add_head(writer, r, parent);
    has_more = add_lines(writer, r, parent, "advice", "What you can do:\n", "- ");
    has_more |= add_next(writer, r, parent);
    (void)add_lines(writer, r, parent, "facts", has_more ? "Details:\n" : NULL, "");
    add_candidates(writer, json_get(writer->d, r, "candidates"));
    add_operations(writer, r);
    add_events(writer, r);
    add_parts(writer, r);
}

void why_text_write(const struct json *d, json_ref report, const struct why_style *style, struct buf *out)
{
    add_report(&(struct text_writer){ .d = d, .style = style, .root = report, .out = out }, report,
               /* parent= */ 0);
}

#include "cli/check_show.h"

#include <inttypes.h>
#include <string.h>

#include "cli/columns.h"

/* Of one rule, one by one: more are counted. */
#define SHOWN_MAX 20

static void add_safely(struct buf *out, const char *text)
{
    _cleanup_(columns_done_p) struct columns c;

    columns_init_text(&c);
    columns_add_cell(&c, str_of(text));
    buf_add_str(out, buf_str(&c.text));
}

static void show_finding(const struct finding *f, const char *(*paint)(size_t line, struct str word),
                         struct buf *out)
{
    static const char *const like[] = { "Error", "Warning", "Ready" }; /* words that have a colour */
    _cleanup_(buf_done_p) struct buf object = BUF_INIT(4096);
    const char *colour = paint ? paint(/* line= */ 1, str_of(like[f->severity])) : NULL;

    if (colour)
        buf_add_cstr(out, colour);
    buf_addf(out, "%s", severity_names[f->severity]);
    if (colour)
        buf_add_cstr(out, "\x1b[0m");
    finding_write_object(f, &object);
    buf_add_cstr(out, ": ");
    add_safely(out, buf_cstr(&object));
    buf_add_cstr(out, ": ");
    add_safely(out, f->text);
    buf_add_cstr(out, "; ");
    add_safely(out, f->advice);
    buf_add_char(out, '\n');
}

static void add_count(struct buf *out, size_t n, const char *what)
{
    buf_addf(out, "%zu %s%s", n, what, n == 1 ? "" : "s");
}

/* "5 pods and 3 claims are waiting …": what was passed over. */
static void show_waiting(const struct checkup *x, struct buf *out)
{
    size_t sum = x->waiting_pods + x->waiting_claims;

    if (sum == 0)
        return;
    if (x->waiting_pods)
        add_count(out, x->waiting_pods, "pod");
    if (x->waiting_pods && x->waiting_claims)
        buf_add_cstr(out, " and ");
    if (x->waiting_claims)
        add_count(out, x->waiting_claims, "claim");
    buf_addf(out, " waiting less than %" PRId64 " min; --stuck-after 0 lists %s\n", x->stuck_seconds / 60,
             sum == 1 ? "it" : "them");
}

static void show_summary(const struct checkup *x, struct buf *out)
{
    static const struct {
        enum kind kind;
        const char *word;
    } seen[] = { { KIND_CLASS, "class" },
                 { KIND_VOLUME, "volume" },
                 { KIND_CLAIM, "claim" },
                 { KIND_POD, "pod" },
                 { KIND_NODE, "node" } };

    for (unsigned i = 0; i < SEVERITY_COUNT; i++) {
        buf_add_cstr(out, i ? ", " : "");
        add_count(out, x->counts[i], severity_names[i]);
    }
    buf_add_cstr(out, " in");
    for (size_t i = 0; i < ARRAY_LEN(seen); i++) {
        size_t n = x->all->kinds[seen[i].kind].list.count;

        buf_add_cstr(out, i == 0 ? " " : i + 1 < ARRAY_LEN(seen) ? ", " : " and ");
        add_count(out, n, seen[i].kind == KIND_CLASS && n != 1 ? "classe" : seen[i].word);
    }
    buf_add_cstr(out, ".\n");
}

void checkup_show(const struct checkup *x, bool is_whole, const char *(*paint)(size_t line, struct str word),
                  struct buf *out)
{
    for (size_t i = 0, end; i < x->findings.count; i = end) {
        const struct finding *first = &x->findings.items[i];
        size_t shown;

        for (end = i; end < x->findings.count && x->findings.items[end].severity == first->severity &&
                      strcmp(x->findings.items[end].rule, first->rule) == 0;
             end++)
            ;
        shown = is_whole || end - i <= SHOWN_MAX + 1 ? end - i : SHOWN_MAX;
        for (size_t k = 0; k < shown; k++)
            show_finding(&x->findings.items[i + k], paint, out);
        if (shown < end - i)
            buf_addf(out, "%s: %zu more like these (%s); see 'berth check --all'\n",
                     severity_names[first->severity], end - i - shown, first->rule);
    }
    show_waiting(x, out);
    show_summary(x, out);
}

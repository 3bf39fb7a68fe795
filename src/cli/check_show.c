/* Prints the findings of `berth check` as text: per rule a limited number, then a summary of the objects that
 * were checked. */
#include "cli/check_show.h"

#include <inttypes.h>
#include <string.h>

#include "cli/columns.h"

/* Findings listed per rule; more are counted. */
#define SHOWN_MAX 20

static void show_finding(const struct check_finding *f, const char *(*paint)(size_t line, struct str word),
                         struct buf *out)
{
    static const char *const like[] = { "Error", "Warning", "Ready" }; /* states that have such a colour */
    _cleanup_(buf_done_p) struct buf object = BUF_INIT(4096);
    const char *colour = paint ? paint(/* line= */ 1, str_of(like[f->severity])) : NULL;

    columns_write_painted(out, colour, str_of(severity_names[f->severity]));
    finding_write_object(f, &object);
    buf_add_cstr(out, ": ");
    columns_write_cell(out, buf_str(&object));
    buf_add_cstr(out, ": ");
    columns_write_cell(out, str_of(f->text));
    buf_add_cstr(out, "; ");
    columns_write_cell(out, str_of(f->advice));
    buf_add_char(out, '\n');
}

static void add_count(struct buf *out, size_t n, const char *what)
{
    buf_addf(out, "%zu %s%s", n, what, n == 1 ? "" : "s");
}

/* "5 pods and 3 claims are waiting …": objects that are not late yet. */
static void show_waiting(const struct checkup *checkup, struct buf *out)
{
    size_t sum = checkup->waiting_pods + checkup->waiting_claims;

    if (sum == 0)
        return;
    if (checkup->waiting_pods)
        add_count(out, checkup->waiting_pods, "pod");
    if (checkup->waiting_pods && checkup->waiting_claims)
        buf_add_cstr(out, " and ");
    if (checkup->waiting_claims)
        add_count(out, checkup->waiting_claims, "claim");
    buf_addf(out, " waiting less than %" PRId64 " min; --stuck-after 0 lists %s\n",
             checkup->stuck_seconds / 60, sum == 1 ? "it" : "them");
}

static void show_summary(const struct checkup *checkup, struct buf *out)
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
        add_count(out, checkup->counts[i], severity_names[i]);
    }
    buf_add_cstr(out, " in");
    for (size_t i = 0; i < ARRAY_LEN(seen); i++) {
        size_t n = checkup->all->kinds[seen[i].kind].list.count;

        buf_add_cstr(out, i == 0 ? " " : i + 1 < ARRAY_LEN(seen) ? ", " : " and ");
        add_count(out, n, seen[i].kind == KIND_CLASS && n != 1 ? "classe" : seen[i].word);
    }
    buf_add_cstr(out, ".\n");
}

void checkup_show(const struct checkup *checkup, bool is_whole,
                  const char *(*paint)(size_t line, struct str word), struct buf *out)
{
    for (size_t i = 0, end; i < checkup->findings.count; i = end) {
        const struct check_finding *first = &checkup->findings.items[i];
        size_t shown;

        for (end = i;
             end < checkup->findings.count && checkup->findings.items[end].severity == first->severity &&
             strcmp(checkup->findings.items[end].rule, first->rule) == 0;
             end++)
            ;
        shown = is_whole || end - i <= SHOWN_MAX + 1 ? end - i : SHOWN_MAX;
        for (size_t k = 0; k < shown; k++)
            show_finding(&checkup->findings.items[i + k], paint, out);
        if (shown < end - i)
            buf_addf(out, "%s: %zu more like these (%s); see 'berth check --all'\n",
                     severity_names[first->severity], end - i - shown, first->rule);
    }
    show_waiting(checkup, out);
    show_summary(checkup, out);
}

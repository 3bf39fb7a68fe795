#include "cli/tree_show.h"

#include <string.h>

#include "cli/columns.h"

#define DEPTH_MAX 8
/* Kinds and states of the twigs below one: more than there are words for. */
#define GROUPS_MAX 32

struct strokes {
    const char *branch, *last, *line, *blank, *more;
};

static const struct strokes drawn = { "├─ ", "└─ ", "│  ", "   ", "…" };
static const struct strokes typed = { "|- ", "`- ", "|  ", "   ", "..." };

/* Twigs that are alike. */
struct group {
    const struct twig *like;
    size_t count;
    size_t shown;
};

struct groups {
    struct group items[GROUPS_MAX];
    size_t count;
};

struct shower {
    const struct tree_look *how;
    const struct strokes *strokes;
    struct buf *out;
    bool has_more[DEPTH_MAX]; /* something follows below the twig of that depth */
    size_t depth;
};

static const char *const words[KIND_COUNT] = {
    [KIND_CLASS] = "class", [KIND_VOLUME] = "volume", [KIND_CLAIM] = "claim",
    [KIND_POD] = "pod",     [KIND_NODE] = "node",
};

/* --- Lines --- */

static void start_line(struct shower *x, bool is_last)
{
    if (x->depth == 0)
        return;
    for (size_t i = 1; i < x->depth; i++)
        buf_add_cstr(x->out, x->has_more[i] ? x->strokes->line : x->strokes->blank);
    buf_add_cstr(x->out, is_last ? x->strokes->last : x->strokes->branch);
}

/* Texts of objects, with what a terminal would obey made visible. */
static void add_safely(struct shower *x, const char *text)
{
    _cleanup_(columns_done_p) struct columns c;

    columns_init_text(&c);
    columns_add_cell(&c, str_of(text));
    buf_add_str(x->out, buf_str(&c.text));
}

static void add_state(struct shower *x, const char *state)
{
    const char *colour = x->how->paint ? x->how->paint(/* line= */ 1, str_of(state)) : NULL;

    if (colour)
        buf_add_cstr(x->out, colour);
    buf_add_cstr(x->out, state);
    if (colour)
        buf_add_cstr(x->out, "\x1b[0m");
}

static void show_line(struct shower *x, const struct twig *t, bool is_last)
{
    const char *between = ": ";

    start_line(x, is_last);
    if (t->kind == KIND_CLASS && !t->name[0]) {
        buf_add_cstr(x->out, "(no class)\n");
        return;
    }
    if (t->kind == KIND_POD && !t->name[0]) {
        buf_add_cstr(x->out, "(no claim)\n");
        return;
    }
    buf_addf(x->out, "%s %s%s", words[t->kind], t->kind == KIND_CLAIM ? t->ns : "",
             t->kind == KIND_CLAIM ? "/" : "");
    add_safely(x, t->name);
    if (t->state[0]) {
        buf_add_cstr(x->out, between);
        add_state(x, t->state);
        between = ", ";
    }
    if (t->capacity[0]) {
        buf_addf(x->out, "%s%s", between, t->capacity);
        between = ", ";
    }
    if (t->note[0]) {
        buf_add_cstr(x->out, between);
        add_safely(x, t->note);
    }
    buf_add_char(x->out, '\n');
}

/* "9,990" */
static void add_number(struct buf *out, size_t n)
{
    if (n >= 1000) {
        add_number(out, n / 1000);
        buf_addf(out, ",%03zu", n % 1000);
    } else {
        buf_addf(out, "%zu", n);
    }
}

static void show_rest(struct shower *x, const struct group *g, bool is_last)
{
    start_line(x, is_last);
    buf_addf(x->out, "%s ", x->strokes->more);
    add_number(x->out, g->count - g->shown);
    buf_addf(x->out, " more %ss%s%s\n", words[g->like->kind], g->like->state[0] ? ", " : "", g->like->state);
}

/* --- What is alike --- */

static struct group *group_of(struct groups *all, const struct twig *t)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i].like->kind == t->kind && strcmp(all->items[i].like->state, t->state) == 0)
            return &all->items[i];
    if (all->count == GROUPS_MAX)
        return NULL; /* shown one by one */
    all->items[all->count] = (struct group){ .like = t };
    return &all->items[all->count++];
}

static size_t shown_of(const struct shower *x, const struct group *g)
{
    bool is_cut = !x->how->is_whole && x->depth > 0 && g->count > TREE_ALIKE_MAX + 1;

    return is_cut ? TREE_ALIKE_MAX : g->count;
}

/* Counts them, and how many lines there will be. */
static size_t plan(const struct shower *x, const struct twig *on, struct groups *ret)
{
    size_t lines = 0;

    for (const struct twig *t = on->first; t; t = t->next) {
        struct group *g = group_of(ret, t);

        if (g)
            g->count++;
        else
            lines++;
    }
    for (size_t i = 0; i < ret->count; i++) {
        size_t shown = shown_of(x, &ret->items[i]);

        lines += shown + (shown < ret->items[i].count);
    }
    return lines;
}

/* Recurses once for each level: class, volume, claim, pod, node. */
static void show_below(struct shower *x, const struct twig *on)
{
    struct groups groups = { 0 };
    size_t left = plan(x, on, &groups);

    for (const struct twig *t = on->first; t && x->depth < DEPTH_MAX; t = t->next) {
        struct group *g = group_of(&groups, t);

        if (g && g->shown == shown_of(x, g))
            continue;
        if (g)
            g->shown++;
        left--;
        show_line(x, t, left == 0);
        x->has_more[x->depth] = left > 0;
        x->depth++;
        show_below(x, t);
        x->depth--;
    }
    for (size_t i = 0; i < groups.count; i++)
        if (groups.items[i].shown < groups.items[i].count)
            show_rest(x, &groups.items[i], --left == 0);
}

void tree_show(const struct tree *t, const struct tree_look *how, struct buf *out)
{
    struct shower x = { .how = how, .strokes = how->is_ascii ? &typed : &drawn, .out = out };

    show_below(&x, &t->root);
}

/* Prints the tree of why/relation_tree.h as text, with a limited number of equal children per parent. */
#include "cli/tree_show.h"

#include <string.h>

#include "cli/columns.h"

#define DEPTH_MAX 8
/* Combinations of kind and state below one parent: more than exist. */
#define GROUPS_MAX 32

struct strokes {
    const char *branch, *last, *line, *blank, *more;
};

static const struct strokes drawn = { "├─ ", "└─ ", "│  ", "   ", "…" };
static const struct strokes typed = { "|- ", "`- ", "|  ", "   ", "..." };

/* Children with the same kind and state. */
struct group {
    const struct twig *like;
    size_t count;
    size_t shown;
};

struct groups {
    struct group items[GROUPS_MAX];
    size_t count;
};

struct tree_writer {
    const struct tree_style *how;
    const struct strokes *strokes;
    struct buf *out;
    bool has_more[DEPTH_MAX]; /* more children follow at that depth */
    size_t depth;
};

static const char *const words[KIND_COUNT] = {
    [KIND_CLASS] = "class", [KIND_VOLUME] = "volume", [KIND_CLAIM] = "claim",
    [KIND_POD] = "pod",     [KIND_NODE] = "node",
};

/* --- Lines --- */

static void start_line(struct tree_writer *writer, bool is_last)
{
    if (writer->depth == 0)
        return;
    for (size_t i = 1; i < writer->depth; i++)
        buf_add_cstr(writer->out, writer->has_more[i] ? writer->strokes->line : writer->strokes->blank);
    buf_add_cstr(writer->out, is_last ? writer->strokes->last : writer->strokes->branch);
}

static void show_line(struct tree_writer *writer, const struct twig *t, bool is_last)
{
    const char *between = ": ";

    start_line(writer, is_last);
    if (t->kind == KIND_CLASS && !t->name[0]) {
        buf_add_cstr(writer->out, "(no class)\n");
        return;
    }
    if (t->kind == KIND_POD && !t->name[0]) {
        buf_add_cstr(writer->out, "(no claim)\n");
        return;
    }
    buf_addf(writer->out, "%s %s%s", words[t->kind], t->kind == KIND_CLAIM ? t->ns : "",
             t->kind == KIND_CLAIM ? "/" : "");
    columns_write_cell(writer->out, str_of(t->name));
    if (t->state[0]) {
        buf_add_cstr(writer->out, between);
        columns_write_painted(writer->out,
                              writer->how->paint ? writer->how->paint(/* line= */ 1, str_of(t->state)) : NULL,
                              str_of(t->state));
        between = ", ";
    }
    if (t->capacity[0]) {
        buf_addf(writer->out, "%s%s", between, t->capacity);
        between = ", ";
    }
    if (t->note[0]) {
        buf_add_cstr(writer->out, between);
        columns_write_cell(writer->out, str_of(t->note));
    }
    buf_add_char(writer->out, '\n');
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

static void show_rest(struct tree_writer *writer, const struct group *g, bool is_last)
{
    start_line(writer, is_last);
    buf_addf(writer->out, "%s ", writer->strokes->more);
    add_number(writer->out, g->count - g->shown);
    buf_addf(writer->out, " more %ss%s%s\n", words[g->like->kind], g->like->state[0] ? ", " : "",
             g->like->state);
}

/* --- Grouping --- */

static struct group *group_of(struct groups *all, const struct twig *t)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i].like->kind == t->kind && strcmp(all->items[i].like->state, t->state) == 0)
            return &all->items[i];
    if (all->count == GROUPS_MAX)
        return NULL; /* listed one by one */
    all->items[all->count] = (struct group){ .like = t };
    return &all->items[all->count++];
}

static size_t shown_of(const struct tree_writer *writer, const struct group *g)
{
    bool is_cut = !writer->how->is_whole && writer->depth > 0 && g->count > TREE_ALIKE_MAX + 1;

    return is_cut ? TREE_ALIKE_MAX : g->count;
}

/* Counts the children by group; returns the number of lines. */
static size_t group_children(const struct tree_writer *writer, const struct twig *on, struct groups *ret)
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
        size_t shown = shown_of(writer, &ret->items[i]);

        lines += shown + (shown < ret->items[i].count);
    }
    return lines;
}

/* Recurses once per level: class, volume, claim, pod, node. */
static void show_below(struct tree_writer *writer, const struct twig *on)
{
    struct groups groups = { 0 };
    size_t left = group_children(writer, on, &groups);

    for (const struct twig *t = on->first; t && writer->depth < DEPTH_MAX; t = t->next) {
        struct group *g = group_of(&groups, t);

        if (g && g->shown == shown_of(writer, g))
            continue;
        if (g)
            g->shown++;
        left--;
        show_line(writer, t, left == 0);
        writer->has_more[writer->depth] = left > 0;
        writer->depth++;
        show_below(writer, t);
        writer->depth--;
    }
    for (size_t i = 0; i < groups.count; i++)
        if (groups.items[i].shown < groups.items[i].count)
            show_rest(writer, &groups.items[i], --left == 0);
}

void tree_show(const struct relation_tree *t, const struct tree_style *how, struct buf *out)
{
    struct tree_writer x = { .how = how, .strokes = how->is_ascii ? &typed : &drawn, .out = out };

    show_below(&x, &t->root);
}

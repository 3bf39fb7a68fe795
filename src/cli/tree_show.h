/* A tree as text. */
#ifndef BERTH_CLI_TREE_SHOW_H
#define BERTH_CLI_TREE_SHOW_H

#include "why/relation_tree.h"

struct tree_style {
    bool is_ascii;
    bool is_whole; /* list every child */
    /* The escape sequence for a state; NULL: no colours. */
    const char *(*paint)(size_t line, struct str state);
};

void tree_show(const struct relation_tree *t, const struct tree_style *how, struct buf *out);

#endif

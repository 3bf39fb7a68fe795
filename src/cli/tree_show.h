/* A tree as text for people. */
#ifndef BERTH_CLI_TREE_SHOW_H
#define BERTH_CLI_TREE_SHOW_H

#include "why/tree.h"

struct tree_look {
    bool is_ascii;
    bool is_whole; /* nothing is summed up */
    /* The escape sequence for a state; NULL: no colours. */
    const char *(*paint)(size_t line, struct str state);
};

void tree_show(const struct tree *t, const struct tree_look *how, struct buf *out);

#endif

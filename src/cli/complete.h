/* What a shell may offer for the word at the cursor.
 *
 * Two halves. complete_plan() reads the words typed so far and says what belongs at the cursor; it asks
 * nobody and may be tried with any words. `berth __complete -- WORD...`, which the shells' scripts call
 * (completion.c), then prints the candidates, live ones after a look at the server.
 *
 * A line is a candidate, the whole word, and behind a tab what it is; ":files" or ":dirs" leaves the word to
 * the shell. What a shell would take for anything but letters is never printed, and nothing that goes wrong
 * is said: a person who presses Tab gets names or silence, within a second. */
#ifndef BERTH_CLI_COMPLETE_H
#define BERTH_CLI_COMPLETE_H

#include <stdbool.h>
#include <stddef.h>

#include "api/kind.h"
#include "base/str.h"
#include "cli/session.h"

enum complete_what {
    COMPLETE_NOTHING,
    COMPLETE_WORDS, /* .words */
    COMPLETE_COMMANDS,
    COMPLETE_FILES,
    COMPLETE_DIRS,
    COMPLETE_TYPES, /* of objects */
    COMPLETE_PAIRS, /* the same with a '/' behind them; only .words, unless that is NULL */
    COMPLETE_NAMES, /* of objects of .kind */
    COMPLETE_CONTEXTS,
};

struct complete_plan {
    enum complete_what what;
    const char *words;            /* with blanks between */
    const struct kind_info *kind; /* of names */
    struct str kept;              /* stands before every candidate: "--for=", "pvc/" */
    struct str prefix;            /* what the candidates behind it begin with */
    struct session_settings session;
    bool is_everywhere; /* -A */
    /* Names that stand there already: no candidates. */
    char *const *taken;
    size_t taken_count;
};

/* words: behind "berth", the last of them at the cursor, perhaps ""; at least one. They are borrowed; those
 * that are no flags are moved, as flags_parse() does. */
void complete_plan(char **words, size_t count, struct complete_plan *ret);

/* Letters, digits and what names are made of, and no '-' in front: no shell sees anything in it. */
bool complete_is_plain(struct str word);

#endif

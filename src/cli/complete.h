/* Shell completion of the word at the cursor.
 *
 * Two steps. complete_plan() reads the words typed so far and decides what belongs at the cursor; it makes no
 * requests and accepts any words. `berth __complete -- WORD...`, which the shell scripts call (completion.c),
 * then prints the candidates, with names from the server where needed.
 *
 * Each line is a candidate, the whole word, and after a tab its description; ":files" or ":dirs" leaves the
 * word to the shell. Words with characters that are special to a shell are never printed, and errors are not
 * reported: pressing Tab gives names or nothing, within a second. */
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
    COMPLETE_TYPES, /* of kinds */
    COMPLETE_PAIRS, /* the same followed by '/'; only .words, unless that is NULL */
    COMPLETE_NAMES, /* of objects of .kind */
    COMPLETE_CONTEXTS,
};

struct complete_plan {
    enum complete_what what;
    const char *words;            /* separated by blanks */
    const struct kind_info *kind; /* the kind to list names of */
    struct str kept;              /* comes before every candidate: "--for=", "pvc/" */
    struct str prefix;            /* what the candidates after it begin with */
    struct session_settings session;
    bool is_everywhere; /* -A */
    /* Names already on the command line: not candidates. */
    char *const *taken;
    size_t taken_count;
};

/* words: after "berth", the last one at the cursor, possibly ""; at least one. They are borrowed; words that
 * are not flags are moved, as flags_parse() does. */
void complete_plan(char **words, size_t count, struct complete_plan *ret);

/* True for letters, digits and other characters of names, without a leading '-': not special to any shell. */
bool complete_is_plain(struct str word);

#endif

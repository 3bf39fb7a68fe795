/* What the program says of itself, from the tables that it works by: help for a terminal, and the reference
 * and the manual pages that are made of the same tables.
 *
 * Each writes behind *out; what does not fit makes the buffer fail (base/buf.h). */
#ifndef BERTH_CLI_HELP_H
#define BERTH_CLI_HELP_H

#include <stddef.h>

#include "base/buf.h"
#include "cli/cli.h"

struct flag;

#define HELP_BYTES_MAX ((size_t)1 << 20)
#define HELP_WIDTH 80     /* when nobody knows better */
#define HELP_WIDTH_MIN 40 /* what is narrower wraps in the terminal */

/* All verbs, or one, in lines of at most that many characters, as far as words allow. */
void help_write_all(size_t width, struct buf *out);
void help_write_verb(const struct cli_verb *verb, size_t width, struct buf *out);

/* "-n, --namespace NS", "--dry-run[=WAY]"; cut off at the end of ret. */
void help_flag_head(const struct flag *f, char *ret, size_t bytes);

/* What it is for, and its aliases, with dashes before them or nothing; cut off at the end of ret. */
void help_flag_text(const struct flag *f, const char *dashes, char *ret, size_t bytes);
#define HELP_FLAG_TEXT_BYTES 512

/* True for a verb that people are not told of: one that only scripts of the program's own call. */
bool help_is_hidden(const struct cli_verb *verb);

extern const char *const help_group_titles[CLI_GROUP_COUNT];

/* All verbs as a page in Markdown; as the sections of berth(1) that tell of them; and the settings of `serve`
 * as a section of berth.conf(5). */
void reference_write_markdown(struct buf *out);
void reference_write_man(struct buf *out);
void reference_write_settings(struct buf *out);

#endif

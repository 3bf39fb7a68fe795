/* Help from the tables of verbs and flags: text for a terminal, and the reference and manual pages.
 *
 * Each function appends to *out; on overflow the buffer fails (base/buf.h). */
#ifndef BERTH_CLI_HELP_H
#define BERTH_CLI_HELP_H

#include <stddef.h>

#include "base/buf.h"
#include "cli/cli.h"

struct flag;

#define HELP_BYTES_MAX ((size_t)1 << 20)
#define HELP_WIDTH 80     /* when the terminal's width is not known */
#define HELP_WIDTH_MIN 40 /* narrower terminals wrap the lines */

/* All verbs, or one, in lines of at most `width` characters, as far as words allow. */
void help_write_all(size_t width, struct buf *out);
void help_write_verb(const struct cli_verb *verb, size_t width, struct buf *out);

/* "-n, --namespace NS", "--dry-run[=WAY]"; truncated to `bytes`. */
void help_flag_head(const struct flag *f, char *ret, size_t bytes);

/* Its description and aliases, with `dashes` before each alias; truncated to `bytes`. */
void help_flag_text(const struct flag *f, const char *dashes, char *ret, size_t bytes);
#define HELP_FLAG_TEXT_BYTES 512

/* The flags by group: title() before the first of each, NULL for those without a group, then row(). */
struct help_flags {
    void (*title)(void *ctx, const char *group);
    void (*row)(void *ctx, const struct flag *f);
};
void help_each_flag(const struct flag *flags, const struct help_flags *fns, void *ctx);

/* True for a verb that only the program's own scripts call. */
bool help_is_hidden(const struct cli_verb *verb);

extern const char *const help_group_titles[CLI_GROUP_COUNT];

/* All verbs as a Markdown page; as the sections of berth(1) about them; and the settings of `serve` as a
 * section of berth.conf(5). */
void reference_write_markdown(struct buf *out);
void reference_write_man(struct buf *out);
void reference_write_settings(struct buf *out);

#endif

/* Static bearer tokens: a file of lines `token,user,uid,"group1,group2"`, read once at the start.
 *
 * Fields may be in double quotes, with "" for a quote inside. The groups may be left out. Empty lines are
 * passed over; of two lines with one token the last counts. */
#ifndef BERTH_APISERVER_TOKEN_FILE_H
#define BERTH_APISERVER_TOKEN_FILE_H

#include "apiserver/call.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/str.h"

#define TOKEN_FILE_BYTES_MAX ((size_t)1 << 20)

struct token_file;

/* Errors name the line, never what stands in it. */
int token_file_parse(struct str text, struct token_file **ret, struct error *err);
/* A file that others than its owner can read or write gives a warning in the log, with its mode and what to
 * do.
 */
int token_file_load(const char *path, struct token_file **ret, struct error *err);
struct token_file *token_file_free(struct token_file *f);
DEFINE_CLEANUP(struct token_file, token_file_free)

/* NULL when nobody has this token. Takes the same time whichever it is: every line is compared, in time that
 * depends on the lengths alone. */
const struct user *token_file_find(const struct token_file *f, struct str token);

#endif

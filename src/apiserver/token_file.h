/* Static bearer tokens: a file of lines `token,user,uid,"group1,group2"`, read once at the start.
 *
 * Fields may be in double quotes, with "" for a quote. The groups are optional. Empty lines are ignored; of
 * two lines with the same token the last counts. */
#ifndef BERTH_APISERVER_TOKEN_FILE_H
#define BERTH_APISERVER_TOKEN_FILE_H

#include "apiserver/api_call.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/str.h"

#define TOKEN_FILE_BYTES_MAX ((size_t)1 << 20)

struct token_file;

/* Errors name the line, never its contents. */
int token_file_parse(struct str text, struct token_file **ret, struct error *err);
/* Logs a warning, with the mode and the remedy, if users other than the owner can read or write the file. */
int token_file_load(const char *path, struct token_file **ret, struct error *err);
struct token_file *token_file_free(struct token_file *f);
DEFINE_CLEANUP(struct token_file, token_file_free)

/* NULL for an unknown token. Takes constant time: every line is compared, in time that depends only on the
 * lengths. */
const struct user *token_file_find(const struct token_file *f, struct str token);

#endif

/* The settings file of the verbs that keep running. */
#ifndef BERTH_CLI_PROGRAM_H
#define BERTH_CLI_PROGRAM_H

#include "cli/flags.h"
#include "daemon/daemon.h"

/* A settings file: YAML with the flags by name, and the sections of the program's components. What is already
 * set stays: the command line takes precedence. doc: initialized; the settings borrow its texts. Errors begin
 * with the path: `settings in 'PATH': …`. */
#define PROGRAM_FILE_BYTES_MAX ((size_t)1 << 20)
int program_read_file(struct json *doc, const char *path, const struct daemon_program *program,
                      const struct flag *flags, struct daemon_settings *s, struct error *err);

#endif

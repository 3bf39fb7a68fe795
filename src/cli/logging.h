/* The log of a verb that keeps running: its flags, and a logger that writes lines to standard error. */
#ifndef BERTH_CLI_LOGGING_H
#define BERTH_CLI_LOGGING_H

#include "base/log.h"
#include "cli/cli.h"

/* For a table of flags whose settings have the members log_level and log_format. */
#define CLI_LOG_FLAGS(settings)                                   \
    FLAG_IN(FLAGS_LOG, settings, log_level, "log-level", "LEVEL", \
            "error, warn, info (default), debug or trace"),       \
        FLAG_IN(FLAGS_LOG, settings, log_format, "log-format", "FORMAT", "text (default) or json")

/* Fills in ret from the flags' values, NULL for those that were not given. CLI_OK, or CLI_USAGE with the
 * complaint made. */
int cli_logger(const char *verb, const char *level, const char *format, struct logger *ret);

#endif

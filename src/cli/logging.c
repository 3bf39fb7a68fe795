#include "cli/logging.h"

#include <stdio.h>

#include "io/clock.h"

static void log_to_stderr(void *ctx, const char *line, size_t len)
{
    (void)ctx;
    (void)fwrite(line, 1, len, stderr); /* nobody to tell when it fails */
}

int cli_logger(const char *verb, const char *level, const char *format, struct logger *ret)
{
    struct logger l = { .clock = clock_system(), .sink = log_to_stderr };
    struct error err;

    if (log_level_parse(level ? level : "info", &l.level, &err) < 0 ||
        log_format_parse(format ? format : "text", &l.format, &err) < 0)
        return cli_fail_usage("%s: %s", verb, err.msg);
    *ret = l;
    return CLI_OK;
}

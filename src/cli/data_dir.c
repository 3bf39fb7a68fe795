#include "cli/data_dir.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "io/env.h"

int cli_data_dir(const char *flag, char ret[PATH_MAX], struct error *err)
{
    const char *dir = flag ? flag : io_env("BERTH_DATA");
    const char *home = io_env("HOME");
    int n;

    if (!dir && io_is_root())
        dir = "/var/lib/berth";
    if (!dir && !home)
        return error_set(err, ERR_INVALID, "no data directory: give --data DIR, or set BERTH_DATA or HOME");
    n = dir ? snprintf(ret, PATH_MAX, "%s", dir) : snprintf(ret, PATH_MAX, "%s/.local/share/berth", home);
    if (n < 0 || n >= PATH_MAX)
        return error_set_errno(err, ENAMETOOLONG, "the data directory");
    return 0;
}

struct data_settings {
    const char *data;
};

const struct flag cli_data_flags[] = {
    FLAG(struct data_settings, data, "data", "DIR",
         "the data directory; else $BERTH_DATA, else /var/lib/berth (root) or ~/.local/share/berth"),
    { 0 },
};

int cli_data_args_read(const struct cli_verb *verb, int argc, char **argv, struct cli_data_args *ret)
{
    struct data_settings settings = { 0 };
    struct error err;
    int args = 0, status = flags_parse(verb, argc, argv, &settings, &args);

    if (status != CLI_OK)
        return status;
    if (settings.data && !settings.data[0])
        return cli_fail_usage("%s: --data needs a directory: see 'berth help %s'", verb->name, verb->name);
    if (args == 0 || !argv[1][0])
        return cli_fail_usage("%s: no file given: see 'berth help %s'", verb->name, verb->name);
    if (args > 1)
        return cli_fail_usage("%s: unexpected argument '%s': see 'berth help %s'", verb->name, argv[2],
                              verb->name);
    if (cli_data_dir(settings.data, ret->dir, &err) < 0)
        return cli_fail("%s: %s", verb->name, err.msg);
    ret->file = argv[1];
    return CLI_OK;
}

void cli_show_progress(void *verb, unsigned done, unsigned total)
{
    const struct cli_verb *v = verb;

    if (io_stderr_is_terminal())
        fprintf(stderr, "\r%s: %3u%%%s", v->name, (unsigned)((uint64_t)done * 100 / total),
                done == total ? "\n" : "");
}

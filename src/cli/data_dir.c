#include "cli/data_dir.h"

#include <errno.h>
#include <stdbool.h>
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

/* True when argv[*i] is `name` or begins with `name=`; *ret is its value, NULL when it has none. */
static bool read_flag(int argc, char **argv, int *i, const char *name, const char **ret)
{
    size_t len = strlen(name);

    if (strncmp(argv[*i], name, len) != 0 || (argv[*i][len] != '\0' && argv[*i][len] != '='))
        return false;
    if (argv[*i][len] == '=')
        *ret = argv[*i] + len + 1;
    else
        *ret = *i + 1 < argc ? argv[++*i] : NULL;
    return true;
}

static int read_args(const struct cli_verb *verb, int argc, char **argv, const char **ret_data,
                     const char **ret_file)
{
    bool only_files = false;

    for (int i = 1; i < argc; i++) {
        if (!only_files && strcmp(argv[i], "--") == 0) {
            only_files = true;
        } else if (!only_files && read_flag(argc, argv, &i, "--data", ret_data)) {
            if (!*ret_data || (*ret_data)[0] == '\0')
                return cli_fail_usage("%s: --data needs a directory: see 'berth help %s'", verb->name,
                                      verb->name);
        } else if (!only_files && argv[i][0] == '-') {
            return cli_fail_usage("%s: unknown flag '%s': see 'berth help %s'", verb->name, argv[i],
                                  verb->name);
        } else if (*ret_file) {
            return cli_fail_usage("%s: unexpected argument '%s': see 'berth help %s'", verb->name, argv[i],
                                  verb->name);
        } else {
            *ret_file = argv[i];
        }
    }
    if (!*ret_file || (*ret_file)[0] == '\0')
        return cli_fail_usage("%s: no file given: see 'berth help %s'", verb->name, verb->name);
    return CLI_OK;
}

int cli_data_args_read(const struct cli_verb *verb, int argc, char **argv, struct cli_data_args *ret)
{
    const char *data = NULL, *file = NULL;
    struct error err = { 0 };
    int r = read_args(verb, argc, argv, &data, &file);

    if (r != CLI_OK)
        return r;
    if (cli_data_dir(data, ret->dir, &err) < 0)
        return cli_fail("%s: %s", verb->name, err.msg);
    ret->file = file;
    return CLI_OK;
}

void cli_show_progress(void *verb, unsigned done, unsigned total)
{
    const struct cli_verb *v = verb;

    if (io_stderr_is_terminal())
        fprintf(stderr, "\r%s: %3u%%%s", v->name, (unsigned)((uint64_t)done * 100 / total),
                done == total ? "\n" : "");
}

#include "cli/data_dir.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "io/env.h"
#include "io/path.h"

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

int cli_data_dir_check(const char *dir, struct error *err)
{
    char owner[IO_USER_NAME_BYTES], user[IO_USER_NAME_BYTES];
    bool may_write;
    uid_t uid;
    int r = io_may_write_dir(dir, &may_write, &uid, err);

    if (r == -ERR_NOT_FOUND || (r == 0 && may_write))
        return 0;
    if (r < 0)
        return r;
    io_user_name(uid, owner);
    io_user_name(io_user(), user);
    return error_set(err, ERR_DENIED,
                     "the data directory '%s' belongs to %s, and you are %s: use sudo, or another directory: "
                     "--data DIR",
                     dir, owner, user);
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

static void enter_phase(struct cli_data_progress *p, enum store_phase phase)
{
    static const char *const names[] = { [STORE_CHECKING] = "checking", [STORE_COPYING] = "copying" };
    static_assert(ARRAY_LEN(names) == STORE_PHASE_COUNT, "name every phase");
    const struct progress_work work = { .label = p->label, .kind = PROGRESS_BYTES };

    p->phase = phase;
    (void)snprintf(p->label, sizeof p->label, "%s: %s", p->verb->name, names[phase]);
    progress_begin(&p->progress, progress_stderr(), &work);
}

void cli_data_progress_begin(struct cli_data_progress *p, const struct cli_verb *verb)
{
    p->verb = verb;
    enter_phase(p, STORE_CHECKING);
}

void cli_data_progress_show(void *ctx, enum store_phase phase, uint64_t done, uint64_t total)
{
    struct cli_data_progress *p = ctx;

    if (phase != p->phase) {
        progress_end(&p->progress, /* has_succeeded= */ true);
        enter_phase(p, phase);
    }
    progress_set(&p->progress, done, total);
}

void cli_data_progress_end(struct cli_data_progress *p, bool has_succeeded)
{
    progress_end(&p->progress, has_succeeded);
}

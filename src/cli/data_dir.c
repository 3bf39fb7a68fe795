#include "cli/data_dir.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "daemon/settings.h"

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
    if (daemon_data_dir(settings.data, ret->dir, &err) < 0)
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

/* Commands with a fixed environment: PATH, LC_ALL=C and what the caller adds. The output is bounded, and the
 * time limit and the stop flag of io/process.h apply. */
#include "host/command.h"

#include "base/cleanup.h"
#include "io/process.h"

#define COMMAND_PATH "/usr/sbin:/usr/bin:/sbin:/bin"
#define COMMAND_OUTPUT_BYTES_MAX 4096 /* for error messages, when the caller does not need the output */

struct running {
    const struct command *command;
    struct error *err;
    int r;
};

/* Stores the requested results; true when the caller evaluates the exit code. */
static bool running_store_result(const struct command *c, const struct process_result *result)
{
    bool has_exited = !result->timed_out && !result->cancelled && result->term_signal == 0;

    if (c->output)
        buf_add_str(c->output, result->out); /* the process kept no more than fits; a failure is sticky */
    if (c->output_is_cut)
        *c->output_is_cut = result->out_is_cut;
    if (!c->exit_code || !has_exited)
        return false;
    *c->exit_code = result->exit_code;
    return true;
}

static void running_on_end(void *ctx, const struct process_result *result)
{
    struct running *run = ctx;
    const struct command *c = run->command;

    if (!running_store_result(c, result))
        run->r = process_result_check(result, c->what, run->err);
    if (run->r == 0 && c->output)
        run->r = buf_check(c->output, "the output of a command", run->err);
}

int command_run(const struct command *c, struct error *err)
{
    _cleanup_(buf_done_p) struct buf path = BUF_INIT(4096);
    const char *env[COMMAND_ENV_COUNT_MAX + 3] = { 0 };
    struct running run = { .command = c, .err = err };
    struct process_spec spec = {
        .argv = c->argv,
        .env = env,
        .out_bytes_max = c->output ? c->output->len_max - c->output->len : COMMAND_OUTPUT_BYTES_MAX,
        .err_bytes_max = COMMAND_OUTPUT_BYTES_MAX,
        .err_joins_out = c->output,
        .limit_ns = c->limit_ns,
    };
    size_t count = 0;
    int r;

    buf_addf(&path, "PATH=%s", c->path ? c->path : COMMAND_PATH);
    r = buf_check(&path, "the PATH of commands", err);
    if (r < 0)
        return r;
    env[count++] = buf_cstr(&path);
    env[count++] = "LC_ALL=C";
    for (const char *const *more = c->env; more && *more; more++) {
        if (count == COMMAND_ENV_COUNT_MAX + 2)
            return error_set(err, ERR_TOO_LARGE, "%s has more than %d variables", c->what,
                             COMMAND_ENV_COUNT_MAX);
        env[count++] = *more;
    }
    r = process_wait(&spec, c->stop, running_on_end, &run, err);
    return r < 0 ? r : run.r;
}

bool command_exists(const char *path, const char *name)
{
    return process_has_program(name, path ? path : COMMAND_PATH);
}

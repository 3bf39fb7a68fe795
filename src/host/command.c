/* io/process.h reports to a loop, and a worker has none: it makes one for the command's time. That costs a
 * few descriptors and 50 us, and the child gets the same environment, limits and ending as everywhere. */
#include "host/command.h"

#include "base/cleanup.h"
#include "io/loop.h"
#include "io/process.h"

#define COMMAND_PATH "/usr/sbin:/usr/bin:/sbin:/bin"
#define COMMAND_OUTPUT_BYTES_MAX 4096    /* for the words of a failure, when nobody wants the output */
#define COMMAND_LOOK_NS (50 * NS_PER_MS) /* how soon stop is seen */

struct running {
    const struct command *command;
    struct loop *loop;
    struct process *process;
    struct timer look;
    struct error *err;
    int r;
};

static void running_look(void *ctx)
{
    struct running *run = ctx;

    if (atomic_load(run->command->stop) != 0)
        process_cancel(run->process);
    else
        timer_arm_after(&run->look, COMMAND_LOOK_NS);
}

/* Hands out what was asked for; true when the exit is the caller's to judge. */
static bool running_tell(const struct command *c, const struct process_result *result)
{
    bool has_exited = !result->timed_out && !result->cancelled && result->term_signal == 0;

    if (c->output)
        buf_add_str(c->output, result->out); /* the process kept no more than fits; no memory sticks */
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

    timer_disarm(&run->look);
    if (!running_tell(c, result))
        run->r = process_result_check(result, c->what, run->err);
    if (run->r == 0 && c->output)
        run->r = buf_check(c->output, "the output of a command", run->err);
    loop_stop(run->loop);
}

static int run_on(struct loop *l, const struct command *c, const char *const *env, struct error *err)
{
    size_t room = c->output ? c->output->len_max - c->output->len : COMMAND_OUTPUT_BYTES_MAX;
    struct running run = { .command = c, .loop = l, .err = err };
    struct process_spec spec = {
        .argv = c->argv,
        .env = env,
        .out_bytes_max = room,
        .err_bytes_max = COMMAND_OUTPUT_BYTES_MAX,
        .err_joins_out = c->output,
        .limit_ns = c->limit_ns,
    };
    int r = process_run(l, &spec, running_on_end, &run, &run.process, err);

    if (r < 0)
        return r;
    timer_init(&run.look, l, running_look, &run);
    if (c->stop)
        timer_arm_after(&run.look, COMMAND_LOOK_NS);
    loop_run(l);
    return run.r;
}

int command_run(const struct command *c, struct error *err)
{
    _cleanup_(buf_done_p) struct buf path = BUF_INIT(4096);
    _cleanup_(loop_free_p) struct loop *l = NULL;
    const char *env[COMMAND_ENV_COUNT_MAX + 3] = { 0 };
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
    r = loop_new(/* clock= */ NULL, &l, err);
    if (r < 0)
        return r;
    return run_on(l, c, env, err);
}

bool command_exists(const char *path, const char *name)
{
    return process_has_program(name, path ? path : COMMAND_PATH);
}

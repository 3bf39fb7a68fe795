/* io/process.h reports to a loop, and a worker has none: it makes one for the command's time. That costs a
 * few descriptors and 50 us, and the child gets the same environment, limits and ending as everywhere. */
#include "host/command.h"

#include <stdbool.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "io/loop.h"
#include "io/process.h"

#define COMMAND_PATH "/usr/sbin:/usr/bin:/sbin:/bin"
#define COMMAND_OUTPUT_BYTES_MAX 4096
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

static void running_on_end(void *ctx, const struct process_result *result)
{
    struct running *run = ctx;

    timer_disarm(&run->look);
    run->r = process_result_check(result, run->command->what, run->err);
    loop_stop(run->loop);
}

static int run_on(struct loop *l, const struct command *c, const char *const *env, struct error *err)
{
    struct running run = { .command = c, .loop = l, .err = err };
    struct process_spec spec = {
        .argv = c->argv,
        .env = env,
        .out_bytes_max = COMMAND_OUTPUT_BYTES_MAX,
        .err_bytes_max = COMMAND_OUTPUT_BYTES_MAX,
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
    int r;

    (void)buf_addf(&path, "PATH=%s", c->path ? c->path : COMMAND_PATH);
    r = buf_check(&path, "the PATH of commands", err);
    if (r < 0)
        return r;
    const char *const env[] = { buf_cstr(&path), "LC_ALL=C", NULL };
    r = loop_new(/* clock= */ NULL, &l, err);
    if (r < 0)
        return r;
    return run_on(l, c, env, err);
}

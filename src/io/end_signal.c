/* Signal handlers that clean up and then let the signal end the process. The handlers are installed with the
 * first function and removed with the last. Functions must be async-signal-safe. */
#include "io/end_signal.h"

#include <assert.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"

static const int guarded[] = { SIGINT, SIGTERM, SIGHUP };

/* Read by the signal handler. */
static end_signal_fn *volatile functions[END_SIGNAL_MAX];

/* SA_RESETHAND has restored the default action, and the signal is blocked until the handler returns: then it
 * ends the process. */
static void on_signal(int number)
{
    for (size_t i = 0; i < ARRAY_LEN(functions); i++) {
        end_signal_fn *fn = functions[i];
        if (fn)
            fn();
    }
    (void)raise(number);
}

static void set_handler(int number, void (*from)(int), void (*to)(int))
{
    struct sigaction present, next = { .sa_handler = to, .sa_flags = (int)SA_RESETHAND };

    if (sigaction(number, NULL, &present) == 0 && !(present.sa_flags & SA_SIGINFO) &&
        present.sa_handler == from)
        (void)sigaction(number, &next, NULL);
}

static bool is_empty(void)
{
    bool has_any = false;

    for (size_t i = 0; i < ARRAY_LEN(functions); i++)
        has_any = has_any || functions[i];
    return !has_any;
}

void end_signal_add(end_signal_fn *fn)
{
    size_t at = ARRAY_LEN(functions);

    for (size_t i = 0; i < ARRAY_LEN(functions); i++) {
        if (functions[i] == fn)
            return;
        if (!functions[i] && at == ARRAY_LEN(functions))
            at = i;
    }
    assert(at < ARRAY_LEN(functions));
    for (size_t i = 0; i < ARRAY_LEN(guarded) && is_empty(); i++)
        set_handler(guarded[i], SIG_DFL, on_signal);
    functions[at] = fn;
}

void end_signal_remove(end_signal_fn *fn)
{
    bool was_empty = is_empty();

    for (size_t i = 0; i < ARRAY_LEN(functions); i++)
        if (functions[i] == fn)
            functions[i] = NULL;
    for (size_t i = 0; i < ARRAY_LEN(guarded) && !was_empty && is_empty(); i++)
        set_handler(guarded[i], on_signal, SIG_DFL);
}

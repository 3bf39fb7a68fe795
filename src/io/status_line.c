/* Draws a status line in place on the terminal of standard error. The state is global, since a process has
 * one terminal. The signal handler reads is_shown and writes a constant text, nothing else. */
#include "io/status_line.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "io/end_signal.h"
#include "io/env.h"

#define COLUMNS_DEFAULT 80
#define LINE_BYTES_MAX 4096
/* Move to the first column and erase_line to the end of the line. */
#define ERASE "\r\033[K"

/* Read by the signal handler. */
static volatile sig_atomic_t is_shown;

bool status_line_is_possible(void)
{
    const char *term = io_env("TERM");

    return io_stderr_is_terminal() && (!term || strcmp(term, "dumb") != 0);
}

unsigned status_line_columns(void)
{
    struct winsize size = { 0 };

    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : COLUMNS_DEFAULT;
}

static void write_all(const char *text, size_t len)
{
    while (len > 0) {
        ssize_t n = write(STDERR_FILENO, text, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return; /* the terminal is gone: no line is needed */
        text += n;
        len -= (size_t)n;
    }
}

static void erase_line(void)
{
    if (is_shown)
        write_all(ERASE, sizeof ERASE - 1);
}

void status_line_show(struct str text)
{
    _cleanup_(buf_done_p) struct buf line = BUF_INIT(LINE_BYTES_MAX);

    buf_add_cstr(&line, ERASE);
    buf_add_str(&line, text);
    if (line.failed)
        return; /* the next line may be shorter */
    end_signal_add(erase_line);
    is_shown = 1;
    write_all(line.data, line.len); /* one write, so that the line does not flicker */
}

void status_line_clear(void)
{
    if (!is_shown)
        return;
    erase_line();
    is_shown = 0;
    end_signal_remove(erase_line);
}

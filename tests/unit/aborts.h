/* ASSERT_ABORTS(statement): the statement breaks a programmer's promise and is caught by an assert().
 *
 * It runs in a child process, whose words on stderr are dropped. */
#ifndef BERTH_TESTS_ABORTS_H
#define BERTH_TESTS_ABORTS_H

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define ASSERT_ABORTS(...)                                                               \
    do {                                                                                 \
        int status_ = 0;                                                                 \
        pid_t child_ = fork();                                                           \
        assert_true(child_ >= 0);                                                        \
        if (child_ == 0) {                                                               \
            aborts_drop_stderr();                                                        \
            (void)signal(SIGABRT, SIG_DFL); /* cmocka's handler would end the test */    \
            __VA_ARGS__;                                                                 \
            _exit(0);                                                                    \
        }                                                                                \
        assert_int_equal(child_, waitpid(child_, &status_, 0));                          \
        if (!WIFSIGNALED(status_) || WTERMSIG(status_) != SIGABRT)                       \
            fail_msg("%s: did not abort (status %#x)", #__VA_ARGS__, (unsigned)status_); \
    } while (0)

static inline void aborts_drop_stderr(void)
{
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

    if (fd >= 0)
        (void)dup2(fd, STDERR_FILENO); /* at worst the message shows */
}

#endif

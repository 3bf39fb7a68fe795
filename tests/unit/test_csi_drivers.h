/* For the tests of CSI: the driver of tests/drivers/csi_driver.c, running, in mounts of the test's own. */
#ifndef BERTH_TESTS_TEST_CSI_DRIVERS_H
#define BERTH_TESTS_TEST_CSI_DRIVERS_H

#include "tests/unit/test_mounts.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>

#include "io/file.h"

#define DRIVER_TEXT_BYTES (1 << 16)
#define DRIVER_LOOK_MS 2

struct test_driver {
    char state[TEST_PATH_BYTES + 32];
    char socket[TEST_PATH_BYTES + 64];
    char registrar[TEST_PATH_BYTES + 128]; /* "" for none */
    pid_t pid;
};

/* Until the condition holds; there is nobody who would tell. */
#define AWAIT(condition)                         \
    do {                                         \
        (void)signal(SIGALRM, test_on_deadline); \
        (void)alarm(TEST_DEADLINE_S);            \
        while (!(condition))                     \
            (void)poll(NULL, 0, DRIVER_LOOK_MS); \
        (void)alarm(0);                          \
    } while (0)

static inline const char *driver_file(const struct test_driver *d, const char *name)
{
    static char paths[4][PATH_MAX];
    static unsigned next;
    char *path = paths[next++ % 4];

    (void)snprintf(path, PATH_MAX, "%s/%s", d->state, name);
    return path;
}

/* What a file of its state holds; "" when it is not there. */
static inline const char *driver_text(const struct test_driver *d, const char *name)
{
    static char texts[2][DRIVER_TEXT_BYTES];
    static unsigned next;
    char *text = texts[next++ % 2];
    FILE *f = fopen(driver_file(d, name), "re");
    size_t n = f ? fread(text, 1, DRIVER_TEXT_BYTES - 1, f) : 0;

    text[n] = '\0';
    if (f)
        (void)fclose(f);
    return text;
}

static inline void driver_set(const struct test_driver *d, const char *name, const char *text)
{
    static struct error e;

    assert_int_equal(io_replace_file(driver_file(d, name), text, strlen(text), 0644, &e), 0);
}

static inline void driver_unset(const struct test_driver *d, const char *name)
{
    assert_true(unlink(driver_file(d, name)) == 0 || errno == ENOENT);
}

static inline bool driver_has(const struct test_driver *d, const char *name, const char *text)
{
    return strstr(driver_text(d, name), text);
}

/* The methods of the log, "NodeStageVolume:0 …" with their codes, without questions about what it can do. */
static inline const char *driver_calls(const struct test_driver *d)
{
    static char out[DRIVER_TEXT_BYTES];
    const char *at = driver_text(d, "log");
    size_t len = 0;

    out[0] = '\0';
    for (; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        char method[64], code[16];

        assert_int_equal(sscanf(at, "%*s %*s %63s %*s %15s", method, code), 2);
        if (strcmp(method, "NodeGetCapabilities") == 0)
            continue;
        len += (size_t)snprintf(out + len, sizeof out - len, "%s%s:%s", len ? " " : "", method, code);
    }
    return out;
}

static inline void driver_start(struct test_driver *d)
{
    char *const argv[] = { (char *)(uintptr_t) "csi_driver", d->state, d->socket,
                           d->registrar[0] ? d->registrar : NULL, NULL };

    driver_unset(d, "started");
    d->pid = fork();
    assert_true(d->pid >= 0);
    if (d->pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)execv(TEST_DRIVERS_DIR "/csi_driver", argv);
        _exit(127);
    }
    AWAIT(driver_has(d, "started", d->socket));
}

/* Its sockets stay, as after a crash. */
static inline void driver_stop(struct test_driver *d)
{
    if (d->pid > 0) {
        (void)kill(d->pid, SIGKILL);
        (void)waitpid(d->pid, NULL, 0);
    }
    d->pid = 0;
}

/* name: of its directory below dir. */
static inline void driver_init(struct test_driver *d, const char *dir, const char *name,
                               const char *registrar)
{
    *d = (struct test_driver){ 0 };
    (void)snprintf(d->state, sizeof d->state, "%s/%s", dir, name);
    (void)snprintf(d->socket, sizeof d->socket, "%s/csi.sock", d->state);
    (void)snprintf(d->registrar, sizeof d->registrar, "%s", registrar);
    assert_int_equal(mkdir(d->state, 0755), 0);
    driver_start(d);
}

#endif

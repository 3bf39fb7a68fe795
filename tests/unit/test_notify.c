#include "tests/unit/test_io.h"

#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "io/file.h"
#include "io/notify.h"

#define HEARD_BYTES 512

/* A watcher's socket; name as $NOTIFY_SOCKET has it. */
static int listen_at(const char *name)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    size_t len = strlen(name);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_true(len < sizeof a.sun_path);
    memcpy(a.sun_path, name, len);
    if (name[0] == '@')
        a.sun_path[0] = '\0';
    assert_int_equal(
        bind(fd, (const struct sockaddr *)&a, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)), 0);
    return fd;
}

/* The next datagram; "" when there is none. */
static const char *hear(int fd)
{
    static char heard[HEARD_BYTES];
    ssize_t n = recv(fd, heard, sizeof heard - 1, 0);

    heard[n < 0 ? 0 : n] = '\0';
    return heard;
}

static void set(const char *name, const char *value)
{
    if (value)
        assert_int_equal(setenv(name, value, 1), 0);
    else
        assert_int_equal(unsetenv(name), 0);
}

TEST(nobody_listens)
{
    struct notify *n = (struct notify *)1;
    struct error err = { 0 };

    set("NOTIFY_SOCKET", NULL);
    ASSERT_OK(notify_open(&n, &err));
    assert_null(n);
    set("NOTIFY_SOCKET", "");
    n = (struct notify *)1;
    ASSERT_OK(notify_open(&n, &err));
    assert_null(n);
    assert_null(notify_free(NULL));
}

TEST(a_path_or_an_abstract_name)
{
    struct test_dir d = test_dir_new();
    char abstract[64];
    const char *names[2];

    (void)snprintf(abstract, sizeof abstract, "@berth-test-notify-%d", (int)getpid());
    names[0] = in_dir(&d, "sock");
    names[1] = abstract;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        _cleanup_(fd_closep) int fd = listen_at(names[i]);
        _cleanup_(notify_free_p) struct notify *n = NULL;
        struct error err = { 0 };

        set("NOTIFY_SOCKET", names[i]);
        ASSERT_OK(notify_open(&n, &err));
        ASSERT_STR("", hear(fd));
        ASSERT_OK(notify_send(n, "READY=1\nSTATUS=here\n", &err));
        ASSERT_STR("READY=1\nSTATUS=here\n", hear(fd));
        ASSERT_OK(notify_send(n, "STOPPING=1\n", &err));
        ASSERT_STR("STOPPING=1\n", hear(fd));
        n = notify_free(n);
        ASSERT_STR("", hear(fd));
    }
    test_dir_done(&d);
}

TEST(addresses_that_are_none)
{
    static char too_long[200];
    const char *const rows[] = { "sock", "./sock", "vsock:2:1", "/", "@", too_long };

    memset(too_long, 'x', sizeof too_long - 1);
    too_long[0] = '/';
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct notify *n = NULL;
        struct error err = { 0 };

        set("NOTIFY_SOCKET", rows[i]);
        ASSERT_ERR(ERR_INVALID, notify_open(&n, &err));
        assert_non_null(strstr(err.msg, "NOTIFY_SOCKET="));
        assert_null(n);
    }
}

TEST(a_listener_that_is_gone_or_deaf)
{
    struct test_dir d = test_dir_new();
    const char *name = in_dir(&d, "sock");
    _cleanup_(fd_closep) int fd = -1;
    _cleanup_(notify_free_p) struct notify *n = NULL;
    struct error err = { 0 };
    unsigned sent = 0;

    set("NOTIFY_SOCKET", name);
    ASSERT_OK(notify_open(&n, &err));
    ASSERT_ERR(ERR_UNAVAILABLE, notify_send(n, "READY=1\n", &err)); /* not there yet */
    fd = listen_at(name);
    while (notify_send(n, "WATCHDOG=1\n", &err) == 0) /* and never waits for one that does not read */
        sent++;
    assert_true(sent > 0);
    ASSERT_INT(ERR_UNAVAILABLE, err.code);
    ASSERT_STR("WATCHDOG=1\n", hear(fd));
    ASSERT_OK(notify_send(n, "READY=1\n", &err));
    test_dir_done(&d);
}

TEST(how_long_a_watcher_waits)
{
    char self[32], other[32];
    const struct {
        const char *usec, *pid;
        uint64_t ns;
    } rows[] = {
        { NULL, NULL, 0 },
        { "3000000", NULL, 3 * NS_PER_S },
        { "3000000", self, 3 * NS_PER_S },
        { "3000000", other, 0 }, /* meant for a parent */
        { "3000000", "me", 0 },
        { "0", NULL, 0 },
        { "soon", NULL, 0 },
        { "-1", NULL, 0 },
        { "18446744073709551615", NULL, 0 },
    };

    (void)snprintf(self, sizeof self, "%d", (int)getpid());
    (void)snprintf(other, sizeof other, "%d", (int)getppid());
    set("NOTIFY_SOCKET", "@berth-test-nobody");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(notify_free_p) struct notify *n = NULL;
        struct error err = { 0 };

        set("WATCHDOG_USEC", rows[i].usec);
        set("WATCHDOG_PID", rows[i].pid);
        ASSERT_OK(notify_open(&n, &err));
        ASSERT_INT((int64_t)rows[i].ns, (int64_t)notify_watchdog_ns(n));
    }
}

TEST_MAIN()

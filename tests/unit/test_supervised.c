#include "tests/unit/test_io.h"

#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "daemon/supervised.h"
#include "io/file.h"

#define HEARD_BYTES 1024

/* A process with its watcher, in virtual time. */
struct watched {
    struct manual_clock time;
    struct loop *loop;
    struct supervised s;
    char name[64];
    int fd;
    const char *waits_for; /* NULL: ready */
    const char *does;
};

static int check(void *ctx, struct error *err)
{
    const struct watched *w = ctx;

    return w->waits_for ? error_set(err, ERR_UNAVAILABLE, "%s", w->waits_for) : 0;
}

static void describe(void *ctx, char ret[SUPERVISED_WORDS_BYTES])
{
    const struct watched *w = ctx;

    (void)snprintf(ret, SUPERVISED_WORDS_BYTES, "%s", w->does);
}

static void listen_now(struct watched *w)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    size_t len = strlen(w->name);

    w->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_true(w->fd >= 0);
    memcpy(a.sun_path + 1, w->name + 1, len - 1);
    assert_int_equal(
        bind(w->fd, (const struct sockaddr *)&a, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)),
        0);
}

static void watched_init(struct watched *w, const char *watchdog_usec)
{
    *w = (struct watched){ .fd = -1, .waits_for = "informer-sync: waiting for Pod", .does = "leading" };
    (void)snprintf(w->name, sizeof w->name, "@berth-test-supervised-%d", (int)getpid());
    assert_int_equal(setenv("NOTIFY_SOCKET", w->name, 1), 0);
    if (watchdog_usec)
        assert_int_equal(setenv("WATCHDOG_USEC", watchdog_usec, 1), 0);
    else
        assert_int_equal(unsetenv("WATCHDOG_USEC"), 0);
    manual_clock_init(&w->time, NS_PER_S, 0);
    w->loop = new_loop(&w->time.clock);
}

static void watched_start(struct watched *w)
{
    struct error err = { 0 };

    ASSERT_OK(supervised_init(
        &w->s,
        &(struct supervised_options){ .loop = w->loop, .check = check, .describe = describe, .ctx = w },
        &err));
}

static void watched_done(struct watched *w)
{
    supervised_done(&w->s);
    w->loop = loop_free(w->loop);
    fd_closep(&w->fd);
}

/* Lets time pass; what was said meanwhile, one behind the other. */
static const char *after(struct watched *w, uint64_t ns)
{
    static char heard[HEARD_BYTES * 4];
    size_t len = 0;

    loop_advance(w->loop, &w->time, ns);
    for (ssize_t n; w->fd >= 0 && (n = recv(w->fd, heard + len, sizeof heard - 1 - len, 0)) > 0;)
        len += (size_t)n;
    heard[len] = '\0';
    return heard;
}

TEST(from_waiting_to_ready_to_the_end)
{
    struct watched w;

    watched_init(&w, NULL);
    listen_now(&w);
    watched_start(&w);
    ASSERT_STR("STATUS=not ready: informer-sync: waiting for Pod\n", after(&w, 0));
    ASSERT_STR("", after(&w, NS_PER_S)); /* told once */
    w.waits_for = "informer-sync: waiting for Node";
    ASSERT_STR("STATUS=not ready: informer-sync: waiting for Node\n", after(&w, NS_PER_S));
    w.waits_for = NULL;
    ASSERT_STR("READY=1\nSTATUS=leading\n", after(&w, NS_PER_S));
    ASSERT_STR("", after(&w, 60 * NS_PER_S));
    w.waits_for = "store: the disk is full"; /* READY=1 cannot be taken back, the words can */
    ASSERT_STR("STATUS=not ready: store: the disk is full\n", after(&w, 10 * NS_PER_S));
    w.waits_for = NULL;
    ASSERT_STR("STATUS=leading\n", after(&w, 10 * NS_PER_S));
    supervised_stopping(&w.s);
    w.does = "gone";
    ASSERT_STR("STOPPING=1\nSTATUS=stopping\n", after(&w, 10 * NS_PER_S));
    supervised_done(&w.s);
    ASSERT_STR("", after(&w, 10 * NS_PER_S));
    watched_done(&w);
}

TEST(readiness_that_was_not_heard_is_told_again)
{
    struct watched w;

    watched_init(&w, NULL);
    w.waits_for = NULL;
    watched_start(&w);
    ASSERT_STR("", after(&w, NS_PER_S));
    listen_now(&w);
    ASSERT_STR("READY=1\nSTATUS=leading\n", after(&w, NS_PER_S));
    watched_done(&w);
}

TEST(signs_of_life_come_while_the_loop_turns)
{
    struct watched w;
    unsigned signs = 0;

    watched_init(&w, "9000000"); /* every three seconds */
    w.waits_for = NULL;
    listen_now(&w);
    watched_start(&w);
    ASSERT_STR("WATCHDOG=1\nREADY=1\nSTATUS=leading\n", after(&w, 0));
    for (unsigned i = 0; i < 30; i++)
        signs += strcmp(after(&w, NS_PER_S), "WATCHDOG=1\n") == 0;
    ASSERT_INT(10, signs);
    supervised_stopping(&w.s); /* they go on to the end */
    ASSERT_STR("STOPPING=1\nSTATUS=stopping\nWATCHDOG=1\n", after(&w, 3 * NS_PER_S));
    watched_done(&w);
}

TEST(words_cannot_forge_a_message)
{
    struct watched w;

    watched_init(&w, NULL);
    w.waits_for = "bad\nREADY=1\n\tword";
    listen_now(&w);
    watched_start(&w);
    ASSERT_STR("STATUS=not ready: bad READY=1  word\n", after(&w, 0));
    watched_done(&w);
}

TEST(words_that_are_too_long_are_cut)
{
    char words[600];
    struct watched w;

    memset(words, 'w', sizeof words - 1);
    words[sizeof words - 1] = '\0';
    watched_init(&w, NULL);
    w.waits_for = NULL;
    w.does = words;
    listen_now(&w);
    watched_start(&w);
    ASSERT_INT(sizeof "READY=1\nSTATUS=\n" - 1 + SUPERVISED_WORDS_BYTES - 1, strlen(after(&w, 0)));
    watched_done(&w);
}

TEST(nobody_watches)
{
    struct watched w;
    uint64_t at_ns;

    watched_init(&w, NULL);
    assert_int_equal(unsetenv("NOTIFY_SOCKET"), 0);
    watched_start(&w);
    assert_false(loop_next_timer_ns(w.loop, &at_ns)); /* no timer: it costs nothing */
    supervised_stopping(&w.s);
    watched_done(&w);
}

TEST(a_watcher_that_cannot_be_told)
{
    struct supervised_options o = { 0 };
    struct supervised s = { 0 };
    struct error err = { 0 };

    assert_int_equal(setenv("NOTIFY_SOCKET", "nowhere", 1), 0);
    ASSERT_ERR(ERR_INVALID, supervised_init(&s, &o, &err));
    supervised_done(&s);
}

TEST_MAIN()

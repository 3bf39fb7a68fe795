#include "tests/unit/test_io.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include "io/file.h"
#include "io/poll.h"

struct world {
    struct loop *loop;
    int fds[2]; /* a connected pair; the first is watched */
    struct fd_watch *watch;
    unsigned seen; /* all events so far */
    unsigned calls;
    bool any;
    bool stops; /* in its callback */
};

static void on_event(void *ctx, unsigned events)
{
    struct world *w = ctx;

    w->seen |= events;
    w->calls++;
    w->any = true;
    if (w->stops)
        w->watch = fd_watch_stop(w->watch);
}

static struct world *world_new(unsigned events)
{
    struct world *w = calloc(1, sizeof *w);
    struct error err = { 0 };

    assert_non_null(w);
    w->loop = new_loop(NULL);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, w->fds), 0);
    ASSERT_OK(fd_watch_start(w->loop, w->fds[0], events, on_event, w, &w->watch, &err));
    return w;
}

static struct world *world_free(struct world *w)
{
    (void)fd_watch_stop(w->watch);
    fd_closep(&w->fds[0]);
    fd_closep(&w->fds[1]);
    loop_free(w->loop);
    free(w);
    return NULL;
}
DEFINE_CLEANUP(struct world, world_free)

static unsigned seen_in_a_turn(struct world *w)
{
    w->seen = 0;
    (void)loop_poll(w->loop);
    return w->seen;
}

TEST(nothing_is_said_of_a_quiet_descriptor)
{
    _cleanup_(world_free_p) struct world *w = world_new(FD_READ | FD_DISCONNECT);

    ASSERT_INT(0, seen_in_a_turn(w));
    ASSERT_INT(0, w->calls);
}

TEST(a_sleeping_loop_wakes_up)
{
    _cleanup_(world_free_p) struct world *w = world_new(FD_READ);

    assert_int_equal(write(w->fds[1], "x", 1), 1);
    run_until(w->loop, &w->any);
    ASSERT_INT(FD_READ, w->seen);
}

TEST(an_event_stays_until_it_is_dealt_with)
{
    _cleanup_(world_free_p) struct world *w = world_new(FD_READ);
    char c;

    assert_int_equal(write(w->fds[1], "x", 1), 1);
    ASSERT_INT(FD_READ, seen_in_a_turn(w));
    ASSERT_INT(FD_READ, seen_in_a_turn(w));
    assert_int_equal(read(w->fds[0], &c, 1), 1);
    ASSERT_INT(0, seen_in_a_turn(w));
}

TEST(only_what_was_asked_for_is_told)
{
    _cleanup_(world_free_p) struct world *w = world_new(FD_WRITE);
    struct error err = { 0 };

    assert_int_equal(write(w->fds[1], "x", 1), 1);
    ASSERT_INT(FD_WRITE, seen_in_a_turn(w));
    ASSERT_OK(fd_watch_update(w->watch, FD_READ, &err));
    ASSERT_INT(FD_READ, seen_in_a_turn(w));
    ASSERT_OK(fd_watch_update(w->watch, FD_READ | FD_WRITE, &err));
    ASSERT_INT(FD_READ | FD_WRITE, seen_in_a_turn(w));
    ASSERT_OK(fd_watch_update(w->watch, FD_DISCONNECT, &err));
    ASSERT_INT(0, seen_in_a_turn(w));
}

TEST(a_peer_that_leaves_is_noticed)
{
    _cleanup_(world_free_p) struct world *w = world_new(FD_DISCONNECT);

    assert_int_equal(write(w->fds[1], "x", 1), 1); /* unread data do not hide it */
    assert_int_equal(shutdown(w->fds[1], SHUT_WR), 0);
    ASSERT_INT(FD_DISCONNECT, seen_in_a_turn(w));
}

TEST(the_callback_may_stop)
{
    _cleanup_(world_free_p) struct world *w = world_new(FD_READ | FD_WRITE);

    w->stops = true;
    assert_int_equal(write(w->fds[1], "x", 1), 1);
    assert_int_not_equal(seen_in_a_turn(w), 0);
    assert_null(w->watch);
    ASSERT_INT(0, seen_in_a_turn(w));
    ASSERT_INT(1, w->calls);
}

TEST(a_descriptor_is_watched_again_after_a_stop)
{
    _cleanup_(world_free_p) struct world *w = world_new(FD_READ);
    struct error err = { 0 };

    w->watch = fd_watch_stop(w->watch);
    ASSERT_OK(fd_watch_start(w->loop, w->fds[0], FD_WRITE, on_event, w, &w->watch, &err));
    ASSERT_INT(FD_WRITE, seen_in_a_turn(w));
    w->watch = fd_watch_stop(w->watch);
    (void)close(w->fds[0]); /* at once */
    assert_int_equal(dup2(w->fds[1], w->fds[0]), w->fds[0]);
    ASSERT_INT(0, seen_in_a_turn(w));
}

TEST(two_watches_of_one_descriptor_are_refused)
{
    _cleanup_(world_free_p) struct world *w = world_new(FD_READ);
    struct fd_watch *second = NULL;
    struct error err = { 0 };

    ASSERT_ERR(ERR_EXISTS, fd_watch_start(w->loop, w->fds[0], FD_READ, on_event, w, &second, &err));
    assert_null(second);
}

TEST(what_cannot_be_watched_is_refused)
{
    _cleanup_(world_free_p) struct world *w = world_new(FD_READ);
    struct test_dir dir = test_dir_new();
    struct fd_watch *watch = NULL;
    struct error err = { 0 };
    int fd;

    ASSERT_ERR(ERR_IO, fd_watch_start(w->loop, 1 << 19, FD_READ, on_event, w, &watch, &err));
    put_file(in_dir(&dir, "file"), "x");
    fd = open(in_dir(&dir, "file"), O_RDONLY | O_CLOEXEC);
    ASSERT_ERR(ERR_DENIED, fd_watch_start(w->loop, fd, FD_READ, on_event, w, &watch, &err)); /* a file */
    assert_true(str_has_prefix(str_of(err.msg), "cannot watch descriptor "));
    assert_null(watch);
    (void)close(fd);
    test_dir_done(&dir);
}

TEST(an_error_is_told)
{
    _cleanup_(world_free_p) struct world *w = world_new(FD_READ);
    int pipe_fds[2];
    struct error err = { 0 };

    w->watch = fd_watch_stop(w->watch);
    assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
    ASSERT_OK(fd_watch_start(w->loop, pipe_fds[1], FD_DISCONNECT, on_event, w, &w->watch, &err));
    (void)close(pipe_fds[0]); /* nobody will ever read */
    ASSERT_INT(FD_ERROR, seen_in_a_turn(w));
    ASSERT_INT(0, seen_in_a_turn(w)); /* and then no more */
    w->watch = fd_watch_stop(w->watch);
    (void)close(pipe_fds[1]);
}

TEST(an_epoll_set_can_be_watched)
{
    _cleanup_(world_free_p) struct world *w = world_new(FD_READ);
    struct epoll_event event = { .events = EPOLLIN | EPOLLET };
    struct error err = { 0 };
    int set = epoll_create1(EPOLL_CLOEXEC);

    w->watch = fd_watch_stop(w->watch);
    assert_int_equal(epoll_ctl(set, EPOLL_CTL_ADD, w->fds[0], &event), 0);
    ASSERT_OK(fd_watch_start(w->loop, set, FD_READ, on_event, w, &w->watch, &err));
    ASSERT_INT(0, seen_in_a_turn(w));
    assert_int_equal(write(w->fds[1], "x", 1), 1);
    ASSERT_INT(FD_READ, seen_in_a_turn(w));
    assert_int_equal(epoll_wait(set, &event, 1, 0), 1);
    ASSERT_INT(0, seen_in_a_turn(w));
    w->watch = fd_watch_stop(w->watch);
    (void)close(set);
}

TEST_MAIN()

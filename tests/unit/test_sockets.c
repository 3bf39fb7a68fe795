/* Sockets found in a directory, and connections to them. */
#include "tests/unit/test_io.h"

#include <limits.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "host/sockets.h"
#include "io/file.h"
#include "io/socket.h"

static struct error err;

#define ARENA_BYTES ((size_t)4 << 20)

/* Listens, or is just there for backlog < 0. */
static int socket_at(const char *path, int backlog)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(strlen(path) < sizeof a.sun_path);
    memcpy(a.sun_path, path, strlen(path) + 1);
    assert_int_equal(bind(fd, (const struct sockaddr *)&a, sizeof a), 0);
    if (backlog >= 0)
        assert_int_equal(listen(fd, backlog), 0);
    return fd;
}

static void make_socket(const struct test_dir *d, const char *name)
{
    (void)close(socket_at(in_dir(d, name), -1)); /* the file stays */
}

TEST(sockets_are_found)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(ARENA_BYTES);
    struct test_dir d = test_dir_new();
    struct host_sockets found;

    make_socket(&d, "b.sock");
    make_socket(&d, ".hidden");
    assert_int_equal(mkdir(in_dir(&d, "a"), 0755), 0);
    assert_int_equal(mkdir(in_dir(&d, "a/deep"), 0755), 0);
    assert_int_equal(mkdir(in_dir(&d, ".dir"), 0755), 0);
    make_socket(&d, "a/deep/c.sock");
    make_socket(&d, ".dir/d.sock");
    assert_int_equal(mkdir(in_dir(&d, "file"), 0755), 0);
    assert_int_equal(symlink(in_dir(&d, "b.sock"), in_dir(&d, "link")), 0);
    assert_int_equal(symlink(in_dir(&d, "a"), in_dir(&d, "linked")), 0);
    ASSERT_OK(host_find_sockets(d.path, &a, &found, &err));
    ASSERT_INT(2, found.count);
    ASSERT_STR(in_dir(&d, "a/deep/c.sock"), found.items[0].path);
    ASSERT_STR(in_dir(&d, "b.sock"), found.items[1].path);
    ASSERT_INT(4, found.dirs.count);
    ASSERT_STR(d.path, found.dirs.items[0]);
    ASSERT_ERR(ERR_NOT_FOUND, host_find_sockets(in_dir(&d, "nowhere"), &a, &found, &err));
    test_dir_done(&d);
}

/* A socket of the same name that was made later is another; one whose mode was changed is not. */
TEST(sockets_have_an_identity)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(ARENA_BYTES);
    struct test_dir d = test_dir_new();
    struct host_sockets first, second;

    make_socket(&d, "s");
    ASSERT_OK(host_find_sockets(d.path, &a, &first, &err));
    assert_int_equal(chmod(in_dir(&d, "s"), 0600), 0);
    ASSERT_OK(host_find_sockets(d.path, &a, &second, &err));
    assert_true(socket_id_is_same(&first.items[0].id, &second.items[0].id));
    make_socket(&d, "other");
    assert_int_equal(rename(in_dir(&d, "other"), in_dir(&d, "s")), 0);
    ASSERT_OK(host_find_sockets(d.path, &a, &second, &err));
    assert_false(socket_id_is_same(&first.items[0].id, &second.items[0].id));
    test_dir_done(&d);
}

TEST(sockets_too_deep_are_passed_over)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(ARENA_BYTES);
    struct test_dir d = test_dir_new();
    struct host_sockets found;
    char path[PATH_MAX], file[PATH_MAX + 8];

    (void)snprintf(path, sizeof path, "%s", d.path);
    for (unsigned depth = 1; depth <= HOST_SOCKETS_DEPTH_MAX + 1; depth++) {
        size_t len = strlen(path);

        (void)snprintf(path + len, sizeof path - len, "/d");
        assert_int_equal(mkdir(path, 0755), 0);
        (void)snprintf(file, sizeof file, "%s/s", path);
        (void)close(socket_at(file, -1));
    }
    ASSERT_OK(host_find_sockets(d.path, &a, &found, &err));
    ASSERT_INT(HOST_SOCKETS_DEPTH_MAX, found.count);
    test_dir_done(&d);
}

TEST(too_many_sockets_are_refused)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(ARENA_BYTES);
    struct test_dir d = test_dir_new();
    struct host_sockets found;
    char name[32];

    for (unsigned i = 0; i <= HOST_SOCKETS_MAX; i++) {
        (void)snprintf(name, sizeof name, "s%u", i);
        make_socket(&d, name);
    }
    ASSERT_ERR(ERR_TOO_LARGE, host_find_sockets(d.path, &a, &found, &err));
    test_dir_done(&d);
}

/* --- Connections --- */

TEST(connection_carries_bytes)
{
    struct test_dir d = test_dir_new();
    int listener = socket_at(in_dir(&d, "s"), 4), peer, fd = -1;
    char data[8];

    ASSERT_OK(socket_connect_unix(in_dir(&d, "s"), &fd, &err));
    peer = accept(listener, NULL, NULL);
    assert_true(socket_read(fd, data, sizeof data) < 0 && errno == EAGAIN);
    ASSERT_INT(4, socket_write(fd, "ping", 4));
    assert_int_equal(recv(peer, data, sizeof data, 0), 4);
    assert_int_equal(send(peer, "pong!", 5, 0), 5);
    ASSERT_INT(5, socket_read(fd, data, sizeof data));
    (void)close(peer);
    ASSERT_INT(0, socket_read(fd, data, sizeof data));
    assert_true(socket_write(fd, "ping", 4) < 0 && errno == EPIPE);
    (void)close(fd);
    (void)close(listener);
    test_dir_done(&d);
}

/* Of a program that accepts nobody. That calls wait for it, up to their limits, is test_rpc.c's. */
TEST(full_queue_is_busy)
{
    struct test_dir d = test_dir_new();
    int listener = socket_at(in_dir(&d, "s"), 0), first = -1, second = -1;

    ASSERT_OK(socket_connect_unix(in_dir(&d, "s"), &first, &err));
    ASSERT_ERR(ERR_BUSY, socket_connect_unix(in_dir(&d, "s"), &second, &err));
    ASSERT_INT(-1, second);
    (void)close(first);
    (void)close(listener);
    test_dir_done(&d);
}

TEST(connection_needs_a_peer)
{
    struct test_dir d = test_dir_new();
    char path[PATH_MAX];
    int fd = -1;

    make_socket(&d, "dead");
    ASSERT_ERR(ERR_UNAVAILABLE, socket_connect_unix(in_dir(&d, "dead"), &fd, &err));
    ASSERT_ERR(ERR_UNAVAILABLE, socket_connect_unix(in_dir(&d, "nothing"), &fd, &err));
    ASSERT_ERR(ERR_INVALID, socket_connect_unix("", &fd, &err));
    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    ASSERT_ERR(ERR_INVALID, socket_connect_unix(path, &fd, &err));
    path[0] = '/';
    path[200] = '/';
    ASSERT_ERR(ERR_NOT_FOUND, socket_connect_unix(path, &fd, &err));
    ASSERT_INT(-1, fd);
    test_dir_done(&d);
}

/* As sockets_have_an_identity, of one path. */
TEST(socket_at_a_path_is_identified)
{
    struct test_dir d = test_dir_new();
    struct socket_id first, second;

    make_socket(&d, "s");
    assert_true(socket_identify(in_dir(&d, "s"), &first));
    assert_int_equal(chmod(in_dir(&d, "s"), 0600), 0);
    assert_true(socket_identify(in_dir(&d, "s"), &second));
    assert_true(socket_id_is_same(&first, &second));
    make_socket(&d, "other");
    assert_int_equal(rename(in_dir(&d, "other"), in_dir(&d, "s")), 0);
    assert_true(socket_identify(in_dir(&d, "s"), &second));
    assert_false(socket_id_is_same(&first, &second));
    assert_false(socket_identify(in_dir(&d, "nothing"), &second));
    test_dir_done(&d);
}

TEST_MAIN()

#include "tests/unit/test_io.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "io/socket.h"

TEST(listening_addresses_are_told)
{
    static const struct {
        const char *asked;
        const char *told; /* its beginning */
    } rows[] = {
        { "127.0.0.1:0", "127.0.0.1:" },
        { "0.0.0.0:0", "0.0.0.0:" },
        { "[127.0.0.1]:0", "127.0.0.1:" },
        { "[::1]:0", "[::1]:" },
        { "[::]:0", "[::]:" },
        { "0", "127.0.0.1:" },
        { ":0", "0.0.0.0:" },
        { "localhost:0", "127.0.0.1:" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char address[SOCKET_ADDRESS_BYTES] = "untouched";
        char again[SOCKET_ADDRESS_BYTES];
        _cleanup_(fd_closep) int fd = -1;
        struct error err = { 0 };
        int other = -1;

        if (socket_listen(rows[i].asked, address, &fd, &err) < 0 && rows[i].asked[1] == ':') {
            print_message("no IPv6 here: %s\n", err.msg);
            continue;
        }
        assert_true(fd >= 0);
        assert_true(str_has_prefix(str_of(address), rows[i].told));
        assert_false(str_has_suffix(str_of(address), ":0"));
        assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
        assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
        ASSERT_ERR(ERR_BUSY, socket_listen(address, again, &other, &err)); /* what is told can be asked for */
        assert_non_null(strstr(err.msg, ": address already in use"));
        assert_int_equal(other, -1);
    }
}

TEST(bad_addresses_are_refused)
{
    static const char *const rows[] = {
        "",
        ":",
        "x7443",
        "127.0.0.1",
        "127.0.0.1:",
        "127.0.0.1:http",
        "127.0.0.1:-1",
        "127.0.0.1:65536",
        "127.0.0.1:+1",
        "localhost:",
        "localhos:1",
        "::1:7443",
        "[::1]",
        "[::1:7443",
        "[]:1",
        "256.0.0.1:1",
        "[::g]:1",
        "127.0.0.1:1:1",
        "127.0.0.1: 1",
        "[",
        "[]",
        "]:1",
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char address[SOCKET_ADDRESS_BYTES] = "untouched";
        struct error err = { 0 };
        int fd = -1;

        ASSERT_ERR(ERR_INVALID, socket_listen(rows[i], address, &fd, &err));
        assert_non_null(strstr(err.msg, "for example 127.0.0.1:7443"));
        ASSERT_STR("untouched", address);
        assert_int_equal(fd, -1);
    }
}

TEST(addresses_of_others_are_refused)
{
    char address[SOCKET_ADDRESS_BYTES];
    struct error err = { 0 };
    int fd = -1;

    ASSERT_ERR(ERR_IO, socket_listen("192.0.2.1:7443", address, &fd, &err));
    assert_true(str_has_prefix(str_of(err.msg), "cannot listen on 192.0.2.1:7443: "));
}

static void connected_pair(int *ret_server, int *ret_client)
{
    char address[SOCKET_ADDRESS_BYTES];
    struct error err = { 0 };
    struct sockaddr_in a;
    socklen_t len = sizeof a;
    int listener = -1;

    ASSERT_OK(socket_listen("127.0.0.1:0", address, &listener, &err));
    assert_int_equal(getsockname(listener, (struct sockaddr *)&a, &len), 0);
    *ret_client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(*ret_client, (const struct sockaddr *)&a, len), 0);
    while ((*ret_server = accept4(listener, (struct sockaddr *)&a, &len, SOCK_CLOEXEC)) < 0)
        assert_int_equal(errno, EAGAIN);
    (void)close(listener);
}

TEST(an_ended_connection_delivers_what_was_sent)
{
    int server, client;
    char c;

    connected_pair(&server, &client);
    assert_int_equal(send(server, "x", 1, 0), 1);
    socket_end(server);
    socket_end(server); /* twice is once */
    assert_int_equal(recv(server, &c, 1, 0), 0);
    (void)close(server);
    assert_int_equal(recv(client, &c, 1, 0), 1);
    assert_int_equal(recv(client, &c, 1, 0), 0);
    (void)close(client);
}

TEST(an_aborted_connection_is_reset)
{
    int server, client;
    char c;

    connected_pair(&server, &client);
    while (send(server, "xxxxxxxxxxxxxxxx", 16, MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
    }
    socket_abort(server);
    assert_true(send(server, "x", 1, MSG_NOSIGNAL) < 0);
    (void)close(server);
    while (recv(client, &c, 1, 0) > 0) {
    }
    assert_int_equal(errno, ECONNRESET);
    (void)close(client);
}

TEST(the_limit_of_descriptors_is_raised_not_lowered)
{
    struct rlimit before, now;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    now = (struct rlimit){ .rlim_cur = before.rlim_max < 64 ? before.rlim_max : 64,
                           .rlim_max = before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0);
    ASSERT_INT(now.rlim_cur, socket_raise_fd_limit(16));
    ASSERT_INT(now.rlim_cur + 10, socket_raise_fd_limit((size_t)now.rlim_cur + 10));
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &now), 0);
    ASSERT_INT(74, now.rlim_cur);
    if (before.rlim_max != RLIM_INFINITY)
        ASSERT_INT(before.rlim_max, socket_raise_fd_limit((size_t)before.rlim_max + 1));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(silence_is_noticed)
{
    static const struct {
        int level;
        int option;
        int value;
    } rows[] = {
        { SOL_SOCKET, SO_KEEPALIVE, 1 },          { IPPROTO_TCP, TCP_KEEPIDLE, 30 },
        { IPPROTO_TCP, TCP_KEEPINTVL, 5 },        { IPPROTO_TCP, TCP_KEEPCNT, 3 },
        { IPPROTO_TCP, TCP_USER_TIMEOUT, 45000 },
    };
    _cleanup_(fd_closep) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    socket_set_keepalive(fd, 30, 5);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int value = -1;
        socklen_t len = sizeof value;
        assert_int_equal(getsockopt(fd, rows[i].level, rows[i].option, &value, &len), 0);
        ASSERT_INT(rows[i].value, value);
    }
}

TEST(ip_addresses_have_one_form)
{
    static const struct {
        const char *text;
        bool is_ip;
        bool is_loopback;
    } rows[] = {
        { "127.0.0.1", true, true },
        { "127.255.0.9", true, true },
        { "::1", true, true },
        { "::ffff:127.0.0.1", true, true },
        { "10.0.0.7", true, false },
        { "0.0.0.0", true, false },
        { "::", true, false },
        { "fd00::7", true, false },
        { "", false, false },
        { "127.1", false, false },
        { "2130706433", false, false },
        { "0x7f.0.0.1", false, false },
        { "127.0.0.1 ", false, false },
        { "[::1]", false, false },
        { "fe80::1%lo", false, false },
        { "localhost", false, false },
        { "1111:2222:3333:4444:5555:6666:7777:8888:9999", false, false },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct socket_ip ip = { { 0 } };

        assert_true(socket_ip_parse(str_of(rows[i].text), &ip) == rows[i].is_ip);
        assert_true(!rows[i].is_ip || socket_ip_is_loopback(&ip) == rows[i].is_loopback);
    }
    struct socket_ip ip;
    assert_false(socket_ip_parse(STR_LIT("127.0.0.1\0x"), &ip));
}

/* A server that listens on all addresses learns which one a client has connected to. */
TEST(the_local_address_of_a_connection)
{
    char address[SOCKET_ADDRESS_BYTES];
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK + 5) };
    _cleanup_(fd_closep) int listener = -1, client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
                             server = -1;
    _cleanup_(fd_closep) int no_socket = open("/dev/null", O_RDONLY | O_CLOEXEC);
    struct socket_ip ip, wanted;
    struct error err;

    ASSERT_OK(socket_listen("0.0.0.0:0", address, &listener, &err));
    to.sin_port = htons((uint16_t)strtoul(strrchr(address, ':') + 1, NULL, 10));
    assert_int_equal(connect(client, (const struct sockaddr *)&to, sizeof to), 0);
    server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(socket_local_ip(server, &ip));
    assert_true(socket_ip_parse(STR_LIT("127.0.0.6"), &wanted));
    assert_memory_equal(&ip, &wanted, sizeof ip);
    assert_false(socket_local_ip(no_socket, &ip));
}

TEST_MAIN()

/* Any bytes to the gRPC server, over a real connection: handlers see valid messages only, and the connection
 * ends with the client's.
 *
 * The first byte: its two lowest bits tell in how many pieces the rest is sent; 4: a valid preface is sent
 * before; 8: and the headers of a call; 128: calls are answered late. */
#include "tests/fuzz/fuzz.h"

#include <rpc/proto/csi.pb-c.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/vec.h"
#include "io/path.h"
#include "io/socket.h"
#include "rpc/rpc_server.h"

#define INPUT_BYTES_MAX 8192
#define TURNS_MAX 100000

static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0";
static const char headers[] = "\0\0\75\1\4\0\0\0\1\203\206\0\5:path\7/t.T/Do"
                              "\0\14content-type\20application/grpc\0\2te\10trailers";
static char dir[PATH_MAX];
static char path[PATH_MAX + 2];
static struct loop *loop;
static struct rpc_server *server;
static bool are_late;
static VEC(struct rpc_served *) late;

static void answer_call(struct rpc_served *c)
{
    Csi__V1__ProbeResponse answer;

    csi__v1__probe_response__init(&answer);
    rpc_served_answer(c, &answer.base);
}

static void on_cancelled(void *owner)
{
    (void)owner;
    vec_clear(&late); /* one connection at a time: if one of its calls is gone, all may be */
}

static void serve_do(void *ctx, struct rpc_served *c, const ProtobufCMessage *request)
{
    (void)ctx;
    FUZZ_CHECK(protobuf_c_message_check(request));
    if (are_late && vec_push(&late, c) == 0)
        rpc_served_defer(c, on_cancelled, NULL);
    else
        answer_call(c);
}

static void start_server(void)
{
    static const struct rpc_method method = { "/t.T/Do", &csi__v1__create_volume_request__descriptor,
                                              &csi__v1__probe_response__descriptor, serve_do };
    struct rpc_server_options o = {
        .path = path, .methods = &method, .methods_count = 1, .request_bytes_max = 4096, .streams_max = 4
    };
    struct error err;

    FUZZ_CHECK(io_tmp_dir_below(access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", dir, &err) == 0);
    (void)snprintf(path, sizeof path, "%s/s", dir);
    FUZZ_CHECK(loop_new(NULL, &loop, &err) == 0);
    o.loop = loop;
    FUZZ_CHECK(rpc_server_new(&o, &server, &err) == 0);
}

static void stop_server(void)
{
    server = rpc_server_free(server);
    loop = loop_free(loop);
    io_discard_dir(dir);
    vec_done(&late);
}

static void run_turn(int fd)
{
    char data[4096];

    (void)loop_poll(loop);
    while (recv(fd, data, sizeof data, MSG_DONTWAIT) > 0) {
    }
}

static void send_bytes(int fd, const void *data, size_t len)
{
    (void)!send(fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT); /* the connection may have been refused by now */
    run_turn(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned how = size ? data[0] : 0;
    size_t piece = 1 + size / (1 + (how & 3));
    unsigned turns = 0;
    struct error err;
    int fd = -1;

    if (size > INPUT_BYTES_MAX)
        return 0;
    if (!server) {
        start_server();
        (void)atexit(stop_server);
    }
    are_late = how & 0x80;
    FUZZ_CHECK(socket_connect_unix(path, &fd, &err) == 0);
    while (rpc_server_connections(server) == 0)
        run_turn(fd);
    if (how & 4)
        send_bytes(fd, preface, sizeof preface - 1);
    if (how & 8)
        send_bytes(fd, headers, sizeof headers - 1);
    for (size_t at = 1; at < size; at += piece)
        send_bytes(fd, data + at, size - at < piece ? size - at : piece);
    run_turn(fd);
    for (size_t i = 0; i < late.count; i++)
        answer_call(late.items[i]);
    vec_clear(&late);
    run_turn(fd);
    (void)close(fd);
    while (rpc_server_connections(server) > 0) {
        (void)loop_poll(loop);
        FUZZ_CHECK(++turns < TURNS_MAX);
    }
    return 0;
}

/* A CSI driver for tests, with its registrar: a node service that really mounts and a controller service,
 * whose state is a directory.
 *
 *     csi_driver STATE SOCKET [REGISTRATION-SOCKET]
 *
 * A volume whose staged mount is gone is staged again; one that is published is not published again: the
 * records say that it is. Each connection and each call is served by a process of its own, so that a call
 * that waits holds up no other. In STATE are
 *
 *   volumes/ID       a volume: a directory, which is bound to where it is staged or published; of a raw
 *                    volume, a link to its device
 *   staged           lines "ID PATH"
 *   published        lines "ID PATH"
 *   running          lines "ID PID", of calls under way
 *   log              lines "BEGIN_NS END_NS METHOD ID CODE", in the order of their ends
 *   created          lines "ID BYTES", of volumes that CreateVolume has made; an id is a name
 *   controller-published  lines "ID NODE"
 *   modified         lines "ID KEY=VALUE…"
 *   snapshots        lines "ID VOLUME BYTES READY_NS"; an id is a name
 *   snapshot-data/ID a copy of the volume
 *   disks/ID         of a driver with `loop`: the image of a volume; device-ID: its loop device
 *   violations       what a careful caller never does: two calls for one volume at a time, a publish of what
 *                    is not staged, an unstage of what is published; a volume that is created again with
 *                    another request, deleted in use, or used on a node to which it is not published
 *   request-METHOD   what the last call asked, a field a line, maps sorted as they came
 *   notified         lines "true" or "false TEXT", of the registration
 *
 * and, put there by a test:
 *
 *   name             of the driver; else test.csi
 *   capabilities     numbers; else 1 2 3 (stage, statistics, expansion)
 *   versions         words; else 1.0.0
 *   type             of the plugin; else CSIPlugin
 *   node-info        "NODE-ID MAX KEY=VALUE…"; else "node-1 0". Created volumes have this topology
 *   fail-METHOD      "CODE WORDS": the call answers with it
 *   hold-METHOD      the call waits until it is gone
 *   delay-METHOD     milliseconds before the call is served
 *   lose-METHOD      the call is served, and the connection ends instead of the answer
 *   crash-METHOD     the same, and the driver ends; once
 *   garbage-METHOD   the call is served, and the answer is no message
 *   no-usage         statistics are empty
 *   plugin-capabilities      numbers; else none: there is no controller service
 *   controller-capabilities  numbers; else 1 2 3 4 8 9 10 12 13 14
 *   not-ready        Probe says so
 *   capacity         bytes of all created volumes; volume-max: of one
 *   create-bytes     what CreateVolume says that a volume has
 *   static-volumes   volumes that were not created can be published
 *   offline          volumes that are published to a node cannot be expanded
 *   node-expansion   the node must expand volumes, too
 *   snapshot-delay   milliseconds until a new snapshot is ready
 *   page             entries of a page of ListVolumes
 *   abnormal         lines "ID WORDS": volumes whose condition is bad
 *   loop             volumes are loop files, not directories
 *
 * Files are changed under an exclusive lock on `lock`, which is not held while a call waits. */
#include "csi_driver.h"

#include <errno.h>
#include <inttypes.h>
#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <rpc/proto/registration.pb-c.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"

#define HOLD_LOOK_MS 10
#define PREFIX_BYTES 5

static const char *my_socket;
static pid_t main_pid;

static void do_plugin_info(struct call *c)
{
    Pluginregistration__PluginInfo out = PLUGINREGISTRATION__PLUGIN_INFO__INIT;
    char name[LINE_BYTES], versions[LINE_BYTES], type[LINE_BYTES];
    char *list[8], *at, *word;

    out.type = (char *)(uintptr_t)state_setting("type", "CSIPlugin", type);
    out.name = (char *)(uintptr_t)state_setting("name", "test.csi", name);
    out.endpoint = (char *)(uintptr_t)my_socket;
    (void)state_setting("versions", "1.0.0", versions);
    at = versions;
    while ((word = strsep(&at, " ")) && out.n_supported_versions < ARRAY_LEN(list))
        if (*word)
            list[out.n_supported_versions++] = word;
    out.supported_versions = list;
    call_answer(c, &out.base);
}

static void do_notify(struct call *c)
{
    Pluginregistration__RegistrationStatus *m =
        call_unpack(c, &pluginregistration__registration_status__descriptor);

    if (m->plugin_registered)
        state_append("notified", "true");
    else
        state_add("notified", "false", m->error);
    protobuf_c_message_free_unpacked(&m->base, NULL);
}

static const struct {
    const char *method;
    void (*fn)(struct call *c);
} methods[] = {
    { "NodeStageVolume", node_do_stage },
    { "NodeUnstageVolume", node_do_unstage },
    { "NodePublishVolume", node_do_publish },
    { "NodeUnpublishVolume", node_do_unpublish },
    { "NodeGetVolumeStats", node_do_stats },
    { "NodeExpandVolume", node_do_expand },
    { "NodeGetCapabilities", node_do_capabilities },
    { "NodeGetInfo", node_do_info },
    { "Probe", identity_do_probe },
    { "GetPluginInfo", identity_do_info },
    { "GetPluginCapabilities", identity_do_capabilities },
    { "ControllerGetCapabilities", controller_do_capabilities },
    { "CreateVolume", controller_do_create },
    { "DeleteVolume", controller_do_delete },
    { "ControllerPublishVolume", controller_do_publish },
    { "ControllerUnpublishVolume", controller_do_unpublish },
    { "ControllerExpandVolume", controller_do_expand },
    { "ControllerModifyVolume", controller_do_modify },
    { "GetCapacity", controller_do_capacity },
    { "ListVolumes", controller_do_list },
    { "ControllerGetVolume", controller_do_get_volume },
    { "ValidateVolumeCapabilities", controller_do_validate },
    { "CreateSnapshot", snapshot_do_create },
    { "DeleteSnapshot", snapshot_do_delete },
    { "ListSnapshots", snapshot_do_list },
    { "GetInfo", do_plugin_info },
    { "NotifyRegistrationStatus", do_notify },
};

static bool is_of_node(const struct call *c)
{
    return strncmp(c->method, "Node", 4) == 0;
}

/* Field 1 of every request about a volume or a snapshot is its id or its name, and field 2, whatever it is,
 * begins as a text does. A new snapshot has its name in field 2. */
static void peek_volume(struct call *c)
{
    Csi__V1__NodeUnstageVolumeRequest *m;
    bool is_second = strcmp(c->method, "CreateSnapshot") == 0;

    if (strcmp(c->method, "ListSnapshots") == 0 || strcmp(c->method, "GetCapacity") == 0 ||
        strcmp(c->method, "ListVolumes") == 0 || strcmp(c->method, "NotifyRegistrationStatus") == 0)
        return;
    m = (void *)protobuf_c_message_unpack(&csi__v1__node_unstage_volume_request__descriptor, NULL,
                                          c->request.len, (const uint8_t *)c->request.s);
    if (m)
        (void)snprintf(c->volume, sizeof c->volume, "%s", is_second ? m->staging_target_path : m->volume_id);
    if (m)
        csi__v1__node_unstage_volume_request__free_unpacked(m, NULL);
}

/* A volume has one call of the node service at a time, and one of each method of the controller's. */
static const char *running_key(const struct call *c, char ret[LINE_BYTES])
{
    (void)snprintf(ret, LINE_BYTES, "%s%s%s", is_of_node(c) ? "" : c->method, is_of_node(c) ? "" : ":",
                   c->volume);
    return ret;
}

static bool has_knob(const struct call *c, const char *knob)
{
    char name[128];

    (void)snprintf(name, sizeof name, "%s-%s", knob, c->method);
    return access(state_path(name), F_OK) == 0;
}

static void begin(struct call *c)
{
    char name[128], text[LINE_BYTES], key[LINE_BYTES];
    struct pollfd none = { .fd = -1 };

    c->begin_ns = now_ns();
    peek_volume(c);
    (void)snprintf(name, sizeof name, "%d", (int)getpid());
    state_lock();
    if (c->volume[0] && state_has("running", running_key(c, key), NULL))
        state_violate("two calls at a time", c->volume);
    if (c->volume[0])
        state_add("running", running_key(c, key), name);
    state_unlock();
    (void)snprintf(name, sizeof name, "delay-%s", c->method);
    (void)poll(&none, 1, (int)strtol(state_setting(name, "0", text), NULL, 10));
    while (has_knob(c, "hold"))
        (void)poll(&none, 1, HOLD_LOOK_MS);
}

static void end(struct call *c)
{
    char line[LINE_BYTES], name[128], key[LINE_BYTES];
    FILE *f;

    (void)snprintf(line, sizeof line, "%" PRIu64 " %" PRIu64 " %s %s %u", c->begin_ns, now_ns(), c->method,
                   c->volume[0] ? c->volume : "-", c->code);
    state_append("log", line);
    (void)snprintf(name, sizeof name, "%d", (int)getpid());
    if (c->volume[0])
        state_drop("running", running_key(c, key), name);
    (void)snprintf(name, sizeof name, "request-%s", c->method);
    f = fopen(state_path(name), "we");
    if (!f || fputs(buf_cstr(&c->shown), f) < 0 || fclose(f) != 0)
        driver_die(name);
}

/* After it has been done, the answer may not arrive as it should. */
static void spoil_answer(struct call *c)
{
    char name[128];

    if (has_knob(c, "garbage")) {
        buf_clear(&c->answer);
        buf_add_cstr(&c->answer, "\377\377\377");
    }
    c->is_lost = has_knob(c, "lose");
    if (has_knob(c, "crash")) {
        (void)snprintf(name, sizeof name, "crash-%s", c->method);
        (void)unlink(state_path(name));
        (void)kill(main_pid, SIGKILL); /* and this process with it */
        c->is_lost = true;
    }
}

static void serve(struct call *c)
{
    char name[128], text[LINE_BYTES];
    size_t i = 0;

    begin(c);
    state_lock();
    while (i < ARRAY_LEN(methods) && strcmp(methods[i].method, c->method) != 0)
        i++;
    if (has_knob(c, "fail")) {
        char *words = NULL;
        unsigned long code;

        (void)snprintf(name, sizeof name, "fail-%s", c->method);
        code = strtoul(state_setting(name, "2 ?", text), &words, 10);
        call_fail(c, (unsigned)code, words[0] ? words + 1 : "");
    } else if (i == ARRAY_LEN(methods)) {
        call_fail(c, 12, "no such method");
    } else {
        methods[i].fn(c);
    }
    end(c);
    spoil_answer(c);
    state_unlock();
}

/* --- HTTP/2 --- */

#define STREAMS_MAX 256
#define NOBODYS (-1)

/* A call on its way: asked, served by a child whose result comes through a pipe, answered. */
struct stream {
    int32_t id; /* 0: free; NOBODYS: its caller has gone, its child has not */
    char path[256];
    struct buf body;
    int results; /* of the child; -1: none is running */
    struct buf result;
    struct buf out;
    size_t sent;
    char status[16];
    struct buf words;
};

/* What a child writes first; the words and the answer follow. */
struct result_head {
    unsigned code;
    bool is_lost; /* the connection ends instead */
    size_t words_len;
};

static struct stream streams[STREAMS_MAX];
static int connection = -1;

static nghttp2_nv header(const char *name, const char *value)
{
    return (nghttp2_nv){ (uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name), strlen(value),
                         NGHTTP2_NV_FLAG_NONE };
}

/* What is not plain is sent as %XX. */
static void escape(struct str words, struct buf *out)
{
    for (size_t i = 0; i < words.len; i++) {
        unsigned char u = (unsigned char)words.s[i];
        if (u < ' ' || u > '~' || u == '%')
            buf_addf(out, "%%%02X", u);
        else
            buf_add_char(out, (char)u);
    }
}

static struct stream *stream_of(int32_t id)
{
    for (size_t i = 0; i < STREAMS_MAX; i++)
        if (streams[i].id == id)
            return &streams[i];
    return NULL;
}

static struct stream *stream_new(int32_t id)
{
    struct stream *s = stream_of(0);

    if (!s)
        driver_die("too many streams");
    *s = (struct stream){ .id = id,
                          .results = -1,
                          .body = BUF_INIT(MESSAGE_BYTES_MAX),
                          .result = BUF_INIT(MESSAGE_BYTES_MAX),
                          .out = BUF_INIT(MESSAGE_BYTES_MAX),
                          .words = BUF_INIT((size_t)LINE_BYTES * 3) };
    return s;
}

static void stream_done(struct stream *s)
{
    if (s->results >= 0) { /* the child goes on: what it does is done */
        s->id = NOBODYS;
        return;
    }
    buf_done(&s->body);
    buf_done(&s->result);
    buf_done(&s->out);
    buf_done(&s->words);
    s->id = 0;
}

static ssize_t on_source(nghttp2_session *session, int32_t id, uint8_t *data, size_t len, uint32_t *flags,
                         nghttp2_data_source *source, void *ctx)
{
    struct stream *s = source->ptr;
    size_t n = s->out.len - s->sent < len ? s->out.len - s->sent : len;

    (void)ctx;
    memcpy(data, s->out.data + s->sent, n);
    s->sent += n;
    if (s->sent == s->out.len) {
        const nghttp2_nv trailers[] = { header("grpc-status", s->status), header("grpc-message", "") };
        *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
        (void)nghttp2_submit_trailer(session, id, trailers, ARRAY_LEN(trailers));
    }
    return (ssize_t)n;
}

static void write_all(int fd, const void *data, size_t len)
{
    const char *at = data;

    while (len > 0) {
        ssize_t n = write(fd, at, len);
        if (n <= 0)
            return; /* nobody waits for it any more */
        at += n;
        len -= (size_t)n;
    }
}

/* In a process of its own. */
static void serve_call(struct stream *s, int results)
{
    struct call c = { .method = strrchr(s->path, '/') ? strrchr(s->path, '/') + 1 : s->path,
                      .request = { s->body.data + PREFIX_BYTES, s->body.len - PREFIX_BYTES },
                      .answer = BUF_INIT(MESSAGE_BYTES_MAX),
                      .shown = BUF_INIT(MESSAGE_BYTES_MAX) };
    struct result_head head = { 0 };

    serve(&c);
    head.code = c.code;
    head.is_lost = c.is_lost;
    head.words_len = strlen(c.words);
    (void)signal(SIGPIPE, SIG_IGN);
    write_all(results, &head, sizeof head);
    write_all(results, c.words, head.words_len);
    write_all(results, buf_str(&c.answer).s, c.answer.len);
}

static void begin_call(struct stream *s)
{
    int ends[2];

    if (s->body.len < PREFIX_BYTES)
        driver_die("a request without a message");
    if (pipe(ends) < 0)
        driver_die("pipe");
    if (fork() == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)close(ends[0]);
        (void)close(connection);
        serve_call(s, ends[1]);
        _exit(0);
    }
    (void)close(ends[1]);
    s->results = ends[0];
}

static void respond(nghttp2_session *session, struct stream *s)
{
    nghttp2_data_provider source = { .source.ptr = s, .read_callback = on_source };
    struct str rest = buf_str(&s->result);
    struct result_head head;

    (void)close(s->results);
    s->results = -1;
    if (s->id == NOBODYS) {
        stream_done(s);
        return;
    }
    if (rest.len < sizeof head)
        driver_die("a call ended without a result");
    memcpy(&head, rest.s, sizeof head);
    rest = (struct str){ rest.s + sizeof head, rest.len - sizeof head };
    if (head.is_lost) {
        (void)shutdown(connection, SHUT_RDWR);
        return;
    }
    (void)snprintf(s->status, sizeof s->status, "%u", head.code);
    escape((struct str){ rest.s, head.words_len }, &s->words);
    if (head.code != 0) {
        const nghttp2_nv only[] = { header(":status", "200"), header("content-type", "application/grpc"),
                                    header("grpc-status", s->status),
                                    header("grpc-message", buf_cstr(&s->words)) };
        (void)nghttp2_submit_response(session, s->id, only, ARRAY_LEN(only), NULL);
        return;
    }
    const nghttp2_nv headers[] = { header(":status", "200"), header("content-type", "application/grpc") };
    rest = (struct str){ rest.s + head.words_len, rest.len - head.words_len };
    buf_add_char(&s->out, 0);
    for (int shift = 24; shift >= 0; shift -= 8)
        buf_add_char(&s->out, (char)(rest.len >> shift & 255));
    buf_add_str(&s->out, rest);
    (void)nghttp2_submit_response(session, s->id, headers, ARRAY_LEN(headers), &source);
}

static void read_result(nghttp2_session *session, struct stream *s)
{
    char data[4096];
    ssize_t n = read(s->results, data, sizeof data);

    if (n > 0)
        buf_add(&s->result, data, (size_t)n);
    else
        respond(session, s);
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags, void *ctx)
{
    struct stream *s = stream_of(frame->hd.stream_id);

    (void)session;
    (void)flags;
    (void)ctx;
    if (!s)
        s = stream_new(frame->hd.stream_id);
    if (name_len == 5 && memcmp(name, ":path", 5) == 0)
        (void)snprintf(s->path, sizeof s->path, "%.*s", (int)value_len, (const char *)value);
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data, size_t len,
                   void *ctx)
{
    struct stream *s = stream_of(id);

    (void)session;
    (void)flags;
    (void)ctx;
    buf_add(&s->body, data, len);
    return s->body.failed ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
    (void)session;
    (void)ctx;
    if ((frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS) &&
        (frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
        begin_call(stream_of(frame->hd.stream_id));
    return 0;
}

static int on_close(nghttp2_session *session, int32_t id, uint32_t why, void *ctx)
{
    struct stream *s = stream_of(id);

    (void)session;
    (void)why;
    (void)ctx;
    if (s)
        stream_done(s);
    return 0;
}

static nghttp2_session *session_new(void)
{
    const nghttp2_settings_entry limit = { NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, STREAMS_MAX / 2 };
    nghttp2_session_callbacks *callbacks;
    nghttp2_session *session;

    if (nghttp2_session_callbacks_new(&callbacks) < 0)
        driver_die("nghttp2");
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    if (nghttp2_session_server_new(&session, callbacks, NULL) < 0 ||
        nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, &limit, 1) < 0)
        driver_die("nghttp2");
    return session;
}

/* The connection, and the pipe of each child; *ret_at: whose pipe is where. */
static nfds_t watched(int fd, struct pollfd *ret, struct stream **ret_at)
{
    nfds_t n = 1;

    ret[0] = (struct pollfd){ .fd = fd, .events = POLLIN };
    for (size_t i = 0; i < STREAMS_MAX; i++)
        if (streams[i].id != 0 && streams[i].results >= 0) {
            ret_at[n] = &streams[i];
            ret[n++] = (struct pollfd){ .fd = streams[i].results, .events = POLLIN };
        }
    return n;
}

/* Takes in what comes from the caller. False: the connection is over. */
static bool read_connection(nghttp2_session *session)
{
    uint8_t in[16384];
    ssize_t n = recv(connection, in, sizeof in, 0);

    return n > 0 && nghttp2_session_mem_recv(session, in, (size_t)n) >= 0;
}

static bool write_connection(nghttp2_session *session)
{
    const uint8_t *out;
    ssize_t n;

    while ((n = nghttp2_session_mem_send(session, &out)) > 0)
        if (send(connection, out, (size_t)n, MSG_NOSIGNAL) != n)
            return false;
    return true;
}

/* Until the caller has gone and what it asked for is done. */
static void serve_connection(int fd)
{
    nghttp2_session *session = session_new();
    struct stream *at[STREAMS_MAX + 1];
    struct pollfd fds[STREAMS_MAX + 1];
    nfds_t count;

    connection = fd;
    while (connection >= 0 || watched(-1, fds, at) > 1) {
        bool is_over = connection >= 0 && !write_connection(session);

        count = watched(connection, fds, at);
        if (!is_over && poll(fds, count, -1) < 0 && errno != EINTR)
            driver_die("poll");
        for (nfds_t i = 1; i < count && !is_over; i++)
            if (fds[i].revents)
                read_result(session, at[i]);
        if (connection >= 0 && (is_over || (fds[0].revents && !read_connection(session)))) {
            (void)close(connection);
            connection = -1;
        }
    }
}

static int listen_at(const char *path)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (strlen(path) >= sizeof a.sun_path)
        errno = ENAMETOOLONG;
    else
        memcpy(a.sun_path, path, strlen(path) + 1);
    (void)unlink(path);
    if (fd < 0 || a.sun_path[0] == '\0' || bind(fd, (const struct sockaddr *)&a, sizeof a) < 0 ||
        listen(fd, 64) < 0)
        driver_die(path);
    return fd;
}

static void accept_from(int listener)
{
    int fd = accept(listener, NULL, NULL);

    if (fd >= 0 && fork() == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        serve_connection(fd);
        _exit(0);
    }
    if (fd >= 0)
        (void)close(fd);
}

int main(int argc, char **argv)
{
    struct pollfd fds[2] = { { .fd = -1 }, { .fd = -1 } };

    if (argc < 3)
        return 2;
    driver_dir = argv[1];
    my_socket = argv[2];
    main_pid = getpid();
    (void)unlink(state_path("running")); /* calls of an earlier process ended with it */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)signal(SIGCHLD, SIG_IGN);
    for (int i = 2; i < argc && i < 4; i++)
        fds[i - 2] = (struct pollfd){ .fd = listen_at(argv[i]), .events = POLLIN };
    state_append("started", argv[2]);
    for (;;) {
        if (poll(fds, ARRAY_LEN(fds), -1) < 0 && errno != EINTR)
            driver_die("poll");
        for (size_t i = 0; i < ARRAY_LEN(fds); i++)
            if (fds[i].fd >= 0 && fds[i].revents)
                accept_from(fds[i].fd);
    }
}

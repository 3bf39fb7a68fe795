/* The state of a call apart from sockets and streams, and gRPC's status codes: their names and their mapping
 * to errors. */
#include "rpc/rpc_int.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "rpc/framing.h"

#define METADATA_MAX 64
#define MEMORY_BYTES_MAX ((size_t)128 << 10) /* paths, method, metadata */
#define STATUS_NONE UINT64_MAX

int rpc_call_prepare(struct rpc_call *c, const struct rpc_request *q, struct error *err)
{
    int r;

    assert(!c->client);
    if (q->message.len > RPC_MESSAGE_BYTES_MAX)
        return error_set(err, ERR_TOO_LARGE, "a request of %zu bytes is too large", q->message.len);
    if (q->metadata_count > METADATA_MAX)
        return error_set(err, ERR_TOO_LARGE, "too many metadata fields: %zu", q->metadata_count);
    *c = (struct rpc_call){ .done = c->done, .on_message = c->on_message };
    c->arena = ARENA_INIT(MEMORY_BYTES_MAX);
    c->out = BUF_INIT(RPC_PREFIX_BYTES + RPC_MESSAGE_BYTES_MAX);
    c->words = BUF_INIT(RPC_HEADERS_BYTES_MAX);
    c->socket = arena_dup(&c->arena, str_of(q->socket));
    c->method = arena_dup(&c->arena, str_of(q->method));
    c->metadata = arena_array(&c->arena, q->metadata_count, sizeof *c->metadata);
    for (size_t i = 0; c->metadata && i < q->metadata_count; i++)
        c->metadata[i] = (struct rpc_metadata){ arena_dup(&c->arena, str_of(q->metadata[i].name)),
                                                arena_dup(&c->arena, str_of(q->metadata[i].value)) };
    c->metadata_count = q->metadata_count;
    c->limit_ns = q->limit_ns;
    c->answer_bytes_max = q->answer_bytes_max ? q->answer_bytes_max : RPC_MESSAGE_BYTES_MAX;
    c->in = BUF_INIT(RPC_HELD_BYTES_MAX);
    rpc_frame_add(&c->out, q->message);
    r = arena_check(&c->arena, err);
    if (r == 0)
        r = buf_check(&c->out, "a request", err);
    if (r < 0)
        rpc_call_release(c);
    return r;
}

void rpc_call_rewind(struct rpc_call *c)
{
    assert(!c->session);
    rpc_call_drop_input(c, c->in.len);
    buf_clear(&c->words);
    c->sent = c->unacknowledged = c->headers_bytes = 0;
    c->reset = NGHTTP2_NO_ERROR;
    c->http_status = 0;
    c->status = STATUS_NONE;
    c->is_closed = c->has_own_status = false;
}

void rpc_call_drop_input(struct rpc_call *c, size_t n)
{
    assert(n <= c->in.len);
    if (n == 0)
        return;
    if (c->client)
        c->client->held_bytes -= n;
    memmove(c->in.data, c->in.data + n, c->in.len - n);
    buf_cut(&c->in, c->in.len - n);
}

void rpc_call_release(struct rpc_call *c)
{
    if (c->client)
        c->client->held_bytes -= c->in.len;
    buf_done(&c->in);
    buf_done(&c->out);
    buf_done(&c->words);
    arena_done(&c->arena);
    timer_disarm(&c->limit);
    c->client = NULL;
}

void rpc_call_fail(struct rpc_call *c, enum rpc_code code, const char *words)
{
    if (c->is_closed)
        return;
    c->is_closed = c->has_own_status = true;
    c->status = code;
    buf_clear(&c->words);
    buf_add_cstr(&c->words, words);
}

static const struct {
    const char *name;
    enum err err;
} rpc_codes[] = {
    [RPC_OK] = { "OK", ERR_NONE },
    [RPC_CANCELLED] = { "Canceled", ERR_UNCERTAIN },
    [RPC_UNKNOWN] = { "Unknown", ERR_IO },
    [RPC_INVALID_ARGUMENT] = { "InvalidArgument", ERR_INVALID },
    [RPC_DEADLINE_EXCEEDED] = { "DeadlineExceeded", ERR_UNCERTAIN },
    [RPC_NOT_FOUND] = { "NotFound", ERR_NOT_FOUND },
    [RPC_ALREADY_EXISTS] = { "AlreadyExists", ERR_EXISTS },
    [RPC_PERMISSION_DENIED] = { "PermissionDenied", ERR_DENIED },
    [RPC_RESOURCE_EXHAUSTED] = { "ResourceExhausted", ERR_UNCERTAIN },
    [RPC_FAILED_PRECONDITION] = { "FailedPrecondition", ERR_BUSY },
    [RPC_ABORTED] = { "Aborted", ERR_UNCERTAIN },
    [RPC_OUT_OF_RANGE] = { "OutOfRange", ERR_INVALID },
    [RPC_UNIMPLEMENTED] = { "Unimplemented", ERR_UNSUPPORTED },
    [RPC_INTERNAL] = { "Internal", ERR_INTERNAL },
    [RPC_UNAVAILABLE] = { "Unavailable", ERR_UNCERTAIN },
    [RPC_DATA_LOSS] = { "DataLoss", ERR_IO },
    [RPC_UNAUTHENTICATED] = { "Unauthenticated", ERR_UNAUTHORIZED },
};
static_assert(ARRAY_LEN(rpc_codes) == RPC_CODE_COUNT, "name every code");

const char *rpc_code_name(enum rpc_code code)
{
    return rpc_codes[(unsigned)code < RPC_CODE_COUNT ? code : RPC_UNKNOWN].name;
}

int rpc_failure(uint64_t code, const char *words, struct error *err)
{
    size_t i = code < ARRAY_LEN(rpc_codes) ? (size_t)code : (size_t)RPC_UNKNOWN;

    assert(code != RPC_OK);
    return error_set(err, rpc_codes[i].err, "rpc error: code = %s desc = %s", rpc_codes[i].name, words);
}

/* The message of a successful answer. NULL, or what is wrong with it. */
static const char *read_answer(const struct rpc_call *c, struct str *ret)
{
    struct str bytes = buf_str(&c->in), message = { 0 };

    if (c->on_message)
        return bytes.len > 0 ? "the answer ends within a message" : NULL;
    if (bytes.len < RPC_PREFIX_BYTES)
        return "the answer contains no valid message";
    switch (rpc_frame_read(bytes, c->answer_bytes_max, &message)) {
    case RPC_FRAME_COMPRESSED:
        return "the answer contains no valid message";
    case RPC_FRAME_PARTIAL:
    case RPC_FRAME_TOO_LARGE:
        return "the answer does not consist of one message";
    case RPC_FRAME_WHOLE:
        break;
    }
    if (message.len != bytes.len - RPC_PREFIX_BYTES)
        return "the answer does not consist of one message";
    *ret = message;
    return NULL;
}

/* The status first: a failed call may have sent anything. */
static const char *filter_end(const struct rpc_call *c, char *room, size_t size, struct str *ret)
{
    if (c->http_status != 200) {
        (void)snprintf(room, size, "unexpected HTTP status code received from server: %" PRIu64,
                       c->http_status);
        return room;
    }
    if (c->reset != NGHTTP2_NO_ERROR || c->status == STATUS_NONE)
        return "server closed the stream without sending trailers";
    return read_answer(c, ret);
}

struct rpc_result rpc_call_result(const struct rpc_call *c, struct error *err)
{
    struct rpc_result result = { .words = buf_cstr(&c->words), .message = STR_LIT(""), .err = err };
    uint64_t code = c->status;
    char room[80];
    const char *wrong = NULL;

    if (code == STATUS_NONE || code == RPC_OK) {
        wrong = filter_end(c, room, sizeof room, &result.message);
        code = wrong ? RPC_UNAVAILABLE : RPC_OK;
    }
    if (code != RPC_OK)
        result.r = rpc_failure(code, wrong ? wrong : result.words, err);
    result.is_own = wrong || c->has_own_status;
    result.is_unsent = result.is_own && c->sent < c->out.len;
    result.code = code < RPC_CODE_COUNT ? (enum rpc_code)code : RPC_UNKNOWN;
    return result;
}

/* One gRPC call: a request, an answer, over a connection of its own to a Unix socket. Blocks: for the pool.
 *
 * A connection a call, as the reference system has it: calls are minutes apart, a connection to a Unix socket
 * costs little (docs/decisions/006-grpc.md), and nothing is shared between workers nor kept for a driver that
 * has been replaced.
 *
 * What the peer sends is bounded: a message by GRPC_MESSAGE_BYTES_MAX, headers by nghttp2, all of it by the
 * time limit. Failures read `rpc error: code = NAME desc = …`, and their codes say how things stand
 * (plugins/plugin.h): ERR_TIMEOUT and ERR_CANCELLED, it may still be going on, or be done; all others, it is
 * over. So an answer that is no gRPC, or none at all, is ERR_TIMEOUT, whoever is to blame. */
#ifndef BERTH_PLUGINS_CSI_GRPC_H
#define BERTH_PLUGINS_CSI_GRPC_H

#include "base/buf.h"
#include "base/error.h"
#include "host/remove.h"

#define GRPC_MESSAGE_BYTES_MAX ((size_t)16 << 20)
/* Of a peer's words; what is longer is cut. */
#define GRPC_WORDS_BYTES_MAX ERROR_MSG_BYTES_MAX

enum grpc_code {
    GRPC_OK,
    GRPC_CANCELLED,
    GRPC_UNKNOWN,
    GRPC_INVALID_ARGUMENT,
    GRPC_DEADLINE_EXCEEDED,
    GRPC_NOT_FOUND,
    GRPC_ALREADY_EXISTS,
    GRPC_PERMISSION_DENIED,
    GRPC_RESOURCE_EXHAUSTED,
    GRPC_FAILED_PRECONDITION,
    GRPC_ABORTED,
    GRPC_OUT_OF_RANGE,
    GRPC_UNIMPLEMENTED,
    GRPC_INTERNAL,
    GRPC_UNAVAILABLE,
    GRPC_DATA_LOSS,
    GRPC_UNAUTHENTICATED,
    GRPC_CODE_COUNT,
};

struct grpc_call {
    const char *socket;    /* its path */
    const char *method;    /* "/csi.v1.Node/NodeStageVolume" */
    uint64_t limit_ns;     /* from the first byte to the last */
    const host_stop *stop; /* NULL for none */
};

/* The answer's message replaces what is in *ret, an initialised buffer whose ceiling becomes
 * GRPC_MESSAGE_BYTES_MAX. */
int grpc_call(const struct grpc_call *c, struct str request, struct buf *ret, struct error *err);

/* The same without a peer: as if it had sent these bytes and no more. Pure; for those who try what peers can
 * send. */
int grpc_read(struct str sent, struct buf *ret, struct error *err);

/* -ERR_* of a status that is not OK, with the words as above. Unknown codes are UNKNOWN. Pure. */
int grpc_failure(uint64_t code, const char *words, struct error *err);

/* The words as they are sent: %25 is '%'. Into ret, cut at size. Pure. */
void grpc_unescape(struct str sent, char *ret, size_t size);

#endif

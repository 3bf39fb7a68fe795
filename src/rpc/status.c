/* The codes of gRPC, what they are called, and what they mean for whoever called. */
#include "rpc/rpc.h"

#include <assert.h>

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

int rpc_failure(uint64_t code, const char *words, struct error *err)
{
    size_t i = code < ARRAY_LEN(rpc_codes) ? (size_t)code : (size_t)RPC_UNKNOWN;

    assert(code != RPC_OK);
    return error_set(err, rpc_codes[i].err, "rpc error: code = %s desc = %s", rpc_codes[i].name, words);
}

/* The classes of gRPC codes: what a failed call of a CSI driver means for the operation that made it. One
 * table for all operations, with the rows in which they differ. */
#include "controllers/csi/csi_peer.h"

#include <assert.h>

/* For every method without a row of its own below. */
static const enum csi_outcome common_classes[RPC_CODE_COUNT] = {
    [RPC_OK] = CSI_DONE,
    [RPC_CANCELLED] = CSI_IN_PROGRESS,
    [RPC_UNKNOWN] = CSI_FINAL,
    [RPC_INVALID_ARGUMENT] = CSI_FINAL,
    [RPC_DEADLINE_EXCEEDED] = CSI_IN_PROGRESS,
    [RPC_NOT_FOUND] = CSI_FINAL,
    [RPC_ALREADY_EXISTS] = CSI_FINAL,
    [RPC_PERMISSION_DENIED] = CSI_FINAL,
    [RPC_RESOURCE_EXHAUSTED] = CSI_EXHAUSTED,
    [RPC_FAILED_PRECONDITION] = CSI_FINAL,
    [RPC_ABORTED] = CSI_IN_PROGRESS,
    [RPC_OUT_OF_RANGE] = CSI_FINAL,
    [RPC_UNIMPLEMENTED] = CSI_FINAL,
    [RPC_INTERNAL] = CSI_FINAL,
    [RPC_UNAVAILABLE] = CSI_IN_PROGRESS,
    [RPC_DATA_LOSS] = CSI_FINAL,
    [RPC_UNAUTHENTICATED] = CSI_FINAL,
};

static const struct {
    enum csi_controller_method method;
    enum rpc_code code;
} infeasible[] = {
    { CSI_CREATE_VOLUME, RPC_INVALID_ARGUMENT },     { CSI_CONTROLLER_EXPAND, RPC_INVALID_ARGUMENT },
    { CSI_CONTROLLER_EXPAND, RPC_OUT_OF_RANGE },     { CSI_CONTROLLER_EXPAND, RPC_NOT_FOUND },
    { CSI_CONTROLLER_MODIFY, RPC_INVALID_ARGUMENT },
};

const char *const csi_outcome_names[] = {
    [CSI_DONE] = "done",           [CSI_NOT_SENT] = "not sent",     [CSI_IN_PROGRESS] = "in progress",
    [CSI_EXHAUSTED] = "exhausted", [CSI_INFEASIBLE] = "infeasible", [CSI_FINAL] = "final",
};
static_assert(ARRAY_LEN(csi_outcome_names) == CSI_OUTCOME_COUNT, "name every outcome");

enum csi_outcome csi_error_class(enum csi_controller_method m, enum rpc_code code)
{
    assert((unsigned)code < RPC_CODE_COUNT);
    for (size_t i = 0; i < ARRAY_LEN(infeasible); i++)
        if (infeasible[i].method == m && infeasible[i].code == code)
            return CSI_INFEASIBLE;
    return common_classes[code];
}

/* The table of sizes: what was begun is finished first, unless the storage has refused it. */
#include "controllers/csi/csi_resize_plan.h"

/* The volume is smaller than requested. */
static bool decide_growth(const struct csi_resize_inputs *in, struct quantity *ret)
{
    const struct claim *c = in->claim;
    bool continues = false;

    switch ((enum resize_status)c->resize) {
    case RESIZE_NODE_INFEASIBLE:
        continues = c->has_allocated;
        break;
    case RESIZE_NODE_PENDING:
    case RESIZE_NODE_IN_PROGRESS:
        /* The node is not done with a size that the volume has. */
        if (c->has_allocated && quantity_cmp(&in->volume->capacity, &c->allocated) >= 0)
            return false;
        continues = c->has_allocated;
        break;
    case RESIZE_CONTROLLER_IN_PROGRESS:
        continues = c->has_allocated && !in->was_final;
        break;
    case RESIZE_NONE:
    case RESIZE_CONTROLLER_INFEASIBLE:
    case RESIZE_STATUS_COUNT:
        break;
    }
    *ret = continues ? c->allocated : c->request;
    return true;
}

/* The volume has the requested size: after a request that was made smaller again, or a lost write. */
static bool decide_recovery(const struct csi_resize_inputs *in, struct quantity *ret)
{
    const struct claim *c = in->claim;

    switch ((enum resize_status)c->resize) {
    case RESIZE_NODE_PENDING:
    case RESIZE_NODE_IN_PROGRESS:
        return false;
    case RESIZE_NODE_INFEASIBLE:
        *ret = in->expands_on_controller && c->has_allocated ? c->allocated : c->request;
        return true;
    case RESIZE_CONTROLLER_IN_PROGRESS:
    case RESIZE_CONTROLLER_INFEASIBLE:
        *ret = c->has_allocated ? c->allocated : c->request;
        return true;
    case RESIZE_NONE:
    case RESIZE_STATUS_COUNT:
        break;
    }
    if (!c->has_allocated &&
        condition_status(&c->conditions, CLAIM_FILE_SYSTEM_RESIZE_PENDING) == CONDITION_TRUE)
        return false;
    *ret = c->has_allocated ? c->allocated : c->request;
    return true;
}

bool csi_resize_decide(const struct csi_resize_inputs *in, struct quantity *ret)
{
    return quantity_cmp(&in->volume->capacity, &in->claim->request) < 0 ? decide_growth(in, ret)
                                                                        : decide_recovery(in, ret);
}

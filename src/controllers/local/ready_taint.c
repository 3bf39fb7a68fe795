/* Removes the taint that keeps pods off a node until its local volumes exist, after the first discovery. */
#include "controllers/local/local_int.h"

#include "api/json_out.h"
#include "base/log.h"
#include "machinery/merge_patch.h"

/* The node's other taints, unchanged. */
static int write_others(const struct object *node, const char *key, struct buf *body, struct error *err)
{
    _cleanup_(json_done_p) struct json d;
    json_ref root, taints;
    int r;

    json_init(&d, OBJECT_TEXT_BYTES_MAX);
    r = json_parse(&d, node->text, &root, err);
    if (r < 0)
        return r;
    taints = json_path(&d, root, "spec", "taints");
    json_out_object(body, NULL);
    json_out_array(body, "taints");
    for (json_ref t = json_first(&d, taints); t; t = json_next(&d, t)) {
        if (json_is_string(&d, json_get(&d, t, "key"), key))
            continue;
        json_out_key(body, NULL);
        json_write(&d, t, body);
    }
    json_out_end_array(body);
    json_out_end_object(body);
    return 0;
}

static enum api_decision decide_taints(void *ctx, const struct object *now, struct buf *body,
                                       struct error *err)
{
    const struct local *l = ctx;
    struct merge_patch p;

    if (!node_has_taint(node_of(now), l->o.config->ready_taint))
        return API_AS_IT_IS;
    merge_patch_begin(&p, body, now);
    merge_patch_member(&p, "spec");
    if (write_others(now, l->o.config->ready_taint, body, err) < 0)
        return API_REFUSE;
    return api_decision_of(merge_patch_end(&p, err));
}

static void on_written(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct local *l = ctx;

    if (!api_write_succeeded(outcome))
        log_warn("taint not removed", LOG_STR("taint", l->o.config->ready_taint), LOG_ERR(&a->error));
    l->is_untainted = api_write_succeeded(outcome); /* otherwise retried after the next pass */
}

void local_remove_taint(struct local *l)
{
    struct api_write_options o = { .api = l->api,
                                   .patience = API_FEW_FAST,
                                   .request = { .verb = CLIENT_PATCH,
                                                .kind = kind_info(KIND_NODE),
                                                .name = l->o.node_name,
                                                .patch = CLIENT_PATCH_MERGE },
                                   .decide = decide_taints,
                                   .step = API_STEP_TAINT,
                                   .done = on_written,
                                   .ctx = l };

    if (l->o.config->ready_taint && !l->is_untainted && !api_write_is_active(&l->untaint))
        api_write_start(&l->untaint, &o);
}

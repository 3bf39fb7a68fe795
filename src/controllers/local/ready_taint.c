/* A node may begin with a taint that keeps pods away until its local volumes are there: it goes after the
 * first discovery. */
#include "controllers/local/local_int.h"

#include "base/log.h"
#include "machinery/merge_patch.h"

/* The node's other taints, as they are. */
static int write_others(const struct object *node, const char *key, struct buf *body, struct error *err)
{
    _cleanup_(json_done_p) struct json d;
    json_ref root, taints;
    bool is_first = true;
    int r;

    json_init(&d, OBJECT_TEXT_BYTES_MAX);
    r = json_parse(&d, node->text, &root, err);
    if (r < 0)
        return r;
    taints = json_path(&d, root, "spec", "taints");
    buf_add_cstr(body, "{\"taints\":[");
    for (json_ref t = json_first(&d, taints); t; t = json_next(&d, t)) {
        if (json_is_string(&d, json_get(&d, t, "key"), key))
            continue;
        buf_add_cstr(body, is_first ? "" : ",");
        json_write(&d, t, body);
        is_first = false;
    }
    buf_add_cstr(body, "]}");
    return 0;
}

static enum write_verdict decide(void *ctx, const struct object *now, struct buf *body, struct error *err)
{
    const struct local *l = ctx;
    struct merge_patch p;

    if (!node_has_taint(node_of(now), l->o.config->ready_taint))
        return WRITE_ALREADY;
    merge_patch_begin(&p, body, now);
    merge_patch_member(&p, "spec");
    if (write_others(now, l->o.config->ready_taint, body, err) < 0)
        return WRITE_REFUSE;
    return merge_patch_end(&p, err) < 0 ? WRITE_REFUSE : WRITE_SEND;
}

static void on_written(void *ctx, const struct client_answer *a)
{
    struct local *l = ctx;

    if (a->r < 0)
        log_warn("taint not removed", LOG_STR("taint", l->o.config->ready_taint), LOG_ERR(&a->error));
    l->is_untainted = a->r == 0; /* else after the next pass */
}

void local_remove_taint(struct local *l)
{
    struct write_options o = { .client = l->o.part.client,
                               .loop = l->o.part.loop,
                               .rng = &l->rng,
                               .patience = WRITE_FEW_FAST,
                               .request = { .verb = CLIENT_PATCH,
                                            .kind = kind_info(KIND_NODE),
                                            .name = l->o.node_name,
                                            .patch = CLIENT_PATCH_MERGE,
                                            .field_manager = LOCAL_FIELD_MANAGER },
                               .decide = decide,
                               .done = on_written,
                               .ctx = l };

    if (l->o.config->ready_taint && !l->is_untainted && !write_is_active(&l->untaint))
        write_start(&l->untaint, &o);
}

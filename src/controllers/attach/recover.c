/* Restores the actual state at the start from Nodes and VolumeAttachments.
 *
 * A volume in a node's status is attached. A volume that only has a VolumeAttachment, or is in a node's
 * annotation, is uncertain: it was being attached or detached when the previous process ended. The time for
 * unmounting starts again. Objects that cannot be read are logged and skipped.
 *
 * A new leader's cache may be older than the last writes of the previous leader, and an exclusive volume that
 * it does not know to be attached would be attached to a second node. So both kinds are first listed from the
 * server, page by page, into the caches; no operation starts before that has succeeded. */
#include "controllers/attach/attach_int.h"

#include <string.h>

#include "base/log.h"
#include "base/mutant.h"

#define ANNOTATION_JSON_BYTES_MAX ((size_t)4 << 20)
#define PAGE_COUNT 500
#define LIST_RETRY_NS NS_PER_S

static void log_failure(const char *what, const char *name, const struct error *err)
{
    log_warn("cannot recover attached volumes", LOG_STR("kind", what), LOG_STR("name", name), LOG_ERR(err));
}

/* --- Nodes --- */

static int recover_volume(struct attach *a, const struct node *n, const struct attached_volume *v,
                          struct error *err)
{
    char *device = strdup(v->device_path);
    struct attach_pair *p = device ? attach_pair_get(a, v->name, n->obj.name) : NULL;

    if (!p) {
        free(device);
        return error_no_memory(err);
    }
    attach_state_set_attached(p, /* spec= */ NULL, device);
    return 0;
}

static int recover_uncertain(struct attach *a, const struct attach_node *n, struct str name,
                             struct error *err)
{
    _cleanup_(buf_done_p) struct buf volume = BUF_INIT(UNIQUE_NAME_BYTES_MAX);
    struct attach_pair *p;

    buf_add_str(&volume, name);
    if (buf_check(&volume, "volume", err) < 0)
        return -(int)err->code;
    p = attach_pair_get(a, buf_cstr(&volume), n->name);
    if (!p)
        return error_no_memory(err);
    if (p->state == PAIR_DETACHED) {
        attach_state_set_uncertain(p, /* spec= */ NULL);
        p->was_reported = true;
    }
    return 0;
}

/* Volumes that were being detached. The annotation is not trusted: any client that may write Nodes can set
 * it. */
static int recover_annotated(struct attach *a, struct attach_node *n, const char *text, struct error *err)
{
    _cleanup_(json_done_p) struct json d;
    json_ref list;
    int r;

    n->has_annotation = true;
    json_init(&d, ANNOTATION_JSON_BYTES_MAX);
    r = json_parse(&d, str_of(text), &list, err);
    for (json_ref v = r == 0 ? json_first(&d, list) : 0; v && r == 0; v = json_next(&d, v)) {
        struct str name = json_type(&d, v) == JSON_STRING ? json_text(&d, v) : STR_LIT("");

        if (name.len > 0 && !memchr(name.s, '\0', name.len))
            r = recover_uncertain(a, n, name, err);
    }
    return r;
}

static int recover_node(struct attach *a, const struct node *is, struct error *err)
{
    struct attach_node *n = attach_state_node_get(a, is->obj.name);
    const char *annotated = object_annotation(&is->obj, ANN_MAY_BE_ATTACHED);
    int r = 0;

    if (!n)
        return error_no_memory(err);
    n->exists = true;
    n->may_match = true;
    n->is_unwritten = true;
    n->may_have_stale_write = true; /* the previous process may have sent writes */
    for (uint32_t i = 0; i < is->volumes_attached_count && r == 0; i++)
        if (is->volumes_attached[i].name[0])
            r = recover_volume(a, is, &is->volumes_attached[i], err);
    if (r == 0 && annotated)
        r = recover_annotated(a, n, annotated, err);
    if (attach_state_set_in_use(n, is->volumes_in_use) < 0)
        r = error_no_memory(err);
    n->is_managed = object_annotation(&is->obj, ANN_CONTROLLER_ATTACHES) != NULL;
    return r;
}

/* This process writes the status before it detaches anything, and the first write ends this. */
void attach_recover_listed(struct attach *a, const struct attach_node *n, const struct node *is)
{
    struct error err;

    if (!n->is_unwritten)
        return;
    for (uint32_t i = 0; i < is->volumes_attached_count; i++) {
        const struct attached_volume *v = &is->volumes_attached[i];
        const struct attach_pair *p = v->name[0] ? attach_pair_get(a, v->name, n->name) : NULL;

        if (!p || p->state != PAIR_DETACHED || p->is_busy)
            continue;
        log_info("another process has attached a volume", LOG_STR("volume", v->name),
                 LOG_STR("node", n->name));
        if (recover_volume(a, is, v, &err) < 0)
            log_failure("Node", n->name, &err);
    }
}

/* --- Attachments --- */

static int recover_attachment(struct attach *a, const struct attachment *attachment, struct error *err)
{
    _cleanup_(buf_done_p) struct buf name = BUF_INIT(UNIQUE_NAME_BYTES_MAX);
    const struct object *o = informer_get(a->volumes, "", attachment->volume_name);
    _cleanup_(held_spec_clear_p) struct held_spec spec = { .holder = NULL };
    struct attach_pair *p;
    struct attacher_choice m = { 0 };
    int r;

    if (!o)
        return 0; /* the volume is unknown */
    (void)held_spec_set(&spec, o, /* of= */ NULL, /* is_read_only= */ false);
    r = held_spec_migrate(&spec, err);
    if (r == 0)
        r = attacher_select(a, &spec, attachment->node_name, &m, &name, err);
    if (r < 0 || !m.attacher)
        return r;
    p = attach_pair_get(a, buf_cstr(&name), attachment->node_name);
    if (!p)
        return error_no_memory(err);
    if (p->state == PAIR_DETACHED && !p->is_busy)
        attach_state_set_uncertain(p, &spec);
    return 0;
}

/* An attachment of an inline volume identifies the volume. It is detached unless its pod still exists. One
 * with another name was not created by an attach controller, and a detach would not find it. */
static int recover_inline(struct attach *a, const struct attachment *attachment, struct error *err)
{
    _cleanup_(buf_done_p) struct buf name = BUF_INIT(UNIQUE_NAME_BYTES_MAX);
    char made[CSI_NAME_BYTES];
    struct attach_pair *p;
    int r = csi_attachment_name(attachment->attacher, attachment->inline_handle, attachment->node_name, made,
                                err);

    if (r < 0 || strcmp(made, attachment->obj.name) != 0)
        return r;
    buf_addf(&name, CSI_PLUGIN "/%s^%s", attachment->attacher, attachment->inline_handle);
    r = buf_check(&name, "volume", err);
    if (r < 0)
        return r;
    p = attach_pair_get(a, buf_cstr(&name), attachment->node_name);
    if (!p)
        return error_no_memory(err);
    if (p->state == PAIR_DETACHED && !p->is_busy)
        attach_state_set_uncertain(p, /* spec= */ NULL);
    return 0;
}

/* Also called periodically: finds attachments whose create was given up without an answer and took effect
 * later. */
void attach_recover_attachments(struct attach *a)
{
    struct informer_cursor at;
    struct error err;

    for (const struct object *o = informer_first(a->attachments, &at); o; o = informer_next(&at)) {
        const struct attachment *attachment = (const struct attachment *)(const void *)o;
        int r = 0;

        if (!attachment->node_name[0])
            continue;
        if (attachment->volume_name[0] && !MUTANT("attach-forgets-attachments"))
            r = recover_attachment(a, attachment, &err);
        else if (attachment->inline_handle[0])
            r = recover_inline(a, attachment, &err);
        if (r < 0)
            log_failure("VolumeAttachment", o->name, &err);
    }
}

static void recover_all(struct attach *a)
{
    struct informer_cursor at;
    struct error err;

    for (const struct object *o = informer_first(a->nodes, &at); o; o = informer_next(&at))
        if (recover_node(a, node_of(o), &err) < 0)
            log_failure("Node", o->name, &err);
    attach_recover_attachments(a);
    attach_handlers_all_pods(a);
}

/* --- As the server has them now --- */

static const enum kind listed_kinds[] = { KIND_NODE, KIND_ATTACHMENT };

static void list_page(struct attach *a, const char *token);

static void on_page(void *ctx, enum api_outcome outcome, const struct client_answer *answer)
{
    struct attach *a = ctx;
    enum kind kind = listed_kinds[a->start.listed];

    for (size_t i = 0; outcome == API_DONE && i < answer->list.count && !MUTANT("attach-trusts-its-caches");
         i++)
        informer_observe(kind == KIND_NODE ? a->nodes : a->attachments, answer->list.items[i]);
    if (outcome == API_DONE && answer->list.continue_token[0]) {
        list_page(a, answer->list.continue_token);
    } else if (outcome != API_DONE &&
               answer->r != -ERR_NOT_FOUND) { /* not found: the server has no such kind */
        log_warn("cannot list what is attached, will retry", LOG_STR("kind", kind_info(kind)->plural),
                 LOG_ERR(&answer->error));
        timer_arm_after(&a->start.retry, LIST_RETRY_NS);
    } else if (++a->start.listed < ARRAY_LEN(listed_kinds)) {
        list_page(a, /* token= */ NULL);
    } else {
        recover_all(a);
        a->start.done(a);
    }
}

/* Without a version: not from a cache of the server. */
static void list_page(struct attach *a, const char *token)
{
    struct api_write_options o = { .api = a->api,
                                   .request = { .verb = CLIENT_LIST,
                                                .kind = kind_info(listed_kinds[a->start.listed]),
                                                .limit = PAGE_COUNT,
                                                .continue_token = token },
                                   .done = on_page,
                                   .ctx = a };

    api_write_start(&a->start.read, &o);
}

static void on_retry(void *ctx)
{
    list_page(ctx, /* token= */ NULL);
}

void attach_recover(struct attach *a, void (*done)(struct attach *a))
{
    a->start.done = done;
    timer_init(&a->start.retry, a->o.part.loop, on_retry, a);
    list_page(a, /* token= */ NULL);
}

void attach_recover_stop(struct attach *a)
{
    api_write_cancel(&a->start.read);
    timer_disarm(&a->start.retry);
}

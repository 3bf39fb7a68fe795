/* At the start: what is attached, as nodes and VolumeAttachments tell it.
 *
 * What a node's status lists is attached. What has a VolumeAttachment and is in no status may be, and so may
 * what a node's annotation remembers: it was on its way when the last process ended, in one direction or the
 * other. Waits for nodes to unmount begin anew.
 * Whatever cannot be read here is logged and passed over. */
#include "controllers/attach/attach_int.h"

#include <string.h>

#include "base/log.h"
#include "base/mutant.h"

#define REMEMBERED_JSON_BYTES_MAX ((size_t)4 << 20)

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

/* Volumes that were being detached. Whoever may write nodes may write this. */
static int recover_annotated(struct attach *a, struct attach_node *n, const char *text, struct error *err)
{
    _cleanup_(json_done_p) struct json d;
    json_ref list;
    int r;

    n->has_annotation = true;
    json_init(&d, REMEMBERED_JSON_BYTES_MAX);
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
    const char *remembered = object_annotation(&is->obj, ANN_MAY_BE_ATTACHED);
    int r = 0;

    if (!n)
        return error_no_memory(err);
    n->exists = true;
    n->may_match = true;
    n->is_inherited = true;
    n->may_have_stale_write = true; /* the process before may have sent something */
    for (uint32_t i = 0; i < is->volumes_attached_count && r == 0; i++)
        if (is->volumes_attached[i].name[0])
            r = recover_volume(a, is, &is->volumes_attached[i], err);
    if (r == 0 && remembered)
        r = recover_annotated(a, n, remembered, err);
    if (attach_state_set_in_use(n, is->volumes_in_use) < 0)
        r = error_no_memory(err);
    n->is_managed = object_annotation(&is->obj, ANN_CONTROLLER_ATTACHES) != NULL;
    return r;
}

/* Whatever this process detaches it has written about before, and then nothing is inherited any more. */
void attach_recover_listed(struct attach *a, const struct attach_node *n, const struct node *is)
{
    struct error err;

    if (!n->is_inherited || MUTANT("attach-forgets-the-last-leader"))
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
        return 0; /* nobody knows what it was */
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

/* One for a pod's own volume says all that is to be known: which it is. It is detached unless the pod is
 * still there. One of another name was not made by an attach controller, and would not be found to be
 * deleted. */
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

/* Also now and then later: one whose making was given up on, and arrived all the same, is to be found. */
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

void attach_recover(struct attach *a)
{
    struct informer_cursor at;
    struct error err;

    for (const struct object *o = informer_first(a->nodes, &at); o; o = informer_next(&at))
        if (recover_node(a, node_of(o), &err) < 0)
            log_failure("Node", o->name, &err);
    attach_recover_attachments(a);
    attach_handlers_all_pods(a);
}

/* A node's agent, as a model: it follows the protocol of nodes to the letter and does nothing else.
 *
 * A volume that a pod wants is listed as in use, and the server has said so, before anything looks whether it
 * is listed as attached; only then it is mounted. It stays listed until it is unmounted and nobody wants it.
 * After a restart nothing is written before it is known what is mounted. Every status is written on the
 * version that it was decided on and changes something, so that one that comes late is refused.
 *
 * What happens to its pods it sees at the server when something there concerns it, some time later; while it
 * is cut off it sees nothing. */
#include "sim/scenario_attach.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_out.h"
#include "machinery/merge_patch.h"
#include "machinery/write.h"

#define LOOK_NS (2 * NS_PER_S)
#define AGAIN_NS (5 * NS_PER_S)
#define BEAT_NS (60 * NS_PER_S)
#define OP_NS (30 * NS_PER_S)
#define BODY_BYTES 2048

enum slot_state { SLOT_IDLE, SLOT_MOUNTING, SLOT_MOUNTED, SLOT_UNMOUNTING, SLOT_UNCERTAIN, SLOT_STATE_COUNT };

struct slot {
    struct agent *agent;
    unsigned volume;
    enum slot_state state;
    bool is_wanted;
    bool is_sent;      /* as in use, in the status that was written last */
    bool is_listed;    /* as in use, as the server has said */
    bool is_permitted; /* … and after that it was attached */
    struct host_op *op;
    struct timer limit;
};

struct agent {
    struct site_node *node;
    struct sim_process *process;
    struct rng rng;
    struct timer look;
    struct timer beat;
    struct api_write write;
    struct client_call call; /* of everything else */
    bool knows_mounts;
    bool is_due; /* a status, whatever it says */
    bool has_looked;
    unsigned beats;
    struct slot slots[SITE_VOLUMES];
};

static void look_soon(struct agent *g)
{
    uint64_t at_ns = loop_now_ns(g->process->loop) + rng_below(&g->rng, LOOK_NS);

    if (!timer_is_armed(&g->look) || g->look.node.at_ns > at_ns)
        timer_arm(&g->look, at_ns);
}

void site_agent_poke(struct site_node *n)
{
    if (n->process->state)
        look_soon(n->process->state);
}

static bool is_in_use(const struct slot *s)
{
    return s->is_wanted || s->state != SLOT_IDLE;
}

/* --- Mounting --- */

static void on_op_end(void *ctx, int r, const struct error *err)
{
    struct slot *s = ctx;

    (void)err;
    s->op = NULL;
    timer_disarm(&s->limit);
    if (r < 0)
        s->state = SLOT_UNCERTAIN;
    else
        s->state = s->state == SLOT_MOUNTING ? SLOT_MOUNTED : SLOT_IDLE;
    look_soon(s->agent);
}

static void on_op_limit(void *ctx)
{
    struct slot *s = ctx;

    host_cancel(s->op);
}

static void begin_op(struct slot *s, const char *what, enum slot_state state)
{
    struct sim_process *p = s->agent->process;
    char name[SITE_NAME_BYTES];

    site_name_op(s->agent->node->site, s->agent->node->number, s->volume, name);
    s->state = state;
    timer_arm_after(&s->limit, OP_NS);
    s->op = host_start(&p->sim->host, p, what, name, on_op_end, s);
}

static void step_slot(struct slot *s)
{
    if (s->state == SLOT_IDLE && s->is_wanted && s->is_listed && s->is_permitted)
        begin_op(s, SITE_MOUNT, SLOT_MOUNTING);
    else if (s->state == SLOT_UNCERTAIN || (s->state == SLOT_MOUNTED && !s->is_wanted))
        begin_op(s, SITE_UNMOUNT, SLOT_UNMOUNTING);
    if (s->state == SLOT_UNMOUNTING)
        s->is_permitted = false; /* to be asked anew */
}

/* --- The Node --- */

static void write_in_use(struct agent *g, struct buf *out)
{
    char name[SITE_NAME_BYTES];

    json_out_object(out, NULL);
    json_out_array(out, "conditions");
    json_out_object(out, NULL);
    json_out_text(out, "type", "Ready");
    json_out_text(out, "status", "True");
    json_out_text(out, "reason", "Beat");
    json_out_textf(out, "message", "%u-%u", g->process->starts, ++g->beats);
    json_out_end_object(out);
    json_out_end_array(out);
    json_out_array(out, "volumesInUse");
    for (unsigned v = 0; v < SITE_VOLUMES; v++) {
        struct slot *s = &g->slots[v];

        s->is_sent = is_in_use(s);
        s->is_listed = s->is_listed && s->is_sent;
        s->is_permitted = s->is_permitted && s->is_listed;
        site_unique_name(v, name);
        if (s->is_sent)
            json_out_text(out, NULL, name);
    }
    json_out_end_array(out);
    json_out_end_object(out);
}

/* What the server has, read after the lists were acknowledged. */
static void see_attached(struct agent *g, const struct node *n)
{
    char name[SITE_NAME_BYTES];

    for (unsigned v = 0; v < SITE_VOLUMES; v++) {
        struct slot *s = &g->slots[v];

        site_unique_name(v, name);
        s->is_permitted = s->is_listed && node_attached_volume(n, name);
    }
}

static void forget_lists(struct agent *g)
{
    for (unsigned v = 0; v < SITE_VOLUMES; v++)
        g->slots[v].is_listed = g->slots[v].is_permitted = false;
}

static void on_created(void *ctx, const struct client_answer *a)
{
    struct agent *g = ctx;

    (void)a; /* the next status tells */
    g->is_due = true;
    look_soon(g);
}

static void create_node(struct agent *g)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(BODY_BYTES);
    struct client_request q = { .verb = CLIENT_CREATE, .kind = kind_info(KIND_NODE) };
    unsigned n = g->node->number;

    forget_lists(g);
    json_out_object(&body, NULL);
    json_out_text(&body, "apiVersion", "v1");
    json_out_text(&body, "kind", "Node");
    json_out_object(&body, "metadata");
    json_out_textf(&body, "name", "n%u", n);
    json_out_object(&body, "labels");
    json_out_textf(&body, "kubernetes.io/hostname", "n%u", n);
    json_out_end_object(&body);
    json_out_object(&body, "annotations");
    json_out_text(&body, ANN_CONTROLLER_ATTACHES, "true");
    json_out_end_object(&body);
    json_out_end_object(&body);
    json_out_raw(&body, "spec", STR_LIT("{}"));
    json_out_key(&body, "status");
    write_in_use(g, &body);
    json_out_end_object(&body);
    q.body = buf_str(&body);
    client_send(g->process->client, &g->call, &q, on_created, g);
}

static enum api_verdict decide_status(void *ctx, const struct object *now, struct buf *body,
                                      struct error *err)
{
    struct agent *g = ctx;
    struct merge_patch p;

    merge_patch_begin(&p, body, now);
    merge_patch_member(&p, "status");
    write_in_use(g, body);
    return merge_patch_end(&p, err) < 0 ? API_REFUSE : API_SEND;
}

static void on_status(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct agent *g = ctx;

    look_soon(g);
    if (a->r == -ERR_NOT_FOUND) {
        create_node(g);
    } else if (!api_went_well(outcome)) {
        g->is_due = true;
        timer_arm_after(&g->look, AGAIN_NS);
    } else {
        g->is_due = false;
        for (unsigned v = 0; v < SITE_VOLUMES; v++)
            g->slots[v].is_listed = g->slots[v].is_sent;
        see_attached(g, node_of(a->object));
        timer_arm_after(&g->beat, BEAT_NS);
    }
}

static void write_status(struct agent *g)
{
    struct api_write_options o = {
        .api = { .client = g->process->client, .loop = g->process->loop, .rng = &g->rng },
        .patience = API_FEW_FAST,
        .request = { .verb = CLIENT_PATCH,
                     .kind = kind_info(KIND_NODE),
                     .name = g->process->program->name,
                     .subresource = "status",
                     .patch = CLIENT_PATCH_MERGE },
        .decide = decide_status,
        .done = on_status,
        .ctx = g
    };

    api_write_start(&g->write, &o);
}

static void on_got(void *ctx, const struct client_answer *a)
{
    struct agent *g = ctx;

    if (a->r == 0)
        see_attached(g, node_of(a->object));
    else if (a->r == -ERR_NOT_FOUND)
        g->is_due = true;
    if (a->r < 0)
        timer_arm_after(&g->look, AGAIN_NS);
    else
        look_soon(g);
    g->has_looked = true;
}

static void read_node(struct agent *g)
{
    struct client_request q = { .verb = CLIENT_GET,
                                .kind = kind_info(KIND_NODE),
                                .name = g->process->program->name };

    client_send(g->process->client, &g->call, &q, on_got, g);
}

/* --- Pods that go --- */

struct goodbye {
    struct agent *agent;
    const struct pod *pod;
};

/* Its volumes are unmounted, or others use them. */
static bool find_gone(void *ctx, const struct object *o)
{
    struct goodbye *b = ctx;
    const struct pod *p = pod_of(o);
    unsigned volumes = site_volumes_of(b->agent->node->site, p, b->agent->node->number);

    if (!o->is_deleting || strcmp(p->node_name, b->agent->process->program->name) != 0)
        return true;
    for (unsigned v = 0; v < SITE_VOLUMES; v++)
        if ((volumes & (1U << v)) && !b->agent->slots[v].is_wanted && b->agent->slots[v].state != SLOT_IDLE)
            return true;
    b->pod = p;
    return false;
}

static void on_deleted(void *ctx, const struct client_answer *a)
{
    (void)a;
    look_soon(ctx);
}

/* True when there was one to be taken leave of. */
static bool end_pod(struct agent *g)
{
    struct goodbye b = { .agent = g };
    struct client_request q = { .verb = CLIENT_DELETE, .kind = kind_info(KIND_POD), .has_grace = true };

    if (objects_each(g->process->sim, KIND_POD, find_gone, &b))
        return false;
    q.ns = b.pod->obj.ns;
    q.name = b.pod->obj.name;
    q.if_uid = b.pod->obj.uid;
    client_send(g->process->client, &g->call, &q, on_deleted, g);
    return true;
}

/* --- Looking --- */

static void learn_mounts(struct agent *g)
{
    g->knows_mounts = true;
    for (unsigned v = 0; v < SITE_VOLUMES; v++)
        g->slots[v].state = g->node->disks[v].is_mounted ? SLOT_MOUNTED : SLOT_IDLE;
}

static bool must_write(const struct agent *g)
{
    const struct node *n = site_stored_node(g->node->site, g->node->number);

    for (unsigned v = 0; v < SITE_VOLUMES; v++)
        if (is_in_use(&g->slots[v]) != g->slots[v].is_listed)
            return true;
    return g->is_due || !n || !node_is_ready(n);
}

static bool waits_for_attach(const struct agent *g)
{
    for (unsigned v = 0; v < SITE_VOLUMES; v++) {
        const struct slot *s = &g->slots[v];

        if (s->is_wanted && s->state == SLOT_IDLE && !s->is_permitted)
            return true;
    }
    return false;
}

static void ask_server(struct agent *g)
{
    if (api_write_is_active(&g->write) || client_call_is_active(&g->call))
        return; /* its end looks again */
    if (must_write(g))
        write_status(g);
    else if (!end_pod(g) && waits_for_attach(g) && !g->has_looked)
        read_node(g);
    g->has_looked = false;
}

static void on_look(void *ctx)
{
    struct agent *g = ctx;
    struct sim *s = g->process->sim;
    unsigned wanted;

    if (!s->server.api || g->process->rejoins_ns > s->now_ns) {
        timer_arm_after(&g->look, AGAIN_NS);
        return;
    }
    if (!g->knows_mounts)
        learn_mounts(g);
    wanted = site_wanted(g->node->site, g->node->number);
    for (unsigned v = 0; v < SITE_VOLUMES; v++) {
        g->slots[v].is_wanted = (wanted >> v) & 1;
        step_slot(&g->slots[v]);
    }
    ask_server(g);
}

static void on_beat(void *ctx)
{
    struct agent *g = ctx;

    g->is_due = true;
    look_soon(g);
    timer_arm_after(&g->beat, BEAT_NS);
}

/* --- Life --- */

static void *agent_start(struct sim_process *p, void *ctx)
{
    struct agent *g = sim_alloc(sizeof *g);

    g->node = ctx;
    g->node->process = p;
    g->process = p;
    g->is_due = true;
    rng_init(&g->rng, p->seed);
    timer_init(&g->look, p->loop, on_look, g);
    timer_init(&g->beat, p->loop, on_beat, g);
    for (unsigned v = 0; v < SITE_VOLUMES; v++) {
        g->slots[v] = (struct slot){ .agent = g, .volume = v };
        timer_init(&g->slots[v].limit, p->loop, on_op_limit, &g->slots[v]);
    }
    site_node_starts(g->node);
    look_soon(g);
    return g;
}

static void agent_kill(void *state)
{
    struct agent *g = state;

    timer_disarm(&g->look);
    timer_disarm(&g->beat);
    for (unsigned v = 0; v < SITE_VOLUMES; v++)
        timer_disarm(&g->slots[v].limit);
    api_write_cancel(&g->write);
    client_cancel(&g->call);
    free(g);
}

const struct sim_program site_agent_programs[SITE_NODES] = { { "n0", agent_start, agent_kill },
                                                             { "n1", agent_start, agent_kill },
                                                             { "n2", agent_start, agent_kill } };

int site_agent_settled(const void *state, struct error *err)
{
    const struct agent *g = state;

    for (unsigned v = 0; v < SITE_VOLUMES; v++)
        if (g->slots[v].op || is_in_use(&g->slots[v]) != g->slots[v].is_listed)
            return error_set(err, ERR_INTERNAL, "%s is at work on v%u", g->process->program->name, v);
    return 0;
}

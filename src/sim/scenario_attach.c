/* Attach: pods with volumes of a CSI driver come, go and move; controllers, an external attacher and agents
 * of nodes see to them, each in a process of its own. Nodes die, come back, lose their network. Whatever goes
 * wrong, no volume is detached under a node that has it mounted or is about to, nothing is mounted that is
 * not attached, and no exclusive volume is given to a second node, unless somebody was entitled to force it;
 * in the end what is wanted is mounted, and nothing is left of what is not. */
#include "sim/scenario_attach.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/attachment.h"

/* What controllers know of a node may be as old as this. */
#define BEHIND_NS (300 * NS_PER_S)
/* Far less than a node has to unmount: whoever counts may count from something else. */
#define PATIENCE_NS (120 * NS_PER_S)

/* --- Names --- */

bool site_number(const char *name, char prefix, unsigned count, unsigned *ret)
{
    if (name[0] != prefix || name[1] < '0' || name[1] >= (char)('0' + count) || name[2])
        return false;
    *ret = (unsigned)(name[1] - '0');
    return true;
}

void site_unique_name(unsigned volume, char to[static SITE_NAME_BYTES])
{
    (void)snprintf(to, SITE_NAME_BYTES, SITE_UNIQUE "%u", volume);
}

void site_name_op(struct site *x, unsigned node, unsigned volume, char to[static SITE_NAME_BYTES])
{
    (void)snprintf(to, SITE_NAME_BYTES, "%u n%u v%u", ++x->serials, node, volume);
}

/* --- Looking --- */

const struct node *site_stored_node(const struct site *x, unsigned node)
{
    char name[8];
    const struct object *o;

    (void)snprintf(name, sizeof name, "n%u", node);
    o = store_get(x->sim->server.store, KIND_NODE, "", name);
    return o ? node_of(o) : NULL;
}

static bool volume_of_claim_is(const struct site *x, const char *claim, unsigned *ret)
{
    const struct object *o = store_get(x->sim->server.store, KIND_CLAIM, OBJECTS_NS, claim);

    return o && claim_of(o)->phase == CLAIM_BOUND &&
           site_number(claim_of(o)->volume_name, 'v', SITE_VOLUMES, ret);
}

unsigned site_volumes_of(const struct site *x, const struct pod *p, unsigned node)
{
    unsigned number, volume, bits = 0;

    if (!site_number(p->node_name, 'n', SITE_NODES, &number) || number != node)
        return 0;
    for (uint32_t i = 0; i < p->volumes.count; i++)
        if (p->volumes.items[i].type == POD_VOLUME_CLAIM &&
            volume_of_claim_is(x, p->volumes.items[i].claim_name, &volume))
            bits |= 1U << volume;
    return bits;
}

struct wanting {
    const struct site *site;
    unsigned node;
    unsigned bits;
};

static bool add_wanted(void *ctx, const struct object *o)
{
    struct wanting *w = ctx;

    if (!o->is_deleting)
        w->bits |= site_volumes_of(w->site, pod_of(o), w->node);
    return true;
}

unsigned site_wanted(const struct site *x, unsigned node)
{
    struct wanting w = { x, node, 0 };

    (void)objects_each(x->sim, KIND_POD, add_wanted, &w);
    return w.bits;
}

/* --- The truth --- */

void site_node_starts(struct site_node *n)
{
    n->is_down = false;
    n->silent_ns = 0;
    for (unsigned v = 0; v < SITE_VOLUMES; v++) {
        n->disks[v].is_mounting = false;
        n->disks[v].mount_serial = ++n->site->serials;
    }
}

void site_node_dies(struct site_node *n, uint64_t until_ns)
{
    sim_trace(n->site->sim, "n%u dies", n->number);
    sim_halt(n->process, until_ns);
    n->is_down = true;
    for (unsigned v = 0; v < SITE_VOLUMES; v++) {
        n->disks[v].is_mounted = n->disks[v].is_mounting = false;
        n->disks[v].mount_serial = ++n->site->serials;
    }
}

/* Of "SERIAL nN vV". */
static struct site_disk *disk_of(struct site *x, const char *name, unsigned *serial, unsigned *node,
                                 unsigned *volume)
{
    struct str rest = str_of(name), first = str_next(&rest, ' '), second = str_next(&rest, ' ');

    *serial = (unsigned)strtoul(first.s, NULL, 10);
    *node = (unsigned)(second.s[1] - '0');
    *volume = (unsigned)(rest.s[1] - '0');
    assert(*node < SITE_NODES && *volume < SITE_VOLUMES);
    return &x->nodes[*node].disks[*volume];
}

static void on_begin(void *ctx, const char *what, const char *name)
{
    unsigned serial, node, volume;
    struct site_disk *d = disk_of(ctx, name, &serial, &node, &volume);

    if (strcmp(what, SITE_ATTACH) == 0 || strcmp(what, SITE_DETACH) == 0) {
        d->cloud_serial = serial;
    } else {
        d->mount_serial = serial;
        d->is_mounting = strcmp(what, SITE_MOUNT) == 0;
    }
}

bool site_is_refused(const struct site *x, unsigned node, unsigned volume)
{
    for (unsigned n = 0; n < SITE_NODES; n++)
        if (n != node && site_is_exclusive(volume) && x->nodes[n].disks[volume].is_attached)
            return true;
    return false;
}

static void attach_disk(struct site *x, unsigned node, unsigned volume)
{
    if (!site_is_refused(x, node, volume))
        x->nodes[node].disks[volume].is_attached = true;
}

static void detach_disk(struct site *x, unsigned node, unsigned volume)
{
    struct site_disk *d = &x->nodes[node].disks[volume];

    if ((d->is_mounted || d->is_mounting) && !x->nodes[node].is_down && !d->is_excused)
        sim_fail(x->sim, "v%u is detached from n%u, which %s it", volume, node,
                 d->is_mounted ? "has mounted" : "is about to mount");
    d->is_attached = false;
}

static void mount_disk(struct site *x, unsigned node, unsigned volume)
{
    struct site_disk *d = &x->nodes[node].disks[volume];

    if (!d->is_attached && !d->is_excused)
        sim_fail(x->sim, "n%u mounts v%u, which is not attached to it", node, volume);
    for (unsigned n = 0; n < SITE_NODES; n++)
        if (n != node && site_is_exclusive(volume) && x->nodes[n].disks[volume].is_mounted &&
            !x->nodes[n].disks[volume].is_excused && !d->is_excused)
            sim_fail(x->sim, "n%u mounts v%u, which n%u has mounted", node, volume, n);
    d->is_mounting = false;
    d->is_mounted = true;
}

static void on_effect(void *ctx, const char *what, const char *name)
{
    struct site *x = ctx;
    unsigned serial, node, volume;
    struct site_disk *d = disk_of(x, name, &serial, &node, &volume);
    bool is_cloud = strcmp(what, SITE_ATTACH) == 0 || strcmp(what, SITE_DETACH) == 0;

    if (serial != (is_cloud ? d->cloud_serial : d->mount_serial))
        return; /* something newer has begun */
    if (strcmp(what, SITE_ATTACH) == 0)
        attach_disk(x, node, volume);
    else if (strcmp(what, SITE_DETACH) == 0)
        detach_disk(x, node, volume);
    else if (strcmp(what, SITE_MOUNT) == 0)
        mount_disk(x, node, volume);
    else
        d->is_mounted = d->is_mounting = false;
}

/* --- What the controllers send --- */

static bool is_recent(const struct site *x, uint64_t at_ns)
{
    return at_ns > 0 && (at_ns >= x->sim->now_ns || x->sim->now_ns - at_ns <= BEHIND_NS);
}

/* Somebody says that the node is off; or it does not answer, and had time enough. */
static bool may_force(const struct site *x, unsigned node, unsigned volume)
{
    const struct site_node *n = &x->nodes[node];
    const struct site_disk *d = &n->disks[volume];

    if (is_recent(x, n->tainted_ns))
        return true;
    if (!is_recent(x, n->unready_ns))
        return false;
    if (!d->is_wanted && x->sim->now_ns - d->unwanted_ns >= PATIENCE_NS)
        return true;
    return d->waited_ns >= PATIENCE_NS && is_recent(x, d->waited_to_ns);
}

static const struct attachment *stored_attachment(const struct site *x, const char *name)
{
    const struct object *o = store_get(x->sim->server.store, KIND_ATTACHMENT, "", name);

    return (const struct attachment *)(const void *)o;
}

static bool numbers_of(const struct attachment *a, unsigned *node, unsigned *volume)
{
    return site_number(a->node_name, 'n', SITE_NODES, node) &&
           site_number(a->volume_name, 'v', SITE_VOLUMES, volume);
}

static void see_delete(struct site *x, const struct client_request *q)
{
    const struct attachment *a = stored_attachment(x, q->name);
    unsigned node, volume;

    if (a && numbers_of(a, &node, &volume) && may_force(x, node, volume))
        x->nodes[node].disks[volume].is_excused = true;
}

struct search {
    struct site *site;
    unsigned node;
    unsigned volume;
    const struct attachment *found;
};

static bool find_attachment(void *ctx, const struct object *o)
{
    struct search *s = ctx;
    const struct attachment *a = (const struct attachment *)(const void *)o;
    unsigned node, volume;

    if (numbers_of(a, &node, &volume) && node == s->node && volume == s->volume)
        s->found = a;
    return !s->found;
}

static const struct attachment *attachment_of(struct site *x, unsigned node, unsigned volume)
{
    struct search s = { x, node, volume, NULL };

    (void)objects_each(x->sim, KIND_ATTACHMENT, find_attachment, &s);
    return s.found;
}

/* These controllers themselves told another node that it has the volume, and it has. */
static bool is_given_away(struct site *x, unsigned node, unsigned volume)
{
    const struct node *n = site_stored_node(x, node);
    const struct attachment *a = attachment_of(x, node, volume);
    char name[SITE_NAME_BYTES];

    site_unique_name(volume, name);
    return x->nodes[node].disks[volume].told == x->plane->starts && n && node_attached_volume(n, name) && a &&
           a->is_attached && !a->obj.is_deleting;
}

static void see_create(struct site *x, struct str body)
{
    static const char node_is[] = "\"nodeName\":\"n", volume_is[] = "\"persistentVolumeName\":\"v";
    unsigned node, volume;
    char text[1024];
    const char *at_node, *at_volume;

    (void)snprintf(text, sizeof text, "%.*s", STR_ARG(body));
    at_node = strstr(text, node_is);
    at_volume = strstr(text, volume_is);
    if (!at_node || !at_volume)
        abort();
    node = (unsigned)(at_node[strlen(node_is)] - '0');
    volume = (unsigned)(at_volume[strlen(volume_is)] - '0');
    for (unsigned n = 0; n < SITE_NODES; n++)
        if (n != node && site_is_exclusive(volume) && is_given_away(x, n, volume))
            sim_fail(x->sim, "v%u is to be attached to n%u, and n%u has it", volume, node, n);
}

/* Which volumes a node is told that it has. */
static void see_report(struct site *x, const struct client_request *q)
{
    unsigned node;
    char text[2048], name[SITE_NAME_BYTES + 2], unique[SITE_NAME_BYTES];

    (void)snprintf(text, sizeof text, "%.*s", STR_ARG(q->body));
    if (!site_number(q->name, 'n', SITE_NODES, &node) || !strstr(text, "volumesAttached"))
        return;
    for (unsigned v = 0; v < SITE_VOLUMES; v++) {
        site_unique_name(v, unique);
        (void)snprintf(name, sizeof name, "\"%s\"", unique);
        if (strstr(text, name))
            x->nodes[node].disks[v].told = x->plane->starts;
    }
}

static void on_send(void *ctx, const struct sim_process *p, unsigned id, const struct client_request *q)
{
    struct site *x = ctx;
    enum kind k = q->kind ? q->kind->kind : KIND_COUNT;

    (void)id;
    if (p != x->plane)
        return;
    if (k == KIND_ATTACHMENT && q->verb == CLIENT_DELETE)
        see_delete(x, q);
    else if (k == KIND_ATTACHMENT && q->verb == CLIENT_CREATE)
        see_create(x, q->body);
    else if (k == KIND_NODE && q->verb == CLIENT_PATCH)
        see_report(x, q);
}

/* --- What the server has --- */

static void note_moment(bool is_so, uint64_t now_ns, uint64_t *at_ns)
{
    if (is_so)
        *at_ns = UINT64_MAX;
    else if (*at_ns == UINT64_MAX)
        *at_ns = now_ns;
}

static void note_node(struct site *x, const struct store_event *ev)
{
    const struct node *n = node_of(ev->object);
    uint64_t now_ns = x->sim->now_ns;
    unsigned node;

    if (!site_number(ev->object->name, 'n', SITE_NODES, &node))
        return;
    note_moment(ev->is_delete || !node_is_ready(n), now_ns, &x->nodes[node].unready_ns);
    note_moment(!ev->is_delete && node_has_taint(n, TAINT_OUT_OF_SERVICE), now_ns,
                &x->nodes[node].tainted_ns);
    site_agent_poke(&x->nodes[node]);
}

/* Bits that pods want: those that go count until their containers are off, which is at once here. */
static void note_wishes(struct site *x)
{
    uint64_t now_ns = x->sim->now_ns;

    for (unsigned n = 0; n < SITE_NODES; n++) {
        unsigned bits = site_wanted(x, n);

        for (unsigned v = 0; v < SITE_VOLUMES; v++) {
            struct site_disk *d = &x->nodes[n].disks[v];
            bool is_wanted = (bits >> v) & 1;

            if (is_wanted && !d->is_wanted) {
                d->waited_ns = now_ns - d->unwanted_ns;
                d->waited_to_ns = now_ns;
            } else if (!is_wanted && d->is_wanted) {
                d->unwanted_ns = now_ns;
            }
            d->is_wanted = is_wanted;
        }
    }
}

static void on_event(void *ctx, const struct store_event *ev)
{
    struct site *x = ctx;
    const struct attachment *a = (const struct attachment *)(const void *)ev->object;
    unsigned node, volume;
    enum kind k = ev->object->kind->kind;

    if (k == KIND_NODE)
        note_node(x, ev);
    else if (k == KIND_POD && site_number(pod_of(ev->object)->node_name, 'n', SITE_NODES, &node))
        site_agent_poke(&x->nodes[node]);
    else if (k == KIND_ATTACHMENT && !ev->old && !ev->is_delete && numbers_of(a, &node, &volume))
        x->nodes[node].disks[volume].is_excused = false; /* a new one: nobody has forced anything */
}

/* --- In the end --- */

static bool says_attached(const struct site *x, unsigned node, unsigned volume)
{
    const struct node *n = site_stored_node(x, node);
    char name[SITE_NAME_BYTES];

    site_unique_name(volume, name);
    return n && node_attached_volume(n, name);
}

static int settled_wanted(struct site *x, unsigned node, unsigned volume, struct error *err)
{
    const struct site_disk *d = &x->nodes[node].disks[volume];
    const struct attachment *a = attachment_of(x, node, volume);

    for (unsigned n = 0; n < SITE_NODES; n++)
        if (n != node && site_is_exclusive(volume) && x->nodes[n].disks[volume].is_wanted &&
            x->nodes[n].disks[volume].is_mounted)
            return 0; /* another one was first */
    if (!a || !a->is_attached)
        return error_set(err, ERR_INTERNAL, "n%u wants v%u, and there is no attachment", node, volume);
    if (!d->is_attached)
        return error_set(err, ERR_INTERNAL, "n%u wants v%u, and it is not attached", node, volume);
    if (!says_attached(x, node, volume))
        return error_set(err, ERR_INTERNAL, "n%u wants v%u, and is not told that it has it", node, volume);
    if (!d->is_mounted)
        return error_set(err, ERR_INTERNAL, "n%u wants v%u, and has not mounted it", node, volume);
    return 0;
}

static int settled_unwanted(struct site *x, unsigned node, unsigned volume, struct error *err)
{
    const struct site_disk *d = &x->nodes[node].disks[volume];

    if (d->is_mounted)
        return error_set(err, ERR_INTERNAL, "nobody wants v%u on n%u, and it is mounted", volume, node);
    if (attachment_of(x, node, volume))
        return error_set(err, ERR_INTERNAL, "nobody wants v%u on n%u, and its attachment is there", volume,
                         node);
    if (d->is_attached)
        return error_set(err, ERR_INTERNAL, "nobody wants v%u on n%u, and it is attached", volume, node);
    if (says_attached(x, node, volume))
        return error_set(err, ERR_INTERNAL, "nobody wants v%u on n%u, which is told that it has it", volume,
                         node);
    return 0;
}

static bool settled_pod(void *ctx, const struct object *o)
{
    struct error *err = ctx;

    if (o->is_deleting)
        (void)error_set(err, ERR_INTERNAL, "pod %s is going", o->name);
    else if (!pod_of(o)->node_name[0])
        (void)error_set(err, ERR_INTERNAL, "pod %s has no node", o->name);
    else
        return true;
    return false;
}

static int settled_node(struct site *x, unsigned node, struct error *err)
{
    int r = site_agent_settled(x->nodes[node].process->state, err);

    for (unsigned v = 0; v < SITE_VOLUMES && r == 0; v++)
        r = x->nodes[node].disks[v].is_wanted ? settled_wanted(x, node, v, err)
                                              : settled_unwanted(x, node, v, err);
    return r;
}

static int settled(void *ctx, struct error *err)
{
    struct site *x = ctx;
    int r = site_plane_settled(x->plane->state, err);

    if (r == 0 && !objects_each(x->sim, KIND_POD, settled_pod, err))
        r = -ERR_INTERNAL;
    for (unsigned n = 0; n < SITE_NODES && r == 0; n++)
        r = settled_node(x, n, err);
    return r;
}

/* --- The day --- */

static void check(void *ctx)
{
    note_wishes(ctx);
    site_people_tidy(ctx);
}

static void work(void *ctx)
{
    site_people_work(ctx);
}

static void *begin(struct sim *s)
{
    struct site *x = sim_alloc(sizeof *x);

    x->sim = s;
    s->host.on_begin = on_begin;
    s->host.on_effect = on_effect;
    s->host.ctx = x;
    s->network.on_send = on_send;
    s->network.ctx = x;
    store_watch(s->server.store, &x->watcher, KIND_COUNT, on_event, NULL, x);
    site_people_begin(x);
    x->plane = sim_spawn(s, &site_plane_program, x);
    x->driver = sim_spawn(s, &site_driver_program, x);
    for (unsigned n = 0; n < SITE_NODES; n++) {
        x->nodes[n].site = x;
        x->nodes[n].number = n;
        x->nodes[n].unready_ns = UINT64_MAX;
        (void)sim_spawn(s, &site_agent_programs[n], &x->nodes[n]);
    }
    return x;
}

static void end(void *ctx)
{
    struct site *x = ctx;

    store_unwatch(x->sim->server.store, &x->watcher);
    x->sim->network.on_send = NULL;
    free(x);
}

const struct sim_scenario sim_scenario_attach = {
    .name = "attach",
    .summary = "volumes are attached where pods want them, and detached when it is safe",
    .days = 3,
    .is_sparing = true,
    .begin = begin,
    .work = work,
    .check = check,
    .settled = settled,
    .end = end,
};

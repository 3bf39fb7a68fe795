/* Attach: pods with volumes of a CSI driver come, go and move. Berth's own controllers and node agents, a
 * driver on each node and an external attacher see to them, on machines that fail. Nodes die, come back, lose
 * their network, are deleted. Whatever goes wrong, no volume is detached under a node that has it mounted or
 * is about to, nothing is mounted that is not attached, no exclusive volume is given to a second node, and
 * what is mounted is reported as in use, unless somebody was entitled to force it; in the end what is wanted
 * is mounted, and nothing is left of what is not. */
#include "sim/scenario_attach.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/attachment.h"
#include "node/node_lease.h"
#include "sim/sim_world.h"

/* What controllers know of a node may be as old as this. */
#define BEHIND_NS (300 * NS_PER_S)
/* Far less than a node has to unmount: whoever counts may count from something else. */
#define PATIENCE_NS (120 * NS_PER_S)
#define CHECK_STEPS 4 /* between two looks at all mounts */

static const struct daemon_program plane_program = { "plane", DAEMON_CONTROLLERS | DAEMON_SCHEDULER, false };

/* --- Looking --- */

static void write_unique_name(unsigned volume, char to[static SITE_UNIQUE_BYTES])
{
    (void)snprintf(to, SITE_UNIQUE_BYTES, SITE_UNIQUE "%u", volume);
}

const struct node *site_stored_node(const struct site_node *n)
{
    return stored_node(n->site->sim, n->name);
}

bool site_node_is_down(const struct site_node *n)
{
    return n->process->starts == n->lost_start;
}

struct site_node *site_node_of_pod(struct site *x, const struct pod *p)
{
    unsigned node;

    return attach_number(p->node_name, 'n', x->nodes_count, &node) ? &x->nodes[node] : NULL;
}

/* Which volume the pod means by it. */
static bool find_volume(const struct site *x, const struct pod_volume *v, unsigned *ret)
{
    const struct claim *c = v->type == POD_VOLUME_CLAIM ? stored_claim(x->sim, v->claim_name) : NULL;

    return c && c->phase == CLAIM_BOUND && attach_number(c->volume_name, 'd', SITE_VOLUMES, ret);
}

static bool is_mounted(const struct site_node *n, unsigned volume)
{
    return machine_mounts_disk(n->machine, &n->site->drivers.disks.volumes[volume].disk);
}

static bool find_numbers(const struct site *x, const struct attachment *a, unsigned *node, unsigned *volume)
{
    return attach_number(a->node_name, 'n', x->nodes_count, node) &&
           attach_number(a->volume_name, 'd', SITE_VOLUMES, volume);
}

struct search {
    const struct site *site;
    unsigned node;
    unsigned volume;
    const struct attachment *found;
};

static bool match_attachment(void *ctx, const struct object *o)
{
    struct search *s = ctx;
    const struct attachment *a = (const struct attachment *)(const void *)o;
    unsigned node, volume;

    if (find_numbers(s->site, a, &node, &volume) && node == s->node && volume == s->volume)
        s->found = a;
    return !s->found;
}

static const struct attachment *find_attachment(struct site *x, unsigned node, unsigned volume)
{
    struct search s = { x, node, volume, NULL };

    (void)objects_each(x->sim, KIND_ATTACHMENT, match_attachment, &s);
    return s.found;
}

static bool says_attached(const struct site_node *n, unsigned volume)
{
    const struct node *is = site_stored_node(n);
    char name[SITE_UNIQUE_BYTES];

    write_unique_name(volume, name);
    return is && node_attached_volume(is, name);
}

static bool says_in_use(const struct site_node *n, unsigned volume)
{
    const struct node *is = site_stored_node(n);
    char name[SITE_UNIQUE_BYTES];

    write_unique_name(volume, name);
    for (uint32_t i = 0; is && i < is->volumes_in_use.count; i++)
        if (strcmp(is->volumes_in_use.items[i], name) == 0)
            return true;
    return false;
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

/* The controllers told the node themselves that it has the volume, or asked the server after others did. */
static bool is_known(const struct site *x, const struct sim_process *plane, const struct site_disk *d)
{
    if (d->teller == plane && d->teller_start == plane->starts)
        return true;
    for (unsigned i = 0; i < x->planes_count; i++)
        if (x->planes[i] == plane && x->asked_start[i] == plane->starts && d->listed_ns < x->asked_ns[i])
            return true;
    return false;
}

/* Another node was told that it has the volume, and it has. */
static bool is_given_away(struct site *x, const struct sim_process *plane, unsigned node, unsigned volume)
{
    const struct attachment *a = find_attachment(x, node, volume);

    return is_known(x, plane, &x->nodes[node].disks[volume]) && says_attached(&x->nodes[node], volume) && a &&
           a->is_attached && !a->obj.is_deleting;
}

static void see_create(struct site *x, const struct sim_process *plane, struct str body)
{
    static const char node_is[] = "\"nodeName\":\"n", volume_is[] = "\"persistentVolumeName\":\"d";
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
    for (unsigned n = 0; n < x->nodes_count; n++)
        if (n != node && site_is_exclusive(x, volume) && is_given_away(x, plane, n, volume))
            sim_fail(x->sim, "d%u is to be attached to n%u, and n%u has it", volume, node, n);
}

/* Which volumes a node is told that it has. */
static void see_report(struct site *x, const struct sim_process *plane, const struct client_request *q)
{
    unsigned node;
    char text[2048], name[SITE_UNIQUE_BYTES + 2], unique[SITE_UNIQUE_BYTES];

    (void)snprintf(text, sizeof text, "%.*s", STR_ARG(q->body));
    if (!attach_number(q->name, 'n', x->nodes_count, &node) || !strstr(text, "volumesAttached"))
        return;
    for (unsigned v = 0; v < SITE_VOLUMES; v++) {
        write_unique_name(v, unique);
        (void)snprintf(name, sizeof name, "\"%s\"", unique);
        if (strstr(text, name)) {
            x->nodes[node].disks[v].teller = plane;
            x->nodes[node].disks[v].teller_start = plane->starts;
        }
    }
}

static void see_question(struct site *x, const struct sim_process *plane)
{
    for (unsigned i = 0; i < x->planes_count; i++) {
        if (x->planes[i] != plane)
            continue;
        x->asked_ns[i] = x->sim->now_ns;
        x->asked_start[i] = plane->starts;
    }
}

static void see_delete(struct site *x, const char *name)
{
    const struct object *o = store_get(x->sim->server.store, KIND_ATTACHMENT, "", name);
    unsigned node, volume;

    if (o && find_numbers(x, (const struct attachment *)(const void *)o, &node, &volume) &&
        may_force(x, node, volume))
        x->drivers.disks.volumes[volume].is_forced[node] = true;
}

static void on_send(void *ctx, const struct sim_process *p, unsigned id, const struct client_request *q)
{
    struct site *x = ctx;
    enum kind k = q->kind ? q->kind->kind : KIND_COUNT;

    (void)id;
    if (p != x->planes[0] && p != x->planes[1])
        return;
    if (k == KIND_ATTACHMENT && q->verb == CLIENT_DELETE)
        see_delete(x, q->name);
    else if (k == KIND_ATTACHMENT && q->verb == CLIENT_CREATE)
        see_create(x, p, q->body);
    else if (k == KIND_NODE && q->verb == CLIENT_PATCH)
        see_report(x, p, q);
    else if (k == KIND_NODE && q->verb == CLIENT_LIST && !q->resource_version && !q->continue_token)
        see_question(x, p);
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
    const struct node *is = node_of(ev->object);
    uint64_t now_ns = x->sim->now_ns;
    unsigned node;

    if (!attach_number(ev->object->name, 'n', x->nodes_count, &node))
        return;
    note_moment(ev->is_delete || !node_is_ready(is), now_ns, &x->nodes[node].unready_ns);
    note_moment(!ev->is_delete && node_has_taint(is, TAINT_OUT_OF_SERVICE), now_ns,
                &x->nodes[node].tainted_ns);
    if (!ev->old && !ev->is_delete)
        x->nodes[node].heard_ns = now_ns;
    for (unsigned v = 0; v < SITE_VOLUMES; v++) {
        struct site_disk *d = &x->nodes[node].disks[v];
        char name[SITE_UNIQUE_BYTES];

        write_unique_name(v, name);
        if (ev->is_delete || !node_attached_volume(is, name))
            d->listed_ns = UINT64_MAX;
        else if (d->listed_ns == UINT64_MAX)
            d->listed_ns = now_ns;
    }
}

static void note_lease(struct site *x, const struct store_event *ev)
{
    unsigned node;

    if (!ev->is_delete && strcmp(ev->object->ns, NODE_LEASE_NAMESPACE) == 0 &&
        attach_number(ev->object->name, 'n', x->nodes_count, &node))
        x->nodes[node].heard_ns = x->sim->now_ns;
}

/* A new one: nobody has forced anything. But what the node never let go of is not there any more until it is
 * attached again. */
static void note_attachment(struct site *x, const struct store_event *ev)
{
    unsigned node, volume;

    if (!ev->old && !ev->is_delete &&
        find_numbers(x, (const struct attachment *)(const void *)ev->object, &node, &volume) &&
        !is_mounted(&x->nodes[node], volume))
        x->drivers.disks.volumes[volume].is_forced[node] = false;
}

static void on_event(void *ctx, const struct store_event *ev)
{
    struct site *x = ctx;
    enum kind k = ev->object->kind->kind;

    if (k == KIND_NODE)
        note_node(x, ev);
    else if (k == KIND_LEASE)
        note_lease(x, ev);
    else if (k == KIND_ATTACHMENT)
        note_attachment(x, ev);
    else if (k == KIND_POD || k == KIND_CLAIM)
        x->has_news = true;
}

struct wishes {
    struct site *site;
    unsigned bits[SITE_NODES_MAX]; /* volumes, by node */
};

/* Those that go do not count: what runs in them ends at once here. */
static bool add_wishes(void *ctx, const struct object *o)
{
    struct wishes *w = ctx;
    const struct pod *p = pod_of(o);
    const struct site_node *n = site_node_of_pod(w->site, p);
    unsigned volume;

    for (uint32_t i = 0; n && !o->is_deleting && i < p->volumes.count; i++)
        if (find_volume(w->site, &p->volumes.items[i], &volume))
            w->bits[n->number] |= 1U << volume;
    return true;
}

static void note_wish(struct site_disk *d, bool is_wanted, uint64_t now_ns)
{
    if (is_wanted && !d->is_wanted) {
        d->waited_ns = now_ns - d->unwanted_ns;
        d->waited_to_ns = now_ns;
    } else if (!is_wanted && d->is_wanted) {
        d->unwanted_ns = now_ns;
    }
    d->is_wanted = is_wanted;
}

static void note_wishes(struct site *x)
{
    struct wishes w = { .site = x };

    if (!x->has_news)
        return;
    x->has_news = false;
    (void)objects_each(x->sim, KIND_POD, add_wishes, &w);
    for (unsigned n = 0; n < x->nodes_count; n++)
        for (unsigned v = 0; v < SITE_VOLUMES; v++)
            note_wish(&x->nodes[n].disks[v], (w.bits[n] >> v) & 1, x->sim->now_ns);
}

/* --- At any time --- */

static void check_exclusive(struct site *x, const struct storage_volume *v)
{
    const struct site_node *first = NULL;

    for (unsigned n = 0; n < x->nodes_count; n++) {
        if (v->is_forced[n] || !machine_mounts_disk(x->nodes[n].machine, &v->disk))
            continue;
        if (first)
            sim_fail(x->sim, "%s mounts %s, which %s has mounted", x->nodes[n].name, v->disk.name,
                     first->name);
        first = &x->nodes[n];
    }
}

static void check(void *ctx)
{
    struct site *x = ctx;

    note_wishes(x);
    node_drivers_check(&x->drivers);
    for (unsigned v = 0; v < SITE_VOLUMES && x->sim->step % CHECK_STEPS == 0; v++)
        if (site_is_exclusive(x, v))
            check_exclusive(x, &x->drivers.disks.volumes[v]);
    site_workload_tidy(x);
}

/* --- In the end --- */

static bool is_taken(const struct site *x, unsigned node, unsigned volume)
{
    for (unsigned n = 0; n < x->nodes_count; n++)
        if (n != node && site_is_exclusive(x, volume) && x->nodes[n].disks[volume].is_wanted &&
            is_mounted(&x->nodes[n], volume))
            return true;
    return false;
}

static int check_wanted(struct site *x, unsigned node, unsigned volume, struct error *err)
{
    const struct site_node *n = &x->nodes[node];
    const struct attachment *a = find_attachment(x, node, volume);

    if (is_taken(x, node, volume))
        return 0; /* another one was first */
    if (!a || !a->is_attached)
        return error_set(err, ERR_BUSY, "%s wants d%u, and there is no attachment", n->name, volume);
    if (!x->drivers.disks.volumes[volume].is_attached[node])
        return error_set(err, ERR_BUSY, "%s wants d%u, and it is not attached", n->name, volume);
    if (!says_attached(n, volume))
        return error_set(err, ERR_BUSY, "%s wants d%u, and is not told that it has it", n->name, volume);
    if (!says_in_use(n, volume))
        return error_set(err, ERR_BUSY, "%s wants d%u, and does not say that it uses it", n->name, volume);
    if (!is_mounted(n, volume))
        return error_set(err, ERR_BUSY, "%s wants d%u, and has not mounted it", n->name, volume);
    return 0;
}

/* Whether it is attached or mounted is for the drivers to say. */
static int check_unwanted(struct site *x, unsigned node, unsigned volume, struct error *err)
{
    const struct site_node *n = &x->nodes[node];

    if (find_attachment(x, node, volume))
        return error_set(err, ERR_BUSY, "nobody wants d%u on %s, and its attachment is there", volume,
                         n->name);
    if (says_attached(n, volume))
        return error_set(err, ERR_BUSY, "nobody wants d%u on %s, which is told that it has it", volume,
                         n->name);
    if (says_in_use(n, volume))
        return error_set(err, ERR_BUSY, "nobody wants d%u on %s, which says that it uses it", volume,
                         n->name);
    return 0;
}

struct looking {
    struct site *site;
    struct error *err;
    int r;
};

/* Where the pod's volume is: it has been published for this pod and for no other. */
static int check_published(struct site *x, const struct pod *p, const struct pod_volume *v, struct error *err)
{
    struct site_node *n = site_node_of_pod(x, p);
    struct machine_place at;
    char path[PATH_MAX];
    unsigned volume;

    if (!find_volume(x, v, &volume))
        return error_set(err, ERR_BUSY, "pod %s has no volume", p->obj.name);
    if (is_taken(x, n->number, volume))
        return 0;
    (void)snprintf(path, sizeof path, SITE_ROOT "/pods/%s/volumes/kubernetes.io~csi/d%u/mount", p->obj.uid,
                   volume);
    if (machine_find(n->machine, AT_FDCWD, path, 0, &at, NULL) != 0 ||
        at.mount->tree != x->drivers.disks.volumes[volume].disk.tree)
        return error_set(err, ERR_BUSY, "pod %s lacks d%u on %s", p->obj.name, volume, n->name);
    return 0;
}

static bool check_pod(void *ctx, const struct object *o)
{
    struct looking *l = ctx;
    const struct pod *p = pod_of(o);

    if (o->is_deleting)
        l->r = error_set(l->err, ERR_BUSY, "pod %s is going", o->name);
    else if (!site_node_of_pod(l->site, p))
        l->r = error_set(l->err, ERR_BUSY, "pod %s has no node", o->name);
    for (uint32_t i = 0; i < p->volumes.count && l->r == 0; i++)
        l->r = check_published(l->site, p, &p->volumes.items[i], l->err);
    return l->r == 0;
}

static int settled(void *ctx, struct error *err)
{
    struct site *x = ctx;
    struct looking l = { x, err, 0 };

    note_wishes(x);
    (void)objects_each(x->sim, KIND_POD, check_pod, &l);
    for (unsigned n = 0; n < x->nodes_count && l.r == 0; n++)
        for (unsigned v = 0; v < SITE_VOLUMES && l.r == 0; v++)
            l.r = x->nodes[n].disks[v].is_wanted ? check_wanted(x, n, v, err) : check_unwanted(x, n, v, err);
    return l.r == 0 ? node_drivers_settled(&x->drivers, err) : l.r;
}

/* --- The world --- */

static void on_reboot(void *ctx)
{
    struct site_node *n = ctx;

    n->lost_start = n->process->starts;
}

static void begin_plane(struct site *x, unsigned number)
{
    char *name = x->plane_names[number];

    (void)snprintf(name, SITE_NAME_BYTES, "head%u", number);
    x->plane_daemons[number] = (struct sim_daemon_options){ .program = &plane_program, .host = name };
    x->plane_daemons[number].settings.is_elected = x->planes_count > 1;
    x->planes[number] =
        sim_spawn_on(machine_new(x->sim, name), &sim_daemon_program, &x->plane_daemons[number]);
}

static void begin_node(struct site *x, unsigned number)
{
    struct site_node *n = &x->nodes[number];

    n->site = x;
    n->number = number;
    n->unready_ns = UINT64_MAX;
    for (unsigned v = 0; v < SITE_VOLUMES; v++)
        n->disks[v].listed_ns = UINT64_MAX;
    (void)snprintf(n->name, sizeof n->name, "n%u", number);
    n->machine = machine_new(x->sim, n->name);
    n->machine->on_reboot = on_reboot;
    n->machine->ctx = n;
    node_drivers_add(&x->drivers, n->machine);
    n->daemon = (struct sim_daemon_options){ .program = &daemon_node, .host = n->name };
    n->daemon.settings.node.name = n->name;
    n->daemon.settings.node.root = SITE_ROOT;
    n->process = sim_spawn_on(n->machine, &sim_daemon_program, &n->daemon);
}

/* Two or three as a rule: leases are most of what goes on in a quiet world, and each node has one. */
static unsigned draw_nodes(struct rng *r)
{
    uint64_t kinds = SITE_NODES_MAX - SITE_NODES_MIN + 1, first = rng_below(r, kinds),
             second = rng_below(r, kinds);

    return SITE_NODES_MIN + (unsigned)(first < second ? first : second);
}

static void *begin(struct sim *s)
{
    static const unsigned calms[] = { 2, 8, 40 };
    struct site *x = sim_alloc(sizeof *x);

    x->sim = s;
    s->calm = calms[rng_below(&s->work, ARRAY_LEN(calms))];
    x->planes_count = rng_chance(&s->work, 35) ? SITE_PLANES_MAX : 1;
    x->nodes_count = draw_nodes(&s->work);
    s->network.on_send = on_send;
    s->network.ctx = x;
    store_watch(s->server.store, &x->watcher, KIND_COUNT, on_event, NULL, x);
    node_drivers_init_csi(&x->drivers, s, SITE_ROOT, SITE_VOLUMES);
    site_workload_begin(x);
    for (unsigned i = 0; i < x->planes_count; i++)
        begin_plane(x, i);
    for (unsigned i = 0; i < x->nodes_count; i++)
        begin_node(x, i);
    node_drivers_begin(&x->drivers);
    return x;
}

static void work(void *ctx)
{
    site_workload_work(ctx);
}

static void end(void *ctx)
{
    struct site *x = ctx;

    store_unwatch(x->sim->server.store, &x->watcher);
    x->sim->network.on_send = NULL;
    node_drivers_end(&x->drivers);
    free(x);
}

const struct sim_scenario sim_scenario_attach = {
    .name = "attach",
    .summary = "volumes are attached where pods want them, and detached when it is safe",
    .days = 4,
    .is_sparing = true,
    .second_steps_max = 20000,
    .begin = begin,
    .work = work,
    .check = check,
    .settled = settled,
    .end = end,
};

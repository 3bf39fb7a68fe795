/* Scenario caches: one process with two informers, each with a checker (informer_checker.h). Objects are
 * created, changed, removed from the selection, deleted and recreated under the same name. The notifications
 * must be consistent at any time, and finally caches and server agree. The process writes some classes itself
 * and passes the answers, which may be late, to its informer. */
#include "sim/sim_world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/json_out.h"
#include "sim/informer_checker.h"
#include "sim/objects.h"

#define LABEL "selected"
#define NAMES 6

struct caches {
    struct informer *maps;
    struct informer *classes;
    struct informer_checker maps_checker;
    struct informer_checker classes_checker;
    struct client_call call; /* a write of the process itself */
};

struct caches_scenario {
    struct sim *sim;
    struct sim_process *process;
    char written[16]; /* the class that the process wrote last */
};

static struct informer *start_informer(struct sim_process *p, enum kind k, const char *selector, bool streams)
{
    struct informer_options o = { .loop = p->loop,
                                  .client = p->client,
                                  .seed = p->seed,
                                  .kind = kind_info(k),
                                  .label_selector = selector,
                                  .streams_lists = streams };
    struct informer *i;
    struct error err;

    if (informer_new(&o, &i, &err) < 0)
        abort();
    return i;
}

static void *caches_start(struct sim_process *p, void *ctx)
{
    struct caches *c = sim_alloc(sizeof *c);

    (void)ctx;
    c->maps = start_informer(p, KIND_CONFIG_MAP, LABEL "=yes", p->seed % 2);
    c->classes = start_informer(p, KIND_CLASS, NULL, p->seed % 3 == 0);
    informer_checker_init(&c->maps_checker, p->sim, c->maps, KIND_CONFIG_MAP, LABEL, "yes");
    informer_checker_init(&c->classes_checker, p->sim, c->classes, KIND_CLASS, NULL, NULL);
    informer_start(c->maps);
    informer_start(c->classes);
    return c;
}

static void caches_kill(void *state)
{
    struct caches *c = state;

    client_cancel(&c->call);
    informer_checker_done(&c->maps_checker);
    informer_checker_done(&c->classes_checker);
    c->maps = informer_free(c->maps);
    c->classes = informer_free(c->classes);
    free(c);
}

static const struct sim_program caches_program = { "caches", caches_start, caches_kill };

static void on_written(void *ctx, const struct client_answer *a)
{
    struct caches *c = ctx;

    if (a->r == 0 && a->object)
        informer_observe(c->classes, a->object);
}

/* The process creates or patches a class, unless it has a request in flight. */
static void write_class(struct sim_process *p, const char *name, uint64_t number)
{
    struct caches *c = p->state;
    struct client_request q = { .kind = kind_info(KIND_CLASS), .patch = CLIENT_PATCH_MERGE };
    char text[256];
    struct buf body = BUF_ON(text, sizeof text);

    if (!sim_process_is_live(p) || client_call_is_active(&c->call))
        return;
    q.verb = number % 2 ? CLIENT_CREATE : CLIENT_PATCH;
    q.name = q.verb == CLIENT_PATCH ? name : NULL;
    json_out_object(&body, NULL);
    json_out_text(&body, "apiVersion", "storage.k8s.io/v1");
    json_out_text(&body, "kind", "StorageClass");
    json_out_text(&body, "provisioner", "x");
    json_out_object(&body, "metadata");
    json_out_text(&body, "name", name);
    json_out_object(&body, "annotations");
    json_out_textf(&body, "own", "%" PRIu64, number);
    json_out_end_object(&body);
    json_out_end_object(&body);
    json_out_end_object(&body);
    q.body = buf_str(&body);
    client_send(p->client, &c->call, &q, on_written, c);
    p->has_work = true;
}

static void *caches_scenario_begin(struct sim *s)
{
    struct caches_scenario *scenario = sim_alloc(sizeof *scenario);

    scenario->sim = s;
    scenario->process = sim_spawn(s, &caches_program, NULL);
    (void)snprintf(scenario->written, sizeof scenario->written, "n0");
    return scenario;
}

static void change_object(struct caches_scenario *scenario, const char *name)
{
    struct sim *s = scenario->sim;
    struct rng *r = &s->work;

    switch (rng_below(r, 12)) {
    case 0:
    case 1:
        objects_create_map(s, name, LABEL, rng_chance(r, 70) ? "yes" : "no");
        break;
    case 2:
        objects_label_map(s, name, LABEL, rng_chance(r, 50) ? "yes" : "no");
        break;
    case 3:
        objects_delete_map(s, name);
        break;
    case 4: /* deleted and recreated at once */
        objects_delete_map(s, name);
        objects_create_map(s, name, LABEL, "yes");
        break;
    case 5:
        objects_create_class(s, name);
        break;
    case 6:
        objects_delete_class(s, name);
        break;
    case 7:
        objects_touch_class(s, name, rng_below(r, 1000));
        break;
    case 8:
    case 9:
        write_class(scenario->process, name, rng_below(r, 1000));
        (void)snprintf(scenario->written, sizeof scenario->written, "%s", name);
        break;
    case 10: /* perhaps before the process receives the answer to its write */
        objects_delete_class(s, scenario->written);
        break;
    default:
        objects_touch_map(s, name, rng_below(r, 1000));
        break;
    }
}

static void caches_scenario_work(void *ctx)
{
    struct caches_scenario *scenario = ctx;
    /* Sometimes more changes at once than the history of the server holds. */
    uint64_t times = rng_below(&scenario->sim->work, 20) == 0 ? 100 : 1 + rng_below(&scenario->sim->work, 4);
    char name[16];

    for (uint64_t i = 0; i < times; i++) {
        (void)snprintf(name, sizeof name, "n%u", (unsigned)rng_below(&scenario->sim->work, NAMES));
        change_object(scenario, name);
    }
}

static int caches_scenario_settled(void *ctx, struct error *err)
{
    struct caches_scenario *scenario = ctx;
    const struct caches *c = scenario->process->state;
    int r = informer_checker_compare(&c->maps_checker, err);

    return r < 0 ? r : informer_checker_compare(&c->classes_checker, err);
}

const struct sim_scenario sim_scenario_caches = {
    .name = "caches",
    .begin = caches_scenario_begin,
    .work = caches_scenario_work,
    .settled = caches_scenario_settled,
    .end = free,
};

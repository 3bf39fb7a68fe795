/* Invariants: candidates are sorted by name and each has one `init` at a time. A candidate is pending from
 * the moment something changed in its directory until an `init` that began later has gone well, or the driver
 * is seen to be gone. Watches begin before the look that they cover. */
#include "plugins/flex/prober.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "host/dirs.h"
#include "io/dirwatch.h"
#include "io/file.h"
#include "io/job.h"
#include "io/path.h"
#include "plugins/flex/driver.h"
#include "plugins/layout.h"

#define DIR_MODE 0755
#define SCAN_BYTES_MAX ((size_t)2 << 20)

/* A call of `init` under way. */
struct init_call {
    struct job job;
    struct host_tools tools;
    struct flex_driver *driver; /* its answer */
    char dir_name[NAME_MAX + 1];
    char dir[]; /* of all drivers */
};

/* A directory that holds a driver, or should. */
struct candidate {
    struct flex_prober *prober;
    struct dirwatch *watch;     /* NULL: cannot be watched, or is gone */
    struct job *call;           /* NULL: none is under way */
    struct flex_driver *driver; /* made and not reported yet */
    struct error err;           /* why there is none; stays until there is */
    bool is_pending;
    bool is_known; /* reported as there */
    char dir_name[NAME_MAX + 1];
    char plugin_name[NAME_MAX + 1];
    char path[PATH_MAX];
    char executable[PATH_MAX];
};

struct flex_prober {
    struct plugin_prober base;
    struct loop *loop;
    struct pool *pool;
    struct host_tools tools;
    struct dirwatch *watch; /* of the directory, or of one above it; NULL: that is gone */
    bool makes_dir;
    bool has_dir; /* the watch is the directory's */
    bool must_scan;
    VEC(struct candidate *) all;
    VEC(struct candidate *) gone; /* their names are in events */
    VEC(struct plugin_event) events;
    char dir[];
};

/* --- One call of init --- */

static int init_run(struct job *j, struct error *err)
{
    struct init_call *c = CONTAINER_OF(j, struct init_call, job);

    return flex_driver_new(c->dir, c->dir_name, &c->tools, &j->stop, &c->driver, err);
}

static void init_free(struct job *j)
{
    struct init_call *c = CONTAINER_OF(j, struct init_call, job);

    (void)flex_driver_free(c->driver);
    free(c);
}

static void on_init(void *ctx, struct job *j, int r, const struct error *err)
{
    struct candidate *x = ctx;

    x->call = NULL;
    x->driver = flex_driver_free(x->driver); /* an older answer that no probe asked for */
    x->driver = TAKE(CONTAINER_OF(j, struct init_call, job)->driver);
    x->err = *err;
    if (r < 0)
        x->is_pending = true;
}

static int init_begin(struct candidate *x, struct error *err)
{
    static const struct job_type type = { "init of a FlexVolume driver", init_run, init_free };
    struct flex_prober *p = x->prober;
    size_t dir_bytes = strlen(p->dir) + 1;
    struct init_call *c = calloc(1, sizeof *c + dir_bytes);

    if (!c)
        return error_no_memory(err);
    c->tools = p->tools;
    memcpy(c->dir, p->dir, dir_bytes);
    memcpy(c->dir_name, x->dir_name, sizeof c->dir_name);
    c->job.type = &type;
    c->job.about = c->dir_name;
    x->call = &c->job;
    x->is_pending = false;
    job_begin(x->call, p->pool, on_init, x);
    return 0;
}

/* --- Candidates --- */

static struct candidate *candidate_free(struct candidate *x)
{
    if (!x)
        return NULL;
    x->watch = dirwatch_stop(x->watch);
    x->call = job_drop(x->call);
    x->driver = flex_driver_free(x->driver);
    free(x);
    return NULL;
}
DEFINE_CLEANUP(struct candidate, candidate_free)

/* All that follows from the directory's name. */
static int candidate_name(struct candidate *x, const struct flex_prober *p, const char *dir_name,
                          struct error *err)
{
    const char *slash;
    int n, r = layout_unescape(dir_name, x->plugin_name, err);

    if (r < 0)
        return r;
    slash = strrchr(x->plugin_name, '/');
    (void)snprintf(x->dir_name, sizeof x->dir_name, "%s", dir_name); /* no longer than the plugin's */
    (void)snprintf(x->path, sizeof x->path, "%s/%s", p->dir, dir_name);
    n = snprintf(x->executable, sizeof x->executable, "%s/%s/%s", p->dir, dir_name,
                 slash ? slash + 1 : x->plugin_name);
    if (n < 0 || (size_t)n >= sizeof x->executable)
        return error_set(err, ERR_INVALID, "the path of driver '%s' is too long", dir_name);
    return 0;
}

static int candidate_new(struct flex_prober *p, const char *dir_name, struct candidate **ret,
                         struct error *err)
{
    _cleanup_(candidate_free_p) struct candidate *x = calloc(1, sizeof *x);
    int r;

    if (!x)
        return error_no_memory(err);
    r = candidate_name(x, p, dir_name, err);
    if (r < 0)
        return r;
    x->prober = p;
    x->is_pending = true;
    *ret = TAKE(x);
    return 0;
}

static void candidate_on_event(void *ctx, enum dirwatch_event event, const char *name)
{
    struct candidate *x = ctx;

    if (event == DIRWATCH_CHANGED && name[0] == '.')
        return;
    x->is_pending = true;
    if (event == DIRWATCH_GONE)
        x->watch = dirwatch_stop(x->watch);
}

/* A directory that comes back was not watched meanwhile. Without a watch the driver works all the same, and
 * is probed when its directory changes as an entry of its parent. */
static void candidate_watch(struct candidate *x)
{
    struct error ignored = { 0 };

    if (!x->watch &&
        dirwatch_start(x->prober->loop, x->path, candidate_on_event, x, &x->watch, &ignored) == 0)
        x->is_pending = true;
}

static void candidate_complain(struct candidate *x, enum err code, const char *why)
{
    (void)error_set(&x->err, code, "%s", why);
}

/* Begins an `init` where one is due. False: there is no driver, and nothing to begin. */
static bool candidate_begin(struct candidate *x)
{
    struct error err = { 0 };

    candidate_watch(x);
    if (!x->is_pending)
        return true;
    if (!host_is_executable(x->executable))
        return false;
    if (x->call) /* asked again when it has answered */
        return true;
    if (init_begin(x, &err) < 0)
        candidate_complain(x, err.code, err.msg); /* at the next probe again */
    return true;
}

/* --- The directory --- */

static size_t find_place(const struct flex_prober *p, const char *dir_name)
{
    size_t low = 0, high = p->all.count;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (strcmp(p->all.items[mid]->dir_name, dir_name) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static struct candidate *find(const struct flex_prober *p, const char *dir_name)
{
    size_t at = find_place(p, dir_name);

    return at < p->all.count && strcmp(p->all.items[at]->dir_name, dir_name) == 0 ? p->all.items[at] : NULL;
}

static int add(struct flex_prober *p, const char *dir_name, struct error *err)
{
    _cleanup_(candidate_free_p) struct candidate *x = NULL;
    int r = candidate_new(p, dir_name, &x, err);

    if (r < 0)
        return r;
    if (vec_insert(&p->all, find_place(p, dir_name), x) < 0)
        return error_no_memory(err);
    TAKE(x);
    return 0;
}

/* Takes in what is new. What is gone tells by itself, or is found out by candidate_begin(). */
static int scan(struct flex_prober *p, struct error *err)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(SCAN_BYTES_MAX);
    struct texts names;
    int r = host_list_dirs(p->dir, &a, &names, err);

    if (r < 0) {
        struct error why = *err;
        return error_set(err, why.code, "error reading the Flexvolume directory: %s", (const char *)why.msg);
    }
    for (uint32_t i = 0; i < names.count && r == 0; i++)
        if (!find(p, names.items[i]))
            r = add(p, names.items[i], err);
    if (r == 0)
        p->must_scan = false;
    return r;
}

static void prober_on_event(void *ctx, enum dirwatch_event event, const char *name)
{
    struct flex_prober *p = ctx;
    struct candidate *x;

    if (event == DIRWATCH_CHANGED) {
        x = name[0] == '.' ? NULL : find(p, name);
        if (x)
            x->is_pending = true;
        else
            p->must_scan = p->must_scan || name[0] != '.';
        return;
    }
    p->must_scan = true;
    if (event == DIRWATCH_GONE)
        p->watch = dirwatch_stop(p->watch);
    for (size_t i = 0; i < p->all.count && event == DIRWATCH_GONE; i++)
        p->all.items[i]->is_pending = true;
}

static int watch_dir(struct flex_prober *p, struct error *err)
{
    int r;

    if (p->watch)
        return 0;
    p->has_dir = p->makes_dir;
    r = p->makes_dir ? io_mkdirs(p->dir, DIR_MODE, err) : 0;
    if (r == 0 && p->makes_dir)
        r = dirwatch_start(p->loop, p->dir, prober_on_event, p, &p->watch, err);
    else if (r == 0)
        r = dirwatch_start_nearest(p->loop, p->dir, prober_on_event, p, &p->watch, &p->has_dir, err);
    if (r < 0) {
        struct error why = *err;
        return error_set(err, why.code, "error %s driver directory: %s",
                         p->makes_dir ? "(re-)creating" : "waiting for", (const char *)why.msg);
    }
    p->must_scan = true;
    return 0;
}

/* --- Probes --- */

/* All complaints of a probe are one error. */
static void complain(struct error *all, const struct error *one)
{
    struct error before = *all;

    if (all->code == ERR_NONE)
        *all = *one;
    else
        (void)error_set(all, before.code, "%s, %s", (const char *)before.msg, (const char *)one->msg);
}

static void look(struct flex_prober *p, struct error *complaints)
{
    struct error err = { 0 };
    int r = watch_dir(p, &err);

    if (r == 0 && p->must_scan && p->has_dir)
        r = scan(p, &err);
    if (r < 0)
        complain(complaints, &err);
}

/* No room: it stays and is told later. */
static void tell_there(struct candidate *x)
{
    struct flex_prober *p = x->prober;

    if (!x->driver || vec_push(&p->events, (struct plugin_event){ x->plugin_name, &x->driver->plugin }) < 0)
        return;
    x->driver = NULL;
    x->is_known = true;
}

/* There is no executable. Of a driver that was there this is its end; else somebody is still copying, unless
 * the directory has gone too. False when nothing is left of the candidate. */
static bool tell_gone(struct candidate *x)
{
    struct flex_prober *p = x->prober;
    struct error err = { 0 };
    bool has_dir = true;

    x->call = job_drop(x->call);
    if (x->is_known) {
        if (vec_push(&p->events, (struct plugin_event){ x->plugin_name, NULL }) < 0)
            return true;
        x->is_known = false;
        x->is_pending = false;
        x->err = (struct error){ 0 };
    } else {
        candidate_complain(x, ERR_NOT_FOUND, "it holds no executable of its name");
    }
    (void)io_exists(x->path, &has_dir, &err); /* what cannot be examined may still be there */
    return has_dir;
}

static void complain_of(const struct candidate *x, struct error *complaints)
{
    struct error err;

    if (x->err.code == ERR_NONE)
        return;
    (void)error_set(&err, x->err.code,
                    "error creating Flexvolume plugin from directory %s, skipping. Error: %s", x->dir_name,
                    x->err.msg);
    complain(complaints, &err);
}

static void candidate_probe(struct flex_prober *p, size_t i, struct error *complaints)
{
    struct candidate *x = p->all.items[i];

    tell_there(x);
    if (!candidate_begin(x) && !tell_gone(x) && vec_push(&p->gone, x) == 0) {
        vec_remove(&p->all, i);
        return;
    }
    complain_of(x, complaints);
}

static void forget_gone(struct flex_prober *p)
{
    for (size_t i = 0; i < p->gone.count; i++)
        (void)candidate_free(p->gone.items[i]);
    vec_clear(&p->gone);
}

static int prober_probe(struct plugin_prober *self, struct plugin_event **ret, size_t *ret_count,
                        struct error *err)
{
    struct flex_prober *p = CONTAINER_OF(self, struct flex_prober, base);
    struct error complaints = { 0 };

    forget_gone(p);
    vec_clear(&p->events);
    look(p, &complaints);
    for (size_t i = p->all.count; i > 0; i--)
        candidate_probe(p, i - 1, &complaints);
    *ret = p->events.items;
    *ret_count = p->events.count;
    if (complaints.code == ERR_NONE)
        return 0;
    *err = complaints;
    return -(int)complaints.code;
}

/* There, but its first `init` is not over. */
static bool prober_awaits(struct plugin_prober *self, const char *name)
{
    const struct flex_prober *p = CONTAINER_OF(self, struct flex_prober, base);

    for (size_t i = 0; i < p->all.count; i++) {
        const struct candidate *x = p->all.items[i];

        if (strcmp(x->plugin_name, name) == 0)
            return x->call && !x->is_known && !x->driver && x->err.code == ERR_NONE;
    }
    return false;
}

/* --- Life --- */

struct plugin_prober *flex_prober_of(struct flex_prober *p)
{
    return &p->base;
}

int flex_prober_new(struct loop *l, struct pool *pool, const char *dir, bool makes_dir,
                    const struct host_tools *tools, struct flex_prober **ret, struct error *err)
{
    size_t dir_len = strlen(dir);
    struct flex_prober *p = calloc(1, sizeof *p + dir_len + 1);
    struct error complaints = { 0 }; /* the first probe has the same */
    int r;

    if (!p)
        return error_no_memory(err);
    p->base = (struct plugin_prober){ .probe = prober_probe, .awaits = prober_awaits };
    p->loop = l;
    p->pool = pool;
    p->makes_dir = makes_dir;
    p->tools = *tools;
    memcpy(p->dir, dir, dir_len);
    while (dir_len > 1 && p->dir[dir_len - 1] == '/')
        p->dir[--dir_len] = '\0';
    r = watch_dir(p, err);
    if (r < 0) {
        free(p); /* nothing hangs off it yet */
        return r;
    }
    look(p, &complaints);
    for (size_t i = 0; i < p->all.count; i++)
        (void)candidate_begin(p->all.items[i]);
    *ret = p;
    return 0;
}

struct flex_prober *flex_prober_free(struct flex_prober *p)
{
    if (!p)
        return NULL;
    p->watch = dirwatch_stop(p->watch);
    forget_gone(p);
    for (size_t i = 0; i < p->all.count; i++)
        (void)candidate_free(p->all.items[i]);
    vec_done(&p->all);
    vec_done(&p->gone);
    vec_done(&p->events);
    free(p);
    return NULL;
}

/* Finds FlexVolume drivers in a directory and runs their `init` on the pool.
 *
 * Invariants: candidates are sorted by name, each with at most one `init` in flight. A candidate is pending
 * from a change in its directory until an `init` that started later has succeeded, or the driver is found to
 * be removed. Watches start before the scan that they cover. */
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

/* A call of `init` in flight. */
struct init_call {
    struct job job;
    struct host_tools tools;
    struct flex_driver *driver; /* its result */
    char dir_name[NAME_MAX + 1];
    char dir[]; /* of all drivers */
};

/* A directory with a driver, or where one is expected. */
struct candidate {
    struct flex_prober *prober;
    struct dirwatch *watch;     /* NULL: cannot be watched, or removed */
    struct job *call;           /* NULL: no call in flight */
    struct flex_driver *driver; /* created and not reported yet */
    struct error err;           /* why there is no driver; kept until there is one */
    bool is_pending;
    bool is_known; /* reported as existing */
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
    struct dirwatch *watch; /* of the directory or of a parent; NULL: that is gone */
    bool makes_dir;
    bool has_dir; /* the watch is on the directory itself */
    bool must_scan;
    VEC(struct candidate *) all;
    VEC(struct candidate *) gone; /* their names are used in events */
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
    struct candidate *candidate = ctx;

    candidate->call = NULL;
    candidate->driver = flex_driver_free(candidate->driver); /* an older result that no probe has taken */
    candidate->driver = TAKE(CONTAINER_OF(j, struct init_call, job)->driver);
    candidate->err = *err;
    if (r < 0)
        candidate->is_pending = true;
}

static int init_begin(struct candidate *candidate, struct error *err)
{
    static const struct job_type type = { "FlexVolume driver init", init_run, init_free };
    struct flex_prober *p = candidate->prober;
    size_t dir_bytes = strlen(p->dir) + 1;
    struct init_call *c = calloc(1, sizeof *c + dir_bytes);

    if (!c)
        return error_no_memory(err);
    c->tools = p->tools;
    memcpy(c->dir, p->dir, dir_bytes);
    memcpy(c->dir_name, candidate->dir_name, sizeof c->dir_name);
    c->job.type = &type;
    c->job.about = c->dir_name;
    candidate->call = &c->job;
    candidate->is_pending = false;
    job_begin(candidate->call, p->pool, on_init, candidate);
    return 0;
}

/* --- Candidates --- */

static struct candidate *candidate_free(struct candidate *candidate)
{
    if (!candidate)
        return NULL;
    candidate->watch = dirwatch_stop(candidate->watch);
    candidate->call = job_drop(candidate->call);
    candidate->driver = flex_driver_free(candidate->driver);
    free(candidate);
    return NULL;
}
DEFINE_CLEANUP(struct candidate, candidate_free)

static void candidate_on_event(void *ctx, enum dirwatch_event event, const char *name)
{
    struct candidate *candidate = ctx;

    if (event == DIRWATCH_CHANGED && name[0] == '.')
        return;
    candidate->is_pending = true;
    if (event == DIRWATCH_GONE)
        candidate->watch = dirwatch_stop(candidate->watch);
}

/* Starts an `init` if it is due. False: there is no driver and nothing to start. */
static bool candidate_begin(struct candidate *candidate)
{
    struct error err = { 0 };

    /* A directory that is created again was not watched meanwhile. Without a watch the driver works, and is
     * probed when its directory changes as an entry of its parent. */
    if (!candidate->watch && dirwatch_start(candidate->prober->loop, candidate->path, candidate_on_event,
                                            candidate, &candidate->watch, &err) == 0)
        candidate->is_pending = true;
    if (!candidate->is_pending)
        return true;
    if (!host_is_executable(candidate->executable))
        return false;
    if (candidate->call) /* `init` runs again after the current call */
        return true;
    if (init_begin(candidate, &err) < 0)
        candidate->err = err; /* retried at the next probe */
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

static struct candidate *find_candidate(const struct flex_prober *p, const char *dir_name)
{
    size_t at = find_place(p, dir_name);

    return at < p->all.count && strcmp(p->all.items[at]->dir_name, dir_name) == 0 ? p->all.items[at] : NULL;
}

/* Adds a pending candidate. */
static int candidate_add(struct flex_prober *p, const char *dir_name, struct error *err)
{
    _cleanup_(candidate_free_p) struct candidate *candidate = calloc(1, sizeof *candidate);
    const char *slash;
    int n, r;

    if (!candidate)
        return error_no_memory(err);
    r = layout_unescape(dir_name, candidate->plugin_name, err);
    if (r < 0)
        return r;
    slash = strrchr(candidate->plugin_name, '/');
    /* Not cut: dir_name is not longer than the plugin's name. */
    (void)snprintf(candidate->dir_name, sizeof candidate->dir_name, "%s", dir_name);
    (void)snprintf(candidate->path, sizeof candidate->path, "%s/%s", p->dir, dir_name);
    n = snprintf(candidate->executable, sizeof candidate->executable, "%s/%s/%s", p->dir, dir_name,
                 slash ? slash + 1 : candidate->plugin_name);
    if (n < 0 || (size_t)n >= sizeof candidate->executable)
        return error_set(err, ERR_INVALID, "path of driver '%s' is too long", dir_name);
    candidate->prober = p;
    candidate->is_pending = true;
    if (vec_insert(&p->all, find_place(p, dir_name), candidate) < 0)
        return error_no_memory(err);
    TAKE(candidate);
    return 0;
}

/* Adds new directories. Removed ones are reported by their watch, or found by candidate_begin(). */
static int scan_dir(struct flex_prober *p, struct error *err)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(SCAN_BYTES_MAX);
    struct texts names;
    int r = host_list_dirs(p->dir, &a, &names, err);

    if (r < 0) {
        struct error why = *err;
        return error_set(err, why.code, "error reading the Flexvolume directory: %s", (const char *)why.msg);
    }
    for (uint32_t i = 0; i < names.count && r == 0; i++)
        if (!find_candidate(p, names.items[i]))
            r = candidate_add(p, names.items[i], err);
    if (r == 0)
        p->must_scan = false;
    return r;
}

static void prober_on_event(void *ctx, enum dirwatch_event event, const char *name)
{
    struct flex_prober *p = ctx;
    struct candidate *candidate;

    if (event == DIRWATCH_CHANGED) {
        candidate = name[0] == '.' ? NULL : find_candidate(p, name);
        if (candidate)
            candidate->is_pending = true;
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

/* Combines all failures of a probe into one error. */
static void add_failure(struct error *all, const struct error *one)
{
    struct error before = *all;

    if (all->code == ERR_NONE)
        *all = *one;
    else
        (void)error_set(all, before.code, "%s, %s", (const char *)before.msg, (const char *)one->msg);
}

static void watch_and_scan(struct flex_prober *p, struct error *failures)
{
    struct error err = { 0 };
    int r = watch_dir(p, &err);

    if (r == 0 && p->must_scan && p->has_dir)
        r = scan_dir(p, &err);
    if (r < 0)
        add_failure(failures, &err);
}

/* The executable does not exist. A known driver is removed; a new one may still be copied, unless its
 * directory is gone too. False if the candidate can be freed. */
static bool report_removed(struct candidate *candidate)
{
    struct flex_prober *p = candidate->prober;
    struct error err = { 0 };
    bool has_dir = true;

    candidate->call = job_drop(candidate->call);
    if (candidate->is_known) {
        if (vec_push(&p->events, (struct plugin_event){ candidate->plugin_name, NULL }) < 0)
            return true;
        candidate->is_known = false;
        candidate->is_pending = false;
        candidate->err = (struct error){ 0 };
    } else {
        (void)error_set(&candidate->err, ERR_NOT_FOUND, "no executable with the name of the driver");
    }
    (void)io_exists(candidate->path, &has_dir, &err); /* if it cannot be examined it may still exist */
    return has_dir;
}

static void candidate_probe(struct flex_prober *p, size_t i, struct error *failures)
{
    struct candidate *candidate = p->all.items[i];
    struct error err;

    /* No memory: reported later. */
    if (candidate->driver && vec_push(&p->events, (struct plugin_event){ candidate->plugin_name,
                                                                         &candidate->driver->plugin }) == 0) {
        candidate->driver = NULL;
        candidate->is_known = true;
    }
    if (!candidate_begin(candidate) && !report_removed(candidate) && vec_push(&p->gone, candidate) == 0) {
        vec_remove(&p->all, i);
        return;
    }
    if (candidate->err.code == ERR_NONE)
        return;
    (void)error_set(&err, candidate->err.code,
                    "error creating Flexvolume plugin from directory %s, skipping. Error: %s",
                    candidate->dir_name, candidate->err.msg);
    add_failure(failures, &err);
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
    struct error failures = { 0 };

    forget_gone(p);
    vec_clear(&p->events);
    watch_and_scan(p, &failures);
    for (size_t i = p->all.count; i > 0; i--)
        candidate_probe(p, i - 1, &failures);
    *ret = p->events.items;
    *ret_count = p->events.count;
    if (failures.code == ERR_NONE)
        return 0;
    *err = failures;
    return -(int)failures.code;
}

/* The driver exists and its first `init` has not finished. */
static bool prober_awaits(struct plugin_prober *self, const char *name)
{
    const struct flex_prober *p = CONTAINER_OF(self, struct flex_prober, base);

    for (size_t i = 0; i < p->all.count; i++) {
        const struct candidate *candidate = p->all.items[i];

        if (strcmp(candidate->plugin_name, name) == 0)
            return candidate->call && !candidate->is_known && !candidate->driver &&
                   candidate->err.code == ERR_NONE;
    }
    return false;
}

/* --- Lifecycle --- */

struct plugin_prober *flex_prober_of(struct flex_prober *p)
{
    return &p->base;
}

int flex_prober_new(struct loop *l, struct pool *pool, const char *dir, bool makes_dir,
                    const struct host_tools *tools, struct flex_prober **ret, struct error *err)
{
    size_t dir_len = strlen(dir);
    struct flex_prober *p = calloc(1, sizeof *p + dir_len + 1);
    struct error failures = { 0 }; /* the first probe reports the same failures */
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
        free(p); /* it owns nothing yet */
        return r;
    }
    watch_and_scan(p, &failures);
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

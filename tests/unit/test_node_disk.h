/* What the tests of the node's directories share: a root to mount in, a loop, a pool, and what is logged. */
#ifndef BERTH_TESTS_TEST_NODE_DISK_H
#define BERTH_TESTS_TEST_NODE_DISK_H

#include "tests/unit/test_volume_env.h"

#include "base/log.h"
#include "io/pool.h"
#include "machinery/metrics.h"

struct disk {
    struct volume_bench *b;
    struct manual_clock clock;
    struct loop *loop;
    struct pool *pool;
    struct metrics *metrics;
    struct logger logger;
    struct buf log;
};

static inline void disk_keep_log(void *ctx, const char *line, size_t len)
{
    struct disk *d = ctx;

    buf_add(&d->log, line, len);
}

static inline struct disk *disk_new(void)
{
    struct disk *d = calloc(1, sizeof *d);

    assert_non_null(d);
    d->b = volume_bench_new();
    manual_clock_init(&d->clock, NS_PER_S, 0);
    d->b->env.clock = &d->clock.clock;
    d->loop = new_loop(&d->clock.clock);
    ASSERT_OK(pool_new(d->loop, 1, 16, &d->pool, &err));
    d->metrics = metrics_new((struct hash_seed){ 1, 2 });
    assert_non_null(d->metrics);
    d->log = BUF_INIT((size_t)1 << 20);
    d->logger =
        (struct logger){ .level = LOG_LEVEL_INFO, .clock = &d->clock.clock, .sink = disk_keep_log, .ctx = d };
    log_install(&d->logger);
    return d;
}

static inline struct disk *disk_free(struct disk *d)
{
    d->pool = pool_free(d->pool);
    d->loop = loop_free(d->loop);
    log_install(NULL);
    d->metrics = metrics_free(d->metrics);
    buf_done(&d->log);
    d->b = volume_bench_free(d->b);
    free(d);
    return NULL;
}
DEFINE_CLEANUP(struct disk, disk_free)

/* All that can happen at this moment has. */
static inline void disk_rest(struct disk *d)
{
    for (unsigned i = 0; i < 8; i++) {
        while (loop_poll(d->loop)) {
        }
        pool_drain(d->pool);
    }
}

/* "ROOT/pods/…", in one of a few buffers that are used in turn. */
static inline const char *in_pods(const struct disk *d, const char *rest)
{
    static char paths[4][PATH_MAX];
    static unsigned next;
    char *path = paths[next++ % 4];

    (void)snprintf(path, PATH_MAX, "%s/pods/%s", d->b->root, rest);
    return path;
}

/* Runs the command line in pods/, which is made. */
#define IN_PODS(d, ...)                                                                         \
    do {                                                                                        \
        char line_[PATH_MAX];                                                                   \
        (void)snprintf(line_, sizeof line_, __VA_ARGS__);                                       \
        sh("mkdir -p '%s/pods' && cd '%s/pods' && { %s; }", (d)->b->root, (d)->b->root, line_); \
    } while (0)

static inline void assert_logged(const struct disk *d, const char *words, unsigned times)
{
    unsigned found = 0;

    for (const char *at = buf_cstr(&d->log); (at = strstr(at, words)); at++)
        found++;
    if (found != times)
        fail_msg("%u times '%s' in\n%s", found, words, buf_cstr(&d->log));
}

static inline void assert_number(const struct disk *d, const char *line)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT((size_t)1 << 20);

    metrics_write(d->metrics, &text);
    if (!strstr(buf_cstr(&text), line))
        fail_msg("no %s in\n%s", line, buf_cstr(&text));
}

#endif

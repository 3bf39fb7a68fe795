/* Blocking slots on the pool: their ends, their limits, and plugins that go meanwhile. */
#include "tests/unit/test_io.h"

#include <sched.h>

#include "plugins/call.h"

struct fixture {
    struct loop *loop;
    struct pool *pool;
    struct plugin_call call;
    struct volume_env env;
    unsigned ended;
    int r;
    struct error said;
};

static struct error err;
static struct fixture *current; /* one at a time */

static void on_done(struct plugin_call *c, int r, const struct error *said)
{
    assert_ptr_equal(c, &current->call);
    current->ended++;
    current->r = r;
    current->said = *said;
    loop_stop(current->loop);
}

static void fixture_init(struct fixture *f, size_t queued_max)
{
    *f = (struct fixture){ .loop = new_loop(NULL), .env = { .node_name = "n" } };
    ASSERT_OK(pool_new(f->loop, 1, queued_max, &f->pool, &err));
    f->call.done = on_done;
    current = f;
}

static void fixture_done(struct fixture *f)
{
    f->pool = pool_free(f->pool);
    f->loop = loop_free(f->loop);
}

static void begin(struct fixture *f, const struct volume_plugin *p, plugin_call_fn *fn, uint64_t limit_ns)
{
    plugin_call_begin(f->loop, f->pool, p, &f->env, fn, limit_ns, &f->call);
    ASSERT_INT(0, f->ended); /* never from within */
}

static int succeed(struct plugin_call *c, const struct volume_env *env, struct error *e)
{
    (void)c;
    (void)e;
    return strcmp(env->node_name, "n") == 0 && env->stop && env->tools.stop == env->stop ? 0 : -ERR_INTERNAL;
}

static int refuse(struct plugin_call *c, const struct volume_env *env, struct error *e)
{
    (void)c;
    (void)env;
    return error_set(e, ERR_DENIED, "not here");
}

static atomic_bool is_running;

/* Until it is told to stop. */
static int go_on(struct plugin_call *c, const struct volume_env *env, struct error *e)
{
    (void)c;
    atomic_store(&is_running, true);
    while (atomic_load(env->stop) == 0)
        (void)sched_yield();
    return error_set(e, ERR_CANCELLED, "stopped");
}

/* The same, but what it did was done when it looked. */
static int go_on_to_the_end(struct plugin_call *c, const struct volume_env *env, struct error *e)
{
    (void)go_on(c, env, e);
    return 0;
}

TEST(the_end_comes_on_the_loop)
{
    static const struct {
        plugin_call_fn *fn;
        int r;
        const char *says;
    } rows[] = { { succeed, 0, "" }, { refuse, -ERR_DENIED, "not here" } };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct fixture f;

        fixture_init(&f, 1);
        begin(&f, NULL, rows[i].fn, 0);
        loop_run(f.loop);
        ASSERT_INT(1, f.ended);
        ASSERT_INT(rows[i].r, f.r);
        ASSERT_STR(rows[i].says, f.said.msg);
        fixture_done(&f);
    }
}

TEST(a_limit_asks_it_to_stop)
{
    struct fixture f;

    fixture_init(&f, 1);
    begin(&f, NULL, go_on, NS_PER_MS);
    loop_run(f.loop);
    ASSERT_INT(-ERR_TIMEOUT, f.r);
    ASSERT_STR("not done within 0 s", f.said.msg);
    fixture_done(&f);
}

/* A limit that came too late changes nothing. */
TEST(what_ends_well_is_done_whatever_the_limit)
{
    struct fixture f;

    fixture_init(&f, 1);
    begin(&f, NULL, go_on_to_the_end, NS_PER_MS);
    loop_run(f.loop);
    ASSERT_INT(0, f.r);
    fixture_done(&f);
}

TEST(whoever_began_it_may_stop_it)
{
    struct fixture f;

    fixture_init(&f, 1);
    begin(&f, NULL, go_on, 0);
    plugin_call_stop(&f.call);
    loop_run(f.loop);
    ASSERT_INT(1, f.ended);
    ASSERT_INT(-ERR_CANCELLED, f.r);
    fixture_done(&f);
}

static void ignore_end(struct plugin_call *c, int r, const struct error *said)
{
    (void)c;
    (void)r;
    (void)said;
}

/* One runs, one waits, and for the third there is no room: that is told, too, and later. */
TEST(a_full_pool_is_told_later)
{
    struct plugin_call others[2] = { { .done = ignore_end }, { .done = ignore_end } };
    struct fixture f;

    atomic_store(&is_running, false);
    fixture_init(&f, 1);
    plugin_call_begin(f.loop, f.pool, NULL, &f.env, go_on, 0, &others[0]);
    while (!atomic_load(&is_running))
        (void)sched_yield();
    plugin_call_begin(f.loop, f.pool, NULL, &f.env, go_on, 0, &others[1]);
    begin(&f, NULL, succeed, 0);
    loop_run(f.loop);
    ASSERT_INT(1, f.ended);
    ASSERT_INT(-ERR_BUSY, f.r);
    plugin_call_stop(&others[0]);
    plugin_call_stop(&others[1]);
    fixture_done(&f);
}

static unsigned freed;

static void count_free(struct volume_plugin *self)
{
    (void)self;
    freed++;
}

/* A driver that is replaced lives as long as one of its calls. */
TEST(a_plugin_is_kept_until_the_end)
{
    struct volume_plugin p = { .name = "vendor.io/d", .free = count_free, .refs = 1 };
    struct fixture f;

    freed = 0;
    fixture_init(&f, 1);
    begin(&f, &p, succeed, 0);
    (void)plugin_unref(&p);
    ASSERT_INT(0, freed);
    loop_run(f.loop);
    ASSERT_INT(1, freed);
    fixture_done(&f);
}

TEST_MAIN()

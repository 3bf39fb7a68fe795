/* What the tests of plugins share: a loop, a pool, a directory, and one operation at a time. */
#ifndef BERTH_TESTS_TEST_PLUGINS_H
#define BERTH_TESTS_TEST_PLUGINS_H

#include "tests/unit/test_io.h"

#include "api/object.h"
#include "base/cleanup.h"
#include "plugins/builtin.h"
#include "plugins/registry.h"

/* As in test_kind.h. */
extern struct error err __asm__("tests_err");

struct fixture {
    struct test_dir d;
    struct loop *loop;
    struct pool *pool;
    struct plugin_host host;
    char host_path_dir[TEST_PATH_BYTES * 2];

    struct plugin_op op;
    bool is_done;
    unsigned times_done;
    int r;
    struct error op_err;
};

static inline void fixture_on_done(struct plugin_op *op, int r, const struct error *e)
{
    struct fixture *f = CONTAINER_OF(op, struct fixture, op);

    f->is_done = true;
    f->times_done++;
    f->r = r;
    f->op_err = *e;
}

/* clock: NULL for the system's. */
static inline struct fixture *fixture_new(const struct clock *clock, size_t queued_max)
{
    struct fixture *f = calloc(1, sizeof *f);

    assert_non_null(f);
    f->d = test_dir_new();
    f->loop = new_loop(clock);
    ASSERT_OK(pool_new(f->loop, 1, queued_max, &f->pool, &err));
    (void)snprintf(f->host_path_dir, sizeof f->host_path_dir, "%s/pv", f->d.path);
    f->host = (struct plugin_host){
        .loop = f->loop,
        .pool = f->pool,
        .host_path_dir = f->host_path_dir,
        .provisions_host_path = true,
    };
    return f;
}

static inline struct fixture *fixture_free(struct fixture *f)
{
    plugin_op_drop(&f->op);
    buf_done(&f->op.volume);
    f->pool = pool_free(f->pool);
    f->loop = loop_free(f->loop);
    test_dir_done(&f->d);
    free(f);
    return NULL;
}
DEFINE_CLEANUP(struct fixture, fixture_free)

/* A fresh operation. */
static inline struct plugin_op *fixture_op(struct fixture *f)
{
    plugin_op_drop(&f->op);
    buf_done(&f->op.volume);
    f->op = (struct plugin_op){ .done = fixture_on_done, .volume = BUF_INIT(1 << 16) };
    f->is_done = false;
    f->times_done = 0;
    return &f->op;
}

/* Waits for its end, which must not have come before; the result. */
static inline int fixture_await(struct fixture *f)
{
    assert_false(f->is_done);
    run_until(f->loop, &f->is_done);
    ASSERT_INT(1, f->times_done);
    if (f->r < 0)
        ASSERT_INT(-f->r, f->op_err.code);
    err = f->op_err;
    return f->r;
}

/* An object from JSON whose quotes may be written as '. */
static inline struct object *plugin_object(enum kind kind, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static inline struct object *plugin_object(enum kind kind, const char *format, ...)
{
    struct object *o = NULL;
    struct json scratch;
    char text[8192];
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    assert_true(n > 0 && (size_t)n < sizeof text);
    for (char *at = text; *at; at++)
        if (*at == '\'')
            *at = '"';
    json_init(&scratch, 1 << 20);
    ASSERT_OK(object_decode(kind_info(kind), str_of(text), &scratch, &o, &err));
    json_done(&scratch);
    return o;
}

static inline bool exists(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0;
}

#endif

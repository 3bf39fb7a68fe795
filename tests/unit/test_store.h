/* What the tests of store/ share: objects made in a line, writes that are waited for, logs that fail. */
#ifndef BERTH_TESTS_TEST_STORE_H
#define BERTH_TESTS_TEST_STORE_H

#include "tests/unit/test_io.h"

#include "api/json.h"
#include "api/object.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/rng.h"
#include "store/store.h"
#include "store/store_int.h"

/* A config map (kind KIND_CONFIG_MAP), a class (KIND_CLASS; ns is "") or another kind's least object, whose
 * data or annotation says `value`. */
static inline struct object *make_object(enum kind k, const char *ns, const char *name, int64_t revision,
                                         const char *value)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(8 << 20);
    _cleanup_(buf_done_p) struct buf version = BUF_INIT(128);
    _cleanup_(json_done_p) struct json d;
    struct object *o = NULL;
    struct error err = { 0 };

    json_init(&d, 8 << 20);
    kind_api_version(kind_info(k), &version);
    buf_addf(&text, "{\"kind\":\"%s\",\"apiVersion\":\"%s\",\"metadata\":{\"name\":\"%s\",",
             kind_info(k)->name, buf_cstr(&version), name);
    if (ns[0])
        buf_addf(&text, "\"namespace\":\"%s\",", ns);
    buf_addf(&text, "\"resourceVersion\":\"%lld\",\"annotations\":{\"value\":\"%s\"}}}", (long long)revision,
             value);
    ASSERT_OK(object_decode(kind_info(k), buf_str(&text), &d, &o, &err));
    return o;
}

/* A write and how it ended. */
struct put {
    struct store_write write;
    int64_t revision;
    bool is_done;
    int r;
    struct error err;
    unsigned *order; /* counts the ends */
    unsigned ended_as;
};

static inline void put_on_done(void *ctx, int r, const struct error *err)
{
    struct put *p = ctx;

    assert_false(p->is_done);
    p->is_done = true;
    p->r = r;
    p->err = *err;
    if (p->order)
        p->ended_as = ++*p->order;
}

static inline void put_submit(struct store *s, struct put *p, enum kind k, const char *ns, const char *name,
                              const char *value)
{
    struct object *o;

    p->is_done = false;
    p->revision = store_reserve(s);
    o = make_object(k, ns, name, p->revision, value ? value : "deleted");
    store_submit(s, &p->write, o, !value, put_on_done, p);
    (void)object_unref(o); /* the store has its own */
}

/* Writes (value NULL: deletes) and waits; returns the result. */
static inline int put_in(struct loop *l, struct store *s, enum kind k, const char *ns, const char *name,
                         const char *value)
{
    struct put p = { 0 };

    put_submit(s, &p, k, ns, name, value);
    run_until(l, &p.is_done);
    return p.r;
}

/* The value an object carries; "-" for none. */
static inline const char *value_of(const struct object *o)
{
    return o ? object_annotation(o, "value") : "-";
}

/* "ns/name=value@revision …" of what an iterator gives. */
static inline const char *iter_rest(struct store_iter *it)
{
    static struct buf out = { .len_max = 16 << 20 };
    const struct object *o;

    buf_clear(&out);
    while ((o = store_iter_next(it)))
        buf_addf(&out, "%s%s/%s=%s@%lld", out.len ? " " : "", o->ns, o->name, value_of(o),
                 (long long)o->revision);
    assert_null(store_iter_next(it)); /* the end stays the end */
    store_iter_done(it);
    return buf_cstr(&out);
}

static inline const char *iter_text(const struct store *s, enum kind k, const char *ns, const char *from_ns,
                                    const char *from_name, int64_t at)
{
    struct error err = { 0 };
    struct store_iter it;

    ASSERT_OK(store_iter_begin(&it, s, k, ns, str_of(from_ns), str_of(from_name), at, &err));
    return iter_rest(&it);
}

static inline const char *snapshot_text(const struct store_snapshot *snap, const char *ns,
                                        const char *from_ns, const char *from_name)
{
    struct error err = { 0 };
    struct store_iter it;

    ASSERT_OK(store_iter_begin_snapshot(&it, snap, ns, str_of(from_ns), str_of(from_name), &err));
    return iter_rest(&it);
}

/* "+ns/name=value@revision", "~…" for a change with its old value behind a "<", "-…" for a deletion. */
static inline void event_text(void *ctx, const struct store_event *ev)
{
    struct buf *out = ctx;
    char sign = '~';

    if (ev->is_delete)
        sign = '-';
    else if (!ev->old)
        sign = '+';
    assert_int_equal(ev->revision, ev->object->revision);
    buf_addf(out, "%s%c%s%s%s=%s@%lld", out->len ? " " : "", sign, ev->object->ns,
             ev->object->ns[0] ? "/" : "", ev->object->name, value_of(ev->object), (long long)ev->revision);
    if (ev->old)
        buf_addf(out, "<%s@%lld", value_of(ev->old), (long long)ev->old->revision);
}

static inline bool replay_to(void *ctx, const struct store_event *ev)
{
    event_text(ctx, ev);
    return true;
}

static inline const char *replay_text(const struct store *s, enum kind k, int64_t after)
{
    static struct buf out = { .len_max = 16 << 20 };
    struct error err = { 0 };

    buf_clear(&out);
    ASSERT_OK(store_replay(s, k, after, replay_to, &out, &err));
    return buf_cstr(&out);
}

#endif

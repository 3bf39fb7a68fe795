/* The store's facts: what is committed, namespace by namespace. */
#include "tests/unit/test_store.h"

#include "apiserver/store_lookup.h"

struct world {
    struct manual_clock time;
    struct loop *loop;
    struct store *store;
    struct access_lookup facts;
};

static void world_init(struct world *w)
{
    struct error err = { 0 };

    manual_clock_init(&w->time, 0, 0);
    w->loop = new_loop(&w->time.clock);
    ASSERT_OK(store_open_memory(w->loop, NULL, &w->store, &err));
    w->facts = store_lookup(w->store);
}

static void world_done(struct world *w)
{
    w->store = store_free(w->store);
    w->loop = loop_free(w->loop);
}

static void put(struct world *w, enum kind kind, const char *ns, const char *name)
{
    ASSERT_INT(0, put_in(w->loop, w->store, kind, ns, name, "v"));
}

/* What was visited, up to the pod of this name. */
struct visit {
    const char *until;
    char names[256];
};

static bool on_pod(void *arg, const struct pod *p)
{
    struct visit *v = arg;
    size_t len = strlen(v->names);

    (void)snprintf(v->names + len, sizeof v->names - len, " %s/%s", p->obj.ns, p->obj.name);
    return strcmp(p->obj.name, v->until) == 0;
}

TEST(pods_by_namespace)
{
    static const struct {
        const char *ns;
        const char *until;
        const char *names;
        bool found;
    } rows[] = {
        { "shop", "none", " shop/a shop/b", false },
        { "shop", "a", " shop/a", true },
        { "sho", "none", "", false },
        { "shops", "none", " shops/d", false },
        { "", "none", " bank/c shop/a shop/b shops/d", false },
        { "", "c", " bank/c", true },
    };
    struct world w;

    world_init(&w);
    put(&w, KIND_POD, "shop", "b");
    put(&w, KIND_POD, "shop", "a");
    put(&w, KIND_POD, "bank", "c");
    put(&w, KIND_POD, "shops", "d");
    put(&w, KIND_CONFIG_MAP, "shop", "x");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct visit v = { .until = rows[i].until };
        ASSERT_INT(rows[i].found, w.facts.any_pod(w.facts.ctx, rows[i].ns, on_pod, &v));
        ASSERT_STR(rows[i].names, v.names);
    }
    world_done(&w);
}

TEST(objects_that_are_committed)
{
    struct world w;
    struct put p = { 0 };

    world_init(&w);
    put_submit(w.store, &p, KIND_SECRET, "shop", "s", "v");
    assert_null(w.facts.get(w.facts.ctx, KIND_SECRET, "shop", "s"));
    run_until(w.loop, &p.is_done);
    assert_non_null(w.facts.get(w.facts.ctx, KIND_SECRET, "shop", "s"));
    assert_null(w.facts.get(w.facts.ctx, KIND_SECRET, "bank", "s"));
    assert_null(w.facts.get(w.facts.ctx, KIND_CONFIG_MAP, "shop", "s"));
    put(&w, KIND_NODE, "", "n1");
    ASSERT_STR("n1", w.facts.get(w.facts.ctx, KIND_NODE, "", "n1")->name);
    world_done(&w);
}

TEST_MAIN()

/* For the tests of binding: objects made in one go, whatever the server thinks of them, and what the binder
 * wrote in short. */
#ifndef BERTH_TESTS_TEST_BINDER_PAIRS_H
#define BERTH_TESTS_TEST_BINDER_PAIRS_H

#include "tests/unit/test_binder.h"

#include "base/log.h"

#define ROX "'ReadOnlyMany'"
#define RWX "'ReadWriteMany'"
#define RWOP "'ReadWriteOncePod'"

/* The uid of a claim, to be put into a volume. */
static inline void uid_of_claim(struct world *w, const char *name, char to[static 64])
{
    look_at_claim(w, name);
    uid_of_last(w, to);
}

/* "'claimRef':{…}" with a comma in front, for this claim; uid "" for a reservation by name. */
static inline const char *claim_ref(const char *name, const char *uid)
{
    static char text[512];

    (void)snprintf(
        text, sizeof text,
        ",'claimRef':{'apiVersion':'v1','kind':'PersistentVolumeClaim','namespace':'default','name'"
        ":'%s'%s%s%s}",
        name, uid[0] ? ",'uid':'" : "", uid, uid[0] ? "'" : "");
    return text;
}

/* Nobody protects it any more: it goes. */
static inline void delete_volume(struct world *w, const char *name)
{
    char path[512];

    (void)snprintf(path, sizeof path, VOLUMES "/%s", name);
    ASSERT_SENT(&w->served, 200, "MERGE", path, "{'metadata':{'finalizers':null}}");
    ASSERT_SENT(&w->served, 200, "DELETE", path, NULL);
}

/* Its finalizer keeps it. */
static inline void mark_volume(struct world *w, const char *name)
{
    char path[512];

    (void)snprintf(path, sizeof path, VOLUMES "/%s", name);
    ASSERT_SENT(&w->served, 200, "DELETE", path, NULL);
    ASSERT_SENT(&w->served, 200, "GET", path, NULL);
    assert_string_not_equal(got(&w->served, "metadata/deletionTimestamp"), "-");
}

/* Which row it is; in a replay the number of the world says that. */
static inline void note_row(const char *label, int order)
{
    if (!plan.on_end)
        print_message("%s, order %d\n", label, order);
}

/* --- Past the server's checks --- */

struct planting {
    struct store_write write;
    bool is_done;
};

static inline void on_planted(void *ctx, int r, const struct error *e)
{
    struct planting *x = ctx;

    (void)e;
    ASSERT_INT(0, r);
    x->is_done = true;
}

/* What no server would take, as another server's data may have it. %lld in the text: its resourceVersion. */
static inline void plant(struct world *w, enum kind kind, const char *text)
{
    int64_t revision = store_reserve(w->served.store);
    struct planting x = { 0 };
    char filled[4096];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    (void)snprintf(filled, sizeof filled, text, (long long)revision);
#pragma GCC diagnostic pop
    _cleanup_(object_unref_p) struct object *o = kind_object(kind, filled);
    store_submit(w->served.store, &x.write, o, false, on_planted, &x);
    while (!x.is_done)
        (void)loop_poll(w->served.loop);
    served_settle(&w->served);
}

/* --- What was logged --- */

struct overheard {
    struct logger logger;
    struct buf text;
};

static inline void on_overheard(void *ctx, const char *line, size_t len)
{
    struct overheard *x = ctx;

    buf_add(&x->text, line, len);
}

/* From here on the errors that are logged; ends with overhear_done(). */
static inline void overhear(struct overheard *x, const struct world *w)
{
    *x = (struct overheard){ .text = BUF_INIT((size_t)1 << 20) };
    x->logger = (struct logger){ LOG_LEVEL_ERROR, LOG_FORMAT_JSON, &w->served.clock.clock, on_overheard, x };
    log_install(&x->logger);
}

/* How often it was said: as JSON, with its escapes. */
static inline unsigned overheard_count(struct overheard *x, const char *words)
{
    unsigned count = 0;

    for (const char *at = buf_cstr(&x->text); (at = strstr(at, words)); at++)
        count++;
    return count;
}

static inline void overhear_done(struct overheard *x)
{
    log_install(NULL);
    buf_done(&x->text);
}

/* --- What was written --- */

/* "v/p v/p/status c/c c/c/status": the writes in their order. */
static inline const char *written(const struct world *w)
{
    static char text[4096];
    struct str rest = buf_str(&w->log);
    size_t len = 0;

    text[0] = '\0';
    while (rest.len) {
        struct str line = str_next(&rest, '\n');
        struct str path = str_next(&line, '?');
        const char *last = strstr(path.s, "/persistentvolumes/");
        bool is_volume = last && last < path.s + path.len;
        const char *from = is_volume ? last + strlen("/persistentvolumes/") : NULL;

        if (!is_volume) {
            last = strstr(path.s, "/persistentvolumeclaims/");
            assert_non_null(last);
            from = last + strlen("/persistentvolumeclaims/");
        }
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%c/%.*s", len ? " " : "",
                                is_volume ? 'v' : 'c', (int)(path.s + path.len - from), from);
        assert_true(len < sizeof text);
    }
    return text;
}

static inline void assert_written(const struct world *w, const char *expected)
{
    if (plan.fault == TAP_NONE || expected[0] == '\0')
        ASSERT_STR(expected, written(w));
}

static inline void forget_writes(struct world *w)
{
    buf_clear(&w->log);
    w->writes = 0;
    w->requests = 0;
}

/* Events about an object, but for the one that says it is bound. */
static inline unsigned count_other_events(struct world *w, const char *object)
{
    unsigned count = 0;

    ASSERT_SENT(&w->served, 200, "GET", "/api/v1/events", NULL);
    for (size_t i = 0, n = got_items(&w->served); i < n; i++)
        count +=
            event_is(w, i, object, /* reason= */ NULL) && strcmp(event_text(w, i, "reason"), "Bound") != 0;
    return count;
}

/* Nothing but that it is bound. While a fault keeps volumes from being Available there are none: that may
 * have been told. */
static inline void assert_silent(struct world *w, const char *object)
{
    unsigned count = count_other_events(w, object);

    if (plan.fault != TAP_NONE)
        count -= count_events(w, object, "FailedBinding", NO_VOLUMES);
    ASSERT_INT(0, count);
}

/* One event of the reason, with these words, told once; and no other. */
static inline void assert_only_event(struct world *w, const char *object, const char *type,
                                     const char *reason, const char *message)
{
    assert_times(1, count_other_events(w, object));
    assert_times(1, count_events(w, object, reason, message));
    for (size_t i = 0, n = got_items(&w->served); i < n; i++) {
        char path[128];

        (void)snprintf(path, sizeof path, "items/%zu/reason", i);
        if (strcmp(got(&w->served, path), reason) != 0)
            continue;
        (void)snprintf(path, sizeof path, "items/%zu/type", i);
        ASSERT_STR(type, got(&w->served, path));
        (void)snprintf(path, sizeof path, "items/%zu/count", i);
        assert_times(1, (unsigned)strtoul(got(&w->served, path), NULL, 10));
    }
}

static inline void assert_waits(struct world *w, const char *claim)
{
    ASSERT_CLAIM(w, claim, "Pending", "status/phase");
    ASSERT_GOT(&w->served, "-", "spec/volumeName");
    ASSERT_GOT(&w->served, "-", "status/capacity");
    ASSERT_GOT(&w->served, "-", "status/accessModes");
    assert_string_equal(annotation(w, ANN_BIND_COMPLETED), "-");
}

#endif

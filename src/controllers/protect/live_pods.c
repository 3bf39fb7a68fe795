#include "controllers/protect/live_pods.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "api/pod_claims.h"
#include "base/log.h"
#include "base/map.h"
#include "base/vec.h"

#define PAGE_COUNT 500

struct question {
    STAILQ_ENTRY(question) link;
    size_t len;
    char key[];
};

STAILQ_HEAD(questions, question);

/* A claim's name, and a pod that has a volume of it. */
struct use {
    const char *name; /* in the pod */
    const struct pod *pod;
};

/* A namespace that is asked about. */
struct live_list {
    TAILQ_ENTRY(live_list) link;
    struct live_pods *owner;
    struct questions waiting; /* for the next list */
    struct questions asked;   /* of the one on its way */
    struct api_write read;    /* a page */
    VEC(struct object *) pods;
    VEC(struct use) uses;
    char ns[];
};

struct live_pods {
    struct live_pods_options options;
    struct map by_ns;
    TAILQ_HEAD(, live_list) lists; /* in the order of their first question */
    struct deferred send;
};

/* --- Memory --- */

static void questions_free(struct questions *q)
{
    while (!STAILQ_EMPTY(q)) {
        struct question *first = STAILQ_FIRST(q);

        STAILQ_REMOVE_HEAD(q, link);
        free(first);
    }
}

static void list_clear(struct live_list *x)
{
    for (size_t i = 0; i < x->pods.count; i++)
        (void)object_unref(x->pods.items[i]);
    vec_done(&x->pods);
    vec_done(&x->uses);
    questions_free(&x->asked);
}

static void list_free(struct live_list *x)
{
    TAILQ_REMOVE(&x->owner->lists, x, link);
    (void)map_remove(&x->owner->by_ns, str_of(x->ns));
    api_write_cancel(&x->read);
    list_clear(x);
    questions_free(&x->waiting);
    free(x);
}

static struct live_list *list_of(struct live_pods *l, struct str ns)
{
    struct live_list *x = map_get(&l->by_ns, ns);

    if (x)
        return x;
    x = calloc(1, sizeof *x + ns.len + 1);
    if (!x)
        return NULL;
    memcpy(x->ns, ns.s, ns.len);
    if (map_put(&l->by_ns, str_of(x->ns), x, NULL) < 0) {
        free(x);
        return NULL;
    }
    x->owner = l;
    STAILQ_INIT(&x->waiting);
    STAILQ_INIT(&x->asked);
    TAILQ_INSERT_TAIL(&l->lists, x, link);
    return x;
}

/* --- The list --- */

static int use_cmp(const void *a, const void *b)
{
    return strcmp(((const struct use *)a)->name, ((const struct use *)b)->name);
}

static int list_add_pod(struct live_list *x, struct object *o)
{
    const struct pod *p = pod_of(o);
    bool is_kept = false;

    for (uint32_t i = 0; i < p->volumes.count; i++) {
        const char *name = pod_claim_name(&p->volumes.items[i]);
        int r = 0;

        if (!name)
            continue;
        if (!is_kept)
            r = vec_push(&x->pods, object_ref(o));
        if (r == 0)
            r = vec_push(&x->uses, (struct use){ name, p });
        if (r < 0)
            return r;
        is_kept = true;
    }
    return 0;
}

static int list_add_page(struct live_list *x, const struct client_list *page)
{
    for (size_t i = 0; i < page->count; i++)
        if (list_add_pod(x, page->items[i]) < 0)
            return -ERR_NO_MEMORY;
    return 0;
}

/* The first use of that name; their count comes out. */
static size_t list_find(const struct live_list *x, const char *name, size_t *ret_count)
{
    size_t low = 0, high = x->uses.count, end;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (strcmp(x->uses.items[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (end = low; end < x->uses.count && strcmp(x->uses.items[end].name, name) == 0;)
        end++;
    *ret_count = end - low;
    return low;
}

static int list_answer_one(struct live_list *x, const struct question *q)
{
    VEC(const struct pod *) pods = { 0 };
    struct str key = { q->key, q->len };
    size_t count, first = list_find(x, strchr(q->key, '/') + 1, &count);
    int r = vec_reserve(&pods, count);

    for (size_t i = 0; r == 0 && i < count; i++)
        pods.items[pods.count++] = x->uses.items[first + i].pod;
    x->owner->options.fn(x->owner->options.ctx, key, r, pods.items, pods.count);
    vec_done(&pods);
    return r;
}

static void list_send(struct live_list *x, const char *token);

/* Tells everybody who asked, and goes on with those who came since. */
static void list_end(struct live_list *x, int r)
{
    const struct live_pods_options *o = &x->owner->options;
    struct question *q;

    if (x->uses.count)
        qsort(x->uses.items, x->uses.count, sizeof x->uses.items[0], use_cmp);
    STAILQ_FOREACH(q, &x->asked, link)
    if (r < 0)
        o->fn(o->ctx, (struct str){ q->key, q->len }, r, NULL, 0);
    else
        (void)list_answer_one(x, q); /* its own failure is told */
    list_clear(x);
    if (STAILQ_EMPTY(&x->waiting))
        list_free(x);
    else
        list_send(x, NULL);
}

static void on_page(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct live_list *x = ctx;
    int r = a->r;

    (void)outcome;
    if (r == 0)
        r = list_add_page(x, &a->list);
    if (r == 0 && a->list.undecodable > 0) {
        /* A pod that cannot be read may use anything. */
        log_warn("a pod cannot be read, its namespace's claims stay", LOG_STR("namespace", x->ns),
                 LOG_UINT("pods", a->list.undecodable));
        r = -ERR_BAD_REQUEST;
    } else if (r < 0) {
        log_warn("cannot list pods, will try again", LOG_STR("namespace", x->ns), LOG_ERR(&a->error));
    }
    if (r == 0 && a->list.continue_token[0] != '\0')
        list_send(x, a->list.continue_token);
    else
        list_end(x, r);
}

/* Without a version: as the server has them now, not as some cache of its own does. */
static void list_send(struct live_list *x, const char *token)
{
    struct api_write_options o = { .api = *x->owner->options.api,
                                   .request = { .verb = CLIENT_LIST,
                                                .kind = kind_info(KIND_POD),
                                                .ns = x->ns,
                                                .limit = PAGE_COUNT,
                                                .continue_token = token },
                                   .done = on_page,
                                   .ctx = x };

    if (!token)
        STAILQ_CONCAT(&x->asked, &x->waiting);
    api_write_start(&x->read, &o);
}

static void on_send(void *ctx)
{
    struct live_pods *l = ctx;
    struct live_list *x;

    TAILQ_FOREACH(x, &l->lists, link)
    if (!api_write_is_active(&x->read))
        list_send(x, NULL);
}

/* --- Life --- */

int live_pods_new(const struct live_pods_options *o, struct live_pods **ret, struct error *err)
{
    struct live_pods *l = calloc(1, sizeof *l);

    if (!l)
        return error_no_memory(err);
    l->options = *o;
    map_init(&l->by_ns, o->seed);
    TAILQ_INIT(&l->lists);
    deferred_init(&l->send, o->api->loop, on_send, l);
    *ret = l;
    return 0;
}

struct live_pods *live_pods_free(struct live_pods *l)
{
    struct live_list *next;

    if (!l)
        return NULL;
    loop_undefer(&l->send);
    for (struct live_list *x = TAILQ_FIRST(&l->lists); x; x = next) {
        next = TAILQ_NEXT(x, link);
        list_free(x);
    }
    map_done(&l->by_ns);
    free(l);
    return NULL;
}

int live_pods_ask(struct live_pods *l, struct str key)
{
    struct str rest = key, ns = str_next(&rest, '/');
    struct question *q = calloc(1, sizeof *q + key.len + 1);
    struct live_list *x;

    assert(rest.s);
    if (!q)
        return -ERR_NO_MEMORY;
    q->len = key.len;
    memcpy(q->key, key.s, key.len);
    x = list_of(l, ns);
    if (!x) {
        free(q);
        return -ERR_NO_MEMORY;
    }
    STAILQ_INSERT_TAIL(&x->waiting, q, link);
    if (!api_write_is_active(&x->read))
        loop_defer(&l->send);
    return 0;
}

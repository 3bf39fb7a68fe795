/* Lists of pods by namespace, read from the server in pages of PAGE_COUNT.
 *
 * At most one list per namespace is in flight. Requests that arrive meanwhile wait for the next list, because
 * a list proves nothing about what happened after it was requested. Pods are kept until the list is complete;
 * the uses are then sorted, so that each request costs O(log n). */
#include "controllers/protect/live_pods.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "api/pod_claims.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mutant.h"
#include "base/tailq.h"
#include "base/vec.h"

#define PAGE_COUNT 500

struct pods_request {
    STAILQ_ENTRY(pods_request) link;
    struct object *about; /* the claim at the time of the request */
    size_t len;
    char key[];
};

STAILQ_HEAD(pods_requests, pods_request);

/* A pod that uses a claim, by the claim's name. */
struct claim_use {
    const char *name; /* borrowed from the pod */
    const struct pod *pod;
};

/* A namespace with requests. */
struct live_list {
    TAILQ_ENTRY(live_list) link;
    struct live_pods *owner;
    struct pods_requests waiting;   /* for the next list */
    struct pods_requests in_flight; /* for the list in flight */
    struct api_write read;          /* of a page */
    VEC(struct object *) pods;
    VEC(struct claim_use) uses;
    char ns[];
};

struct live_pods {
    struct live_pods_options options;
    struct map by_ns;
    TAILQ_HEAD(, live_list) lists; /* in the order of their first request */
    struct deferred send;
};

/* --- Memory --- */

static void requests_free(struct pods_requests *q)
{
    while (!STAILQ_EMPTY(q)) {
        struct pods_request *first = STAILQ_FIRST(q);

        STAILQ_REMOVE_HEAD(q, link);
        (void)object_unref(first->about);
        free(first);
    }
}

static void list_clear(struct live_list *pods_list)
{
    for (size_t i = 0; i < pods_list->pods.count; i++)
        (void)object_unref(pods_list->pods.items[i]);
    vec_done(&pods_list->pods);
    vec_done(&pods_list->uses);
    if (!MUTANT("protect-answers-twice"))
        requests_free(&pods_list->in_flight);
}

static void list_free(struct live_list *pods_list)
{
    TAILQ_REMOVE(&pods_list->owner->lists, pods_list, link);
    (void)map_remove(&pods_list->owner->by_ns, str_of(pods_list->ns));
    api_write_cancel(&pods_list->read);
    list_clear(pods_list);
    requests_free(&pods_list->in_flight);
    requests_free(&pods_list->waiting);
    free(pods_list);
}

static struct live_list *list_of(struct live_pods *l, struct str ns)
{
    struct live_list *pods_list = map_get(&l->by_ns, ns);

    if (pods_list)
        return pods_list;
    pods_list = calloc(1, sizeof *pods_list + ns.len + 1);
    if (!pods_list)
        return NULL;
    memcpy(pods_list->ns, ns.s, ns.len);
    if (map_put(&l->by_ns, str_of(pods_list->ns), pods_list, NULL) < 0) {
        free(pods_list);
        return NULL;
    }
    pods_list->owner = l;
    STAILQ_INIT(&pods_list->waiting);
    STAILQ_INIT(&pods_list->in_flight);
    TAILQ_INSERT_TAIL(&l->lists, pods_list, link);
    return pods_list;
}

/* --- The list --- */

static int use_cmp(const void *a, const void *b)
{
    return strcmp(((const struct claim_use *)a)->name, ((const struct claim_use *)b)->name);
}

static int list_add_pod(struct live_list *pods_list, struct object *o)
{
    const struct pod *p = pod_of(o);
    bool is_kept = false;

    for (uint32_t i = 0; i < p->volumes.count; i++) {
        const char *name = pod_claim_name(&p->volumes.items[i]);
        int r = 0;

        if (!name)
            continue;
        if (!is_kept)
            r = vec_push(&pods_list->pods, object_ref(o));
        if (r == 0)
            r = vec_push(&pods_list->uses, (struct claim_use){ name, p });
        if (r < 0)
            return r;
        is_kept = true;
    }
    return 0;
}

/* The index of the first use of that name, and their number. */
static size_t list_find(const struct live_list *pods_list, const char *name, size_t *ret_count)
{
    size_t low = 0, high = pods_list->uses.count, end;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (strcmp(pods_list->uses.items[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (end = low; end < pods_list->uses.count && strcmp(pods_list->uses.items[end].name, name) == 0;)
        end++;
    *ret_count = end - low;
    return low;
}

static int list_answer_one(struct live_list *pods_list, const struct pods_request *q)
{
    VEC(const struct pod *) pods = { 0 };
    struct str key = { q->key, q->len };
    size_t count, first = list_find(pods_list, strchr(q->key, '/') + 1, &count);
    int r = vec_reserve(&pods, count);

    for (size_t i = 0; r == 0 && i < count; i++)
        pods.items[pods.count++] = pods_list->uses.items[first + i].pod;
    pods_list->owner->options.fn(pods_list->owner->options.ctx, key, q->about, r, pods.items, pods.count);
    vec_done(&pods);
    return r;
}

static void list_send(struct live_list *pods_list, const char *token);

/* Answers the requests of this list; requests that arrived meanwhile start the next one. */
static void list_end(struct live_list *pods_list, int r)
{
    const struct live_pods_options *o = &pods_list->owner->options;
    struct pods_request *q;

    if (pods_list->uses.count)
        qsort(pods_list->uses.items, pods_list->uses.count, sizeof pods_list->uses.items[0], use_cmp);
    STAILQ_FOREACH(q, &pods_list->in_flight, link)
        if (r < 0)
            o->fn(o->ctx, (struct str){ q->key, q->len }, q->about, r, NULL, 0);
        else
            (void)list_answer_one(pods_list, q); /* reports its own failure */
    list_clear(pods_list);
    if (STAILQ_EMPTY(&pods_list->waiting))
        list_free(pods_list);
    else
        list_send(pods_list, NULL);
}

static void on_page(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct live_list *pods_list = ctx;
    int r = a->r;

    (void)outcome;
    for (size_t i = 0; r == 0 && i < a->list.count; i++)
        r = list_add_pod(pods_list, a->list.items[i]);
    if (r == 0 && a->list.undecodable > 0) {
        /* An undecodable pod may use any claim. */
        log_warn("cannot decode pods, claims of their namespace stay protected",
                 LOG_STR("namespace", pods_list->ns), LOG_UINT("pods", a->list.undecodable));
        r = -ERR_BAD_REQUEST;
    } else if (r < 0) {
        log_warn("cannot list pods, will retry", LOG_STR("namespace", pods_list->ns), LOG_ERR(&a->error));
    }
    if (r == 0 && a->list.continue_token[0] != '\0')
        list_send(pods_list, a->list.continue_token);
    else
        list_end(pods_list, r);
}

/* Without a resourceVersion: the server answers from its store, not from a cache. */
static void list_send(struct live_list *pods_list, const char *token)
{
    struct api_write_options o = { .api = *pods_list->owner->options.api,
                                   .request = { .verb = CLIENT_LIST,
                                                .kind = kind_info(KIND_POD),
                                                .ns = pods_list->ns,
                                                .limit = PAGE_COUNT,
                                                .continue_token = token },
                                   .done = on_page,
                                   .ctx = pods_list };

    if (!token)
        STAILQ_CONCAT(&pods_list->in_flight, &pods_list->waiting);
    api_write_start(&pods_list->read, &o);
}

static void on_send(void *ctx)
{
    struct live_pods *l = ctx;
    struct live_list *pods_list;

    TAILQ_FOREACH(pods_list, &l->lists, link)
        if (!api_write_is_active(&pods_list->read))
            list_send(pods_list, NULL);
}

/* --- Lifecycle --- */

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
    for (struct live_list *pods_list = TAILQ_FIRST(&l->lists); pods_list; pods_list = next) {
        next = TAILQ_NEXT(pods_list, link);
        list_free(pods_list);
    }
    map_done(&l->by_ns);
    free(l);
    return NULL;
}

int live_pods_request(struct live_pods *l, struct str key, const struct object *about)
{
    struct str rest = key, ns = str_next(&rest, '/');
    struct pods_request *q = calloc(1, sizeof *q + key.len + 1);
    struct live_list *pods_list;

    assert(rest.s);
    if (!q)
        return -ERR_NO_MEMORY;
    q->len = key.len;
    memcpy(q->key, key.s, key.len);
    pods_list = list_of(l, ns);
    if (!pods_list) {
        free(q);
        return -ERR_NO_MEMORY;
    }
    q->about = object_ref(about);
    STAILQ_INSERT_TAIL(&pods_list->waiting, q, link);
    if (!api_write_is_active(&pods_list->read))
        loop_defer(&l->send);
    return 0;
}

/* --- For the simulator --- */

/* Adds their number to *count. */
static const char *requests_check(const struct pods_requests *all, const struct live_list *pods_list,
                                  const struct workqueue *w, size_t *count)
{
    size_t len = strlen(pods_list->ns);
    const struct pods_request *q;

    STAILQ_FOREACH(q, all, link) {
        struct str key = { q->key, q->len };

        if (++*count > workqueue_processing(w))
            return "more requests for pods than claims in process";
        if (key.len <= len || strncmp(q->key, pods_list->ns, len) != 0 || q->key[len] != '/')
            return "a request is in the list of another namespace";
        if (!workqueue_is_processing(w, key))
            return "a request is for a claim that is not in process";
    }
    return NULL;
}

const char *live_pods_check(const struct live_pods *l, const struct workqueue *w)
{
    size_t lists, requests = 0;
    const struct live_list *pods_list;

    if (!tailq_is_sound(&l->lists, offsetof(struct live_list, link), l->by_ns.count, &lists) ||
        lists != l->by_ns.count)
        return "lists of pods and their map disagree";
    TAILQ_FOREACH(pods_list, &l->lists, link) {
        bool is_sent = api_write_is_active(&pods_list->read);
        const char *wrong = requests_check(&pods_list->in_flight, pods_list, w, &requests);

        if (!wrong)
            wrong = requests_check(&pods_list->waiting, pods_list, w, &requests);
        if (wrong)
            return wrong;
        if (pods_list->owner != l || map_get(&l->by_ns, str_of(pods_list->ns)) != pods_list)
            return "a list of pods is stored under another namespace";
        if (STAILQ_EMPTY(&pods_list->in_flight) == is_sent)
            return "a list of pods is in flight without a request, or requests wait for no list";
        if (!is_sent && (STAILQ_EMPTY(&pods_list->waiting) || l->send.round == 0))
            return "requests wait, and no list is scheduled";
    }
    return NULL;
}

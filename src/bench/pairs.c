/* A server on the SQLite store with pairs of volumes and claims, and the components that work on them, all on
 * one loop.
 *
 * The components' client counts their requests. Objects are created through the API, or written straight into
 * the store to save time. The first failure sticks in p->r and p->err. */
#include "bench/pairs.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/claim.h"
#include "api/schema.h"
#include "api/uid.h"
#include "apiserver/local_client.h"
#include "bench/bench_wait.h"
#include "controllers/attach/attach.h"
#include "daemon/settings.h"
#include "io/path.h"
#include "machinery/metrics.h"
#include "scheduler/scheduler.h"

#define NAME_BYTES 48
#define BATCH STORE_BATCH_MAX
#define CLAIM_PREFIX "claim-"
#define DOC_BYTES_MAX ((size_t)1 << 20)
/* The controllers count as idle after this time without a request. */
#define QUIET_NS (200 * NS_PER_MS)

/* --- Counting --- */

static struct pairs_carrier *carrier_of(struct client_carrier *c)
{
    return CONTAINER_OF(c, struct pairs_carrier, carrier);
}

static void carrier_start(struct client_carrier *c, struct client_attempt *a)
{
    struct pairs_carrier *carrier = carrier_of(c);
    const struct client_request *q = a->request;
    bool is_binder = q->field_manager && strcmp(q->field_manager, "berth-binder") == 0;

    if (q->kind && (q->kind->kind == KIND_EVENT || q->kind->kind == KIND_EVENT_V1))
        carrier->counts.events++;
    else if (q->verb != CLIENT_PATCH)
        carrier->counts.reads++;
    else if (!is_binder)
        carrier->counts.other_patches++;
    else if (q->kind && q->kind->kind == KIND_VOLUME)
        carrier->counts.volume_patches++;
    else
        carrier->counts.claim_patches++;
    carrier->next->type->start(carrier->next, a);
}

static void carrier_cancel(struct client_carrier *c, struct client_attempt *a)
{
    struct client_carrier *next = carrier_of(c)->next;

    next->type->cancel(next, a);
}

static void carrier_free(struct client_carrier *c)
{
    struct client_carrier *next = carrier_of(c)->next;

    next->type->free(next);
}

static const struct client_carrier_type carrier_type = { carrier_start, carrier_cancel, carrier_free };

static void count_attempt(void *ctx, const char *method, int code, uint64_t took_ns)
{
    struct pairs *p = ctx;

    (void)method;
    (void)took_ns;
    p->carrier.counts.refused += code >= 400;
}

static void ignore_retry(void *ctx, const char *method, int code)
{
    (void)ctx;
    (void)method;
    (void)code;
}

static void ignore_wait(void *ctx, const char *method, uint64_t waited_ns)
{
    (void)ctx;
    (void)method;
    (void)waited_ns;
}

/* --- Observing --- */

static void on_claim(void *ctx, const struct store_event *ev)
{
    struct pairs *p = ctx;
    uint64_t n;

    if (ev->is_delete || claim_of(ev->object)->phase != CLAIM_BOUND ||
        !str_has_prefix(str_of(ev->object->name), CLAIM_PREFIX) ||
        !str_to_uint64(str_of(ev->object->name + sizeof CLAIM_PREFIX - 1), &n) || n >= p->count ||
        p->bound_ns[n])
        return;
    p->bound_ns[n] = clock_mono_ns(p->clock);
    p->bound++;
}

/* --- Objects --- */

static void pairs_fail(struct pairs *p, int r, const struct error *err)
{
    if (r < 0 && p->r == 0) {
        p->r = r;
        p->err = *err;
    }
}

void pairs_begin_object(struct pairs *p, struct buf *b, enum kind k, const char *series, uint64_t n)
{
    char version[RESOURCE_VERSION_BYTES];

    json_out_object(b, NULL);
    json_out_text(b, "kind", kind_info(k)->name);
    kind_write_api_version(kind_info(k), b);
    json_out_object(b, "metadata");
    if (!series)
        return;
    resource_version_format(store_reserve(p->store), version);
    json_out_textf(b, "uid", PAIRS_UID, series, n);
    json_out_text(b, "resourceVersion", version);
    json_out_text(b, "creationTimestamp", "2026-01-02T03:04:05Z");
}

void pairs_write_pod_spec(struct buf *b, uint64_t n)
{
    json_out_raw(
        b, "containers",
        STR_LIT("[{\"name\":\"c\",\"image\":\"shop\",\"volumeMounts\":[{\"name\":\"data\",\"mountPath\":"
                "\"/data\"}]}]"));
    json_out_array(b, "volumes");
    json_out_object(b, NULL);
    json_out_text(b, "name", "data");
    json_out_object(b, "persistentVolumeClaim");
    json_out_textf(b, "claimName", "claim-%" PRIu64, n);
    json_out_end_object(b);
    json_out_end_object(b);
    json_out_end_array(b);
}

static void write_claim_ref(struct buf *b, const char *claim, const char *claim_uid)
{
    json_out_object(b, "claimRef");
    json_out_text(b, "kind", "PersistentVolumeClaim");
    json_out_text(b, "namespace", PAIRS_NS);
    json_out_text(b, "name", claim);
    json_out_text(b, "uid", claim_uid);
    json_out_text(b, "apiVersion", "v1");
    json_out_end_object(b);
}

/* Writes the rest of a volume whose body was begun; claim "": none. */
static void write_volume(struct buf *b, const char *name, const char *claim, const char *claim_uid,
                         struct str status)
{
    json_out_text(b, "name", name);
    json_out_raw(b, "labels", STR_LIT("{\"app\":\"shop\"}"));
    json_out_end_object(b);
    json_out_object(b, "spec");
    json_out_raw(b, "capacity", STR_LIT("{\"storage\":\"10Gi\"}"));
    json_out_object(b, "hostPath");
    json_out_textf(b, "path", "/srv/volumes/%s", name);
    json_out_text(b, "type", "");
    json_out_end_object(b);
    json_out_raw(b, "accessModes", STR_LIT("[\"ReadWriteOnce\"]"));
    if (claim[0])
        write_claim_ref(b, claim, claim_uid);
    json_out_text(b, "persistentVolumeReclaimPolicy", "Retain");
    json_out_text(b, "storageClassName", "manual");
    json_out_text(b, "volumeMode", "Filesystem");
    json_out_end_object(b);
    json_out_raw(b, "status", status);
    json_out_end_object(b);
}

/* The same for a claim. */
static void write_claim(struct buf *b, const char *name, const char *volume, struct str status)
{
    json_out_text(b, "name", name);
    json_out_text(b, "namespace", PAIRS_NS);
    json_out_raw(b, "labels", STR_LIT("{\"app\":\"shop\"}"));
    json_out_end_object(b);
    json_out_object(b, "spec");
    json_out_raw(b, "accessModes", STR_LIT("[\"ReadWriteOnce\"]"));
    json_out_raw(b, "resources", STR_LIT("{\"requests\":{\"storage\":\"10Gi\"}}"));
    if (volume[0])
        json_out_text(b, "volumeName", volume);
    json_out_text(b, "storageClassName", "manual");
    json_out_text(b, "volumeMode", "Filesystem");
    json_out_end_object(b);
    json_out_raw(b, "status", status);
    json_out_end_object(b);
}

/* --- Straight into the store --- */

#define RELEASED "{\"phase\":\"Released\",\"lastPhaseTransitionTime\":\"2026-01-02T03:04:06Z\"}"
#define BOUND "{\"phase\":\"Bound\",\"lastPhaseTransitionTime\":\"2026-01-02T03:04:06Z\"}"
#define CLAIM_STATUS                                                                                \
    "{\"phase\":\"Bound\",\"accessModes\":[\"ReadWriteOnce\"],\"capacity\":{\"storage\":\"10Gi\"}," \
    "\"conditions\":[{\"type\":\"Unused\",\"status\":\"True\",\"lastTransitionTime\":"              \
    "\"2026-01-02T03:04:07Z\",\"reason\":\"NoPodsUsingPVC\",\"message\":\"No pods are currently "   \
    "referencing this PVC\"}]}"

struct batch {
    struct pairs *p;
    struct json doc;
    struct store_write writes[BATCH];
    size_t count;
    size_t writing;
};

static void on_stored(void *ctx, int r, const struct error *err)
{
    struct batch *b = ctx;

    b->writing--;
    pairs_fail(b->p, r, err);
}

static void batch_flush(struct batch *b)
{
    while (b->writing > 0)
        loop_run_once(b->p->loop);
    b->count = 0;
}

static void batch_add(struct batch *b, enum kind k, struct str text)
{
    struct object *o = NULL;
    struct error err;
    json_ref v;
    int r;

    json_clear(&b->doc);
    r = json_parse(&b->doc, text, &v, &err);
    if (r == 0)
        r = schema_normalize(kind_info(k)->schema, &b->doc, v, SCHEMA_KEEP_UNKNOWN, /* report= */ NULL, &err);
    if (r == 0)
        r = object_new(kind_info(k), &b->doc, v, &o, &err);
    pairs_fail(b->p, r, &err);
    if (!o)
        return;
    b->writing++;
    store_submit(b->p->store, &b->writes[b->count++], o, /* is_delete= */ false, on_stored, b);
    (void)object_unref(o);
    if (b->count == BATCH)
        batch_flush(b);
}

static void begin_old_object(struct pairs *p, struct buf *b, enum kind k, const char *series, uint64_t n)
{
    buf_clear(b);
    pairs_begin_object(p, b, k, series, n);
    json_out_array(b, "finalizers");
    json_out_textf(b, NULL, "kubernetes.io/%s-protection", k == KIND_CLAIM ? "pvc" : "pv");
    json_out_end_array(b);
    json_out_object(b, "annotations");
    if (k == KIND_CLAIM)
        json_out_text(b, ANN_BIND_COMPLETED, "yes");
    json_out_text(b, ANN_BOUND_BY_CONTROLLER, "yes");
    json_out_end_object(b);
}

static void add_old_volume(struct batch *b, uint64_t n, bool is_bound)
{
    char name[NAME_BYTES], claim[NAME_BYTES], claim_uid[UID_BYTES], text[PAIRS_BODY_BYTES];
    const uint64_t tail = n & 0xFFFFFFFFFFFF; /* the twelve digits of a uid */
    struct buf body = BUF_ON(text, sizeof text);

    (void)snprintf(claim_uid, sizeof claim_uid, PAIRS_UID, "9000", tail);
    (void)snprintf(name, sizeof name, "old-%s-%" PRIu64, is_bound ? "bound" : "released", n);
    (void)snprintf(claim, sizeof claim, "old-%" PRIu64, n);
    begin_old_object(b->p, &body, KIND_VOLUME, "8000", tail);
    write_volume(&body, name, claim, claim_uid, is_bound ? STR_LIT(BOUND) : STR_LIT(RELEASED));
    batch_add(b, KIND_VOLUME, buf_str(&body));
    if (!is_bound)
        return;
    begin_old_object(b->p, &body, KIND_CLAIM, "9000", tail);
    write_claim(&body, claim, name, STR_LIT(CLAIM_STATUS));
    batch_add(b, KIND_CLAIM, buf_str(&body));
}

static struct batch *batch_new(struct pairs *p)
{
    struct batch *b = calloc(1, sizeof *b);

    if (!b) {
        p->r = error_no_memory(&p->err);
        return NULL;
    }
    b->p = p;
    json_init(&b->doc, DOC_BYTES_MAX);
    return b;
}

static void batch_free(struct batch *b)
{
    batch_flush(b);
    json_done(&b->doc);
    free(b);
}

void pairs_add_background(struct pairs *p, uint64_t released, uint64_t bound)
{
    struct batch *b = batch_new(p);

    if (!b)
        return;
    bench_phase("storing old volumes", released + bound);
    for (uint64_t n = 0; n < released + bound && p->r == 0; n++) {
        add_old_volume(b, n, /* is_bound= */ n >= released);
        bench_step(n);
    }
    bench_phase_end();
    batch_free(b);
}

void pairs_add_stored(struct pairs *p, enum kind k, uint64_t count, pairs_write_fn *make, void *ctx)
{
    struct batch *b = batch_new(p);
    char text[PAIRS_BODY_BYTES];
    struct buf body = BUF_ON(text, sizeof text);

    if (!b)
        return;
    bench_phase("storing objects", count);
    for (uint64_t n = 0; n < count && p->r == 0; n++) {
        buf_clear(&body);
        make(ctx, n, &body);
        batch_add(b, k, buf_str(&body));
        bench_step(n);
    }
    bench_phase_end();
    batch_free(b);
}

/* --- Through the API --- */

struct pair_request {
    struct pairs *p;
    struct client_call call;
    uint64_t n;
    enum pairs_way way;
};

static void request_send(struct pairs *p, uint64_t n, enum pairs_way way, const struct client_request *q,
                         client_done_fn *done)
{
    struct pair_request *a = calloc(1, sizeof *a);

    if (!a) {
        p->r = error_no_memory(&p->err);
        return;
    }
    *a = (struct pair_request){ .p = p, .n = n, .way = way };
    p->unanswered++;
    client_send(p->client, &a->call, q, done, a);
}

static void on_answer(void *ctx, const struct client_answer *answer)
{
    struct pair_request *a = ctx;

    pairs_fail(a->p, answer->r, &answer->error);
    a->p->unanswered--;
    free(a);
}

static void send_create(struct pairs *p, uint64_t n, enum pairs_way way, enum kind k, struct str body,
                        client_done_fn *done)
{
    struct client_request q = { .verb = CLIENT_CREATE,
                                .kind = kind_info(k),
                                .ns = kind_info(k)->is_namespaced ? PAIRS_NS : NULL,
                                .body = body,
                                .field_manager = "bench" };

    request_send(p, n, way, &q, done);
}

void pairs_create_object(struct pairs *p, enum kind k, struct str body)
{
    send_create(p, /* n= */ 0, PAIRS_FREE, k, body, on_answer);
}

void pairs_patch_object(struct pairs *p, enum kind k, const char *name, const char *subresource,
                        struct str body)
{
    struct client_request q = { .verb = CLIENT_PATCH,
                                .kind = kind_info(k),
                                .ns = kind_info(k)->is_namespaced ? PAIRS_NS : NULL,
                                .name = name,
                                .subresource = subresource,
                                .patch = CLIENT_PATCH_MERGE,
                                .body = body,
                                .field_manager = "bench" };

    request_send(p, /* n= */ 0, PAIRS_FREE, &q, on_answer);
}

static void create_volume(struct pairs *p, uint64_t n, enum pairs_way way, const char *claim_uid,
                          client_done_fn *done)
{
    char text[PAIRS_BODY_BYTES], name[NAME_BYTES], claim[NAME_BYTES] = "";
    struct buf body = BUF_ON(text, sizeof text);

    (void)snprintf(name, sizeof name, "volume-%" PRIu64, n);
    if (claim_uid[0])
        (void)snprintf(claim, sizeof claim, CLAIM_PREFIX "%" PRIu64, n);
    pairs_begin_object(p, &body, KIND_VOLUME, /* series= */ NULL, n);
    write_volume(&body, name, claim, claim_uid, STR_LIT("{}"));
    send_create(p, n, way, KIND_VOLUME, buf_str(&body), done);
}

static void create_claim(struct pairs *p, uint64_t n, enum pairs_way way, client_done_fn *done)
{
    char text[PAIRS_BODY_BYTES], name[NAME_BYTES];
    struct buf body = BUF_ON(text, sizeof text);

    (void)snprintf(name, sizeof name, CLAIM_PREFIX "%" PRIu64, n);
    p->asked_ns[n] = clock_mono_ns(p->clock);
    pairs_begin_object(p, &body, KIND_CLAIM, /* series= */ NULL, n);
    write_claim(&body, name, /* volume= */ "", STR_LIT("{}"));
    send_create(p, n, way, KIND_CLAIM, buf_str(&body), done);
}

static void make_available(void *ctx, const struct client_answer *answer)
{
    struct pair_request *a = ctx;
    struct client_request q = { .verb = CLIENT_PATCH,
                                .kind = kind_info(KIND_VOLUME),
                                .subresource = "status",
                                .patch = CLIENT_PATCH_MERGE,
                                .body = STR_LIT("{\"status\":{\"phase\":\"Available\"}}"),
                                .field_manager = "berth-binder" };

    if (answer->r == 0) {
        q.name = answer->object->name;
        request_send(a->p, a->n, a->way, &q, on_answer);
    }
    on_answer(ctx, answer);
}

static void create_reserved(void *ctx, const struct client_answer *answer)
{
    const struct pair_request *a = ctx;

    if (answer->r == 0)
        create_volume(a->p, a->n, a->way, answer->object->uid, on_answer);
    on_answer(ctx, answer);
}

void pairs_create(struct pairs *p, uint64_t n, enum pairs_way way)
{
    if (way == PAIRS_RESERVED) {
        create_claim(p, n, way, create_reserved);
        return;
    }
    create_volume(p, n, way, "", way == PAIRS_READY ? make_available : on_answer);
    create_claim(p, n, way, on_answer);
}

void pairs_await_answers(struct pairs *p, uint64_t left)
{
    while (p->unanswered > left && p->r == 0)
        loop_run_once(p->loop);
}

/* --- The controllers --- */

static void set_flag(void *flag)
{
    *(bool *)flag = true;
}

void pairs_open_components(struct pairs *p)
{
    static struct daemon_settings settings; /* of one run at a time */
    static struct client_observer observer;
    struct client_options c = { .loop = p->loop, .carrier = &p->carrier.carrier, .observer = &observer };
    bool is_synced = false;
    struct components_options o = { .parts = p->parts,
                                    .part = { .loop = p->loop,
                                              .clock = p->clock,
                                              .metrics = p->server.metrics,
                                              .seed = 1,
                                              .is_local = true,
                                              .server = server_version_own() },
                                    .settings = &settings,
                                    .host = "",
                                    .identity = "bench",
                                    .on_synced = set_flag,
                                    .ctx = &is_synced };

    settings = (struct daemon_settings){ .bind_timeout_ns = SCHEDULER_BIND_TIMEOUT_NS,
                                         .attach_sync_ns = ATTACH_SYNC_PERIOD_NS,
                                         .parts = p->parts };
    assert(p->csi_sockets_count <= CSI_SOCKETS_MAX);
    for (size_t i = 0; i < p->csi_sockets_count; i++)
        settings.csi.sockets[settings.csi.sockets_count++] = p->csi_sockets[i];
    observer = (struct client_observer){ count_attempt, ignore_retry, ignore_wait, p };
    p->carrier.carrier.type = &carrier_type;
    p->r = local_client_new(p->server.api, /* user= */ NULL, &p->carrier.next, &p->err);
    if (p->r == 0)
        p->r = client_new(&c, &p->components_client, &p->err);
    o.part.client = p->components_client;
    if (p->r == 0)
        p->r = components_new(&o, &p->components, &p->err);
    if (p->r < 0)
        return;
    while (!is_synced)
        loop_run_once(p->loop);
}

void pairs_start(struct pairs *p)
{
    p->carrier.counts = (struct pairs_counts){ 0 };
    components_start(p->components);
}

void pairs_rest(struct pairs *p, uint64_t ns)
{
    struct timer timer;
    bool is_over = false;

    timer_init(&timer, p->loop, set_flag, &is_over);
    timer_arm_after(&timer, ns);
    while (!is_over)
        loop_run_once(p->loop);
}

void pairs_settle(struct pairs *p)
{
    struct pairs_counts before;

    do {
        before = p->carrier.counts;
        pairs_rest(p, QUIET_NS);
    } while (memcmp(&before, &p->carrier.counts, sizeof before) != 0);
}

/* --- Life --- */

static int open_client(struct pairs *p)
{
    static const char body[] =
        "{\"kind\":\"Namespace\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"" PAIRS_NS "\"}}";
    struct client_options c = { .loop = p->loop };
    struct client_request q = { .verb = CLIENT_CREATE,
                                .kind = kind_info(KIND_NAMESPACE),
                                .body = { body, sizeof body - 1 },
                                .field_manager = "bench" };
    int r = local_client_new(p->server.api, /* user= */ NULL, &c.carrier, &p->err);

    if (r == 0)
        r = client_new(&c, &p->client, &p->err);
    if (r < 0)
        return r;
    request_send(p, 0, PAIRS_FREE, &q, on_answer);
    pairs_await_answers(p, 0);
    return p->r;
}

int pairs_open(struct pairs *p)
{
    p->asked_ns = calloc(p->count, sizeof *p->asked_ns);
    p->bound_ns = calloc(p->count, sizeof *p->bound_ns);
    if (!p->asked_ns || !p->bound_ns)
        p->r = error_no_memory(&p->err);
    if (p->r == 0)
        p->r = loop_new(/* clock= */ NULL, &p->loop, &p->err);
    if (p->r == 0)
        p->r = io_tmp_dir_below(".", p->dir, &p->err);
    if (p->r == 0)
        p->r = store_open_sqlite(p->dir, p->loop, /* o= */ NULL, &p->store, &p->err);
    if (p->r == 0) {
        store_watch(p->store, &p->watcher, KIND_CLAIM, on_claim, /* settled= */ NULL, p);
        p->r = bench_server_open(&p->server, p->loop, p->store, p->clock, &p->err);
    }
    return p->r < 0 ? p->r : open_client(p);
}

int pairs_close(struct pairs *p, struct error *err)
{
    p->components = components_free(p->components);
    p->components_client = client_free(p->components_client);
    p->client = client_free(p->client);
    if (p->store)
        store_unwatch(p->store, &p->watcher);
    bench_server_close(&p->server, &p->store);
    p->loop = loop_free(p->loop);
    if (p->dir[0])
        io_discard_dir(p->dir);
    free(p->asked_ns);
    free(p->bound_ns);
    if (p->r < 0)
        *err = p->err;
    return p->r;
}

/* For the tests of the plugin kubernetes.io/csi: a node, a driver, a volume, and one request at a time. */
#ifndef BERTH_TESTS_TEST_CSI_PLUGIN_H
#define BERTH_TESTS_TEST_CSI_PLUGIN_H

#include "tests/unit/test_csi_drivers.h"
#include "tests/unit/test_volume_env.h"

#include <pthread.h>

#include "api/attachment.h"
#include "api/csi.h"
#include "host/files.h"
#include "io/wakeup.h"
#include "plugins/csi/csi_plugin.h"

#define HANDLE "vol-1"
#define UID1 POD_UID "1"

struct csi_bench {
    struct volume_bench *b;
    struct test_driver driver;
    struct csi_drivers *drivers;
    struct loop *loop; /* of another thread: slots run on this one, as on a worker */
    pthread_t thread;
    struct wakeup *end;
    struct rpc_client *rpc;
    struct csi_plugin plugin;
    struct object *volume;
    struct object *pod;
    struct object *csi_driver; /* NULL: none */
    struct object *attachment;
    struct object *secret; /* NULL: none */
    struct csi_request csi;
    struct set_up_request q;
    struct device_request dq;
    char device_path[PATH_MAX];
    host_stop stop;
};

static inline const struct csi_driver *csi_driver_of(const struct object *o)
{
    return (const struct csi_driver *)(const void *)o;
}

/* The CSIDriver from now on; its spec. */
static inline void bench_csi_driver(struct csi_bench *x, const char *spec)
{
    (void)object_unref(x->csi_driver);
    x->csi_driver =
        spec ? plugin_object(KIND_CSI_DRIVER, "{'metadata':{'name':'test.csi'},'spec':{%s}}", spec) : NULL;
    x->csi.driver = csi_driver_of(x->csi_driver);
}

/* The PersistentVolume from now on: more members of its csi source, and of its spec. */
static inline void bench_volume(struct csi_bench *x, const char *csi, const char *spec)
{
    (void)object_unref(x->volume);
    x->volume = plugin_object(
        KIND_VOLUME,
        "{'metadata':{'name':'pv1'},'spec':{'csi':{'driver':'test.csi','volumeHandle':'" HANDLE "'%s}%s}}",
        csi, spec);
    x->q.spec = (struct volume_spec){ .volume = volume_of(x->volume) };
    x->dq.spec = x->q.spec;
    ASSERT_OK(x->plugin.plugin.devices->mount_path(&x->plugin.plugin, &x->b->env, &x->q.spec, x->device_path,
                                                   &err));
    x->dq.mount_path = x->device_path;
}

/* A volume of the pod's own from now on. */
static inline void bench_inline(struct csi_bench *x, const char *csi)
{
    char volumes[1024];

    (void)snprintf(volumes, sizeof volumes, "{'name':'scratch','csi':{'driver':'test.csi'%s}}", csi);
    (void)object_unref(x->pod);
    x->pod = volume_bench_pod(1, volumes);
    x->q.pod = pod_of(x->pod);
    x->q.spec = (struct volume_spec){ .inlined = &x->q.pod->volumes.items[0] };
}

static inline void bench_secret(struct csi_bench *x, const char *data)
{
    (void)object_unref(x->secret);
    x->secret = plugin_object(KIND_SECRET, "{'metadata':{'name':'s','namespace':'a'},'data':{%s}}", data);
    x->csi.secret.object = x->secret;
}

static inline void *bench_run_loop(void *ctx)
{
    loop_run(ctx);
    return NULL;
}

static inline void bench_on_end(void *ctx)
{
    loop_stop(ctx);
}

static inline struct csi_bench *csi_bench_new(void)
{
    struct csi_bench *x = calloc(1, sizeof *x);

    assert_non_null(x);
    x->b = volume_bench_new();
    x->b->env.stop = &x->stop;
    driver_init(&x->driver, x->b->d->path, "driver", "");
    ASSERT_OK(csi_drivers_new(&x->drivers, &err));
    ASSERT_OK(
        csi_drivers_put(x->drivers, "test.csi", x->driver.socket, (struct csi_version){ 1, 0, 0 }, &err));
    x->loop = new_loop(NULL);
    ASSERT_OK(wakeup_new(x->loop, bench_on_end, x->loop, &x->end, &err));
    ASSERT_OK(rpc_client_new(x->loop, &x->rpc, &err));
    assert_int_equal(pthread_create(&x->thread, NULL, bench_run_loop, x->loop), 0);
    AWAIT(!loop_is_own_thread(x->loop));
    csi_plugin_init(&x->plugin, x->drivers, x->rpc, NULL);
    x->csi = CSI_REQUEST_INIT;
    x->pod = volume_bench_pod(1, "");
    x->attachment = plugin_object(KIND_ATTACHMENT,
                                  "{'metadata':{'name':'csi-x'},'spec':{'attacher':'test.csi','nodeName':'n',"
                                  "'source':{'persistentVolumeName':'pv1'}},'status':{'attached':true,"
                                  "'attachmentMetadata':{'lun':'7'}}}");
    x->csi.attachment.object = x->attachment;
    x->q = (struct set_up_request){
        .pod = pod_of(x->pod), .csi = &x->csi, .device_path = "", .fs_group = -1, .fs_user = -1
    };
    x->dq = (struct device_request){ .csi = &x->csi, .device_path = "" };
    bench_volume(x, "", ",'accessModes':['ReadWriteOnce']");
    return x;
}

static inline struct csi_bench *csi_bench_free(struct csi_bench *x)
{
    if (!x)
        return NULL;
    driver_stop(&x->driver);
    wakeup_send(x->end);
    (void)pthread_join(x->thread, NULL);
    x->rpc = rpc_client_free(x->rpc);
    x->end = wakeup_free(x->end);
    x->loop = loop_free(x->loop);
    x->drivers = csi_drivers_free(x->drivers);
    (void)object_unref(x->volume);
    (void)object_unref(x->pod);
    (void)object_unref(x->csi_driver);
    (void)object_unref(x->attachment);
    (void)object_unref(x->secret);
    x->b = volume_bench_free(x->b);
    free(x);
    return NULL;
}
DEFINE_CLEANUP(struct csi_bench, csi_bench_free)

/* --- Slots --- */

static inline int stage(struct csi_bench *x)
{
    enum format_failure why;

    return x->plugin.plugin.devices->mount(&x->plugin.plugin, &x->b->env, &x->dq, &why, &err);
}

static inline int unstage(struct csi_bench *x)
{
    return x->plugin.plugin.devices->unmount(&x->plugin.plugin, &x->b->env, x->device_path, &err);
}

static inline int publish(struct csi_bench *x)
{
    return x->plugin.plugin.pods->set_up(&x->plugin.plugin, &x->b->env, &x->q, &err);
}

static inline int unpublish(struct csi_bench *x)
{
    return x->plugin.plugin.pods->tear_down(&x->plugin.plugin, &x->b->env, spec_name(&x->q.spec), UID1, &err);
}

/* Where the pod has it, and what is in front of that. */
static inline const char *target_of(const struct csi_bench *x)
{
    return volume_bench_path(x->b, &x->plugin.plugin, 1, spec_name(&x->q.spec));
}

static inline const char *beside(const char *path, const char *name)
{
    static char paths[4][PATH_MAX];
    static unsigned next;
    char *out = paths[next++ % 4];

    (void)snprintf(out, PATH_MAX, "%.*s%s%s", (int)(strrchr(path, '/') - path), path, name[0] ? "/" : "",
                   name);
    return out;
}

static inline const char *file_text(const char *path)
{
    static char text[8192];
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;

    text[n] = '\0';
    if (f)
        (void)fclose(f);
    return text;
}

/* The driver was asked with this line. */
#define ASSERT_ASKED(x, method, line)                                                     \
    do {                                                                                  \
        if (!driver_has(&(x)->driver, "request-" method, line "\n"))                      \
            fail_msg("no %s in\n%s", line, driver_text(&(x)->driver, "request-" method)); \
    } while (0)
#define ASSERT_NOT_ASKED(x, method, text)                                              \
    do {                                                                               \
        if (driver_has(&(x)->driver, "request-" method, text))                         \
            fail_msg("%s in\n%s", text, driver_text(&(x)->driver, "request-" method)); \
    } while (0)
#define ASSERT_CALLS(x, expected) ASSERT_STR(expected, driver_calls(&(x)->driver))
#define ASSERT_CAREFUL(x) ASSERT_STR("", driver_text(&(x)->driver, "violations"))

#endif

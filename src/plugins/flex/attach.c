/* Attaching and growing a driver's volumes. */
#include "plugins/flex/driver.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "host/device.h"

#define NUMBER_BYTES 24

int flex_check_name(const struct volume_plugin *self, const struct volume_env *env,
                    const struct volume_spec *s, struct error *err)
{
    _cleanup_(buf_done_p) struct buf json = BUF_INIT(FLEX_JSON_BYTES_MAX);
    struct flex_call call = { .command = FLEX_GET_VOLUME_NAME };
    struct flex_answer answer;
    struct error why = { 0 };
    int r = flex_volume_json(s, /* q= */ NULL, &json, &why);

    call.args[0] = buf_cstr(&json);
    if (r == 0)
        r = flex_run(flex_driver_of(self), env, &call, &answer, &why);
    if (r == 0 || r == -ERR_UNSUPPORTED)
        return 0;
    /* Whatever happened to the call, nothing was attached or mounted: no code that leaves that open. */
    return error_set(err, ERR_INVALID,
                     "failed to GetVolumeName from volumePlugin for volumeSpec \"%s\" err=%s", spec_name(s),
                     why.msg);
}

static bool flex_can_attach(const struct volume_plugin *self, const struct volume_spec *s)
{
    (void)self;
    (void)s;
    return true;
}

/* device: PATH_MAX bytes, in which every answer and every path of ours fits. */
static void give_device(char *ret, const char *device)
{
    (void)snprintf(ret, PATH_MAX, "%s", device);
}

static int flex_attach(const struct volume_plugin *self, const struct volume_env *env,
                       const struct volume_spec *s, const char *node, char *ret_device, struct error *err)
{
    _cleanup_(buf_done_p) struct buf json = BUF_INIT(FLEX_JSON_BYTES_MAX);
    struct flex_call call = { .command = FLEX_ATTACH };
    struct flex_answer answer;
    struct error why = { 0 };
    int r = flex_volume_json(s, /* q= */ NULL, &json, err);

    if (r < 0)
        return r;
    call.args[0] = buf_cstr(&json);
    call.args[1] = node;
    r = flex_run(flex_driver_of(self), env, &call, &answer, &why);
    if (r == 0 || r == -ERR_UNSUPPORTED) {
        give_device(ret_device, r == 0 ? answer.device : "");
        return 0;
    }
    *err = why;
    return r;
}

static int flex_detach(const struct volume_plugin *self, const struct volume_env *env, const char *volume,
                       const char *node, struct error *err)
{
    const struct flex_call call = { .command = FLEX_DETACH, .args = { volume, node } };
    struct flex_answer answer;
    struct error why = { 0 };
    int r = flex_run(flex_driver_of(self), env, &call, &answer, &why);

    if (r == 0 || r == -ERR_UNSUPPORTED)
        return 0;
    *err = why;
    return r;
}

static int flex_is_attached(const struct volume_plugin *self, const struct volume_env *env,
                            const struct volume_spec *s, const char *node, bool *ret, struct error *err)
{
    _cleanup_(buf_done_p) struct buf json = BUF_INIT(FLEX_JSON_BYTES_MAX);
    struct flex_call call = { .command = FLEX_IS_ATTACHED };
    struct flex_answer answer;
    int r = flex_volume_json(s, /* q= */ NULL, &json, err);

    if (r < 0)
        return r;
    call.args[0] = buf_cstr(&json);
    call.args[1] = node;
    r = flex_run(flex_driver_of(self), env, &call, &answer, err);
    if (r == 0)
        *ret = answer.is_attached;
    return r;
}

static int flex_wait(const struct volume_plugin *self, const struct volume_env *env,
                     const struct volume_spec *s, const char *device, uint64_t limit_ns, char *ret_device,
                     struct error *err)
{
    _cleanup_(buf_done_p) struct buf json = BUF_INIT(FLEX_JSON_BYTES_MAX);
    struct flex_call call = { .command = FLEX_WAIT_FOR_ATTACH, .limit_ns = limit_ns };
    struct flex_answer answer;
    struct error why = { 0 };
    int r = flex_volume_json(s, /* q= */ NULL, &json, err);

    if (r < 0)
        return r;
    call.args[0] = device;
    call.args[1] = buf_cstr(&json);
    r = flex_run(flex_driver_of(self), env, &call, &answer, &why);
    if (r == 0 || r == -ERR_UNSUPPORTED) {
        give_device(ret_device, r == 0 ? answer.device : device);
        return 0;
    }
    *err = why;
    return r;
}

const struct attach_table flex_attach_table = {
    .can_attach = flex_can_attach,
    .attach = flex_attach,
    .detach = flex_detach,
    .is_attached = flex_is_attached,
    .wait = flex_wait,
};

/* --- Growing --- */

/* Tells the driver both sizes, of the volume or, with its device, of the file system on it. */
static int tell_sizes(const struct volume_plugin *self, const struct volume_env *env,
                      const struct expand_request *q, enum flex_command command, struct error *err)
{
    _cleanup_(buf_done_p) struct buf json = BUF_INIT(FLEX_JSON_BYTES_MAX);
    char new_bytes[NUMBER_BYTES], old_bytes[NUMBER_BYTES];
    struct flex_call call = { .command = command };
    struct flex_answer answer;
    size_t n = 0;
    int r = flex_volume_json(&q->spec, /* q= */ NULL, &json, err);

    if (r < 0)
        return r;
    (void)snprintf(new_bytes, sizeof new_bytes, "%" PRIu64, q->new_bytes);
    (void)snprintf(old_bytes, sizeof old_bytes, "%" PRIu64, q->old_bytes);
    call.args[n++] = buf_cstr(&json);
    if (command == FLEX_EXPAND_FS)
        call.args[n++] = q->device_path;
    call.args[n++] = q->mount_path;
    call.args[n++] = new_bytes;
    call.args[n] = old_bytes;
    return flex_run(flex_driver_of(self), env, &call, &answer, err);
}

/* The size that a driver answers does not count: what was asked for is what there is. */
int flex_expand(const struct volume_plugin *self, const struct volume_env *env,
                const struct expand_request *q, uint64_t *ret_bytes, struct error *err)
{
    struct error why = { 0 };
    int r = tell_sizes(self, env, q, FLEX_EXPAND_VOLUME, &why);

    if (r < 0 && r != -ERR_UNSUPPORTED) {
        *err = why;
        return r;
    }
    *ret_bytes = q->new_bytes;
    return 0;
}

static int grow_here(const struct volume_env *env, const struct expand_request *q, bool *ret_done,
                     struct error *err)
{
    if (q->spec.volume && q->spec.volume->mode == VOLUME_MODE_BLOCK) {
        *ret_done = true;
        return 0;
    }
    return device_grow_if_needed(&env->tools, q->device_path, q->mount_path, ret_done, err);
}

int flex_expand_on_node(const struct volume_plugin *self, const struct volume_env *env,
                        const struct expand_request *q, bool *ret_done, struct error *err)
{
    struct error why = { 0 };
    int r = tell_sizes(self, env, q, FLEX_EXPAND_FS, &why);

    if (r == -ERR_UNSUPPORTED)
        return grow_here(env, q, ret_done, err);
    if (r == 0)
        *ret_done = true;
    else
        *err = why;
    return r;
}

/* Attach, detach and expansion of FlexVolumes. */
#include "plugins/flex/driver.h"

#include <inttypes.h>
#include <stdio.h>

#include "host/device.h"

#define NUMBER_BYTES 24

int flex_check_name(const struct volume_plugin *self, const struct volume_env *env,
                    const struct volume_spec *s, struct error *err)
{
    const struct flex_call call = { .command = FLEX_GET_VOLUME_NAME, .args = { flex_json }, .spec = s };
    struct flex_answer answer;
    struct error why = { 0 };
    bool has;

    if (flex_try(self, env, &call, &answer, &has, &why) == 0)
        return 0;
    /* Nothing was attached or mounted, whatever happened to the call: never an uncertain code. */
    return error_set(err, ERR_INVALID,
                     "failed to GetVolumeName from volumePlugin for volumeSpec \"%s\" err=%s", spec_name(s),
                     why.msg);
}

/* ret: PATH_MAX bytes; all responses and paths fit. */
static void give_device(char *ret, const char *device)
{
    (void)snprintf(ret, PATH_MAX, "%s", device);
}

static int flex_attach(const struct volume_plugin *self, const struct volume_env *env,
                       const struct volume_spec *s, const char *node, char *ret_device, struct error *err)
{
    const struct flex_call call = { .command = FLEX_ATTACH, .args = { flex_json, node }, .spec = s };
    struct flex_answer answer;
    bool has;
    int r = flex_try(self, env, &call, &answer, &has, err);

    if (r == 0)
        give_device(ret_device, has ? answer.device : "");
    return r;
}

static int flex_detach(const struct volume_plugin *self, const struct volume_env *env, const char *volume,
                       const char *node, struct error *err)
{
    const struct flex_call call = { .command = FLEX_DETACH, .args = { volume, node } };
    struct flex_answer answer;
    bool has;

    return flex_try(self, env, &call, &answer, &has, err);
}

static int flex_is_attached(const struct volume_plugin *self, const struct volume_env *env,
                            const struct volume_spec *s, const char *node, bool *ret, struct error *err)
{
    const struct flex_call call = { .command = FLEX_IS_ATTACHED, .args = { flex_json, node }, .spec = s };
    struct flex_answer answer;
    int r = flex_run(flex_driver_of(self), env, &call, &answer, err);

    if (r == 0)
        *ret = answer.is_attached;
    return r;
}

static int flex_wait(const struct volume_plugin *self, const struct volume_env *env,
                     const struct volume_spec *s, const char *device, uint64_t limit_ns, char *ret_device,
                     struct error *err)
{
    const struct flex_call call = {
        .command = FLEX_WAIT_FOR_ATTACH, .args = { device, flex_json }, .spec = s, .limit_ns = limit_ns
    };
    struct flex_answer answer;
    bool has;
    int r = flex_try(self, env, &call, &answer, &has, err);

    if (r == 0)
        give_device(ret_device, has ? answer.device : device);
    return r;
}

const struct attach_table flex_attach_table = {
    .attach = flex_attach,
    .detach = flex_detach,
    .is_attached = flex_is_attached,
    .wait = flex_wait,
};

/* --- Expansion --- */

/* Passes both sizes to the driver, for the volume or, with its device, for the file system on it. */
static int call_expand(const struct volume_plugin *self, const struct volume_env *env,
                       const struct expand_request *q, enum flex_command command, bool *ret_has,
                       struct error *err)
{
    char new_bytes[NUMBER_BYTES], old_bytes[NUMBER_BYTES];
    struct flex_call call = { .command = command, .args = { flex_json }, .spec = &q->spec };
    struct flex_answer answer;
    size_t n = 1;

    (void)snprintf(new_bytes, sizeof new_bytes, "%" PRIu64, q->new_bytes);
    (void)snprintf(old_bytes, sizeof old_bytes, "%" PRIu64, q->old_bytes);
    if (command == FLEX_EXPAND_FS)
        call.args[n++] = q->device_path;
    call.args[n++] = q->mount_path;
    call.args[n++] = new_bytes;
    call.args[n] = old_bytes;
    return flex_try(self, env, &call, &answer, ret_has, err);
}

/* The size in the driver's response is ignored: the requested size counts. */
int flex_expand(const struct volume_plugin *self, const struct volume_env *env,
                const struct expand_request *q, uint64_t *ret_bytes, struct error *err)
{
    bool has;
    int r = call_expand(self, env, q, FLEX_EXPAND_VOLUME, &has, err);

    if (r == 0)
        *ret_bytes = q->new_bytes;
    return r;
}

int flex_expand_on_node(const struct volume_plugin *self, const struct volume_env *env,
                        const struct expand_request *q, bool *ret_done, struct error *err)
{
    bool is_block = q->spec.volume && q->spec.volume->mode == VOLUME_MODE_BLOCK, has;
    int r = call_expand(self, env, q, FLEX_EXPAND_FS, &has, err);

    if (r < 0)
        return r;
    if (!has && !is_block)
        return device_grow_if_needed(&env->tools, q->device_path, q->mount_path, ret_done, err);
    *ret_done = true;
    return 0;
}

/* Calls of a FlexVolume driver: builds the JSON argument, runs the executable, parses its response. Secrets
 * never appear in errors. */
#include "plugins/flex/driver.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/base64.h"
#include "api/config.h"
#include "api/json_out.h"
#include "base/cleanup.h"
#include "base/vec.h"
#include "host/command.h"

#define KEY_PREFIX "kubernetes.io/"

/* --- The volume as JSON --- */

/* The argument under construction: pairs, with texts in an arena. */
struct argument {
    VEC(struct kv) pairs;
    const struct kvs *options;
    struct arena texts;
    bool failed;
};

/* Options of the user override ours. */
static void argument_add(struct argument *argument, const char *key, const char *value)
{
    if (kv_get(argument->options->items, argument->options->count, key))
        return;
    if (!key || !value || vec_push(&argument->pairs, (struct kv){ key, value }) < 0)
        argument->failed = true;
}

static int argument_add_secret(struct argument *argument, const struct secret *s, struct error *err)
{
    _cleanup_(buf_done_p) struct buf value = BUF_INIT(FLEX_JSON_BYTES_MAX);

    for (uint32_t i = 0; i < s->data.count; i++) {
        char *key = arena_printf(&argument->texts, KEY_PREFIX "secret/%s", s->data.items[i].key);
        buf_clear(&value);
        base64_encode(s->data.items[i].bytes, &value);
        if (buf_check(&value, "value of the secret", err) < 0)
            return -(int)err->code;
        if (!key)
            return arena_check(&argument->texts, err);
        argument_add(argument, key, arena_dup(&argument->texts, buf_str(&value)));
    }
    return 0;
}

/* The Secret that the caller fetched. */
static int check_secret(const struct volume_content *content, const char *type, const struct secret **ret,
                        struct error *err)
{
    const struct secret *s;

    if (content->r < 0) {
        *err = content->err;
        return content->r;
    }
    if (!content->object || content->object->kind != &secret_kind)
        return error_set(err, ERR_INTERNAL, "it is not a Secret");
    s = (const struct secret *)(const void *)content->object;
    if (strcmp(s->type, type) != 0)
        return error_set(err, ERR_INVALID, "cannot get secret of type %s", type);
    *ret = s;
    return 0;
}

/* The Secret of the volume; *ret is unchanged if it has none. */
static int find_secret(const struct flex_source *source, const struct set_up_request *q,
                       const struct secret **ret, struct error *err)
{
    const char *ns = q->spec.volume && source->secret.ns[0] ? source->secret.ns : q->pod->obj.ns;
    struct error why = { 0 };
    int r;

    if (source->secret.name[0] == '\0')
        return 0;
    if (q->contents_count > 0)
        r = check_secret(&q->contents[0], source->driver, ret, &why);
    else
        r = error_set(&why, ERR_UNAVAILABLE, "it was not fetched");
    if (r < 0)
        return error_set(err, (enum err) - r, "couldn't get secret %s/%s err: %s", ns, source->secret.name,
                         (const char *)why.msg);
    return 0;
}

static int compare_pairs(const void *a, const void *b)
{
    return strcmp(((const struct kv *)a)->key, ((const struct kv *)b)->key);
}

static int argument_write(struct argument *argument, struct buf *ret, struct error *err)
{
    const struct kvs *options = argument->options;

    for (uint32_t i = 0; i < options->count; i++)
        if (vec_push(&argument->pairs, options->items[i]) < 0)
            argument->failed = true;
    if (arena_check(&argument->texts, err) < 0)
        return -(int)err->code;
    if (argument->failed)
        return error_no_memory(err);
    qsort(argument->pairs.items, argument->pairs.count, sizeof *argument->pairs.items, compare_pairs);
    json_out_object(ret, NULL);
    for (size_t i = 0; i < argument->pairs.count; i++)
        json_out_text(ret, argument->pairs.items[i].key, argument->pairs.items[i].value);
    json_out_end_object(ret);
    return buf_check(ret, "options of the volume for the driver", err);
}

bool flex_is_read_only(const struct volume_spec *s)
{
    return s->is_read_only || (s->inlined && spec_source(s).flex->is_read_only);
}

int flex_volume_json(const struct volume_spec *s, const struct set_up_request *q, struct buf *ret,
                     struct error *err)
{
    const struct flex_source *source = spec_source(s).flex;
    struct argument argument = { .options = &source->options, .texts = ARENA_INIT(4 * FLEX_JSON_BYTES_MAX) };
    const struct secret *secret = NULL;
    int r = 0;

    argument_add(&argument, KEY_PREFIX "fsType", source->fs_type);
    argument_add(&argument, KEY_PREFIX "readwrite", flex_is_read_only(s) ? "ro" : "rw");
    argument_add(&argument, KEY_PREFIX "pvOrVolumeName", spec_name(s));
    if (q) {
        argument_add(&argument, KEY_PREFIX "pod.name", q->pod->obj.name);
        argument_add(&argument, KEY_PREFIX "pod.namespace", q->pod->obj.ns);
        argument_add(&argument, KEY_PREFIX "pod.uid", q->pod->obj.uid);
        argument_add(&argument, KEY_PREFIX "serviceAccount.name", q->pod->service_account);
        if (q->fs_group >= 0)
            argument_add(&argument, KEY_PREFIX "mounterArgs.FsGroup",
                         arena_printf(&argument.texts, "%" PRId64, q->fs_group));
        r = find_secret(source, q, &secret, err);
    }
    if (r == 0 && secret)
        r = argument_add_secret(&argument, secret, err);
    if (r == 0)
        r = argument_write(&argument, ret, err);
    vec_done(&argument.pairs);
    arena_done(&argument.texts);
    return r;
}

/* --- The process --- */

const char flex_json[] = "";

/* The error for a command that was killed (it may have done its work) or never started. */
static int not_ended(enum flex_command command, int r, struct error *err)
{
    if (r == -ERR_TIMEOUT)
        return error_set(err, ERR_UNCERTAIN, "timeout");
    err->code = r == -ERR_CANCELLED || r == -ERR_IO ? ERR_UNCERTAIN : ERR_UNAVAILABLE;
    return error_wrap(err, "%s command", flex_command_names[command]);
}

static int run_executable(const struct flex_driver *d, const struct volume_env *env,
                          const struct flex_call *c, const char *json, struct buf *output, int *ret_exit,
                          struct error *err)
{
    const char *argv[FLEX_ARGS_MAX + 3] = { d->executable, flex_command_names[c->command] };
    bool is_cut = false;
    struct command command = {
        .what = d->plugin.name,
        .argv = argv,
        .path = env->tools.commands_path,
        .limit_ns = c->limit_ns ? c->limit_ns : FLEX_CALL_LIMIT_NS,
        .stop = env->stop,
        .output = output,
        .output_is_cut = &is_cut,
        .exit_code = ret_exit,
    };
    int r;

    for (size_t i = 0; c->args[i]; i++)
        argv[i + 2] = c->args[i] == flex_json ? json : c->args[i];
    if (env->stop && atomic_load(env->stop) != 0)
        return error_set(err, ERR_UNAVAILABLE, "%s command: cancelled before start",
                         flex_command_names[c->command]);
    r = command_run(&command, err);
    if (r < 0)
        return not_ended(c->command, r, err);
    if (is_cut)
        return error_set(err, ERR_BAD_REQUEST, "%s command: response of driver is longer than %zu bytes",
                         flex_command_names[c->command], FLEX_ANSWER_BYTES_MAX);
    return 0;
}

int flex_run(struct flex_driver *d, const struct volume_env *env, const struct flex_call *c,
             struct flex_answer *ret, struct error *err)
{
    _cleanup_(buf_done_p) struct buf output = BUF_INIT(FLEX_ANSWER_BYTES_MAX),
                                     json = BUF_INIT(FLEX_JSON_BYTES_MAX);
    unsigned bit = 1U << c->command;
    struct flex_answer answer;
    int exit_code = 0, r = c->spec ? flex_volume_json(c->spec, /* q= */ NULL, &json, err) : 0;

    static_assert(FLEX_COMMAND_COUNT <= sizeof bit * CHAR_BIT, "a bit a command");
    if (r < 0)
        return r;
    if (atomic_load(&d->unsupported) & bit)
        return error_set(err, ERR_UNSUPPORTED, "%s command is not supported by driver %s",
                         flex_command_names[c->command], d->plugin.name);
    r = run_executable(d, env, c, buf_cstr(&json), &output, &exit_code, err);
    if (r < 0)
        return r;
    r = flex_answer_read(c->command, buf_str(&output), &answer, err);
    if (r == -ERR_UNSUPPORTED)
        (void)atomic_fetch_or(&d->unsupported, bit);
    if (r < 0)
        return r;
    if (exit_code != 0)
        return error_set(err, ERR_IO, "%s command: exit status %d", flex_command_names[c->command],
                         exit_code);
    *ret = answer;
    return 0;
}

int flex_try(const struct volume_plugin *self, const struct volume_env *env, const struct flex_call *c,
             struct flex_answer *ret, bool *ret_has, struct error *err)
{
    struct error why = { 0 };
    int r = flex_run(flex_driver_of(self), env, c, ret, &why);

    *ret_has = r != -ERR_UNSUPPORTED;
    return r == 0 || r == -ERR_UNSUPPORTED ? 0 : error_pass(err, &why);
}

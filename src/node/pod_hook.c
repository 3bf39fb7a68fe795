/* Runs the pod hook: builds its environment and standard input from the pod, or from the state file when the
 * server no longer has the pod. The run time is bounded: a constant for setup, the pod's grace period plus a
 * constant for teardown. */
#include "node/pod_hook.h"

#include <ctype.h>
#include <string.h>

#include "api/json_out.h"
#include "api/pod.h"
#include "base/arena.h"
#include "base/cleanup.h"

#define HOOK_ENV_BYTES_MAX ((size_t)1 << 20)
#define HOOK_ERR_BYTES_MAX 4096
#define HOOK_ENV_FIXED 6 /* PATH, three names, two paths */

/* "VOLUME_MY_DATA=/…". */
static const char *volume_variable(struct arena *a, struct str name, struct str path)
{
    char *text = arena_printf(a, "VOLUME_%.*s=%.*s", STR_ARG(name), STR_ARG(path));

    for (size_t i = 0; text && i < name.len; i++) {
        char *c = &text[sizeof "VOLUME_" - 1 + i];

        *c = isalnum((unsigned char)*c) ? (char)toupper((unsigned char)*c) : '_';
    }
    return text;
}

/* The pod's name or namespace; "" when unknown. */
static struct str name_of(const struct pod_hook_call *c, const char *key)
{
    const struct json *d = &c->state->doc;

    if (c->pod)
        return str_of(strcmp(key, "name") == 0 ? c->pod->name : c->pod->ns);
    return json_get_text(d, json_get(d, c->state->root, "pod"), key);
}

static int env_of(const struct pod_hook_call *c, struct arena *a, const char *const **ret, struct error *err)
{
    const struct json *d = &c->state->doc;
    json_ref volumes = json_get(d, c->state->root, "volumes");
    const char **env = arena_array(a, (size_t)HOOK_ENV_FIXED + json_count(d, volumes) + 1, sizeof *env);
    size_t n = 0;

    if (!env)
        return arena_check(a, err);
    env[n++] = "PATH=" POD_HOOK_PATH;
    env[n++] = arena_printf(a, "POD_NAME=%.*s", STR_ARG(name_of(c, "name")));
    env[n++] = arena_printf(a, "POD_NAMESPACE=%.*s", STR_ARG(name_of(c, "namespace")));
    env[n++] = arena_printf(a, "POD_UID=%s", c->pod_uid);
    env[n++] = arena_printf(a, "BERTH_POD_DIR=%s", c->pod_dir);
    env[n++] = arena_printf(a, "BERTH_STATE_FILE=%s/%s", c->pod_dir, STATE_FILE_NAME);
    for (json_ref v = json_first(d, volumes); v; v = json_next(d, v))
        env[n++] = volume_variable(a, json_get_text(d, v, "name"), json_get_text(d, v, "path"));
    env[n] = NULL;
    *ret = env;
    return arena_check(a, err);
}

/* The names of a pod that the server no longer has. */
static int input_of(const struct pod_hook_call *c, struct buf *ret, struct error *err)
{
    if (c->pod) {
        buf_add_str(ret, c->pod->text);
    } else {
        json_out_object(ret, NULL);
        json_out_text(ret, "kind", "Pod");
        json_out_text(ret, "apiVersion", "v1");
        json_out_object(ret, "metadata");
        json_out_str(ret, "name", name_of(c, "name"));
        json_out_str(ret, "namespace", name_of(c, "namespace"));
        json_out_text(ret, "uid", c->pod_uid);
        json_out_end_object(ret);
        json_out_end_object(ret);
    }
    return buf_check(ret, "the pod", err);
}

static uint64_t limit_of(const struct pod_hook_call *c)
{
    int64_t grace = 0;

    if (!c->is_teardown)
        return POD_HOOK_SETUP_NS;
    if (c->pod)
        grace = c->pod->deletion_grace_seconds >= 0 ? c->pod->deletion_grace_seconds
                                                    : pod_of(c->pod)->grace_seconds;
    if (grace < 0)
        grace = 0;
    if (grace > POD_HOOK_GRACE_S_MAX)
        grace = POD_HOOK_GRACE_S_MAX;
    return ((uint64_t)grace + POD_HOOK_TEARDOWN_S) * NS_PER_S;
}

int pod_hook_start(const struct pod_hook_call *c, process_done_fn done, void *ctx, struct process **ret,
                   struct error *err)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(HOOK_ENV_BYTES_MAX);
    _cleanup_(buf_done_p) struct buf input = BUF_INIT(PROCESS_INPUT_BYTES_MAX);
    const char *argv[] = { c->command, c->is_teardown ? "teardown" : "setup", NULL };
    struct process_spec spec = { .argv = argv, .err_bytes_max = HOOK_ERR_BYTES_MAX, .limit_ns = limit_of(c) };
    int r = env_of(c, &a, &spec.env, err);

    if (r == 0)
        r = input_of(c, &input, err);
    spec.input = buf_str(&input);
    if (r == 0)
        r = process_run(c->loop, &spec, done, ctx, ret, err);
    return r < 0 ? error_wrap(err, "the pod hook's %s", argv[1]) : 0;
}

int pod_hook_check(const struct process_result *result, bool is_teardown, struct error *err)
{
    return process_result_check(result, is_teardown ? "the pod hook's teardown" : "the pod hook's setup",
                                err);
}

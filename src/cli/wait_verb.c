/* `berth wait`: waits until objects have a state, exist, or are deleted. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cli/await.h"
#include "cli/jsonpath.h"
#include "cli/print.h"
#include "cli/progress.h"
#include "cli/targets.h"
#include "why/why_world.h"

#define WEEK_NS (UINT64_C(604800) * NS_PER_S)
#define TIMEOUT_DEFAULT_NS (30 * NS_PER_S)

struct wait_settings {
    struct target_settings targets;
    const char *until;
    const char *timeout;
};

enum until { UNTIL_CREATED, UNTIL_DELETED, UNTIL_CONDITION, UNTIL_PATH };

struct wait {
    struct wait_settings settings;
    struct targets targets;
    VEC(struct target) objects; /* with a uid: only that object; otherwise any of that name */
    enum until until;
    struct str condition, value; /* the condition's type, and the expected value of it or of the path */
    bool has_value;
    struct jsonpath *path;
    uint64_t timeout_ns;
    uint64_t started_ns;
    struct progress_bar progress;
    int status;
};

/* --- The --for flag --- */

/* condition=NAME[=VALUE] */
static int read_condition(struct wait *w, struct str text, struct error *err)
{
    w->until = UNTIL_CONDITION;
    w->value = text;
    w->condition = str_next(&w->value, '=');
    if (w->condition.len == 0)
        return error_set(err, ERR_INVALID, "--for=condition= requires the name of a condition");
    if (!w->value.s)
        w->value = STR_LIT("true");
    return 0;
}

static struct str strip_quotes(struct str s)
{
    bool is_quoted = s.len >= 2 && (s.s[0] == '"' || s.s[0] == '\'') && s.s[s.len - 1] == s.s[0];

    return is_quoted ? (struct str){ s.s + 1, s.len - 2 } : s;
}

/* The length of the path: up to its closing brace, or the first '=' outside of filters. */
static size_t path_len(struct str text)
{
    int depth = 0;

    for (size_t i = 0; i < text.len; i++) {
        if (text.s[i] == '{' || text.s[i] == '[')
            depth++;
        else if (text.s[i] == '}' || text.s[i] == ']')
            depth--;
        else if (text.s[i] == '=' && depth <= 0)
            return i;
    }
    return text.len;
}

/* jsonpath={.status.phase}=Bound; without a value: until the path exists. */
static int read_path(struct wait *w, struct str text, struct error *err)
{
    size_t len = path_len(text);
    struct str path = strip_quotes((struct str){ text.s, len });
    int r;

    w->until = UNTIL_PATH;
    w->has_value = len < text.len;
    if (w->has_value)
        w->value = strip_quotes((struct str){ text.s + len + 1, text.len - len - 1 });
    if (w->has_value && w->value.len == 0)
        return error_set(err, ERR_INVALID,
                         "jsonpath wait has to have a value after equal sign, like "
                         "--for=jsonpath='{.status.readyReplicas}'=3");
    r = jsonpath_parse_path(path, &w->path, err);
    return r < 0 ? error_wrap(err, "jsonpath") : 0;
}

/* --for=bound: a phase, in any case. */
static int read_phase(struct wait *w, struct str word, struct error *err)
{
    static const char *const phases[] = { "Pending", "Available", "Bound",     "Released", "Failed",
                                          "Lost",    "Running",   "Succeeded", "Active",   "Terminating" };

    for (size_t i = 0; i < ARRAY_LEN(phases); i++) {
        if (word.len == strlen(phases[i]) && strncasecmp(word.s, phases[i], word.len) == 0) {
            w->until = UNTIL_PATH;
            w->has_value = true;
            w->value = str_of(phases[i]);
            return jsonpath_parse_path(STR_LIT("{.status.phase}"), &w->path, err);
        }
    }
    if (word.len == 5 && strncasecmp(word.s, "ready", 5) == 0)
        return read_condition(w, STR_LIT("Ready"), err);
    return error_set(err, ERR_INVALID, "unrecognized condition: \"%s\"", w->settings.until);
}

static int read_until(struct wait *w, struct error *err)
{
    struct str rest = str_of(w->settings.until), word = str_next(&rest, '=');

    if (!rest.s && word.len == 6 && strncasecmp(word.s, "delete", 6) == 0)
        w->until = UNTIL_DELETED;
    else if (!rest.s && word.len == 6 && strncasecmp(word.s, "create", 6) == 0)
        w->until = UNTIL_CREATED;
    else if (rest.s && str_is(word, "condition"))
        return read_condition(w, rest, err);
    else if (rest.s && str_is(word, "jsonpath"))
        return read_path(w, rest, err);
    else if (!rest.s)
        return read_phase(w, word, err);
    else
        return error_set(err, ERR_INVALID, "unrecognized condition: \"%s\"", w->settings.until);
    return 0;
}

/* --- Checking an object --- */

struct wait_check {
    const struct wait *w;
    const struct target *one;
};

static bool has_condition(const struct wait *w, const struct json *d, json_ref object)
{
    for (json_ref c = json_first(d, json_path(d, object, "status", "conditions")); c; c = json_next(d, c)) {
        struct str type = json_get_text(d, c, "type"), status = json_get_text(d, c, "status");

        if (type.len == w->condition.len && strncasecmp(type.s, w->condition.s, type.len) == 0)
            return status.len == w->value.len && strncasecmp(status.s, w->value.s, status.len) == 0;
    }
    return false;
}

static int has_path(const struct wait *w, struct json *d, json_ref object, struct error *err)
{
    _cleanup_(vec_done_p) struct jsonpath_values found = { 0 };
    _cleanup_(buf_done_p) struct buf value = BUF_INIT(SESSION_BYTES_MAX);
    int r = jsonpath_find(w->path, d, object, &found, err);

    if (r < 0 || found.count == 0)
        return r;
    if (!w->has_value)
        return 1;
    if (found.count > 1)
        return error_set(err, ERR_INVALID, "given jsonpath expression matches more than one value");
    if (json_is_container(json_node(d, found.items[0])))
        return error_set(err, ERR_INVALID,
                         "jsonpath leads to a nested object or list which is not supported");
    jsonpath_write_value(d, found.items[0], &value);
    return str_eq(buf_str(&value), w->value);
}

static int check_until(void *ctx, struct json *d, json_ref object, struct error *err)
{
    const struct wait_check *check = ctx;

    switch (check->w->until) {
    case UNTIL_CREATED:
        return object != 0;
    case UNTIL_DELETED:
        return !object || (check->one->uid &&
                           !json_is_string(d, json_path(d, object, "metadata", "uid"), check->one->uid));
    case UNTIL_CONDITION:
        return object && has_condition(check->w, d, object);
    case UNTIL_PATH:
        break;
    }
    return object ? has_path(check->w, d, object, err) : 0;
}

static int complain_timeout(const struct wait *w, const struct target *o)
{
    const char *type = why_type(o->kind->kind);
    bool is_elsewhere = o->kind->is_namespaced && strcmp(o->ns, w->targets.session.config.ns) != 0;

    if (!type || w->until == UNTIL_CREATED)
        return session_complain("timed out waiting for the condition on %s/%s", o->kind->plural, o->name);
    return session_complain("timed out waiting for the condition on %s/%s: see 'berth why %s/%s%s%s'",
                            o->kind->plural, o->name, type, o->name, is_elsewhere ? " -n " : "",
                            is_elsewhere ? o->ns : "");
}

static void wait_for(struct wait *w, const struct target *o)
{
    _cleanup_(buf_done_p) struct buf line = BUF_INIT(4096);
    uint64_t passed_ns = clock_mono_ns(w->targets.session.clock) - w->started_ns;
    struct await what = { .kind = o->kind,
                          .ns = o->ns,
                          .name = o->name,
                          /* All objects share one timeout. */
                          .timeout_ns = w->timeout_ns > passed_ns ? w->timeout_ns - passed_ns : 0,
                          .check = check_until,
                          .ctx = &(struct wait_check){ w, o } };
    int r = await_object(&w->targets.session, &what);

    if (r == -ERR_TIMEOUT && w->timeout_ns == 0) {
        w->status = session_complain("condition not met for %s/%s", o->kind->plural, o->name);
    } else if (r == -ERR_TIMEOUT) {
        w->status = complain_timeout(w, o);
    } else if (r < 0) {
        w->status = reply_complain(&w->targets.session.reply, NULL, NULL);
    } else {
        print_name(o->kind, str_of(o->name), &line);
        buf_add_cstr(&line, " condition met\n");
        print_out(&line);
        (void)fflush(stdout);
    }
}

/* --- Selecting the objects --- */

/* Objects must exist when the wait begins, unless it is for their creation or deletion. */
static void find_target(void *ctx, const struct target *target)
{
    struct wait *w = ctx;
    struct targets *t = &w->targets;
    struct target o = *target;
    struct client_request q = {
        .verb = CLIENT_GET, .kind = o.kind, .ns = o.kind->is_namespaced ? o.ns : NULL, .name = o.name
    };
    json_ref v;

    if (w->until != UNTIL_CREATED && !o.uid) {
        if (session_ask(&t->session, &q) == -ERR_NOT_FOUND && w->until == UNTIL_DELETED)
            return;
        if (reply_parse(&t->session.reply, &t->doc, &v) != CLI_OK) {
            w->status = CLI_FAILED;
            return;
        }
        o.uid = arena_dup(&t->arena, json_text(&t->doc, json_path(&t->doc, v, "metadata", "uid")));
        if (!o.uid) {
            w->status = session_complain("out of memory");
            return;
        }
    }
    if (vec_push(&w->objects, o) < 0)
        w->status = session_complain("out of memory");
}

static void wait_all(struct wait *w)
{
    const struct progress_work work = { .label = "waiting",
                                        .kind = PROGRESS_WAIT,
                                        .timeout_ns = w->timeout_ns };
    struct targets *t = &w->targets;
    bool is_named = t->resources.has_names || t->manifests.items.count;

    w->started_ns = clock_mono_ns(t->session.clock);
    t->ignores_not_found = w->until == UNTIL_DELETED;
    targets_each(t, find_target, w);
    if (t->failures)
        w->status = CLI_FAILED;
    if (w->objects.count == 0 && w->status == CLI_OK && !is_named && w->until != UNTIL_DELETED)
        w->status = session_complain("no matching resources found");
    progress_begin(&w->progress, progress_stderr(), &work);
    t->session.progress = &w->progress;
    for (size_t i = 0; i < w->objects.count; i++) {
        progress_set(&w->progress, i, w->objects.count);
        wait_for(w, &w->objects.items[i]);
    }
    progress_end(&w->progress, w->status == CLI_OK);
}

static int wait_run(const struct cli_verb *verb, int argc, char **argv)
{
    struct wait w = { 0 };
    int64_t timeout_ns = (int64_t)TIMEOUT_DEFAULT_NS;
    int args = 0, status = flags_parse(verb, argc, argv, &w.settings, &args);
    struct error err;

    if (status != CLI_OK)
        return status;
    if (!w.settings.until || !w.settings.until[0])
        return cli_fail_usage("wait: no condition given: specify --for: see 'berth help wait'");
    if (args == 0 && w.settings.targets.manifests.files.count == 0)
        return cli_fail_usage("wait: no object given: see 'berth help wait'");
    targets_init(&w.targets, &w.settings.targets);
    if (read_until(&w, &err) < 0 ||
        (w.settings.timeout && await_read_timeout(w.settings.timeout, &timeout_ns, &err) < 0) ||
        targets_open(&w.targets, args, argv + 1, &err) < 0)
        status = session_complain("%s", err.msg);
    else
        status = targets_check(&w.targets, /* may_be_all= */ false);
    w.timeout_ns = timeout_ns < 0 ? WEEK_NS : (uint64_t)timeout_ns;
    if (status == CLI_OK) {
        wait_all(&w);
        status = w.status;
    }
    w.path = jsonpath_free(w.path);
    vec_done(&w.objects);
    targets_done(&w.targets);
    return status;
}

static const struct flag wait_flags[] = {
    FLAG(struct wait_settings, until, "for", "WHAT",
         "a phase (bound), condition=NAME[=VALUE], jsonpath=PATH[=VALUE], create, delete"),
    FLAG(struct wait_settings, timeout, "timeout", "TIME",
         "default 30s; 0 checks once; negative waits up to a week"),
    TARGET_FLAGS(struct wait_settings, targets),
    SESSION_FLAGS(struct wait_settings, targets.session),
    { 0 },
};

const struct cli_verb cli_verb_wait = {
    .name = "wait",
    .usage = "wait (TYPE NAME... | TYPE/NAME... | TYPE -l SELECTOR | -f FILE) --for=WHAT",
    .summary = "Wait until objects reach a state",
    .flags = wait_flags,
    .examples = "  berth wait pvc/data --for=bound --timeout=2m\n"
                "  berth wait pod/web --for=condition=Ready\n"
                "  berth wait pvc/data --for=delete\n",
    .args = "TYPE",
    .run = wait_run,
};

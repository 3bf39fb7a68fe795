/* `berth wait`: until objects are as one wants them, are there, or are gone. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cli/await.h"
#include "cli/jsonpath.h"
#include "cli/manifests.h"
#include "cli/print.h"
#include "cli/progress.h"
#include "cli/resources.h"
#include "why/world.h"

#define WEEK_NS (UINT64_C(604800) * NS_PER_S)
#define TIMEOUT_DEFAULT_NS (30 * NS_PER_S)

struct wait_settings {
    struct session_settings session;
    struct manifest_settings manifests;
    const char *until;
    const char *timeout;
    const char *labels;
    const char *fields;
    bool is_all;
    bool is_everywhere;
};

enum until { UNTIL_CREATED, UNTIL_DELETED, UNTIL_CONDITION, UNTIL_PATH };

struct one {
    const struct kind_info *kind;
    const char *ns;
    const char *name;
    const char *uid; /* of deletions: that one; NULL: whichever has the name */
};

struct wait {
    struct wait_settings settings;
    struct session session;
    struct resources resources;
    struct manifests manifests;
    struct reply reply;
    struct json doc;
    struct arena arena;
    VEC(struct one) objects;
    enum until until;
    struct str condition, value; /* the condition's type, and what it or the path must be */
    bool has_value;
    struct jsonpath *path;
    uint64_t timeout_ns;
    uint64_t started_ns;
    struct progress progress;
    int status;
};

/* --- What to wait for --- */

/* condition=NAME[=VALUE] */
static int read_condition(struct wait *w, struct str text, struct error *err)
{
    w->until = UNTIL_CONDITION;
    w->value = text;
    w->condition = str_next(&w->value, '=');
    if (w->condition.len == 0)
        return error_set(err, ERR_INVALID, "--for=condition= needs the name of a condition");
    if (!w->value.s)
        w->value = STR_LIT("true");
    return 0;
}

static struct str unquoted(struct str s)
{
    bool is_quoted = s.len >= 2 && (s.s[0] == '"' || s.s[0] == '\'') && s.s[s.len - 1] == s.s[0];

    return is_quoted ? (struct str){ s.s + 1, s.len - 2 } : s;
}

/* Where the path ends: the brace that closes it, or the first '=' outside of filters. */
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

/* jsonpath={.status.phase}=Bound; without a value: until it is there. */
static int read_path(struct wait *w, struct str text, struct error *err)
{
    size_t len = path_len(text);
    struct str path = unquoted((struct str){ text.s, len });
    int r;

    w->until = UNTIL_PATH;
    w->has_value = len < text.len;
    if (w->has_value)
        w->value = unquoted((struct str){ text.s + len + 1, text.len - len - 1 });
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

static int read_timeout(struct wait *w, struct error *err)
{
    int64_t ns = (int64_t)TIMEOUT_DEFAULT_NS;
    int r = w->settings.timeout ? await_read_timeout(w->settings.timeout, &ns, err) : 0;

    w->timeout_ns = ns < 0 ? WEEK_NS : (uint64_t)ns;
    return r;
}

/* --- Looking --- */

struct look {
    const struct wait *w;
    const struct one *one;
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

static int look(void *ctx, struct json *d, json_ref object, struct error *err)
{
    const struct look *x = ctx;

    switch (x->w->until) {
    case UNTIL_CREATED:
        return object != 0;
    case UNTIL_DELETED:
        return !object ||
               (x->one->uid && !json_is_string(d, json_path(d, object, "metadata", "uid"), x->one->uid));
    case UNTIL_CONDITION:
        return object && has_condition(x->w, d, object);
    case UNTIL_PATH:
        break;
    }
    return object ? has_path(x->w, d, object, err) : 0;
}

/* They share the time: what the first took the second does not have. */
static uint64_t time_left(struct wait *w)
{
    uint64_t passed = clock_mono_ns(w->session.clock) - w->started_ns;

    return w->timeout_ns > passed ? w->timeout_ns - passed : 0;
}

static int complain_timeout(const struct wait *w, const struct one *o)
{
    const char *type = why_type(o->kind->kind);
    bool is_elsewhere = o->kind->is_namespaced && strcmp(o->ns, w->session.config.ns) != 0;

    if (!type || w->until == UNTIL_CREATED)
        return session_complain("timed out waiting for the condition on %s/%s", o->kind->plural, o->name);
    return session_complain("timed out waiting for the condition on %s/%s: see 'berth why %s/%s%s%s'",
                            o->kind->plural, o->name, type, o->name, is_elsewhere ? " -n " : "",
                            is_elsewhere ? o->ns : "");
}

static void wait_for(struct wait *w, const struct one *o)
{
    _cleanup_(buf_done_p) struct buf line = BUF_INIT(4096);
    struct look x = { w, o };
    struct await what = {
        .kind = o->kind, .ns = o->ns, .name = o->name, .timeout_ns = time_left(w), .look = look, .ctx = &x
    };
    int r = await_object(&w->session, &what, &w->reply);

    if (r == -ERR_TIMEOUT && w->timeout_ns == 0) {
        w->status = session_complain("condition not met for %s/%s", o->kind->plural, o->name);
    } else if (r == -ERR_TIMEOUT) {
        w->status = complain_timeout(w, o);
    } else if (r < 0) {
        w->status = reply_complain(&w->reply, NULL, NULL);
    } else {
        print_name(o->kind, str_of(o->name), &line);
        buf_add_cstr(&line, " condition met\n");
        print_out(&line);
        (void)fflush(stdout);
    }
}

/* --- Which objects --- */

static bool add(struct wait *w, const struct kind_info *k, json_ref object)
{
    json_ref meta = json_get(&w->doc, object, "metadata");
    struct one o = { .kind = k,
                     .ns = arena_dup(&w->arena, json_get_text(&w->doc, meta, "namespace")),
                     .name = arena_dup(&w->arena, json_get_text(&w->doc, meta, "name")),
                     .uid = arena_dup(&w->arena, json_get_text(&w->doc, meta, "uid")) };

    return o.ns && o.name && o.uid && vec_push(&w->objects, o) == 0;
}

/* Objects must be there when the wait begins, unless it is for their making or their end. */
static void find(struct wait *w, const struct kind_info *k, const char *ns, const char *name)
{
    struct client_request q = {
        .verb = name ? CLIENT_GET : CLIENT_LIST,
        .kind = k,
        .ns = !k->is_namespaced || (w->settings.is_everywhere && !name) ? NULL : ns,
        .name = name,
        .label_selector = name ? NULL : w->settings.labels,
        .field_selector = name ? NULL : w->settings.fields,
    };
    bool is_kept = true;
    struct error err;
    json_ref v;

    if (w->until == UNTIL_CREATED && name) {
        struct one later = { k, ns, name, NULL };
        int r = vec_push(&w->objects, later);

        is_kept = r == 0;
    } else if (session_ask(&w->session, &q, &w->reply) < 0) {
        if (w->reply.r != -ERR_NOT_FOUND || w->until != UNTIL_DELETED)
            w->status = reply_complain(&w->reply, NULL, NULL);
        return;
    } else if (json_parse(&w->doc, buf_str(&w->reply.text), &v, &err) < 0) {
        w->status = session_complain("the server's answer cannot be read: %s", err.msg);
    } else if (name) {
        is_kept = add(w, k, v);
    } else {
        for (json_ref o = json_first(&w->doc, json_get(&w->doc, v, "items")); o && is_kept;
             o = json_next(&w->doc, o))
            is_kept = add(w, k, o);
    }
    if (!is_kept)
        w->status = session_complain("out of memory");
}

static int check_combination(const struct wait *w)
{
    const struct wait_settings *x = &w->settings;
    bool selects = x->labels || x->fields || x->is_all;

    if (w->resources.has_names && selects)
        return session_complain("name cannot be provided when a selector is specified");
    if (w->resources.count && !w->resources.has_names && !selects)
        return session_complain("resource(s) were provided, but no name was specified");
    return CLI_OK;
}

static void begin_progress(struct wait *w)
{
    const struct progress_work work = { .label = "waiting",
                                        .kind = PROGRESS_WAIT,
                                        .timeout_ns = w->timeout_ns };

    progress_begin(&w->progress, progress_stderr(), &work);
    w->session.progress = &w->progress;
}

static void wait_all(struct wait *w)
{
    bool is_named = w->resources.has_names || w->manifests.items.count;

    w->started_ns = clock_mono_ns(w->session.clock);
    for (size_t i = 0; i < w->resources.count; i++)
        find(w, w->resources.items[i].kind, w->session.ns, w->resources.items[i].name);
    for (size_t i = 0; i < w->manifests.items.count; i++) {
        const struct manifest *m = &w->manifests.items.items[i];

        find(w, m->kind, m->ns, m->name);
    }
    if (w->objects.count == 0 && w->status == CLI_OK && !is_named && w->until != UNTIL_DELETED)
        w->status = session_complain("no matching resources found");
    begin_progress(w);
    for (size_t i = 0; i < w->objects.count; i++) {
        progress_set(&w->progress, i, w->objects.count);
        wait_for(w, &w->objects.items[i]);
    }
    progress_end(&w->progress, w->status == CLI_OK);
}

static int wait_open(struct wait *w, int args, char **argv)
{
    const struct wait_settings *x = &w->settings;
    struct error err;

    if (read_until(w, &err) < 0 || read_timeout(w, &err) < 0 ||
        session_open(&x->session, &w->session, &err) < 0 ||
        resources_read(args, argv + 1, &w->resources, &err) < 0 ||
        (x->manifests.files.count && manifests_read(&x->manifests, &w->session, &w->manifests, &err) < 0))
        return session_complain("%s", err.msg);
    return check_combination(w);
}

static int wait_run(int argc, char **argv)
{
    struct wait w = { .arena = ARENA_INIT(SESSION_BYTES_MAX) };
    int args = 0, status = flags_parse(&cli_verb_wait, argc, argv, &w.settings, &args);

    if (status != CLI_OK)
        return status;
    if (!w.settings.until || !w.settings.until[0])
        return cli_fail_usage("wait: nothing given to wait for, with --for: see 'berth help wait'");
    if (args == 0 && w.settings.manifests.files.count == 0)
        return cli_fail_usage("wait: no object given: see 'berth help wait'");
    json_init(&w.doc, SESSION_BYTES_MAX);
    json_init(&w.manifests.doc, SESSION_BYTES_MAX);
    status = wait_open(&w, args, argv);
    if (status == CLI_OK) {
        wait_all(&w);
        status = w.status;
    }
    w.path = jsonpath_free(w.path);
    vec_done(&w.objects);
    arena_done(&w.arena);
    json_done(&w.doc);
    reply_done(&w.reply);
    manifests_done(&w.manifests);
    session_close(&w.session);
    return status;
}

static const struct flag wait_flags[] = {
    FLAG(struct wait_settings, until, "for", "WHAT",
         "a phase (bound), condition=NAME[=VALUE], jsonpath=PATH[=VALUE], create, delete"),
    FLAG(struct wait_settings, timeout, "timeout", "TIME",
         "30s unless said; 0 looks once, less than 0 is a week"),
    MANIFEST_FLAGS(struct wait_settings, manifests),
    FLAG_SHORT(struct wait_settings, labels, 'l', "selector", "SELECTOR", "those with these labels"),
    FLAG(struct wait_settings, fields, "field-selector", "SELECTOR", "those with these fields"),
    FLAG_ON(struct wait_settings, is_all, "all", "all of that type in the namespace"),
    FLAG_SHORT_ON(struct wait_settings, is_everywhere, 'A', "all-namespaces", "in every namespace"),
    SESSION_FLAGS(struct wait_settings, session),
    { 0 },
};

const struct cli_verb cli_verb_wait = {
    .name = "wait",
    .usage = "wait (TYPE NAME... | TYPE/NAME... | TYPE -l SELECTOR | -f FILE) --for=WHAT",
    .summary = "Wait until objects are as they should be",
    .flags = wait_flags,
    .examples = "  berth wait pvc/data --for=bound --timeout=2m\n"
                "  berth wait pod/web --for=condition=Ready\n"
                "  berth wait pvc/data --for=delete\n",
    .args = "TYPE",
    .run = wait_run,
};

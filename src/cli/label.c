/* `berth label` and `berth annotate`: sets and removes entries of metadata.labels and metadata.annotations.
 *
 * Both read the object, refuse to replace a value unless --overwrite is given, and send a merge patch of the
 * entries that were named. The patch names the object's uid, so that an object that was recreated in between
 * is not changed; with --resource-version it also names that version. Outputs and refusals are kubectl's. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

#include "api/names.h"
#include "cli/deed.h"
#include "cli/manifests.h"
#include "cli/resources.h"
#include "io/status_line.h"

/* Overwritten without being asked, as by kubectl: a note on the last change. */
#define CHANGE_CAUSE_ANNOTATION "kubernetes.io/change-cause"
#define CONFLICTS_BYTES_MAX ((size_t)1 << 20)

struct label_settings {
    struct session_settings session;
    struct manifest_settings manifests;
    struct deed_settings deed;
    const char *labels;
    const char *fields;
    const char *version;
    bool is_everywhere;
    bool is_all;
    bool is_list;
    bool overwrites;
};

/* What differs between the two verbs. */
struct label_verb {
    const struct cli_verb *cli;
    const char *noun;  /* "label" */
    const char *field; /* of metadata */
    bool is_label;
};

struct label_pair {
    struct str key;
    struct str value;
    bool is_removal;
};

/* An object to change, by its name; the document of the command holds what was read of it. */
struct label_target {
    const struct kind_info *kind;
    const char *ns;
    const char *name;
};

struct labeling {
    const struct label_verb *verb;
    struct label_settings settings;
    struct session session;
    struct resources resources;
    struct manifests manifests;
    struct deed deed;
    struct reply reply;
    struct json doc; /* of one object, or one list */
    struct arena arena;
    VEC(struct label_pair) pairs;
    VEC(struct label_target) targets;
    struct buf conflicts; /* values that would be replaced, one per line */
    size_t errors;
    bool is_single; /* one object is named */
};

static void count_failure(struct labeling *x)
{
    x->errors++;
    (void)reply_complain(&x->reply, NULL, NULL);
}

/* --- KEY=VALUE and KEY- --- */

static bool is_pair(const char *argument)
{
    size_t len = strlen(argument);

    return (strchr(argument, '=') && argument[0] != '=') || (len > 1 && argument[len - 1] == '-');
}

/* How many arguments come before the first pair; behind it there are only pairs. */
static int count_resources(const struct labeling *x, int args, char **argv, int *ret)
{
    int count = 0;

    while (count < args && !is_pair(argv[count]))
        count++;
    for (int i = count; i < args; i++)
        if (!is_pair(argv[i]))
            return session_complain("all resources must be specified before %s changes: %s", x->verb->noun,
                                    argv[i]);
    *ret = count;
    return CLI_OK;
}

static int check_label_value(const char *argument, struct str value)
{
    _cleanup_(buf_done_p) struct buf why = BUF_INIT(4096);
    struct name_problems problems;

    if (name_check(NAME_LABEL_VALUE, value, &problems))
        return CLI_OK;
    name_problems_join(&problems, &why);
    return session_complain("invalid label value: \"%s\": %s", argument, buf_cstr(&why));
}

static int read_pair(struct labeling *x, const char *argument)
{
    struct str text = str_of(argument), value = text;
    struct label_pair pair = { .key = str_next(&value, '='), .value = value, .is_removal = !value.s };

    if (pair.is_removal)
        pair.key.len--;
    else if (x->verb->is_label && strchr(value.s, '='))
        return session_complain("invalid label spec: %s", argument);
    else if (x->verb->is_label && check_label_value(argument, value) != CLI_OK)
        return CLI_FAILED;
    return vec_push(&x->pairs, pair) < 0 ? session_complain("out of memory") : CLI_OK;
}

static bool is_set(const struct labeling *x, struct str key)
{
    for (size_t i = 0; i < x->pairs.count; i++)
        if (!x->pairs.items[i].is_removal && str_eq(x->pairs.items[i].key, key))
            return true;
    return false;
}

static int check_removals(const struct labeling *x)
{
    for (size_t i = 0; i < x->pairs.count; i++) {
        const struct label_pair *p = &x->pairs.items[i];

        if (!p->is_removal || !is_set(x, p->key))
            continue;
        if (x->verb->is_label)
            return session_complain("can not both modify and remove a label in the same command");
        return session_complain(
            "can not both modify and remove the following annotation(s) in the same command: %.*s",
            STR_ARG(p->key));
    }
    return CLI_OK;
}

/* --- One object --- */

static json_ref entries_of(struct labeling *x, json_ref object)
{
    return json_path(&x->doc, object, "metadata", x->verb->field);
}

/* True when a value would be replaced that must not be; the conflict is noted. */
static bool has_conflict(struct labeling *x, json_ref object)
{
    json_ref entries = entries_of(x, object);
    size_t found = 0;

    for (size_t i = 0; i < x->pairs.count && !x->settings.overwrites; i++) {
        const struct label_pair *p = &x->pairs.items[i];
        json_ref there = json_get_key(&x->doc, entries, p->key);
        struct str value = json_text(&x->doc, there);

        if (!there || p->is_removal || str_eq(value, p->value) ||
            (!x->verb->is_label && str_is(p->key, CHANGE_CAUSE_ANNOTATION)))
            continue;
        if (x->verb->is_label)
            buf_addf(&x->conflicts, "'%.*s' already has a value (%.*s), and --overwrite is false\n",
                     STR_ARG(p->key), STR_ARG(value));
        else
            buf_addf(&x->conflicts, "%s'%.*s' already has a value (%.*s)",
                     found ? "; " : "--overwrite is false but found the following declared annotation(s): ",
                     STR_ARG(p->key), STR_ARG(value));
        found++;
    }
    if (found && !x->verb->is_label)
        buf_add_cstr(&x->conflicts, "\n");
    x->errors += x->verb->is_label ? found : found > 0;
    return found > 0;
}

/* Changes the copy that was read. Its text before and after says what happened: see outcome(). */
static void change_copy(struct labeling *x, json_ref object)
{
    struct json *d = &x->doc;
    json_ref entries = json_ensure_object(d, json_ensure_object(d, object, "metadata"), x->verb->field);

    for (size_t i = 0; i < x->pairs.count; i++) {
        const struct label_pair *p = &x->pairs.items[i];
        json_ref there = json_get_key(d, entries, p->key);

        if (!p->is_removal)
            json_set_key(d, entries, p->key, json_new_string(d, p->value));
        else if (there)
            json_unlink(d, there);
    }
}

/* The words of kubectl: "unlabeled" when the object's text became shorter. */
static const char *outcome(const struct labeling *x, size_t before, size_t after, bool is_same)
{
    if (!x->verb->is_label)
        return "annotated";
    if (is_same)
        return "not labeled";
    return after < before && !x->settings.overwrites ? "unlabeled" : "labeled";
}

static int write_patch(struct labeling *x, json_ref object, struct buf *ret, struct error *err)
{
    struct json *d = &x->doc;
    json_ref patch = json_new_object(d), meta = json_ensure_object(d, patch, "metadata"), entries;
    struct str uid = json_get_text(d, json_get(d, object, "metadata"), "uid");

    entries = json_ensure_object(d, meta, x->verb->field);
    if (uid.len)
        json_set(d, meta, "uid", json_new_string(d, uid));
    if (x->settings.version)
        json_set_string(d, meta, "resourceVersion", x->settings.version);
    for (size_t i = 0; i < x->pairs.count; i++) {
        const struct label_pair *p = &x->pairs.items[i];

        json_set_key(d, entries, p->key, p->is_removal ? json_new_null(d) : json_new_string(d, p->value));
    }
    json_write(d, patch, ret);
    return json_check(d, err) < 0 ? -(int)err->code : buf_check(ret, "patch", err);
}

/* Sends the patch; *ret is what the server made of it. */
static int send_patch(struct labeling *x, const struct label_target *t, json_ref object, json_ref *ret)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(CLIENT_REQUEST_BYTES_MAX);
    struct client_request q = {
        .verb = CLIENT_PATCH, .kind = t->kind, .ns = t->ns, .name = t->name, .patch = CLIENT_PATCH_MERGE
    };
    struct error err;

    if (write_patch(x, object, &body, &err) < 0)
        return session_complain("%s", err.msg);
    q.body = buf_str(&body);
    deed_fill(&x->deed, &q);
    q.field_validation = NULL;
    if (session_ask(&x->session, &q, &x->reply) < 0)
        return reply_complain(&x->reply, NULL, NULL);
    if (json_parse(&x->doc, buf_str(&x->reply.text), ret, &err) < 0)
        return session_complain("the server's answer cannot be read: %s", err.msg);
    return CLI_OK;
}

static void list_entries(struct labeling *x, const struct label_target *t, json_ref object)
{
    if (!x->is_single)
        printf("Listing %s for %s.%s/%s:\n", x->verb->field, t->kind->name, t->kind->group, t->name);
    for (json_ref e = json_first(&x->doc, entries_of(x, object)); e; e = json_next(&x->doc, e))
        printf("%s%.*s=%.*s\n", x->is_single ? "" : " ", STR_ARG(json_key(&x->doc, e)),
               STR_ARG(json_text(&x->doc, e)));
}

static void note_missing(struct labeling *x, json_ref object)
{
    for (size_t i = 0; i < x->pairs.count && x->verb->is_label; i++) {
        const struct label_pair *p = &x->pairs.items[i];

        if (p->is_removal && !json_get_key(&x->doc, entries_of(x, object), p->key))
            printf("label \"%.*s\" not found.\n", STR_ARG(p->key));
    }
}

static int change_object(struct labeling *x, const struct label_target *t, json_ref object)
{
    bool is_local = x->deed.dry == DEED_DRY_CLIENT || x->settings.is_list;
    size_t before = json_size(&x->doc, entries_of(x, object), SIZE_MAX), after;
    json_ref copy = json_copy(&x->doc, entries_of(x, object)), answer = object;
    bool is_same;

    if (!is_local)
        note_missing(x, object);
    if (has_conflict(x, object))
        return CLI_OK; /* counted, and said at the end */
    change_copy(x, object);
    after = json_size(&x->doc, entries_of(x, object), SIZE_MAX);
    is_same = copy ? json_equal(&x->doc, copy, entries_of(x, object))
                   : json_count(&x->doc, entries_of(x, object)) == 0;
    if (x->settings.is_list) {
        list_entries(x, t, object);
        return CLI_OK;
    }
    if (!is_local && send_patch(x, t, object, &answer) != CLI_OK)
        return CLI_FAILED;
    return deed_tell(&x->deed, t->kind, &x->doc, answer, outcome(x, before, after, is_same));
}

static void change_target(struct labeling *x, const struct label_target *t)
{
    struct client_request q = { .verb = CLIENT_GET, .kind = t->kind, .ns = t->ns, .name = t->name };
    struct error err;
    json_ref object;

    json_clear(&x->doc);
    if (session_ask(&x->session, &q, &x->reply) < 0)
        count_failure(x);
    else if (json_parse(&x->doc, buf_str(&x->reply.text), &object, &err) < 0)
        x->errors++, (void)session_complain("the server's answer cannot be read: %s", err.msg);
    else if (change_object(x, t, object) != CLI_OK)
        x->errors++;
}

/* --- Which objects --- */

static int add_target(struct labeling *x, const struct kind_info *k, const char *ns, const char *name)
{
    struct label_target t = { .kind = k, .ns = k->is_namespaced ? ns : NULL, .name = name };

    return vec_push(&x->targets, t) < 0 ? session_complain("out of memory") : CLI_OK;
}

static int add_selected(struct labeling *x, const struct kind_info *k)
{
    struct client_request q = {
        .verb = CLIENT_LIST,
        .kind = k,
        .ns = x->settings.is_everywhere || !k->is_namespaced ? NULL : x->session.ns,
        .label_selector = x->settings.labels,
        .field_selector = x->settings.fields,
    };
    struct error err;
    json_ref list;

    if (session_ask(&x->session, &q, &x->reply) < 0) {
        count_failure(x);
        return CLI_OK; /* the other types may be listed */
    }
    json_clear(&x->doc);
    if (json_parse(&x->doc, buf_str(&x->reply.text), &list, &err) < 0)
        return session_complain("the server's answer cannot be read: %s", err.msg);
    for (json_ref o = json_first(&x->doc, json_get(&x->doc, list, "items")); o; o = json_next(&x->doc, o)) {
        json_ref meta = json_get(&x->doc, o, "metadata");
        const char *ns = arena_dup(&x->arena, json_get_text(&x->doc, meta, "namespace"));
        const char *name = arena_dup(&x->arena, json_get_text(&x->doc, meta, "name"));

        if (!ns || !name)
            return session_complain("out of memory");
        if (add_target(x, k, ns, name) != CLI_OK)
            return CLI_FAILED;
    }
    return CLI_OK;
}

static int find_targets(struct labeling *x)
{
    int status = CLI_OK;

    for (size_t i = 0; i < x->resources.count && status == CLI_OK; i++) {
        const struct resource *what = &x->resources.items[i];

        status =
            what->name ? add_target(x, what->kind, x->session.ns, what->name) : add_selected(x, what->kind);
    }
    for (size_t i = 0; i < x->manifests.items.count && status == CLI_OK; i++) {
        const struct manifest *m = &x->manifests.items.items[i];

        status = add_target(x, m->kind, m->ns, m->name);
    }
    return status;
}

/* --- All of it --- */

static int check_settings(const struct labeling *x, int resources)
{
    const struct label_settings *s = &x->settings;

    if (s->is_list && s->deed.output)
        return session_complain("--list and --output may not be specified together");
    if (s->is_all && (s->labels || s->fields))
        return session_complain("cannot set --all and --%s at the same time",
                                s->labels ? "selector" : "field-selector");
    if (resources == 0 && s->manifests.files.count == 0)
        return session_complain(
            "one or more resources must be specified as <resource> <name> or <resource>/<name>");
    if (x->pairs.count == 0 && !s->is_list)
        return session_complain("at least one %s update is required", x->verb->noun);
    if (resources && s->manifests.files.count)
        return session_complain("when paths, URLs, or stdin is provided as input, you may not specify "
                                "resource arguments as well");
    return check_removals(x);
}

static int check_combination(const struct labeling *x)
{
    const struct label_settings *s = &x->settings;
    bool selects = s->labels || s->fields || s->is_all;

    if (x->resources.has_pairs && selects)
        return session_complain(
            "selectors and the all flag cannot be used when passing resource/name arguments");
    if (x->resources.has_names && selects)
        return session_complain("name cannot be provided when a selector is specified");
    if (x->resources.count && !x->resources.has_names && !selects)
        return session_complain("resource(s) were provided, but no name was specified");
    if (s->is_everywhere && x->resources.has_names)
        return session_complain("a resource cannot be retrieved by name across all namespaces");
    if (s->version && !x->is_single)
        return session_complain("--resource-version may only be used with a single resource");
    return CLI_OK;
}

static int label_open(struct labeling *x, int args, char **argv)
{
    const struct label_settings *s = &x->settings;
    int resources = 0;
    struct error err;

    if (count_resources(x, args, argv, &resources) != CLI_OK)
        return CLI_FAILED;
    for (int i = resources; i < args; i++)
        if (read_pair(x, argv[i]) != CLI_OK)
            return CLI_FAILED;
    if (check_settings(x, resources) != CLI_OK)
        return CLI_FAILED;
    if (deed_init(&x->deed, &s->deed, &err) < 0 || session_open(&s->session, &x->session, &err) < 0 ||
        resources_read(resources, argv, &x->resources, &err) < 0 ||
        (s->manifests.files.count && manifests_read(&s->manifests, &x->session, &x->manifests, &err) < 0))
        return session_complain("%s", err.msg);
    x->is_single = x->manifests.items.count + x->resources.count == 1 &&
                   (x->manifests.items.count || x->resources.has_names);
    return check_combination(x);
}

/* As kubectl: one conflict is an error of its own, several are a list. */
static int report_conflicts(const struct labeling *x)
{
    if (x->conflicts.len) {
        struct str text = buf_str(&x->conflicts);

        status_line_clear();
        if (x->errors == 1)
            (void)fputs("error: ", stderr);
        session_print_error_text(text);
    }
    return x->errors ? CLI_FAILED : CLI_OK;
}

static int label_all(struct labeling *x, int args, char **argv)
{
    if (label_open(x, args, argv) != CLI_OK || find_targets(x) != CLI_OK)
        return CLI_FAILED;
    for (size_t i = 0; i < x->targets.count; i++)
        change_target(x, &x->targets.items[i]);
    (void)fflush(stdout);
    if (manifests_complain(&x->manifests) != CLI_OK)
        x->errors++;
    return report_conflicts(x);
}

static int label_either(const struct label_verb *verb, int argc, char **argv)
{
    struct labeling x = { .verb = verb,
                          .arena = ARENA_INIT(SESSION_BYTES_MAX),
                          .conflicts = BUF_INIT(CONFLICTS_BYTES_MAX) };
    int args = 0, status = flags_parse(verb->cli, argc, argv, &x.settings, &args);

    if (status != CLI_OK)
        return status;
    json_init(&x.doc, SESSION_BYTES_MAX);
    json_init(&x.manifests.doc, SESSION_BYTES_MAX);
    status = label_all(&x, args, argv + 1);
    vec_done(&x.pairs);
    vec_done(&x.targets);
    buf_done(&x.conflicts);
    arena_done(&x.arena);
    json_done(&x.doc);
    reply_done(&x.reply);
    deed_done(&x.deed);
    manifests_done(&x.manifests);
    session_close(&x.session);
    return status;
}

static int label_run(int argc, char **argv)
{
    static const struct label_verb verb = {
        .cli = &cli_verb_label, .noun = "label", .field = "labels", .is_label = true
    };

    return label_either(&verb, argc, argv);
}

static int annotate_run(int argc, char **argv)
{
    static const struct label_verb verb = { .cli = &cli_verb_annotate,
                                            .noun = "annotation",
                                            .field = "annotations" };

    return label_either(&verb, argc, argv);
}

static const struct flag label_flags[] = {
    FLAG_ON(struct label_settings, overwrites, "overwrite", "replace values that are already set"),
    FLAG_ON(struct label_settings, is_list, "list", "print what is set, after the changes; change nothing"),
    FLAG_SHORT(struct label_settings, labels, 'l', "selector", "SELECTOR", "objects with these labels"),
    FLAG(struct label_settings, fields, "field-selector", "SELECTOR", "objects with these fields"),
    FLAG_ON(struct label_settings, is_all, "all", "all objects of the type in the namespace"),
    FLAG_SHORT_ON(struct label_settings, is_everywhere, 'A', "all-namespaces", "in every namespace"),
    FLAG(struct label_settings, version, "resource-version", "VERSION",
         "change the object only if this is its version"),
    MANIFEST_FLAGS(struct label_settings, manifests),
    FLAG_SHORT(struct label_settings, deed.output, 'o', "output", "FORM",
               "print the object: yaml, json, name, jsonpath=TEMPLATE"),
    FLAG_MAY_STAND_ALONE(struct label_settings, deed.dry_run, "dry-run", "WAY", "client",
                         "none, client (send nothing) or server (change nothing)"),
    FLAG(struct label_settings, deed.manager, "field-manager", "NAME", "owner of the fields; else 'berth'"),
    FLAG_ON(struct label_settings, deed.shows_managed_fields, "show-managed-fields",
            "with metadata.managedFields"),
    SESSION_FLAGS(struct label_settings, session),
    { 0 },
};

const struct cli_verb cli_verb_label = {
    .name = "label",
    .usage = "label (TYPE NAME... | TYPE -l SELECTOR | TYPE --all | -f FILE) KEY=VALUE... KEY-...",
    .summary = "Set or remove labels of objects",
    .flags = label_flags,
    .examples = "  berth label pv disk-1 tier=gold              # set a label\n"
                "  berth label pv disk-1 tier=tin --overwrite   # replace its value\n"
                "  berth label pv disk-1 tier-                  # remove it\n"
                "  berth label pvc --all -A team=shop           # all claims\n"
                "  berth label node n1 --list                   # which labels are set?\n",
    .args = "TYPE",
    .run = label_run,
};

const struct cli_verb cli_verb_annotate = {
    .name = "annotate",
    .usage = "annotate (TYPE NAME... | TYPE/NAME... | TYPE -l SELECTOR | TYPE --all | -f FILE) KEY=VALUE... "
             "KEY-...",
    .summary = "Set or remove annotations of objects",
    .flags = label_flags,
    .examples =
        "  berth annotate sc fast storageclass.kubernetes.io/is-default-class=true  # the default class\n"
        "  berth annotate pvc data note='of the shop'                               # any text\n"
        "  berth annotate pvc data note-                                            # remove it\n",
    .args = "TYPE",
    .run = annotate_run,
};

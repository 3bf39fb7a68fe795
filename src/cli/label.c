/* `berth label` and `berth annotate`: sets and removes entries of metadata.labels and metadata.annotations.
 *
 * Both read the object, refuse to replace a value unless --overwrite is given, and send a merge patch of the
 * entries that were named. The patch names the object's uid, so that an object that was recreated in between
 * is not changed; with --resource-version it also names that version. Outputs and refusals are kubectl's. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

#include "api/names.h"
#include "cli/change_result.h"
#include "cli/targets.h"

/* Replaced without --overwrite, as by kubectl: a note on the last change. */
#define CHANGE_CAUSE_ANNOTATION "kubernetes.io/change-cause"
#define CONFLICTS_BYTES_MAX ((size_t)1 << 20)

struct label_settings {
    struct target_settings targets;
    struct change_result_settings result;
    const char *version;
    bool is_list;
    bool overwrites;
};

/* What differs between the two verbs. */
struct label_verb {
    const char *noun;  /* "label" */
    const char *field; /* of metadata */
    bool is_label;
};

struct label_pair {
    struct str key;
    struct str value;
    bool is_removal;
};

struct labeling {
    const struct label_verb *verb;
    struct label_settings settings;
    struct targets targets; /* its document has one object, or one list */
    struct change_result result;
    VEC(struct label_pair) pairs;
    VEC(struct target) found;
    struct buf conflicts; /* values that would be replaced, one per line */
    size_t errors;
    bool is_single; /* exactly one object is named */
};

/* --- KEY=VALUE and KEY- --- */

static bool is_pair(const char *argument)
{
    size_t len = strlen(argument);

    return (strchr(argument, '=') && argument[0] != '=') || (len > 1 && argument[len - 1] == '-');
}

/* The number of arguments before the first pair; only pairs may follow. */
static int count_resources(const struct labeling *labeling, int args, char **argv, int *ret)
{
    int count = 0;

    while (count < args && !is_pair(argv[count]))
        count++;
    for (int i = count; i < args; i++)
        if (!is_pair(argv[i]))
            return session_complain("all resources must be specified before %s changes: %s",
                                    labeling->verb->noun, argv[i]);
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

static int read_pair(struct labeling *labeling, const char *argument)
{
    struct str text = str_of(argument), value = text;
    struct label_pair pair = { .key = str_next(&value, '='), .value = value, .is_removal = !value.s };

    if (pair.is_removal)
        pair.key.len--;
    else if (labeling->verb->is_label && strchr(value.s, '='))
        return session_complain("invalid label spec: %s", argument);
    else if (labeling->verb->is_label && check_label_value(argument, value) != CLI_OK)
        return CLI_FAILED;
    return vec_push(&labeling->pairs, pair) < 0 ? session_complain("out of memory") : CLI_OK;
}

static bool is_set(const struct labeling *labeling, struct str key)
{
    for (size_t i = 0; i < labeling->pairs.count; i++)
        if (!labeling->pairs.items[i].is_removal && str_eq(labeling->pairs.items[i].key, key))
            return true;
    return false;
}

static int check_removals(const struct labeling *labeling)
{
    for (size_t i = 0; i < labeling->pairs.count; i++) {
        const struct label_pair *p = &labeling->pairs.items[i];

        if (!p->is_removal || !is_set(labeling, p->key))
            continue;
        if (labeling->verb->is_label)
            return session_complain("can not both modify and remove a label in the same command");
        return session_complain(
            "can not both modify and remove the following annotation(s) in the same command: %.*s",
            STR_ARG(p->key));
    }
    return CLI_OK;
}

/* --- One object --- */

static json_ref entries_of(struct labeling *labeling, json_ref object)
{
    return json_path(&labeling->targets.doc, object, "metadata", labeling->verb->field);
}

/* True when a value would be replaced without permission; the conflict is recorded. */
static bool has_conflict(struct labeling *labeling, json_ref object)
{
    json_ref entries = entries_of(labeling, object);
    size_t found = 0;

    for (size_t i = 0; i < labeling->pairs.count && !labeling->settings.overwrites; i++) {
        const struct label_pair *p = &labeling->pairs.items[i];
        json_ref there = json_get_key(&labeling->targets.doc, entries, p->key);
        struct str value = json_text(&labeling->targets.doc, there);

        if (!there || p->is_removal || str_eq(value, p->value) ||
            (!labeling->verb->is_label && str_is(p->key, CHANGE_CAUSE_ANNOTATION)))
            continue;
        if (labeling->verb->is_label)
            buf_addf(&labeling->conflicts, "'%.*s' already has a value (%.*s), and --overwrite is false\n",
                     STR_ARG(p->key), STR_ARG(value));
        else
            buf_addf(&labeling->conflicts, "%s'%.*s' already has a value (%.*s)",
                     found ? "; " : "--overwrite is false but found the following declared annotation(s): ",
                     STR_ARG(p->key), STR_ARG(value));
        found++;
    }
    if (found && !labeling->verb->is_label)
        buf_add_cstr(&labeling->conflicts, "\n");
    labeling->errors += labeling->verb->is_label ? found : found > 0;
    return found > 0;
}

/* Changes the copy that was read. describe_outcome() compares its text before and after. */
static void change_copy(struct labeling *labeling, json_ref object)
{
    struct json *d = &labeling->targets.doc;
    json_ref entries =
        json_ensure_object(d, json_ensure_object(d, object, "metadata"), labeling->verb->field);

    for (size_t i = 0; i < labeling->pairs.count; i++) {
        const struct label_pair *p = &labeling->pairs.items[i];
        json_ref there = json_get_key(d, entries, p->key);

        if (!p->is_removal)
            json_set_key(d, entries, p->key, json_new_string(d, p->value));
        else if (there)
            json_unlink(d, there);
    }
}

/* kubectl's words: "unlabeled" when the text of the object became shorter. */
static const char *describe_outcome(const struct labeling *labeling, size_t before, size_t after,
                                    bool is_same)
{
    if (!labeling->verb->is_label)
        return "annotated";
    if (is_same)
        return "not labeled";
    return after < before && !labeling->settings.overwrites ? "unlabeled" : "labeled";
}

static int write_label_patch(struct labeling *labeling, json_ref object, struct buf *ret, struct error *err)
{
    struct json *d = &labeling->targets.doc;
    json_ref patch = json_new_object(d), meta = json_ensure_object(d, patch, "metadata"), entries;
    struct str uid = json_get_text(d, json_get(d, object, "metadata"), "uid");

    entries = json_ensure_object(d, meta, labeling->verb->field);
    if (uid.len)
        json_set(d, meta, "uid", json_new_string(d, uid));
    if (labeling->settings.version)
        json_set_string(d, meta, "resourceVersion", labeling->settings.version);
    for (size_t i = 0; i < labeling->pairs.count; i++) {
        const struct label_pair *p = &labeling->pairs.items[i];

        json_set_key(d, entries, p->key, p->is_removal ? json_new_null(d) : json_new_string(d, p->value));
    }
    json_write(d, patch, ret);
    return json_check(d, err) < 0 ? -(int)err->code : buf_check(ret, "patch", err);
}

/* Sends the patch; *ret is the server's result. */
static int send_patch(struct labeling *labeling, const struct target *t, json_ref object, json_ref *ret)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(CLIENT_REQUEST_BYTES_MAX);
    struct client_request q = { .verb = CLIENT_PATCH,
                                .kind = t->kind,
                                .ns = t->kind->is_namespaced ? t->ns : NULL,
                                .name = t->name,
                                .patch = CLIENT_PATCH_MERGE };
    struct error err;

    if (write_label_patch(labeling, object, &body, &err) < 0)
        return session_complain("%s", err.msg);
    q.body = buf_str(&body);
    change_result_fill(&labeling->result, &q);
    q.field_validation = NULL;
    return session_read(&labeling->targets.session, &q, &labeling->targets.doc, ret);
}

static void list_entries(struct labeling *labeling, const struct target *t, json_ref object)
{
    if (!labeling->is_single)
        printf("Listing %s for %s.%s/%s:\n", labeling->verb->field, t->kind->name, t->kind->group, t->name);
    for (json_ref e = json_first(&labeling->targets.doc, entries_of(labeling, object)); e;
         e = json_next(&labeling->targets.doc, e))
        printf("%s%.*s=%.*s\n", labeling->is_single ? "" : " ", STR_ARG(json_key(&labeling->targets.doc, e)),
               STR_ARG(json_text(&labeling->targets.doc, e)));
}

static void note_missing(struct labeling *labeling, json_ref object)
{
    for (size_t i = 0; i < labeling->pairs.count && labeling->verb->is_label; i++) {
        const struct label_pair *p = &labeling->pairs.items[i];

        if (p->is_removal && !json_get_key(&labeling->targets.doc, entries_of(labeling, object), p->key))
            printf("label \"%.*s\" not found.\n", STR_ARG(p->key));
    }
}

static int change_object(struct labeling *labeling, const struct target *t, json_ref object)
{
    bool is_local = labeling->result.dry == CHANGE_DRY_CLIENT || labeling->settings.is_list;
    size_t before = json_size(&labeling->targets.doc, entries_of(labeling, object), SIZE_MAX), after;
    json_ref copy = json_copy(&labeling->targets.doc, entries_of(labeling, object)), answer = object;
    bool is_same;

    if (!is_local)
        note_missing(labeling, object);
    if (has_conflict(labeling, object))
        return CLI_OK; /* recorded, and reported at the end */
    change_copy(labeling, object);
    after = json_size(&labeling->targets.doc, entries_of(labeling, object), SIZE_MAX);
    is_same = copy ? json_equal(&labeling->targets.doc, copy, entries_of(labeling, object))
                   : json_count(&labeling->targets.doc, entries_of(labeling, object)) == 0;
    if (labeling->settings.is_list) {
        list_entries(labeling, t, object);
        return CLI_OK;
    }
    if (!is_local && send_patch(labeling, t, object, &answer) != CLI_OK)
        return CLI_FAILED;
    return change_result_print(&labeling->result, t->kind, &labeling->targets.doc, answer,
                               describe_outcome(labeling, before, after, is_same));
}

static void change_target(struct labeling *labeling, const struct target *t)
{
    struct client_request q = {
        .verb = CLIENT_GET, .kind = t->kind, .ns = t->kind->is_namespaced ? t->ns : NULL, .name = t->name
    };
    json_ref object;

    json_clear(&labeling->targets.doc);
    if (session_read(&labeling->targets.session, &q, &labeling->targets.doc, &object) != CLI_OK ||
        change_object(labeling, t, object) != CLI_OK)
        labeling->errors++;
}

/* --- The verb --- */

static void keep_target(void *ctx, const struct target *t)
{
    struct labeling *labeling = ctx;

    if (vec_push(&labeling->found, *t) < 0) {
        (void)session_complain("out of memory");
        labeling->errors++;
    }
}

static int check_settings(const struct labeling *labeling, int resources)
{
    const struct target_settings *t = &labeling->settings.targets;

    if (labeling->settings.is_list && labeling->settings.result.output)
        return session_complain("--list and --output may not be specified together");
    if (t->is_all && (t->labels || t->fields))
        return session_complain("cannot set --all and --%s at the same time",
                                t->labels ? "selector" : "field-selector");
    if (resources == 0 && t->manifests.files.count == 0)
        return session_complain(
            "one or more resources must be specified as <resource> <name> or <resource>/<name>");
    if (labeling->pairs.count == 0 && !labeling->settings.is_list)
        return session_complain("at least one %s update is required", labeling->verb->noun);
    if (resources && t->manifests.files.count)
        return session_complain("when paths, URLs, or stdin is provided as input, you may not specify "
                                "resource arguments as well");
    return check_removals(labeling);
}

static int check_combination(const struct labeling *labeling)
{
    const struct target_settings *s = &labeling->settings.targets;
    const struct resources *named = &labeling->targets.resources;

    if (named->has_pairs && (s->labels || s->fields || s->is_all))
        return session_complain(
            "selectors and the all flag cannot be used when passing resource/name arguments");
    if (targets_check(&labeling->targets, /* may_be_all= */ false) != CLI_OK)
        return CLI_FAILED;
    if (s->is_everywhere && named->has_names)
        return session_complain("a resource cannot be retrieved by name across all namespaces");
    if (labeling->settings.version && !labeling->is_single)
        return session_complain("--resource-version may only be used with a single resource");
    return CLI_OK;
}

static int label_open(struct labeling *labeling, int args, char **argv)
{
    struct targets *t = &labeling->targets;
    int resources = 0;
    struct error err;

    if (count_resources(labeling, args, argv, &resources) != CLI_OK)
        return CLI_FAILED;
    for (int i = resources; i < args; i++)
        if (read_pair(labeling, argv[i]) != CLI_OK)
            return CLI_FAILED;
    if (check_settings(labeling, resources) != CLI_OK)
        return CLI_FAILED;
    if (change_result_init(&labeling->result, &labeling->settings.result, &err) < 0 ||
        targets_open(t, resources, argv, &err) < 0)
        return session_complain("%s", err.msg);
    labeling->is_single = t->manifests.items.count + t->resources.count == 1 &&
                          (t->manifests.items.count || t->resources.has_names);
    return check_combination(labeling);
}

/* As kubectl does: one conflict is a plain error, several are a list. */
static int report_conflicts(const struct labeling *labeling)
{
    struct str text = str_trim(buf_str(&labeling->conflicts)); /* has a line end at its end */

    if (text.len)
        session_print_error(labeling->errors == 1 ? "error: " : "", text);
    return labeling->errors ? CLI_FAILED : CLI_OK;
}

static int label_all(struct labeling *labeling, int args, char **argv)
{
    if (label_open(labeling, args, argv) != CLI_OK)
        return CLI_FAILED;
    targets_each(&labeling->targets, keep_target, labeling);
    labeling->errors += labeling->targets.failures; /* other types may still be listed */
    for (size_t i = 0; i < labeling->found.count; i++)
        change_target(labeling, &labeling->found.items[i]);
    (void)fflush(stdout);
    if (manifests_complain(&labeling->targets.manifests) != CLI_OK)
        labeling->errors++;
    return report_conflicts(labeling);
}

static int label_run(const struct cli_verb *verb, int argc, char **argv)
{
    static const struct label_verb label = { .noun = "label", .field = "labels", .is_label = true },
                                   annotate = { .noun = "annotation", .field = "annotations" };
    struct labeling x = { .verb = verb == &cli_verb_label ? &label : &annotate,
                          .conflicts = BUF_INIT(CONFLICTS_BYTES_MAX) };
    int args = 0, status = flags_parse(verb, argc, argv, &x.settings, &args);

    if (status != CLI_OK)
        return status;
    targets_init(&x.targets, &x.settings.targets);
    status = label_all(&x, args, argv + 1);
    vec_done(&x.pairs);
    vec_done(&x.found);
    buf_done(&x.conflicts);
    print_done(&x.result.print);
    targets_done(&x.targets);
    return status;
}

static const struct flag label_flags[] = {
    FLAG_ON(struct label_settings, overwrites, "overwrite", "replace values that are already set"),
    FLAG_ON(struct label_settings, is_list, "list",
            "print the resulting labels or annotations; change nothing"),
    FLAG_SHORT(struct label_settings, targets.labels, 'l', "selector", "SELECTOR",
               "only objects with these labels"),
    FLAG(struct label_settings, targets.fields, "field-selector", "SELECTOR",
         "only objects with these fields"),
    FLAG_ON(struct label_settings, targets.is_all, "all", "all objects of the type in the namespace"),
    FLAG_SHORT_ON(struct label_settings, targets.is_everywhere, 'A', "all-namespaces", "all namespaces"),
    FLAG(struct label_settings, version, "resource-version", "VERSION",
         "change the object only if it has this version"),
    MANIFEST_FLAGS(struct label_settings, targets.manifests),
    FLAG_SHORT(struct label_settings, result.output, 'o', "output", "FORM",
               "print the object: yaml, json, name, jsonpath=TEMPLATE"),
    FLAG_MAY_STAND_ALONE(struct label_settings, result.dry_run, "dry-run", "WAY", "client",
                         "none, client (send nothing) or server (change nothing)"),
    FLAG(struct label_settings, result.manager, "field-manager", "NAME",
         "owner of the fields; default 'berth'"),
    FLAG_ON(struct label_settings, result.shows_managed_fields, "show-managed-fields",
            "include metadata.managedFields"),
    SESSION_FLAGS(struct label_settings, targets.session),
    { 0 },
};

const struct cli_verb cli_verb_label = {
    .name = "label",
    .usage = "label (TYPE NAME... | TYPE -l SELECTOR | TYPE --all | -f FILE) KEY=VALUE... KEY-...",
    .summary = "Set or remove labels of objects",
    .flags = label_flags,
    .examples = "  berth label pv disk-1 tier=gold              # set a label\n  berth label pv disk-1 "
                "tier=tin --overwrite   # replace its value\n  berth label pv disk-1 tier-                  "
                "# remove it\n  berth label pvc --all -A team=shop           # all claims\n  berth label "
                "node n1 --list                   # list the labels\n",
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
        "  berth annotate sc fast storageclass.kubernetes.io/is-default-class=true  # the default class\n  "
        "berth annotate pvc data note='shop database'                             # any text\n  berth "
        "annotate pvc data note-                                            # remove it\n",
    .args = "TYPE",
    .run = label_run,
};

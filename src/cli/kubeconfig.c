/* `berth kubeconfig`: prints the kubeconfig of a local server, or merges it into a file that kubectl reads.
 */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

#include "api/yaml.h"
#include "cli/print.h"
#include "cli/session.h"
#include "io/file.h"
#include "io/path.h"

#define FILE_BYTES_MAX ((size_t)4 << 20)
#define MODE_DEFAULT 0600

struct kubeconfig_settings {
    const char *data;
    const char *merge;
    const char *output;
    const char *mode;
    const char *name;
};

/* The three lists of a kubeconfig; entries are found by name. */
static const char *const lists[] = { "clusters", "contexts", "users" };

static int read_yaml(const char *path, struct json *d, json_ref *ret, struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(FILE_BYTES_MAX);
    int r = io_read_file(path, FILE_BYTES_MAX, &text, err);

    if (r < 0)
        return r;
    r = yaml_or_json_parse(d, buf_str(&text), ret, err);
    return r < 0 ? error_wrap(err, "'%s'", path) : 0;
}

/* Renames the cluster, user and context to `name`, with all references. */
static void rename_entries(struct json *d, json_ref config, const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        json_ref entry = json_first(d, json_get(d, config, lists[i]));

        json_set_string(d, entry, "name", name);
        if (strcmp(lists[i], "contexts") == 0) {
            json_set_string(d, json_get(d, entry, "context"), "cluster", name);
            json_set_string(d, json_get(d, entry, "context"), "user", name);
        }
    }
    json_set_string(d, config, "current-context", name);
}

/* Replaces the entry with the same name, or appends the entry. */
static void put_entry(struct json *d, json_ref list, json_ref entry)
{
    struct str name = json_get_text(d, entry, "name");

    for (json_ref old = json_first(d, list); old; old = json_next(d, old)) {
        if (str_eq(json_get_text(d, old, "name"), name)) {
            json_replace(d, old, json_copy(d, entry));
            return;
        }
    }
    json_append(d, list, json_copy(d, entry));
}

static void merge_into(struct json *d, json_ref target, json_ref config)
{
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        json_ref list = json_get(d, target, lists[i]);

        if (json_type(d, list) != JSON_ARRAY) {
            list = json_new_array(d);
            json_set(d, target, lists[i], list);
        }
        put_entry(d, list, json_first(d, json_get(d, config, lists[i])));
    }
    json_set(d, target, "current-context", json_copy(d, json_get(d, config, "current-context")));
}

static int write_file(const struct json *d, json_ref v, const char *path, mode_t mode, struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(FILE_BYTES_MAX);
    int r = yaml_write(d, v, &text, err);

    return r < 0 ? r : io_replace_file(path, text.data, text.len, mode, err);
}

static int merge_kubeconfig(const struct kubeconfig_settings *settings, struct json *d, json_ref config,
                            mode_t mode, struct error *err)
{
    json_ref target = 0;
    bool is_there;
    int r = io_exists(settings->merge, &is_there, err);

    if (r == 0 && is_there)
        r = read_yaml(settings->merge, d, &target, err);
    if (r == 0 && is_there && !settings->mode)
        r = io_mode(settings->merge, &mode, err);
    if (r < 0)
        return r;
    if (json_type(d, target) != JSON_OBJECT) {
        target = json_new_object(d);
        json_set_string(d, target, "apiVersion", "v1");
        json_set_string(d, target, "kind", "Config");
    }
    merge_into(d, target, config);
    r = json_check(d, err);
    if (r == 0)
        r = write_file(d, target, settings->merge, mode, err);
    if (r == 0)
        printf("%s: current context is now \"%s\"\n", settings->merge, settings->name);
    return r;
}

static int output_kubeconfig(const struct kubeconfig_settings *settings, const struct json *d,
                             json_ref config, mode_t mode, struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(FILE_BYTES_MAX);
    int r;

    if (settings->output) {
        r = write_file(d, config, settings->output, mode, err);
        if (r == 0)
            printf("wrote %s\n", settings->output);
        return r;
    }
    r = yaml_write(d, config, &text, err);
    if (r == 0)
        print_out(&text);
    return r;
}

static bool read_mode(const char *text, mode_t *ret)
{
    unsigned mode = 0;

    for (const char *c = text; *c; c++) {
        if (*c < '0' || *c > '7' || c - text > 4)
            return false;
        mode = mode * 8 + (unsigned)(*c - '0');
    }
    *ret = mode;
    return text[0] && mode <= 0777;
}

static int write_kubeconfig(struct kubeconfig_settings *settings, mode_t mode, struct error *err)
{
    const struct session_settings session = { .data = settings->data };
    char path[PATH_MAX];
    struct json d;
    json_ref v = 0;
    int r;

    if (!session_kubeconfig(&session, path, err))
        return error_set(err, ERR_NOT_FOUND,
                         "no Berth server found on this machine: specify its data directory with --data DIR");
    json_init(&d, FILE_BYTES_MAX);
    r = read_yaml(path, &d, &v, err);
    if (r == 0) {
        rename_entries(&d, v, settings->name);
        r = settings->merge ? merge_kubeconfig(settings, &d, v, mode, err)
                            : output_kubeconfig(settings, &d, v, mode, err);
    }
    json_done(&d);
    return r;
}

static int kubeconfig_run(const struct cli_verb *verb, int argc, char **argv)
{
    struct kubeconfig_settings x = { 0 };
    int status = flags_parse(verb, argc, argv, &x, /* ret_args= */ NULL);
    mode_t mode = MODE_DEFAULT;
    struct error err;

    if (status != CLI_OK)
        return status;
    if (x.mode && !read_mode(x.mode, &mode))
        return cli_fail_usage("kubeconfig: invalid --mode '%s': must be a file mode such as 0640", x.mode);
    if (x.mode && !x.merge && !x.output)
        return cli_fail_usage("kubeconfig: --mode requires --merge FILE or --output FILE");
    if (x.merge && x.output)
        return cli_fail_usage("kubeconfig: --merge and --output cannot be used together");
    x.name = x.name ? x.name : "berth";
    return write_kubeconfig(&x, mode, &err) < 0 ? session_complain("%s", err.msg) : CLI_OK;
}

static const struct flag kubeconfig_flags[] = {
    FLAG(struct kubeconfig_settings, data, "data", "DIR",
         "the server's data directory; default $BERTH_DATA, or else the default one"),
    FLAG(struct kubeconfig_settings, merge, "merge", "FILE",
         "add it to this file, for example ~/.kube/config, and make its context the current one"),
    FLAG_SHORT(struct kubeconfig_settings, output, 'o', "output", "FILE", "write it to this file"),
    FLAG(struct kubeconfig_settings, mode, "mode", "MODE",
         "permissions of the file; default 0600, or those of the existing file"),
    FLAG(struct kubeconfig_settings, name, "name", "NAME",
         "name of cluster, user and context; default berth"),
    { 0 },
};

const struct cli_verb cli_verb_kubeconfig = {
    .name = "kubeconfig",
    .group = CLI_ANSWERS,
    .usage = "kubeconfig [--merge FILE | --output FILE] [--mode MODE]",
    .summary = "Print the kubeconfig of a server on this machine, or add it to a file",
    .about = "It contains the administrator's key, which grants full access: protect it.",
    .flags = kubeconfig_flags,
    .examples = "  berth kubeconfig                              # to standard output\n"
                "  berth kubeconfig --merge ~/.kube/config       # for kubectl\n"
                "  berth kubeconfig -o /srv/berth.conf --mode 0640\n",
    .run = kubeconfig_run,
};

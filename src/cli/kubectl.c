#include "cli/kubectl.h"

#include <string.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/session.h"

#define COMMAND_BYTES_MAX 1024

static const char *const verbs[] = {
    "api-resources", "api-versions", "attach",  "auth",      "autoscale", "certificate", "cluster-info",
    "config",        "cordon",       "cp",      "debug",     "diff",      "drain",       "edit",
    "exec",          "explain",      "expose",  "kustomize", "logs",      "plugin",      "port-forward",
    "proxy",         "replace",      "rollout", "scale",     "set",       "taint",       "uncordon",
};

bool kubectl_has_verb(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
        if (strcmp(verbs[i], name) == 0)
            return true;
    return false;
}

/* A word as a shell reads it back. */
static void add_word(struct buf *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,@%+";

    buf_add_cstr(out, " ");
    if (word[0] && strspn(word, plain) == strlen(word)) {
        buf_add_cstr(out, word);
        return;
    }
    buf_add_cstr(out, "'");
    for (const char *c = word; *c; c++)
        if (*c == '\'')
            buf_add_cstr(out, "'\\''");
        else
            buf_add_char(out, *c);
    buf_add_cstr(out, "'");
}

int kubectl_say_command(int argc, char **argv)
{
    _cleanup_(buf_done) struct buf command = BUF_INIT(COMMAND_BYTES_MAX);
    struct session_settings settings = { 0 };
    char file[PATH_MAX];
    struct error err;

    buf_add_cstr(&command, "kubectl");
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], "--data") == 0)
            settings.data = argv[i + 1];
    if (session_kubeconfig(&settings, file, &err)) {
        buf_add_cstr(&command, " --kubeconfig");
        add_word(&command, file);
    }
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--data") == 0 && i + 1 < argc)
            i++;
        else
            add_word(&command, argv[i]);
    }
    if (command.failed)
        return cli_fail_usage("'%s' is a command of kubectl", argv[0]);
    return cli_fail_usage("'%s' is a command of kubectl: %s", argv[0], buf_cstr(&command));
}

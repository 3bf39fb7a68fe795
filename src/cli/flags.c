#include "cli/flags.h"

#include <string.h>

#include "cli/cli.h"

static const struct flag *flag_find(const struct flag *flags, const char *name, size_t len)
{
    for (const struct flag *f = flags; f && f->name; f++) {
        if (strlen(f->name) == len && memcmp(f->name, name, len) == 0)
            return f;
    }
    return NULL;
}

static void *flag_place(const struct flag *f, void *settings)
{
    return (char *)settings + f->offset;
}

static void set_text(const struct flag *f, void *settings, const char *value)
{
    memcpy(flag_place(f, settings), &value, sizeof value);
}

static void set_switch(const struct flag *f, void *settings, bool value)
{
    memcpy(flag_place(f, settings), &value, sizeof value);
}

/* One flag and its value; returns how many arguments that took, or -1 with the complaint made. */
static int parse_one(const struct cli_verb *verb, int argc, char **argv, int at, void *settings)
{
    const char *name = argv[at] + 2, *equals = strchr(name, '=');
    size_t len = equals ? (size_t)(equals - name) : strlen(name);
    const struct flag *f = flag_find(verb->flags, name, len);

    if (argv[at][1] != '-' || !f) {
        (void)cli_fail_usage("%s: unknown flag '%s': see 'berth help %s'", verb->name, argv[at], verb->name);
        return -1;
    }
    if (f->type == FLAG_SWITCH) {
        if (equals && strcmp(equals, "=true") != 0 && strcmp(equals, "=false") != 0) {
            (void)cli_fail_usage("%s: --%s takes no value, or true or false", verb->name, f->name);
            return -1;
        }
        set_switch(f, settings, !equals || strcmp(equals, "=true") == 0);
        return 1;
    }
    if (equals) {
        set_text(f, settings, equals + 1);
        return 1;
    }
    if (at + 1 >= argc) {
        (void)cli_fail_usage("%s: --%s needs a value (%s): see 'berth help %s'", verb->name, f->name,
                             f->value, verb->name);
        return -1;
    }
    set_text(f, settings, argv[at + 1]);
    return 2;
}

int flags_parse(const struct cli_verb *verb, int argc, char **argv, void *settings, int *ret_args)
{
    int args = 0;
    bool is_over = false; /* behind "--" nothing is a flag */

    for (int i = 1; i < argc;) {
        if (!is_over && strcmp(argv[i], "--") == 0) {
            is_over = true;
            i++;
        } else if (is_over || argv[i][0] != '-' || argv[i][1] == '\0') {
            argv[1 + args++] = argv[i++];
        } else {
            int taken = parse_one(verb, argc, argv, i, settings);

            if (taken < 0)
                return CLI_USAGE;
            i += taken;
        }
    }
    *ret_args = args;
    return CLI_OK;
}

int flags_set_default(const struct flag *flags, void *settings, const char *name, const char *value,
                      struct error *err)
{
    const struct flag *f = flag_find(flags, name, strlen(name));
    const char *text;
    bool is_on;

    if (!f)
        return error_set(err, ERR_INVALID, "there is no setting '%s'", name);
    if (f->type == FLAG_TEXT) {
        memcpy(&text, flag_place(f, settings), sizeof text);
        if (!text)
            set_text(f, settings, value);
        return 0;
    }
    memcpy(&is_on, flag_place(f, settings), sizeof is_on);
    if (strcmp(value, "true") != 0 && strcmp(value, "false") != 0)
        return error_set(err, ERR_INVALID, "setting '%s' is '%s', which is neither true nor false", name,
                         value);
    set_switch(f, settings, is_on || strcmp(value, "true") == 0);
    return 0;
}

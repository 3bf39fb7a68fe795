/* Prints what create, apply and patch did to an object, as a line or in the form of -o, and fills the fields
 * that all their requests have. */
#include "cli/change_result.h"

#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

int change_result_read_dry(const char *text, enum change_result_dry *ret, struct error *err)
{
    static const char *const ways[] = {
        [CHANGE_REAL] = "none", [CHANGE_DRY_CLIENT] = "client", [CHANGE_DRY_SERVER] = "server"
    };

    if (!text)
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(ways); i++)
        if (strcmp(text, ways[i]) == 0) {
            *ret = (enum change_result_dry)i;
            return 0;
        }
    return error_set(err, ERR_INVALID,
                     "Invalid dry-run value (%s). Must be \"none\", \"server\", or \"client\".", text);
}

const char *change_result_dry_words(enum change_result_dry dry)
{
    return dry == CHANGE_REAL ? "" : dry == CHANGE_DRY_CLIENT ? " (dry run)" : " (server dry run)";
}

static int read_validation(const char *text, const char **ret, struct error *err)
{
    static const struct {
        const char *text, *value;
    } ways[] = { { "strict", "Strict" },
                 { "true", "Strict" },
                 { "warn", "Warn" },
                 { "ignore", "Ignore" },
                 { "false", "Ignore" } };

    *ret = "Strict";
    for (size_t i = 0; i < ARRAY_LEN(ways) && text; i++)
        if (strcmp(text, ways[i].text) == 0) {
            *ret = ways[i].value;
            return 0;
        }
    return text ? error_set(err, ERR_INVALID,
                            "invalid - validate option \"%s\"; must be one of: strict (or true), warn, "
                            "ignore (or false)",
                            text)
                : 0;
}

int change_result_init(struct change_result *d, const struct change_result_settings *settings,
                       struct error *err)
{
    int r = print_init(&d->print, settings->output, err);

    if (r == 0)
        r = change_result_read_dry(settings->dry_run, &d->dry, err);
    if (r == 0)
        r = read_validation(settings->validate, &d->validation, err);
    d->manager = settings->manager;
    d->print.keeps_managed_fields = settings->shows_managed_fields;
    return r;
}

void change_result_fill(const struct change_result *d, struct client_request *q)
{
    q->field_manager = d->manager ? d->manager : "berth";
    q->field_validation = d->validation;
    q->is_dry_run = d->dry == CHANGE_DRY_SERVER;
}

int change_result_print(struct change_result *d, const struct kind_info *k, struct json *doc, json_ref object,
                        const char *done)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(SESSION_BYTES_MAX);
    struct error err;

    if (print_is_table(&d->print)) {
        print_name(k, json_get_text(doc, json_get(doc, object, "metadata"), "name"), &out);
        buf_addf(&out, " %s%s\n", done, change_result_dry_words(d->dry));
    } else {
        if (d->print.form == PRINT_YAML && d->shown++)
            buf_add_cstr(&out, "---\n");
        if (print_objects(&d->print, doc, &object, 1, /* is_single= */ true, &out, &err) < 0)
            return session_complain("%s", err.msg);
    }
    print_out(&out);
    (void)fflush(stdout); /* print each result before the next request is sent */
    return CLI_OK;
}

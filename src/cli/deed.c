#include "cli/deed.h"

#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

int deed_read_dry(const char *text, enum deed_dry *ret, struct error *err)
{
    static const char *const ways[] = {
        [DEED_REAL] = "none", [DEED_DRY_CLIENT] = "client", [DEED_DRY_SERVER] = "server"
    };

    if (!text)
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(ways); i++)
        if (strcmp(text, ways[i]) == 0) {
            *ret = (enum deed_dry)i;
            return 0;
        }
    return error_set(err, ERR_INVALID,
                     "Invalid dry-run value (%s). Must be \"none\", \"server\", or \"client\".", text);
}

const char *deed_dry_words(enum deed_dry dry)
{
    return dry == DEED_REAL ? "" : dry == DEED_DRY_CLIENT ? " (dry run)" : " (server dry run)";
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

int deed_init(struct deed *d, const struct deed_settings *x, struct error *err)
{
    int r = print_init(&d->print, x->output, err);

    if (r == 0)
        r = deed_read_dry(x->dry_run, &d->dry, err);
    if (r == 0)
        r = read_validation(x->validate, &d->validation, err);
    d->manager = x->manager;
    d->print.keeps_managed_fields = x->shows_managed_fields;
    return r;
}

void deed_done(struct deed *d)
{
    print_done(&d->print);
}

void deed_fill(const struct deed *d, struct client_request *q)
{
    q->field_manager = d->manager ? d->manager : "berth";
    q->field_validation = d->validation;
    q->is_dry_run = d->dry == DEED_DRY_SERVER;
}

int deed_tell(struct deed *d, const struct kind_info *k, struct json *doc, json_ref object, const char *done)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(SESSION_BYTES_MAX);
    struct error err;

    if (print_is_table(&d->print)) {
        print_name(k, json_get_text(doc, json_get(doc, object, "metadata"), "name"), &out);
        buf_addf(&out, " %s%s\n", done, deed_dry_words(d->dry));
    } else {
        if (d->print.form == PRINT_YAML && d->shown++)
            buf_add_cstr(&out, "---\n");
        if (print_objects(&d->print, doc, &object, 1, /* is_single= */ true, &out, &err) < 0)
            return session_complain("%s", err.msg);
    }
    print_out(&out);
    (void)fflush(stdout); /* what was done is told before the next thing is tried */
    return CLI_OK;
}

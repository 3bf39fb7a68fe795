/* Reads and validates the parameters of list, watch and deletecollection. The messages are those of the stock
 * server. */
#include "apiserver/list_options.h"

#include "api/quote.h"
#include "base/cleanup.h"

#define MATCH_FIELD "resourceVersionMatch"

/* The selectors as parsed, before their fields are checked against the resource. */
struct selectors {
    struct label_selector labels;
    struct field_selector fields;
};

/* --- Values --- */

static int read_timeout(const struct params *p, int64_t *ret, struct error *err)
{
    int64_t seconds;
    int r = params_int(p, "timeoutSeconds", 0, &seconds, err);

    if (r < 0)
        return r;
    if (seconds > LIST_TIMEOUT_SECONDS_MAX)
        seconds = LIST_TIMEOUT_SECONDS_MAX;
    *ret = seconds > 0 ? seconds : 0;
    return 0;
}

static int read_values(const struct params *p, struct list_options *o, struct error *err)
{
    int r = params_int(p, "limit", 0, &o->limit, err);

    if (o->limit < 0)
        o->limit = 0;
    if (r == 0)
        r = read_timeout(p, &o->timeout_seconds, err);
    o->has_bookmarks = params_bool(p, "allowWatchBookmarks");
    o->initial = !params_get(p, "sendInitialEvents").s ? INITIAL_UNSET
                 : params_bool(p, "sendInitialEvents") ? INITIAL_SENT
                                                       : INITIAL_NONE;
    return r;
}

int list_options_revision(const struct params *p, int64_t *ret, struct error *err)
{
    struct str text = params_get(p, "resourceVersion");
    char quoted[128];
    uint64_t value = 0;

    if (text.len && (!str_to_uint64(text, &value) || value > INT64_MAX)) {
        (void)quote_text(quoted, sizeof quoted, text);
        return error_set(err, ERR_BAD_REQUEST,
                         "resourceVersion: Invalid value: %s: strconv.ParseUint: parsing %s: invalid syntax",
                         quoted, quoted);
    }
    *ret = (int64_t)value;
    return 0;
}

/* --- Forbidden combinations --- */

static void add_forbidden(struct field_errors *e, const char *field, const char *detail)
{
    struct field_path path = path_child(NULL, field);

    errors_forbidden(e, &path, detail);
}

static void refuse_match(struct field_errors *e, struct str match, const char *supported)
{
    struct field_path path = path_child(NULL, MATCH_FIELD);

    errors_not_supported_text(e, &path, show_text(e, match), supported);
}

static void validate_list(const struct params *p, const struct list_options *o, struct field_errors *e)
{
    struct str match = params_get(p, MATCH_FIELD), version = params_get(p, "resourceVersion");

    if (match.len) {
        if (version.len == 0)
            add_forbidden(e, MATCH_FIELD, MATCH_FIELD " is forbidden unless resourceVersion is provided");
        if (params_get(p, "continue").len)
            add_forbidden(e, MATCH_FIELD, MATCH_FIELD " is forbidden when continue is provided");
        if (o->match == MATCH_UNSET)
            refuse_match(e, match, "\"Exact\", \"NotOlderThan\", \"\"");
        if (o->match == MATCH_EXACT && str_is(version, "0"))
            add_forbidden(e, MATCH_FIELD, MATCH_FIELD " \"exact\" is forbidden for resourceVersion \"0\"");
    }
    if (o->initial != INITIAL_UNSET)
        add_forbidden(e, "sendInitialEvents", "sendInitialEvents is forbidden for list");
}

static void validate_watch(const struct params *p, const struct list_options *o, struct field_errors *e)
{
    struct str match = params_get(p, MATCH_FIELD);

    if (o->initial != INITIAL_UNSET && o->match != MATCH_NOT_OLDER_THAN)
        add_forbidden(e, MATCH_FIELD, "sendInitialEvents requires setting " MATCH_FIELD " to NotOlderThan");
    if (match.len == 0)
        return;
    if (o->initial == INITIAL_UNSET)
        add_forbidden(e, MATCH_FIELD,
                      MATCH_FIELD " is forbidden for watch unless sendInitialEvents is provided");
    if (o->match != MATCH_NOT_OLDER_THAN)
        refuse_match(e, match, "\"NotOlderThan\"");
    if (params_get(p, "continue").len)
        add_forbidden(e, MATCH_FIELD, MATCH_FIELD " is forbidden when continue is provided");
}

static enum version_match match_of(struct str text)
{
    if (str_is(text, "Exact"))
        return MATCH_EXACT;
    return str_is(text, "NotOlderThan") ? MATCH_NOT_OLDER_THAN : MATCH_UNSET;
}

/* --- All options --- */

/* A watch of one object by its path selects its name; a field selector may only repeat it. */
static int pin_name(const struct route *route, struct arena *a, struct selection *s, struct error *err)
{
    const char *name;

    if (route->name.len == 0)
        return 0;
    if (s->fields_count || s->name.s) {
        if (s->name.s && str_eq(s->name, route->name))
            return 0;
        return error_set(err, ERR_BAD_REQUEST, "fieldSelector metadata.name doesn't match requested name");
    }
    name = arena_dup(a, route->name);
    if (!name)
        return arena_check(a, err);
    s->name = (struct str){ name, route->name.len };
    return 0;
}

static int select_objects(const struct selectors *by, const struct route *route, struct arena *a,
                          struct selection *ret, struct error *err)
{
    const char *ns = arena_dup(a, route->ns);
    int r;

    if (!ns)
        return arena_check(a, err);
    r = selection_make(route->resource, (struct str){ ns, route->ns.len }, &by->labels, &by->fields, a, ret,
                       err);
    return r < 0 ? r : pin_name(route, a, ret, err);
}

/* resourceVersion "0" with a token means unset, as elsewhere. */
static int read_continue(const struct params *p, struct arena *a, struct list_options *o, struct error *err)
{
    struct str text = params_get(p, "continue");
    int r;

    if (text.len == 0)
        return 0;
    r = continue_token_read(text, a, &o->token, err);
    if (r < 0)
        return error_wrap(err, "invalid continue token");
    if (o->revision)
        return error_set(err, ERR_BAD_REQUEST,
                         "specifying resource version is not allowed when using continue");
    o->is_continued = true;
    return 0;
}

int list_options_parse(const struct params *p, const struct route *route, bool is_watch, struct arena *a,
                       struct list_options *ret, struct field_errors *invalid, struct error *err)
{
    struct list_options o = { .match = match_of(params_get(p, MATCH_FIELD)) };
    struct selectors by;
    int r = read_values(p, &o, err);

    if (r == 0)
        r = label_selector_parse(params_get(p, "labelSelector"), a, &by.labels, err);
    if (r == 0)
        r = field_selector_parse(params_get(p, "fieldSelector"), a, &by.fields, err);
    if (r < 0)
        return r;
    if (is_watch)
        validate_watch(p, &o, invalid);
    else
        validate_list(p, &o, invalid);
    if (invalid->count)
        return -ERR_INVALID;
    r = select_objects(&by, route, a, &o.selection, err);
    if (r == 0)
        r = list_options_revision(p, &o.revision, err);
    if (r == 0 && !is_watch)
        r = read_continue(p, a, &o, err);
    if (r == 0)
        *ret = o;
    return r;
}

bool list_options_read(struct call *c, bool is_watch, struct arena *a, struct list_options *ret)
{
    _cleanup_(field_errors_done_p) struct field_errors invalid = FIELD_ERRORS_INIT;
    struct error err;
    int r = list_options_parse(&c->params, &c->route, is_watch, a, ret, &invalid, &err);

    if (r == 0)
        return true;
    if (invalid.count)
        call_fail_options(c, "ListOptions", &invalid);
    else
        call_fail(c, &err, /* about= */ NULL);
    return false;
}

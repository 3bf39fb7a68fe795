/* The status of a server, written as JSON for /status and as text for the terminal, and read back from JSON.
 */
#include "daemon/server_status.h"

#include <string.h>

#include "base/cleanup.h"

void server_status_add(struct server_status_names *names, struct str name)
{
    if (names->count < SERVER_STATUS_NAMES_MAX) /* names beyond the limit are not shown */
        names->items[names->count++] = name;
}

bool server_status_has_part(const struct server_status *s, const char *part)
{
    for (size_t i = 0; i < s->parts.count; i++)
        if (str_is(s->parts.items[i], part))
            return true;
    return false;
}

bool server_status_claim_waits(const struct claim *c)
{
    return c->phase == CLAIM_PENDING || c->phase == CLAIM_LOST;
}

bool server_status_pod_waits(const struct pod *p)
{
    const struct status_condition *ready = condition_get(&p->conditions, POD_READY_CONDITION);

    return p->phase == POD_PENDING && !(ready && ready->status == CONDITION_TRUE);
}

/* --- As JSON --- */

/* The members of a status that are strings. */
static const struct {
    const char *name;
    size_t offset;
} texts[] = {
    { "version", offsetof(struct server_status, version) },
    { "url", offsetof(struct server_status, url) },
    { "data", offsetof(struct server_status, data) },
    { "kubeconfig", offsetof(struct server_status, kubeconfig) },
    { "node", offsetof(struct server_status, node) },
    { "user", offsetof(struct server_status, user) },
};

static json_ref array_of(struct json *d, const struct server_status_names *names)
{
    json_ref array = json_new_array(d);

    for (size_t i = 0; i < names->count; i++)
        json_append(d, array, json_new_string(d, names->items[i]));
    return array;
}

void server_status_fill_json(const struct server_status *s, struct json *d, json_ref v)
{
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct str text;

        memcpy(&text, (const char *)s + texts[i].offset, sizeof text);
        if (text.len)
            json_set(d, v, texts[i].name, json_new_string(d, text));
    }
    json_set(d, v, "mayMount", json_new_bool(d, s->may_mount));
    json_set(d, v, "parts", array_of(d, &s->parts));
    json_set(d, v, "provisioners", array_of(d, &s->provisioners));
}

void server_status_write_json(const struct server_status *s, struct buf *out)
{
    struct json d;
    json_ref v;

    json_init(&d, out->len_max);
    v = json_new_object(&d);
    server_status_fill_json(s, &d, v);
    if (d.failed)
        out->failed = d.failed;
    else
        json_write(&d, v, out);
    json_done(&d);
}

static void read_names(const struct json *d, json_ref array, struct server_status_names *ret)
{
    for (json_ref item = json_first(d, array); item; item = json_next(d, item))
        server_status_add(ret, json_text(d, item));
}

int server_status_read(const struct json *d, json_ref v, struct server_status *ret, struct error *err)
{
    if (json_type(d, json_get(d, v, "parts")) != JSON_ARRAY)
        return error_set(err, ERR_BAD_REQUEST, "not the status of a Berth server");
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct str text = json_get_text(d, v, texts[i].name);

        memcpy((char *)ret + texts[i].offset, &text, sizeof text);
    }
    ret->may_mount = json_type(d, json_get(d, v, "mayMount")) == JSON_TRUE;
    read_names(d, json_get(d, v, "parts"), &ret->parts);
    read_names(d, json_get(d, v, "provisioners"), &ret->provisioners);
    return 0;
}

/* --- As text --- */

static void add_line(struct buf *out, const char *label, struct str text)
{
    if (text.len)
        buf_addf(out, "  %-13s %.*s\n", label, STR_ARG(text));
}

static void add_names(struct buf *out, const char *label, const struct server_status_names *names,
                      const char *first, const char *none)
{
    if (names->count == 0 && !none)
        return;
    buf_addf(out, "  %-13s %s", label, first);
    for (size_t i = 0; i < names->count; i++)
        buf_addf(out, "%s%.*s", i || first[0] ? ", " : "", STR_ARG(names->items[i]));
    if (names->count == 0 && !first[0])
        buf_add_cstr(out, none);
    buf_add_cstr(out, "\n");
}

static void add_node(struct buf *out, const struct server_status *s)
{
    if (!s->node.len)
        return;
    buf_addf(out, "  %-13s %.*s; ", "node", STR_ARG(s->node));
    if (s->may_mount)
        buf_add_cstr(out, "mounts the volumes of its pods\n");
    else
        buf_addf(out, "cannot mount: mounting needs root, and this server runs as %.*s\n", STR_ARG(s->user));
}

static const char *plural_suffix(size_t count)
{
    return count == 1 ? "" : "s";
}

static void add_waiting(struct buf *out, const struct server_status *s)
{
    if (!s->has_counts)
        return;
    buf_addf(out, "  %-13s ", "waiting");
    if (s->claims_pending)
        buf_addf(out, "%zu claim%s", s->claims_pending, plural_suffix(s->claims_pending));
    if (s->claims_pending && s->pods_waiting)
        buf_add_cstr(out, " and ");
    if (s->pods_waiting)
        buf_addf(out, "%zu pod%s", s->pods_waiting, plural_suffix(s->pods_waiting));
    buf_add_cstr(out, s->claims_pending || s->pods_waiting ? ": see 'berth check'\n" : "nothing\n");
}

void server_status_write_text(const struct server_status *s, struct buf *out)
{
    add_line(out, "kubeconfig", s->kubeconfig);
    add_line(out, "data", s->data);
    if (s->data.len) /* only a Berth server reports it */
        add_names(out, "runs", &s->parts, "API server", "");
    add_node(out, s);
    if (server_status_has_part(s, "controllers"))
        add_names(out, "provisioners", &s->provisioners, "", "none: claims bind to volumes that exist");
    add_names(out, "CSI drivers", &s->drivers, "", NULL);
    add_waiting(out, s);
}

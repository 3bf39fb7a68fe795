/* Describes a CSI driver: the object, the state of its controllers, who holds their leases, and its nodes.
 *
 * The state is that of the server's own process; else the record that another process keeps in an annotation
 * of the CSIDriver; else it is unknown. */
#include "cli/describe.h"

#include <stdio.h>
#include <string.h>

#include "controllers/csi/csi_state.h"
#include "why/why_csi.h"

#define PATH_BYTES 512
#define NAME_BYTES 256

static bool name_of(const struct describe *page, char to[static NAME_BYTES])
{
    struct str name = json_text(&page->doc, describe_meta(page, "name"));

    return snprintf(to, NAME_BYTES, "%.*s", STR_ARG(name)) < NAME_BYTES && name.len > 0;
}

/* --- The controllers --- */

static json_ref live_state(struct describe *page)
{
    char path[PATH_BYTES], name[NAME_BYTES];
    const struct client_request q = { .verb = CLIENT_RAW, .path = path };
    struct error ignored;
    json_ref state;

    if (!name_of(page, name))
        return 0;
    (void)snprintf(path, sizeof path, "/why/csi-state/%s", name); /* it fits */
    if (session_ask(page->session, &q) < 0 ||
        json_parse(&page->doc, buf_str(&page->session->reply.text), &state, &ignored) < 0)
        return 0;
    return json_get(&page->doc, state, "state") ? state : 0;
}

/* The annotation is of the API: anybody may have written it. */
static json_ref recorded_state(struct describe *page)
{
    struct str text = json_get_text(&page->doc, describe_meta(page, "annotations"), ANN_CSI_STATE);
    _cleanup_(buf_done_p) struct buf copy = BUF_INIT(CSI_STATE_BYTES_MAX);
    struct error ignored;
    json_ref state;

    buf_add_str(&copy, text); /* parsing moves the document's texts */
    if (copy.len == 0 || copy.failed || json_parse(&page->doc, buf_str(&copy), &state, &ignored) < 0)
        return 0;
    return json_type(&page->doc, state) == JSON_OBJECT ? state : 0;
}

static void add_state(struct describe *page)
{
    json_ref live = live_state(page), state = live ? live : recorded_state(page);
    const struct json *d = &page->doc;
    json_ref abilities = state ? json_get(d, state, "capabilities") : 0;

    describe_line(page, "Controllers:");
    if (!state) {
        describe_line(page, "  State:\tunknown here");
        return;
    }
    columns_put(&page->out, "  State:\t% since %\n", json_get_text(d, state, "state"),
                json_get_text(d, state, "since"));
    if (live)
        describe_line(page, "  Seen By:\tthe server");
    else
        columns_put(&page->out, "  Seen By:\t% at %\n", json_get_text(d, state, "by"),
                    json_get_text(d, state, "time"));
    describe_member(page, "  Socket:", state, "socket", "");
    buf_add_cstr(&page->out.text, "  Capabilities:\t");
    for (json_ref a = json_first(d, abilities); a; a = json_next(d, a))
        columns_put(&page->out, a == json_first(d, abilities) ? "%\n" : "\t%\n", json_text(d, a));
    if (!json_first(d, abilities))
        buf_add_cstr(&page->out.text, "<none>\n");
    describe_member(page, "  Calls In Flight:", state, "callsInFlight", "");
    if (json_get_text(d, state, "notServed").len)
        describe_member(page, "  Not Served:", state, "notServed", "");
    describe_text(page, "  Last Error:",
                  json_get_text(d, state, "lastError").len ? json_get_text(d, state, "lastError")
                                                           : STR_LIT("<none>"));
}

/* --- Leases --- */

static void add_lease(struct describe *page, enum csi_duty duty, const char *driver)
{
    _cleanup_(buf_done_p) struct buf name = BUF_INIT(NAME_BYTES), fields = BUF_INIT(PATH_BYTES);
    const struct json *d = &page->doc;
    json_ref found = 0, leases;

    csi_duty_lease(duty, driver, &name);
    buf_addf(&fields, "metadata.name=%s", buf_cstr(&name));
    leases = describe_list_objects(page, KIND_LEASE, /* ns= */ NULL, buf_cstr(&fields));
    for (json_ref l = json_first(d, leases); l; l = json_next(d, l))
        if (str_is(json_get_text(d, json_get(d, l, "metadata"), "name"), buf_cstr(&name)) &&
            json_get_text(d, json_get(d, l, "spec"), "holderIdentity").len)
            found = l;
    columns_put(&page->out, "  %:\t", str_of(csi_duty_sidecar(duty)));
    if (found)
        columns_put(&page->out, "held by %, renewed % (lease % in %)\n",
                    json_get_text(d, json_get(d, found, "spec"), "holderIdentity"),
                    json_get_text(d, json_get(d, found, "spec"), "renewTime"), buf_str(&name),
                    json_get_text(d, json_get(d, found, "metadata"), "namespace"));
    else
        columns_put(&page->out, "not held (lease %)\n", buf_str(&name));
}

/* --- Nodes --- */

static void add_nodes(struct describe *page, const char *driver)
{
    const struct json *d = &page->doc;
    json_ref nodes = describe_list_objects(page, KIND_CSI_NODE, /* ns= */ NULL, /* fields= */ NULL);
    bool has_one = false;

    buf_add_cstr(&page->out.text, "Registered On:\t");
    for (json_ref n = json_first(d, nodes); n; n = json_next(d, n)) {
        json_ref drivers = json_path(d, n, "spec", "drivers");

        for (json_ref one = json_first(d, drivers); one; one = json_next(d, one)) {
            if (!str_is(json_get_text(d, one, "name"), driver))
                continue;
            columns_put(&page->out, has_one ? "\t% (%)\n" : "% (%)\n",
                        json_get_text(d, json_get(d, n, "metadata"), "name"),
                        json_get_text(d, one, "nodeID"));
            has_one = true;
        }
    }
    if (!has_one)
        buf_add_cstr(&page->out.text, "<none>\n");
}

void describe_driver(struct describe *page)
{
    char name[NAME_BYTES];

    describe_object(page);
    add_state(page);
    if (name_of(page, name)) {
        describe_line(page, "Leases:");
        for (size_t i = 0; i < CSI_DUTY_COUNT; i++)
            add_lease(page, (enum csi_duty)i, name);
        add_nodes(page, name);
    }
    describe_events(page);
}

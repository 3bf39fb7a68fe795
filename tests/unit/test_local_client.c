#include "tests/unit/test_attempt.h"

#include "api/claim.h"
#include "api/config.h"
#include "api/event.h"
#include "api/pod.h"
#include "api/volume.h"
#include "apiserver/user.h"

#define BODY(text) .body = { text, sizeof(text) - 1 }
#define MAP(name_) .kind = &config_map_kind, .ns = "default", .name = name_
#define NEW_MAP .verb = CLIENT_CREATE, .kind = &config_map_kind, .ns = "default"

static const struct client_request get_a = { .verb = CLIENT_GET, MAP("a") };

/* --- As text callers have it --- */

/* What two servers that are alike are asked one after the other, one in text and one for objects. */
static const struct client_request script[] = {
    { .verb = CLIENT_GET, MAP("a") }, /* nothing there yet */
    { NEW_MAP, BODY("{'metadata':{'name':'a','labels':{'x':'1'}},'data':{'k':'v'}}") },
    { NEW_MAP, BODY("{'metadata':{'name':'a'}}") }, /* again */
    { NEW_MAP, BODY("{'metadata':{'generateName':'g-'}}"), .field_manager = "me" },
    { NEW_MAP, BODY("{'metadata':{'name':'dry'}}"), .is_dry_run = true },
    { NEW_MAP, BODY("{'metadata':{'name':'A/B'}}") },
    { NEW_MAP, BODY("{nonsense") },
    { .verb = CLIENT_GET, MAP("a") },
    { .verb = CLIENT_GET, MAP("a"), .resource_version = "junk" },
    { .verb = CLIENT_PATCH, MAP("a"), BODY("{'data':{'k':'w'}}") },
    { .verb = CLIENT_PATCH, MAP("a"), BODY("{'data':{'k':'w'}}") }, /* changes nothing */
    { .verb = CLIENT_PATCH, MAP("a"), BODY("{'metadata':{'resourceVersion':'1'},'data':{'k':'x'}}") },
    { .verb = CLIENT_PATCH, MAP("a"), BODY("{'metadata':{'uid':'other'},'data':{'k':'x'}}") },
    { .verb = CLIENT_PATCH,
      .patch = CLIENT_PATCH_JSON,
      MAP("a"),
      BODY("[{'op':'add','path':'/data/j','value':'1'}]") },
    { .verb = CLIENT_PATCH, .patch = CLIENT_PATCH_STRATEGIC, MAP("a"), BODY("{'data':{'k':null}}") },
    { .verb = CLIENT_PATCH,
      .patch = CLIENT_PATCH_APPLY,
      .field_manager = "me",
      MAP("made"),
      BODY("{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'made'},'data':{'k':'v'}}") },
    { .verb = CLIENT_PATCH,
      .patch = CLIENT_PATCH_APPLY,
      .field_manager = "you",
      MAP("made"),
      BODY("{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'made'},'data':{'k':'w'}}") },
    { .verb = CLIENT_PATCH,
      .patch = CLIENT_PATCH_APPLY,
      .field_manager = "you",
      .is_forced = true,
      MAP("made"),
      BODY("{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'made'},'data':{'k':'w'}}") },
    { .verb = CLIENT_PATCH, MAP("none"), BODY("{}") },
    { .verb = CLIENT_LIST, MAP(NULL) },
    { .verb = CLIENT_LIST, .kind = &config_map_kind },
    { .verb = CLIENT_LIST, MAP(NULL), .label_selector = "x=1" },
    { .verb = CLIENT_LIST, MAP(NULL), .field_selector = "metadata.name=made" },
    { .verb = CLIENT_LIST, MAP(NULL), .label_selector = "((" },
    { .verb = CLIENT_LIST, MAP(NULL), .field_selector = "data.k=v" },
    { .verb = CLIENT_LIST, MAP(NULL), .limit = 2 },
    { .verb = CLIENT_LIST, MAP(NULL), .limit = 2, .label_selector = "x" },
    { .verb = CLIENT_LIST, MAP(NULL), .continue_token = "junk" },
    { .verb = CLIENT_LIST, MAP(NULL), .resource_version = "0" },
    { .verb = CLIENT_LIST, MAP(NULL), .resource_version = "1", .version_match = "Exact" },
    { .verb = CLIENT_LIST, MAP(NULL), .resource_version = "2", .version_match = "Wrong" },
    { .verb = CLIENT_DELETE, MAP("a"), .if_uid = "other" },
    { .verb = CLIENT_DELETE, MAP("a"), .if_version = "1" },
    { .verb = CLIENT_DELETE, MAP("a"), .propagation = "Sideways" },
    { .verb = CLIENT_DELETE, MAP("a"), .is_dry_run = true },
    { .verb = CLIENT_DELETE, MAP("a") },
    { .verb = CLIENT_DELETE, MAP("a") },
    { .verb = CLIENT_CREATE, .kind = &pod_kind, .ns = "nowhere", BODY("{'metadata':{'name':'p'}}") },
    { .verb = CLIENT_CREATE,
      .kind = &pod_kind,
      .ns = "default",
      BODY("{'metadata':{'name':'p'}," POD_SPEC "}") },
    { .verb = CLIENT_CREATE,
      .kind = &pod_kind,
      .ns = "default",
      .name = "p",
      .subresource = "binding",
      BODY("{'apiVersion':'v1','kind':'Binding','target':{'kind':'Node','name':'n'}}") },
    { .verb = CLIENT_PATCH,
      .kind = &pod_kind,
      .ns = "default",
      .name = "p",
      .subresource = "status",
      BODY("{'status':{'phase':'Running'}}") },
    { .verb = CLIENT_GET, .kind = &pod_kind, .ns = "default", .name = "p", .subresource = "status" },
    { .verb = CLIENT_DELETE, .kind = &pod_kind, .ns = "default", .name = "p" }, /* answers with it */
    { .verb = CLIENT_DELETE,
      .kind = &pod_kind,
      .ns = "default",
      .name = "p",
      .has_grace = true,
      .grace_seconds = 0 },
    { .verb = CLIENT_CREATE, .kind = &volume_kind, BODY("{'metadata':{'name':'v'}," VOLUME_SPEC "}") },
    { .verb = CLIENT_CREATE, .kind = &volume_kind, BODY("{'metadata':{'name':'w'},'spec':{}}") },
    { .verb = CLIENT_GET, .kind = &volume_kind, .name = "v" },
    /* Both forms of events, which are stored as one. */
    { .verb = CLIENT_CREATE,
      .kind = &event_v1_kind,
      .ns = "default",
      BODY("{'metadata':{'name':'e'},'regarding':{'kind':'Pod','name':'p','namespace':'default'},'note':'n',"
           "'reason':'R','type':'Normal','action':'A','reportingController':'c','reportingInstance':'i',"
           "'eventTime':'2023-11-14T22:13:20.000000Z'}") },
    { .verb = CLIENT_GET, .kind = &event_v1_kind, .ns = "default", .name = "e" },
    { .verb = CLIENT_GET, .kind = &event_kind, .ns = "default", .name = "e" },
    { .verb = CLIENT_LIST, .kind = &event_v1_kind, .ns = "default" },
    { .verb = CLIENT_LIST, .kind = &event_kind },
    { .verb = CLIENT_PATCH, .kind = &event_v1_kind, .ns = "default", .name = "e", BODY("{'note':'m'}") },
    { .verb = CLIENT_RAW, .path = "/version" },
    { .verb = CLIENT_RAW, .path = "/readyz" },
    { .verb = CLIENT_RAW, .path = "/nothing/here" },
    { .verb = CLIENT_RAW, .path = "/api/v1/namespaces/default/configmaps" },
    { .verb = CLIENT_RAW, .path = "/api/v1/nonsense" },
};

/* In text: without the newline at the end, and nothing where only a Status says that it went well. */
static const char *text_expected(struct served *w)
{
    if (w->text.len && w->text.data[w->text.len - 1] == '\n')
        w->text.data[--w->text.len] = '\0';
    return w->status < 300 && w->root && strcmp(got(w, "kind"), "Status") == 0 ? "" : buf_cstr(&w->text);
}

static bool has_status_text(const struct served *w)
{
    return w->status < 300 || w->root;
}

static void compare(struct served *w, const struct attempt *x, size_t row)
{
    bool has_own_words = x->q.verb != CLIENT_RAW;
    const char *expected = text_expected(w), *seen;
    _cleanup_(buf_done_p) struct buf trimmed = BUF_INIT((size_t)64 << 20);
    struct str text = buf_str(&x->text);

    if (!has_own_words)
        text = str_trim(text);
    (void)buf_add_str(&trimmed, text);
    seen = buf_cstr(&trimmed);
    if (x->http_status != w->status)
        fail_msg("row %zu: %d, in text %d %s", row, x->http_status, w->status, expected);
    if (has_status_text(w) && strcmp(seen, expected) != 0)
        fail_msg("row %zu:\n%s\nin text\n%s", row, seen, expected);
    assert_true((x->r == 0) == (w->status < 300));
}

TEST(every_answer_is_what_a_text_caller_gets)
{
    _cleanup_(near_done) struct near n;
    _cleanup_(served_done) struct served w;

    near_init(&n);
    served_init(&w);
    for (size_t i = 0; i < ARRAY_LEN(script); i++) {
        _cleanup_(attempt_done) struct attempt x = { 0 };

        (void)send_as_text(&w, &script[i]);
        attempt_run(&n, &x, &script[i]);
        compare(&w, &x, i);
    }
}

/* --- Objects --- */

TEST(objects_are_the_servers_own)
{
    _cleanup_(near_done) struct near n;
    _cleanup_(attempt_done) struct attempt x = { 0 }, y = { 0 };

    near_init(&n);
    near_create_maps(&n, "a");
    attempt_run(&n, &x, &get_a);
    assert_ptr_equal(x.object, store_get(n.served.store, KIND_CONFIG_MAP, "default", "a"));
    attempt_run(&n, &y,
                &(struct client_request){ .verb = CLIENT_PATCH, MAP("a"), BODY("{'data':{'k':'v'}}") });
    assert_ptr_equal(y.object, store_get(n.served.store, KIND_CONFIG_MAP, "default", "a"));
    assert_ptr_not_equal(y.object, x.object);
}

TEST(pages_follow_one_another_as_of_the_first)
{
    _cleanup_(near_done) struct near n;
    _cleanup_(attempt_done) struct attempt one = { 0 }, two = { 0 };
    struct client_request q = { .verb = CLIENT_LIST, MAP(NULL), .limit = 2 };

    near_init(&n);
    near_create_maps(&n, "abc");
    attempt_run(&n, &one, &q);
    ASSERT_INT(2, one.items);
    assert_true(one.remaining > 0);
    near_delete(&n, KIND_CONFIG_MAP, "default", "c");
    near_create_maps(&n, "d");
    q.continue_token = buf_cstr(&one.token);
    q.limit = 0;
    attempt_run(&n, &two, &q);
    ASSERT_STR(buf_cstr(&one.version), buf_cstr(&two.version));
    assert_non_null(strstr(buf_cstr(&two.text), "\"name\":\"c\""));
    assert_null(strstr(buf_cstr(&two.text), "\"name\":\"d\""));
    ASSERT_STR("", buf_cstr(&two.token));
    ASSERT_INT(-1, two.remaining);
}

TEST_MAIN()

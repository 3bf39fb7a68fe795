/* Where requests go: paths, queries, methods, bodies; and names that no path can say. */
#include "tests/unit/test.h"

#include "base/cleanup.h"
#include "client/client_target.h"
#include "tests/unit/aborts.h"

static struct error err;

static const char *target_of(const struct client_request *q)
{
    static struct buf out = { .len_max = 1 << 20 };

    buf_clear(&out);
    ASSERT_OK(target_check(q, &err));
    target_write(q, &out);
    ASSERT_OK(buf_check(&out, "target", &err));
    return buf_cstr(&out);
}

static const char *delete_body_of(const struct client_request *q)
{
    static struct buf out = { .len_max = 1 << 20 };

    buf_clear(&out);
    target_write_delete(q, &out);
    return buf_cstr(&out);
}

TEST(paths)
{
    static const struct {
        enum client_verb verb;
        enum kind kind;
        const char *ns;
        const char *name;
        const char *subresource;
        const char *expected;
    } rows[] = {
        { CLIENT_GET, KIND_VOLUME, NULL, "pv-1", NULL, "/api/v1/persistentvolumes/pv-1" },
        { CLIENT_GET, KIND_CLASS, NULL, "fast", NULL, "/apis/storage.k8s.io/v1/storageclasses/fast" },
        { CLIENT_GET, KIND_CLAIM, "shop", "db", NULL, "/api/v1/namespaces/shop/persistentvolumeclaims/db" },
        { CLIENT_GET, KIND_LEASE, "kube-system", "l", NULL,
          "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/l" },
        { CLIENT_GET, KIND_NAMESPACE, NULL, "shop", NULL, "/api/v1/namespaces/shop" },
        { CLIENT_PATCH, KIND_CLAIM, "shop", "db", "status",
          "/api/v1/namespaces/shop/persistentvolumeclaims/db/status" },
        { CLIENT_CREATE, KIND_POD, "shop", "p", "binding", "/api/v1/namespaces/shop/pods/p/binding" },
        { CLIENT_CREATE, KIND_POD, "shop", NULL, NULL, "/api/v1/namespaces/shop/pods" },
        { CLIENT_CREATE, KIND_POD, "shop", "p", NULL, "/api/v1/namespaces/shop/pods" },
        { CLIENT_DELETE, KIND_VOLUME, "", "v", "", "/api/v1/persistentvolumes/v" },
        { CLIENT_LIST, KIND_CLAIM, NULL, NULL, NULL, "/api/v1/persistentvolumeclaims" },
        { CLIENT_LIST, KIND_CLAIM, "", "", "", "/api/v1/persistentvolumeclaims" },
        { CLIENT_LIST, KIND_CLAIM, "shop", NULL, NULL, "/api/v1/namespaces/shop/persistentvolumeclaims" },
        { CLIENT_WATCH, KIND_CLAIM, NULL, NULL, NULL, "/api/v1/persistentvolumeclaims?watch=true" },
        /* A namespace says nothing about what has none. */
        { CLIENT_GET, KIND_VOLUME, "shop", "v", NULL, "/api/v1/persistentvolumes/v" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct client_request q = { .verb = rows[i].verb,
                                    .kind = kind_info(rows[i].kind),
                                    .ns = rows[i].ns,
                                    .name = rows[i].name,
                                    .subresource = rows[i].subresource };

        ASSERT_STR(rows[i].expected, target_of(&q));
    }
}

TEST(raw_path_stays_as_it_is)
{
    ASSERT_STR("/readyz?verbose&x=%2F",
               target_of(&(struct client_request){ .verb = CLIENT_RAW, .path = "/readyz?verbose&x=%2F" }));
}

TEST(query_of_a_list)
{
    struct client_request q = { .verb = CLIENT_LIST, .kind = kind_info(KIND_VOLUME) };

    q.limit = 500;
    q.resource_version = "0";
    ASSERT_STR("/api/v1/persistentvolumes?limit=500&resourceVersion=0", target_of(&q));
    q.continue_token = "a+b/c==";
    q.resource_version = NULL;
    ASSERT_STR("/api/v1/persistentvolumes?limit=500&continue=a%2Bb%2Fc%3D%3D", target_of(&q));
    q = (struct client_request){ .verb = CLIENT_LIST, .kind = kind_info(KIND_VOLUME) };
    q.limit = UINT64_MAX;
    q.label_selector = "app in (a,b),!c";
    q.field_selector = "status.phase!=Succeeded";
    ASSERT_STR("/api/v1/persistentvolumes?labelSelector=app%20in%20%28a%2Cb%29%2C%21c"
               "&fieldSelector=status.phase%21%3DSucceeded&limit=18446744073709551615",
               target_of(&q));
}

TEST(query_of_a_watch)
{
    struct client_request q = { .verb = CLIENT_WATCH, .kind = kind_info(KIND_VOLUME) };

    q.resource_version = "7";
    q.wants_bookmarks = true;
    q.timeout_seconds = 300;
    ASSERT_STR("/api/v1/persistentvolumes?watch=true&allowWatchBookmarks=true&resourceVersion=7"
               "&timeoutSeconds=300",
               target_of(&q));
    q.resource_version = ""; /* sent, and empty */
    q.version_match = "NotOlderThan";
    q.wants_initial_events = true;
    q.timeout_seconds = 0;
    ASSERT_STR("/api/v1/persistentvolumes?watch=true&allowWatchBookmarks=true&resourceVersion="
               "&resourceVersionMatch=NotOlderThan&sendInitialEvents=true",
               target_of(&q));
}

TEST(query_of_writes)
{
    struct client_request q = { .verb = CLIENT_PATCH, .kind = kind_info(KIND_VOLUME), .name = "v" };

    q.field_manager = "berth-binder";
    ASSERT_STR("/api/v1/persistentvolumes/v?fieldManager=berth-binder", target_of(&q));
    q.is_forced = true;
    q.is_dry_run = true;
    ASSERT_STR("/api/v1/persistentvolumes/v?fieldManager=berth-binder&force=true&dryRun=All", target_of(&q));
    q.field_validation = "Strict";
    ASSERT_STR(
        "/api/v1/persistentvolumes/v?fieldManager=berth-binder&fieldValidation=Strict&force=true&dryRun=All",
        target_of(&q));
}

TEST(query_of_a_table)
{
    struct client_request q = { .verb = CLIENT_LIST,
                                .kind = kind_info(KIND_VOLUME),
                                .include_object = "Object" };

    ASSERT_STR("/api/v1/persistentvolumes?includeObject=Object", target_of(&q));
}

/* Whatever a name holds it is one segment, and whatever a value holds it is one value. */
TEST(names_and_values_are_escaped)
{
    struct client_request q = { .verb = CLIENT_GET, .kind = kind_info(KIND_CLAIM) };

    q.ns = "a b";
    q.name = "system:x?y#z&\xc3\xa9-._~";
    ASSERT_STR("/api/v1/namespaces/a%20b/persistentvolumeclaims/system%3Ax%3Fy%23z%26%C3%A9-._~",
               target_of(&q));
    q.name = "...";
    ASSERT_STR("/api/v1/namespaces/a%20b/persistentvolumeclaims/...", target_of(&q));
    for (int c = 1; c < 256; c++) {
        char name[2] = { (char)c, '\0' };
        const char *segment;

        if (strchr("/%.", c))
            continue;
        q.name = name;
        segment = strrchr(target_of(&q), '/') + 1;
        if (segment[0] == '%')
            ASSERT_INT(c, strtol(segment + 1, NULL, 16));
        else
            ASSERT_INT(c, (unsigned char)segment[0]);
        ASSERT_INT(segment[0] == '%' ? 3 : 1, strlen(segment));
    }
}

TEST(names_that_no_path_can_say_are_refused)
{
    static const struct {
        enum client_verb verb;
        enum kind kind;
        const char *ns;
        const char *name;
        const char *words;
        const char *subresource;
    } rows[] = {
        { CLIENT_GET, KIND_VOLUME, NULL, ".", "invalid resource name '.': may not be '.'" },
        { CLIENT_PATCH, KIND_VOLUME, NULL, "..", "invalid resource name '..': may not be '..'" },
        { CLIENT_DELETE, KIND_VOLUME, NULL, "a/b", "invalid resource name 'a/b': may not contain '/'" },
        { CLIENT_GET, KIND_VOLUME, NULL, "a%2fb", "invalid resource name 'a%2fb': may not contain '%'" },
        { CLIENT_CREATE, KIND_VOLUME, NULL, "..", "invalid resource name '..': may not be '..'" },
        { CLIENT_LIST, KIND_CLAIM, "..", NULL, "invalid namespace '..': may not be '..'" },
        { CLIENT_WATCH, KIND_CLAIM, "a/b", NULL, "invalid namespace 'a/b': may not contain '/'" },
        { CLIENT_GET, KIND_CLAIM, "a%", "c", "invalid namespace 'a%': may not contain '%'" },
        { CLIENT_GET, KIND_VOLUME, NULL, NULL, "resource name may not be empty" },
        { CLIENT_PATCH, KIND_VOLUME, NULL, "", "resource name may not be empty" },
        { CLIENT_DELETE, KIND_VOLUME, NULL, "", "resource name may not be empty" },
        { CLIENT_GET, KIND_CLAIM, NULL, "c",
          "an empty namespace may not be set when a resource name is provided" },
        { CLIENT_DELETE, KIND_CLAIM, "", "c",
          "an empty namespace may not be set when a resource name is provided" },
        { CLIENT_CREATE, KIND_CLAIM, NULL, NULL, "an empty namespace may not be set during creation" },
        { CLIENT_CREATE, KIND_POD, "", "p", "an empty namespace may not be set during creation" },
        { .verb = CLIENT_CREATE,
          .kind = KIND_POD,
          .ns = "shop",
          .subresource = "binding",
          .words = "resource name may not be empty" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct client_request q = { .verb = rows[i].verb,
                                    .kind = kind_info(rows[i].kind),
                                    .ns = rows[i].ns,
                                    .name = rows[i].name,
                                    .subresource = rows[i].subresource };

        ASSERT_ERR(ERR_INVALID, target_check(&q, &err));
        ASSERT_STR(rows[i].words, err.msg);
    }
}

TEST(requests_put_together_wrongly_are_caught)
{
    struct client_request no_kind = { .verb = CLIENT_GET, .name = "v" };
    struct client_request no_path = { .verb = CLIENT_RAW };
    struct client_request relative = { .verb = CLIENT_RAW, .path = "version" };
    struct client_request no_verb = { .verb = CLIENT_VERB_COUNT };

    ASSERT_ABORTS(target_check(&no_kind, &err));
    ASSERT_ABORTS(target_check(&no_path, &err));
    ASSERT_ABORTS(target_check(&relative, &err));
    ASSERT_ABORTS(target_check(&no_verb, &err));
}

TEST(methods_and_content_types)
{
    static const struct {
        enum client_verb verb;
        enum client_patch patch;
        const char *method;
        const char *type;
    } rows[] = {
        { CLIENT_GET, 0, "GET", NULL },
        { CLIENT_LIST, 0, "GET", NULL },
        { CLIENT_WATCH, 0, "GET", NULL },
        { CLIENT_RAW, 0, "GET", NULL },
        { CLIENT_CREATE, 0, "POST", "application/json" },
        { CLIENT_DELETE, 0, "DELETE", "application/json" },
        { CLIENT_PATCH, CLIENT_PATCH_MERGE, "PATCH", "application/merge-patch+json" },
        { CLIENT_PATCH, CLIENT_PATCH_JSON, "PATCH", "application/json-patch+json" },
        { CLIENT_PATCH, CLIENT_PATCH_STRATEGIC, "PATCH", "application/strategic-merge-patch+json" },
        { CLIENT_PATCH, CLIENT_PATCH_APPLY, "PATCH", "application/apply-patch+yaml" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct client_request q = { .verb = rows[i].verb, .patch = rows[i].patch };

        ASSERT_STR(rows[i].method, target_method(&q));
        if (rows[i].type)
            ASSERT_STR(rows[i].type, target_content_type(&q));
        else
            assert_null(target_content_type(&q));
    }
}

#define OPTIONS "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\""

TEST(body_of_a_delete)
{
    struct client_request q = { .verb = CLIENT_DELETE };

    ASSERT_STR("", delete_body_of(&q));
    q.if_uid = "u\"1";
    ASSERT_STR(OPTIONS ",\"preconditions\":{\"uid\":\"u\\\"1\"}}", delete_body_of(&q));
    q.if_version = "7";
    ASSERT_STR(OPTIONS ",\"preconditions\":{\"uid\":\"u\\\"1\",\"resourceVersion\":\"7\"}}",
               delete_body_of(&q));
    q.if_uid = NULL;
    ASSERT_STR(OPTIONS ",\"preconditions\":{\"resourceVersion\":\"7\"}}", delete_body_of(&q));
    q = (struct client_request){ .has_grace = true };
    ASSERT_STR(OPTIONS ",\"gracePeriodSeconds\":0}", delete_body_of(&q));
    q.propagation = "Foreground";
    ASSERT_STR(OPTIONS ",\"gracePeriodSeconds\":0,\"propagationPolicy\":\"Foreground\"}", delete_body_of(&q));
    q.has_grace = false;
    q.if_version = "7";
    ASSERT_STR(OPTIONS ",\"preconditions\":{\"resourceVersion\":\"7\"},\"propagationPolicy\":\"Foreground\"}",
               delete_body_of(&q));
    /* a server that finds a body does not look at the query */
    q = (struct client_request){ .is_dry_run = true };
    ASSERT_STR(OPTIONS ",\"dryRun\":[\"All\"]}", delete_body_of(&q));
    q.propagation = "Orphan";
    ASSERT_STR(OPTIONS ",\"propagationPolicy\":\"Orphan\",\"dryRun\":[\"All\"]}", delete_body_of(&q));
}

TEST_MAIN()

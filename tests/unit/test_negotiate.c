/* The Accept header: what is chosen, and when nothing can be. */
#include "tests/unit/test.h"

#include "apiserver/negotiate.h"

struct asked {
    const char *accept;
    const char *agent;
};

static struct str header(const struct call *c, const char *name)
{
    const struct asked *a = c->carrier_ctx;
    const char *value = strcmp(name, "Accept") == 0       ? a->accept
                        : strcmp(name, "User-Agent") == 0 ? a->agent
                                                          : NULL;

    return value ? str_of(value) : (struct str){ NULL, 0 };
}

static const struct carrier carrier = { header, NULL, NULL };

static const char *shape_names[] = { "object", "table", "partial" };

/* For a resource; NULL: for no particular one. */
static const char *chosen_for(const struct resource *resource, const struct subresource *sub,
                              const char *accept)
{
    static char text[64];
    struct asked a = { accept, NULL };
    struct call c;

    call_init(&c, &carrier, &a);
    c.route.resource = resource;
    c.route.sub = sub;
    if (negotiate_view(&c))
        (void)snprintf(text, sizeof text, "%s %s %s", c.view.media == MEDIA_JSON ? "json" : "yaml",
                       shape_names[c.view.shape], c.view.shape_version);
    else
        (void)snprintf(text, sizeof text, "none");
    call_done(&c);
    return text;
}

static const char *chosen(const char *accept)
{
    return chosen_for(NULL, NULL, accept);
}

TEST(the_first_acceptable_item_wins)
{
    static const struct {
        const char *accept;
        const char *expected;
    } rows[] = {
        { NULL, "json object v1" },
        { "", "json object v1" },
        { "*/*", "json object v1" },
        { "application/*", "json object v1" },
        { "application/json", "json object v1" },
        { "Application/JSON", "json object v1" },
        { "application/yaml", "yaml object v1" },
        { "application/yaml;q=0.5, application/json", "json object v1" },
        { "application/json;q=0.4,application/yaml;q=0.9", "yaml object v1" },
        { "application/json;q=0", "none" },
        { "application/vnd.kubernetes.protobuf", "none" },                            /* apiserver-80 */
        { "application/vnd.kubernetes.protobuf,application/json", "json object v1" }, /* apiserver-80 */
        { "application/cbor,application/json", "json object v1" },
        { "text/html", "none" },
        { "application/json;as=Table;v=v1;g=meta.k8s.io,application/json", "json table v1" },
        { "application/json;as=Table;v=v1beta1;g=meta.k8s.io", "json table v1beta1" },
        { "application/json; as=Table ; v=\"v1\"; g=meta.k8s.io", "json table v1" },
        { "application/yaml;as=Table;v=v1;g=meta.k8s.io", "yaml table v1" },
        { "application/json;as=Table;v=v2;g=meta.k8s.io,application/json", "json object v1" },
        { "application/json;as=Table;v=v1;g=other,application/yaml", "yaml object v1" },
        { "application/json;as=Elephant;v=v1;g=meta.k8s.io", "none" },
        { "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", "json partial v1" },
        { "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", "json partial v1" },
        { ",,;;,application/json", "json object v1" },
        { "application/json;q=nonsense", "json object v1" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *text = chosen(rows[i].accept);

        if (strcmp(text, rows[i].expected) != 0)
            fail_msg("%s: %s, expected %s", rows[i].accept ? rows[i].accept : "(none)", text,
                     rows[i].expected);
    }
}

TEST(people_get_indented_answers)
{
    static const struct {
        const char *agent;
        const char *query;
        bool expected;
    } rows[] = {
        { "curl/7.88", "", true },
        { "Wget/1.21", "", true },
        { "Mozilla/5.0 (X11)", "", true },
        { "kubectl/v1.32", "", false },
        { NULL, "", false },
        { "kubectl/v1.32", "pretty=true", true },
        { "kubectl/v1.32", "pretty", true },
        { "curl/7.88", "pretty=false", false },
        { "kubectl/v1.32", "pretty=maybe", true },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct asked a = { NULL, rows[i].agent };
        struct error err;
        struct call c;

        call_init(&c, &carrier, &a);
        ASSERT_OK(params_parse(str_of(rows[i].query), &c.arena, &c.params, &err));
        ASSERT_INT(rows[i].expected, negotiate_is_pretty(&c));
        call_done(&c);
    }
}

#define TABLE "application/json;as=Table;v=v1;g=meta.k8s.io"

/* What is not stored has no columns: the item is passed over. */
TEST(reviews_are_no_tables)
{
    static const char *const rows[][2] = {
        { "authorization.k8s.io", "subjectaccessreviews" },
        { "authorization.k8s.io", "localsubjectaccessreviews" },
        { "authorization.k8s.io", "selfsubjectaccessreviews" },
        { "authorization.k8s.io", "selfsubjectrulesreviews" },
        { "authentication.k8s.io", "tokenreviews" },
        { "authentication.k8s.io", "selfsubjectreviews" },
        { "", "bindings" },
    };
    const struct resource *pods = resource_find(STR_LIT(""), STR_LIT("v1"), STR_LIT("pods"));

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct resource *r = resource_find(str_of(rows[i][0]), STR_LIT("v1"), str_of(rows[i][1]));
        assert_non_null(r);
        ASSERT_STR("none", chosen_for(r, NULL, TABLE));
        ASSERT_STR("json object v1", chosen_for(r, NULL, TABLE ",application/json"));
    }
    ASSERT_STR("json table v1", chosen_for(pods, NULL, TABLE));
    for (const struct subresource *s = pods->subs; s->name; s++)
        ASSERT_STR(s->kind ? "none" : "json table v1", chosen_for(pods, s, TABLE));
    ASSERT_STR("json table v1",
               chosen_for(resource_find(STR_LIT(""), STR_LIT("v1"), STR_LIT("services")), NULL, TABLE));
}

TEST_MAIN()

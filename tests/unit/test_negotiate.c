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

static const char *chosen(const char *accept)
{
    static char text[64];
    struct asked a = { accept, NULL };
    struct call c;

    call_init(&c, &carrier, &a);
    if (negotiate(&c))
        (void)snprintf(text, sizeof text, "%s %s %s", c.view.media == MEDIA_JSON ? "json" : "yaml",
                       shape_names[c.view.shape], c.view.shape_version);
    else
        (void)snprintf(text, sizeof text, "none");
    call_done(&c);
    return text;
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

TEST_MAIN()

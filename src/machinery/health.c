/* Health checks and the texts of /livez, /readyz and /healthz. The checks are few and searched in order. */
#include "machinery/health.h"

#include "base/vec.h"

struct check {
    const char *name;
    unsigned when;
    health_check_fn *fn;
    void *ctx;
};

struct health {
    VEC(struct check) checks; /* a dozen at most: linear search */
};

static const struct {
    const char *name;
    unsigned bit;
} endpoints[] = { { "livez", HEALTH_LIVE }, { "readyz", HEALTH_READY }, { "healthz", HEALTH_OLD } };

static int check_ping(void *ctx, struct error *err)
{
    (void)ctx;
    (void)err;
    return 0;
}

struct health *health_new(void)
{
    struct health *h = calloc(1, sizeof *h);
    struct error ignored;

    if (h && health_add(h, "ping", HEALTH_ALL, check_ping, NULL, &ignored) < 0)
        h = health_free(h);
    return h;
}

struct health *health_free(struct health *h)
{
    if (!h)
        return NULL;
    vec_done(&h->checks);
    free(h);
    return NULL;
}

/* NULL if these endpoints have no such check. */
static const struct check *find_check(const struct health *h, struct str name, unsigned when)
{
    for (size_t i = 0; i < h->checks.count; i++) {
        if (str_is(name, h->checks.items[i].name) && (h->checks.items[i].when & when))
            return &h->checks.items[i];
    }
    return NULL;
}

int health_add(struct health *h, const char *name, unsigned when, health_check_fn *check, void *ctx,
               struct error *err)
{
    if (find_check(h, str_of(name), HEALTH_ALL))
        return error_set(err, ERR_EXISTS, "health check '%s' already exists", name);
    if (vec_push(&h->checks, (struct check){ name, when, check, ctx }) < 0)
        return error_no_memory(err);
    return 0;
}

/* "/readyz/store" is the check "store" of readyz; ret_check is empty for all checks. -1 for an unknown path.
 */
static int endpoint_of(struct str path, struct str *ret_check)
{
    struct str rest = path;

    if (path.len == 0 || path.s[0] != '/')
        return -1;
    (void)str_next(&rest, '/');
    for (size_t i = 0; i < ARRAY_LEN(endpoints); i++) {
        struct str check = rest;

        if (!str_is(str_next(&check, '/'), endpoints[i].name))
            continue;
        *ret_check = check.s ? check : STR_LIT("");
        return (int)i;
    }
    return -1;
}

bool health_has_path(struct str path)
{
    struct str ignored;

    return endpoint_of(path, &ignored) >= 0;
}

static bool is_excluded(const struct health_ask *ask, const char *check)
{
    for (size_t i = 0; i < ask->excluded_count; i++) {
        if (str_is(ask->excluded[i], check))
            return true;
    }
    return false;
}

static void warn_of_unknown(const struct health *h, const struct health_ask *ask, unsigned when,
                            struct buf *out)
{
    bool any = false;

    for (size_t i = 0; i < ask->excluded_count; i++) {
        if (find_check(h, ask->excluded[i], when))
            continue;
        buf_addf(out, "%s\"%.*s\"",
                 any ? "," : "warn: some health checks cannot be excluded: no matches for ",
                 STR_ARG(ask->excluded[i]));
        any = true;
    }
    if (any)
        buf_add_char(out, '\n');
}

static int answer_one(const struct check *k, struct buf *out)
{
    struct error err;

    if (!k) {
        buf_add_cstr(out, "404 page not found\n");
        return 404;
    }
    if (k->fn(k->ctx, &err) < 0) {
        buf_addf(out, "internal server error: %s failed\n", k->name);
        return 500;
    }
    buf_add_cstr(out, "ok");
    return 200;
}

/* One line for the check; false if it fails and is not excluded. */
static bool answer_line(const struct check *k, const struct health_ask *ask, struct buf *out)
{
    struct error err;

    if (is_excluded(ask, k->name)) {
        buf_addf(out, "[+]%s excluded: ok\n", k->name);
        return true;
    }
    if (k->fn(k->ctx, &err) < 0) {
        buf_addf(out, "[-]%s failed: reason withheld\n", k->name);
        return false;
    }
    buf_addf(out, "[+]%s ok\n", k->name);
    return true;
}

static int answer_all(const struct health *h, int at, const struct health_ask *ask, struct buf *out)
{
    bool is_well = true;

    for (size_t i = 0; i < h->checks.count; i++) {
        if ((h->checks.items[i].when & endpoints[at].bit) && !answer_line(&h->checks.items[i], ask, out))
            is_well = false;
    }
    warn_of_unknown(h, ask, endpoints[at].bit, out);
    buf_addf(out, "%s check %s\n", endpoints[at].name, is_well ? "passed" : "failed");
    if (is_well && !ask->is_verbose) {
        buf_clear(out);
        buf_add_cstr(out, "ok");
    }
    return is_well ? 200 : 500;
}

int health_answer(const struct health *h, struct str path, const struct health_ask *ask, struct buf *out)
{
    struct str check;
    int at = endpoint_of(path, &check);

    if (at < 0)
        return 0;
    if (check.len)
        return answer_one(find_check(h, check, endpoints[at].bit), out);
    return answer_all(h, at, ask, out);
}

int health_ready(const struct health *h, struct error *err)
{
    for (size_t i = 0; i < h->checks.count; i++) {
        const struct check *k = &h->checks.items[i];

        if ((k->when & HEALTH_READY) && k->fn(k->ctx, err) < 0)
            return error_wrap(err, "%s", k->name);
    }
    return 0;
}

/* The data directory's keys and certificates over several starts, and the kubeconfig as kubectl reads it. */
#include "tests/unit/test_io.h"

#include <time.h>

#include "api/base64.h"
#include "api/json.h"
#include "api/yaml.h"
#include "apiserver/pki.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "io/certs.h"
#include "io/clock.h"
#include "io/file.h"
#include "io/hostname.h"
#include "io/process.h"

#define DAY INT64_C(86400)

static struct error err;

static struct pki_options options(const struct test_dir *d)
{
    return (struct pki_options){
        .dir = d->path,
        .address = "127.0.0.1:7443",
        .host_name = "machine",
        .now = clock_real_ns(clock_system()) / (int64_t)NS_PER_S,
    };
}

static const char *read_text(const char *path)
{
    static struct buf texts[4];
    static unsigned next;
    struct buf *b = &texts[next++ % 4];

    ASSERT_OK(io_read_file(path, 1 << 20, b, &err));
    return buf_cstr(b);
}

static char *keep(const char *text)
{
    char *copy = strdup(text);

    assert_non_null(copy);
    return copy;
}

static struct cert *read_cert(const char *path)
{
    struct cert *c = NULL;

    ASSERT_OK(cert_from_pem(str_of(read_text(path)), &c, &err));
    return c;
}

static unsigned mode_of(const char *path)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 07777;
}

static void start(const struct pki_options *o)
{
    _cleanup_(pki_done_p) struct pki p = { 0 };

    ASSERT_OK(pki_open(o, &p, &err));
    ASSERT_OK(pki_write_kubeconfig(&p, o->dir, o->address, &err));
}

/* Refused, in words that hold `text`, and nothing was made up on the way. */
static void start_refused(const struct pki_options *o, const char *text)
{
    struct pki p = { 0 };

    ASSERT_ERR(ERR_INVALID, pki_open(o, &p, &err));
    if (!strstr(err.msg, text))
        fail_msg("'%s' does not say '%s'", err.msg, text);
    assert_null(p.token_key);
}

TEST(the_first_start_makes_everything)
{
    static const struct {
        const char *name;
        unsigned mode;
    } rows[] = {
        { "pki", 0700 },
        { "pki/ca.key", 0600 },
        { "pki/ca.crt", 0644 },
        { "pki/server.key", 0600 },
        { "pki/server.crt", 0644 },
        { "pki/admin.key", 0600 },
        { "pki/admin.crt", 0644 },
        { "pki/service-account.key", 0600 },
        { "kubeconfig", 0600 },
    };
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct pki_options o = options(&d);
    mode_t umask_before = umask(0);

    start(&o);
    (void)umask(umask_before);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ASSERT_INT(rows[i].mode, mode_of(in_dir(&d, rows[i].name)));
}

TEST(certificates_fit_their_use)
{
    static const char *const names[] = { "localhost", "127.0.0.1", "::1", "machine", "192.0.2.7" };
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct pki_options o = options(&d);
    _cleanup_(cert_free_p) struct cert *ca = NULL;
    _cleanup_(cert_free_p) struct cert *server = NULL;
    _cleanup_(cert_free_p) struct cert *admin = NULL;

    o.address = "192.0.2.7:7443";
    start(&o);
    ca = read_cert(in_dir(&d, "pki/ca.crt"));
    server = read_cert(in_dir(&d, "pki/server.crt"));
    admin = read_cert(in_dir(&d, "pki/admin.crt"));
    assert_true(cert_is_signed_by(server, ca));
    assert_true(cert_is_signed_by(admin, ca));
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        assert_true(cert_covers(server, names[i]));
    assert_false(cert_covers(admin, "localhost"));
    assert_true(cert_valid_until(ca) == o.now + 3650 * DAY);
    assert_true(cert_valid_until(server) == o.now + 365 * DAY);
    assert_true(cert_valid_until(admin) == o.now + 365 * DAY);
}

TEST(later_starts_change_nothing)
{
    static const char *const names[] = { "pki/ca.crt", "pki/server.crt", "pki/admin.crt",
                                         "pki/service-account.key", "kubeconfig" };
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct pki_options o = options(&d);
    char *before[ARRAY_LEN(names)];

    start(&o);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        before[i] = keep(read_text(in_dir(&d, names[i])));
    o.now += 300 * DAY;
    start(&o);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        ASSERT_STR(before[i], read_text(in_dir(&d, names[i])));
        free(before[i]);
    }
}

TEST(leaves_are_renewed_before_they_expire)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct pki_options o = options(&d);
    char *key, *ca;
    _cleanup_(cert_free_p) struct cert *server = NULL;
    _cleanup_(cert_free_p) struct cert *admin = NULL;

    start(&o);
    key = keep(read_text(in_dir(&d, "pki/server.key")));
    ca = keep(read_text(in_dir(&d, "pki/ca.crt")));
    o.now += 336 * DAY;
    start(&o);
    server = read_cert(in_dir(&d, "pki/server.crt"));
    admin = read_cert(in_dir(&d, "pki/admin.crt"));
    assert_true(cert_valid_until(server) == o.now + 365 * DAY);
    assert_true(cert_valid_until(admin) == o.now + 365 * DAY);
    ASSERT_STR(key, read_text(in_dir(&d, "pki/server.key")));
    ASSERT_STR(ca, read_text(in_dir(&d, "pki/ca.crt")));
    free(key);
    free(ca);
}

/* With the key that it had, so that what it signed stays signed. */
TEST(the_authority_is_renewed_before_it_expires)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct pki_options o = options(&d);
    _cleanup_(cert_free_p) struct cert *before = NULL;
    _cleanup_(cert_free_p) struct cert *ca = NULL;
    _cleanup_(cert_free_p) struct cert *server = NULL;

    start(&o);
    before = read_cert(in_dir(&d, "pki/ca.crt"));
    o.now += 3621 * DAY;
    start(&o);
    ca = read_cert(in_dir(&d, "pki/ca.crt"));
    server = read_cert(in_dir(&d, "pki/server.crt"));
    assert_true(cert_valid_until(ca) == o.now + 3650 * DAY);
    assert_true(cert_is_signed_by(server, before));
}

/* --- Clocks that were wrong --- */

static char logged[8192];

static void keep_line(void *ctx, const char *line, size_t len)
{
    size_t at = strlen(logged);

    (void)ctx;
    (void)snprintf(logged + at, sizeof logged - at, "%.*s", (int)len, line);
}

/* With what was logged meanwhile in `logged`. */
static void start_logged(const struct pki_options *o)
{
    struct manual_clock clock;
    struct logger logger = { .level = LOG_LEVEL_WARN, .clock = &clock.clock, .sink = keep_line };

    manual_clock_init(&clock, 0, 0);
    logged[0] = '\0';
    log_install(&logger);
    start(o);
    log_install(NULL);
}

static void assert_valid_at(const struct test_dir *d, int64_t now)
{
    static const char *const names[] = { "pki/ca.crt", "pki/server.crt", "pki/admin.crt" };
    _cleanup_(cert_free_p) struct cert *ca = read_cert(in_dir(d, "pki/ca.crt"));

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        _cleanup_(cert_free_p) struct cert *c = read_cert(in_dir(d, names[i]));

        assert_true(cert_valid_from(c) <= now - 3600);
        assert_true(cert_valid_until(c) >= now + 30 * DAY);
        assert_true(cert_is_signed_by(c, ca));
    }
}

TEST(a_start_with_the_clock_ahead_is_made_good)
{
    static const char *const keys[] = { "pki/ca.key", "pki/server.key", "pki/admin.key" };
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct pki_options o = options(&d);
    char *before[ARRAY_LEN(keys)], *kubeconfig;

    o.now = 1900000000; /* 2030-03-17T17:46:40Z */
    start_logged(&o);
    ASSERT_STR("", logged);
    assert_valid_at(&d, o.now);
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        before[i] = keep(read_text(in_dir(&d, keys[i])));
    kubeconfig = keep(read_text(in_dir(&d, "kubeconfig")));

    o.now = 1800000000;
    start_logged(&o);
    assert_valid_at(&d, o.now);
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        ASSERT_STR(before[i], read_text(in_dir(&d, keys[i])));
        free(before[i]);
    }
    assert_true(strcmp(kubeconfig, read_text(in_dir(&d, "kubeconfig"))) != 0);
    free(kubeconfig);
    assert_non_null(strstr(logged, "/pki/ca.crt reason=\"not valid yet\" valid_from=2030-03-17T16:46:40Z "
                                   "valid_until=2040-03-14T17:46:40Z action=\"replace copies of the"));
    assert_non_null(strstr(logged, "/pki/server.crt reason=\"not valid yet\" valid_from=2030-03-17T16:46:40Z "
                                   "valid_until=2031-03-17T17:46:40Z action=\"none"));
    assert_non_null(strstr(logged, "/pki/admin.crt reason=\"not valid yet\""));
    start_logged(&o);
    ASSERT_STR("", logged);
}

/* Each for itself: the others stay as they are. */
TEST(only_what_is_not_valid_is_renewed)
{
    static const char *const names[] = { "pki/ca.crt", "pki/server.crt", "pki/admin.crt" };

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
        struct pki_options o = options(&d);
        char *before[ARRAY_LEN(names)];

        o.now = 1800000000;
        start(&o);
        assert_int_equal(unlink(in_dir(&d, names[i])), 0);
        o.now += 100 * DAY; /* ahead, for this one alone */
        start(&o);
        for (size_t k = 0; k < ARRAY_LEN(names); k++)
            before[k] = keep(read_text(in_dir(&d, names[k])));
        o.now -= 90 * DAY;
        start_logged(&o);
        assert_non_null(strstr(logged, names[i]));
        for (size_t k = 0; k < ARRAY_LEN(names); k++) {
            ASSERT_INT(k == i, strcmp(before[k], read_text(in_dir(&d, names[k]))) != 0);
            free(before[k]);
        }
        assert_valid_at(&d, o.now);
    }
}

TEST(why_a_certificate_is_renewed_is_logged)
{
    static const struct {
        int64_t days; /* after its making */
        const char *reason;
    } rows[] = { { 334, NULL }, { 336, "\"expires soon\"" }, { 365, "expired" }, { 1000, "expired" } };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
        struct pki_options o = options(&d);
        char expected[100];

        start(&o);
        o.now += rows[i].days * DAY;
        start_logged(&o);
        (void)snprintf(expected, sizeof expected, "server.crt reason=%s",
                       rows[i].reason ? rows[i].reason : "");
        ASSERT_INT(rows[i].reason != NULL, strstr(logged, expected) != NULL);
        assert_null(strstr(logged, "ca.crt"));
    }
}

/* What an authority of another name has signed would not be signed by ours. */
TEST(an_authority_that_is_not_ours_stays)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct pki_options o = options(&d);
    struct cert_request q = { .use = CERT_AUTHORITY,
                              .common_name = "company-ca",
                              .valid_from = o.now - DAY,
                              .valid_until = o.now + 3 * DAY };
    _cleanup_(key_free_p) struct key *key = NULL;
    _cleanup_(cert_free_p) struct cert *ca = NULL;
    _cleanup_(buf_done_p) struct buf key_pem = BUF_INIT(KEY_PEM_BYTES_MAX);
    _cleanup_(buf_done_p) struct buf cert_pem = BUF_INIT(CERT_PEM_BYTES_MAX);
    _cleanup_(pki_done_p) struct pki p = { 0 };

    ASSERT_OK(key_new(&key, &err));
    ASSERT_OK(key_to_pem(key, &key_pem, &err));
    ASSERT_OK(cert_new(&q, key, NULL, NULL, &ca, &err));
    ASSERT_OK(cert_to_pem(ca, &cert_pem, &err));
    assert_int_equal(mkdir(in_dir(&d, "pki"), 0700), 0);
    put_file(in_dir(&d, "pki/ca.key"), buf_cstr(&key_pem));
    put_file(in_dir(&d, "pki/ca.crt"), buf_cstr(&cert_pem));
    start_logged(&o);
    ASSERT_STR(buf_cstr(&cert_pem), read_text(in_dir(&d, "pki/ca.crt")));
    assert_non_null(strstr(logged, "WARN certificate not renewed, not created by Berth path="));
    assert_non_null(strstr(logged, "ca.crt reason=\"expires soon\""));
    ASSERT_OK(pki_open(&o, &p, &err));
    assert_false(pki_is_due(&p, o.now)); /* there is nothing to be done while it runs */
}

TEST(when_a_renewal_is_due)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct pki_options o = options(&d);
    _cleanup_(pki_done_p) struct pki p = { 0 };
    _cleanup_(pki_done_p) struct pki insecure = { 0 };

    ASSERT_OK(pki_open(&o, &p, &err));
    assert_false(pki_is_due(&p, o.now));
    assert_false(pki_is_due(&p, o.now - 3600));
    assert_true(pki_is_due(&p, o.now - 3601));
    assert_false(pki_is_due(&p, o.now + 335 * DAY));
    assert_true(pki_is_due(&p, o.now + 335 * DAY + 1));
    o.is_insecure = true;
    ASSERT_OK(pki_open(&o, &insecure, &err));
    assert_false(pki_is_due(&insecure, o.now + 3620 * DAY)); /* the authority alone counts */
    assert_true(pki_is_due(&insecure, o.now + 3620 * DAY + 1));
}

TEST(a_new_name_gives_a_new_server_certificate)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct pki_options o = options(&d);
    _cleanup_(cert_free_p) struct cert *server = NULL;
    char *admin;

    start(&o);
    admin = keep(read_text(in_dir(&d, "pki/admin.crt")));
    o.host_name = "renamed.example.org";
    o.address = "[2001:db8::7]:7443";
    start(&o);
    server = read_cert(in_dir(&d, "pki/server.crt"));
    assert_true(cert_covers(server, "renamed.example.org"));
    assert_true(cert_covers(server, "2001:db8::7"));
    assert_false(cert_covers(server, "machine"));
    ASSERT_STR(admin, read_text(in_dir(&d, "pki/admin.crt")));
    free(admin);
}

/* What a crash between two writes leaves. */
TEST(a_key_alone_gets_its_certificate)
{
    static const char *const names[] = { "ca", "server", "admin" };
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct pki_options o = options(&d);

    start(&o);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char cert[32], key[32];
        char *before;
        (void)snprintf(cert, sizeof cert, "pki/%s.crt", names[i]);
        (void)snprintf(key, sizeof key, "pki/%s.key", names[i]);
        before = keep(read_text(in_dir(&d, key)));
        assert_int_equal(unlink(in_dir(&d, cert)), 0);
        start(&o);
        assert_int_equal(access(in_dir(&d, cert), R_OK), 0);
        ASSERT_STR(before, read_text(in_dir(&d, key)));
        free(before);
    }
}

TEST(a_certificate_alone_is_refused)
{
    static const char *const names[] = { "ca", "server", "admin" };
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct pki_options o = options(&d);

    start(&o);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char key[32], kept[32];
        (void)snprintf(key, sizeof key, "pki/%s.key", names[i]);
        (void)snprintf(kept, sizeof kept, "pki/%s.kept", names[i]);
        assert_int_equal(rename(in_dir(&d, key), in_dir(&d, kept)), 0);
        start_refused(&o, "is missing: restore it, or delete");
        assert_int_equal(access(in_dir(&d, key), F_OK), -1);
        assert_int_equal(rename(in_dir(&d, kept), in_dir(&d, key)), 0);
    }
    start(&o);
}

TEST(what_does_not_fit_is_refused)
{
    static const struct {
        const char *from, *to; /* of another data directory, put into ours */
        const char *message;
    } rows[] = {
        { "pki/server.key", "pki/server.key", "pki/server.crt' does not belong to its key: restore" },
        { "pki/admin.crt", "pki/admin.crt", "pki/admin.crt' does not belong to its key: restore" },
        { "pki/ca.key", "pki/ca.key", "pki/ca.crt' does not belong to its key: restore" },
        { "kubeconfig", "pki/ca.crt", "pki/ca.crt' (restore it, or delete it" },
        { "kubeconfig", "pki/admin.key", "pki/admin.key' (restore it, or delete it" },
        { "kubeconfig", "pki/service-account.key", "pki/service-account.key' (restore it, or delete it" },
    };
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    _cleanup_(test_dir_done) struct test_dir other = test_dir_new();
    struct pki_options o = options(&d), foreign = options(&other);

    start(&o);
    start(&foreign);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char *ours = keep(read_text(in_dir(&d, rows[i].to)));
        put_file(in_dir(&d, rows[i].to), read_text(in_dir(&other, rows[i].from)));
        start_refused(&o, rows[i].message);
        put_file(in_dir(&d, rows[i].to), ours);
        free(ours);
    }
    start(&o);
}

TEST(a_leaf_of_another_authority_is_refused)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    _cleanup_(test_dir_done) struct test_dir other = test_dir_new();
    struct pki_options o = options(&d), foreign = options(&other);

    start(&o);
    start(&foreign);
    put_file(in_dir(&d, "pki/server.crt"), read_text(in_dir(&other, "pki/server.crt")));
    put_file(in_dir(&d, "pki/server.key"), read_text(in_dir(&other, "pki/server.key")));
    start_refused(&o, "pki/server.crt' is not signed by ca.crt: restore");
}

TEST(an_unreadable_file_is_an_error)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct pki_options o = options(&d);
    struct pki p = { 0 };

    start(&o);
    assert_int_equal(unlink(in_dir(&d, "pki/server.key")), 0);
    assert_int_equal(mkdir(in_dir(&d, "pki/server.key"), 0700), 0);
    assert_true(pki_open(&o, &p, &err) < 0);
    assert_non_null(strstr(err.msg, "pki/server.key"));
}

/* --- The kubeconfig --- */

static struct str config_text(const struct json *d, json_ref root, const char *list, const char *what,
                              const char *key)
{
    return json_get_text(d, json_get(d, json_at(d, json_get(d, root, list), 0), what), key);
}

static void assert_pem(struct str base64, const char *path)
{
    _cleanup_(buf_done_p) struct buf pem = BUF_INIT(1 << 20);

    ASSERT_OK(base64_decode(base64, &pem, &err));
    ASSERT_STR(read_text(path), buf_cstr(&pem));
}

TEST(the_kubeconfig_leads_to_the_server)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    _cleanup_(json_done_p) struct json doc;
    struct pki_options o = options(&d);
    json_ref root;

    json_init(&doc, 1 << 20);
    start(&o);
    ASSERT_OK(yaml_parse(&doc, str_of(read_text(in_dir(&d, "kubeconfig"))), &root, &err));
    assert_true(str_is(json_get_text(&doc, root, "kind"), "Config"));
    assert_true(str_is(json_get_text(&doc, root, "apiVersion"), "v1"));
    assert_true(str_is(json_get_text(&doc, root, "current-context"), "berth"));
    assert_true(str_is(config_text(&doc, root, "clusters", "cluster", "server"), "https://127.0.0.1:7443"));
    assert_true(str_is(config_text(&doc, root, "contexts", "context", "cluster"), "berth"));
    assert_true(str_is(config_text(&doc, root, "contexts", "context", "user"), "berth"));
    assert_pem(config_text(&doc, root, "clusters", "cluster", "certificate-authority-data"),
               in_dir(&d, "pki/ca.crt"));
    assert_pem(config_text(&doc, root, "users", "user", "client-certificate-data"),
               in_dir(&d, "pki/admin.crt"));
    assert_pem(config_text(&doc, root, "users", "user", "client-key-data"), in_dir(&d, "pki/admin.key"));
}

TEST(the_kubeconfig_follows_the_address)
{
    static const struct {
        const char *address;
        bool is_insecure;
        const char *server;
    } rows[] = {
        { "127.0.0.1:7443", false, "server: https://127.0.0.1:7443\n" },
        { "127.0.0.1:7444", false, "server: https://127.0.0.1:7444\n" },
        { "0.0.0.0:7443", false, "server: https://127.0.0.1:7443\n" },
        { "[::]:7443", false, "server: https://[::1]:7443\n" },
        { "[::1]:7443", false, "server: https://[::1]:7443\n" },
        { "storage.example.org:443", false, "server: https://storage.example.org:443\n" },
        { "127.0.0.1:7443", true, "server: http://127.0.0.1:7443\n" },
        { "127.0.0.1:7443", false, "server: https://127.0.0.1:7443\n" },
    };
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct pki_options o = options(&d);

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *text;
        o.address = rows[i].address;
        o.is_insecure = rows[i].is_insecure;
        start(&o);
        text = read_text(in_dir(&d, "kubeconfig"));
        if (!strstr(text, rows[i].server))
            fail_msg("row %zu: %s", i, text);
        ASSERT_INT(!rows[i].is_insecure, strstr(text, "client-key-data") != NULL);
        ASSERT_INT(!rows[i].is_insecure, strstr(text, "certificate-authority-data") != NULL);
    }
}

/* The authority is what kube-root-ca.crt holds; there is nobody to show the others to. */
TEST(an_insecure_start_makes_the_authority_alone)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct pki_options o = options(&d);

    _cleanup_(pki_done_p) struct pki p = { 0 }, later = { 0 };

    o.is_insecure = true;
    ASSERT_OK(pki_open(&o, &p, &err));
    ASSERT_STR(read_text(in_dir(&d, "pki/ca.crt")), buf_cstr(&p.ca_cert));
    ASSERT_INT(0, p.server_cert.len + p.server_key.len + p.admin_cert.len + p.admin_key.len);
    assert_int_equal(access(in_dir(&d, "pki/ca.key"), F_OK), 0);
    assert_int_equal(access(in_dir(&d, "pki/service-account.key"), F_OK), 0);
    assert_int_equal(access(in_dir(&d, "pki/server.crt"), F_OK), -1);
    assert_int_equal(access(in_dir(&d, "pki/admin.crt"), F_OK), -1);
    o.is_insecure = false; /* and a start with TLS uses the same one */
    ASSERT_OK(pki_open(&o, &later, &err));
    ASSERT_STR(buf_cstr(&p.ca_cert), buf_cstr(&later.ca_cert));
}

TEST(what_the_owner_adds_stays)
{
    static const char addition[] = "preferences:\n  colors: true\n";
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(1 << 20);
    struct pki_options o = options(&d);

    start(&o);
    buf_addf(&text, "%s%s", read_text(in_dir(&d, "kubeconfig")), addition);
    put_file(in_dir(&d, "kubeconfig"), buf_cstr(&text));
    start(&o);
    ASSERT_STR(buf_cstr(&text), read_text(in_dir(&d, "kubeconfig")));
    put_file(in_dir(&d, "kubeconfig"), "clusters: [");
    start(&o);
    assert_null(strstr(read_text(in_dir(&d, "kubeconfig")), "preferences"));
    assert_non_null(strstr(read_text(in_dir(&d, "kubeconfig")), "https://127.0.0.1:7443"));
}

struct outcome {
    bool is_done;
    int exit_code;
    char out[1024];
};

static void on_done(void *ctx, const struct process_result *result)
{
    struct outcome *o = ctx;

    o->exit_code = result->exit_code;
    (void)snprintf(o->out, sizeof o->out, "%.*s%.*s", STR_ARG(result->out), STR_ARG(result->err));
    o->is_done = true;
}

/* kubectl's own reading: it shows the server of the current context, and fails on data it cannot decode. */
TEST(kubectl_reads_it)
{
    static const char *const env[] = { "PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/nowhere", NULL };
    struct test_dir d = test_dir_new();
    struct pki_options o = options(&d);
    char flag[TEST_PATH_BYTES + 32];
    const char *const argv[] = {
        "kubectl",
        flag,
        "config",
        "view",
        "--minify",
        "-o",
        "jsonpath={.clusters[0].cluster.server} {.users[0].name} {.contexts[0].name}",
        NULL
    };
    struct process_spec spec = {
        .argv = argv, .env = env, .out_bytes_max = 512, .err_bytes_max = 512, .limit_ns = 60 * NS_PER_S
    };
    struct outcome outcome = { 0 };
    struct loop *l = new_loop(clock_system());
    struct process *p;
    int r;

    start(&o);
    (void)snprintf(flag, sizeof flag, "--kubeconfig=%s/kubeconfig", d.path);
    r = process_run(l, &spec, on_done, &outcome, &p, &err);
    if (r == 0)
        run_until(l, &outcome.is_done);
    (void)loop_free(l);
    test_dir_done(&d);
    if (r == -ERR_NOT_FOUND)
        skip(); /* no kubectl here */
    ASSERT_OK(r);
    ASSERT_STR("https://127.0.0.1:7443 berth berth", outcome.out);
    ASSERT_INT(0, outcome.exit_code);
}

TEST(the_host_has_a_name)
{
    char name[IO_HOST_NAME_BYTES] = "";

    ASSERT_OK(io_host_name(name, &err));
    assert_true(name[0] != '\0');
}

TEST_MAIN()

/* The table of registered CSI drivers: a sorted vector under a mutex that is held for the length of a copy.
 */
#include "plugins/csi/drivers.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "api/quote.h"
#include "base/vec.h"

#define VERSION_PARTS 3
#define VERSION_BYTES 80
#define SHOWN_BYTES 256
#define SUPPORTED_MAJOR 1

struct entry {
    struct csi_endpoint endpoint;
    struct csi_version version;
};

struct csi_drivers {
    pthread_mutex_t lock;
    VEC(struct entry) all; /* by name */
};

/* --- Versions --- */

bool csi_version_parse(const char *text, struct csi_version *ret)
{
    uint64_t numbers[VERSION_PARTS] = { 0 };
    unsigned count = 0;

    text += text[0] == 'v';
    do {
        size_t len = strspn(text, "0123456789");

        if (!str_to_uint64((struct str){ text, len }, &numbers[count++])) /* no number, or too many */
            return false;
        text += len;
    } while (count < VERSION_PARTS && *text == '.' && *++text != '\0');
    if (count < 2)
        return false;
    *ret = (struct csi_version){ numbers[0], numbers[1], numbers[2] };
    return true;
}

int csi_version_cmp(struct csi_version a, struct csi_version b)
{
    if (a.major != b.major)
        return a.major < b.major ? -1 : 1;
    if (a.minor != b.minor)
        return a.minor < b.minor ? -1 : 1;
    return a.patch == b.patch ? 0 : a.patch < b.patch ? -1 : 1;
}

static void version_text(struct csi_version v, char ret[VERSION_BYTES])
{
    (void)snprintf(ret, VERSION_BYTES, "%" PRIu64 ".%" PRIu64 ".%" PRIu64, v.major, v.minor, v.patch);
}

/* ["1.0.0" "2.0.0"], cut to fit. */
static const char *format_versions(struct texts versions, char ret[SHOWN_BYTES])
{
    struct buf out = BUF_INIT(SHOWN_BYTES - 1);
    char one[VERSION_BYTES];

    for (uint32_t i = 0; i < versions.count; i++)
        buf_addf(&out, "%s%s", i ? " " : "[", quote_text(one, sizeof one, str_of(versions.items[i])));
    buf_add_cstr(&out, versions.count ? "]" : "[]");
    (void)snprintf(ret, SHOWN_BYTES, "%s", buf_cstr(&out));
    buf_done(&out);
    return ret;
}

/* The highest version with a supported major number. */
static int highest_version(struct texts versions, struct csi_version *ret, struct error *err)
{
    struct csi_version found = { 0 }, v;
    char text[VERSION_BYTES];
    bool has_any = false;

    for (uint32_t i = 0; i < versions.count; i++) {
        if (!csi_version_parse(versions.items[i], &v) || v.major > SUPPORTED_MAJOR)
            continue;
        if (!has_any || csi_version_cmp(v, found) > 0)
            found = v;
        has_any = true;
    }
    if (!has_any)
        return error_set(err, ERR_INVALID, "no supported version in the list");
    version_text(found, text);
    if (found.major != SUPPORTED_MAJOR)
        return error_set(err, ERR_INVALID, "highest supported version reported is %s, must be v1.x", text);
    *ret = found;
    return 0;
}

/* --- The table --- */

int csi_drivers_new(struct csi_drivers **ret, struct error *err)
{
    struct csi_drivers *d = calloc(1, sizeof *d);

    if (!d || pthread_mutex_init(&d->lock, NULL) != 0) {
        free(d);
        return error_no_memory(err);
    }
    *ret = d;
    return 0;
}

struct csi_drivers *csi_drivers_free(struct csi_drivers *d)
{
    if (!d)
        return NULL;
    vec_done(&d->all);
    (void)pthread_mutex_destroy(&d->lock);
    free(d);
    return NULL;
}

/* Locking cannot fail: the mutex is private and not recursive. */
static void lock_drivers(struct csi_drivers *d)
{
    (void)pthread_mutex_lock(&d->lock);
}

static void unlock_drivers(struct csi_drivers *d)
{
    (void)pthread_mutex_unlock(&d->lock);
}

/* The index of the name, or where it would be inserted. Under the lock. */
static size_t place_of(const struct csi_drivers *d, const char *name, bool *ret_is_found)
{
    size_t i = 0;
    int order = 1;

    while (i < d->all.count && (order = strcmp(d->all.items[i].endpoint.driver, name)) < 0)
        i++;
    *ret_is_found = i < d->all.count && order == 0;
    return i;
}

int csi_drivers_check(struct csi_drivers *d, const char *caller, const char *name, struct texts versions,
                      struct csi_version *ret, struct error *err)
{
    char shown_name[SHOWN_BYTES], shown[SHOWN_BYTES], version[VERSION_BYTES];
    struct csi_version found = { 0 }, old = { 0 };
    struct error why = { 0 };
    bool is_found;
    size_t i;

    (void)quote_text(shown_name, sizeof shown_name, str_of(name));
    if (versions.count == 0)
        return error_set(err, ERR_INVALID,
                         "%s for CSI driver %s failed. Plugin returned an empty list for supported versions",
                         caller, shown_name);
    if (highest_version(versions, &found, &why) < 0)
        return error_set(
            err, ERR_INVALID,
            "%s for CSI driver %s failed. None of the versions specified %s are supported. err=%s", caller,
            shown_name, format_versions(versions, shown), why.msg);
    lock_drivers(d);
    i = place_of(d, name, &is_found);
    if (is_found)
        old = d->all.items[i].version;
    unlock_drivers(d);
    if (is_found && csi_version_cmp(old, found) >= 0) {
        version_text(old, version);
        return error_set(err, ERR_EXISTS,
                         "%s for CSI driver %s failed. Another driver with the same name is already "
                         "registered with a higher supported version: %s",
                         caller, shown_name, quote_text(shown, sizeof shown, str_of(version)));
    }
    *ret = found;
    return 0;
}

int csi_drivers_put(struct csi_drivers *d, const char *name, const char *socket, struct csi_version version,
                    struct error *err)
{
    struct entry e = { .version = version };
    bool is_found;
    int r = 0;
    size_t i;

    if (strlen(name) >= sizeof e.endpoint.driver || strlen(socket) >= sizeof e.endpoint.socket)
        return error_set(err, ERR_INVALID, "name or socket path of driver '%.64s' is too long", name);
    memcpy(e.endpoint.driver, name, strlen(name) + 1);
    memcpy(e.endpoint.socket, socket, strlen(socket) + 1);
    lock_drivers(d);
    i = place_of(d, name, &is_found);
    if (is_found)
        d->all.items[i] = e;
    else
        r = vec_insert(&d->all, i, e);
    unlock_drivers(d);
    return r < 0 ? error_no_memory(err) : 0;
}

void csi_drivers_remove(struct csi_drivers *d, const char *name)
{
    bool is_found;
    size_t i;

    lock_drivers(d);
    i = place_of(d, name, &is_found);
    if (is_found)
        vec_remove(&d->all, i);
    unlock_drivers(d);
}

int csi_drivers_find(struct csi_drivers *d, const char *name, struct csi_endpoint *ret, struct error *err)
{
    bool is_found;
    size_t i;

    lock_drivers(d);
    i = place_of(d, name, &is_found);
    if (is_found)
        *ret = d->all.items[i].endpoint;
    unlock_drivers(d);
    if (!is_found)
        return error_set(err, ERR_UNAVAILABLE,
                         "driver name %s not found in the list of registered CSI drivers", name);
    return 0;
}

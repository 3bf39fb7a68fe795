/* Reads the section `csi` of a configuration file into csi_settings. A socket is named by its path or as a
 * URL of gRPC: unix:///path, unix:/path. */
#include "daemon/csi_settings.h"

#include <string.h>

#include "base/clock.h"
#include "daemon/settings_section.h"
#include "host/safe_path.h"

#define TEXTS_BYTES_MAX ((size_t)4 << 20)
#define CALLS_MAX 1000

/* --- Sockets --- */

static const char *path_of_url(const char *url)
{
    if (strncmp(url, "unix:", 5) != 0)
        return url;
    return strncmp(url, "unix://", 7) == 0 ? url + 7 : url + 5;
}

static const char *read_socket(struct section *s, const char *key)
{
    const char *url = section_read_text(s, key, NULL);

    if (!url || s->r < 0)
        return NULL;
    if (path_of_url(url)[0] != '/') {
        section_fail(s, key, "must be the URL or the path of a socket, such as unix:///csi/csi.sock");
        return NULL;
    }
    return section_clean_path(s, key, path_of_url(url));
}

int csi_settings_add_sockets(struct csi_settings *s, const char *urls, struct error *err)
{
    struct str rest = str_of(urls);

    if (s->arena.used_max == 0)
        s->arena = ARENA_INIT(TEXTS_BYTES_MAX);
    while (rest.s) {
        const char *url = arena_dup(&s->arena, str_trim(str_next(&rest, ','))), *path;
        char clean[PATH_MAX];
        struct error why;

        if (!url)
            return error_no_memory(err);
        path = path_of_url(url);
        if (path[0] != '/')
            return error_set(err, ERR_INVALID,
                             "--csi-endpoint '%s': not the URL of a socket, such as unix:///csi/csi.sock",
                             url);
        if (host_clean_path(path, clean, &why) < 0)
            return error_set(err, ERR_INVALID, "--csi-endpoint '%s': %s", url, why.msg);
        if (s->sockets_count == CSI_SOCKETS_MAX)
            return error_set(err, ERR_INVALID, "--csi-endpoint: more than %d sockets", CSI_SOCKETS_MAX);
        s->sockets[s->sockets_count] = arena_dup(&s->arena, str_of(clean));
        if (!s->sockets[s->sockets_count++])
            return error_no_memory(err);
    }
    return 0;
}

/* --- Drivers --- */

/* YAML reads a plain off as false. */
static bool read_off(struct section *s, const char *key)
{
    const char *value;

    if (json_type(s->d, json_get(s->d, s->at, key)) == JSON_FALSE)
        return true;
    value = section_read_text(s, key, "auto");
    if (strcmp(value, "auto") != 0 && strcmp(value, "off") != 0)
        section_fail(s, key, "must be auto or off");
    return strcmp(value, "off") == 0;
}

static void read_driver(struct section *s, struct csi_driver_settings *d)
{
    static const char *const keys[] = { "controller",
                                        "socket",
                                        "endpoint",
                                        "timeout",
                                        "attachTimeout",
                                        "snapshotTimeout",
                                        "retryStart",
                                        "retryMax",
                                        "reconcilePeriod",
                                        "capacityPeriod",
                                        "healthPeriod",
                                        "defaultFsType",
                                        "capacityNamespace",
                                        "volumeNamePrefix",
                                        "strictTopology",
                                        "immediateTopology",
                                        "extraCreateMetadata",
                                        "extraModifyMetadata",
                                        "capacity",
                                        "capacityForImmediateBinding",
                                        "controllerPublishReadonly",
                                        "nodeDeployment",
                                        "creations",
                                        "calls",
                                        NULL };

    section_check_keys(s, keys);
    d->is_off = read_off(s, "controller");
    d->socket = read_socket(s, "socket");
    d->endpoint = read_socket(s, "endpoint");
    d->timeout_ns = section_read_duration(s, "timeout", 0);
    d->attach_timeout_ns = section_read_duration(s, "attachTimeout", 0);
    d->snapshot_timeout_ns = section_read_duration(s, "snapshotTimeout", 0);
    d->retry_ns = section_read_duration(s, "retryStart", 0);
    d->retry_ns_max = section_read_duration(s, "retryMax", 0);
    d->reconcile_ns = section_read_duration(s, "reconcilePeriod", 0);
    d->capacity_poll_ns = section_read_duration(s, "capacityPeriod", 0);
    d->health_poll_ns = section_read_duration(s, "healthPeriod", 0);
    d->default_fs_type = section_read_text(s, "defaultFsType", NULL);
    d->capacity_namespace = section_read_text(s, "capacityNamespace", NULL);
    d->name_prefix = section_read_text(s, "volumeNamePrefix", NULL);
    d->has_strict_topology = section_read_bool(s, "strictTopology", false);
    d->has_no_immediate_topology = !section_read_bool(s, "immediateTopology", true);
    d->has_extra_metadata = section_read_bool(s, "extraCreateMetadata", false);
    d->has_extra_modify_metadata = section_read_bool(s, "extraModifyMetadata", false);
    d->has_no_capacity = !section_read_bool(s, "capacity", true);
    d->has_capacity_for_immediate = section_read_bool(s, "capacityForImmediateBinding", false);
    d->has_publish_readonly = section_read_bool(s, "controllerPublishReadonly", false);
    d->is_node_deployment = section_read_bool(s, "nodeDeployment", false);
    d->creates_max = section_read_number(s, "creations", CALLS_MAX);
    d->others_max = section_read_number(s, "calls", CALLS_MAX);
}

static void read_drivers(struct section *s, struct csi_settings *ret)
{
    for (json_ref m = json_first(s->d, s->at); m && s->r == 0; m = json_next(s->d, m)) {
        struct csi_driver_settings *d = &ret->drivers[ret->drivers_count];
        const char *name = section_keep(s, json_key(s->d, m));
        struct section item;

        if (ret->drivers_count == CSI_DRIVERS_MAX)
            section_fail(s, "", "must be a map of at most 64 drivers");
        section_enter(&item, s, m, name, -1);
        if (item.r == 0)
            read_driver(&item, d);
        s->r = item.r;
        if (s->r < 0)
            return;
        d->name = name;
        ret->drivers_count++;
        if (d->endpoint)
            ret->configured[ret->configured_count++] = (struct csi_configured_driver){ name, d->endpoint };
    }
}

int csi_settings_read(const struct json *d, json_ref section, struct csi_settings *ret, struct error *err)
{
    static const char *const keys[] = { "controllers", "drivers", NULL };
    struct section s = { .d = d, .at = section, .arena = &ret->arena, .place = "csi", .err = err };
    json_ref drivers;

    ret->arena = ARENA_INIT(TEXTS_BYTES_MAX);
    if (json_type(d, section) != JSON_OBJECT)
        section_fail(&s, "", "must be a map of settings");
    section_check_keys(&s, keys);
    ret->is_off = read_off(&s, "controllers");
    drivers = json_get(d, section, "drivers");
    if (drivers && s.r == 0) {
        struct section sub;

        section_enter(&sub, &s, drivers, "drivers", -1);
        if (sub.r == 0)
            read_drivers(&sub, ret);
        s.r = sub.r;
    }
    return s.r < 0 ? s.r : arena_check(&ret->arena, err);
}

void csi_settings_done(struct csi_settings *s)
{
    arena_done(&s->arena);
}

bool csi_settings_have_sockets(const struct csi_settings *s)
{
    for (size_t i = 0; i < s->drivers_count; i++)
        if (s->drivers[i].socket)
            return true;
    return s->sockets_count > 0;
}

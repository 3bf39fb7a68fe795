/* Validation of volume sources. Paths and texts are those of the API, including its mistakes. */
#include "api/volume_source_int.h"

#include <ctype.h>
#include <strings.h>

#include "api/names.h"

#define PARTITION_MAX 255
#define QUOBYTE_TENANT_BYTES_MAX 64

/* --- Helpers --- */

static void invalid_member(struct validation *v, const struct field_path *p, const char *key, struct str text,
                           const char *detail)
{
    struct field_path at = path_child(p, key);

    errors_invalid(v->errors, &at, show_text(v->errors, text), detail);
}

static bool member_is_true(struct validation *v, json_ref object, const char *key)
{
    return json_type(v->d, json_get(v->d, object, key)) == JSON_TRUE;
}

/* A secret reference: both name and namespace are required and must be valid. */
static void validate_secret_ref(struct validation *v, const struct field_path *p, json_ref source,
                                const char *key)
{
    struct field_path at = path_child(p, key);
    json_ref ref = json_get(v->d, source, key);

    if (!ref)
        return;
    validate_required(v, &at, ref, "name", "");
    validate_optional_name(v, &at, ref, "name", NAME_DNS_SUBDOMAIN);
    validate_required(v, &at, ref, "namespace", "");
    validate_optional_name(v, &at, ref, "namespace", NAME_DNS_LABEL);
}

/* --- Sources that plugins use --- */

void validate_host_path(struct validation *v, const struct field_path *p, json_ref source)
{
    static const char *const types[] = {
        "",     "BlockDevice",  "CharDevice", "Directory", "DirectoryOrCreate",
        "File", "FileOrCreate", "Socket",     NULL,
    };
    struct field_path type = path_child(p, "type"), path = path_child(p, "path");

    if (json_get_text(v->d, source, "path").len == 0)
        return;
    validate_no_backsteps(v, &path, json_get_text(v->d, source, "path"));
    if (json_get(v->d, source, "type"))
        validate_one_of(v, &type, json_get_text(v->d, source, "type"), types);
}

void validate_local(struct validation *v, const struct field_path *p, json_ref source)
{
    struct field_path path = path_child(p, "path");

    validate_no_backsteps(v, &path, json_get_text(v->d, source, "path"));
}

void validate_nfs(struct validation *v, const struct field_path *p, json_ref source)
{
    struct str path = json_get_text(v->d, source, "path");

    if (!str_has_prefix(path, "/"))
        invalid_member(v, p, "path", path, "must be an absolute path");
}

static size_t count_while(struct str s, size_t from, int (*belongs)(int c))
{
    size_t n = 0;

    while (from + n < s.len && belongs((unsigned char)s.s[from + n]))
        n++;
    return n;
}

static int is_iqn_authority(int c)
{
    return c < 0x80 && (isalnum(c) || c == '-' || c == '.');
}

static int is_iqn_identifier(int c)
{
    return c && !strchr(",;*&$| \t\n\f\r", c);
}

/* iqn.YYYY-MM.authority:identifier */
static bool iqn_is_valid(struct str s)
{
    static const char form[] = "iqn.dddd-dd.";
    size_t at = sizeof form - 1, authority, identifier;

    if (s.len < at)
        return false;
    for (size_t i = 0; i < at; i++)
        if (form[i] == 'd' ? !isdigit((unsigned char)s.s[i]) : s.s[i] != form[i])
            return false;
    authority = count_while(s, at, is_iqn_authority);
    at += authority;
    if (authority == 0 || at == s.len || s.s[at] != ':')
        return false;
    identifier = count_while(s, at + 1, is_iqn_identifier);
    return identifier > 0 && at + 1 + identifier == s.len;
}

static bool is_prefix_and_alnums(struct str s, const char *prefix, size_t alnums)
{
    return str_has_prefix(s, prefix) && s.len == strlen(prefix) + 1 + alnums &&
           count_while(s, strlen(prefix) + 1, isalnum) == alnums;
}

bool iscsi_name_is_valid(struct str name)
{
    return iqn_is_valid(name) || is_prefix_and_alnums(name, "eui", 16) ||
           is_prefix_and_alnums(name, "naa", 32);
}

void validate_iscsi(struct validation *v, const struct field_path *p, json_ref source)
{
    struct str portal = json_get_text(v->d, source, "targetPortal"), iqn = json_get_text(v->d, source, "iqn");
    struct str name = json_get_text(v->d, json_get(v->d, v->object, "metadata"), "name");
    json_ref initiator = json_get(v->d, source, "initiatorName");
    struct field_path secret = path_child(p, "secretRef");
    json_ref ref = json_get(v->d, source, "secretRef");

    if (initiator && name.len + 1 + portal.len > ISCSI_INTERFACE_BYTES_MAX)
        invalid_member(v, p, "targetportal", portal,
                       "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if "
                       "iscsi.initiatorName is specified.");
    validate_required(v, p, source, "iqn", "");
    if (iqn.len && !iscsi_name_is_valid(iqn))
        invalid_member(v, p, "iqn", iqn, "must be valid format");
    validate_int_range(v, p, source, "lun", 0, LUN_MAX);
    if (!ref &&
        (member_is_true(v, source, "chapAuthDiscovery") || member_is_true(v, source, "chapAuthSession")))
        errors_required(v->errors, &secret, "");
    if (ref)
        validate_required(v, &secret, ref, "name", "");
    if (initiator && !iscsi_name_is_valid(json_text(v->d, initiator)))
        invalid_member(v, p, "initiatorname", json_text(v->d, initiator), "must be valid format");
}

void validate_fc(struct validation *v, const struct field_path *p, json_ref source)
{
    struct field_path at = path_child(p, "targetWWNs"), lun = path_child(p, "lun");
    json_ref wwns = json_get(v->d, source, "targetWWNs");
    bool has_wwns = json_count(v->d, wwns) > 0,
         has_wwids = json_count(v->d, json_get(v->d, source, "wwids")) > 0;

    if (!has_wwns && !has_wwids)
        errors_required(v->errors, &at, "must specify either targetWWNs or wwids, but not both");
    if (has_wwns && has_wwids)
        errors_invalid(v->errors, &at, show_value(v->errors, v->d, wwns),
                       "targetWWNs and wwids can not be specified simultaneously");
    if (has_wwns && !json_get(v->d, source, "lun"))
        errors_required(v->errors, &lun, "lun is required if targetWWNs is specified");
    else if (has_wwns)
        validate_int_range(v, p, source, "lun", 0, LUN_MAX);
}

/* True for the domain itself and its subdomains, in any case. */
static bool is_in_domain(struct str name, struct str domain)
{
    size_t from;

    if (name.len < domain.len)
        return false;
    from = name.len - domain.len;
    return strncasecmp(name.s + from, domain.s, domain.len) == 0 && (from == 0 || name.s[from - 1] == '.');
}

/* Option names with these domains are reserved: drivers get values from the API under them. */
void validate_flex(struct validation *v, const struct field_path *p, json_ref source)
{
    struct field_path options = path_child(p, "options");

    for (json_ref m = json_first(v->d, json_get(v->d, source, "options")); m; m = json_next(v->d, m)) {
        struct str key = json_key(v->d, m), rest = key, prefix = str_next(&rest, '/');
        struct field_path at = path_key(&options, key);
        if (is_in_domain(prefix, STR_LIT("kubernetes.io")) || is_in_domain(prefix, STR_LIT("k8s.io")))
            errors_invalid(v->errors, &at, show_text(v->errors, key),
                           "kubernetes.io and k8s.io namespaces are reserved");
    }
}

void validate_csi(struct validation *v, const struct field_path *p, json_ref source)
{
    static const char *const secrets[] = {
        "controllerPublishSecretRef", "controllerExpandSecretRef", "nodePublishSecretRef",
        "nodeExpandSecretRef",        "nodeStageSecretRef",
    };
    struct field_path driver = path_child(p, "driver");

    validate_name(v, &driver, NAME_CSI_DRIVER, json_get_text(v->d, source, "driver"));
    validate_required(v, p, source, "volumeHandle", "");
    for (size_t i = 0; i < ARRAY_LEN(secrets); i++)
        validate_secret_ref(v, p, source, secrets[i]);
}

/* --- Sources that Berth only stores --- */

/* 0 means no partition, although the text says otherwise. */
void validate_disk_partition(struct validation *v, const struct field_path *p, json_ref source)
{
    struct field_path at = path_child(p, "partition");
    json_ref partition = json_get(v->d, source, "partition");
    int64_t number;

    if (json_int64(v->d, partition, &number) && (number < 0 || number > PARTITION_MAX))
        errors_invalid(v->errors, &at, show_value(v->errors, v->d, partition),
                       "must be between 1 and 255, inclusive");
}

void validate_glusterfs(struct validation *v, const struct field_path *p, json_ref source)
{
    struct field_path at = path_child(p, "endpointsNamespace");
    json_ref ns = json_get(v->d, source, "endpointsNamespace");

    if (ns && json_text(v->d, ns).len == 0)
        invalid_member(v, p, "endpointsNamespace", STR_LIT(""),
                       "if the endpointnamespace is set, it must be a valid namespace name");
    else if (ns)
        validate_name(v, &at, NAME_DNS_LABEL, json_text(v->d, ns));
}

void validate_flocker(struct validation *v, const struct field_path *p, json_ref source)
{
    struct str name = json_get_text(v->d, source, "datasetName"),
               uuid = json_get_text(v->d, source, "datasetUUID");

    if (!name.len && !uuid.len)
        errors_required(v->errors, p, "one of datasetName and datasetUUID is required");
    if (name.len && uuid.len)
        errors_invalid(v->errors, p, show_text(v->errors, STR_LIT("resource")),
                       "datasetName and datasetUUID can not be specified simultaneously");
    if (name.len && memchr(name.s, '/', name.len))
        invalid_member(v, p, "datasetName", name, "must not contain '/'");
}

/* True if s contains one of the characters. */
static bool str_has_any(struct str s, const char *chars)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.s[i] && strchr(chars, s.s[i]))
            return true;
    return false;
}

bool host_port_is_valid(struct str text)
{
    struct str rest = text, host;

    if (str_has_prefix(text, "[")) {
        host = str_next(&rest, ']');
        host = (struct str){ host.s + 1, host.len - 1 };
        return rest.s && str_has_prefix(rest, ":") && !str_has_any(host, "[") &&
               !str_has_any((struct str){ rest.s + 1, rest.len - 1 }, ":[]");
    }
    host = str_next(&rest, ':');
    return rest.s && !str_has_any(host, "[]") && !str_has_any(rest, ":[]");
}

void validate_quobyte(struct validation *v, const struct field_path *p, json_ref source)
{
    static const char pairs[] = "must be a host:port pair or multiple pairs separated by commas";
    struct field_path tenant = path_child(p, "tenant");
    struct str registry = json_get_text(v->d, source, "registry"), rest = registry;
    bool ok = true;

    if (registry.len == 0) {
        validate_required(v, p, source, "registry", pairs);
    } else if (json_get_text(v->d, source, "tenant").len > QUOBYTE_TENANT_BYTES_MAX) {
        errors_required(v->errors, &tenant, "must be a UUID and may not exceed a length of 64 characters");
    } else {
        while (rest.s && ok)
            ok = host_port_is_valid(str_next(&rest, ','));
        if (!ok)
            invalid_member(v, p, "registry", registry, pairs);
    }
    validate_required(v, p, source, "volume", "");
}

/* Both parts of a reference are required; their contents are not checked. */
static void require_secret_ref(struct validation *v, const struct field_path *p, json_ref source)
{
    struct field_path at = path_child(p, "secretRef");
    json_ref ref = json_get(v->d, source, "secretRef");

    if (!ref)
        return;
    validate_required(v, &at, ref, "name", "");
    validate_required(v, &at, ref, "namespace", "");
}

void validate_cinder(struct validation *v, const struct field_path *p, json_ref source)
{
    require_secret_ref(v, p, source);
}

void validate_azure_file(struct validation *v, const struct field_path *p, json_ref source)
{
    if (json_get(v->d, source, "secretNamespace"))
        validate_required(v, p, source, "secretNamespace", "");
}

void validate_azure_disk(struct validation *v, const struct field_path *p, json_ref source)
{
    static const char *const caching_modes[] = { "None", "ReadOnly", "ReadWrite", NULL };
    static const char *const kinds[] = { "Dedicated", "Managed", "Shared", NULL };
    static const char *const managed_uris[] = {
        "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}",
        NULL,
    };
    static const char *const blob_uris[] = {
        "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd",
        NULL,
    };
    struct field_path caching = path_child(p, "cachingMode"), kind_at = path_child(p, "kind"),
                      uri_at = path_child(p, "diskURI");
    struct str kind = json_get_text(v->d, source, "kind"), uri = json_get_text(v->d, source, "diskURI");
    bool is_managed = str_is(kind, "Managed");

    if (json_get(v->d, source, "cachingMode"))
        validate_one_of(v, &caching, json_get_text(v->d, source, "cachingMode"), caching_modes);
    if (!json_get(v->d, source, "kind"))
        return;
    validate_one_of(v, &kind_at, kind, kinds);
    if (!str_has_prefix(uri, is_managed ? "/subscriptions/" : "https://"))
        errors_not_supported(v->errors, &uri_at, show_text(v->errors, uri),
                             is_managed ? managed_uris : blob_uris);
}

void validate_storage_os(struct validation *v, const struct field_path *p, json_ref source)
{
    static const char *const labels[] = { "volumeName", "volumeNamespace" };

    validate_required(v, p, source, "volumeName", "");
    for (size_t i = 0; i < ARRAY_LEN(labels); i++)
        validate_optional_name(v, p, source, labels[i], NAME_DNS_LABEL);
    require_secret_ref(v, p, source);
}

/* --- The one source --- */

static void validate_source_rules(struct validation *v, const struct field_path *p, json_ref source,
                                  const struct volume_source_info *info)
{
    struct field_path at = path_child(p, info->rules_path ? info->rules_path : info->name);

    for (const char *const *key = info->required; key && *key; key++)
        validate_required(v, &at, source, *key, "");
    if (info->validate)
        info->validate(v, &at, source);
}

enum volume_source_kind validate_volume_source(struct validation *v, const struct field_path *p,
                                               json_ref spec)
{
    enum volume_source_kind first = volume_source_of(v->d, spec);

    if (first == SOURCE_NONE) {
        errors_required(v->errors, p, "must specify a volume type");
        return first;
    }
    validate_source_rules(v, p, json_get(v->d, spec, volume_sources[first].name), &volume_sources[first]);
    for (int kind = (int)first + 1; kind < SOURCE_COUNT; kind++) {
        const struct volume_source_info *info = &volume_sources[kind];
        struct field_path at = path_child(p, info->extra_path ? info->extra_path : info->name);
        if (json_get(v->d, spec, info->name))
            errors_forbidden(v->errors, &at, "may not specify more than 1 volume type");
    }
    return first;
}

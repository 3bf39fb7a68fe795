/* Parses the output of a FlexVolume driver. Strict: one JSON object with known types, or the response is
 * invalid. */
#include "plugins/flex/driver.h"

#include <assert.h>
#include <strings.h>

#include "api/json.h"
#include "base/cleanup.h"

const char *const flex_command_names[] = {
    [FLEX_INIT] = "init",
    [FLEX_GET_VOLUME_NAME] = "getvolumename",
    [FLEX_ATTACH] = "attach",
    [FLEX_DETACH] = "detach",
    [FLEX_WAIT_FOR_ATTACH] = "waitforattach",
    [FLEX_IS_ATTACHED] = "isattached",
    [FLEX_MOUNT_DEVICE] = "mountdevice",
    [FLEX_UNMOUNT_DEVICE] = "unmountdevice",
    [FLEX_MOUNT] = "mount",
    [FLEX_UNMOUNT] = "unmount",
    [FLEX_EXPAND_VOLUME] = "expandvolume",
    [FLEX_EXPAND_FS] = "expandfs",
};
static_assert(ARRAY_LEN(flex_command_names) == FLEX_COMMAND_COUNT, "name every command");

#define STATUS_SUCCESS "Success"
#define STATUS_UNSUPPORTED "Not supported"
/* An extension of Berth: kubelets ignore it. */
#define LIMIT "maxVolumesPerNode"

enum answer_type { ANSWER_TEXT, ANSWER_BOOL, ANSWER_INT, ANSWER_OBJECT };

enum { PLACE_STATUS, PLACE_MESSAGE, PLACE_DEVICE, PLACE_ATTACHED, PLACE_CAPABILITIES, PLACE_COUNT };

/* Fields without a place are type-checked and then ignored. */
static const struct {
    const char *key;
    enum answer_type type;
    int place; /* PLACE_COUNT for none */
} fields[] = {
    { "status", ANSWER_TEXT, PLACE_STATUS },
    { "message", ANSWER_TEXT, PLACE_MESSAGE },
    { "device", ANSWER_TEXT, PLACE_DEVICE },
    { "attached", ANSWER_BOOL, PLACE_ATTACHED },
    { "volumeName", ANSWER_TEXT, PLACE_COUNT },
    { "volumeNewSize", ANSWER_INT, PLACE_COUNT },
    { "capabilities", ANSWER_OBJECT, PLACE_CAPABILITIES },
};

static bool key_is(struct str key, const char *name)
{
    return key.len == strlen(name) && strncasecmp(key.s, name, key.len) == 0;
}

static bool has_type(const struct json *d, json_ref v, enum answer_type type)
{
    enum json_type is = json_type(d, v);
    int64_t number;

    switch (type) {
    case ANSWER_TEXT:
        return is == JSON_STRING;
    case ANSWER_BOOL:
        return is == JSON_TRUE || is == JSON_FALSE;
    case ANSWER_INT:
        return json_int64(d, v, &number);
    case ANSWER_OBJECT:
        return is == JSON_OBJECT;
    }
    return false;
}

static int wrong_type(const struct json *d, json_ref v, const char *key, struct error *err)
{
    return error_set(err, ERR_BAD_REQUEST, "invalid type %s for field %s", json_type_name(json_type(d, v)),
                     key);
}

/* Of keys that differ only in case the last one counts; null is ignored. */
static int find_fields(const struct json *d, json_ref root, json_ref found[PLACE_COUNT + 1],
                       struct error *err)
{
    for (json_ref m = json_first(d, root); m; m = json_next(d, m)) {
        for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
            if (!key_is(json_key(d, m), fields[i].key) || json_type(d, m) == JSON_NULL)
                continue;
            if (!has_type(d, m, fields[i].type))
                return wrong_type(d, m, fields[i].key, err);
            found[fields[i].place] = m;
        }
    }
    return 0;
}

static int read_capabilities(const struct json *d, json_ref object, struct flex_capabilities *ret,
                             struct error *err)
{
    struct flex_capabilities can = FLEX_CAPABILITIES_DEFAULT;
    const struct {
        const char *key;
        bool *value;
    } known[] = {
        { "attach", &can.attaches },
        { "selinuxRelabel", &can.relabels },
        { "supportsMetrics", &can.has_metrics },
        { "fsGroup", &can.sets_group },
        { "requiresFSResize", &can.needs_fs_resize },
    };

    int64_t limit;

    for (json_ref m = json_first(d, object); m; m = json_next(d, m)) {
        for (size_t i = 0; i < ARRAY_LEN(known); i++) {
            if (!key_is(json_key(d, m), known[i].key) || json_type(d, m) == JSON_NULL)
                continue;
            if (!has_type(d, m, ANSWER_BOOL))
                return wrong_type(d, m, known[i].key, err);
            *known[i].value = json_type(d, m) == JSON_TRUE;
        }
        if (!key_is(json_key(d, m), LIMIT) || json_type(d, m) == JSON_NULL)
            continue;
        if (!json_int64(d, m, &limit) || limit < 0 || limit > INT32_MAX)
            return error_set(err, ERR_BAD_REQUEST, "field " LIMIT " is not a valid number of volumes");
        can.volumes_max = (uint32_t)limit;
    }
    *ret = can;
    return 0;
}

/* The path is used in system calls and commands: no NUL, and not too long. */
static int read_device(struct str device, char ret[PATH_MAX], struct error *err)
{
    if (device.len >= PATH_MAX || memchr(device.s, '\0', device.len))
        return error_set(err, ERR_BAD_REQUEST, "field device is not a path");
    memcpy(ret, device.s, device.len);
    ret[device.len] = '\0';
    return 0;
}

static int read_tree(enum flex_command command, const struct json *d, json_ref root, struct flex_answer *ret,
                     struct error *err)
{
    json_ref found[PLACE_COUNT + 1] = { 0 };
    struct flex_answer answer = { .can = FLEX_CAPABILITIES_DEFAULT };
    struct str device, status, reason;
    int r;

    if (json_type(d, root) != JSON_OBJECT)
        return wrong_type(d, root, "answer", err);
    r = find_fields(d, root, found, err);
    if (r < 0)
        return r;
    r = read_capabilities(d, found[PLACE_CAPABILITIES], &answer.can, err);
    if (r < 0)
        return r;
    device = json_text(d, found[PLACE_DEVICE]);
    r = found[PLACE_DEVICE] ? read_device(device, answer.device, err) : 0;
    if (r < 0)
        return r;
    answer.is_attached = json_type(d, found[PLACE_ATTACHED]) == JSON_TRUE;
    status = json_text(d, found[PLACE_STATUS]);
    reason = json_text(d, found[PLACE_MESSAGE]);
    if (!str_is(status, STATUS_SUCCESS))
        return error_set(err, str_is(status, STATUS_UNSUPPORTED) ? ERR_UNSUPPORTED : ERR_IO,
                         "%s command failed, status: %.*s, reason: %.*s", flex_command_names[command],
                         STR_ARG(status), STR_ARG(reason));
    *ret = answer;
    return 0;
}

int flex_answer_read(enum flex_command command, struct str text, struct flex_answer *ret, struct error *err)
{
    _cleanup_(json_done_p) struct json d;
    json_ref root;
    int r;

    json_init(&d, FLEX_ANSWER_BYTES_MAX);
    r = json_parse(&d, text, &root, err);
    if (r == 0)
        r = read_tree(command, &d, root, ret, err);
    if (r == -ERR_UNSUPPORTED || r == -ERR_IO || r == 0)
        return r;
    return error_wrap(err, "%s command: invalid response of driver", flex_command_names[command]);
}

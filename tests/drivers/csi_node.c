/* The node service of the driver. */
#include "csi_driver.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

static const char *call_volume_dir(const struct call *c)
{
    char name[600];

    (void)snprintf(name, sizeof name, "volumes/%s", c->volume);
    (void)mkdir(state_path("volumes"), 0755);
    (void)mkdir(state_path(name), 0755);
    return state_path(name);
}

static bool node_can(unsigned capability)
{
    char text[LINE_BYTES];
    const char *at = state_setting("capabilities", "1 2 3", text);

    for (char *end; *at; at = end) {
        if (strtoul(at, &end, 10) == capability && end > at)
            return true;
        end += *end == ' ';
        if (end == at)
            return false;
    }
    return false;
}

static bool is_mounted(const char *path)
{
    struct statx st;

    return statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &st) == 0 &&
           (st.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

static void bind_to(struct call *c, const char *from, const char *to, bool is_read_only)
{
    if (mount(from, to, NULL, MS_BIND, NULL) < 0 ||
        (is_read_only && mount(NULL, to, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL) < 0))
        call_fail(c, 13, strerror(errno));
}

/* The device of a volume on a loop file, with a file system where it is asked for. */
static void mount_disk(struct call *c, const char *to, bool is_block)
{
    if (!disk_attach(c->volume) || (!is_block && !disk_format(c->volume)))
        call_fail(c, 13, "the disk cannot be prepared");
    else if (!is_block && !is_mounted(to) && mount(disk_device(c->volume), to, "ext4", 0, NULL) < 0)
        call_fail(c, 13, strerror(errno));
}

void node_do_stage(struct call *c)
{
    Csi__V1__NodeStageVolumeRequest *m = call_unpack(c, &csi__v1__node_stage_volume_request__descriptor);
    bool is_block = call_show_capability(c, m->volume_capability);

    call_show(c, "staging", m->staging_target_path);
    call_show_pairs(c, "publish_context", m->publish_context, m->n_publish_context);
    call_show_pairs(c, "volume_context", m->volume_context, m->n_volume_context);
    call_show_secrets(c, m->secrets, m->n_secrets);
    controller_check_use(c);
    if (disk_is_used())
        mount_disk(c, m->staging_target_path, is_block);
    else if (!is_block && !is_mounted(m->staging_target_path))
        bind_to(c, call_volume_dir(c), m->staging_target_path, false);
    if (c->code == 0 && !state_has("staged", c->volume, m->staging_target_path))
        state_add("staged", c->volume, m->staging_target_path);
    protobuf_c_message_free_unpacked(&m->base, NULL);
}

void node_do_unstage(struct call *c)
{
    Csi__V1__NodeUnstageVolumeRequest *m = call_unpack(c, &csi__v1__node_unstage_volume_request__descriptor);

    call_show(c, "staging", m->staging_target_path);
    if (state_has("published", c->volume, NULL))
        state_violate("unstaged while published", c->volume);
    (void)umount2(m->staging_target_path, UMOUNT_NOFOLLOW); /* nothing there is done */
    if (disk_is_used())
        disk_detach(c->volume);
    state_drop("staged", c->volume, m->staging_target_path);
    protobuf_c_message_free_unpacked(&m->base, NULL);
}

static void publish(struct call *c, const Csi__V1__NodePublishVolumeRequest *m, bool is_block)
{
    char from[LINE_BYTES];
    int fd;

    (void)snprintf(from, sizeof from, "%s", disk_is_used() ? disk_device(c->volume) : call_volume_dir(c));
    controller_check_use(c);
    if (node_can(1) && m->staging_target_path[0] && !state_has("staged", c->volume, NULL))
        state_violate("published without being staged", c->volume);
    if (state_has("published", c->volume, m->target_path))
        return;
    if (is_block) {
        fd = open(m->target_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        if (fd >= 0)
            (void)close(fd);
    } else if (mkdir(m->target_path, 0750) < 0 && errno != EEXIST) {
        call_fail(c, 13, strerror(errno));
    }
    if (c->code == 0)
        bind_to(c, node_can(1) && !is_block && m->staging_target_path[0] ? m->staging_target_path : from,
                m->target_path, m->readonly && !is_block);
    if (c->code == 0)
        state_add("published", c->volume, m->target_path);
}

void node_do_publish(struct call *c)
{
    Csi__V1__NodePublishVolumeRequest *m = call_unpack(c, &csi__v1__node_publish_volume_request__descriptor);
    bool is_block = call_show_capability(c, m->volume_capability);

    call_show(c, "staging", m->staging_target_path);
    call_show(c, "target", m->target_path);
    call_show(c, "readonly", m->readonly ? "true" : "false");
    call_show_pairs(c, "publish_context", m->publish_context, m->n_publish_context);
    call_show_pairs(c, "volume_context", m->volume_context, m->n_volume_context);
    call_show_secrets(c, m->secrets, m->n_secrets);
    publish(c, m, is_block);
    protobuf_c_message_free_unpacked(&m->base, NULL);
}

void node_do_unpublish(struct call *c)
{
    Csi__V1__NodeUnpublishVolumeRequest *m =
        call_unpack(c, &csi__v1__node_unpublish_volume_request__descriptor);

    call_show(c, "target", m->target_path);
    (void)umount2(m->target_path, UMOUNT_NOFOLLOW); /* nothing there is done */
    if (rmdir(m->target_path) < 0 && errno == ENOTDIR)
        (void)unlink(m->target_path);
    state_drop("published", c->volume, m->target_path);
    protobuf_c_message_free_unpacked(&m->base, NULL);
}

void node_do_stats(struct call *c)
{
    Csi__V1__NodeGetVolumeStatsRequest *m =
        call_unpack(c, &csi__v1__node_get_volume_stats_request__descriptor);
    Csi__V1__NodeGetVolumeStatsResponse all = CSI__V1__NODE_GET_VOLUME_STATS_RESPONSE__INIT;
    Csi__V1__VolumeUsage bytes = CSI__V1__VOLUME_USAGE__INIT, inodes = CSI__V1__VOLUME_USAGE__INIT;
    Csi__V1__VolumeUsage *usage[] = { &bytes, &inodes };

    call_show(c, "path", m->volume_path);
    bytes.unit = CSI__V1__VOLUME_USAGE__UNIT__BYTES;
    bytes.total = 1000;
    bytes.used = 300;
    bytes.available = 700;
    inodes.unit = CSI__V1__VOLUME_USAGE__UNIT__INODES;
    inodes.total = 10;
    inodes.used = 3;
    inodes.available = 7;
    all.usage = usage;
    all.n_usage = access(state_path("no-usage"), F_OK) == 0 ? 0 : ARRAY_LEN(usage);
    call_answer(c, &all.base);
    protobuf_c_message_free_unpacked(&m->base, NULL);
}

void node_do_expand(struct call *c)
{
    Csi__V1__NodeExpandVolumeRequest *m = call_unpack(c, &csi__v1__node_expand_volume_request__descriptor);
    Csi__V1__NodeExpandVolumeResponse out = CSI__V1__NODE_EXPAND_VOLUME_RESPONSE__INIT;
    bool is_block;

    call_show(c, "path", m->volume_path);
    call_show(c, "staging", m->staging_target_path);
    is_block = call_show_capability(c, m->volume_capability);
    buf_addf(&c->shown, "required=%" PRId64 "\n", m->capacity_range ? m->capacity_range->required_bytes : -1);
    call_show_secrets(c, m->secrets, m->n_secrets);
    out.capacity_bytes = m->capacity_range ? m->capacity_range->required_bytes : 0;
    if (disk_is_used() && !disk_grow(c->volume, !is_block))
        call_fail(c, 13, "the disk cannot be expanded");
    else
        call_answer(c, &out.base);
    protobuf_c_message_free_unpacked(&m->base, NULL);
}

void node_do_capabilities(struct call *c)
{
    Csi__V1__NodeGetCapabilitiesResponse all = CSI__V1__NODE_GET_CAPABILITIES_RESPONSE__INIT;
    Csi__V1__NodeServiceCapability items[8];
    Csi__V1__NodeServiceCapability__RPC rpcs[8];
    Csi__V1__NodeServiceCapability *list[8];

    for (unsigned i = 1; i < ARRAY_LEN(items); i++) {
        if (!node_can(i))
            continue;
        csi__v1__node_service_capability__init(&items[i]);
        csi__v1__node_service_capability__rpc__init(&rpcs[i]);
        rpcs[i].type = (Csi__V1__NodeServiceCapability__RPC__Type)i;
        items[i].type_case = CSI__V1__NODE_SERVICE_CAPABILITY__TYPE_RPC;
        items[i].rpc = &rpcs[i];
        list[all.n_capabilities++] = &items[i];
    }
    all.capabilities = list;
    call_answer(c, &all.base);
}

void node_do_info(struct call *c)
{
    Csi__V1__NodeGetInfoResponse out = CSI__V1__NODE_GET_INFO_RESPONSE__INIT;
    Csi__V1__Topology topology = CSI__V1__TOPOLOGY__INIT;
    Csi__V1__Pair pairs[8];
    Csi__V1__Pair *list[8];
    char text[LINE_BYTES];
    char *at = NULL, *word;

    (void)state_setting("node-info", "node-1 0", text);
    at = text;
    for (unsigned i = 0; (word = strsep(&at, " ")); i++) {
        char *equals = strchr(word, '=');
        if (i == 0) {
            out.node_id = word;
        } else if (i == 1) {
            out.max_volumes_per_node = strtoll(word, NULL, 10);
        } else if (equals && topology.n_segments < ARRAY_LEN(pairs)) {
            Csi__V1__Pair *p = &pairs[topology.n_segments];
            csi__v1__pair__init(p);
            *equals = '\0';
            p->key = word;
            p->value = equals + 1;
            list[topology.n_segments++] = p;
        }
    }
    topology.segments = list;
    if (topology.n_segments)
        out.accessible_topology = &topology;
    call_answer(c, &out.base);
}

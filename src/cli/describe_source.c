/* Describes the storage of a volume with a table: the sources that Berth mounts, and those that kubectl
 * describes. Other sources are shown with the names of their members. */
#include "cli/describe.h"

#include <stdio.h>

struct source_field {
    const char *label;
    const char *member;
    const char *fallback;
};

struct source {
    const char *member;
    const char *title;
    struct source_field fields[6];
    const char *pairs; /* a map, shown as Label: a=1 b=2; NULL for none */
    const char *pairs_label;
};

static const struct source sources[] = {
    { "hostPath",
      "HostPath (bare host directory volume)",
      { { "Path", "path", "" }, { "HostPathType", "type", "" } },
      NULL,
      NULL },
    { "nfs",
      "NFS (an NFS mount that lasts the lifetime of a pod)",
      { { "Server", "server", "" }, { "Path", "path", "" }, { "ReadOnly", "readOnly", "false" } },
      NULL,
      NULL },
    { "local",
      "LocalVolume (a persistent volume backed by local storage on a node)",
      { { "Path", "path", "" } },
      NULL,
      NULL },
    { "csi",
      "CSI (a Container Storage Interface (CSI) volume source)",
      { { "Driver", "driver", "" },
        { "FSType", "fsType", "" },
        { "VolumeHandle", "volumeHandle", "" },
        { "ReadOnly", "readOnly", "false" } },
      "volumeAttributes",
      "VolumeAttributes" },
    { "flexVolume",
      "FlexVolume (served by a program on the node)",
      { { "Driver", "driver", "" }, { "FSType", "fsType", "" }, { "ReadOnly", "readOnly", "false" } },
      "options",
      "Options" },
    { "emptyDir",
      "EmptyDir (a temporary directory that shares a pod's lifetime)",
      { { "Medium", "medium", "" }, { "SizeLimit", "sizeLimit", "<unset>" } },
      NULL,
      NULL },
    { "secret",
      "Secret (a volume populated by a Secret)",
      { { "SecretName", "secretName", "" }, { "Optional", "optional", "false" } },
      NULL,
      NULL },
    { "configMap",
      "ConfigMap (a volume populated by a ConfigMap)",
      { { "Name", "name", "" }, { "Optional", "optional", "false" } },
      NULL,
      NULL },
    { "persistentVolumeClaim",
      "PersistentVolumeClaim (a reference to a PersistentVolumeClaim in the same namespace)",
      { { "ClaimName", "claimName", "" }, { "ReadOnly", "readOnly", "false" } },
      NULL,
      NULL },
};

static void add_pairs(struct describe *page, json_ref map, const char *name, const char *indent)
{
    char label[64];

    if (!json_first(&page->doc, map)) {
        (void)snprintf(label, sizeof label, "%s%s:", indent, name);
        describe_cstr(page, label, "<none>");
        return;
    }
    for (json_ref m = json_first(&page->doc, map); m; m = json_next(&page->doc, m)) {
        if (m == json_first(&page->doc, map))
            buf_addf(&page->out.text, "%s%s:", indent, name);
        columns_put(&page->out, "\t    %=%\n", json_key(&page->doc, m), json_text(&page->doc, m));
    }
}

static void add_source(struct describe *page, const struct source *s, json_ref source, const char *indent)
{
    char label[64];

    describe_line(page, "%sType:\t%s", indent, s->title);
    for (const struct source_field *f = s->fields; f->label; f++) {
        (void)snprintf(label, sizeof label, "%s%s:", indent, f->label);
        describe_member(page, label, source, f->member, f->fallback);
    }
    if (s->pairs)
        add_pairs(page, json_get(&page->doc, source, s->pairs), s->pairs_label, indent);
}

/* A source that is not in the table: the first member that is an object and not common to all volumes. */
static void add_plain(struct describe *page, json_ref source, const char *indent)
{
    buf_addf(&page->out.text, "%sType:", indent);
    columns_put(&page->out, "\t%\n", json_key(&page->doc, source));
    for (json_ref m = json_first(&page->doc, source); m; m = json_next(&page->doc, m)) {
        _cleanup_(buf_done_p) struct buf value = BUF_INIT(1 << 20);

        if (json_type(&page->doc, m) == JSON_STRING)
            buf_add_str(&value, json_text(&page->doc, m));
        else
            json_write(&page->doc, m, &value);
        buf_add_cstr(&page->out.text, indent);
        columns_put(&page->out, "%:\t%\n", json_key(&page->doc, m), buf_str(&value));
    }
}

void describe_source(struct describe *page, json_ref spec, const char *indent)
{
    static const char *const others[] = { "capacity", "claimRef", "nodeAffinity" };

    for (size_t i = 0; i < ARRAY_LEN(sources); i++) {
        json_ref source = json_get(&page->doc, spec, sources[i].member);

        if (source) {
            add_source(page, &sources[i], source, indent);
            return;
        }
    }
    for (json_ref m = json_first(&page->doc, spec); m; m = json_next(&page->doc, m))
        if (json_type(&page->doc, m) == JSON_OBJECT &&
            name_index(json_key(&page->doc, m), others, (int)ARRAY_LEN(others), -1) < 0) {
            add_plain(page, m, indent);
            return;
        }
}

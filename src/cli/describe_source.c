/* Where the data of a volume are, by table: the sources that Berth mounts, and those that kubectl has words
 * for. Of another source the members are shown as they are called. */
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

static void add_pairs(struct describe *x, json_ref map, const char *name, const char *indent)
{
    char label[64];

    if (!json_first(&x->doc, map)) {
        (void)snprintf(label, sizeof label, "%s%s:", indent, name);
        describe_cstr(x, label, "<none>");
        return;
    }
    for (json_ref m = json_first(&x->doc, map); m; m = json_next(&x->doc, m)) {
        if (m == json_first(&x->doc, map))
            buf_addf(&x->out.text, "%s%s:", indent, name);
        buf_add_cstr(&x->out.text, "\t    ");
        columns_add_cell(&x->out, json_key(&x->doc, m));
        buf_add_char(&x->out.text, '=');
        columns_add_cell(&x->out, json_text(&x->doc, m));
        buf_add_char(&x->out.text, '\n');
    }
}

static void add_source(struct describe *x, const struct source *s, json_ref source, const char *indent)
{
    char label[64];

    describe_line(x, "%sType:\t%s", indent, s->title);
    for (const struct source_field *f = s->fields; f->label; f++) {
        (void)snprintf(label, sizeof label, "%s%s:", indent, f->label);
        describe_member(x, label, source, f->member, f->fallback);
    }
    if (s->pairs)
        add_pairs(x, json_get(&x->doc, source, s->pairs), s->pairs_label, indent);
}

/* A source that there are no words for: the first member that is an object and no part of every volume. */
static void add_plain(struct describe *x, json_ref source, const char *indent)
{
    buf_addf(&x->out.text, "%sType:\t", indent);
    columns_add_cell(&x->out, json_key(&x->doc, source));
    buf_add_char(&x->out.text, '\n');
    for (json_ref m = json_first(&x->doc, source); m; m = json_next(&x->doc, m)) {
        _cleanup_(buf_done_p) struct buf value = BUF_INIT(1 << 20);

        if (json_type(&x->doc, m) == JSON_STRING)
            buf_add_str(&value, json_text(&x->doc, m));
        else
            json_write(&x->doc, m, &value);
        buf_add_cstr(&x->out.text, indent);
        columns_add_cell(&x->out, json_key(&x->doc, m));
        describe_text(x, ":", buf_str(&value));
    }
}

static bool is_source(const struct json *d, json_ref member)
{
    static const char *const others[] = { "capacity", "claimRef", "nodeAffinity" };

    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        if (str_is(json_key(d, member), others[i]))
            return false;
    return json_type(d, member) == JSON_OBJECT;
}

void describe_source(struct describe *x, json_ref spec, const char *indent)
{
    for (size_t i = 0; i < ARRAY_LEN(sources); i++) {
        json_ref source = json_get(&x->doc, spec, sources[i].member);

        if (source) {
            add_source(x, &sources[i], source, indent);
            return;
        }
    }
    for (json_ref m = json_first(&x->doc, spec); m; m = json_next(&x->doc, m))
        if (is_source(&x->doc, m)) {
            add_plain(x, m, indent);
            return;
        }
}

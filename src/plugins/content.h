/* The files of volumes that show objects: configMap, secret, downwardAPI, projected. Pure.
 *
 * The node asks what a volume needs, fetches it and passes it to set_up() as struct volume_content. The files
 * are built from that, the pod and the node, all or none. Bytes are borrowed from the objects. Errors name
 * keys and objects and never contain a value. */
#ifndef BERTH_PLUGINS_CONTENT_H
#define BERTH_PLUGINS_CONTENT_H

#include "base/arena.h"
#include "host/atomic_files.h"
#include "plugins/plugin.h"

/* Of all files of a volume together. Items may show one key many times, so that a small pod could fill a
 * disk. */
#define CONTENT_BYTES_MAX ((size_t)256 << 20)

struct content_need {
    uint8_t projection;         /* enum pod_projection_type: SECRET, CONFIG_MAP or TOKEN */
    uint32_t index;             /* of the projection in its volume; 0 for a volume with one */
    const char *name;           /* of the object in the pod's namespace, or of the service account */
    bool is_optional;           /* the object may be missing */
    const char *audience;       /* of a token; "": the server's default */
    int64_t expiration_seconds; /* of a token */
};

/* Calls fn for each object and token that the volume shows, in order. A nonzero result of fn ends the walk
 * and is returned. Other volume types need nothing. */
int content_needs(const struct volume_spec *s, const struct pod *pod,
                  int (*fn)(void *ctx, const struct content_need *n), void *ctx);

/* The files, in a and in q's objects. Failures of several sources or items are combined: "[a, b]". */
int content_build(struct arena *a, const struct set_up_request *q, struct atomic_files *ret,
                  struct error *err);

/* --- The downward API, file by file (downward.c) --- */

enum downward_map { DOWNWARD_LABELS, DOWNWARD_ANNOTATIONS, DOWNWARD_MAP_COUNT };

struct downward {
    struct arena *arena; /* for the values */
    const struct pod *pod;
    const struct node *node; /* NULL: not known yet */
    struct json text;        /* the pod's JSON, parsed on first use */
    json_ref root;
    struct str maps[DOWNWARD_MAP_COUNT]; /* whole maps, written on first use */
};

void downward_init(struct downward *w, struct arena *a, const struct pod *pod, const struct node *node);
void downward_done(struct downward *w);

/* The content of a file. */
int downward_value(struct downward *w, const struct pod_downward_item *item, struct str *ret,
                   struct error *err);

#endif

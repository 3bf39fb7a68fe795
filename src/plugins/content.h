/* The files of volumes that show objects: configMap, secret, downwardAPI, projected. Pure.
 *
 * The node asks what a volume needs, fetches it, and hands it over with the call that sets the volume up:
 * struct volume_content. From that, the pod and the node the files are built here, all or none. Bytes are
 * borrowed from the objects. Errors name keys and objects and never show a value. */
#ifndef BERTH_PLUGINS_CONTENT_H
#define BERTH_PLUGINS_CONTENT_H

#include "base/arena.h"
#include "host/atomic_files.h"
#include "plugins/plugin.h"

/* Of all files of a volume together. An item may show a key again and again, so that a small pod could ask
 * for a full disk. */
#define CONTENT_BYTES_MAX ((size_t)256 << 20)

struct content_need {
    uint8_t projection;         /* enum pod_projection_type: SECRET, CONFIG_MAP or TOKEN */
    uint32_t index;             /* of the projection in its volume; 0 for a volume with one */
    const char *name;           /* of the object in the pod's namespace, or of the service account */
    bool is_optional;           /* the object may be missing */
    const char *audience;       /* of a token; "" for the server's own */
    int64_t expiration_seconds; /* of a token */
};

/* Calls fn with each object and token that the volume shows, in order. fn returns nonzero to end, and that is
 * the result. Volumes of other kinds need nothing. */
int content_needs(const struct volume_spec *s, const struct pod *pod,
                  int (*fn)(void *ctx, const struct content_need *n), void *ctx);

/* The files, in a and in q's objects. Failures of several sources or items come together: "[a, b]". */
int content_build(struct arena *a, const struct set_up_request *q, struct atomic_files *ret,
                  struct error *err);

/* --- The downward API, one file after the other (downward.c) --- */

enum downward_map { DOWNWARD_LABELS, DOWNWARD_ANNOTATIONS, DOWNWARD_MAP_COUNT };

struct downward {
    struct arena *arena; /* of the values */
    const struct pod *pod;
    const struct node *node; /* NULL when it is not known yet */
    struct json text;        /* the pod's, once somebody asks for more than the view has */
    json_ref root;
    struct str maps[DOWNWARD_MAP_COUNT]; /* those asked for as a whole */
};

void downward_init(struct downward *w, struct arena *a, const struct pod *pod, const struct node *node);
void downward_done(struct downward *w);

/* What the file holds. */
int downward_value(struct downward *w, const struct pod_downward_item *item, struct str *ret,
                   struct error *err);

#endif

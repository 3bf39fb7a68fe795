/* Which Kubernetes a server is, from what it says at /version, and what may be expected of it. */
#ifndef BERTH_MACHINERY_SERVER_VERSION_H
#define BERTH_MACHINERY_SERVER_VERSION_H

#include <stdbool.h>

#include "base/error.h"
#include "base/str.h"

/* The Kubernetes whose behaviour our server has, and our nodes: clients compare it with theirs. */
#define KUBERNETES_MAJOR "1"
#define KUBERNETES_MINOR "36"
/* The oldest minor version that it is compatible with: the one before, as a stock server says. */
#define KUBERNETES_MINOR_COMPATIBLE "35"
#define KUBERNETES_RELEASE "v" KUBERNETES_MAJOR "." KUBERNETES_MINOR ".4"
/* What /version and nodes show, with our own version behind it. */
#define KUBERNETES_VERSION KUBERNETES_RELEASE BERTH_MARK
#define BERTH_MARK "+berth."

/* Zeroed: not known. Nothing is expected of such a server. */
struct server_version {
    int major;
    int minor;
    bool is_berth;
};

/* Ours. */
struct server_version server_version_own(void);

/* Providers write "34+" for 34. ERR_BAD_REQUEST for a text that is no version. */
int server_version_read(struct str text, struct server_version *ret, struct error *err);

/* Lists as streams of events work, and cost the server less than pages: from 1.34 on. */
bool server_version_streams_lists(const struct server_version *v);
/* Claims have the condition Unused: from 1.37 on, and ours. */
bool server_version_has_unused(const struct server_version *v);

#endif

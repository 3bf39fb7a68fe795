/* The Kubernetes version of a server, from /version, and the features that depend on it. */
#ifndef BERTH_MACHINERY_SERVER_VERSION_H
#define BERTH_MACHINERY_SERVER_VERSION_H

#include <stdbool.h>

#include "base/error.h"
#include "base/str.h"

/* The Kubernetes version that our server and nodes implement: clients compare it with theirs. */
#define KUBERNETES_MAJOR "1"
#define KUBERNETES_MINOR "36"
/* The oldest compatible minor version: the previous one, as the stock server reports. */
#define KUBERNETES_MINOR_COMPATIBLE "35"
#define KUBERNETES_RELEASE "v" KUBERNETES_MAJOR "." KUBERNETES_MINOR ".4"
/* Reported by /version and nodes, with our own version appended. */
#define KUBERNETES_VERSION KUBERNETES_RELEASE BERTH_MARK
#define BERTH_MARK "+berth."

/* Zeroed: unknown. An unknown server has no optional features. */
struct server_version {
    int major;
    int minor;
    bool is_berth;
};

/* The version of our own server. */
struct server_version server_version_own(void);

/* Providers write "34+" for 34. ERR_BAD_REQUEST if the text is not a version. */
int server_version_read(struct str text, struct server_version *ret, struct error *err);

/* Streaming lists work and cost the server less than pages: since 1.34. */
bool server_version_streams_lists(const struct server_version *v);
/* Claims have the condition Unused: since 1.37, and in our server. */
bool server_version_has_unused(const struct server_version *v);

#endif

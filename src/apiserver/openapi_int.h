/* What the files that make the OpenAPI documents share. */
#ifndef BERTH_APISERVER_OPENAPI_INT_H
#define BERTH_APISERVER_OPENAPI_INT_H

#include <stddef.h>

#include "api/json_out.h"
#include "api/schema.h"
#include "apiserver/resource.h"
#include "base/buf.h"
#include "base/error.h"

/* Where schemas live. Clients know the types of Kubernetes by these names. */
#define PACKAGE_CORE "io.k8s.api.core.v1"
#define PACKAGE_STORAGE "io.k8s.api.storage.v1"
#define PACKAGE_COORDINATION "io.k8s.api.coordination.v1"
#define PACKAGE_DISCOVERY "io.k8s.api.discovery.v1"
#define PACKAGE_EVENTS "io.k8s.api.events.v1"
#define PACKAGE_AUTHENTICATION "io.k8s.api.authentication.v1"
#define PACKAGE_AUTHENTICATION_BETA "io.k8s.api.authentication.v1beta1"
#define PACKAGE_AUTHORIZATION "io.k8s.api.authorization.v1"
#define PACKAGE_POLICY "io.k8s.api.policy.v1"
#define PACKAGE_SNAPSHOT "io.k8s.storage.snapshot.v1" /* as a stock server names custom resources */
#define PACKAGE_META "io.k8s.apimachinery.pkg.apis.meta.v1"
#define PACKAGE_RESOURCE "io.k8s.apimachinery.pkg.api.resource"

/* The package of a group version's own types; NULL for one that is not served. */
const char *openapi_package(const char *group, const char *version);

/* The schema of a kind, stored or not; NULL when nobody knows it. */
const struct schema *openapi_kind_schema(const char *group, const char *version, const char *kind);
extern const struct schema openapi_list_meta_schema;
extern const struct schema openapi_status_schema;

/* Above the longest name of a schema, operation or path. */
#define OPENAPI_NAME_BYTES_MAX 512

/* Swagger 2.0 and OpenAPI 3.0 say the same in slightly different words. */
enum openapi_dialect { OPENAPI_V2, OPENAPI_V3 };

/* A document of one dialect, written with api/json_out.h. */
struct writer {
    struct buf *out;
    enum openapi_dialect dialect;
};

/* Begins an object whose key is the name of a schema, followed by a suffix ("List") or "". */
void writer_open_schema(struct writer *w, const char *package, const char *name, const char *suffix);
/* `"$ref": "#/…"` to a schema. */
void writer_ref(struct writer *w, const char *package, const char *name, const char *suffix);
/* {"group": …, "version": …, "kind": …} */
void writer_gvk(struct writer *w, const char *key, const char *group, const char *version, const char *kind,
                const char *suffix);

/* The value of `paths` for these resources. */
void openapi_write_paths(struct writer *w, const struct resource *r, size_t count);
/* The value of `parameters`: those that operations refer to. */
void openapi_write_parameters(struct writer *w);
/* The value of `schemas` (`definitions`): the kinds of these resources and all that they refer to. Fails
 * without memory. */
int openapi_write_schemas(struct writer *w, const struct resource *r, size_t count, struct error *err);

/* Descriptions. */

enum { DOC_REQUIRED = 1 << 0 };

struct field_doc {
    const char *name;
    const char *text;
    unsigned flags;
    const char *values; /* what it may say, between bars: "Block|Filesystem"; NULL for anything */
};

struct schema_doc {
    const char *package;
    const char *name; /* "PersistentVolumeSpec" */
    const char *text;
    const struct field_doc *fields; /* ends with a NULL name */
};

/* Each ends with a NULL name. */
extern const struct schema_doc openapi_docs_shared[];
extern const struct schema_doc openapi_docs_storage[];
extern const struct schema_doc openapi_docs_sources[];
extern const struct schema_doc openapi_docs_core[];
extern const struct schema_doc openapi_docs_pods[];
extern const struct schema_doc openapi_docs_containers[];
extern const struct schema_doc openapi_docs_requests[];

/* NULL for what nobody has described. */
const struct schema_doc *openapi_schema_doc(const char *package, const char *name);
/* doc may be NULL. Falls back on what fields of that name are everywhere. */
const struct field_doc *openapi_field_doc(const struct schema_doc *doc, const char *field);

#endif

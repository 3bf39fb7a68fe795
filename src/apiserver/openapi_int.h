/* Shared by the files that create the OpenAPI documents. */
#ifndef BERTH_APISERVER_OPENAPI_INT_H
#define BERTH_APISERVER_OPENAPI_INT_H

#include <stddef.h>

#include "api/json_out.h"
#include "api/schema.h"
#include "apiserver/resource.h"
#include "base/buf.h"
#include "base/error.h"

/* Packages of schemas. Clients know the types of Kubernetes by these names. */
#define PACKAGE_CORE "io.k8s.api.core.v1"
#define PACKAGE_STORAGE "io.k8s.api.storage.v1"
#define PACKAGE_COORDINATION "io.k8s.api.coordination.v1"
#define PACKAGE_DISCOVERY "io.k8s.api.discovery.v1"
#define PACKAGE_EVENTS "io.k8s.api.events.v1"
#define PACKAGE_AUTHENTICATION "io.k8s.api.authentication.v1"
#define PACKAGE_AUTHENTICATION_BETA "io.k8s.api.authentication.v1beta1"
#define PACKAGE_AUTHORIZATION "io.k8s.api.authorization.v1"
#define PACKAGE_POLICY "io.k8s.api.policy.v1"
#define PACKAGE_GROUP_SNAPSHOT "io.k8s.storage.groupsnapshot.v1"
#define PACKAGE_SNAPSHOT "io.k8s.storage.snapshot.v1" /* as a stock server names custom resources */
#define PACKAGE_META "io.k8s.apimachinery.pkg.apis.meta.v1"
#define PACKAGE_RESOURCE "io.k8s.apimachinery.pkg.api.resource"

/* The package of a group version's own types; NULL for one that is not served. */
const char *openapi_package(const char *group, const char *version);

/* The schema of a kind, stored or not; NULL when it is unknown. */
const struct schema *openapi_kind_schema(const char *group, const char *version, const char *kind);
extern const struct schema openapi_list_meta_schema;
extern const struct schema openapi_status_schema;

/* Longer than any name of a schema, operation or path. */
#define OPENAPI_NAME_BYTES_MAX 512

/* Swagger 2.0 and OpenAPI 3.0 differ in details. */
enum openapi_dialect { OPENAPI_V2, OPENAPI_V3 };

/* Writes a document in one dialect, with api/json_out.h. */
struct openapi_writer {
    struct buf *out;
    enum openapi_dialect dialect;
};

/* Begins an object whose key is the name of a schema, followed by a suffix ("List") or "". */
void writer_open_schema(struct openapi_writer *w, const char *package, const char *name, const char *suffix);
/* `"$ref": "#/…"` to a schema. */
void writer_ref(struct openapi_writer *w, const char *package, const char *name, const char *suffix);
/* {"group": …, "version": …, "kind": …} */
void writer_gvk(struct openapi_writer *w, const char *key, const char *group, const char *version,
                const char *kind, const char *suffix);

/* The value of `paths` for these resources. */
void openapi_write_paths(struct openapi_writer *w, const struct resource *r, size_t count);
/* The value of `parameters`: those that operations refer to. */
void openapi_write_parameters(struct openapi_writer *w);
/* The value of `schemas` (`definitions`): the kinds of these resources and all schemas that they refer to.
 * Fails without memory. */
int openapi_write_schemas(struct openapi_writer *w, const struct resource *r, size_t count,
                          struct error *err);

/* Descriptions. */

enum { DOC_REQUIRED = 1 << 0 };

/* A type or a field. The fields of a type follow it; types that follow each other have the same fields. */
struct doc {
    const char *name; /* "PersistentVolumeSpec", "capacity" */
    const char *text;
    unsigned flags;
    const char *values;  /* allowed values, separated by bars: "Block|Filesystem"; NULL for any */
    const char *package; /* of a type; NULL for a field */
};

/* clang-format off */
#define TYPE(package_, name_, text_) { .name = name_, .text = text_, .package = package_ }
/* clang-format on */

/* Terminated by a NULL name. */
extern const struct doc openapi_docs_shared[];
extern const struct doc openapi_docs_storage[];
extern const struct doc openapi_docs_sources[];
extern const struct doc openapi_docs_core[];
extern const struct doc openapi_docs_pods[];
extern const struct doc openapi_docs_containers[];
extern const struct doc openapi_docs_requests[];

/* NULL when it has no description. */
const struct doc *openapi_schema_doc(const char *package, const char *name);
/* A type's fields: up to a row with a package or without a name. */
const struct doc *openapi_schema_fields(const struct doc *type);
/* type may be NULL. Falls back on the description of common fields with that name. */
const struct doc *openapi_field_doc(const struct doc *type, const char *field);

#endif

/* The Lease kind: schema, validation and decoding. strategy and preferredHolder belong to a feature that is
 * off: they are accepted and only stored if the old object has them. */
#include "api/lease.h"

#include <inttypes.h>

#include "api/meta.h"
#include "api/validate.h"

static const struct field lease_spec_fields[] = {
    { "holderIdentity", FIELD_STRING, .flags = FIELD_POINTER, .number = 1 },
    { "leaseDurationSeconds", FIELD_INT32, .flags = FIELD_POINTER, .number = 2 },
    { "acquireTime", FIELD_MICRO_TIME, .number = 3 },
    { "renewTime", FIELD_MICRO_TIME, .number = 4 },
    { "leaseTransitions", FIELD_INT32, .flags = FIELD_POINTER, .number = 5 },
    { "strategy", FIELD_STRING, .flags = FIELD_POINTER, .go_type = "v1.CoordinatedLeaseStrategy",
      .number = 6 },
    { "preferredHolder", FIELD_STRING, .flags = FIELD_POINTER, .number = 7 },
};
static const struct schema lease_spec_schema = SCHEMA("LeaseSpec", lease_spec_fields);

static const struct field lease_fields[] = {
    SCHEMA_OBJECT_FIELDS,
    { "spec", FIELD_OBJECT, .sub = &lease_spec_schema, .flags = FIELD_ALWAYS, .number = 2 },
};
static const struct schema lease_schema = SCHEMA("Lease", lease_fields);

static void prepare_gated_fields(struct json *d, json_ref object, json_ref old)
{
    json_ref spec = json_get(d, object, "spec"), old_spec = json_get(d, old, "spec");

    prepare_gated(d, spec, old_spec, "strategy");
    prepare_gated(d, spec, old_spec, "preferredHolder");
}

static void lease_prepare_create(struct json *d, json_ref object, struct timestamp now)
{
    (void)now;
    prepare_gated_fields(d, object, /* old= */ 0);
}

static void lease_prepare_update(struct json *d, json_ref object, json_ref old, enum write_part part,
                                 struct timestamp now)
{
    (void)part;
    (void)now;
    prepare_gated_fields(d, object, old);
}

static void lease_validate(struct validation *v)
{
    struct field_path spec_at = path_child(NULL, "spec");
    struct field_path duration_at = path_child(&spec_at, "leaseDurationSeconds");
    json_ref spec = json_get(v->d, v->object, "spec");
    int64_t seconds;

    if (json_int64(v->d, json_get(v->d, spec, "leaseDurationSeconds"), &seconds) && seconds <= 0)
        errors_invalid(v->errors, &duration_at, errors_printf(v->errors, "%" PRId64, seconds),
                       "must be greater than 0");
    validate_int_not_negative(v, &spec_at, spec, "leaseTransitions");
}

static void lease_decode(struct decoder *dec, json_ref object, struct object *o)
{
    struct lease *l = CONTAINER_OF(o, struct lease, obj);
    json_ref spec = json_get(dec->d, object, "spec");

    l->holder = decode_text(dec, spec, "holderIdentity");
    l->duration_seconds = decode_int(dec, spec, "leaseDurationSeconds", 0);
    l->transitions = decode_int(dec, spec, "leaseTransitions", 0);
    (void)decode_time(dec, spec, "acquireTime", &l->acquired);
    (void)decode_time(dec, spec, "renewTime", &l->renewed);
}

const struct kind_info lease_kind = {
    .kind = KIND_LEASE,
    .name = "Lease",
    .group = "coordination.k8s.io",
    .version = "v1",
    .plural = "leases",
    .is_namespaced = true,
    .flags = KIND_CREATES_ON_UPDATE,
    .name_rule = NAME_DNS_SUBDOMAIN,
    .schema = &lease_schema,
    .view_bytes = sizeof(struct lease),
    .set_defaults = default_nothing,
    .prepare_create = lease_prepare_create,
    .prepare_update = lease_prepare_update,
    .validate = lease_validate,
    .validate_update = validate_nothing,
    .decode = lease_decode,
};

/* Lease and VolumeAttributesClass: the small kinds. */
#include "tests/unit/test_prepare.h"

#include "api/attributes_class.h"
#include "api/lease.h"

#define LEASE(spec) "{'metadata':{'name':'l','namespace':'ns'},'spec':{" spec "}}"
#define ATTRIBUTES(rest) "{'metadata':{'name':'gold'}" rest "}"

TEST(lease_times_have_six_digits)
{
    ASSERT_STORED(
        KIND_LEASE,
        LEASE("'holderIdentity':'','leaseDurationSeconds':15,'acquireTime':'2026-01-02T03:04:05.000000Z',"
              "'renewTime':'2026-01-02T03:04:05.123456Z','leaseTransitions':0"),
        LEASE(
            "'holderIdentity':'','leaseDurationSeconds':15,'acquireTime':'2026-01-02T04:04:05.000000+01:00',"
            "'renewTime':'2026-01-02T03:04:05.123456Z','leaseTransitions':0"));
    ASSERT_STORED(KIND_LEASE, "{'metadata':{'name':'l'},'spec':{}}", "{'metadata':{'name':'l'}}");
}

TEST(lease_rules)
{
    ASSERT_CREATE(KIND_LEASE, "", LEASE("'leaseDurationSeconds':1,'leaseTransitions':0"));
    ASSERT_CREATE(KIND_LEASE, "", LEASE(""));
    ASSERT_CREATE(KIND_LEASE, "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
                  LEASE("'leaseDurationSeconds':0"));
    ASSERT_CREATE(KIND_LEASE, "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
                  LEASE("'leaseTransitions':-1"));
    ASSERT_STR("json: cannot unmarshal number 2147483648 into Go struct field "
               "LeaseSpec.spec.leaseTransitions of type "
               "int32",
               kind_text(KIND_LEASE, LEASE("'leaseTransitions':2147483648")));
    ASSERT_STR(
        "parsing time \"soon\" as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse \"soon\" as \"2006\"",
        kind_text(KIND_LEASE, LEASE("'renewTime':'soon'")));
}

/* Known fields, of a feature that is off: no warning, and nothing stored. */
TEST(lease_drops_coordinated_election)
{
#define PLAIN_LEASE LEASE("'holderIdentity':'a'")
#define COORDINATED "'holderIdentity':'a','strategy':'OldestEmulationVersion','preferredHolder':'b'"
    ASSERT_STR("", kind_report(KIND_LEASE, LEASE(COORDINATED)));
    ASSERT_PREPARED(KIND_LEASE, WRITE_MAIN, PLAIN_LEASE, NULL, LEASE(COORDINATED));
    ASSERT_PREPARED(KIND_LEASE, WRITE_MAIN, PLAIN_LEASE, PLAIN_LEASE, LEASE(COORDINATED));
    ASSERT_PREPARED(KIND_LEASE, WRITE_MAIN, LEASE(COORDINATED), LEASE(COORDINATED), LEASE(COORDINATED));
}

TEST(lease_view)
{
    _cleanup_(object_unref_p) struct object *o =
        kind_object(KIND_LEASE, LEASE("'holderIdentity':'me','leaseDurationSeconds':15,'leaseTransitions':3,"
                                      "'renewTime':'2026-01-02T03:04:05.500000Z'"));
    const struct lease *l = CONTAINER_OF(o, struct lease, obj);

    ASSERT_STR("me", l->holder);
    ASSERT_INT(15, l->duration_seconds);
    ASSERT_INT(3, l->transitions);
    ASSERT_INT(500000000, l->renewed.nanos);
    assert_true(timestamp_is_zero(l->acquired));
}

TEST(attributes_class_rules)
{
    ASSERT_CREATE(KIND_ATTRIBUTES_CLASS, "", ATTRIBUTES(",'driverName':'d.io','parameters':{'iops':'5'}"));
    ASSERT_CREATE(
        KIND_ATTRIBUTES_CLASS,
        "driverName: Required value\nparameters: Required value: must contain at least one key/value pair",
        ATTRIBUTES(""));
    ASSERT_UPDATE(KIND_ATTRIBUTES_CLASS,
                  "driverName: Forbidden: updates to driverName are forbidden.\n"
                  "parameters: Forbidden: updates to parameters are forbidden.",
                  ATTRIBUTES(",'driverName':'d.io','parameters':{'iops':'5'}"),
                  ATTRIBUTES(",'driverName':'e.io','parameters':{'iops':'6'}"));
}

TEST(attributes_class_view)
{
    _cleanup_(object_unref_p) struct object *o =
        kind_object(KIND_ATTRIBUTES_CLASS, ATTRIBUTES(",'driverName':'d.io','parameters':{'iops':'5'}"));
    const struct attributes_class *c = CONTAINER_OF(o, struct attributes_class, obj);

    ASSERT_STR("d.io", c->driver);
    ASSERT_STR("iops", c->parameters.items[0].key);
}

TEST_MAIN()

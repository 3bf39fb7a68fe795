/* The table of kinds, row by row, against what the API says of its resources. */
#include "tests/unit/test.h"

#include <ctype.h>

#include "api/kind.h"
#include "api/object.h"
#include "base/buf.h"
#include "base/cleanup.h"

#define U KIND_UPDATES_UNCONDITIONALLY
#define R KIND_IS_READ_ONLY
#define C KIND_CREATES_ON_UPDATE
#define O KIND_DELETE_ANSWERS_OBJECT
#define CUSTOM KIND_IS_CUSTOM

#define CORE "", "v1"
#define STORAGE "storage.k8s.io", "v1"
#define SNAPSHOT "snapshot.storage.k8s.io", "v1"
#define GROUP_SNAPSHOT "groupsnapshot.storage.k8s.io", "v1"

static const struct row {
    enum kind kind;
    const char *group, *version, *plural, *short_names, *name;
    bool is_namespaced, has_status;
    unsigned flags;
    const char *fields; /* that field selectors may name */
} rows[] = {
    { KIND_VOLUME, CORE, "persistentvolumes", "pv", "PersistentVolume", false, true, U | O, "" },
    { KIND_CLAIM, CORE, "persistentvolumeclaims", "pvc", "PersistentVolumeClaim", true, true, U | O, "" },
    { KIND_POD, CORE, "pods", "po", "Pod", true, true, U | O,
      "spec.nodeName spec.restartPolicy spec.schedulerName spec.serviceAccountName spec.hostNetwork "
      "status.phase status.podIP status.nominatedNodeName" },
    { KIND_NODE, CORE, "nodes", "no", "Node", false, true, U, "spec.unschedulable" },
    { KIND_NAMESPACE, CORE, "namespaces", "ns", "Namespace", false, true, U | O, "status.phase" },
    { KIND_EVENT, CORE, "events", "ev", "Event", true, false, U | C,
      "involvedObject.kind involvedObject.namespace involvedObject.name involvedObject.uid "
      "involvedObject.apiVersion involvedObject.resourceVersion involvedObject.fieldPath reason "
      "reportingComponent source type" },
    { KIND_CONFIG_MAP, CORE, "configmaps", "cm", "ConfigMap", true, false, U, "" },
    { KIND_SECRET, CORE, "secrets", "", "Secret", true, false, U, "type" },
    { KIND_SERVICE_ACCOUNT, CORE, "serviceaccounts", "sa", "ServiceAccount", true, false, U | O, "" },
    { KIND_CLASS, STORAGE, "storageclasses", "sc", "StorageClass", false, false, U | O, "" },
    { KIND_ATTACHMENT, STORAGE, "volumeattachments", "", "VolumeAttachment", false, true, O, "" },
    { KIND_CSI_DRIVER, STORAGE, "csidrivers", "", "CSIDriver", false, false, O, "" },
    { KIND_CSI_NODE, STORAGE, "csinodes", "", "CSINode", false, false, O, "" },
    { KIND_CSI_CAPACITY, STORAGE, "csistoragecapacities", "", "CSIStorageCapacity", true, false, 0, "" },
    { KIND_ATTRIBUTES_CLASS, STORAGE, "volumeattributesclasses", "vac", "VolumeAttributesClass", false, false,
      U | O, "" },
    { KIND_LEASE, "coordination.k8s.io", "v1", "leases", "", "Lease", true, false, C, "" },
    { KIND_EVENT_V1, "events.k8s.io", "v1", "events", "ev", "Event", true, false, U | C,
      "regarding.kind regarding.namespace regarding.name regarding.uid regarding.apiVersion "
      "regarding.resourceVersion regarding.fieldPath reason reportingController type" },
    { KIND_SNAPSHOT, SNAPSHOT, "volumesnapshots", "vs", "VolumeSnapshot", true, true, CUSTOM, "" },
    { KIND_SNAPSHOT_CONTENT, SNAPSHOT, "volumesnapshotcontents", "vsc vscs", "VolumeSnapshotContent", false,
      true, CUSTOM, "" },
    { KIND_SNAPSHOT_CLASS, SNAPSHOT, "volumesnapshotclasses", "vsclass vsclasses", "VolumeSnapshotClass",
      false, false, CUSTOM, "" },
    { KIND_GROUP_SNAPSHOT, GROUP_SNAPSHOT, "volumegroupsnapshots", "vgs", "VolumeGroupSnapshot", true, true,
      CUSTOM, "" },
    { KIND_GROUP_SNAPSHOT_CONTENT, GROUP_SNAPSHOT, "volumegroupsnapshotcontents", "vgsc vgscs",
      "VolumeGroupSnapshotContent", false, true, CUSTOM, "" },
    { KIND_GROUP_SNAPSHOT_CLASS, GROUP_SNAPSHOT, "volumegroupsnapshotclasses", "vgsclass vgsclasses",
      "VolumeGroupSnapshotClass", false, false, CUSTOM, "" },
    { KIND_SERVICE, CORE, "services", "svc", "Service", true, false, U | O | R, "spec.clusterIP spec.type" },
    { KIND_ENDPOINTS, CORE, "endpoints", "ep", "Endpoints", true, false, U | R, "" },
    { KIND_ENDPOINT_SLICE, "discovery.k8s.io", "v1", "endpointslices", "", "EndpointSlice", true, false,
      U | R, "" },
};

static bool words_have(const char *words, const char *word)
{
    struct str rest = str_of(words);

    while (rest.s)
        if (str_is(str_next(&rest, ' '), word))
            return true;
    return false;
}

static size_t words_count(const char *words)
{
    size_t count = words[0] != '\0';

    for (; *words; words++)
        count += *words == ' ';
    return count;
}

TEST(every_kind_has_a_row_here)
{
    bool seen[KIND_COUNT] = { false };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        seen[rows[i].kind] = true;
    for (size_t i = 0; i < KIND_COUNT; i++)
        assert_true(seen[i]);
    ASSERT_INT(KIND_COUNT, ARRAY_LEN(rows));
}

TEST(every_kind_is_described)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct row *r = &rows[i];
        const struct kind_info *k = kind_info(r->kind);
        size_t shorts = 0;
        ASSERT_INT(r->kind, k->kind);
        ASSERT_STR(r->group, k->group);
        ASSERT_STR(r->version, k->version);
        ASSERT_STR(r->plural, k->plural);
        ASSERT_STR(r->name, k->name);
        assert_true(r->is_namespaced == k->is_namespaced);
        if (r->has_status != k->has_status || r->flags != k->flags)
            fail_msg("%s: status %d, flags %x; expected %d, %x", r->name, k->has_status, k->flags,
                     r->has_status, r->flags);
        for (const char *const *s = k->short_names; s && *s; s++, shorts++)
            assert_true(words_have(r->short_names, *s));
        ASSERT_INT(words_count(r->short_names), shorts);
    }
}

TEST(every_kind_has_its_field_selectors)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct kind_info *k = kind_info(rows[i].kind);
        size_t count = 0;
        for (const struct selectable *s = k->selectable; s && s->name; s++, count++) {
            if (!words_have(rows[i].fields, s->name))
                fail_msg("%s selects on %s", k->name, s->name);
            assert_non_null(s->get);
        }
        ASSERT_INT(words_count(rows[i].fields), count);
    }
}

TEST(every_row_is_complete)
{
    for (size_t i = 0; i < KIND_COUNT; i++) {
        const struct kind_info *k = kind_info((enum kind)i);
        assert_non_null(k->schema);
        assert_true(k->view_bytes >= sizeof(struct object));
        assert_true(k->name_rule < NAME_RULE_COUNT);
        assert_non_null(k->set_defaults);
        assert_non_null(k->prepare_create);
        assert_non_null(k->prepare_update);
        assert_non_null(k->validate);
        assert_non_null(k->validate_update);
        assert_non_null(k->decode);
        ASSERT_STR(k->name, k->schema->go_name);
        assert_non_null(schema_field(k->schema, STR_LIT("metadata")));
        assert_non_null(schema_field(k->schema, STR_LIT("kind")));
        assert_non_null(schema_field(k->schema, STR_LIT("apiVersion")));
        if (k->has_status)
            assert_non_null(schema_field(k->schema, STR_LIT("status")));
    }
}

/* Every table that can be reached: names once, what items need, no list of lists. */
static void check_schema(const struct schema *s, unsigned depth)
{
    assert_true(depth < 24);
    assert_non_null(s->go_name);
    for (const struct field *f = s->fields; f < s->fields + s->fields_count; f++) {
        bool is_container = f->type == FIELD_LIST || f->type == FIELD_MAP;
        assert_ptr_equal(f, schema_field(s, str_of(f->name)));
        assert_true(f->type < FIELD_TYPE_COUNT);
        assert_true(!is_container || (f->item != FIELD_LIST && f->item != FIELD_MAP));
        if (f->type == FIELD_OBJECT || (is_container && f->item == FIELD_OBJECT))
            check_schema(f->sub, depth + 1);
        else
            assert_null(f->sub);
        if (f->merge_key)
            assert_non_null(schema_field(f->sub, str_of(f->merge_key)));
    }
}

TEST(every_schema_is_sound)
{
    for (size_t i = 0; i < KIND_COUNT; i++)
        check_schema(kind_info((enum kind)i)->schema, 0);
}

TEST(words_are_unique)
{
    for (size_t i = 0; i < KIND_COUNT; i++) {
        for (size_t j = i + 1; j < KIND_COUNT; j++) {
            const struct kind_info *a = kind_info((enum kind)i), *b = kind_info((enum kind)j);
            if (a->kind == KIND_EVENT && b->kind == KIND_EVENT_V1)
                continue; /* two views of one store */
            assert_true(strcmp(a->plural, b->plural) != 0);
            assert_true(strcmp(a->name, b->name) != 0);
            for (const char *const *s = a->short_names; s && *s; s++)
                for (const char *const *t = b->short_names; t && *t; t++)
                    assert_true(strcmp(*s, *t) != 0);
        }
    }
}

TEST(kinds_by_name_and_plural)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct row *r = &rows[i];
        struct str group = str_of(r->group), version = str_of(r->version);
        assert_ptr_equal(kind_info(r->kind), kind_by_name(group, version, str_of(r->name)));
        assert_ptr_equal(kind_info(r->kind), kind_by_plural(group, version, str_of(r->plural)));
        assert_null(kind_by_name(group, STR_LIT("v2"), str_of(r->name)));
        assert_null(kind_by_name(STR_LIT("other.io"), version, str_of(r->name)));
        assert_null(kind_by_name(group, version, str_of(r->plural)));
        assert_null(kind_by_plural(group, version, str_of(r->name)));
    }
    assert_null(kind_by_name(STR_LIT(""), STR_LIT("v1"), STR_LIT("")));
    assert_null(kind_by_plural(STR_LIT(""), STR_LIT("v1"), STR_LIT("")));
    assert_null(kind_by_plural(STR_LIT(""), STR_LIT("v1"), STR_LIT("PersistentVolumes")));
}

TEST(kinds_by_api_version)
{
    static const char *const wrong[][2] = {
        { "", "Pod" },
        { "v1", "" },
        { "v1", "pod" },
        { "v1", "Pods" },
        { "v1", "StorageClass" },
        { "v1/", "Pod" },
        { "core/v1", "Pod" },
        { "storage.k8s.io", "StorageClass" },
        { "storage.k8s.io/", "StorageClass" },
        { "storage.k8s.io/v1beta1", "StorageClass" },
        { "storage.k8s.io/v1/x", "StorageClass" },
        { "Storage.k8s.io/v1", "StorageClass" },
    };
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(256);

    for (size_t i = 0; i < KIND_COUNT; i++) {
        const struct kind_info *k = kind_info((enum kind)i);
        buf_clear(&text);
        kind_api_version(k, &text);
        assert_ptr_equal(k, kind_by_api_version(buf_str(&text), str_of(k->name)));
    }
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        assert_null(kind_by_api_version(str_of(wrong[i][0]), str_of(wrong[i][1])));
}

static void check_word(const struct kind_info *k, const char *word)
{
    char other[64];
    size_t len = strlen(word);

    assert_ptr_equal(k, kind_by_word(str_of(word)));
    for (size_t i = 0; i <= len; i++)
        other[i] = (char)(i % 2 ? toupper((unsigned char)word[i]) : tolower((unsigned char)word[i]));
    assert_ptr_equal(k, kind_by_word(str_of(other)));
    assert_ptr_not_equal(k, kind_by_word((struct str){ word, len - 1 })); /* no abbreviations */
}

TEST(kinds_by_what_people_type)
{
    static const char *const wrong[] = { "", "x", "persistentvolume s", "pvcs", "pv/x", " pv", "pods." };

    for (size_t i = 0; i < KIND_COUNT; i++) {
        const struct kind_info *k = kind_info((enum kind)i);
        if (k->kind == KIND_EVENT_V1)
            continue;
        assert_ptr_equal(k, kind_by_word(str_of(k->plural)));
        assert_ptr_equal(k, kind_by_word(str_of(k->name)));
        for (const char *const *s = k->short_names; s && *s; s++)
            assert_ptr_equal(k, kind_by_word(str_of(*s)));
    }
    assert_ptr_equal(kind_info(KIND_EVENT), kind_by_word(STR_LIT("events"))); /* the form that is stored */
    check_word(kind_info(KIND_VOLUME), "persistentvolume");
    check_word(kind_info(KIND_CLAIM), "pvc");
    check_word(kind_info(KIND_CLASS), "storageclass");
    check_word(kind_info(KIND_SNAPSHOT_CLASS), "vsclasses");
    check_word(kind_info(KIND_CSI_NODE), "csinode");
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        assert_null(kind_by_word(str_of(wrong[i])));
    assert_null(kind_by_word((struct str){ "pv\0", 3 }));
}

TEST(resources_as_errors_name_them)
{
    static const struct {
        enum kind kind;
        const char *resource, *api_version;
    } texts[] = {
        { KIND_VOLUME, "persistentvolumes", "v1" },
        { KIND_NAMESPACE, "namespaces", "v1" },
        { KIND_CLASS, "storageclasses.storage.k8s.io", "storage.k8s.io/v1" },
        { KIND_LEASE, "leases.coordination.k8s.io", "coordination.k8s.io/v1" },
        { KIND_EVENT_V1, "events.events.k8s.io", "events.k8s.io/v1" },
        { KIND_SNAPSHOT, "volumesnapshots.snapshot.storage.k8s.io", "snapshot.storage.k8s.io/v1" },
    };
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(256);

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        buf_clear(&out);
        kind_resource(kind_info(texts[i].kind), &out);
        ASSERT_STR(texts[i].resource, buf_cstr(&out));
        buf_clear(&out);
        kind_api_version(kind_info(texts[i].kind), &out);
        ASSERT_STR(texts[i].api_version, buf_cstr(&out));
    }
}

TEST_MAIN()

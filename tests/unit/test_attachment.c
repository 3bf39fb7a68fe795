/* VolumeAttachment. */
#include "tests/unit/test_kind.h"

#include "api/attachment.h"

#define ATTACHMENT(spec) "{'metadata':{'name':'a'},'spec':{" spec "}}"
#define WITH(source) ATTACHMENT("'attacher':'d.io','nodeName':'n1','source':{" source "}")
#define CSI "'csi':{'driver':'d.io','volumeHandle':'h'}"
#define STATUS(status)                                                                                      \
    "{'metadata':{'name':'a'},'spec':{'attacher':'d.io','nodeName':'n1','source':{'persistentVolumeName':'" \
    "p'}},"                                                                                                 \
    "'status':{" status "}}"

TEST(attachment_canonical_form)
{
    ASSERT_STORED(KIND_ATTACHMENT,
                  "{'metadata':{'name':'a'},'spec':{'attacher':'','source':{},'nodeName':''},"
                  "'status':{'attached':false}}",
                  "{'metadata':{'name':'a'}}");
    ASSERT_STORED(KIND_ATTACHMENT,
                  "{'metadata':{'name':'a'},'spec':{'attacher':'d.io','source':{'persistentVolumeName':'p'},"
                  "'nodeName':'n1'},'status':{'attached':true,'attachmentMetadata':{'a':'1','b':'2'},"
                  "'attachError':{'time':'2026-01-02T03:04:05Z','message':'m'}}}",
                  STATUS("'attachError':{'message':'m','time':'2026-01-02T03:04:05.9Z'},'attachmentMetadata':"
                         "{'b':'2','a':'1'},'attached':true"));
}

TEST(attachment_source_is_exactly_one)
{
    static const struct {
        const char *text, *errors;
    } rows[] = {
        { WITH("'persistentVolumeName':'p'"), "" },
        { WITH("'inlineVolumeSpec':{" CSI ",'accessModes':['ReadWriteOnce']}"), "" },
        { WITH(""), "spec.source: Required value: must specify exactly one of inlineVolumeSpec and "
                    "persistentVolumeName" },
        { WITH("'persistentVolumeName':'p','inlineVolumeSpec':{}"),
          "spec.source: Forbidden: must specify exactly one of inlineVolumeSpec and persistentVolumeName" },
        { WITH("'persistentVolumeName':''"),
          "spec.source.persistentVolumeName: Required value: must specify non empty persistentVolumeName" },
        { WITH("'inlineVolumeSpec':{" CSI
               ",'accessModes':['ReadWriteOnce'],'claimRef':{},'capacity':{'storage':'1'},"
               "'nodeAffinity':{},'storageClassName':'c','persistentVolumeReclaimPolicy':'Delete','"
               "volumeMode':'Block'}"),
          "spec.source.inlineVolumeSpec.claimRef: Forbidden: may not be specified in the context of inline "
          "volumes\n"
          "spec.source.inlineVolumeSpec.capacity: Forbidden: may not be specified in the context of inline "
          "volumes\n"
          "spec.source.inlineVolumeSpec.persistentVolumeReclaimPolicy: Forbidden: may only be Retain in the "
          "context of inline volumes\n"
          "spec.source.inlineVolumeSpec.nodeAffinity: Forbidden: may not be specified in the context of "
          "inline volumes\n"
          "spec.source.inlineVolumeSpec.storageClassName: Forbidden: may not be specified in the context of "
          "inline volumes\n"
          "spec.source.inlineVolumeSpec.volumeMode: Forbidden: may not specify volumeMode other than "
          "Filesystem in the "
          "context of inline volumes" },
        { WITH("'inlineVolumeSpec':{'hostPath':{'path':'/x'},'accessModes':['ReadWriteOnce']}"),
          "spec.source.inlineVolumeSpec.csi: Required value: has to be specified in the context of inline "
          "volumes" },
        { WITH("'inlineVolumeSpec':{" CSI ",'accessModes':['ReadWriteOnce'],"
               "'persistentVolumeReclaimPolicy':'Retain','volumeMode':'Filesystem',"
               "'volumeAttributesClassName':'gold'}"),
          "" },
        { WITH("'inlineVolumeSpec':{" CSI ",'volumeAttributesClassName':''}"),
          "spec.source.inlineVolumeSpec.accessModes: Required value\n"
          "spec.source.inlineVolumeSpec.volumeAttributesClassName: Required value: an empty string is "
          "disallowed" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ASSERT_CREATE(KIND_ATTACHMENT, rows[i].errors, rows[i].text);
}

TEST(attachment_inline_sources_have_their_defaults)
{
    ASSERT_STORED(KIND_ATTACHMENT,
                  "{'metadata':{'name':'a'},'spec':{'attacher':'d.io','source':{'inlineVolumeSpec':"
                  "{'capacity':{'storage':'1m'},'hostPath':{'path':'/x','type':''}}},'nodeName':'n1'},"
                  "'status':{'attached':false}}",
                  WITH("'inlineVolumeSpec':{'hostPath':{'path':'/x'},'capacity':{'storage':'1u'}}"));
}

TEST(attachment_names)
{
    const char *errors =
        kind_errors(KIND_ATTACHMENT, WRITE_MAIN, NULL,
                    ATTACHMENT("'attacher':'','nodeName':'No','source':{'persistentVolumeName':'P'}"));

    assert_non_null(strstr(errors, "spec.attacher: Required value\n"));
    assert_null(strstr(errors, "spec.attacher: Invalid value"));
    assert_non_null(
        strstr(errors, "spec.source.persistentVolumeName: Invalid value: \"P\": a lowercase RFC 1123"));
    assert_non_null(strstr(errors, "spec.nodeName: Invalid value: \"No\": a lowercase RFC 1123"));
}

TEST(attachment_status_bounds)
{
    static char long_text[1100], text[1600];

    memset(long_text, 'm', 1025);
    snprintf(text, sizeof text, STATUS("'attachError':{'message':'%s'}"), long_text);
    ASSERT_STATUS(KIND_ATTACHMENT, "status.attachError.message: Too long: may not be more than 1024 bytes",
                  WITH("'persistentVolumeName':'p'"), text);
    long_text[1024] = '\0';
    snprintf(text, sizeof text, STATUS("'attachError':{'message':'%s'}"), long_text);
    ASSERT_STATUS(KIND_ATTACHMENT, "", WITH("'persistentVolumeName':'p'"), text);
    ASSERT_STATUS(KIND_ATTACHMENT,
                  "status.detachError.errorCode: Invalid value: -1: must be greater than or equal to 0",
                  WITH("'persistentVolumeName':'p'"), STATUS("'detachError':{'errorCode':-1}"));
}

TEST(attachment_metadata_has_bounds)
{
    static char value[256 * 1024], text[256 * 1024 + 400];

    memset(value, 'm', sizeof value - 1); /* and one byte of the key */
    snprintf(text, sizeof text, STATUS("'attachmentMetadata':{'k':'%s'}"), value);
    ASSERT_STATUS(KIND_ATTACHMENT, "", WITH("'persistentVolumeName':'p'"), text);
    snprintf(text, sizeof text, STATUS("'attachmentMetadata':{'kk':'%s'}"), value);
    ASSERT_STATUS(KIND_ATTACHMENT, "status.attachmentMetadata: Too long: may not be more than 262144 bytes",
                  WITH("'persistentVolumeName':'p'"), text);
}

TEST(attachment_spec_stays)
{
    ASSERT_UPDATE(KIND_ATTACHMENT, "", WITH("'persistentVolumeName':'p'"),
                  WITH("'persistentVolumeName':'p'"));
    ASSERT_UPDATE(KIND_ATTACHMENT,
                  "spec: Invalid value: {\"attacher\":\"d.io\",\"source\":{\"persistentVolumeName\":\"q\"},"
                  "\"nodeName\":\"n1\"}: field is immutable",
                  WITH("'persistentVolumeName':'p'"), WITH("'persistentVolumeName':'q'"));
}

TEST(attachment_view)
{
    _cleanup_(object_unref_p) struct object *o = kind_object(
        KIND_ATTACHMENT, STATUS("'attached':true,'attachmentMetadata':{'k':'v'},'detachError':{'message':'m',"
                                "'time':'2026-01-02T03:04:05Z','errorCode':5}"));
    const struct attachment *a = CONTAINER_OF(o, struct attachment, obj);

    ASSERT_STR("d.io", a->attacher);
    ASSERT_STR("n1", a->node_name);
    ASSERT_STR("p", a->volume_name);
    assert_true(a->is_attached && !a->has_inline_source);
    ASSERT_STR("v", a->metadata.items[0].value);
    ASSERT_STR("", a->attach_error.message);
    ASSERT_INT(-1, a->attach_error.code);
    ASSERT_STR("m", a->detach_error.message);
    ASSERT_INT(5, a->detach_error.code);
    ASSERT_INT(1767323045, a->detach_error.time.seconds);
}

TEST_MAIN()

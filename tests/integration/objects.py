"""Objects to send to a server, and what its answers must look like."""

import json
import re

VOLUMES = "/api/v1/persistentvolumes"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
ATTACHMENTS = "/apis/storage.k8s.io/v1/volumeattachments"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
SECRETS = "/api/v1/namespaces/default/secrets"
PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"
NAMESPACES = "/api/v1/namespaces"
EVENTS = "/api/v1/namespaces/default/events"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
SNAPSHOTS = "/apis/snapshot.storage.k8s.io/v1/namespaces/default/volumesnapshots"

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
PROTOBUF = "application/vnd.kubernetes.protobuf"


def meta(name, **more):
    """metadata; labels and the like by their own names."""
    return {"name": name, **more}


def volume(name, spec=None, **more):
    return {
        "kind": "PersistentVolume",
        "apiVersion": "v1",
        "metadata": meta(name, **more),
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": "/data/" + name},
            **(spec or {}),
        },
    }


def claim(name, spec=None, **more):
    return {
        "kind": "PersistentVolumeClaim",
        "apiVersion": "v1",
        "metadata": meta(name, **more),
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            **(spec or {}),
        },
    }


def storage_class(name, body=None, **more):
    return {
        "kind": "StorageClass",
        "apiVersion": "storage.k8s.io/v1",
        "metadata": meta(name, **more),
        "provisioner": "example.com/disk",
        **(body or {}),
    }


def attachment(name, **more):
    return {
        "kind": "VolumeAttachment",
        "apiVersion": "storage.k8s.io/v1",
        "metadata": meta(name, **more),
        "spec": {"attacher": "disk.example.com", "nodeName": "n", "source": {"persistentVolumeName": "v"}},
    }


def config_map(name, data=None, **more):
    return {
        "kind": "ConfigMap", "apiVersion": "v1", "metadata": meta(name, **more), "data": data or {"a": "1"}
    }


def secret(name, data=None, **more):
    return {
        "kind": "Secret", "apiVersion": "v1", "metadata": meta(name, **more), "data": data or {"a": "MQ=="}
    }


def pod(name, spec=None, **more):
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": meta(name, **more),
        "spec": {"containers": [{"name": "c", "image": "busybox"}], **(spec or {})},
    }


def node(name, **more):
    return {"kind": "Node", "apiVersion": "v1", "metadata": meta(name, **more)}


def namespace(name, **more):
    return {"kind": "Namespace", "apiVersion": "v1", "metadata": meta(name, **more)}


def lease(name, **more):
    return {
        "kind": "Lease",
        "apiVersion": "coordination.k8s.io/v1",
        "metadata": meta(name, **more),
        "spec": {"holderIdentity": "me", "leaseDurationSeconds": 15},
    }


def event(name, about, body=None, **more):
    """A core event about an object as it was answered."""
    return {
        "kind": "Event",
        "apiVersion": "v1",
        "metadata": meta(name, **more),
        "involvedObject": {
            "kind": about["kind"],
            "apiVersion": about["apiVersion"],
            "namespace": about["metadata"].get("namespace", ""),
            "name": about["metadata"]["name"],
            "uid": about["metadata"]["uid"],
        },
        "reason": "Tested",
        "message": "it was tested",
        "source": {"component": "test"},
        "type": "Normal",
        "count": 1,
        **(body or {}),
    }


def snapshot(name, **more):
    return {
        "kind": "VolumeSnapshot",
        "apiVersion": "snapshot.storage.k8s.io/v1",
        "metadata": meta(name, **more),
        "spec": {"source": {"persistentVolumeClaimName": "c"}},
    }


def owned_by(owner, **more):
    """ownerReferences with this one owner, an object as it was answered."""
    return [
        {
            "apiVersion": owner["apiVersion"],
            "kind": owner["kind"],
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
            **more,
        }
    ]


def copy_bomb():
    """A JSON patch of 102 KB for any object with annotations: each copy holds all that came before it."""
    add = {"op": "add", "path": "/metadata/annotations/a", "value": "x" * 100_000}
    copies = [
        {"op": "copy", "from": "/metadata", "path": f"/metadata/annotations/x{n}"} for n in range(40)
    ]
    return [add, *copies]


def version_of(thing):
    return int(thing["metadata"]["resourceVersion"])


# --- Answers ---


def ok(answer, code=200):
    """The body of an answer that must be of this code."""
    assert answer.status == code, f"{answer.status}, not {code}: {answer.text[:2000]}"
    return answer.json if answer.body else None


def refused(answer, code, reason, message=None):
    """The Status of a refusal. message: the whole text, or a compiled pattern that must be found in it."""
    assert answer.status == code, f"{answer.status}, not {code}: {answer.text[:2000]}"
    assert answer.headers["Content-Type"] == "application/json", answer.headers["Content-Type"]
    assert answer.headers["X-Content-Type-Options"] == "nosniff", str(answer.headers)
    assert answer.body.endswith(b"}\n"), answer.body[-20:]
    return check_status(answer.json, code, reason, message)


def check_status(status, code, reason, message=None):
    assert (status["kind"], status["apiVersion"]) == ("Status", "v1"), status
    assert status["metadata"] == {}, status
    assert (status["status"], status["reason"], status["code"]) == ("Failure", reason, code), status
    if isinstance(message, re.Pattern):
        assert message.search(status["message"]), status["message"]
    elif message is not None:
        assert status["message"] == message, status["message"]
    return status


def causes(status):
    """{(field, reason)} of a Status."""
    return {(cause.get("field"), cause["reason"]) for cause in status["details"]["causes"]}


def cause_texts(status):
    """["field: message"] of a Status."""
    return [f"{cause['field']}: {cause['message']}" for cause in status["details"]["causes"]]


def warnings(answer):
    """The texts of the Warning headers."""
    found = []
    for value in answer.headers.get_all("Warning") or []:
        assert value.startswith('299 - "') and value.endswith('"'), value
        found.append(json.loads(value[len("299 - ") :]))
    return found

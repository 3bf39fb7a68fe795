"""What the tests of berth's verbs for people share: a world of objects, and both programs on it."""

import functools
import os
import re
import shutil
import tempfile

from harness import HERE, run
from kube import bind, claim, event, make, make_namespace, node, path_of, pod, storage_class, stored, volume
from recorded import Recording
from server import KUBECTL, berth_of

KUBECTL_VERSION = "1.32"
recording = Recording()

NFS = {"hostPath": None, "nfs": {"server": "nfs.example", "path": "/export"}}


def without_nulls(thing):
    """Objects with members that a spread has set to None."""
    return {key: value for key, value in thing.items() if value is not None}


@functools.lru_cache(maxsize=None)
def theirs():
    """The kubectl to compare with: words and columns change from version to version. None: its recorded
    answers."""
    found = shutil.which(KUBECTL)
    if not found:
        return None
    beside = os.path.join(os.path.dirname(os.path.realpath(found)), f"kubectl.{KUBECTL_VERSION}")
    program = beside if os.path.exists(beside) else found
    said = run(program, "version", "--client").stdout
    return program if f"v{KUBECTL_VERSION}." in said else None


def in_our_name(text):
    """What kubectl says of itself, said of berth; without the log lines of its library, which come and go
    with the load of the machine (`W1116 12:34:13.618300     352 reflector.go:492] …`). The annotation keeps
    its name."""
    text = re.sub(r"^[IWEF]\d{4} [\d:.]+ +\d+ [\w.]+:\d+\] .*\n", "", text, flags=re.MULTILINE)
    return re.sub(r"kubectl(\.1\.\d+)?\b(?!\.kubernetes\.io)", "berth", text)


def without_hints(text):
    """What berth says on standard error, without what it adds to the words that kubectl has for it."""
    text = re.sub(r"^(hint|waiting): .*\n", "", text, flags=re.MULTILINE)
    return re.sub(r": see 'berth why [^']*'$", "", text, flags=re.MULTILINE)


def berth_fails(server, *arguments, code=1, **options):
    """What a berth says on standard error that ends with this status."""
    result = berth_of(server, *arguments, check=False, **options)
    said = f"berth {' '.join(arguments)}:\n{result.stdout}{result.stderr}"
    assert result.returncode == code, f"{result.returncode} from {said}"
    return result.stderr


def same(server, *arguments, input=None, tries=8):
    """Both programs say the same, to the byte, and end alike. Ages grow between them: again, then."""
    key = recording.key(arguments, input)
    if not theirs():
        ours = berth_of(server, *arguments, check=False, input=input)
        recording.compare(key, (ours.returncode, ours.stdout, ours.stderr))
        return ours.stdout
    for left in range(tries, 0, -1):
        said = server.kubectl(*arguments, check=False, input=input, program=theirs())
        ours = berth_of(server, *arguments, check=False, input=input)
        expected = (said.returncode, said.stdout, in_our_name(said.stderr))
        got = (ours.returncode, ours.stdout, without_hints(ours.stderr))
        if got == expected:
            recording.keep(key, expected)
            return ours.stdout
        if left == 1:
            raise AssertionError(
                f"{' '.join(arguments)}\n--- kubectl {expected[0]}\n{expected[1]}{expected[2]}"
                f"--- berth {got[0]}\n{got[1]}{got[2]}---"
            )
    return None


def expected(name):
    """A golden text that is wider than code may be."""
    with open(os.path.join(HERE, "expected", f"{name}.txt"), encoding="utf-8") as file:
        return file.read()


def files(**texts):
    """A directory with these files; a name's __ is a dot, its _ a slash."""
    folder = tempfile.TemporaryDirectory(prefix="berth-verbs-")
    for name, text in texts.items():
        path = os.path.join(folder.name, name.replace("__", ".").replace("_", "/"))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    return folder


def make_classes(server):
    marked = storage_class(
        "fast",
        parameters={"type": "ssd", "iops": "3000"},
        allowVolumeExpansion=True,
        mountOptions=["noatime", "discard"],
        reclaimPolicy="Retain",
    )
    marked["metadata"]["annotations"] = {"storageclass.kubernetes.io/is-default-class": "true"}
    topology = [{"matchLabelExpressions": [{"key": "zone", "values": ["a", "b"]}]}]
    make(server, marked, storage_class("slow", volumeBindingMode="WaitForFirstConsumer"))
    make(server, storage_class("zoned", allowedTopologies=topology))


def make_volumes(server):
    affinity = {
        "required": {
            "nodeSelectorTerms": [
                {
                    "matchExpressions": [
                        {"key": "kubernetes.io/hostname", "operator": "In", "values": ["n1", "n2"]},
                        {"key": "disk", "operator": "Exists"},
                    ]
                }
            ]
        }
    }
    local = {"hostPath": None, "local": {"path": "/mnt/disk"}, "nodeAffinity": affinity}
    csi = {
        "hostPath": None,
        "csi": {
            "driver": "disk.example.com",
            "volumeHandle": "h-1",
            "fsType": "ext4",
            "volumeAttributes": {"b": "2", "a": "1"},
        },
    }
    for name, size, labels, spec in (
        ("v-host", "1Gi", {"tier": "gold", "set": "one"}, {}),
        ("v-nfs", "10Gi", {"tier": "silver"}, {**NFS, "accessModes": ["ReadWriteMany", "ReadOnlyMany"]}),
        ("v-local", "512Mi", None, {**local, "storageClassName": "slow", "volumeMode": "Block"}),
        ("v-csi", "2Gi", {"tier": "gold"}, {**csi, "persistentVolumeReclaimPolicy": "Delete"}),
    ):
        made = volume(name, size, labels, **spec)
        made["spec"] = without_nulls(made["spec"])
        make(server, made)
    note = {"metadata": {"annotations": {"note": "a <b> & c", "long": "x" * 200, "two": "first\nsecond"}}}
    server.patch(path_of("PersistentVolume", "v-nfs"), note)
    server.patch(path_of("PersistentVolume", "v-nfs") + "/status", {"status": {"phase": "Available"}})


def make_claims(server):
    make_namespace(server, "shop")
    make(server, claim("data"), claim("spare", "4Gi", storageClassName="slow", volumeMode="Block"))
    make(server, claim("db", "2Gi", storageClassName="fast"), namespace="shop")
    make(server, volume("v-bound", "3Gi"))
    bind(server, "v-bound", "data")
    condition = {"type": "Resizing", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    server.patch(
        path_of("PersistentVolumeClaim", "spare") + "/status",
        {"status": {"conditions": [{**condition, "reason": "Growing", "message": "grows"}]}},
    )


def make_pods(server):
    make(server, node("n1"))
    make(server, pod("web", "data", nodeName="n1"), pod("idle"))
    status = {
        "phase": "Running",
        "podIP": "10.0.0.7",
        "hostIP": "10.0.0.1",
        "startTime": "2026-01-01T00:00:00Z",
        "conditions": [
            {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"},
            {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"},
        ],
        "containerStatuses": [
            {
                "name": "c",
                "image": "registry.example/app:1",
                "imageID": "sha256:1",
                "containerID": "run://1",
                "ready": True,
                "restartCount": 2,
                "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}},
                "lastState": {"terminated": {"exitCode": 3, "reason": "Error",
                              "startedAt": "2026-01-01T00:00:00Z", "finishedAt": "2026-01-01T00:01:00Z"}},
            }
        ],
    }
    answer = server.patch(path_of("Pod", "web") + "/status", {"status": status})
    assert answer.status == 200, answer.text


def full_pod():
    """One with something of everything that is shown of pods."""
    made = pod("full", "data", nodeSelector={"disk": "ssd", "arch": "any"}, priority=None)
    made["metadata"].update(labels={"app": "full"}, annotations={"why": "to be described"})
    first = {"name": "first", "image": "registry.example/init:1", "command": ["true"]}
    made["spec"]["initContainers"] = [first]
    made["spec"]["containers"][0].update(
        ports=[{"containerPort": 80}, {"containerPort": 443, "hostPort": 8443, "protocol": "TCP"}],
        command=["sh", "-c", "echo one\necho two"],
        args=["--verbose"],
        env=[{"name": "A", "value": "b"}, {"name": "EMPTY"}],
        resources={"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "100m", "memory": "64Mi"}},
    )
    made["spec"]["containers"][0]["volumeMounts"] += [
        {"name": "scratch", "mountPath": "/b", "readOnly": True},
        {"name": "scratch", "mountPath": "/a", "subPath": "x/y"},
    ]
    made["spec"]["volumes"] += [
        {"name": "scratch", "emptyDir": {"sizeLimit": "1Gi"}},
        {"name": "keys", "secret": {"secretName": "s"}},
        {"name": "conf", "configMap": {"name": "c", "optional": True}},
        {"name": "host", "hostPath": {"path": "/etc", "type": "Directory"}},
        {"name": "share", "nfs": {"server": "nfs.example", "path": "/x", "readOnly": True}},
    ]
    made["spec"]["tolerations"] = [{"key": "a", "value": "b", "effect": "NoSchedule"}, {"operator": "Exists"}]
    made["spec"] = without_nulls(made["spec"])
    return made


def make_more(server):
    make(server, full_pod(), volume("v-going"))
    server.request("DELETE", path_of("PersistentVolume", "v-going"))
    flex = volume("v-flex", flexVolume={"driver": "example/disk", "options": {"a": "b"}}, hostPath=None)
    flex["spec"] = without_nulls(flex["spec"])
    make(server, flex)


def make_events(server):
    about = stored(server, "PersistentVolumeClaim", "spare")
    make(
        server,
        event("spare.1", about, "WaitForFirstConsumer", "waiting for first consumer", "2026-01-01T00:01:00Z"),
        event("spare.2", about, "ProvisioningFailed", "no room", "2026-01-01T00:02:00Z", kind="Warning"),
    )
    many = event("spare.3", about, "Repeated", "again", "2026-01-01T00:03:00Z")
    many.update(count=7, firstTimestamp="2026-01-01T00:00:00Z")
    make(server, many)
    new = event("web.1", stored(server, "Pod", "web"), "Pulled", "image there", None)
    new.update(firstTimestamp=None, lastTimestamp=None, eventTime="2026-01-01T00:00:30.000000Z",
               reportingComponent="test", reportingInstance="t", action="Pull")
    make(server, new)


def make_world(server):
    make_classes(server)
    make_volumes(server)
    make_claims(server)
    make_pods(server)
    make_events(server)
    make_more(server)

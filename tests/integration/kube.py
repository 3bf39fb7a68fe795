"""What the kubectl tests share: objects, the parts of controllers, and readers of what kubectl prints.

A file of tests has one server without controllers; each test uses names or a namespace of its own. Where an
outcome needs a controller, the test plays it: bind(), let_go().
"""

import contextlib
import json
import os
import re
import shlex
import subprocess
import tempfile
import threading

from harness import HERE, Skip
from server import KUBECTL, Server, await_that

LP_PATH = os.path.join(HERE, "data", "lp.yaml")
FINISH_SECONDS_MAX = 60


def lone_server(*flags, **options):
    """A server whose objects nobody but the test changes."""
    return Server("--without", "controllers,scheduler,node", *flags, **options)


# --- objects ---


def lp(tag):
    """data/lp.yaml with names of the test's own: TAG-local-pv, TAG-local-claim, TAG-storage."""
    with open(LP_PATH, encoding="utf-8") as file:
        text = file.read()
    return text.replace("local-storage", f"{tag}-storage").replace("example-local-", f"{tag}-local-")


def volume(name, size="1Gi", labels=None, **spec):
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, **({"labels": labels} if labels else {})},
        "spec": {
            "capacity": {"storage": size},
            "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": f"/srv/{name}"},
            **spec,
        },
    }


def claim(name, size="1Gi", **spec):
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": size}},
            "storageClassName": "",
            **spec,
        },
    }


def storage_class(name, **fields):
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": "example.com/none",
        **fields,
    }


def pod(name, claim_name=None, **spec):
    container = {"name": "c", "image": "registry.example/app:1"}
    if claim_name:
        container["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
        spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": claim_name}}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [container], **spec},
    }


def node(name):
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]},
    }


def event(name, about, reason, message, at="2026-01-01T00:00:00Z", kind="Normal"):
    """About an object as the server answered it."""
    namespace = about["metadata"].get("namespace", "")
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": namespace or "default"},
        "involvedObject": {
            "kind": about["kind"],
            "apiVersion": about["apiVersion"],
            "namespace": namespace,
            "name": about["metadata"]["name"],
            "uid": about["metadata"]["uid"],
        },
        "reason": reason,
        "message": message,
        "type": kind,
        "source": {"component": "test"},
        "firstTimestamp": at,
        "lastTimestamp": at,
        "count": 1,
    }


PLURALS = {
    "PersistentVolume": "/api/v1/persistentvolumes",
    "PersistentVolumeClaim": "/api/v1/namespaces/{}/persistentvolumeclaims",
    "Pod": "/api/v1/namespaces/{}/pods",
    "Node": "/api/v1/nodes",
    "Namespace": "/api/v1/namespaces",
    "Event": "/api/v1/namespaces/{}/events",
    "ConfigMap": "/api/v1/namespaces/{}/configmaps",
    "Secret": "/api/v1/namespaces/{}/secrets",
    "StorageClass": "/apis/storage.k8s.io/v1/storageclasses",
    "VolumeSnapshot": "/apis/snapshot.storage.k8s.io/v1/namespaces/{}/volumesnapshots",
}


def path_of(kind, name=None, namespace="default"):
    path = PLURALS[kind].format(namespace)
    return f"{path}/{name}" if name else path


def make(server, *objects, namespace="default"):
    """Creates objects; returns the last as stored."""
    stored = None
    for item in objects:
        stored = server.create(path_of(item["kind"], namespace=namespace), item)
    return stored


def make_namespace(server, name):
    """With what the server adds, so that nothing else happens in it."""
    make(server, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    for added in ("serviceaccounts/default", "configmaps/kube-root-ca.crt"):
        await_that(lambda: server.get(f"/api/v1/namespaces/{name}/{added}").status == 200, what=added)


def stored(server, kind, name, namespace="default"):
    """The object as it is now; None when there is none."""
    answer = server.get(path_of(kind, name, namespace))
    assert answer.status in (200, 404), answer.text
    return answer.json if answer.status == 200 else None


def version_of(server, kind, name, namespace="default"):
    return stored(server, kind, name, namespace)["metadata"]["resourceVersion"]


# --- the parts of controllers ---


def bind(server, volume_name, claim_name, namespace="default"):
    """What the binder writes."""
    claim_path = path_of("PersistentVolumeClaim", claim_name, namespace)
    volume_path = path_of("PersistentVolume", volume_name)
    claimed = server.get(claim_path).json
    size = server.get(volume_path).json["spec"]["capacity"]["storage"]
    reference = {
        "kind": "PersistentVolumeClaim",
        "apiVersion": "v1",
        "namespace": namespace,
        "name": claim_name,
        "uid": claimed["metadata"]["uid"],
    }
    status = {"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": size}}
    for path, change in (
        (volume_path, {"spec": {"claimRef": reference}}),
        (f"{volume_path}/status", {"status": {"phase": "Bound"}}),
        (claim_path, {"spec": {"volumeName": volume_name}}),
        (f"{claim_path}/status", {"status": status}),
    ):
        answer = server.patch(path, change)
        assert answer.status == 200, answer.text


def is_terminating(server, kind, name, namespace="default"):
    found = stored(server, kind, name, namespace)
    return found is not None and "deletionTimestamp" in found["metadata"]


def let_go(server, kind, name, namespace="default"):
    """What the protection controllers write once an object is deleted and nothing uses it."""
    await_that(lambda: is_terminating(server, kind, name, namespace), what=f"the deletion of {kind} {name}")
    answer = server.patch(path_of(kind, name, namespace), {"metadata": {"finalizers": None}})
    assert answer.status == 200, answer.text


# --- kubectl ---


def fails(server, *arguments, code=1, **options):
    """What a kubectl says on standard error that ends with this status."""
    result = server.kubectl(*arguments, check=False, **options)
    said = f"kubectl {' '.join(arguments)}:\n{result.stdout}{result.stderr}"
    assert result.returncode == code, f"{result.returncode} from {said}"
    return result.stderr


def apply_text(server, text, *arguments, verb="apply", **options):
    """kubectl apply (or create, replace, diff …) with a manifest from standard input."""
    text = text if isinstance(text, str) else json.dumps(text)
    return server.kubectl(verb, *arguments, "-f", "-", input=text, **options)


def manifest(text, name="f.yaml"):
    """A directory with the manifest in it: kubectl names the file in what it says."""
    folder = tempfile.TemporaryDirectory(prefix="berth-manifest-")
    with open(os.path.join(folder.name, name), "w", encoding="utf-8") as file:
        file.write(text if isinstance(text, str) else json.dumps(text))
    return folder


def columns(line):
    """The cells of a printed line. Cells are apart by three blanks or more; a cell may be several words."""
    return re.split(r" {2,}", line.strip())


def table(text):
    """Rows as dicts, by the columns of the first line; an empty cell is ''."""
    lines = text.splitlines()
    starts = [match.start() for match in re.finditer(r"(?:^|(?<=  ))\S", lines[0])]
    spans = list(zip(starts, [*starts[1:], None]))
    names = [lines[0][start:end].strip() for start, end in spans]
    return [dict(zip(names, (line[start:end].strip() for start, end in spans))) for line in lines[1:]]


def rows_by_name(text):
    return {row["NAME"]: row for row in table(text)}


def requests_of(result):
    """(verb, path with query, status) of what a kubectl with -v=6 asked."""
    said = "\n".join(result.complaints) if isinstance(result, Running) else result.stderr
    old = re.findall(r"\] ([A-Z]+) https?://[^/]+(\S+) (\d+) ", said)
    new = re.findall(r'verb="([A-Z]+)" url="https?://[^/]+([^"]+)" status="(\d+)', said)
    return [(verb, path, int(status)) for verb, path, status in old + new]


def watches_begun(server):
    """How many watches the server has begun in its life."""
    text = server.get("/metrics").text
    counts = re.findall(r'^apiserver_request_total\{verb="WATCH",.*code="200".*\} (\d+)$', text, re.M)
    return sum(int(count) for count in counts)


class Running:
    """A kubectl at work, its lines read as they come."""

    def __init__(self, server, *arguments):
        try:
            self.process = subprocess.Popen(
                [KUBECTL, *arguments],
                env=server.kubectl_environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        except FileNotFoundError:
            raise Skip("there is no kubectl here") from None
        self.lines = []
        self.complaints = []  # of standard error
        self.readers = [
            threading.Thread(target=self.read, args=pair, daemon=True)
            for pair in ((self.process.stdout, self.lines), (self.process.stderr, self.complaints))
        ]
        for reader in self.readers:
            reader.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for reader in self.readers:
            reader.join()

    def read(self, stream, lines):
        for line in stream:
            lines.append(line.rstrip("\n"))

    def await_lines(self, count):
        """The first so many lines, once they are there."""
        try:
            await_that(lambda: len(self.lines) >= count)
        except AssertionError:
            raise AssertionError(f"no line {count} after {self.lines} {self.complaints}") from None
        return self.lines[:count]

    def finish(self):
        """Its exit status; all its lines are there then."""
        status = self.process.wait(timeout=FINISH_SECONDS_MAX)
        for reader in self.readers:
            reader.join()
        return status


@contextlib.contextmanager
def editor(script):
    """The environment in which `kubectl edit` runs a sed script instead of a person."""
    with tempfile.TemporaryDirectory(prefix="berth-editor-") as folder:
        path = os.path.join(folder, "editor")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\nexec sed -i {shlex.quote(script)} \"$1\"\n")
        os.chmod(path, 0o755)
        yield {"KUBE_EDITOR": path, "TMPDIR": folder}  # where kubectl leaves copies

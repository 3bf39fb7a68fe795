"""A machine for tests of the node: mounts of its own, disks that are files, pods and what they see.

    with Machine() as machine, machine.serve() as node:
        node.run(pod("p", [{"name": "v", "emptyDir": {}}]))
        os.listdir(node.volume("p", "v"))

Everything is below one directory and mounted in a mount namespace of this process alone. What is left on
leaving, also after a failure, goes: processes of the server, mounts, loop devices, the directory.
"""

import contextlib
import glob
import json
import os
import shutil
import tempfile

from harness import BERTH, Skip, enter_own_mounts, run
from server import Server, await_that, berth_of

MIB = 1 << 20
NODE = "n1"
PODS = "/api/v1/namespaces/default/pods"
EVENTS = "/api/v1/namespaces/default/events"
CONDITION = "volumes.berth.io/ready"
DRIVERS = os.path.join(os.path.dirname(os.path.dirname(BERTH)), "tests", "drivers")


def enter_private_mounts():
    """Once a process; a Skip where it cannot be done."""
    if enter_private_mounts.is_done:
        return
    enter_own_mounts()
    enter_private_mounts.is_done = True


enter_private_mounts.is_done = False


def sh(*command):
    """What a command says that must succeed."""
    done = run(*command)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout.strip()


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def mounts():
    """[(target, options, type, options of the file system)] of this namespace, in the order of mounting."""
    found = []
    for line in read("/proc/self/mountinfo").splitlines():
        left, right = line.split(" - ", 1)
        fields, rest = left.split(), right.split()
        target = fields[4].encode().decode("unicode_escape")
        found.append((target, fields[5].split(","), rest[0], rest[2].split(",")))
    return found


def mount_at(path):
    """(options, type, options of the file system) of the topmost mount there; None."""
    here = [row[1:] for row in mounts() if row[0] == path]
    return here[-1] if here else None


def backing_files():
    """{device: backing file} of the loop devices."""
    found = {}
    for path in glob.glob("/sys/block/loop*/loop/backing_file"):
        with contextlib.suppress(OSError):  # it went meanwhile
            found["/dev/" + path.split("/")[3]] = read(path).strip().removesuffix(" (deleted)")
    return found


# --- Objects ---


def pod(name, volumes=(), mounts=None, devices=None, node=NODE, **spec):
    """A pod whose one container mounts its volumes below /, unless told otherwise."""
    if mounts is None and devices is None:
        mounts = [{"name": v["name"], "mountPath": f"/{v['name']}"} for v in volumes]
    container = {"name": "c", "image": "registry.example/app:1"}
    if mounts:
        container["volumeMounts"] = mounts
    if devices:
        container["volumeDevices"] = devices
    body = {"containers": [container], "volumes": list(volumes), **spec}
    if node:
        body["nodeName"] = node
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": body}


def claimed(claim, name="v", **more):
    return {"name": name, "persistentVolumeClaim": {"claimName": claim, **more}}


def local_volume(name, path, node=NODE, **spec):
    """A PersistentVolume on a directory or a device of this node, for the claim of the same name."""
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Retain",
            "claimRef": {"namespace": "default", "name": name},
            "local": {"path": path},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
            **spec,
        },
    }


def claim(name, **spec):
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "storageClassName": "",
            **spec,
        },
    }


# --- The node ---


class Node(Server):
    """A `berth serve` whose node works."""

    def __init__(self, *flags, name=NODE, **options):
        options = {"controllers": True, "node": True, **options}
        super().__init__("--node-name", name, "--log-level", "debug", *flags, **options)

    @property
    def root(self):
        return os.path.join(self.data, "node")

    def apply(self, *objects):
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
        berth_of(self, "apply", "-f", "-", input=text)

    def pod(self, name):
        """The pod as it is now; None when there is none."""
        answer = self.get(f"{PODS}/{name}")
        assert answer.status in (200, 404), answer.text
        return answer.json if answer.status == 200 else None

    def condition(self, name):
        found = (self.pod(name) or {}).get("status", {}).get("conditions", [])
        return next((c for c in found if c["type"] == CONDITION), {})

    def is_ready_pod(self, name):
        return self.condition(name).get("status") == "True"

    def await_ready(self, *names):
        for name in names:
            try:
                await_that(lambda name=name: self.is_ready_pod(name), 40, f"pod {name} ready")
            except AssertionError as why:
                raise AssertionError(f"{why}: {self.condition(name)} {self.log}") from None

    def run(self, *pods):
        """Makes pods and waits for their volumes."""
        self.apply(*pods)
        self.await_ready(*(p["metadata"]["name"] for p in pods))

    def await_reason(self, name, reason, words=""):
        """Until the pod's condition is False for this reason."""

        def holds():
            c = self.condition(name)
            return c.get("reason") == reason and c["status"] == "False" and words in c["message"]

        try:
            await_that(holds, 40, f"{reason} of {name}")
        except AssertionError as why:
            raise AssertionError(f"{why}: {self.condition(name)} {self.log}") from None

    def events(self, name):
        """[(type, reason, message)] about what is called so."""
        return [
            (e["type"], e["reason"], e["message"])
            for e in self.get(EVENTS).json["items"]
            if e["involvedObject"]["name"] == name
        ]

    def await_event(self, name, kind, reason, words, seconds=40):
        """Until there is one with these words in its message."""

        def find():
            return [e for e in self.events(name) if e[:2] == (kind, reason) and words in e[2]]

        try:
            return await_that(find, seconds, f"{reason} of {name}")[0][2]
        except AssertionError as why:
            raise AssertionError(f"{why}: not '{words}' but {self.events(name)} {self.log}") from None

    def delete(self, *names):
        """Until the pods are gone from the server."""
        for name in names:
            berth_of(self, "delete", "pod", name, "--wait=false")
        for name in names:
            self.await_gone(name)

    def await_gone(self, name):
        try:
            await_that(lambda: self.pod(name) is None, 40, f"end of pod {name}")
        except AssertionError as why:
            raise AssertionError(f"{why}: {self.log}") from None

    def end_status(self, name, phase="Succeeded"):
        """What a runtime reports of a pod that has ended."""
        assert self.patch(f"{PODS}/{name}/status", {"status": {"phase": phase}}).status == 200

    def await_log(self, words):
        await_that(lambda: words in self.log.replace('\\"', '"'), 40, f"'{words}' in the log")

    # --- what is on disk ---

    def uid(self, name):
        return self.pod(name)["metadata"]["uid"]

    def pod_dir(self, name):
        return os.path.join(self.root, "pods", self.uid(name))

    def state(self, name):
        return json.loads(read(os.path.join(self.pod_dir(name), "berth.json")))

    def volume(self, name, volume):
        """Where a volume of the pod is."""
        return next(v["path"] for v in self.state(name)["volumes"] if v["name"] == volume)

    def container(self, name):
        return self.state(name)["containers"][0]

    def device_mount(self, volume):
        return os.path.join(self.root, "plugins/kubernetes.io/local-volume/mounts", volume)

    def is_clean(self):
        """No pod's directory, and nothing mounted, below its root."""
        below = [row[0] for row in mounts() if row[0].startswith(self.root + "/")]
        folder = os.path.join(self.root, "pods")
        return not below and not (os.path.isdir(folder) and os.listdir(folder))

    def await_clean(self):
        try:
            await_that(self.is_clean, 40, "an end without remains")
        except AssertionError as why:
            raise AssertionError(f"{why}: {sh('find', self.root)} {mounts()[-5:]} {self.log}") from None


class Machine:
    """A directory, and what was made in it."""

    def __enter__(self):
        enter_private_mounts()
        self.dir = os.path.realpath(tempfile.mkdtemp(prefix="berth-machine-"))
        return self

    def __exit__(self, *_):
        self.let_go_of_loops(below=self.path("data"))  # whose backing files lose their names with the mounts
        for target in [row[0] for row in reversed(mounts()) if row[0].startswith(self.dir + "/")]:
            run("umount", "-l", target)
        self.let_go_of_loops(below=self.dir)
        shutil.rmtree(self.dir, ignore_errors=True)

    @staticmethod
    def let_go_of_loops(below):
        for device, file in backing_files().items():
            if file.startswith(below + "/"):
                run("losetup", "-d", device)

    def path(self, name):
        return os.path.join(self.dir, name)

    def folder(self, name):
        os.makedirs(self.path(name), exist_ok=True)
        return self.path(name)

    def serve(self, *flags, **options):
        """A node whose data is in this directory: there again when it is started anew."""
        return Node(*flags, data=self.folder("data"), **options)

    @contextlib.contextmanager
    def emptied(self, path):
        """An empty file system over a directory of the machine."""
        sh("mount", "-t", "tmpfs", "none", path)
        try:
            yield
        finally:
            run("umount", "-l", path)

    @contextlib.contextmanager
    def installed(self, name, script):
        """A command in the directory where mount(8) looks for its helpers, besides those that are there."""
        where, there = "/usr/sbin", self.folder("sbin-there")
        sh("mount", "--bind", where, there)
        with_it = self.folder("sbin")
        for entry in os.listdir(there):
            os.symlink(os.path.join(there, entry), os.path.join(with_it, entry))
        os.chmod(write(os.path.join(with_it, name), script), 0o755)
        sh("mount", "--bind", with_it, where)
        try:
            yield
        finally:
            run("umount", "-l", where)

    def disk(self, name, mib=64):
        """A block device on a file."""
        path = self.path(f"{name}.img")
        with open(path, "wb") as file:
            file.truncate(mib * MIB)
        done = run("losetup", "-f", "--show", path)
        if done.returncode != 0:
            raise Skip(f"no loop device: {done.stderr.strip()}")
        return done.stdout.strip()

    def driver(self, name, source, flex=None):
        """Puts a FlexVolume driver test/NAME in place; returns the flags that name the directory."""
        flex = flex or self.path("flex")
        where = os.path.join(flex, f"test~{name}")
        os.makedirs(where, exist_ok=True)
        copy = shutil.copy(source, os.path.join(where, f".{name}.new"))
        os.chmod(copy, 0o755)
        os.rename(copy, os.path.join(where, name))  # one that is there may be running
        return ("--flex-dir", flex)

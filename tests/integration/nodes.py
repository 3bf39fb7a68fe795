"""What tests of the node agent share: a mount namespace of their own, a machine with disks and drivers, pods
with volumes, and what the mount table says.

A test that mounts calls enter_own_mounts() once: everything that it and the programs it starts mount is then
theirs alone. Loop devices are the whole machine's: a Machine gives back those it had, whatever happened.
"""

import contextlib
import glob
import json
import os
import shutil
import subprocess
import tempfile

from harness import BERTH, Skip, run
from kube import claim, path_of, volume
from server import Server

NODE = "here"
READY = "volumes.berth.io/ready"
DRIVERS = os.path.join(os.path.dirname(os.path.dirname(BERTH)), "tests", "drivers")

# Its mounts wait for a shared lock on .hold beside it, which a test may have; .calls has a line for each that
# began.
STUCK_DRIVER = """#!/bin/sh
here=$(dirname "$0")
case "$1" in
init)
    echo '{"status": "Success", "capabilities": {"attach": false}}'
    ;;
mount)
    echo "$2" >>"$here/.calls"
    flock -s "$here/.hold" mount -t tmpfs stuck "$2" && echo '{"status": "Success"}'
    ;;
unmount)
    umount "$2" && echo '{"status": "Success"}'
    ;;
*)
    echo '{"status": "Not supported"}'
    exit 1
    ;;
esac
"""


def mounts_below(folder):
    """The targets, in the order of the table."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as file:
        targets = [line.split()[4] for line in file]
    return [target for target in targets if target.startswith(folder + "/")]


def loops_below(folder):
    """Devices whose backing file is there, also through a device of that kind."""
    found = {}
    for path in glob.glob("/sys/block/loop*/loop/backing_file"):
        with contextlib.suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
            found["/dev/" + path.split("/")[3]] = file.read().strip().removesuffix(" (deleted)")
    return {device: file for device, file in found.items() if file.startswith(folder + "/")}


class Machine:
    """A directory with all that a node needs, and a server whose node is this machine."""

    def __init__(self, *flags, **server):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="berth-node-"))
        self.root = os.path.join(self.folder, "root")
        self.drivers = os.path.join(self.folder, "drivers")
        self.disks = []
        for name in ("disks", "drivers", "host"):
            os.mkdir(os.path.join(self.folder, name))
        flags = ("--node-name", NODE, "--root", self.root, "--flex-dir", self.drivers, *flags)
        self.server = Server("--log-level", "debug", *flags, node=True, **server)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.__exit__()
        self.let_go_of_loops(below=self.root)  # whose backing files lose their names with the mounts
        for target in reversed(mounts_below(self.folder)):
            subprocess.run(["umount", "-l", target], check=False)
        self.let_go_of_loops(below=self.folder)
        shutil.rmtree(self.folder, ignore_errors=True)

    @staticmethod
    def let_go_of_loops(below):
        for device in loops_below(below):
            subprocess.run(["losetup", "-d", device], check=False)

    def add_driver(self, name, text=None):
        """One of tests/drivers, or a script."""
        folder = os.path.join(self.drivers, f"test~{name}")
        path = os.path.join(folder, name)
        os.mkdir(folder)
        if text is None:
            shutil.copy(os.path.join(DRIVERS, name), path)
        else:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(path, 0o755)

    def add_disk(self, megabytes):
        """A loop device."""
        path = os.path.join(self.folder, "disks", f"disk{len(self.disks)}")
        with open(path, "wb") as file:
            file.truncate(megabytes << 20)
        made = run("losetup", "--find", "--show", path)
        if made.returncode != 0:
            raise Skip(f"there are no loop devices: {made.stderr.strip()}")
        self.disks.append(made.stdout.strip())
        return self.disks[-1]

    def pod_dir(self, pod):
        return os.path.join(self.root, "pods", pod["metadata"]["uid"])

    def state(self, pod):
        """The state file; None when there is none."""
        try:
            with open(os.path.join(self.pod_dir(pod), "berth.json"), encoding="utf-8") as file:
                return json.load(file)
        except FileNotFoundError:
            return None


# --- objects ---


def node_pod(name, volumes, devices=(), **spec):
    """A pod of this node. volumes: {name: source}; each is mounted, those in devices are devices."""
    mounts = [{"name": v, "mountPath": f"/{v}"} for v in volumes if v not in devices]
    maps = [{"name": v, "devicePath": f"/dev/{v}"} for v in devices]
    container = {"name": "c", "image": "app", "volumeMounts": mounts, "volumeDevices": maps}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "nodeName": NODE,
            "containers": [container],
            "volumes": [{"name": v, **source} for v, source in volumes.items()],
            **spec,
        },
    }


def claimed(name):
    return {"persistentVolumeClaim": {"claimName": name}}


def pair(name, source, block=False):
    """A volume and the claim that has it."""
    mode = {"volumeMode": "Block" if block else "Filesystem", "accessModes": ["ReadWriteMany"]}
    v = volume(name, claimRef={"namespace": "default", "name": name}, storageClassName="", **mode)
    del v["spec"]["hostPath"]
    v["spec"].update(source, persistentVolumeReclaimPolicy="Retain")
    if "local" in source:
        key = {"key": "kubernetes.io/hostname", "operator": "In", "values": [NODE]}
        terms = [{"matchExpressions": [key]}]
        v["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    return v, claim(name, volumeName=name, **mode)


def is_ready(pod):
    conditions = (pod.get("status") or {}).get("conditions") or []
    return any(c["type"] == READY and c["status"] == "True" for c in conditions)


def pods_by_name(server):
    answer = server.get(path_of("Pod"))
    assert answer.status == 200, answer.text
    return {pod["metadata"]["name"]: pod for pod in answer.json["items"] or []}

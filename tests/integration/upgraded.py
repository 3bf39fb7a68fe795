"""A machine whose data directory and node root an earlier Berth made: fixtures/made_by_*/.

    with Place() as place:
        place.restore("made_by_903dea7", mounted=False)
        with place.serve() as server:
            ...

Objects and state files have absolute paths in them. So the machine is always at BASE: a tmpfs, in a mount
namespace of this process, over a directory that every Linux has. Loop devices are the whole machine's and are
found by their files' names; therefore one Place exists at a time, also of other checkouts.

An archive has these parts:

    disk/         everything below BASE that a reboot leaves
    memory/N/     the content of the Nth file system in memory that was mounted below the node's root
    mounts.json   what was mounted there when the agent was killed, in the order of mounting
    objects.json  every object, as the earlier program answers from this data directory: one per line
"""

import contextlib
import glob
import json
import os
import shutil
import socket
import subprocess
import tarfile
import tempfile

from fleet import Attacher
from harness import BERTH, HERE, ROOT, Skip, run
from machine import DRIVERS, MIB, enter_private_mounts, read, sh, write
from server import Server, await_that

BASE = "/media"
NODE = "n1"
CSI_NAME = "test.csi"
DISKS = ("csi-raw", "ext4", "raw")  # images, each behind a loop device
LOCK = "\0berth-upgraded-place"
LOCK_SECONDS_MAX = 300
EVENT_TTL_SECONDS = 100 * 365 * 86400

# Writes down each call. A teardown fails while there is a file that says so.
HOOK = f"""#!/bin/sh
echo "$1 $POD_NAME" >>{BASE}/hook/calls
[ ! -e "{BASE}/hook/fail-$1-$POD_NAME" ]
"""


def at(*parts):
    return os.path.join(BASE, *parts)


def lines_of(path):
    return read(path).splitlines() if os.path.exists(path) else []


def archive_path(name):
    return os.path.join(HERE, "fixtures", name, "state.tar.xz")


# --- every object ---


def resources(server):
    """[(path of the list, apiVersion, kind)] of all that can be listed."""
    groups = ["/api/v1"]
    for group in server.get("/apis").json["groups"]:
        groups += [f"/apis/{version['groupVersion']}" for version in group["versions"]]
    found = []
    for group in groups:
        listed = server.get(group).json
        for resource in listed["resources"]:
            if "list" in resource["verbs"] and "/" not in resource["name"]:
                found.append((f"{group}/{resource['name']}", listed["groupVersion"], resource["kind"]))
    return found


def key_of(thing):
    meta = thing["metadata"]
    return f"{thing['apiVersion']} {thing['kind']} {meta.get('namespace', '')}/{meta['name']}"


def all_objects(server):
    """{key: object} of every kind in every namespace."""
    found = {}
    for path, version, kind in resources(server):
        answer = server.get(path)
        assert answer.status == 200, f"{path}: {answer.text}"
        for item in answer.json["items"]:
            item = {"apiVersion": version, "kind": kind, **item}
            found[key_of(item)] = item
    return found


def object_lines(objects):
    return "".join(json.dumps(objects[key], sort_keys=True) + "\n" for key in sorted(objects))


# --- mounts ---


def mount_lines():
    """[(device number, root, target, type, source, options of the file system)] below BASE, as mounted."""
    found = []
    for line in read("/proc/self/mountinfo").splitlines():
        left, right = line.split(" - ", 1)
        fields, (kind, source, options) = left.split(), right.split(" ", 2)
        if fields[4].startswith(BASE + "/") or fields[4] == BASE:
            found.append((fields[2], fields[3], fields[4], kind, source, options, fields[5]))
    return found


def size_option(options):
    """A size that was asked for; what the memory allows, and other options, differ between machines."""
    sizes = [o for o in options.split(",") if o.startswith("size=") and len(o) <= len("size=1024k")]
    return ",".join(["rw", *sizes])


def loops_below(folder):
    """{file there: loop device}"""
    listed = json.loads(run("losetup", "--json", "--list").stdout or '{"loopdevices": []}')["loopdevices"]
    return {d["back-file"]: d["name"] for d in listed if d["back-file"].startswith(folder + "/")}


def describe_mounts(devices):
    """What is mounted below BASE, in terms that hold elsewhere. devices: {device: name of the disk}"""
    lines, locked = mount_lines(), loops_below(at("root"))
    first = {lines[0][0]: "base"}
    described = []
    for number, root, target, kind, source, options, flags in lines[1:]:
        one = {"target": target, "root": root, "readOnly": "ro" in flags.split(",")}
        if kind == "devtmpfs":
            one |= {"from": "device", "disk": devices["/dev" + root], "locked": target in locked}
        elif number not in first:
            first[number] = target
            one["from"] = "memory" if kind == "tmpfs" else "disk"
            if kind == "tmpfs":
                one |= {"source": source, "options": size_option(options)}
            else:
                one |= {"disk": devices[os.path.realpath(source)], "type": kind}
        else:
            one |= {"from": "bind", "of": first[number]}
        described.append(one)
    return described


def make_mount(one, memory, devices):
    """As describe_mounts() told it. memory: a directory with what a new tmpfs has."""
    target = one["target"]
    if one["from"] == "memory":
        sh("mount", "-t", "tmpfs", "-o", one["options"], one["source"], target)
        sh("cp", "-a", f"{memory}/.", target)
    elif one["from"] == "disk":
        sh("mount", "-t", one["type"], devices[one["disk"]], target)
    elif one["from"] == "device":
        sh("mount", "--bind", devices[one["disk"]], target)
        if one["locked"]:  # a loop device keeps it from others
            sh("losetup", "--find", target)
    else:
        origin = BASE if one["of"] == "base" else one["of"]
        sh("mount", "--bind", os.path.normpath(origin + one["root"]), target)
    if one["readOnly"]:
        sh("mount", "-o", "remount,bind,ro", target)


# --- the machine ---


class Place:
    def __init__(self):
        self.lock = socket.socket(socket.AF_UNIX)
        self.devices = {}
        self.csi = None
        self.servers = []
        self.described = []
        self.objects = {}

    def __enter__(self):
        enter_private_mounts()
        if not os.path.isdir(BASE) or any(f"{path}/".startswith(BASE + "/") for path in (ROOT, BERTH)):
            raise Skip(f"{BASE} is not there or not free")
        await_that(self.take_lock, LOCK_SECONDS_MAX, "the end of another such test")
        sh("mount", "-t", "tmpfs", "-o", "mode=755", "berth-test", BASE)
        return self

    def __exit__(self, *_):
        for server in self.servers:  # also those that did not become ready
            server.__exit__()
        self.stop_csi()
        for device in loops_below(at("root")).values():  # whose files lose their names with the mounts
            run("losetup", "-d", device)
        for line in reversed(mount_lines()):
            run("umount", "-l", line[2])
        for device in self.devices.values():
            run("losetup", "-d", device)
        self.lock.close()

    def take_lock(self):
        try:
            self.lock.bind(LOCK)
        except OSError:
            return False
        return True

    # --- what is in it ---

    def furnish(self):
        """A machine without Berth: directories, empty disks, drivers, the hook."""
        for folder in ("csi", "disks", "hook", "host", "static", "tmp"):
            os.mkdir(at(folder))
        for name in DISKS:
            with open(at("disks", f"{name}.img"), "wb") as file:
                file.truncate(8 * MIB)
        write(at("csi", "name"), CSI_NAME)
        os.mkdir(at("csi", "volumes"))
        os.symlink(at("disks", "csi-raw"), at("csi", "volumes", "vol-2"))
        write(at("hook", "hook"), HOOK)
        os.chmod(at("hook", "hook"), 0o755)
        self.plug_in()

    def plug_in(self):
        """Disks behind devices, and the drivers that belong to this build."""
        for name in DISKS:
            done = run("losetup", "--find", "--show", at("disks", f"{name}.img"))
            if done.returncode != 0:
                raise Skip(f"no loop device: {done.stderr.strip()}")
            self.devices[name] = done.stdout.strip()
            with contextlib.suppress(FileNotFoundError):
                os.unlink(at("disks", name))
            os.symlink(self.devices[name], at("disks", name))
        sources = {"cloud": DRIVERS, "dummy": os.path.join(os.path.dirname(HERE), "drivers")}
        for name, folder in sources.items():
            path = at("flex", f"test~{name}", name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            shutil.copy(os.path.join(folder, name), path)

    def pack(self, path, objects):
        """Writes the archive. Nothing may run any more."""
        names = {device: name for name, device in self.devices.items()}
        described = describe_mounts(names)
        with tempfile.TemporaryDirectory(prefix="berth-pack-") as folder, tarfile.open(path, "w:xz") as tar:
            sh("mount", "--bind", BASE, folder)  # without what is mounted below
            try:
                tar.add(folder, "disk", filter=self.is_packed)
            finally:
                sh("umount", folder)
            memory = [one["target"] for one in described if one["from"] == "memory"]
            for number, target in enumerate(memory):
                tar.add(target, f"memory/{number}")
            text = json.dumps(described, indent=1)
            for name, content in (("mounts.json", text), ("objects.json", object_lines(objects))):
                tar.add(write(os.path.join(folder, name), content), name)

    @staticmethod
    def is_packed(member):
        parts = member.name.split("/")[1:]
        is_driver = parts[:1] == ["flex"] and len(parts) == 3 and member.isfile()
        is_device = parts[:1] == ["disks"] and member.issym()
        return None if is_driver or is_device else member

    def restore(self, name, mounted):
        """What an archive has. mounted: after the agent was killed; else after a reboot."""
        with tempfile.TemporaryDirectory(prefix="berth-unpack-") as folder:
            with tarfile.open(archive_path(name)) as tar:
                tar.extraction_filter = staticmethod(lambda member, _: member)  # owners, links, all
                tar.extractall(folder, numeric_owner=True)
            sh("cp", "-a", "--sparse=always", f"{folder}/disk/.", BASE)
            self.described = json.loads(read(f"{folder}/mounts.json"))
            self.objects = {key_of(o): o for o in map(json.loads, lines_of(f"{folder}/objects.json"))}
            self.plug_in()
            if mounted:
                self.mount_again(f"{folder}/memory")
            else:
                write(at("csi", "published"), "")  # a driver sees that its mounts are gone

    def mount_again(self, memory):
        number = 0
        for one in self.described:
            make_mount(one, f"{memory}/{number}", self.devices)
            number += one["from"] == "memory"
        for link in glob.glob(at("root", "pods", "*", "volumeDevices", "*", "*")):
            if os.readlink(link).startswith("/dev/"):
                os.unlink(link)
                os.symlink(self.devices[os.path.basename(link)], link)

    # --- what runs in it ---

    def serve(self, *flags, **options):
        options = {"controllers": True, "scheduler": True, "node": True, **options}
        flags = (
            *("--node-name", NODE, "--root", at("root"), "--flex-dir", at("flex")),
            *("--static-pods", at("static"), "--pod-hook", at("hook", "hook")),
            *("--event-ttl", str(EVENT_TTL_SECONDS)),
            *("--log-level", "debug", *flags),
        )
        self.servers.append(Server(*flags, data=at("data"), **options))
        return self.servers[-1]

    def start_csi(self):
        """The CSI driver, once the agent has its registry's directory."""
        registry = at("root", "plugins_registry")
        await_that(lambda: os.path.isdir(registry), what="the registry's directory")
        program = os.path.join(DRIVERS, "csi_driver")
        sockets = (at("csi", "csi.sock"), f"{registry}/{CSI_NAME}-reg.sock")
        self.csi = subprocess.Popen([program, at("csi"), *sockets])

    def stop_csi(self):
        if self.csi:
            self.csi.kill()
            self.csi.wait()
        self.csi = None

    @staticmethod
    def attacher(server):
        """What attaches the CSI driver's volumes."""
        return Attacher(server)

    # --- what one sees ---

    @staticmethod
    def mounted_below_root():
        """{target: number of the mount}"""
        rows = (line.split() for line in read("/proc/self/mountinfo").splitlines())
        return {fields[4]: fields[0] for fields in rows if fields[4].startswith(at("root") + "/")}

    @staticmethod
    def hook_calls():
        return lines_of(at("hook", "calls"))

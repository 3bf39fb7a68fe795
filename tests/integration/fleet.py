"""Machines for tests of attachments: a server, node agents beside one another on this machine, and the cloud
that their FlexVolume driver stands for; or nodes that are nothing but objects, and an attacher.

    with Cloud() as cloud, Fleet(cloud) as fleet:
        fleet.add_agent("a")
        fleet.apply(*disk("d"), user("p", "a", "d"))
        fleet.await_volume("p")

Each agent has a mount namespace of its own, which outlives it: what one that was killed has mounted stays, as
on a machine whose agent dies.
"""

import contextlib
import http.client
import json
import os
import shutil
import subprocess
import tempfile
import threading

from controllers import Controllers
from harness import BERTH, Skip
from objects import ATTACHMENTS, EVENTS, NODES, PODS, claim, pod, volume
from server import Server, await_that, berth_of

SECONDS = 60
CLOUD = os.path.join(os.path.dirname(os.path.dirname(BERTH)), "tests", "drivers", "cloud")
DRIVER = "berth/cloud"
READY = "volumes.berth.io/ready"
MANAGED = {"volumes.kubernetes.io/controller-managed-attach-detach": "true"}
FINALIZER = "external-attacher/disk-example-com"


class Machine:
    """A mount namespace, kept by a process that waits; started again it is empty."""

    def __init__(self):
        script = "echo here; exec sleep infinity"
        command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said = self.process.stdout.readline()
        if said != "here\n":
            self.end()
            raise Skip(f"no mount namespace: {said.strip()}")

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    @property
    def entry(self):
        """The words to start a command there with."""
        here = f"/proc/{self.process.pid}"  # with the root, which may be a chroot's
        return ("nsenter", f"--mount={here}/ns/mnt", f"--root={here}/root", f"--wd={here}/cwd", "--")

    def path(self, path):
        """What it sees there, from outside."""
        return f"/proc/{self.process.pid}/root{path}"


def lines_of(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().splitlines()
    except FileNotFoundError:
        return []


class Cloud:
    """A directory for everything, with the driver and its state."""

    def __init__(self):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="berth-cloud-"))
        self.drivers = os.path.join(self.folder, "drivers")
        home = os.path.join(self.drivers, DRIVER.replace("/", "~"))
        self.state = os.path.join(home, ".cloud")
        os.makedirs(self.state)
        shutil.copy(CLOUD, os.path.join(home, "cloud"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for name in os.listdir(self.state):
            if name.startswith("hold-"):
                self.release(name[len("hold-") :])
        shutil.rmtree(self.folder, ignore_errors=True)

    def lines(self, name):
        return lines_of(os.path.join(self.state, name))

    def calls(self, *commands):
        """[(begin, end, command, volume, status, arguments)] by the times of their ends."""
        found = []
        for line in self.lines("log"):
            begin, end, command, name, status, *arguments = line.split(" ")
            if command in commands:
                found.append((int(begin), int(end), command, name, status, arguments))
        return found

    def moves(self, name):
        """What went well: ["attach a", "detach a", …]"""
        return [
            f"{command} {arguments[1]}"
            for _, _, command, of, status, arguments in self.calls("attach", "detach")
            if of == name and status == "Success"
        ]

    def running(self, name):
        """Calls under way for the volume."""
        return [line for line in self.lines("running") if line.split()[0] == name]

    def is_at(self, command):
        """A call of it is under way."""
        for line in self.lines("running"):
            path = f"/proc/{line.split()[1]}/cmdline"
            with contextlib.suppress(OSError), open(path, encoding="utf-8") as file:
                if file.read().split("\0")[1:2] == [command]:
                    return True
        return False

    def attached(self):
        return sorted(self.lines("attached"))

    def set(self, name, text):
        with open(os.path.join(self.state, name), "w", encoding="utf-8") as file:
            file.write(text)

    def hold(self, command):
        self.set(f"hold-{command}", "")

    def release(self, command):
        os.unlink(os.path.join(self.state, f"hold-{command}"))

    def fail(self, command, message):
        self.set(f"fail-{command}", message)

    def succeed(self, command):
        os.unlink(os.path.join(self.state, f"fail-{command}"))

    def check(self, violations=()):
        """No two calls for a volume at a time, and nothing else that a careful caller never does."""
        last = {}
        for begin, end, command, name, _, _ in sorted(self.calls("attach", "detach")):
            assert begin >= last.get(name, 0), f"{command} of {name} began too early: {self.lines('log')}"
            last[name] = end
        seen = sorted({line.split(":")[0] for line in self.lines("violations")})
        assert seen == sorted(violations), self.lines("violations")


class Agent(Controllers):
    """A `berth node` on its machine; started again it finds what it left."""

    def __init__(self, fleet, name, machine):
        self.machine = machine
        self.root = os.path.join(fleet.cloud.folder, name)
        flags = ("--node-name", name, "--root", self.root, "--flex-dir", fleet.cloud.drivers)
        super().__init__(*flags, kubeconfig=fleet.kubeconfig, verb="node", through=machine.entry)

    def volume_path(self, uid, name):
        """Of a volume that the pod has, by the state file; None when there is none yet."""
        try:
            with open(os.path.join(self.root, "pods", uid, "berth.json"), encoding="utf-8") as file:
                state = json.load(file)
        except FileNotFoundError:
            return None
        path = next((v["path"] for v in state["volumes"] if v["name"] == name and state["ready"]), None)
        return path and self.machine.path(path)


class Fleet(Server):
    def __init__(self, cloud=None, *flags, **options):
        self.cloud = cloud
        self.agents = {}
        self.machines = {}
        if cloud:
            flags = ("--flex-dir", cloud.drivers, *flags)
        super().__init__(*flags, **{"controllers": True, **options})

    def __exit__(self, *_):
        for agent in self.agents.values():
            agent.__exit__()
        for machine in self.machines.values():
            machine.end()
        super().__exit__()

    def add_agent(self, name):
        """Also once more, for one that was killed."""
        if name in self.agents:
            self.agents[name].__exit__()
        else:
            self.machines[name] = Machine()
        self.agents[name] = Agent(self, name, self.machines[name])
        return self.agents[name].await_ready()

    def apply(self, *objects):
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
        berth_of(self, "apply", "-f", "-", input=text)

    # --- pods ---

    def pod(self, name):
        answer = self.get(f"{PODS}/{name}")
        return answer.json if answer.status == 200 else None

    def is_ready_pod(self, name):
        conditions = ((self.pod(name) or {}).get("status") or {}).get("conditions") or []
        return any(c["type"] == READY and c["status"] == "True" for c in conditions)

    def await_volume(self, name):
        """Where the volume of the pod is."""
        self.wait(lambda: self.is_ready_pod(name), f"the volume of {name}")
        found = self.pod(name)
        return self.agents[found["spec"]["nodeName"]].volume_path(found["metadata"]["uid"], "data")

    def delete_pod(self, name, *flags):
        berth_of(self, "delete", "pod", name, "--wait=false", *flags)

    def await_gone(self, name):
        self.wait(lambda: self.pod(name) is None, f"the end of {name}")

    def events(self, name, reason):
        """Messages about the pod."""
        found = self.get(EVENTS).json["items"]
        return [e["message"] for e in found if e["involvedObject"]["name"] == name and e["reason"] == reason]

    def await_event(self, name, reason):
        return self.wait(lambda: self.events(name, reason), f"{reason} of {name}")[0]

    # --- nodes ---

    def node_status(self, name):
        return self.get(f"{NODES}/{name}").json.get("status") or {}

    def attached_to(self, name):
        """{unique name: device} of the node's status."""
        return {v["name"]: v["devicePath"] for v in self.node_status(name).get("volumesAttached") or []}

    def say_in_use(self, name, *volumes):
        """As a node says it."""
        body = {"status": {"volumesInUse": list(volumes)}}
        assert self.patch(f"{NODES}/{name}/status", body).status == 200

    def attachments(self):
        return {a["metadata"]["name"]: a for a in self.get(ATTACHMENTS).json["items"]}

    def wait(self, condition, what):
        try:
            return await_that(condition, SECONDS, what)
        except AssertionError as why:
            agents = "".join(f"--- {name}\n{agent.log}" for name, agent in self.agents.items())
            cloud = "\n".join(self.cloud.lines("log")) if self.cloud else ""
            raise AssertionError(f"{why}\n{cloud}\n{self.log}\n{agents}") from None


# --- Objects ---


def disk(name, source=None, modes=("ReadWriteOnce",)):
    """A disk of the cloud, or of another source, and the claim that has it."""
    ref = {"namespace": "default", "name": name}
    spec = {"hostPath": None, "claimRef": ref, "storageClassName": "", "accessModes": list(modes)}
    source = source or {"flexVolume": {"driver": DRIVER}}
    retained = {"persistentVolumeReclaimPolicy": "Retain"}
    wish = {"storageClassName": "", "volumeName": name, "accessModes": list(modes)}
    return volume(name, {**spec, **source, **retained}), claim(name, wish)


def csi(handle):
    return {"csi": {"driver": "disk.example.com", "volumeHandle": handle}}


def user(name, node_name, claim_name, **more):
    """A pod of that node with the claim."""
    data = {"name": "data", "persistentVolumeClaim": {"claimName": claim_name}}
    mount = {"name": "data", "mountPath": "/data"}
    container = {"name": "c", "image": "app", "volumeMounts": [mount]}
    return pod(name, {"nodeName": node_name, "volumes": [data], "containers": [container], **more})


def write(path, text):
    with open(os.path.join(path, "file"), "w", encoding="utf-8") as file:
        file.write(text)


def read(path):
    with open(os.path.join(path, "file"), encoding="utf-8") as file:
        return file.read()


# --- An attacher ---


class Attacher:
    """What stands beside a CSI driver: it watches, and notes what it is asked for in the order it is done."""

    def __init__(self, server):
        self.server = server
        self.done = []
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.thread.join()

    def run(self):
        while not self.is_over.wait(0.05):
            with contextlib.suppress(OSError, http.client.HTTPException):  # the server may be down
                for attachment in self.server.get(ATTACHMENTS).json["items"]:
                    self.serve(attachment)

    def serve(self, attachment):
        path = f"{ATTACHMENTS}/{attachment['metadata']['name']}"
        spec, finalizers = attachment["spec"], attachment["metadata"].get("finalizers") or []
        what = f"{spec['source']['persistentVolumeName']} {spec['nodeName']}"
        if attachment["metadata"].get("deletionTimestamp"):
            if FINALIZER in finalizers:
                self.done.append(f"detach {what}")
                self.server.patch(path, {"metadata": {"finalizers": None}})
        elif not (attachment.get("status") or {}).get("attached"):
            self.server.patch(path, {"metadata": {"finalizers": [FINALIZER]}})
            self.done.append(f"attach {what}")
            self.server.patch(f"{path}/status", {"status": {"attached": True}})

"""A machine for tests of CSI without sidecars: `berth serve` with its node, and a driver without a registrar.

The settings name the driver's socket. Mounts are in a namespace that ends with this process.
"""

import contextlib
import functools
import os
import shutil
import tempfile

from csi import DRIVER, Driver
from harness import Skip, enter_own_mounts, run
from server import Server, await_that

NAME = "test.csi"
STORAGE = "/apis/storage.k8s.io/v1"


@functools.cache
def enter_mounts_once():
    if not os.path.exists(DRIVER):
        raise Skip("the driver is not built")
    enter_own_mounts()


class Machine:
    """A server with its node, and a driver without a registrar."""

    def __init__(self, where):
        self.where = where
        self.root = os.path.join(where, "root")
        self.driver = Driver(where, self.root, NAME)
        self.driver.registrar = None
        self.driver.write("plugin-capabilities", "1")
        self.config = os.path.join(where, "berth.conf")
        self.server = None

    def write_settings(self, *lines):
        with open(self.config, "w", encoding="utf-8") as f:
            f.write(f"csi:\n  drivers:\n    {NAME}:\n      endpoint: unix://{self.driver.socket}\n")
            f.writelines(f"      {line}\n" for line in lines)


def detach_loops(where):
    """What a failed test leaves: devices of files below where, and devices of those devices."""
    lines = run("losetup", "-a").stdout.splitlines()
    own = [line.split(":")[0] for line in lines if where in line]
    nodes = {f":{os.stat(device).st_ino} " for device in own}
    above = [line.split(":")[0] for line in lines if any(node in line for node in nodes)]
    for device in [*above, *own]:
        run("losetup", "-d", device)


@contextlib.contextmanager
def machine(spec=None, *settings, knobs=()):
    """spec: of the CSIDriver. settings: lines of the driver's section. knobs: files of its state."""
    enter_mounts_once()
    where = tempfile.mkdtemp(prefix="berth-csi-")
    m = Machine(where)
    try:
        m.write_settings(*settings)
        for name, text in knobs:
            m.driver.write(name, text)
        flags = ("--node-name", "n1", "--root", m.root, "--config", m.config, "--sync-frequency", "1")
        with Server(*flags, controllers=True, scheduler=True, node=True) as server:
            m.server = server
            server.create(f"{STORAGE}/csidrivers", {"metadata": {"name": NAME}, "spec": spec or {}})
            m.driver.start()
            await_that(lambda: drivers_of(server) == [NAME], what="the registration")
            yield m
            assert m.driver.text("violations") == "", m.driver.text("violations")
            assert server.stop() == 0
    finally:
        m.driver.kill()
        run("sh", "-c", f"grep -o '{where}[^ ]*' /proc/self/mounts | sort -r | xargs -r -n1 umount -l")
        detach_loops(where)
        shutil.rmtree(where, ignore_errors=True)


def drivers_of(server):
    answer = server.get(f"{STORAGE}/csinodes/n1")
    return [d["name"] for d in answer.json["spec"].get("drivers") or []] if answer.status == 200 else None


def attachments(server):
    return server.get(f"{STORAGE}/volumeattachments").json["items"]


def make_class(server, name="fast", mode="Immediate", **more):
    body = {"metadata": {"name": name}, "provisioner": NAME, "volumeBindingMode": mode, **more}
    server.create(f"{STORAGE}/storageclasses", body)

"""A chroot with systemd as its first process, in namespaces of its own: a small machine.

    with Booted(top) as machine:
        machine.run("systemctl", "start", "berth")

Nothing of it is left when its first process ends, but its cgroup, which is then removed. Its network is a
loopback and nothing else.
"""

import contextlib
import os
import subprocess
import tempfile
import time

from harness import Skip, run
from server import await_that

SYSTEMD = "/lib/systemd/systemd"
# The chroot becomes the root itself: the kernel refuses user namespaces to who only has a chroot.
BOOT = f"""
set -e
mount --bind "$1" "$1"
mount -t proc proc "$1/proc"
mount -t sysfs -o ro sysfs "$1/sys"
mount -t tmpfs tmpfs "$1/run"
mount -t tmpfs tmpfs "$1/tmp"
mount -t cgroup2 cgroup2 "$1/sys/fs/cgroup"
mkdir -p "$1/outside"
cd "$1"
pivot_root . outside
umount -l /outside
mount --make-rshared /
exec /usr/bin/env -i container=berth-test PATH=/usr/sbin:/usr/bin:/sbin:/bin {SYSTEMD} --log-target=null
"""
NAMESPACES = ("--pid", "--mount", "--cgroup", "--uts", "--ipc", "--net")


class Booted:
    def __init__(self, top):
        self.top = top
        self.cgroups = tempfile.mkdtemp(prefix="berth-cgroups-")
        self.process = None
        self.pid = None  # of its first process, from outside

    def __enter__(self):
        if run("mount", "-t", "cgroup2", "cgroup2", self.cgroups).returncode != 0:
            os.rmdir(self.cgroups)
            raise Skip("no control groups can be had here")
        self.group = os.path.join(self.cgroups, f"berth-test-{os.getpid()}")
        try:
            self.boot()
        except BaseException:
            self.__exit__()
            raise
        return self

    def boot(self):
        with open(os.path.join(self.top, "etc", "hostname"), "w", encoding="utf-8") as file:
            file.write("booted\n")
        try:
            os.mkdir(self.group)
        except OSError as reason:
            raise Skip(f"no control group can be made here: {reason}") from reason
        join = f'echo $$ >"{self.group}/cgroup.procs" && exec "$@"'
        unshare = ["unshare", *NAMESPACES, "--fork", "--kill-child"]
        self.process = subprocess.Popen(
            ["sh", "-c", join, "join", *unshare, "sh", "-c", BOOT, "boot", self.top],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        await_that(self.is_up, 60, "a machine with systemd")

    def is_up(self):
        if self.process.poll() is not None:
            raise Skip(f"systemd cannot be started here: {self.process.stdout.read().strip()}")
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="utf-8") as file:
            self.pid = file.read().strip()
        if not self.pid or os.path.basename(os.readlink(f"/proc/{self.pid}/exe")) != "systemd":
            return False
        return self.run("systemctl", "is-system-running", check=False).stdout in ("running\n", "degraded\n")

    def run(self, *command, check=True):
        enter = ("nsenter", "-t", self.pid, "-p", "-m", "-C", "-u", "-i", "-n", "-r", "-w")
        env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "DEBIAN_FRONTEND": "noninteractive"}
        done = run(*enter, *command, env=env)
        if check:
            assert done.returncode == 0, f"{' '.join(command)}:\n{done.stdout}{done.stderr}"
        return done

    def show(self, unit, name):
        return self.run("systemctl", "show", unit, "--value", "-p", name).stdout.strip()

    def read(self, path):
        """As its first process sees it."""
        return self.run("cat", path).stdout

    def __exit__(self, *_):
        if self.process:
            self.process.kill()  # and with it the first process, and with that all others
            self.process.wait()
            self.process.stdout.close()
        deadline = time.monotonic() + 10
        while os.path.isdir(self.group) and time.monotonic() < deadline:
            for folder, _, _ in os.walk(self.group, topdown=False):
                with contextlib.suppress(OSError):  # its processes are on their way out
                    os.rmdir(folder)
            time.sleep(0.02)
        run("umount", self.cgroups)
        os.rmdir(self.cgroups)

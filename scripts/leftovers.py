"""What tests leave behind: temporary files, mounts, loop devices, processes.

A Watch looks when the tests begin and again when they have ended. Temporary files are those in a directory
of its own, which the tests get as TMPDIR; processes are orphans, which come to us because we say that we take
them.
"""

import ctypes
import glob
import os
import shutil
import tempfile
import time

PR_SET_CHILD_SUBREAPER = 36
# A process that was told to end, or whose parent just has, needs a moment.
GRACE_SECONDS = 5


def mounts():
    with open("/proc/self/mounts", encoding="utf-8", errors="replace") as file:
        return sorted(line.split()[1] for line in file)


def loop_devices():
    found = []
    for path in glob.glob("/sys/block/loop*/loop/backing_file"):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                found.append(f"{path.split('/')[3]} of {file.read().strip()}")
        except OSError:
            pass  # it went meanwhile
    return found


def children():
    """Those that nobody waits for; what has ended is laid to rest here."""
    found = []
    for stat in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(stat, encoding="utf-8", errors="replace") as file:
                pid, rest = file.read().split(" ", 1)
        except OSError:
            continue
        name, rest = rest[1:].rsplit(")", 1)
        state, parent = rest.split()[:2]
        if int(parent) != os.getpid():
            continue
        if state == "Z":
            try:
                os.waitpid(int(pid), os.WNOHANG)
            except ChildProcessError:
                pass
        else:
            found.append(f"{name} ({pid})")
    return found


class Watch:
    def __init__(self):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self.folder = tempfile.mkdtemp(prefix="berth-tests-")
        os.chmod(self.folder, 0o755)  # some tests go on without privileges
        os.environ["TMPDIR"] = self.folder
        self.mounts = mounts()
        self.loops = set(loop_devices())

    def complaints(self):
        """One line for each thing that is left; the files among them are then removed."""
        deadline = time.monotonic() + GRACE_SECONDS
        while children() and time.monotonic() < deadline:
            time.sleep(0.05)
        said = [f"process {name}" for name in children()]
        now = mounts()
        for target in self.mounts:
            if target in now:
                now.remove(target)
        said += [f"mount {target}" for target in now]
        said += [f"loop device {name}" for name in set(loop_devices()) - self.loops if self.folder in name]
        said += [f"file {name}" for name in sorted(os.listdir(self.folder))]
        if not any(target.startswith(self.folder) for target in now):
            shutil.rmtree(self.folder, ignore_errors=True)
        return said

"""What tests leave behind: temporary files, mounts, loop devices, processes.

A Watch looks when the tests begin and again when they have ended. Temporary files are those in a directory
of its own, which the tests get as TMPDIR; processes are orphans, which come to us because we say that we take
them.

The directory is in memory where it can be: the tests make and remove hundreds of thousands of files, and wait
for a disk longer than they compute. TMPDIR in the environment names another place, as in `make soak`.
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
IN_MEMORY = "/dev/shm"
MEMORY_BYTES_MIN = 4 << 30


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


def place_of_files():
    """Where temporary files are made; None for where the system makes them.

    In memory there must be room for files, programs and device nodes."""
    if os.environ.get("TMPDIR") or not os.path.ismount(IN_MEMORY) or not os.access(IN_MEMORY, os.W_OK):
        return None
    room = os.statvfs(IN_MEMORY)
    if room.f_flag & (os.ST_NOEXEC | os.ST_NODEV) or room.f_bavail * room.f_frsize < MEMORY_BYTES_MIN:
        return None
    return IN_MEMORY


class Watch:
    def __init__(self):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self.top = tempfile.mkdtemp(prefix="berth-", dir=place_of_files())
        self.folder = os.path.join(self.top, "tmp")  # the host path plugin deletes below /tmp/ only
        os.mkdir(self.folder)
        for path in (self.top, self.folder):
            os.chmod(path, 0o755)  # some tests go on without privileges
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
            shutil.rmtree(self.top, ignore_errors=True)
        return said

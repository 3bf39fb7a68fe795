"""An NFS server in the machine itself, which a test can stop and start: exports of the loopback address.

    with NfsServer() as server:
        server.export("/srv/a")
        with server.dead():
            ...

A stopped server does not answer and refuses connections; its clients wait for it. Started again, it lets
clients of NFS 4 reclaim what they had for GRACE_SECONDS.
"""

import contextlib
import glob
import os
import shutil

from harness import run
from server import await_that

GRACE_SECONDS = 10
THREADS = 4
TOP = "/srv/nfs"
ADDRESS = "127.0.0.1"
OPTIONS = "rw,no_root_squash,no_subtree_check,insecure"


def sh(*command, **options):
    """What a command prints that must succeed."""
    done = run(*command, **options)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


class NfsServer:
    """The one server of the machine: started once, by the first who needs it."""

    is_prepared = False

    def __enter__(self):
        self.prepare()
        self.start()
        return self

    @staticmethod
    def prepare():
        if not NfsServer.is_prepared:
            sh("modprobe", "nfsd")
            sh("modprobe", "-a", "nfsv3", "nfsv4")
            sh("mount", "-t", "nfsd", "nfsd", "/proc/fs/nfsd")
            sh("rpcbind", "-w")
            sh("rpc.mountd")
            NfsServer.is_prepared = True

    def __exit__(self, *_):
        self.start()  # what still waits for it must end first
        sh("exportfs", "-ua")
        shutil.rmtree(TOP, ignore_errors=True)

    @staticmethod
    def start():
        sh("rpc.nfsd", "-G", str(GRACE_SECONDS), "-L", str(GRACE_SECONDS), str(THREADS))

    @staticmethod
    def stop():
        sh("rpc.nfsd", "0")

    @contextlib.contextmanager
    def dead(self):
        """It does not answer meanwhile."""
        self.stop()
        try:
            yield
        finally:
            self.start()

    @staticmethod
    def export(name, options=OPTIONS):
        """A directory of the server, and where its clients find it."""
        path = os.path.join(TOP, name)
        os.makedirs(path, exist_ok=True)
        os.chmod(path, 0o777)
        sh("exportfs", "-o", options, f"{ADDRESS}:{path}")
        return path


@contextlib.contextmanager
def mounted(source, where, *options):
    """An export that somebody mounts by hand."""
    os.makedirs(where, exist_ok=True)
    sh("mount", "-t", "nfs", *options, f"{ADDRESS}:{source}", where)
    try:
        yield where
    finally:
        run("umount", "-l", where)


def is_running(name):
    """Whether there is a process of this name."""
    for path in glob.glob("/proc/[0-9]*/comm"):
        with contextlib.suppress(OSError), open(path, encoding="utf-8") as file:
            if file.read().strip() == name:
                return True
    return False


def is_stuck(pid):
    """Waits in the kernel for a server."""
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "D"
    return False


def await_stuck(pid):
    await_that(lambda: is_stuck(pid), 30, f"process {pid} waiting for the server")

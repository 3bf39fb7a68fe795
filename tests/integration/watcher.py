"""Whoever watches over a process, as systemd does: a socket that hears how it is.

    with Watcher() as watcher, Server(env=watcher.env()) as server:
        watcher.await_line("READY=1")
"""

import os
import shutil
import socket
import tempfile
import time


class Watcher:
    def __init__(self, path=None, abstract=False):
        """A path of its own, unless one is given; or an abstract name."""
        self.folder = None
        if abstract:
            self.name = f"@berth-watcher-{os.getpid()}"
        else:
            self.folder = None if path else tempfile.mkdtemp(prefix="berth-watcher-")
            self.name = path or os.path.join(self.folder, "sock")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.name.replace("@", "\0") if abstract else self.name)
        self.lines = []  # all that was said

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)

    def env(self, **more):
        return {**os.environ, "NOTIFY_SOCKET": self.name, **more}

    def hear(self, seconds=0.0):
        """Reads what has arrived, waiting for a first datagram so long; true when there was one."""
        self.socket.settimeout(seconds)
        try:
            self.lines += self.socket.recv(1 << 16).decode().splitlines()
            return True
        except (BlockingIOError, TimeoutError):
            return False

    def await_line(self, line, count=1, seconds=30):
        """Until the line was said so often."""
        deadline = time.monotonic() + seconds
        while self.lines.count(line) < count:
            left = deadline - time.monotonic()
            assert left > 0, f"'{line}' was not said {count} times in {seconds} s: {self.lines}"
            self.hear(left)
        while self.hear():
            pass

"""Programs on a terminal, as a person runs them: started on a pseudo terminal, typed to, and read."""

import contextlib
import fcntl
import os
import pty
import re
import select
import struct
import termios
import time

SECONDS_MAX = 90  # longer than a request may take: its end is seen too
ERASE = "\r\x1b[K"


class Terminal:
    """`with Terminal(["berth", "wait"]) as t: t.await_text("waiting"); t.type("\\x03"); t.end()`."""

    def __init__(self, command, env=None, columns=80, cwd=None):
        self.text = ""
        self.status = None
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            try:
                if cwd:
                    os.chdir(cwd)
                os.execvpe(command[0], command, {**os.environ, "TERM": "vt100", **(env or {})})
            finally:
                os._exit(127)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.status is None:
            os.kill(self.pid, 9)
            os.waitpid(self.pid, 0)
        os.close(self.fd)

    def type(self, text):
        os.write(self.fd, text.encode())

    def doing(self):
        """Where the kernel has the program: for who wonders why nothing comes."""
        said = []
        for name in ("stat", "wchan", "syscall"):
            with contextlib.suppress(OSError), open(f"/proc/{self.pid}/{name}", encoding="utf-8") as file:
                said.append(file.read().strip())
        return " | ".join(said)

    def read_some(self, deadline):
        """False at the end."""
        left = deadline - time.monotonic()
        assert left > 0, f"nothing more came, {self.doing()}: {self.text[-2000:]!r}"
        if not select.select([self.fd], [], [], left)[0]:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError:  # what a terminal says whose program has ended
            return False
        self.text += data.decode(errors="replace")
        return bool(data)

    def await_text(self, pattern, behind=0):
        """The match; it must come."""
        deadline = time.monotonic() + SECONDS_MAX
        while True:
            found = re.compile(pattern, re.S).search(self.text, behind)
            if found:
                return found
            assert self.read_some(deadline), f"no {pattern} in {self.text!r}"

    def end(self):
        """Reads until the program has ended; its status as wait() has it."""
        deadline = time.monotonic() + SECONDS_MAX
        while self.read_some(deadline):
            pass
        self.status = os.waitpid(self.pid, 0)[1]
        return self.status

    @property
    def screen(self):
        """What is left to see, lines that were drawn over left out."""
        lines = [line.split(ERASE)[-1] for line in self.text.split("\r\n")]
        return "\n".join(lines)

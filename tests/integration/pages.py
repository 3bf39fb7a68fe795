"""Runs the pages of the documentation as a reader does, and holds what is printed against what happens.

    with World() as world:
        world.follow("docs/tutorial.md")

What a page may say, so that it can be run:

- Blocks marked `console` are run, from top to bottom, in one shell: `$ ` begins a command, `> ` goes on with
  it, the other lines are what it prints. A command without such lines may print what it likes.
- In what it prints `…` stands for anything in a line, a line that is `…` alone for any number of lines, and
  an age (`5s`, `2m10s`) for any age. Two spaces or more are as good as any other two or more: columns have
  the width of their contents.
- A command must succeed, unless a comment after it says `# exits 1`.
- `<!-- keeps running -->` above a block: its one command has a terminal of its own. The next block comes once
  it has printed what the page shows; Ctrl-C ends it after the page.
- `<!-- as root -->`, `<!-- with kubectl -->` above a block: it is passed over where there is none.
- A block marked `yaml FILE` shows that file, or a piece of it.

Every page has a world of its own: a directory in which everything of the checkout is found but its data, and
a network in which every port is free, so that nothing of what is printed needs another word.
"""

import contextlib
import ctypes
import fcntl
import os
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time

from harness import ROOT, Skip, alone_with_the_build
from server import KUBECTL, await_that

CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWNET = 0x00020000, 0x10000000, 0x40000000
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
COMMAND_SECONDS_MAX = 120
PROVISIONED = "/tmp/hostpath_pv"
NOT_IN_A_WORLD = {".git", "data", "tutorial"}

FENCE = re.compile(r"^(```+|~~~+)\s*(.*)$")
COMMENT = re.compile(r"^<!-- (.*) -->$")
AGE = r"(?:\d+[smhd]){1,2}"


# --- Pages ---


class Block:
    def __init__(self, info, line, notes):
        self.info, self.line, self.notes, self.lines = info, line, notes, []


def blocks_of(text):
    """The fenced blocks of a page; their notes are in the comments that stand directly above."""
    found, open_with, notes = [], None, []
    for number, line in enumerate(text.splitlines(), 1):
        fence = FENCE.match(line.strip())
        if open_with and line.strip() == open_with:
            open_with = None
        elif open_with:
            found[-1].lines.append(line)
        elif fence:
            open_with = fence[1]
            found.append(Block(fence[2], number, notes))
            notes = []
        else:
            comment = COMMENT.match(line.strip())
            notes = [*notes, comment[1]] if comment else []
    assert not open_with, "a block has no end"
    return found


class Command:
    def __init__(self, text, line):
        self.text, self.line, self.prints = text, line, []

    @property
    def status(self):
        told = re.search(r"# exits (\d+)\s*$", self.text)
        return int(told[1]) if told else 0


def commands_of(block):
    found = []
    for number, line in enumerate(block.lines, block.line + 1):
        if line.startswith("$ "):
            found.append(Command(line[2:], number))
        elif found and not found[-1].prints and line.startswith("> "):
            found[-1].text += "\n" + line[2:]
        else:
            assert found, f"line {number}: printed before any command"
            found[-1].prints.append(line)
    return found


def pattern_of(line):
    pieces = []
    for piece in re.split(rf"(…| {{2,}}|\b{AGE}(?!\w))", line.rstrip()):
        if piece == "…":
            pieces.append(".*")
        elif re.fullmatch(AGE, piece):
            pieces.append(AGE)
        else:
            pieces.append(" {2,}" if re.fullmatch(" {2,}", piece) else re.escape(piece))
    return "".join(pieces) + r"[ \t]*\n"


def printed(lines):
    """The expression that matches what a page shows."""
    return re.compile("".join(r"(?:.*\n)*?" if line == "…" else pattern_of(line) for line in lines))


def is_as_shown(lines, output):
    if output and not output.endswith("\n"):
        output += "\n"
    return bool(printed(lines).fullmatch(output))


# --- Worlds ---


def set_loopback_up():
    with socket.socket() as s:
        request = struct.pack("16sH14s", b"lo", 0, b"")
        flags = struct.unpack("16sH14s", fcntl.ioctl(s, SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(s, SIOCSIFFLAGS, struct.pack("16sH14s", b"lo", flags | IFF_UP, b""))


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def enter_own_network():
    """Once a process: a network with a loopback alone, and for root mounts of its own and a place of its own
    for hostPath volumes."""
    if enter_own_network.is_done:
        return
    root, uid, gid = os.geteuid() == 0, os.geteuid(), os.getegid()
    flags = CLONE_NEWNET | (CLONE_NEWNS if root else CLONE_NEWUSER)
    if ctypes.CDLL(None, use_errno=True).unshare(flags) != 0:
        raise Skip("no network of our own")
    if root:
        os.makedirs(PROVISIONED, exist_ok=True)
        subprocess.run(["mount", "--make-rprivate", "/"], check=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=1777", "none", PROVISIONED], check=True)
    else:
        write("/proc/self/setgroups", "deny")
        write("/proc/self/uid_map", f"{uid} {uid} 1")
        write("/proc/self/gid_map", f"{gid} {gid} 1")
    set_loopback_up()
    enter_own_network.is_done = True


enter_own_network.is_done = False


class Terminal:
    """A command that keeps running, and what it has printed."""

    def __init__(self, command, world):
        self.output = b""
        self.terminal, end = os.openpty()
        os.set_blocking(self.terminal, False)
        self.process = subprocess.Popen(
            ["bash", "-c", command], cwd=world.folder, env=world.env, stdin=subprocess.DEVNULL,
            stdout=end, stderr=end, start_new_session=True,
        )
        os.close(end)

    def text(self):
        """Without lines that were written over, such as progress."""
        with contextlib.suppress(OSError):  # nothing more for now, or the other end is closed
            while more := os.read(self.terminal, 1 << 16):
                self.output += more
        text = self.output.decode(errors="replace").replace("\r\n", "\n")
        return re.sub(r"[^\n]*\r(\x1b\[K)?", "", text)

    def has_printed(self, lines):
        assert self.process.poll() is None, f"it ended:\n{self.text()}"
        return printed(lines).match(self.text())

    def interrupt(self):
        """Ctrl-C: everything in the terminal is told."""
        os.killpg(self.process.pid, signal.SIGINT)
        try:
            self.process.wait(timeout=15)
        finally:
            self.kill()

    def kill(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        os.close(self.terminal)


class Shell:
    """One bash for a page: what is set stays set."""

    MARK = "\x01done"

    def __init__(self, world):
        self.script = os.path.join(world.aside, "command")
        self.process = subprocess.Popen(
            ["bash", "--norc"], cwd=world.folder, env=world.env, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )

    def run(self, command):
        """(output, exit status)"""
        write(self.script, command + "\n")
        line = f". {self.script} </dev/null; printf '{self.MARK} %s\\n' $?\n"
        self.process.stdin.write(line.encode())
        self.process.stdin.flush()
        output, deadline = b"", time.monotonic() + COMMAND_SECONDS_MAX
        end = re.compile(self.MARK.encode() + rb" (\d+)\n$")
        while not end.search(output):
            left = deadline - time.monotonic()
            ready = select.select([self.process.stdout], [], [], max(left, 0))[0]
            assert ready, f"{command}: no end after {COMMAND_SECONDS_MAX} s: {output}"
            more = os.read(self.process.stdout.fileno(), 1 << 16)
            assert more, f"{command}: the shell ended: {output}"
            output += more
        found = end.search(output)
        return output[: found.start()].decode(errors="replace"), int(found[1])

    def kill(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class World:
    def __enter__(self):
        enter_own_network()
        self.exits = contextlib.ExitStack()
        self.exits.enter_context(alone_with_the_build())
        self.folder = tempfile.mkdtemp(prefix="berth-page-")
        self.aside = tempfile.mkdtemp(prefix="berth-aside-")
        for name in set(os.listdir(ROOT)) - NOT_IN_A_WORLD:
            os.symlink(os.path.join(ROOT, name), os.path.join(self.folder, name))
        kept = ("PATH", "TMPDIR", "USER", "CCACHE_DIR")
        self.env = {name: os.environ[name] for name in kept if name in os.environ}
        self.env.update(HOME=self.aside, LC_ALL="C.UTF-8")
        self.shell, self.terminals = Shell(self), []
        return self

    def __exit__(self, *_):
        self.shell.kill()
        for terminal in self.terminals:
            terminal.kill()
        if os.geteuid() == 0:
            self.unmount()
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.rmtree(self.aside, ignore_errors=True)
        self.exits.close()

    def unmount(self):
        """What a page that failed has left mounted: nothing may be removed through it."""
        with open("/proc/self/mounts", encoding="utf-8") as file:
            targets = [line.split()[1] for line in file]
        for target in reversed(targets):
            if target.startswith(self.folder + "/"):
                subprocess.run(["umount", "-l", target], check=False)

    def can_run(self, block):
        if "as root" in block.notes and os.geteuid() != 0:
            return False
        return "with kubectl" not in block.notes or bool(shutil.which(KUBECTL, path=self.env["PATH"]))

    def open_terminal(self, command):
        terminal = Terminal(command.text, self)
        self.terminals.append(terminal)
        try:
            await_that(lambda: terminal.has_printed(command.prints), COMMAND_SECONDS_MAX, "what is shown")
        except AssertionError as failure:
            raise AssertionError(f"{failure}\n{terminal.text()}") from None

    def close_terminals(self):
        while self.terminals:
            self.terminals.pop().interrupt()

    def run(self, command):
        output, status = self.shell.run(command.text)
        said = f"$ {command.text}\n{output}"
        assert status == command.status, f"exit status {status} from\n{said}"
        if command.prints:
            shown = "\n".join(command.prints)
            assert is_as_shown(command.prints, output), f"the page shows\n{shown}\n--- and this came:\n{said}"

    def follow(self, page, text=None):
        """Runs a page, or the part of it that is handed in."""
        if text is None:
            with open(os.path.join(ROOT, page), encoding="utf-8") as file:
                text = file.read()
        ran = 0
        for block in (b for b in blocks_of(text) if b.info == "console" and self.can_run(b)):
            for command in commands_of(block):
                try:
                    self.open_terminal(command) if "keeps running" in block.notes else self.run(command)
                except AssertionError as failure:
                    raise AssertionError(f"{page}:{command.line}: {failure}") from None
                ran += 1
        assert ran, f"{page}: nothing to run"
        self.close_terminals()

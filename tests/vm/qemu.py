"""A virtual machine of QEMU's software emulation, with an image of image.py.

    with Machine(image, disks, ["vm.suite=nfs"], console) as machine:
        for line in machine.lines(seconds_max=60):
            ...

The processor's virtualization is not used and /dev/kvm is not touched: where tests run it may be present and
not work. The disks are namespaces of one NVMe controller, for whose names the order of detection does not
matter: nvme0n1 is the root (what is written to it is lost), nvme0n2 and the next ones are those that are
given. The first serial line is the console; the second carries what the guest has to say.

The process ends with the context, and when its parent dies.
"""

import ctypes
import os
import select
import shutil
import signal
import socket
import subprocess
import time

KERNEL_WORDS = "quiet panic=-1 mitigations=off random.trust_cpu=on root=/dev/nvme0n1 rw init=/sbin/vm-init"
MEMORY_MIB = 1024
PROCESSORS = 2
PR_SET_PDEATHSIG = 1
LINE_BYTES_MAX = 1 << 16
FREE_BYTES_MIN = 64 << 20  # where the disks are: the guest would see errors without a cause
CHECK_SECONDS = 1.0
END_SECONDS_MAX = 20


class Failed(Exception):
    """Raised with the reason why the machine cannot go on."""


def end_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def program(image):
    """QEMU with its own libraries, modules and data: nothing of it is installed."""
    top = os.path.join(image, "qemu")
    usr = os.path.join(top, "usr")
    libraries = ":".join(os.path.join(usr, name) for name in ("lib/x86_64-linux-gnu", "lib"))
    command = [os.path.join(top, "lib64/ld-linux-x86-64.so.2"), "--library-path", libraries]
    command += [os.path.join(usr, "bin/qemu-system-x86_64")]
    for name in ("qemu", "seabios"):
        command += ["-L", os.path.join(usr, "share", name)]
    return command, {"QEMU_MODULE_DIR": os.path.join(usr, "lib/x86_64-linux-gnu/qemu")}


def disk_arguments(image, disks):
    arguments = ["-device", "nvme,id=nvme0,serial=berth"]
    paths = [(os.path.join(image, "root.img"), "snapshot=on"), *((path, "discard=unmap") for path in disks)]
    for number, (path, option) in enumerate(paths, 1):
        path = path.replace(",", ",,")
        arguments += ["-drive", f"if=none,id=disk{number},format=raw,file={path},{option}"]
        arguments += ["-device", f"nvme-ns,drive=disk{number},nsid={number}"]
    return arguments


class Machine:
    def __init__(self, image, folder, disks, words, console=None):
        """disks: raw files; words: for the kernel's command line; console: a file for what the kernel and
        programs print there, None for this terminal. Files of its own are in the folder."""
        self.folder = folder
        command, env = program(image)
        command += ["-nodefaults", "-no-user-config", "-M", "q35", "-accel", "tcg,thread=multi,tb-size=128"]
        command += ["-cpu", "max", "-smp", str(PROCESSORS), "-m", str(MEMORY_MIB)]
        command += ["-display", "none", "-vga", "none", "-nic", "none", "-no-reboot"]
        command += disk_arguments(image, disks)
        self.port, theirs = socket.socketpair()
        backend = f"file,path={console}" if console else "stdio,signal=off"
        command += ["-chardev", f"{backend},id=console", "-serial", "chardev:console"]
        command += ["-chardev", f"socket,fd={theirs.fileno()},id=port", "-serial", "chardev:port"]
        command += ["-kernel", os.path.join(image, "kernel")]
        command += ["-append", " ".join(["console=ttyS0", KERNEL_WORDS, *words])]
        self.command = command
        self.error_path = os.path.join(folder, "qemu.errors")
        with theirs, open(self.error_path, "wb") as errors:
            self.process = subprocess.Popen(
                command,
                env={**os.environ, **env, "TMPDIR": folder},  # of the snapshot
                stdin=None if console is None else subprocess.DEVNULL,
                stdout=None if console is None else errors,
                stderr=errors,
                pass_fds=[theirs.fileno()],
                start_new_session=console is not None,  # Ctrl-C is for the runner
                preexec_fn=end_with_parent,
            )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def kill(self):
        """As if the power had gone."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.port.close()

    def wait(self):
        """Until it has switched itself off."""
        try:
            self.process.wait(timeout=END_SECONDS_MAX)
        except subprocess.TimeoutExpired as reason:
            raise Failed(f"the machine did not switch itself off in {END_SECONDS_MAX} s") from reason

    def check(self, deadline):
        """Raises Failed for what would end in silence otherwise."""
        if time.monotonic() > deadline:
            raise Failed("the time limit has been reached")
        free = shutil.disk_usage(self.folder).free
        if free < FREE_BYTES_MIN:
            raise Failed(f"the disk of the host is full: {free >> 20} MiB are free in {self.folder}")

    def lines(self, deadline):
        """What the guest says, until the machine ends."""
        pending = b""
        while True:
            self.check(deadline)
            if not select.select([self.port], [], [], CHECK_SECONDS)[0]:
                continue
            data = self.port.recv(4096)
            if not data:
                return
            pending += data
            *whole, pending = pending.split(b"\n")
            if len(pending) > LINE_BYTES_MAX:
                raise Failed("the guest sent a line without an end")
            for line in whole:
                yield line.decode("utf-8", "replace").rstrip("\r")

    def errors(self):
        with open(self.error_path, encoding="utf-8", errors="replace") as file:
            return file.read()

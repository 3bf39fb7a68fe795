"""The system of the virtual machine: a kernel, QEMU and a root file system, made of packages of the host's
distribution.

apt downloads the packages and nothing installs them: apt has a state directory of its own, and the packages
are extracted, without their scripts. What the scripts would have made and the tests need, prepare_tree()
makes.

Everything is in the cache, $XDG_CACHE_HOME/berth/vm or ~/.cache/berth/vm:

    apt/          apt's package lists and the packages
    packages      the versions in use, chosen anew after SELECTION_SECONDS_MAX if the network allows it
    KEY/          kernel, qemu/, root.img: KEY is a digest of these versions and of this file

A run that uses an image holds a shared lock on its directory; images that nobody uses are removed when a new
one is made. Two runs that need the same new image make it once: the second waits for the first.
"""

import contextlib
import fcntl
import glob
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import tempfile
import time

QEMU_PACKAGES = ["qemu-system-x86"]
KERNEL_PACKAGE = "linux-image-cloud-amd64"
GUEST_PACKAGES = [
    KERNEL_PACKAGE,
    "base-files", "base-passwd", "bash", "busybox-static", "coreutils", "dash", "findutils", "gawk", "grep",
    "iproute2", "kmod", "libc-bin", "libpython3-stdlib", "mount", "netbase", "procps", "python3-minimal",
    "sed", "udev", "util-linux",
    "btrfs-progs", "dmsetup", "e2fsprogs", "lvm2", "quota", "thin-provisioning-tools", "xfsprogs",
    "nfs-common", "nfs-kernel-server", "rpcbind",
    "curl", "libcmocka0", "libjansson4",
]
SELECTION_SECONDS_MAX = 30 * 24 * 3600
CACHE_BYTES_MIN = 3 << 30  # free, to make an image
ROOT_IMAGE_BYTES = 4 << 30  # sparse
COMMAND_SECONDS_MAX = 600
SYSTEM_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/bin:/sbin:/bin"
LEFT_OUT = [f"./usr/share/{name}" for name in ("bug", "doc", "info", "lintian", "locale", "man", "perl")]

# The first process of the machine. It mounts the second disk, which has the tests of this run, and leaves the
# rest to them.
INIT = """#!/bin/bash
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/root
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mountpoint -q /dev || mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm
ln -snf /proc/self/fd /dev/fd
for name in 0:stdin 1:stdout 2:stderr; do
    ln -sf "fd/${name%:*}" "/dev/${name#*:}"
done
mount -t devpts -o ptmxmode=666 devpts /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/lock /run/lvm /run/rpcbind
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -o ro /dev/nvme0n2 /berth
exec /berth/tests/vm/guest/start
"""

ETC = {
    "exports": "",
    "fstab": "",
    "hostname": "vm\n",
    "hosts": "127.0.0.1 localhost vm nfs-server.example.com\n::1 localhost\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\nservices: files\nprotocols: files\n"
    "rpc: files\nnetgroup: files\n",
    # Without udev, LVM makes the device nodes itself.
    "lvm/lvmlocal.conf": "activation { udev_sync=0 udev_rules=0 monitoring=0 }\n"
    "devices { use_devicesfile=0 obtain_device_list_from_udev=0 }\n",
}
DIRECTORIES = [
    "berth", "dev", "mnt", "proc", "root", "run", "srv", "sys", "tmp", "var/tmp",
    *(f"var/lib/nfs/{name}" for name in ("sm", "sm.bak", "v4recovery", "rpc_pipefs")),
]
LINKS = {"etc/mtab": "/proc/self/mounts", "usr/bin/awk": "gawk", "var/run": "/run", "var/lock": "/run/lock"}
USERS = """_rpc:x:100:65534::/run/rpcbind:/usr/sbin/nologin
statd:x:101:65534::/var/lib/nfs:/usr/sbin/nologin
"""


class Unavailable(Exception):
    """Raised with the reason why there can be no machine here."""


def run(*command, **options):
    """What a command prints that must succeed."""
    options.setdefault("timeout", COMMAND_SECONDS_MAX)
    options.setdefault("stdin", subprocess.DEVNULL)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    try:
        done = subprocess.run(command, text=True, errors="replace", check=False, **pipes, **options)
    except subprocess.TimeoutExpired as late:
        raise OSError(f"{' '.join(command[:2])} did not end in {late.timeout} s") from late
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise OSError(f"{' '.join(command[:2])}: {said[-1] if said else f'exit status {done.returncode}'}")
    return done.stdout


def cache_directory():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "berth", "vm")


def check_host():
    """Raises Unavailable where no machine can run, image or not."""
    if os.geteuid() != 0:
        raise Unavailable("making the disks of a virtual machine needs root")
    if platform.machine() != "x86_64":
        raise Unavailable(f"the virtual machine is an x86-64 one, and this is {platform.machine()}")
    for name in ("apt-get", "dpkg-deb", "dpkg-query", "mke2fs", "tar", "ldd"):
        if not shutil.which(name, path=SYSTEM_PATH):
            raise Unavailable(f"the virtual machine is made of Debian packages, and there is no {name} here")


def check_room(folder, needed, what):
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise Unavailable(f"{what} needs {needed >> 20} MiB in {folder}, and {free >> 20} MiB are free")


def libraries_of(programs):
    """The names of the libraries that these programs need, as the linker knows them."""
    return sorted(set(re.findall(r"^\s+(\S+\.so[.\d]*) => /", run("ldd", *programs), re.M)))


def packages_of(libraries):
    """The packages of the host that have these libraries."""
    found = set()
    for line in run("dpkg-query", "-S", *(f"*/{name}" for name in libraries)).splitlines():
        package, path = line.split(": ", 1)
        is_system = re.fullmatch(r"(/usr)?/lib/[^/]*-linux-gnu/[^/]+", path)
        if is_system and not package.startswith("diversion by "):
            found.add(package.split(":")[0])
    return sorted(found)


# --- Packages ---


class Apt:
    """apt with lists, archives and an empty list of installed packages of its own."""

    def __init__(self, folder):
        self.folder = folder
        self.archives = os.path.join(folder, "archives")
        for name in ("lists/partial", "archives/partial", "none/partial", "cache"):
            os.makedirs(os.path.join(folder, name), exist_ok=True)
        status = os.path.join(folder, "status")
        with open(status, "w", encoding="utf-8"):
            pass
        options = {
            "Dir::State": folder,
            "Dir::State::lists": os.path.join(folder, "lists"),
            "Dir::State::status": status,
            "Dir::Cache": os.path.join(folder, "cache"),
            "Dir::Cache::archives": self.archives,
            "Debug::NoLocking": "1",
            "APT::Sandbox::User": "root",
            "APT::Install-Recommends": "0",
            "Acquire::Retries": "1",
            "Acquire::http::Timeout": "15",
            "Acquire::https::Timeout": "15",
        }
        self.options = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]

    def get(self, *arguments):
        env = {**os.environ, "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
        return run("apt-get", "-q", "-y", *self.options, *arguments, env=env)

    def select(self, packages):
        """NAME_VERSION_ARCHITECTURE.deb of these packages and of those that they depend on."""
        none = f"Dir::Cache::archives={self.folder}/none"  # apt leaves out those that it has
        text = self.get("-o", none, "install", "--print-uris", *packages)
        return sorted(re.findall(r"^'[^']+' (\S+\.deb) ", text, re.M))

    def download(self, packages):
        self.get("install", "--download-only", *packages)


def read_selection(path, wanted, seconds_max):
    """The versions chosen earlier; None when there are none for these packages, or when they are too old."""
    try:
        with open(path, encoding="utf-8") as file:
            chosen = json.load(file)
        is_recent = time.time() - os.path.getmtime(path) < seconds_max
    except (OSError, ValueError):
        return None
    return chosen if is_recent and chosen["wanted"] == wanted else None


def write_selection(path, chosen):
    with open(f"{path}.new", "w", encoding="utf-8") as file:
        json.dump(chosen, file, indent=1)
    os.replace(f"{path}.new", path)


def digest_of(chosen):
    with open(__file__, "rb") as file:
        return hashlib.sha256(file.read() + json.dumps(chosen, sort_keys=True).encode()).hexdigest()[:16]


# --- The image ---


def extract(archives, names, tree):
    """Directories that are links stay links: /lib of a package goes to /usr/lib."""
    for name in names:
        left_out = [f"--exclude={path}" for path in LEFT_OUT]
        command = ["tar", "-x", "-C", tree, "--keep-directory-symlink", *left_out]
        with subprocess.Popen(
            ["dpkg-deb", "--fsys-tarfile", os.path.join(archives, name)], stdout=subprocess.PIPE
        ) as package:
            run(*command, stdin=package.stdout)
        if package.returncode != 0:
            raise OSError(f"cannot read package {name}")


def make_links(tree):
    """The directories of the root that are in /usr."""
    for name in ("bin", "sbin", "lib", "lib64"):
        os.makedirs(os.path.join(tree, "usr", name), exist_ok=True)
        os.symlink(os.path.join("usr", name), os.path.join(tree, name))


def write_file(tree, path, text, mode=0o644):
    path = os.path.join(tree, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)


def read_master(tree, name):
    with open(os.path.join(tree, "usr/share/base-passwd", f"{name}.master"), encoding="utf-8") as file:
        return file.read()


def prepare_tree(tree):
    """What the scripts of the packages would have made."""
    for name in DIRECTORIES:
        os.makedirs(os.path.join(tree, name), exist_ok=True)
    for name in ("tmp", "var/tmp"):
        os.chmod(os.path.join(tree, name), 0o1777)
    for name in ("etab", "rmtab", "state"):
        write_file(tree, f"var/lib/nfs/{name}", "")
    for name, text in ETC.items():
        write_file(tree, f"etc/{name}", text)
    write_file(tree, "etc/passwd", read_master(tree, "passwd") + USERS)
    write_file(tree, "etc/group", read_master(tree, "group"))
    write_file(tree, "sbin/vm-init", INIT, 0o755)
    for path, target in LINKS.items():
        path = os.path.join(tree, path)
        if not os.path.lexists(path):
            os.symlink(target, path)
    version = os.listdir(os.path.join(tree, "lib/modules"))[0]
    run("chroot", tree, "/sbin/depmod", version)
    run("chroot", tree, "/sbin/ldconfig")


def make_file_system(tree, path, size, *options):
    """An ext4 file system of this size with the content of the directory."""
    with open(path, "wb") as file:
        file.truncate(size)
    env = {**os.environ, "PATH": SYSTEM_PATH}
    run("mke2fs", "-q", "-F", "-t", "ext4", *options, "-d", tree, path, env=env)


def build(archives, chosen, folder):
    """Makes kernel, qemu/ and root.img in the folder."""
    qemu, tree = os.path.join(folder, "qemu"), os.path.join(folder, "tree")
    for top, names in ((qemu, chosen["qemu"]), (tree, chosen["guest"])):
        os.mkdir(top)
        make_links(top)
        extract(archives, names, top)
    prepare_tree(tree)
    kernel = glob.glob(os.path.join(tree, "boot", "vmlinuz-*"))[0]
    os.rename(kernel, os.path.join(folder, "kernel"))
    shutil.rmtree(os.path.join(tree, "boot"))
    make_file_system(tree, os.path.join(folder, "root.img"), ROOT_IMAGE_BYTES, "-O", "^has_journal")
    shutil.rmtree(tree)


# --- The cache ---


@contextlib.contextmanager
def locked(path, how=fcntl.LOCK_EX):
    """The file or directory is locked meanwhile. BlockingIOError with LOCK_NB, if it cannot be."""
    fd = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(fd, how)
        yield
    finally:
        os.close(fd)


def remove_unused(cache, key):
    """Images of other versions that no run uses, and what builds that did not end have left."""
    for path in glob.glob(os.path.join(cache, "*")):
        name = os.path.basename(path)
        if name != key and re.fullmatch(r"[0-9a-f]{16}(\.new.*)?", name):
            with contextlib.suppress(BlockingIOError), locked(path, fcntl.LOCK_EX | fcntl.LOCK_NB):
                shutil.rmtree(path, ignore_errors=True)


def remove_old_archives(archives, chosen):
    for name in os.listdir(archives):
        if name.endswith(".deb") and name not in {*chosen["qemu"], *chosen["guest"]}:
            os.unlink(os.path.join(archives, name))


def select(cache, wanted, say):
    """The files of "qemu" and "guest" to use. Without network, those of the last time."""
    path = os.path.join(cache, "packages")
    chosen = read_selection(path, wanted, SELECTION_SECONDS_MAX)
    if chosen:
        return chosen
    check_room(cache, CACHE_BYTES_MIN, "making the virtual machine")
    say("choosing packages")
    apt = Apt(os.path.join(cache, "apt"))
    try:
        apt.get("update", "--error-on=any")
    except OSError as reason:
        chosen = read_selection(path, wanted, seconds_max=float("inf"))
        if chosen:
            return chosen
        # One source of several may have failed.
        say(f"cannot update all package lists: {reason}")
    try:
        packages = {"qemu": wanted["qemu"], "guest": [*wanted["guest"], *packages_of(wanted["libraries"])]}
        chosen = {name: apt.select(names) for name, names in packages.items()}
    except OSError as reason:
        raise Unavailable(f"no packages for the virtual machine: {reason}") from reason
    chosen.update(wanted=wanted, packages=packages)
    write_selection(path, chosen)
    return chosen


def make(cache, key, chosen, say):
    check_room(cache, CACHE_BYTES_MIN, "making the virtual machine")
    apt = Apt(os.path.join(cache, "apt"))
    say("downloading packages")
    try:
        for name in ("qemu", "guest"):
            if not all(os.path.exists(os.path.join(apt.archives, file)) for file in chosen[name]):
                apt.download(chosen["packages"][name])
    except OSError as reason:
        os.unlink(os.path.join(cache, "packages"))  # the mirror may have newer ones
        raise Unavailable(f"no packages for the virtual machine: {reason}") from reason
    say("making the image")
    remove_unused(cache, key)
    folder = tempfile.mkdtemp(prefix=f"{key}.new", dir=cache)
    try:
        with locked(folder):
            os.chmod(folder, 0o755)
            build(apt.archives, chosen, folder)
            os.rename(folder, os.path.join(cache, key))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    remove_old_archives(apt.archives, chosen)


@contextlib.contextmanager
def image(programs, say):
    """The directory with kernel, qemu/ and root.img for a guest that can run these programs; made if there is
    none. It stays while the context lasts."""
    check_host()
    cache = cache_directory()
    os.makedirs(cache, exist_ok=True)
    wanted = {"qemu": QEMU_PACKAGES, "guest": GUEST_PACKAGES, "libraries": libraries_of(programs)}
    with contextlib.ExitStack() as uses:
        with locked(cache):
            chosen = select(cache, wanted, say)
            key = digest_of(chosen)
            folder = os.path.join(cache, key)
            if not os.path.isdir(folder):
                make(cache, key, chosen, say)
            uses.enter_context(locked(folder, fcntl.LOCK_SH))
        yield folder

#!/usr/bin/env python3
"""A clean Debian made by debootstrap, kept as an archive in build/deb/cache: a second use needs no network.

    tests/integration/debian.py trixie    makes the archive if there is none, and prints its path
"""

import contextlib
import glob
import os
import re
import shutil
import stat
import sys
import tempfile
import urllib.request

sys.dont_write_bytecode = True
from harness import ROOT, Skip, run  # noqa: E402

CACHE = os.path.join(ROOT, "build", "deb", "cache")
SECONDS_MAX = 600


def host_suite():
    """The Debian of this machine; bookworm where it is none."""
    with contextlib.suppress(OSError), open("/etc/os-release", encoding="utf-8") as file:
        text = file.read()
        found = re.search(r"^VERSION_CODENAME=(\w+)$", text, re.M)
        if found and re.search(r"^ID=debian$", text, re.M):
            return found.group(1)
    return "bookworm"


def mirror():
    """Where this machine gets its packages from."""
    for path in ("/etc/apt/sources.list", *sorted(glob.glob("/etc/apt/sources.list.d/*"))):
        with contextlib.suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
            found = re.search(r"^(?:URIs:|deb(?: \[.*\])?) *(https?://\S+/debian)/?\s", file.read(), re.M)
            if found:
                return found.group(1)
    raise Skip("the package sources of this machine name no Debian mirror")


def check_devices(folder):
    try:
        os.mknod(os.path.join(folder, "null"), 0o600 | stat.S_IFCHR, os.makedev(1, 3))
        with open(os.path.join(folder, "null"), "wb"):
            os.unlink(os.path.join(folder, "null"))
    except OSError as reason:
        raise Skip(f"no devices can be made in {folder}: {reason}") from reason


def make_base(suite, archive):
    if not shutil.which("debootstrap"):
        raise Skip("there is no debootstrap here")
    url = mirror()
    try:
        urllib.request.urlopen(f"{url}/dists/{suite}/Release", timeout=30).close()
    except OSError as reason:
        raise Skip(f"no Debian mirror can be reached: {url}: {reason}") from reason
    os.makedirs(CACHE, exist_ok=True)
    folder = tempfile.mkdtemp(prefix="berth-base-")
    try:
        check_devices(folder)
        done = run("debootstrap", "--variant=minbase", suite, folder, url, timeout=SECONDS_MAX)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr
        for command in (("clean",), ("-q", "update")):
            done = run("chroot", folder, "apt-get", *command, timeout=SECONDS_MAX)
            assert done.returncode == 0, done
        command = ("tar", "-C", folder, "--one-file-system", "-cf", archive + ".new", ".")
        done = run(*command, timeout=SECONDS_MAX)
        assert done.returncode == 0, done
        os.rename(archive + ".new", archive)
    finally:
        run("rm", "-rf", "--one-file-system", folder)


def base(suite):
    """The archive of a clean system; made when there is none."""
    if os.geteuid() != 0:
        raise Skip("debootstrap needs root")
    archive = os.path.join(CACHE, f"{suite}.tar")
    if not os.path.exists(archive):
        make_base(suite, archive)
    return archive


if __name__ == "__main__":
    try:
        print(base(sys.argv[1]))
    except Skip as reason:
        print(reason, file=sys.stderr)
        sys.exit(77)

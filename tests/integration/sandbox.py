#!/usr/bin/env python3
"""Runs a command in the sandbox of a systemd unit, as far as it goes without systemd.

    sandbox.py berth.service[,drop-in.conf] COMMAND...

Applied are NoNewPrivileges, CapabilityBoundingSet, SystemCallFilter, RestrictAddressFamilies, User (somebody
for DynamicUser) and MemoryDenyWriteExecute: what a program's children inherit, too. The sets of system calls
are those of this machine's systemd-analyze, the numbers those of its headers.
"""

import ctypes
import json
import os
import re
import socket
import struct
import subprocess
import sys

PR_CAPBSET_DROP, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, PR_SET_MDWE = 24, 22, 38, 65
SECCOMP_MODE_FILTER = 2
RET_ALLOW, RET_ERRNO = 0x7FFF0000, 0x00050000
EPERM, EAFNOSUPPORT = 1, 97
LOAD, JUMP_EQUAL, RETURN = 0x20, 0x15, 0x06
NOBODY = 65534


NUMBERS_FILE = "SANDBOX_SYSTEM_CALL_NUMBERS"


def read_unit(*paths):
    """{setting: [values]} of its [Service] section; an empty value forgets those before it."""
    settings = {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for line in file:
                name, is_setting, value = line.strip().partition("=")
                if not is_setting or line.startswith("#"):
                    continue
                settings[name] = [*settings.get(name, []), value] if value else []
    return settings


def is_on(settings, name):
    return (settings.get(name) or ["no"])[-1] == "yes"


def system_call_set(name):
    """The system calls of an "@set", or of a name that is none."""
    if not name.startswith("@"):
        return {name}
    command = ["systemd-analyze", "syscall-filter", name]
    env = {n: v for n, v in os.environ.items() if n != "NOTIFY_SOCKET"}  # 257 would write to the server's
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    words = [line.split("#")[0].strip() for line in done.stdout.splitlines()[1:]]
    return set().union(*(system_call_set(word) for word in words if word))


def allowed_system_calls(lines):
    """Of the lines of SystemCallFilter: an allow-list from which "~" takes away."""
    allowed = system_call_set("@default")
    for line in lines:
        for word in line.lstrip("~").split():
            calls = system_call_set(word)
            allowed = allowed - calls if line.startswith("~") else allowed | calls
    return allowed


def system_call_numbers():
    if NUMBERS_FILE in os.environ:  # the compiler may be hidden where this runs
        with open(os.environ[NUMBERS_FILE], encoding="utf-8") as file:
            return json.load(file)
    text = "#include <asm/unistd.h>\n"
    done = subprocess.run(["cc", "-E", "-dM", "-"], input=text, capture_output=True, text=True, check=True)
    return {n: int(v) for n, v in re.findall(r"^#define __NR_(\w+) (\d+)$", done.stdout, re.M)}


def instruction(code, k, yes=0, no=0):
    return struct.pack("HBBI", code, yes, no, k)


def socket_filter(number, families):
    """Ends the program for the system call socket: its first argument decides."""
    program = [instruction(LOAD, 16)]
    for name in families:
        program += [instruction(JUMP_EQUAL, getattr(socket, name), 0, 1), instruction(RETURN, RET_ALLOW)]
    program.append(instruction(RETURN, RET_ERRNO | EAFNOSUPPORT))
    return [instruction(JUMP_EQUAL, number, 0, len(program)), *program]


def build_filter(names, families):
    numbers = system_call_numbers()
    program = [instruction(LOAD, 0)]
    if families:
        program += socket_filter(numbers["socket"], families)
    for name in sorted(names & numbers.keys()):
        program += [instruction(JUMP_EQUAL, numbers[name], 0, 1), instruction(RETURN, RET_ALLOW)]
    return [*program, instruction(RETURN, RET_ERRNO | EPERM)]


def prctl(*arguments):
    libc = ctypes.CDLL(None, use_errno=True)
    return libc.prctl(*(ctypes.c_ulong(a) for a in arguments), *([ctypes.c_ulong(0)] * (5 - len(arguments))))


def limit_capabilities(lines):
    """Of all lines together; "~" keeps all."""
    kept = set(" ".join(lines).split())
    with open("/usr/include/linux/capability.h", encoding="utf-8") as file:
        known = dict(re.findall(r"^#define (CAP_\w+)\s+(\d+)$", file.read(), re.M))
    for name, number in known.items():
        if name not in kept:
            prctl(PR_CAPBSET_DROP, int(number))


def install_filter(program):
    code = ctypes.create_string_buffer(b"".join(program))
    head = ctypes.create_string_buffer(struct.pack("HL", len(program), ctypes.addressof(code)))
    assert prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(head)) == 0, "no filter"


def enter(settings):
    program = None
    if settings.get("SystemCallFilter"):
        families = " ".join(settings.get("RestrictAddressFamilies", [])).split()
        program = build_filter(allowed_system_calls(settings["SystemCallFilter"]), families)
    if "CapabilityBoundingSet" in settings:
        limit_capabilities(settings["CapabilityBoundingSet"])
    if is_on(settings, "DynamicUser"):
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    if is_on(settings, "NoNewPrivileges") or program:
        assert prctl(PR_SET_NO_NEW_PRIVS, 1) == 0
    if is_on(settings, "MemoryDenyWriteExecute"):
        prctl(PR_SET_MDWE, 1)  # from Linux 6.3 on
    if program:
        install_filter(program)


if __name__ == "__main__":
    enter(read_unit(*sys.argv[1].split(",")))
    os.execvp(sys.argv[2], sys.argv[2:])

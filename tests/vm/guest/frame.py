"""The frame of a suite in the virtual machine: functions named test_* run in order, each a TAP line.

    @short                 it runs in `make test` too
    @after(REBOOT)         the machine is restarted before this test: all before it have ended
    @after(CUT)            the same without a warning: what was not written to a disk is lost
    @after(CUT, load)      load() runs before it, says when the power goes (announce_cut), and never returns

With an argument only the tests whose name contains it run. The runner restarts the machine; each start runs
the tests that come next. Only the disks that a suite was given survive that.
"""

import os
import sys
import time

from harness import run_test

REBOOT, CUT = "reboot", "cut"
BOOT = int(os.environ["VM_boot"])
IS_SHORT = os.environ.get("VM_short") == "1"


def short(function):
    function.is_short = True
    return function


def after(how, load=None):
    def mark(function):
        function.begins_with = load or (lambda: say(how))
        return function

    return mark


def say(words):
    """To the runner."""
    print(f"vm: {words}", flush=True)


def announce_cut(seconds):
    """The power goes so long after this."""
    say(f"{CUT} {seconds}")


def starts_of(tests):
    """[[(number, name, function)]] of each start, and [what restarts the machine after it]"""
    starts, restarts = [[]], []
    for number, (name, function) in enumerate(tests, 1):
        if hasattr(function, "begins_with"):
            restarts.append(function.begins_with)
            starts.append([])
        starts[-1].append((number, name, function))
    return starts, [*restarts, lambda: None]


def main(names):
    case = sys.argv[1] if len(sys.argv) > 1 else ""
    tests = [
        (name[len("test_") :], function)
        for name, function in names.items()
        if name.startswith("test_") and case in name and (not IS_SHORT or hasattr(function, "is_short"))
    ]
    starts, restarts = starts_of(tests)
    if BOOT == 1:
        print(f"1..{len(tests)}", flush=True)
    passed = True
    for number, name, function in starts[BOOT - 1]:
        begin = time.monotonic()
        passed = run_test(number, name, function) and passed
        print(f"# {name}: {time.monotonic() - begin:.1f} s", flush=True)
    restarts[BOOT - 1]()
    sys.exit(0 if passed else 1)

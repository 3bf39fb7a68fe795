"""The frame of an integration test: functions named test_* run in order, each a TAP line.

    from harness import berth, main
    def test_version():
        assert berth("version").stdout == "berth 0.1.0\\n"
    main(globals())

With an argument only the tests whose name contains it run: tests/integration/test_cli version

BERTH and BERTH_ROOT come from scripts/test; by hand the release build of this checkout serves.
"""

import contextlib
import ctypes
import fcntl
import os
import signal
import subprocess
import sys
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.environ.get("BERTH_ROOT") or os.path.dirname(os.path.dirname(HERE))
BERTH = os.environ.get("BERTH") or os.path.join(ROOT, "build", "release", "src", "berth")
SECONDS_MAX = 120
CLONE_NEWNS = 0x00020000


class Skip(Exception):
    """Raised with the reason why a test cannot run here."""


def run(*command, **options):
    """A finished process with its stdout and stderr as text."""
    options.setdefault("cwd", ROOT)
    options.setdefault("timeout", SECONDS_MAX)
    if "input" not in options:
        options.setdefault("stdin", subprocess.DEVNULL)
    options.setdefault("stdout", subprocess.PIPE)
    options.setdefault("stderr", subprocess.PIPE)
    return subprocess.run(command, text=True, errors="replace", check=False, **options)


def berth(*arguments, **options):
    return run(BERTH, *arguments, **options)


@contextlib.contextmanager
def alone_with_the_build():
    """For tests that call make: one that sets the build up anew would take it away from under another."""
    folder = os.open(os.path.join(ROOT, "build"), os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def enter_own_mounts():
    """A mount namespace for this process and those it starts. A Skip where there can be none."""
    if os.geteuid() != 0:
        raise Skip("mounting needs root")
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS) != 0:
        raise Skip("no mount namespace of our own")
    done = run("mount", "--make-rprivate", "/")
    if done.returncode != 0:  # in a chroot that is no mount point, for example
        raise Skip(f"no private mounts: {done.stderr.strip().splitlines()[0]}")


def run_test(number, name, function):
    """True unless it failed."""
    try:
        function()
    except Skip as reason:
        print(f"ok {number} - {name} # SKIP {reason}", flush=True)
    except Exception:  # whatever a test runs into is its failure, and the next one runs all the same
        print("".join(f"# {line}\n" for line in traceback.format_exc().splitlines()), end="")
        print(f"not ok {number} - {name}", flush=True)
        return False
    else:
        print(f"ok {number} - {name}", flush=True)
    return True


def main(names):
    # Where tests are run in the background it may be ignored, and what is started here would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    case = sys.argv[1] if len(sys.argv) > 1 else ""
    tests = [name for name in names if name.startswith("test_") and case in name]
    print(f"1..{len(tests)}", flush=True)
    passed = [run_test(number, name[len("test_") :], names[name]) for number, name in enumerate(tests, 1)]
    sys.exit(0 if all(passed) else 1)

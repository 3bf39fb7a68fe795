"""Pods, claims and volumes of a node's server as they are now, and waits for what becomes of them. A wait
that fails shows the object and the server's log."""

import contextlib

from server import await_that

LOG_LINES_SHOWN = 100
SECONDS_MAX = 30  # times the patience of server.py


@contextlib.contextmanager
def explained(node, shown):
    """A wait that fails says why: shown() and the log without its requests."""
    try:
        yield
    except AssertionError as why:
        log = [line for line in node.log.splitlines() if " DEBUG request " not in line]
        last = "\n".join(log[-LOG_LINES_SHOWN:])
        raise AssertionError(f"{why}: {shown()}\n{last}") from None


def stored(node, kind, name):
    """The object as it is now; None when there is none."""
    where = "persistentvolumes" if kind == "pv" else "namespaces/default/persistentvolumeclaims"
    answer = node.get(f"/api/v1/{where}/{name}")
    return answer.json if answer.status == 200 else None


def phase(node, kind, name):
    return (stored(node, kind, name) or {}).get("status", {}).get("phase")


def volume_of(node, claim):
    return stored(node, "pvc", claim)["spec"]["volumeName"]


def begin_deletion(node, kind, name):
    node.kubectl("delete", kind, name, "--wait=false")


def await_phase(node, kind, name, wanted, seconds=SECONDS_MAX):
    with explained(node, lambda: stored(node, kind, name)):
        await_that(lambda: phase(node, kind, name) == wanted, seconds, f"{kind} {name} {wanted}", pause=0.1)


def await_no_volume(node, name, seconds=SECONDS_MAX):
    with explained(node, lambda: stored(node, "pv", name)):
        await_that(lambda: not stored(node, "pv", name), seconds, f"the end of volume {name}", pause=0.1)


def await_pod(node, name, seconds=SECONDS_MAX):
    """Until its volumes are ready."""
    with explained(node, lambda: node.events(name)):
        await_that(lambda: node.is_ready_pod(name), seconds, f"pod {name} ready", pause=0.1)


def await_no_pod(node, name, seconds=SECONDS_MAX):
    with explained(node, lambda: node.events(name)):
        await_that(lambda: node.pod(name) is None, seconds, f"the end of pod {name}", pause=0.1)

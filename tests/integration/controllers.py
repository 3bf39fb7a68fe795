"""A real `berth controllers` for a test, or another component in front of a server, and kubeconfigs for it.

    with Server(tls=True) as server, Controllers(kubeconfig=server.kubeconfig) as controllers:
        controllers.await_ready()
        stops(controllers)
"""

import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

from harness import BERTH
from server import await_that, free_port

# What would name another server, or another way to it.
NOT_INHERITED = r"KUBE|(https?|all|no)_proxy$"


class Controllers:
    """A process with a monitor; its log is kept."""

    def __init__(self, *flags, kubeconfig=None, env=None, through=(), verb="controllers", program=BERTH):
        """Started through the words of another command, when they are given."""
        self.verb = verb
        self.port = free_port()
        self.folder = tempfile.mkdtemp(prefix="berth-controllers-")
        self.log_path = os.path.join(self.folder, "log")
        command = [*through, program, verb, "--metrics", f"127.0.0.1:{self.port}", *flags]
        if kubeconfig:
            command += ["--kubeconfig", kubeconfig]
        environment = {n: v for n, v in os.environ.items() if not re.match(NOT_INHERITED, n, re.I)}
        environment["HOME"] = self.folder
        environment.update(env or {})
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment
            )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def log(self):
        with open(self.log_path, errors="replace") as f:
            return f.read().replace('\\"', '"')  # quotes within quotes

    def get(self, path):
        """Status and text; (0, "") while nobody listens."""
        try:
            with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)) as c:
                c.request("GET", path)
                response = c.getresponse()
                return response.status, response.read().decode()
        except (OSError, http.client.HTTPException):
            return 0, ""

    def is_ready(self):
        status = self.process.poll()
        assert status is None, f"berth {self.verb} ended with {status}:\n{self.log}"
        return self.get("/readyz")[0] == 200

    def await_ready(self):
        await_that(self.is_ready, 30, "readiness")
        return self

    def await_log(self, text):
        await_that(lambda: text in self.log, 30, f"'{text}' in the log")

    def metric(self, line):
        """The value of a sample by its name and labels; None when there is none."""
        found = re.search(rf"^{re.escape(line)} (\S+)$", self.get("/metrics")[1], re.M)
        return float(found.group(1)) if found else None

    def is_not_ready(self):
        """Alive, and says that it is not ready."""
        status, text = self.get("/readyz")
        return status == 500 and "[-]informer-sync failed" in text and self.get("/livez") == (200, "ok")

    def await_log_count(self, text, count):
        await_that(lambda: self.log.count(text) >= count, 60, f"'{text}' {count} times in the log")

    def memory_bytes(self):
        return self.metric("process_resident_memory_bytes")

    def open_files(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def is_leading(self):
        return self.metric(f'leader_election_master_status{{name="berth-{self.verb}"}}') == 1

    def await_leading(self):
        await_that(self.is_leading, 30, "leading")

    def stop(self):
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(timeout=10)
        assert time.monotonic() - began < 5, f"stopping took too long:\n{self.log}"
        return status

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def stops(controllers):
    status = controllers.stop()
    assert status == 0, (status, controllers.log)
    assert "INFO stopped" in controllers.log.splitlines()[-1], controllers.log


def write_config(folder, name, config):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"apiVersion": "v1", "kind": "Config", **config}, f)
    return path


def kubeconfig(folder, url, name="kc", cluster=None, user=None):
    """The file of a kubeconfig with one context; fields of the cluster and the user besides the address."""
    return write_config(
        folder,
        name,
        {
            "clusters": [{"name": "c", "cluster": {"server": url, **(cluster or {})}}],
            "users": [{"name": "u", "user": user or {}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        },
    )

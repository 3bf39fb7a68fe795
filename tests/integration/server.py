"""A real `berth serve` for a test, on a free port and a temporary directory, and clients for it.

    with Server() as server:
        server.kubectl("create", "-f", "-", input=VOLUME)
        status, headers, body = server.request("GET", "/api/v1/persistentvolumes")
"""

import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time

from harness import BERTH, Skip, berth, run

READY_SECONDS_MAX = 30
STOP_SECONDS_MAX = 10
PAUSE_SECONDS_MAX = 0.1
# On slow machines every limit is so many times longer.
PATIENCE = float(os.environ.get("BERTH_PATIENCE") or 1)
KUBECTL = os.environ.get("KUBECTL") or "kubectl"


def await_that(condition, seconds=20, what="the condition", pause=0.01):
    """Asks again and again until it holds; returns what it returned. The pauses grow with the time that has
    passed: to ask costs tests beside this one and the program that is asked more than the wait."""
    seconds *= PATIENCE
    deadline = time.monotonic() + seconds
    while True:
        answer = condition()
        if answer:
            return answer
        assert time.monotonic() < deadline, f"{what} did not come true in {seconds} s"
        time.sleep(pause)
        pause = max(pause, min(1.25 * pause, PAUSE_SECONDS_MAX))


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Answer:
    def __init__(self, response, body):
        self.status = response.status
        self.headers = response.headers
        self.body = body

    @property
    def text(self):
        return self.body.decode()

    @property
    def json(self):
        return json.loads(self.body)


class Server:
    """Plain HTTP unless tls=True. The data directory outlives stop() and kill(): start() finds it again."""

    def __init__(
        self, *flags, tls=False, data=None, env=None, controllers=False, scheduler=False, node=False
    ):
        """The API alone, unless more is wanted: nobody changes what a test has made."""
        runs = {"controllers": controllers, "scheduler": scheduler, "node": node}
        self.flags = ("--without", ",".join(name for name in runs if not runs[name]), *flags)
        self.tls = tls
        self.own_data = data is None
        self.data = data or tempfile.mkdtemp(prefix="berth-test-")
        self.log_path = os.path.join(tempfile.mkdtemp(prefix="berth-log-"), "log")
        self.env = env
        self.program = (BERTH,)  # or what starts it
        self.process = None
        self.port = None
        self.kube_home = tempfile.mkdtemp(prefix="berth-kube-")

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.kill()
        shutil.rmtree(os.path.dirname(self.log_path), ignore_errors=True)
        shutil.rmtree(self.kube_home, ignore_errors=True)
        if self.own_data:
            shutil.rmtree(self.data, ignore_errors=True)

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    @property
    def kubeconfig(self):
        return os.path.join(self.data, "kubeconfig")

    @property
    def log(self):
        with open(self.log_path, errors="replace") as f:
            return f.read()

    def launch(self):
        """Starts the process without waiting for it."""
        self.port = self.port or free_port()
        command = [*self.program, "serve", "--data", self.data, "--listen", self.address, *self.flags]
        if not self.tls:
            command.append("--insecure")
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.env
            )

    def start(self):
        self.launch()
        await_that(self.is_ready, READY_SECONDS_MAX, "readiness")
        return self

    def is_ready(self):
        status = self.process.poll()
        assert status is None, f"berth serve ended with {status}:\n{self.log}"
        try:
            return self.request("GET", "/readyz", user=None).status == 200
        except OSError:
            return False
        except http.client.HTTPException:
            return False

    def stop(self):
        """SIGTERM; returns the exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=STOP_SECONDS_MAX * PATIENCE)

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def memory_bytes(self, what="VmRSS"):
        """Resident now; with "VmHWM" the most that ever was."""
        with open(f"/proc/{self.process.pid}/status") as f:
            for line in f:
                if line.startswith(what + ":"):
                    return int(line.split()[1]) << 10
        raise AssertionError(f"no {what}")

    # --- clients ---

    def connect(self, user="admin", timeout=60):
        """An http.client connection; user: "admin" for the administrator's certificate, None for nobody, or
        the files of a certificate and its key."""
        if not self.tls:
            return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        pki = os.path.join(self.data, "pki")
        context = ssl.create_default_context(cafile=os.path.join(pki, "ca.crt"))
        if user == "admin":
            user = (os.path.join(pki, "admin.crt"), os.path.join(pki, "admin.key"))
        if user:
            context.load_cert_chain(*user)
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=timeout, context=context)

    def request(self, method, path, body=None, headers=None, user="admin", timeout=60):
        headers = dict(headers or {})
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
            headers.setdefault("Content-Type", "application/json")
        if isinstance(body, str):
            body = body.encode()
        with contextlib.closing(self.connect(user, timeout)) as connection:
            connection.request(method, path, body=body, headers=headers)
            response = connection.getresponse()
            return Answer(response, response.read())

    def get(self, path, **options):
        return self.request("GET", path, **options)

    def create(self, path, body, **options):
        answer = self.request("POST", path, body, **options)
        assert answer.status == 201, answer.text
        return answer.json

    def patch(self, path, body, kind="merge", **options):
        kinds = {
            "merge": "application/merge-patch+json",
            "strategic": "application/strategic-merge-patch+json",
            "json": "application/json-patch+json",
            "apply": "application/apply-patch+yaml",
        }
        headers = {"Content-Type": kinds[kind], **options.pop("headers", {})}
        return self.request("PATCH", path, json.dumps(body), headers=headers, **options)

    def await_bound(self, *claims):
        """Until these claims of the namespace default are bound."""
        for name in claims:
            path = f"/api/v1/namespaces/default/persistentvolumeclaims/{name}"
            await_that(lambda: self.get(path).json["status"].get("phase") == "Bound", what=f"bound {name}")

    def watch(self, path, timeout=30):
        return Watch(self, path, timeout)

    def kubectl_environment(self):
        """With GOGC it does not collect garbage in its short life, which is a fifth of its work."""
        own = {"HOME": self.kube_home, "KUBECONFIG": self.kubeconfig, "GOGC": "off"}
        environment = {**os.environ, **own}
        environment.pop("KUBECTL_EXTERNAL_DIFF", None)
        return environment

    def kubectl(self, *arguments, check=True, input=None, env=None, program=KUBECTL, **options):
        """A finished kubectl; with check it must have succeeded."""
        if not shutil.which(program):
            raise Skip("there is no kubectl here")
        environment = {**self.kubectl_environment(), **(env or {})}
        if input is not None:
            options["input"] = input
        result = run(program, *arguments, env=environment, **options)
        if check:
            assert result.returncode == 0, f"kubectl {' '.join(arguments)}:\n{result.stdout}{result.stderr}"
        return result


def berth_of(server, *arguments, check=True, input=None, env=None, **options):
    """A finished berth that talks to the server; with check it must have succeeded."""
    environment = {**os.environ, "HOME": server.kube_home, "KUBECONFIG": server.kubeconfig, **(env or {})}
    environment.pop("BERTH_DATA", None)
    environment.update(env or {})
    if input is not None:
        options["input"] = input
    result = berth(*arguments, env=environment, **options)
    if check:
        assert result.returncode == 0, f"berth {' '.join(arguments)}:\n{result.stdout}{result.stderr}"
    return result


class Watch:
    """The lines of a watch, as they come."""

    def __init__(self, server, path, timeout):
        self.connection = server.connect(timeout=timeout)
        self.connection.request("GET", path)
        self.response = self.connection.getresponse()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.connection.close()

    def next(self):
        """The next event; None at the end of the stream."""
        line = self.response.readline()
        return json.loads(line) if line else None

    def take(self, count):
        return [self.next() for _ in range(count)]

"""What the tests under load share: settings, a quick client, names of objects and how they are written.

Sizes come from the environment, so that the same tests run small with every change and large in `make soak`.
A seed is printed by whoever draws from it, and BERTH_SEED gives it back.
"""

import http.client
import json
import os
import random
import threading

GONE = (OSError, http.client.HTTPException)  # what a client sees of a server that was killed


def setting(name, default):
    return int(os.environ.get(name) or default)


def remark(text):
    print(f"# {text}", flush=True)


def seeded():
    seed = setting("BERTH_SEED", random.SystemRandom().randrange(1 << 32))
    remark(f"seed {seed}: BERTH_SEED={seed} draws the same again")
    return random.Random(seed)


# Objects that carry one value and nothing else of interest.
PATHS = {
    "Secret": "/api/v1/namespaces/default/secrets",
    "StorageClass": "/apis/storage.k8s.io/v1/storageclasses",
}


def valued(kind, name, value, **metadata):
    made = {"metadata": {"name": name, "annotations": {"value": str(value)}, **metadata}}
    if kind == "StorageClass":
        made["provisioner"] = "example.com/none"
    return made


def value_of(item):
    return item["metadata"]["annotations"]["value"]


def revision_of(item):
    return int(item["metadata"]["resourceVersion"])


def listed(server, kind):
    """(revision of the list, {name: item})"""
    answer = server.get(PATHS[kind])
    assert answer.status == 200, answer.text
    items = answer.json["items"] or []
    return revision_of(answer.json), {item["metadata"]["name"]: item for item in items}


class Client:
    """One connection that is kept; an answer is (status, object)."""

    def __init__(self, server):
        self.connection = server.connect(timeout=30)

    def close(self):
        self.connection.close()

    def ask(self, method, path, body=None, content_type="application/json"):
        headers = {"Content-Type": content_type} if body is not None else {}
        text = json.dumps(body).encode() if body is not None else None
        self.connection.request(method, path, body=text, headers=headers)
        response = self.connection.getresponse()
        return response.status, json.loads(response.read())

    def create(self, kind, name, value, **metadata):
        return self.ask("POST", PATHS[kind], valued(kind, name, value, **metadata))

    def patch(self, kind, name, value):
        body = {"metadata": {"annotations": {"value": str(value)}}}
        return self.ask("PATCH", f"{PATHS[kind]}/{name}", body, "application/merge-patch+json")

    def delete(self, kind, name):
        return self.ask("DELETE", f"{PATHS[kind]}/{name}")


class Threads:
    """Threads whose first failure is the test's."""

    def __init__(self):
        self.threads = []
        self.failures = []

    def start(self, function, *arguments):
        thread = threading.Thread(target=self.run, args=(function, *arguments), daemon=True)
        self.threads.append(thread)
        thread.start()

    def run(self, function, *arguments):
        try:
            function(*arguments)
        except Exception as failure:  # handed to whoever joins
            self.failures.append(failure)

    def join(self, seconds=60):
        for thread in self.threads:
            thread.join(seconds)
            assert not thread.is_alive(), "a thread does not end"
        self.threads = []
        if self.failures:
            raise self.failures[0]

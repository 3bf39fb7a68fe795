"""An API server that is none: it answers what a test has told it to, so that other people's servers, and bad
days, can be shown.

    with Fake({"/api/v1/nodes": items("Node", node("n1"))}) as fake:
        berth_of(fake, "top", "volumes")
"""

import json
import os
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Fake:
    """An API server that answers what it was told to."""

    def __init__(self, answers):
        fake = self
        self.asked = []

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):  # noqa: N802
                path = self.path.split("?")[0]
                fake.asked.append(path)
                status, body = answers.get(path, (404, "404 page not found"))
                text = (body if isinstance(body, str) else json.dumps(body)).encode()
                self.send_response(status)
                form = "text/plain" if isinstance(body, str) else "application/json"
                self.send_header("Content-Type", form)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.folder = tempfile.TemporaryDirectory(prefix="berth-top-")
        self.kube_home = self.folder.name
        self.kubeconfig = os.path.join(self.folder.name, "kubeconfig")
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{self.http.server_port}"}}],
            "users": [{"name": "u", "user": {}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u", "namespace": "shop"}}],
        }
        with open(self.kubeconfig, "w", encoding="utf-8") as file:
            json.dump(config, file)

    def __enter__(self):
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.http.shutdown()
        self.http.server_close()
        self.folder.cleanup()


def items(kind, *objects, group="v1"):
    return 200, {"kind": f"{kind}List", "apiVersion": group, "metadata": {"resourceVersion": "1"},
                 "items": list(objects)}


def refusal(code, reason, message):
    return code, {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": code,
                  "reason": reason, "message": message}

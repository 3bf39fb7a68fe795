"""The CSI driver of the tests (tests/drivers/csi_driver.c) as a process of its own, with its registrar."""

import os
import subprocess

from harness import BERTH

DRIVER = os.path.join(os.path.dirname(os.path.dirname(BERTH)), "tests", "drivers", "csi_driver")


class Driver:
    """The driver with its registrar; its state outlives it."""

    def __init__(self, where, root, name):
        self.state = os.path.join(where, "driver")
        self.socket = os.path.join(self.state, "csi.sock")
        self.registrar = os.path.join(root, "plugins_registry", f"{name}-reg.sock")
        self.process = None
        os.mkdir(self.state)
        self.write("name", name)

    def start(self):
        sockets = [self.socket, self.registrar] if self.registrar else [self.socket]
        self.process = subprocess.Popen([DRIVER, self.state, *sockets])

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait()
        self.process = None

    def text(self, name):
        try:
            with open(os.path.join(self.state, name), encoding="utf-8") as f:
                return f.read()
        except FileNotFoundError:
            return ""

    def write(self, name, text):
        with open(os.path.join(self.state, name), "w", encoding="utf-8") as f:
            f.write(text)

    def remove(self, name):
        os.unlink(os.path.join(self.state, name))

    def calls(self, method):
        return sum(line.split()[2] == method for line in self.text("log").splitlines())

    def volumes_of(self, method):
        lines = [line.split() for line in self.text("log").splitlines()]
        return {line[3] for line in lines if line[2] == method}

"""Traces which functions of Berth run, in which order: gdb prints a line at each entry and goes on.

    with Tracer(functions) as tracer:
        server.program = tracer.program
        …
        tracer.trace()   # ["src/apiserver/serve.c:apiserver_serve", …]

The walks are numbered lists in docs/architecture.md, each line of them `file.c` and `function()`.
"""

import os
import re
import shutil
import tempfile

from harness import BERTH, ROOT, Skip

PAGE = os.path.join(ROOT, "docs", "architecture.md")
FILES_MAX = 9
STEP = re.compile(r"^\d+\. `([a-z_/]+\.c)` `([a-z_0-9]+)\(\)`", re.M)
# With debug information, and with a name for every function. Built by the stage unit.
PROGRAM = os.path.join(ROOT, "build", "asan", "src", "berth")


def walk(title):
    """[(file, function)] of the walk with this title."""
    with open(PAGE, encoding="utf-8") as page:
        text = page.read()
    match = re.search(rf"^### {re.escape(title)}\n(.*?)(?=^##)", text, re.M | re.S)
    assert match, f"docs/architecture.md has no walk '{title}'"
    steps = STEP.findall(match.group(1))
    assert len(steps) == len(re.findall(r"^\d+\. ", match.group(1), re.M)), f"{title}: a step is not readable"
    return steps


SCRIPT = """
import gdb

for setting in (
    "pagination off", "confirm off", "print thread-events off", "print inferior-events off",
    "breakpoint pending off",
):
    gdb.execute("set " + setting)
gdb.execute("handle all nostop noprint pass", to_string=True)
gdb.execute("handle SIGABRT stop print", to_string=True)
log = open("{log}", "w", buffering=1)


class Step(gdb.Breakpoint):
    def __init__(self, function, files):
        super().__init__(function=function, internal=True)
        assert not self.pending, function + "() is not in the program"
        self.files = files

    def stop(self):
        place = gdb.newest_frame().find_sal().symtab.filename
        for file, function in self.files:
            if place.endswith("src/" + file):
                log.write("walk " + file + " " + function + "\\n")
        return False


steps = {steps}
for function in dict.fromkeys(function for _file, function in steps):
    Step(function, [step for step in steps if step[1] == function])
gdb.execute("run")
"""


class Tracer:
    def __init__(self, steps):
        if not shutil.which("gdb"):
            raise Skip("gdb is not installed")
        if not os.path.exists(PROGRAM):
            raise Skip("there is no build with debug information: scripts/test unit")
        self.folder = tempfile.mkdtemp(prefix="berth-walk-")
        self.log = os.path.join(self.folder, "trace")
        script = os.path.join(self.folder, "script.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write(self.script(steps))
        self.program = ("gdb", "-q", "-nx", "--batch", "-x", script, "--args", PROGRAM)
        # gdb is in the place of the leak check, and tells nobody of files that are missing.
        self.env = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0", "DEBUGINFOD_URLS": "", "BERTH": BERTH}

    def script(self, steps):
        """For the Python in gdb. A name finds inlined functions, too; the file decides which is meant."""
        return SCRIPT.format(steps=list(dict.fromkeys(steps)), log=self.log)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    def trace(self):
        """[(file, function)] as they were entered until now."""
        try:
            with open(self.log, encoding="utf-8", errors="replace") as file:
                return [tuple(line.split()[1:3]) for line in file if line.startswith("walk ")]
        except FileNotFoundError:
            return []


def first_missing(steps, trace):
    """The first step that does not follow the ones before it; None when all do."""
    at = 0
    for step in steps:
        try:
            at = trace.index(step, at) + 1
        except ValueError:
            return step
    return None

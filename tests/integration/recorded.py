"""What kubectl answered once, for machines that do not have that version.

A test that compares berth with kubectl runs both where kubectl is installed. Elsewhere it compares berth with
the answers in expected/, without what differs from run to run: ages, times, uids, versions, column widths.
KUBECTL_RECORD=1 writes the file anew, with the answers of the installed kubectl.
"""

import atexit
import collections
import hashlib
import json
import os
import re
import sys

from harness import HERE

VARYING = (
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UID"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME"),
    (r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}", "TIME"),
    (r'(resourceVersion"?: ")\d+"', r'\1VERSION"'),
    (r"(?<![\w.=])(\d+[ydhms])+(?!\w)", "AGE"),
    (r"127\.0\.0\.1:\d+", "ADDRESS"),
    (r"/\S*/berth-verbs-\w+", "FOLDER"),
    (r" {2,}", "  "),
)


def settled(text):
    """The text without what differs from run to run."""
    for pattern, word in VARYING:
        text = re.sub(pattern, word, text)
    return text


class Recording:
    """The answers of one test program, by command and input, in the order in which they were given."""

    def __init__(self):
        name = os.path.basename(sys.argv[0]).removeprefix("test_")
        self.path = os.path.join(HERE, "expected", f"kubectl_{name}.json")
        self.is_written = bool(os.environ.get("KUBECTL_RECORD"))
        self.asked = collections.Counter()
        self.answers = {}
        if self.is_written:
            atexit.register(self.save)
        elif os.path.exists(self.path):
            with open(self.path, encoding="utf-8") as file:
                self.answers = json.load(file)

    def key(self, arguments, text):
        """Each time a command is given, another one."""
        key = settled(" ".join(arguments))
        if text:
            key += " <" + hashlib.sha256(text.encode()).hexdigest()[:8]
        self.asked[key] += 1
        return f"{key} #{self.asked[key]}"

    def compare(self, key, got):
        """Asserts that berth's answer, of strings and numbers, is the recorded one."""
        assert key in self.answers, f"{key}: kubectl's answer was never recorded"
        got = [settled(part) if isinstance(part, str) else part for part in got]
        assert got == self.answers[key], f"{key}\n--- kubectl {self.answers[key]}\n--- berth {got}"

    def keep(self, key, said):
        if self.is_written:
            self.answers[key] = [settled(part) if isinstance(part, str) else part for part in said]

    def save(self):
        with open(self.path, "w", encoding="utf-8") as file:
            json.dump(self.answers, file, indent=0, ensure_ascii=False)
            file.write("\n")

"""The list of tests/vm/base_tests.txt."""

import os

PATH = os.path.join("tests", "vm", "base_tests.txt")


def read_rows(root):
    """[(kind, name)]"""
    with open(os.path.join(root, PATH), encoding="utf-8") as file:
        rows = [line.split("#")[0].split() for line in file]
    return [tuple(row) for row in rows if row]


def targets(root):
    """Programs of the build, relative to its directory."""
    return [f"tests/unit/test_{name}" for kind, name in read_rows(root) if kind == "unit"]


def commands(root):
    """[(name, command)]"""
    folders = {"unit": "build/release/tests/unit/test_", "integration": "tests/integration/"}
    return [(name, [os.path.join(root, folders[kind] + name)]) for kind, name in read_rows(root)]

"""Reads what a test program said (TAP, or nothing but its exit status) and judges it."""

import re

EXIT_SKIPPED = 77
PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"

RESULT = re.compile(r"^(not )?ok\b\s*(\d+)?\s*(?:-\s*)?(.*)$")
PLAN = re.compile(r"^1\.\.(\d+)\s*(?:#\s*skip\S*\s*(.*))?$", re.I)
SKIP = re.compile(r"#\s*skip\S*\s*(.*)$", re.I)


def last_line(output):
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1].lstrip("# ") if lines else "no reason given"


def judge_line(line, name):
    """(verdict, what) of one result line; None for any other line."""
    match = RESULT.match(line)
    if not match:
        return None
    skip = SKIP.search(match.group(3))
    if skip:
        return SKIPPED, f"{name}: {skip.group(1) or 'no reason given'}"
    return FAILED if match.group(1) else PASSED, f"{name}: {match.group(3)}"


def judge(name, output, status):
    """[(verdict, what)] of a program's whole output and its exit status (negative: ended by that signal).

    A program that dies half-way, runs another number of tests than it planned, or fails without saying which
    test did, has failed once more than it says.
    """
    if status == EXIT_SKIPPED:
        return [(SKIPPED, f"{name}: {last_line(output)}")]
    plan = None
    results = []
    for line in output.splitlines():
        planned = PLAN.match(line)
        result = judge_line(line, name)
        if planned:
            if plan is not None:
                return [*results, (FAILED, f"{name}: two plans")]
            plan = int(planned.group(1))
            if plan == 0 and status == 0:
                return [(SKIPPED, f"{name}: {planned.group(2) or 'no reason given'}")]
        elif result:
            results.append(result)
    ending = f"exit status {status}" if status >= 0 else f"signal {-status}"
    if plan is None and not results:
        return [(PASSED, name) if status == 0 else (FAILED, f"{name}: {ending}")]
    if plan != len(results):
        planned = "no tests" if plan is None else f"{plan} tests"
        results.append((FAILED, f"{name}: planned {planned}, ran {len(results)}; {ending}"))
    elif status != 0 and all(verdict != FAILED for verdict, _ in results):
        results.append((FAILED, f"{name}: {ending}"))
    return results

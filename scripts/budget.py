"""The seconds that the stages of scripts/test may take, from tests/budget, beside those that they took."""

import tap

PATH = "tests/budget"
SECONDS_MAX = 900


def parse(text):
    """name of a stage or of an integration test -> seconds"""
    rows = [line.split("#")[0].split() for line in text.splitlines()]
    return {row[0]: int(row[1]) for row in rows if row}


def judge(budget, usual, named):
    """[(verdict, what)]: every stage has a row, and the usual ones together stay within the limit."""
    missing = sorted(name for name in {*usual, *named} if name not in budget)
    if missing:
        return [(tap.FAILED, f"{PATH} has no row for {', '.join(missing)}")]
    total = sum(budget[name] for name in usual)
    verdict = tap.PASSED if total <= SECONDS_MAX else tap.FAILED
    return [(verdict, f"{PATH} has {total} s for all stages, of {SECONDS_MAX} s at most")]


def table(budget, took):
    """A line for each stage, and one for their sum; a warning where it took longer, which is no failure.

    took: name of a stage -> (seconds, seconds of all processors)"""
    rows = [(name, *seconds, budget.get(name, 0)) for name, seconds in took.items()]
    rows.append(("total", *(sum(row[i] for row in rows) for i in (1, 2, 3))))
    lines = [f"{'stage':<12} {'seconds':>8} {'budget':>8} {'CPU':>8}"]
    for name, seconds, processor_seconds, allowed in rows:
        warning = "  WARNING: over budget" if seconds > allowed else ""
        lines.append(f"{name:<12} {seconds:>8.0f} {allowed:>8} {processor_seconds:>8.0f}{warning}")
    return "\n".join(lines)

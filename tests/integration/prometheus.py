"""A strict reader of Prometheus' text format 0.0.4: what promtool would refuse, this refuses."""

import re

NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"')
TYPES = ("counter", "gauge", "histogram")
# Counters that Kubernetes named before there was a rule.
OLD_NAMES = ("process_", "volume_operation_total_errors")


class Family:
    def __init__(self, name, help_text):
        self.name, self.help, self.type = name, help_text, None
        self.samples = []  # (name, labels as a dict, value)


def read_labels(text):
    labels, at = {}, 0
    while at < len(text):
        match = LABEL.match(text, at)
        assert match, f"no label at {text[at:]!r}"
        assert match[1] not in labels, f"label {match[1]} twice"
        labels[match[1]] = match[2]
        at = match.end()
        if at < len(text):
            assert text[at] == ",", f"no comma at {text[at:]!r}"
            at += 1
    return labels


def read_sample(line):
    match = re.fullmatch(r"([^{ ]+)(?:\{(.*)\})? (\S+)", line)
    assert match and NAME.fullmatch(match[1]), f"no sample: {line!r}"
    return match[1], read_labels(match[2] or ""), float(match[3].replace("Inf", "inf"))


def check_histogram(family):
    """Buckets grow, the last is infinite and counts everything, and there are a sum and a count."""
    series = {}
    for name, labels, value in family.samples:
        le = labels.pop("le", None)
        kept = series.setdefault(tuple(sorted(labels.items())), {"buckets": []})
        if name == f"{family.name}_bucket":
            kept["buckets"].append((float(le.replace("Inf", "inf")), value))
        else:
            assert le is None and name in (f"{family.name}_sum", f"{family.name}_count"), name
            kept[name[len(family.name) + 1 :]] = value
    for labels, kept in series.items():
        bounds = [bound for bound, _ in kept["buckets"]]
        counts = [count for _, count in kept["buckets"]]
        assert bounds == sorted(set(bounds)) and bounds[-1] == float("inf"), (family.name, labels, bounds)
        assert counts == sorted(counts) and counts[-1] == kept["count"], (family.name, labels, counts)
        assert "sum" in kept, (family.name, labels)


def check_family(family):
    assert family.type in TYPES, f"{family.name}: no TYPE"
    assert family.samples, f"{family.name}: nothing in it"
    if family.type == "counter":
        assert family.name.endswith("_total") or family.name.startswith(OLD_NAMES), family.name
        assert all(value >= 0 for _, _, value in family.samples), family.name
    if family.type == "histogram":
        check_histogram(family)
        return
    assert all(name == family.name for name, _, _ in family.samples), family.name
    seen = [tuple(sorted(labels.items())) for _, labels, _ in family.samples]
    assert len(seen) == len(set(seen)), f"{family.name}: the same labels twice"


def read(text):
    """name -> Family. Every line is understood, every family whole and in one piece, or it is an error."""
    families, family = {}, None
    assert text.endswith("\n"), "the last line has no end"
    for line in text.splitlines():
        if line.startswith("# HELP "):
            _, _, name, help_text = line.split(" ", 3)
            assert name not in families, f"{name} twice"
            family = families[name] = Family(name, help_text)
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert family and family.name == name and not family.samples, line
            family.type = kind
        else:
            sample = read_sample(line)
            assert family and sample[0].startswith(family.name), f"{line!r} stands alone"
            family.samples.append(sample)
    for family in families.values():
        check_family(family)
    return families

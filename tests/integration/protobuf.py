"""Objects in Kubernetes' protobuf form, as Go clients send them: plain fields also when they are empty.

The messages are in data/protobuf.txt, whose first lines say how to read it."""

import base64
import datetime
import json
import os

MAGIC = b"k8s\0"


def load():
    """Messages by name, each {field: (number, container, type, mark)}; and the kinds' messages."""
    messages, kinds = {}, {}
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "protobuf.txt")
    with open(path, encoding="ascii") as file:
        for line in file.read().replace("\\\n", "").splitlines():
            words = line.split()
            if not words or line.startswith("#"):
                continue
            if words[0] == "kind":
                kinds[words[1], words[2]] = words[3]
                continue
            fields = messages[words[0]] = {}
            for word in words[1:]:
                name, _, rest = word.partition("=")
                number, _, type_ = rest.partition(":")
                container = type_[0] if type_[0] in "*%" else ""
                mark = type_[-1] if type_[-1] in "?!^" else ""
                fields[name] = (int(number), container, type_.strip("*%?!^"), mark)
    return messages, kinds


MESSAGES, KINDS = load()


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number_field(number, value):
    return varint(number << 3) + varint(value)


def bytes_field(number, value):
    return varint(number << 3 | 2) + varint(len(value)) + value


def time_message(text):
    if not text:
        return b""
    moment = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    nanos = moment.microsecond * 1000
    return number_field(1, int(moment.timestamp() - moment.microsecond / 1e6)) + number_field(2, nanos)


def port_message(value):
    if isinstance(value, str):
        return number_field(1, 1) + number_field(2, 0) + bytes_field(3, value.encode())
    return number_field(1, 0) + number_field(2, value) + bytes_field(3, b"")


ENCODERS = {
    "s": str.encode,
    "y": base64.b64decode,
    "q": lambda value: bytes_field(1, str(value).encode()),
    "t": time_message,
    "u": time_message,
    "p": port_message,
    "j": lambda value: bytes_field(1, json.dumps(value).encode()),
    "x": lambda value: b"".join(bytes_field(1, item.encode()) for item in value),
}


def one(number, type_, value):
    if type_ in "bil":
        return number_field(number, int(value))
    if type_ in ENCODERS:
        return bytes_field(number, ENCODERS[type_](value))
    return bytes_field(number, message(type_, value))


def unset(number, type_, mark):
    """What Go sends of a field that is not set: nothing for pointers, lists and maps."""
    if mark == "!":
        return bytes_field(number, message(type_, {}))
    if mark == "?" or type_ not in "sbilt":
        return b""
    return number_field(number, 0) if type_ in "bil" else bytes_field(number, b"")


def message(name, value):
    out, known = b"", set()
    for field, (number, container, type_, mark) in MESSAGES[name].items():
        item = value.get(field)
        if mark == "^":
            inner = {key: value[key] for key in MESSAGES[type_] if key in value}
            known |= set(inner)
            out += bytes_field(number, message(type_, inner))
            continue
        known.add(field)
        if item is None:
            out += unset(number, type_, "?" if container else mark)
        elif container == "*":
            out += b"".join(one(number, type_, each) for each in item)
        elif container == "%":
            entries = (bytes_field(1, key.encode()) + one(2, type_, each) for key, each in item.items())
            out += b"".join(bytes_field(number, entry) for entry in entries)
        else:
            out += one(number, type_, item)
    left = set(value) - known - {"kind", "apiVersion"}
    assert not left, f"{name} has no {left}"
    return out


def envelope(api_version, kind, raw, encoding=b"", content_type=b""):
    type_meta = bytes_field(1, api_version.encode()) + bytes_field(2, kind.encode())
    return (
        MAGIC
        + bytes_field(1, type_meta)
        + bytes_field(2, raw)
        + bytes_field(3, encoding)
        + bytes_field(4, content_type)
    )


def encode(body):
    """An object with kind and apiVersion."""
    api_version, kind = body["apiVersion"], body["kind"]
    return envelope(api_version, kind, message(KINDS[api_version, kind], body))

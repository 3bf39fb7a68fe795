"""Replays what dm-log-writes has recorded of a device: every write, in the order in which a flush made it
durable. After a loss of power a disk has a state that one of the recorded flushes left, or later: so what a
program promised before a flush must be there in every state from that flush on.

    with LoggedDisk(disk, log) as device:           a device that records what is written to it
        device.mark("there", "Pod", "p")
    for state in replay(log, image): ...            the states, each an image file

The layout of the log is that of the kernel's drivers/md/dm-log-writes.c: a header, then for each write a
sector that describes it, and its data.
"""

import os
import struct

from machine import sh

MAGIC, VERSION = 0x6A736677736872, 1
FLUSH, FUA, DISCARD, MARK = 1, 2, 4, 8
HEADER = struct.Struct("<QQQI")
ENTRY = struct.Struct("<QQQQ")
SECTOR_BYTES = 512
NAME = "logged"


class LoggedDisk:
    def __init__(self, disk, log):
        self.disk, self.log = disk, log
        self.path = f"/dev/mapper/{NAME}"

    def __enter__(self):
        sh("modprobe", "dm-log-writes")
        sectors = sh("blockdev", "--getsz", self.disk)
        sh("dmsetup", "create", NAME, "--table", f"0 {sectors} log-writes {self.disk} {self.log}")
        return self

    def __exit__(self, *_):
        sh("dmsetup", "remove", "--retry", NAME)

    def mark(self, *words):
        """What is durable now comes before the mark in the log."""
        sh("dmsetup", "message", NAME, "0", "mark", ":".join(words))


class State:
    """The content of the device after one of its flushes."""

    def __init__(self, number, marks):
        self.number = number
        self.marks = marks  # the words of all that came before it


def read_header(log):
    magic, version, count, sector_bytes = HEADER.unpack(log.read(HEADER.size))
    assert (magic, version) == (MAGIC, VERSION), (hex(magic), version)
    log.seek(sector_bytes)
    return count, sector_bytes


def copy_data(log, image, offset, size):
    image.seek(offset)
    while size > 0:
        data = log.read(min(size, 1 << 20))
        assert data, "the log ends in the middle of a write"
        image.write(data)
        size -= len(data)


def discard(image, offset, size):
    image.seek(offset)
    while size > 0:
        size -= image.write(bytes(min(size, 1 << 20)))


def replay(log_path, image_path, bytes_total):
    """Yields each State after it was written to the image, which the caller must not change."""
    with open(log_path, "rb") as log, open(image_path, "w+b") as image:
        os.truncate(image_path, bytes_total)
        count, sector_bytes = read_header(log)
        marks = []
        number = 0
        for _ in range(count):
            sector, sectors, flags, data_bytes = ENTRY.unpack(log.read(ENTRY.size))
            rest = log.read(sector_bytes - ENTRY.size)
            offset, size = sector * sector_bytes, sectors * sector_bytes
            if flags & MARK:
                marks.append(rest[:data_bytes].rstrip(b"\0").decode().split(":"))
            elif flags & DISCARD:
                discard(image, offset, size)
            else:
                copy_data(log, image, offset, size)
            if flags & (FLUSH | FUA):
                image.flush()
                number += 1
                yield State(number, list(marks))

"""Peers for a client to meet: authorities and their certificates, relays in front of a server, and liars.

A peer has a port for its life; what it does with connections is its `handle`, which may be replaced while it
runs. Everything is seen from outside, so nothing here knows what the client is made of.
"""

import contextlib
import ctypes
import os
import select
import shutil
import socket
import ssl
import struct
import subprocess
import tempfile
import threading
import time

from harness import Skip, run
from server import await_that

CHUNK_BYTES = 1 << 16
LOOK_SECONDS = 0.05
SO_ATTACH_FILTER, SO_DETACH_FILTER = 26, 27  # of Linux; this Python has no names for them


class Authority:
    """Signs certificates of servers. Its own is in .ca."""

    def __init__(self):
        if not shutil.which("openssl"):
            raise Skip("there is no openssl here")
        self.folder = tempfile.mkdtemp(prefix="berth-authority-")
        self.ca, self.key = self.path("ca.crt"), self.path("ca.key")
        self.issued = 0
        self.make_key(self.key)
        self.openssl("req", "-x509", "-new", "-key", self.key, "-subj", "/CN=test authority", "-days", "2",
                     "-addext", "keyUsage=critical,keyCertSign", "-out", self.ca)  # fmt: skip

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def openssl(self, *arguments):
        done = subprocess.run(["openssl", *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done

    def make_key(self, path):
        self.openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", path)

    def issue(self, names="IP:127.0.0.1", days=1):
        """The files of a server's certificate and its key. With fewer days than none it has expired."""
        self.issued += 1
        certificate, key, request, extensions = (
            self.path(f"{self.issued}.{end}") for end in ("crt", "key", "csr", "ext")
        )
        with open(extensions, "w", encoding="utf-8") as f:
            f.write(f"subjectAltName={names}\nextendedKeyUsage=serverAuth\n")
        self.make_key(key)
        self.openssl("req", "-new", "-key", key, "-subj", "/CN=peer", "-out", request)
        lifetime = ["-days", str(days)]
        if days < 0 and "-not_after" in run("openssl", "x509", "-help").stderr:  # 3.4 refuses such -days
            lifetime = ["-not_before", "20200101000000Z", "-not_after", "20200102000000Z"]
        self.openssl("x509", "-req", "-in", request, "-CA", self.ca, "-CAkey", self.key,
                     "-set_serial", str(self.issued), *lifetime, "-extfile", extensions,
                     "-out", certificate)  # fmt: skip
        return certificate, key

    def context(self, *arguments, **options):
        """For a server of issue()'s certificate."""
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        made.load_cert_chain(*self.issue(*arguments, **options))
        return made


def deafen(sock):
    """From now on the kernel drops what arrives for the socket, unconfirmed: the machine is gone."""
    nothing = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0))  # return 0
    program = struct.pack("HL", 1, ctypes.addressof(nothing))
    sock.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, program)


def undeafen(sock):
    sock.setsockopt(socket.SOL_SOCKET, SO_DETACH_FILTER, 0)


def reset(sock):
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


class Peer:
    """Runs handle(peer, connection) in a thread for each connection."""

    def __init__(self, handle, port=0):
        self.handle = handle
        self.listener = socket.create_server(("127.0.0.1", port), backlog=128)
        self.port = self.listener.getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"
        self.times = []  # of the connections
        self.seen = b""  # of what clients said, as far as a handler read it
        self.open = 0
        self.is_over = False
        self.wish = None  # of the connections that there are; see relay()
        self.wished = 0
        self.relaying = []  # for each connection, how many wishes there were before it
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self.accept, daemon=True)]
        self.threads[0].start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.is_over = True
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for thread in self.threads:
            thread.join(5)

    @property
    def count(self):
        return len(self.times)

    def accept(self):
        with contextlib.suppress(OSError):
            while not self.is_over:
                connection, _ = self.listener.accept()
                connection.settimeout(30)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.times.append(time.monotonic())
                self.threads.append(threading.Thread(target=self.serve, args=(connection,), daemon=True))
                self.threads[-1].start()

    def serve(self, connection):
        with self.lock:
            self.open += 1
        try:
            with connection, contextlib.suppress(OSError):  # SSLError is one of them
                self.handle(self, connection)
        finally:
            with self.lock:
                self.open -= 1

    @contextlib.contextmanager
    def while_relaying(self, wishes):
        with self.lock:
            self.relaying.append(wishes)
        try:
            yield
        finally:
            with self.lock:
                self.relaying.remove(wishes)

    def see(self, data):
        with self.lock:
            self.seen += data

    def hold(self):
        """Until the end of the peer, or until it has something else to do with connections."""
        handle = self.handle
        while not self.is_over and self.handle is handle:
            time.sleep(LOOK_SECONDS)

    def is_bounded(self, each_seconds=1.0):
        """Has no more than so many connections come, besides those at once at the beginning?"""
        passed = time.monotonic() - self.times[0] if self.times else 0
        return self.count <= 2 + passed / each_seconds


# --- relays ---


def relay(port, context=None, delay=0, change=None, upstream=None):
    """To a port of this machine, with TLS taken off (context) or put on (upstream).

    Follows the wishes of its peer for connections that it has, once each: "reset", "half-close" (no more
    from here, without a word of TLS), "deaf" (see deafen()).
    """

    def handle(peer, connection):
        wishes = peer.wished
        far = socket.create_connection(("127.0.0.1", port), timeout=30)
        if context:
            connection = context.wrap_socket(connection, server_side=True)
        if upstream:
            far = upstream.wrap_socket(far)
        with far, connection:
            with peer.while_relaying(wishes):
                while not peer.is_over and peer.wished == wishes:
                    if not pass_on(peer, connection, far):
                        return
                if peer.wished != wishes:
                    obey(peer, connection)
            if peer.wished != wishes and connection.fileno() >= 0:
                hold_connection(peer)

    def pass_on(peer, connection, far):
        """False at the end of either."""
        for source in ready(connection, far):
            data = source.recv(CHUNK_BYTES)
            if not data:
                return False
            if source is connection:
                data = change(data) if change else data
                if context:
                    peer.see(data)
            if delay:
                time.sleep(delay)
            (far if source is connection else connection).sendall(data)
        return True

    return handle


def late_answers(port, seconds):
    """Relays to a port of this machine. An answer arrives so many seconds late, an event of a watch at once.

    For HTTP/1.1 without TLS: a connection has one request at a time. seconds is called for each answer.
    """

    def handle(peer, connection):
        is_watch = is_answered = False
        with socket.create_connection(("127.0.0.1", port), timeout=30) as far:
            far.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while not peer.is_over:
                for source in ready(connection, far):
                    data = source.recv(CHUNK_BYTES)
                    if not data:
                        return
                    if source is connection:
                        first_line = data.partition(b"\r\n")[0]
                        is_watch = first_line.startswith(b"GET ") and b"watch=" in first_line
                        is_answered = False
                        far.sendall(data)
                        continue
                    if not is_watch and not is_answered:
                        time.sleep(seconds())
                    is_answered = True
                    connection.sendall(data)

    return handle


def observed(port, on_request, change_answer=None):
    """Relays to a port of this machine, and calls on_request(method, target) for each request.

    change_answer may put other bytes in place of those of an answer, as many. For HTTP/1.1 without TLS, as
    late_answers().
    """

    def handle(peer, connection):
        is_asked = False
        with socket.create_connection(("127.0.0.1", port), timeout=30) as far:
            far.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while not peer.is_over:
                for source in ready(connection, far):
                    data = source.recv(CHUNK_BYTES)
                    if not data:
                        return
                    if source is far:
                        is_asked = False
                        connection.sendall(change_answer(data) if change_answer else data)
                        continue
                    if not is_asked:
                        on_request(*data.partition(b"\r\n")[0].decode().split(" ")[:2])
                    is_asked = True
                    far.sendall(data)

    return handle


def ready(*sockets):
    held = [s for s in sockets if isinstance(s, ssl.SSLSocket) and s.pending()]
    return held or select.select(sockets, [], [], LOOK_SECONDS)[0]


def obey(peer, connection):
    if peer.wish == "reset":
        reset(connection)
    elif peer.wish == "half-close":
        half_close(connection)
    elif peer.wish == "deaf":
        deafen(connection)


def half_close(connection):
    """Below TLS, which has a word of its own for the end."""
    with socket.socket(fileno=os.dup(connection.fileno())) as raw:
        raw.shutdown(socket.SHUT_WR)


def hold_connection(peer):
    while not peer.is_over:
        time.sleep(LOOK_SECONDS)


def wish(peer, what):
    """Of all connections that the peer has now. It has come true when this returns."""
    peer.wish = what
    peer.wished += 1
    await_that(lambda: all(w >= peer.wished for w in peer.relaying), what=what)


# --- liars ---


def hang_up(_peer, connection):
    connection.shutdown(socket.SHUT_WR)
    connection.recv(CHUNK_BYTES)


def hang_up_hard(_peer, connection):
    reset(connection)


def swallow(peer, _connection):
    """Takes everything and says nothing."""
    peer.hold()


def say(text, context=None):
    """The same bytes to whatever is asked; the connection ends behind them."""
    data = text if isinstance(text, bytes) else text.encode()

    def handle(peer, connection):
        if context:
            connection = context.wrap_socket(connection, server_side=True)
        with connection:
            peer.see(connection.recv(CHUNK_BYTES))
            connection.sendall(data)

    return handle


def http_answer(status, body="", **headers):
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", body])


def half_answer(context):
    """Begins an answer, and the machine says no more and hears nothing of it: half of the connection ends."""

    def handle(_peer, connection):
        connection = context.wrap_socket(connection, server_side=True)
        with connection:
            connection.recv(CHUNK_BYTES)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
            half_close(connection)
            connection.recv(CHUNK_BYTES)

    return handle


# --- proxies ---


def connect_proxy(peer, connection):
    """CONNECT HOST:PORT, to that port of this machine whatever the host is called."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        more = connection.recv(1)
        if not more:
            return
        head += more
    peer.see(head)
    method, target = head.split()[:2]
    if method != b"CONNECT":
        connection.sendall(http_answer("405 Method Not Allowed").encode())
        return
    connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
    relay(int(target.rpartition(b":")[2]))(peer, connection)

"""A TCP proxy that delays all data, like a distant network: `python -m bench.proxy`.

`running` starts it as a separate process, so that its memory and threads do not count as the
bench's.

    client -> receive -> queue, each chunk with the time when it is due -> send -> server

Both directions wait for half of the round trip. Bandwidth is not limited: chunks wait in parallel.
This uses threads rather than an event loop, because Python's event loops round timers up to a
millisecond.
"""

import argparse
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from bench.place import ROOT

CHUNK = 1 << 20
# The most bytes that wait in one direction, like the windows of a fast connection: 10 ms at 3 GB/s.
MOST = 32 << 20
# Time after which a thread that is due gets the interpreter, even from one that is busy.
SWITCH = 0.0005


Count = Callable[[int], None]


class Proxy:
    """A proxy that runs: its port for each round trip."""

    def __init__(self, process: subprocess.Popen[str], delays: Sequence[str]) -> None:
        self.process = process
        self.ports = {each: self.line() for each in delays}

    def line(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline().strip()

    def received(self) -> int:
        """Return the bytes that all servers have sent so far."""
        assert self.process.stdin
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return int(self.line())


@contextmanager
def running(host: str, port: int, delays: Sequence[str]) -> Iterator[Proxy]:
    """Yield a proxy of a server, for round trips of these milliseconds."""
    command = [sys.executable, "-m", "bench.proxy", host, str(port), *delays]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as process:
        try:
            yield Proxy(process, delays)
        finally:
            assert process.stdin
            process.stdin.close()


class Counter:
    """A sum that several threads add to."""

    def __init__(self) -> None:
        self.total = 0
        self.lock = threading.Lock()

    def add(self, number: int) -> None:
        with self.lock:
            self.total += number


class Pipe:
    """One direction of a connection: `receive` adds chunks, and `send` removes due ones."""

    def __init__(
        self, source: socket.socket, target: socket.socket, delay: float, count: Count
    ) -> None:
        self.source, self.target, self.delay, self.count = source, target, delay, count
        self.chunks: deque[tuple[float, bytes]] = deque()
        self.waiting = 0
        self.changed = threading.Condition()

    def threads(self) -> list[threading.Thread]:
        return [threading.Thread(target=work, daemon=True) for work in (self.receive, self.send)]

    def receive(self) -> None:
        """Read to the end, which is an empty chunk and delayed like any other."""
        while True:
            try:
                chunk = self.source.recv(CHUNK)
            except OSError:
                chunk = b""
            self.count(len(chunk))
            due = time.monotonic() + self.delay
            with self.changed:
                self.chunks.append((due, chunk))
                self.waiting += len(chunk)
                self.changed.notify_all()
                self.changed.wait_for(lambda: self.waiting < MOST)
            if not chunk:
                return

    def send(self) -> None:
        """Write each chunk when it is due. If nothing accepts it, the other side notices."""
        with suppress(OSError):
            while chunk := self.next():
                self.target.sendall(chunk)
            self.target.shutdown(socket.SHUT_WR)
            return
        with suppress(OSError):
            self.source.shutdown(socket.SHUT_RDWR)
        with self.changed:
            self.waiting = -sys.maxsize  # later chunks are not held back
            self.changed.notify_all()

    def next(self) -> bytes:
        """Wait for the next chunk, and until it is due."""
        with self.changed:
            self.changed.wait_for(lambda: self.chunks)
            due, chunk = self.chunks.popleft()
        time.sleep(max(0.0, due - time.monotonic()))
        with self.changed:
            self.waiting -= len(chunk)
            self.changed.notify_all()
        return chunk


def serve(listener: socket.socket, server: tuple[str, int], delay: float, received: Count) -> None:
    """Forward every connection, until the listener is closed; count the bytes of the server."""
    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        given = (client, server, delay, received)
        threading.Thread(target=connect, args=given, daemon=True).start()


def connect(client: socket.socket, server: tuple[str, int], delay: float, received: Count) -> None:
    """Connect a client with the server, after the round trip that a connection takes."""
    time.sleep(2 * delay)
    with client, suppress(OSError), socket.create_connection(server) as far:
        for end in (client, far):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        both = (Pipe(client, far, delay, ignore), Pipe(far, client, delay, received))
        threads = [each for pipe in both for each in pipe.threads()]
        for each in threads:
            each.start()
        for each in threads:
            each.join()


def ignore(_: int) -> None:
    """Do not count the bytes of the client."""


def main(args: list[str]) -> int:
    """Listen on a free port of the loopback for each round trip, print them, and serve.

    For each line of its input it prints the bytes that the server has sent so far.
    """
    parser = argparse.ArgumentParser(prog="python -m bench.proxy")
    parser.add_argument("host")
    parser.add_argument("port", type=int)
    parser.add_argument("milliseconds", type=float, nargs="+", help="round trips")
    options = parser.parse_args(args)
    sys.setswitchinterval(SWITCH)
    received = Counter()
    for each in options.milliseconds:
        listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        given = (listener, (options.host, options.port), each / 2000, received.add)
        threading.Thread(target=serve, args=given, daemon=True).start()
        print(listener.getsockname()[1])
    sys.stdout.flush()
    for _ in sys.stdin:  # until the starting process ends
        print(received.total, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""A TCP proxy that delays all data, like a distant network: `python -m bench.proxy`.

    client -> receive -> queue, each chunk with the time when it is due -> send -> server

Both directions wait for half of the round trip. Bandwidth is not limited: chunks wait in parallel.
This uses threads rather than an event loop, because Python's event loops round timers up to a
millisecond.
"""

import argparse
import socket
import sys
import threading
import time
from collections import deque
from contextlib import suppress

CHUNK = 1 << 20
# The most bytes that wait in one direction, like the windows of a fast connection: 10 ms at 3 GB/s.
MOST = 32 << 20
# Time after which a thread that is due gets the interpreter, even from one that is busy.
SWITCH = 0.0005


class Pipe:
    """One direction of a connection: `receive` adds chunks, and `send` removes due ones."""

    def __init__(self, source: socket.socket, target: socket.socket, delay: float) -> None:
        self.source, self.target, self.delay = source, target, delay
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


def serve(listener: socket.socket, server: tuple[str, int], delay: float) -> None:
    """Forward every connection, until the listener is closed."""
    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=connect, args=(client, server, delay), daemon=True).start()


def connect(client: socket.socket, server: tuple[str, int], delay: float) -> None:
    """Connect a client with the server, after the round trip that a connection takes."""
    time.sleep(2 * delay)
    with client, suppress(OSError), socket.create_connection(server) as far:
        for end in (client, far):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        both = (Pipe(client, far, delay), Pipe(far, client, delay))
        threads = [each for pipe in both for each in pipe.threads()]
        for each in threads:
            each.start()
        for each in threads:
            each.join()


def main(args: list[str]) -> int:
    """Listen on a free port of the loopback for each round trip, print them, and serve."""
    parser = argparse.ArgumentParser(prog="python -m bench.proxy")
    parser.add_argument("host")
    parser.add_argument("port", type=int)
    parser.add_argument("milliseconds", type=float, nargs="+", help="round trips")
    options = parser.parse_args(args)
    sys.setswitchinterval(SWITCH)
    for each in options.milliseconds:
        listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        given = (listener, (options.host, options.port), each / 2000)
        threading.Thread(target=serve, args=given, daemon=True).start()
        print(listener.getsockname()[1])
    sys.stdout.flush()
    sys.stdin.read()  # until the starting process ends
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

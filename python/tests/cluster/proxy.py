"""A server between a client and PostgreSQL that loses the answer to a COMMIT.

At that point PostgreSQL has committed, and the client sees its connection end.
"""

import socket
import threading
from contextlib import suppress
from typing import Self

_PIECE = 1 << 16
# A session that has sent this many bytes has sent rows.
_ROWS = 100_000


class LostCommits:
    """Listens on its own port, and loses the answers to the first COMMITs after rows."""

    def __init__(self, port: int, losses: int) -> None:
        self.lost = 0
        self._losses = losses
        self._lock = threading.Lock()
        self._target = ("127.0.0.1", port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # Wakes the thread that accepts.
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._target)
                threading.Thread(target=Session(self, client, server).run, daemon=True).start()

    def lose(self) -> bool:
        """Whether to lose the answer to this COMMIT."""
        with self._lock:
            if self.lost >= self._losses:
                return False
            self.lost += 1
            return True


class Session:
    """One connection through the proxy: a thread for each direction."""

    def __init__(self, proxy: LostCommits, client: socket.socket, server: socket.socket) -> None:
        self._proxy, self._client, self._server = proxy, client, server
        self._mute = False

    def run(self) -> None:
        with self._client, self._server:
            sender = threading.Thread(target=self.send, daemon=True)
            sender.start()
            self.receive()
            sender.join()

    def send(self) -> None:
        sent = 0
        with suppress(OSError):
            while piece := self._client.recv(_PIECE):
                sent += len(piece)
                if sent > _ROWS and b"COMMIT" in piece and self._proxy.lose():
                    self._mute = True
                self._server.sendall(piece)
        self._close()

    def receive(self) -> None:
        with suppress(OSError):
            while piece := self._server.recv(_PIECE):
                if self._mute:
                    break
                self._client.sendall(piece)
        self._close()

    def _close(self) -> None:
        for each in (self._client, self._server):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

"""The proxy: the data, its delay, and that waiting chunks do not hold each other up."""

import socket
import threading
import time
import unittest

from bench.proxy import CHUNK, MOST, ignore, running, serve

DELAY = 0.05
MANY = 2 * MOST


class Proxy(unittest.TestCase):
    """Tests with a server that applies `answer` to its end of the connection."""

    def listener(self) -> socket.socket:
        return self.enterContext(socket.create_server(("127.0.0.1", 0)))

    def client(self, answer) -> socket.socket:
        server, proxy = self.listener(), self.listener()

        def accept() -> None:
            end, _ = server.accept()
            with end:
                answer(end)

        for work, args in ((accept, ()), (serve, (proxy, server.getsockname(), DELAY, ignore))):
            threading.Thread(target=work, args=args, daemon=True).start()
        client = self.enterContext(socket.create_connection(proxy.getsockname(), timeout=30))
        client.settimeout(30)
        return client

    def test_each_question_takes_a_round_trip_and_connecting_another(self):
        client = self.client(lambda end: [end.sendall(end.recv(1)) for _ in range(2)])
        for trips in (2, 1):
            began = time.monotonic()
            client.sendall(b"?")
            self.assertEqual(client.recv(1), b"?")
            self.assertGreaterEqual(time.monotonic() - began, trips * 2 * DELAY - 0.01)

    def test_chunks_wait_side_by_side(self):
        def answer(end: socket.socket) -> None:
            for number in range(10):
                time.sleep(DELAY / 10)
                end.sendall(bytes([number]))
            end.recv(1)

        client = self.client(answer)
        time.sleep(2 * DELAY)  # it has connected
        began = time.monotonic()
        self.assertEqual(bytes(client.recv(1)[0] for _ in range(10)), bytes(range(10)))
        self.assertLess(time.monotonic() - began, 5 * DELAY)

    def test_all_bytes_arrive_in_order_and_then_the_end(self):
        sent = bytes(range(256)) * (MANY // 256)
        came = bytearray()
        done = threading.Event()

        def answer(end: socket.socket) -> None:
            while chunk := end.recv(CHUNK):
                came.extend(chunk)
            end.sendall(b"thanks")
            done.set()

        client = self.client(answer)
        client.sendall(sent)
        client.shutdown(socket.SHUT_WR)
        self.assertEqual(client.recv(6, socket.MSG_WAITALL), b"thanks")
        self.assertEqual(client.recv(1), b"")
        self.assertTrue(done.is_set())
        self.assertEqual(bytes(came), sent)

    def test_who_is_not_read_stops_whoever_sends(self):
        go_on = threading.Event()
        self.addCleanup(go_on.set)
        client = self.client(lambda _: go_on.wait(30))
        client.settimeout(1)
        with self.assertRaises(TimeoutError):
            for _ in range(20):
                client.sendall(bytes(MOST))

    def test_the_bytes_of_the_server_are_counted(self):
        server = self.listener()

        def answer() -> None:
            for _ in range(2):
                end, _ = server.accept()
                with end:
                    end.recv(1000, socket.MSG_WAITALL)
                    end.sendall(bytes(70))

        threading.Thread(target=answer, daemon=True).start()
        with running("127.0.0.1", server.getsockname()[1], ["0", "1"]) as proxy:
            self.assertEqual(proxy.received(), 0)
            for port, received in zip(proxy.ports.values(), (70, 140), strict=True):
                with socket.create_connection(("127.0.0.1", int(port)), timeout=30) as client:
                    client.sendall(bytes(1000))
                    client.recv(71, socket.MSG_WAITALL)
                self.assertEqual(proxy.received(), received)

    def test_a_server_that_goes_away_is_noticed(self):
        client = self.client(lambda end: end.recv(1))
        client.sendall(b"?")
        self.assertEqual(client.recv(1), b"")

    def test_no_server_is_the_end_of_the_connection(self):
        gone = socket.create_server(("127.0.0.1", 0))
        server = gone.getsockname()
        gone.close()
        proxy = self.listener()
        threading.Thread(target=serve, args=(proxy, server, DELAY, ignore), daemon=True).start()
        with socket.create_connection(proxy.getsockname(), timeout=30) as client:
            self.assertEqual(client.recv(1), b"")


if __name__ == "__main__":
    unittest.main()

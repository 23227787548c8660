"""The connection to the server over a network: a proxy port for each delay, and none without."""

import socket
import threading
import time
import unittest
from types import SimpleNamespace

from pgsluice_lab.experiment import Scale
from psycopg import conninfo

from bench.network import address_finder


class AddressFinder(unittest.TestCase):
    def setUp(self):
        self.server = self.enterContext(socket.create_server(("127.0.0.1", 0)))
        self.port = self.server.getsockname()[1]
        url = f"postgresql://someone@127.0.0.1:{self.port}/postgres?sslmode=disable"
        info = SimpleNamespace(host="127.0.0.1", port=self.port)
        self.site = SimpleNamespace(url=url, connection=SimpleNamespace(info=info))

    def echo(self) -> None:
        end, _ = self.server.accept()
        with end:
            end.sendall(end.recv(1))

    def test_each_delay_has_a_port_of_its_own_and_none_is_the_server(self):
        scale = Scale("full", 1, 60, {"rows": 1, "milliseconds": ["none", "0", "100"]})
        with address_finder(self.site, scale) as reach:
            self.assertEqual(reach(self.site, {"milliseconds": "none"}), self.site.url)
            for delay in ("0", "100"):
                about = conninfo.conninfo_to_dict(reach(self.site, {"milliseconds": delay}))
                self.assertEqual((about["user"], about["sslmode"]), ("someone", "disable"))
                self.assertNotEqual(int(about["port"]), self.port)
                threading.Thread(target=self.echo, daemon=True).start()
                near = ("127.0.0.1", int(about["port"]))
                with socket.create_connection(near, timeout=30) as client:
                    time.sleep(0.15)  # it has connected
                    began = time.monotonic()
                    client.sendall(b"?")
                    self.assertEqual(client.recv(1), b"?")
                self.assertEqual(time.monotonic() - began >= 0.1, delay == "100")
        with self.assertRaises(OSError):
            socket.create_connection(near, timeout=30)

    def test_an_experiment_without_delays_needs_no_proxy(self):
        with address_finder(self.site, Scale("full", 1, 60, {"rows": 1})) as reach:
            self.assertEqual(reach(self.site, {"rows": 1}), self.site.url)


if __name__ == "__main__":
    unittest.main()

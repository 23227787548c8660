"""A server with TLS is read from only if a trusted authority has signed its certificate."""

import os
import shutil
import socket
import unittest
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from .place import OnStores
from .servers import Http

NAME = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "tests of pgsluice")])


def make_certificate(certificate: Path, key: Path, host: str, end: datetime) -> None:
    """Write a certificate for the address of a host, signed by itself, and its key."""
    private = ec.generate_private_key(ec.SECP256R1())
    encoding = serialization.Encoding.PEM
    form = serialization.PrivateFormat.PKCS8
    key.write_bytes(private.private_bytes(encoding, form, serialization.NoEncryption()))
    builder = x509.CertificateBuilder(NAME, NAME, private.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(end - timedelta(days=30)).not_valid_after(end)
    names = x509.SubjectAlternativeName([x509.IPAddress(ip_address(host))])
    builder = builder.add_extension(names, critical=False)
    certificate.write_bytes(builder.sign(private, hashes.SHA256()).public_bytes(encoding))


class Https(Http):
    """An HTTP server with TLS."""

    def __init__(self, host: str, end: datetime) -> None:
        self.host, self.end = host, end
        super().__init__()
        self.url = self.url.replace("http:", "https:")

    def command(self, port: int) -> list[str | Path]:
        certificate, key = self.certificate, self.folder / "key.pem"
        make_certificate(certificate, key, self.host, self.end)
        rclone = shutil.which("rclone") or "rclone"
        files = ["--config", os.devnull, "--cert", certificate, "--key", key, self.root]
        return [rclone, "serve", "http", "--addr", f"127.0.0.1:{port}", *files]

    @property
    def certificate(self) -> Path:
        return self.folder / "certificate.pem"

    def listens(self) -> bool:
        """Return whether the server answers, if only in TLS. Fails until it does."""
        port = int(self.url.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=5):
            return True


class Certificates(OnStores):
    def setUp(self):
        super().setUp()
        self.make()

    def started(self, host: str = "127.0.0.1", days: int = 10) -> Https:
        store = Https(host, datetime.now(UTC) + timedelta(days=days))
        self.addCleanup(store.stop)
        store.wait_until(store.listens)
        store.put("rows.csv", b"1\n2\n")
        return store

    def assert_refused(self, store: Https, trusted: Path | None, *message: str) -> None:
        environment = {"SSL_CERT_FILE": str(trusted)} if trusted else {}
        done = self.load_from(store, store.address("rows.csv"), environment=environment)
        self.assertEqual((done.returncode, self.ids()), (1, []), done.stderr)
        for text in message:
            self.assertIn(text, done.stderr)
        self.assertEqual("SSL_CERT_FILE" in done.stderr, trusted is None, done.stderr)

    def test_one_that_is_trusted_is_accepted(self):
        store = self.started()
        environment = {"SSL_CERT_FILE": str(store.certificate)}
        done = self.load_from(store, store.address("rows.csv"), environment=environment)
        self.assertEqual((done.returncode, self.ids()), (0, [1, 2]), done.stderr)

    def test_one_of_an_unknown_authority_is_refused(self):
        hint = "HINT:  To trust its authority, name the file of its certificate in SSL_CERT_FILE."
        message = "no trusted authority has signed the server's certificate"
        self.assert_refused(self.started(), None, message, hint)

    def test_one_of_another_host_is_refused(self):
        store = self.started(host="127.0.0.2")
        self.assert_refused(
            store, store.certificate, "the server's certificate is for another host"
        )

    def test_one_that_has_expired_is_refused(self):
        store = self.started(days=-1)
        self.assert_refused(store, store.certificate, "the server's certificate has expired")


if __name__ == "__main__":
    unittest.main()

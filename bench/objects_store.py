"""The store of the benchmark of objects: an S3 server with files, until its input ends.

It has the environment of the tests of objects. It prints one line of JSON: the port, the
environment of programs that read from it, the bucket, and the server's version.
"""

import json
import subprocess
import sys
from pathlib import Path

from objects.servers import BUCKET, Seaweed


def main(files: list[str]) -> None:
    store = Seaweed()
    store.wait_until(store.make_bucket)
    for file in map(Path, files):
        store.put(file.name, file.read_bytes())
    printed = subprocess.run(["weed", "version"], capture_output=True, text=True, check=True)
    about = {
        "port": int(store.url.rpartition(":")[2]),
        "environment": dict(store.environment),
        "bucket": BUCKET,
        "version": printed.stdout.split()[2],
    }
    print(json.dumps(about), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1:])

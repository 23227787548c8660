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
        # SeaweedFS stores text compressed, unless its type is one that is compressed. It would
        # decompress each range on the processors that the load needs; Amazon's servers are others.
        kind = "application/zstd"
        body = file.read_bytes()
        store.own.put_object(Bucket=BUCKET, Key=file.name, Body=body, ContentType=kind)
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

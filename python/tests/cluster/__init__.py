"""Tests with real Spark and Kafka, which `make cluster` fetches and starts."""

from importlib.util import find_spec
from pathlib import Path


def load_tests(loader, found, pattern):
    """Return the tests, or none if Spark and Kafka are not installed."""
    if find_spec("pyspark") is None:
        return found
    folder = Path(__file__).parent
    return loader.discover(str(folder), pattern, str(folder.parent))

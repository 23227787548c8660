"""Kafka: store each message of topics exactly once, as a row of a table.

`run` reads topics until it is stopped, and `python -m pgsluice.kafka` does the same from a shell.
Both need `pip install 'pgsluice[kafka]'`.
"""

from pgsluice.kafka.result import KafkaResult
from pgsluice.kafka.running import run

__all__ = ["KafkaResult", "run"]

"""Kafka: messages of topics as rows of a table, each exactly once.

`run` reads topics until it is stopped; `python -m pgsluice.kafka` does it from a shell. It needs
`pip install 'pgsluice[kafka]'`.
"""

from pgsluice.kafka.result import KafkaResult
from pgsluice.kafka.running import run

__all__ = ["KafkaResult", "run"]

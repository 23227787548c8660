"""The Kafka client, confluent-kafka: an extra, which may be missing for type checkers."""

from typing import Any

import confluent_kafka  # pyright: ignore[reportMissingImports]
from confluent_kafka import admin  # pyright: ignore[reportMissingImports]

AdminClient: Any = admin.AdminClient
Consumer: Any = confluent_kafka.Consumer
KafkaError: Any = confluent_kafka.KafkaError
KafkaException: Any = confluent_kafka.KafkaException
TopicCollection: Any = confluent_kafka.TopicCollection
TopicPartition: Any = confluent_kafka.TopicPartition

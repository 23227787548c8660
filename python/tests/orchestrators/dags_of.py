"""Common parts of the tests' DAGs and the tests, without Airflow."""

from datetime import UTC, datetime

# Rows of a kilobyte: the first ones are committed before the last ones are read.
ROWS = 30_000
BEGIN = datetime(2026, 11, 25, 3, tzinfo=UTC)

"""Spark's data source `pgsluice`: write frames and streams to PostgreSQL, each row once.

It needs `pip install 'pgsluice[spark]'` on the driver and on the executors. The manual's page on
Spark describes the guarantees of a job, and how to finish one that failed.
"""

from pgsluice.spark.leaves import repartition_by_leaf
from pgsluice.spark.source import PgsluiceSource, register

__all__ = ["PgsluiceSource", "register", "repartition_by_leaf"]

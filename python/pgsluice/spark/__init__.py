"""Spark's data source `pgsluice`: frames and streams of Spark into PostgreSQL, each row once.

It needs `pip install 'pgsluice[spark]'` on the driver and on the executors. The manual's page on
Spark says what a job guarantees, and how to finish one that failed.
"""

from pgsluice.spark.leaves import repartition_by_leaf
from pgsluice.spark.source import PgsluiceSource, register

__all__ = ["PgsluiceSource", "register", "repartition_by_leaf"]

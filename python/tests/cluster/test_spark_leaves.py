"""`repartition_by_leaf`: the rows of a leaf come together, and no row is lost."""

import unittest

import pgsluice
from pgsluice.spark import repartition_by_leaf
from pyspark.errors import PySparkException
from pyspark.sql.functions import spark_partition_id

from .spark_place import LEAVES, OnCluster, frame, session

ROWS = 5000


class ByLeaf(OnCluster):
    def setUp(self):
        super().setUp()
        self.make()

    def test_a_leaf_is_in_one_partition(self):
        rows = repartition_by_leaf(frame(ROWS, 3), "events", self.url, 7)
        rows = rows.withColumn("part", spark_partition_id())
        placed = {row.id: row.part for row in rows.collect()}
        self.assertEqual(len(placed), ROWS)
        rows.drop("part").write.format("pgsluice").option("table", "events").option(
            "conninfo", self.url
        ).mode("append").save()
        parts: dict[str, set[int]] = {}
        for leaf, id_ in self.connection.execute("SELECT tableoid::regclass::text, id FROM events"):
            parts.setdefault(leaf, set()).add(placed[id_])
        self.assertEqual([len(each) for each in parts.values()], [1] * LEAVES)
        self.assertEqual(self.count(), ROWS)

    def test_the_number_of_partitions(self):
        self.assertEqual(
            repartition_by_leaf(frame(9, 2), "events", self.url).rdd.getNumPartitions(), 4
        )
        self.assertEqual(
            repartition_by_leaf(frame(9, 2), "events", self.url, 11).rdd.getNumPartitions(), 11
        )

    def test_rows_without_a_leaf_are_not_lost(self):
        self.connection.execute("DROP TABLE events_3")
        rows = repartition_by_leaf(frame(ROWS, 3), "events", self.url, 5)
        self.assertEqual(rows.count(), ROWS)
        writer = rows.write.format("pgsluice").option("table", "events")
        with self.assertRaisesRegex(PySparkException, "no partition of relation"):
            writer.option("conninfo", self.url).mode("append").save()

    def test_invalid_arguments(self):
        other = frame(9, 2).withColumnRenamed("id", "other")
        with self.assertRaisesRegex(pgsluice.UsageError, "no column of the partition key"):
            repartition_by_leaf(other, "events", self.url)
        with self.assertRaisesRegex(pgsluice.UsageError, "has no partitions"):
            repartition_by_leaf(frame(9, 2), "events_0", self.url)
        with self.assertRaisesRegex(TypeError, "unexpected keyword argument 'colour'"):
            repartition_by_leaf(frame(9, 2), "events", self.url, colour=1)

    def test_a_key_of_several_columns_with_odd_names(self):
        self.make('"Id ""x""" int, "a.b" text, rest int', '"Id ""x""", "a.b"')
        rows = session().sql("SELECT 1 AS `Id \"x\"`, 'q' AS `a.b`, 2 AS rest")
        rows = repartition_by_leaf(rows, "events", self.url, 3)
        rows.write.format("pgsluice").option("table", "events").option("conninfo", self.url).mode(
            "append"
        ).save()
        self.assertEqual(self.count(), 1)


if __name__ == "__main__":
    unittest.main()

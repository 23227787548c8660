"""Lost answers to COMMIT: Spark's JDBC writer and pgsluice under the same conditions."""

import unittest
from urllib.parse import urlsplit

from .proxy import LostCommits
from .spark_place import OnCluster, expected, frame

ROWS = 20_000
PARTITIONS = 4
LOSSES = 2


class LostAnswers(OnCluster):
    def setUp(self):
        super().setUp()
        self.make()
        self.place = urlsplit(self.url)
        self.proxy = self.enterContext(LostCommits(self.place.port, LOSSES))

    def test_jdbc_doubles_the_rows_of_a_task(self):
        url = f"jdbc:postgresql://127.0.0.1:{self.proxy.port}{self.place.path}?sslmode=disable"
        writer = frame(ROWS, PARTITIONS).write.format("jdbc").option("url", url)
        writer = writer.option("user", self.place.username).option("password", self.place.password)
        writer = writer.option("driver", "org.postgresql.Driver").option("dbtable", "events_jdbc")
        writer.mode("append").save()
        self.assertEqual(self.proxy.lost, LOSSES)
        rows, distinct, *_ = self.sums("events_jdbc")
        self.assertEqual(distinct, ROWS)
        self.assertEqual(rows, ROWS + LOSSES * ROWS // PARTITIONS)

    def test_pgsluice_does_not(self):
        host = self.place.netloc.rpartition(":")[0]
        url = self.place._replace(netloc=f"{host}:{self.proxy.port}")
        writer = frame(ROWS, PARTITIONS).write.format("pgsluice").option("table", "events")
        writer.option("conninfo", url.geturl()).mode("append").save()
        self.assertEqual(self.proxy.lost, LOSSES)
        self.assertEqual(self.sums(), expected(self.connection, ROWS))


if __name__ == "__main__":
    unittest.main()

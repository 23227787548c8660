"""Files of other programs: Parquet, Arrow and NDJSON by pyarrow, DuckDB and polars."""

"""Files that others made: Parquet, Arrow and NDJSON by pyarrow, DuckDB and polars."""

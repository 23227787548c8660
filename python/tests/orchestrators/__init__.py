"""What the helpers for orchestrators do in the real packages.

Without Airflow, dlt and Dagster the tests of these are skipped: `make orchestrators` has them all.
"""

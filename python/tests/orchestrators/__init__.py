"""The helpers for orchestrators in the real packages.

Without Airflow, dlt and Dagster their tests are skipped: `make orchestrators` installs them all.
"""

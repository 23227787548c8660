"""Tests with the real parts of a cluster, which `make cluster` fetches and starts."""

"""Tests of the benchmarks' own reckoning, without a server."""

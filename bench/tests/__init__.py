"""Tests of the benchmarks' own calculations, without a server."""

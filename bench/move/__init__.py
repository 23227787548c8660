"""The benchmark of `pgsluice partition`: its speed, and how long writers wait while it runs.

`speed` compares ways to partition a table. `phases` measures the latency of writers during an
online move, and `swaps` the longest wait in each of many swaps. `make bench CASE=move` runs all.
"""

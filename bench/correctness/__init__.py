"""Compares what tools store of awkward inputs with what the server's own COPY stores.

The flow: `case` (an input, its table and the expected rows, listed in `texts`, `typed`, `rules` and
`failures`) -> `tools` (the command of each tool) -> `trial` (one tool, one input) -> `judge` (the
verdict) -> `record` -> `markdown`. `library` is the program that Python's libraries run in.
"""

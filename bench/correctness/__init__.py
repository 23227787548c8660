"""Compares the rows that tools store from awkward inputs with the rows of the server's own COPY.

The flow: `case` (an input, its table and the expected rows, listed in `texts`, `typed`, `rules` and
`failures`) -> `tools` (the command of each tool) -> `trial` (one tool, one input) -> `judge` (the
verdict) -> `record` -> `markdown`. `library` is the program in which Python's libraries run.
"""

"""Writers of a table, and a program that runs a command beside them.

`pgbench` starts and stops them, and `latency` reads their log. `beside` measures them while a
command partitions the table, and `__main__` is its command line.
"""

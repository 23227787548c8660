"""Load data into partitioned PostgreSQL, leaf by leaf.

All the work is done in Rust, by the extension module `pgsluice._native`; `run` is the whole
command line, `python -m pgsluice` the program.
"""

from pgsluice._native import __version__, run

__all__ = ["__version__", "run"]

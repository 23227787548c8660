"""`python -m pgsluice_lab`."""

from pgsluice_lab.cli import main

main()

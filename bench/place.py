"""The location of the checkout, and the program that it builds."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PGSLUICE = ".venv/bin/pgsluice"

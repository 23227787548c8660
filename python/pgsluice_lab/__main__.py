"""The program `pgsluice-lab`.

Without the libraries of the extra `lab`, it prints the requirement.
"""

import sys


def main() -> None:
    """Run the command line."""
    try:
        from pgsluice_lab import cli
    except ModuleNotFoundError as error:
        print(f"error: the lab needs the Python package {error.name}", file=sys.stderr)
        print("hint: pip install 'pgsluice[lab]'", file=sys.stderr)
        sys.exit(1)
    cli.main()


if __name__ == "__main__":
    main()

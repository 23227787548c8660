"""The build backend of the Python package: maturin's, with the program in each wheel."""

import os
import shutil
from collections.abc import Mapping
from typing import Any

import maturin
from maturin import (
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)
from program import SCRIPTS, place

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

# maturin refuses to do anything without it.
SCRIPTS.mkdir(parents=True, exist_ok=True)


def build_wheel(
    wheel_directory: str,
    config_settings: Mapping[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Build the wheel; return its name."""
    _place()
    return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(
    wheel_directory: str,
    config_settings: Mapping[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Build the wheel that points to the sources; return its name."""
    _place()
    return maturin.build_editable(wheel_directory, config_settings, metadata_directory)


def _place() -> None:
    if not shutil.which("cargo"):
        # Required where cargo is not there.
        from puccinialin import setup_rust

        os.environ.update(setup_rust())
    place("--profile", maturin.get_config()["profile"])

"""Objects from data of files: an unknown or a missing key is an error."""

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import TypeVar

from pgsluice_lab.failure import LabError

Kind = TypeVar("Kind")


def build(kind: type[Kind], data: Mapping, what: str) -> Kind:
    """Return a dataclass with these keys; `what` names the data in errors."""
    known = {each.name for each in fields(kind)}
    needed = {
        each.name
        for each in fields(kind)
        if each.default is MISSING and each.default_factory is MISSING
    }
    if wrong := (data.keys() - known) | (needed - data.keys()):
        raise LabError(f"{what} has too much or too little: {', '.join(sorted(wrong))}")
    return kind(**data)

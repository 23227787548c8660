"""The small formulas in experiments: whole numbers, names, comparisons, `max` and `min`."""

import ast
import operator
from collections.abc import Mapping

BINARY = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}
COMPARED = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
EXTREMES = {"max": max, "min": min}


def evaluate(formula: str, names: Mapping, lists: Mapping | None = None) -> object:
    """Return the value of a formula with these names; `max(name)` refers to the list of that name.

    Anything but arithmetic raises ValueError.
    """
    try:
        return value(ast.parse(formula, mode="eval").body, names, lists or {})
    except (SyntaxError, KeyError) as error:
        raise ValueError(f"cannot evaluate {formula!r}: {error}") from error


def value(node: ast.AST, names: Mapping, lists: Mapping) -> object:
    match node:
        case ast.Constant(value=int() | str() as constant):
            return constant
        case ast.Name(id=name):
            return names[name]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in BINARY:
            return BINARY[type(op)](value(left, names, lists), value(right, names, lists))
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARED:
            return COMPARED[type(op)](value(left, names, lists), value(right, names, lists))
        case ast.BoolOp(op=op, values=parts):
            every = all if isinstance(op, ast.And) else any
            return every(value(part, names, lists) for part in parts)
        case ast.Call(func=ast.Name(id=name), args=[ast.Name(id=of)]) if name in EXTREMES:
            return EXTREMES[name](lists[of])
    raise ValueError(f"{ast.unparse(node)} is not arithmetic")

"""Conversion of Arrow data that the reader of Arrow's C interface does not accept."""

from typing import Any

from pgsluice.frames import with_documents


def readable(item: Any) -> Any:
    """Return the object in a form that can be read. Most objects are returned unchanged."""
    match type(item).__module__.partition(".")[0]:
        case "polars":
            return _cast_polars(item)
        case "pyarrow":
            return _without_nested_slices(item)
        case "pandas":
            return with_documents(item)
    return item


def _cast_polars(frame: Any) -> Any:
    """Convert columns that Polars exports in a wrong form.

    It exports a buffer for a column without a type, although the interface has no buffer there,
    and it exports Python objects as their addresses.
    """
    import polars as pl

    if not isinstance(frame, pl.DataFrame):
        return frame
    for name, kind in frame.schema.items():
        if kind == pl.Object:
            raise TypeError(
                f"column {name!r} is of type polars.Object, which has no Arrow equivalent. Instead,"
                " load frame.to_dicts(), or convert the column to strings, as with json.dumps"
            )
    return frame.cast({pl.Null: pl.String}) if pl.Null in frame.dtypes else frame


def _without_nested_slices(rows: Any) -> Any:
    """Copy columns whose structs contain structs, because the reader cannot read slices of them."""
    import pyarrow as pa  # type: ignore[import-untyped]

    if not isinstance(rows, (pa.Table, pa.RecordBatch)):
        return rows
    for index, field in enumerate(rows.schema):
        if pa.types.is_struct(field.type) and any(pa.types.is_struct(f.type) for f in field.type):
            column = rows.column(index)
            is_table = isinstance(column, pa.ChunkedArray)
            whole = [_copy(chunk) for chunk in (column.chunks if is_table else [column])]
            column = pa.chunked_array(whole, field.type) if is_table else whole[0]
            rows = rows.set_column(index, field, column)
    return rows


def _copy(array: Any) -> Any:
    import pyarrow as pa

    return pa.concat_arrays([array, array.slice(0, 0)])

"""What libraries hand over in a form that the reader of Arrow's C interface does not take."""

from typing import Any

from pgsluice.frames import with_documents


def readable(item: Any) -> Any:
    """Return the object in a form that can be read; most are as they stand."""
    match type(item).__module__.partition(".")[0]:
        case "polars":
            return _without_nulls(item)
        case "pyarrow":
            return _without_nested_slices(item)
        case "pandas":
            return with_documents(item)
    return item


def _without_nulls(frame: Any) -> Any:
    """Polars gives a column without a type a buffer, which the interface has none for."""
    import polars as pl

    if isinstance(frame, pl.DataFrame) and pl.Null in frame.dtypes:
        return frame.cast({pl.Null: pl.String})
    return frame


def _without_nested_slices(rows: Any) -> Any:
    """Copy columns whose structs have structs: the reader cannot take them as slices."""
    import pyarrow as pa  # type: ignore[import-untyped]

    if not isinstance(rows, (pa.Table, pa.RecordBatch)):
        return rows
    for index, field in enumerate(rows.schema):
        if pa.types.is_struct(field.type) and any(pa.types.is_struct(f.type) for f in field.type):
            column = rows.column(index)
            is_table = isinstance(column, pa.ChunkedArray)
            whole = [_copied(chunk) for chunk in (column.chunks if is_table else [column])]
            column = pa.chunked_array(whole, field.type) if is_table else whole[0]
            rows = rows.set_column(index, field, column)
    return rows


def _copied(array: Any) -> Any:
    import pyarrow as pa

    return pa.concat_arrays([array, array.slice(0, 0)])

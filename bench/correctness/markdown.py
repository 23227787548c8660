"""The tables of verdicts, in Markdown: one for each group of inputs, with notes below it."""

from bench.correctness.record import Correctness, Input


def tables(record: Correctness) -> str:
    """Return all tables and the versions of the tools."""
    groups = dict.fromkeys(each.group for each in record.inputs)
    versions = "; ".join(dict.fromkeys(each.version for each in record.tools))
    return "\n\n".join([*(table(record, group) for group in groups), f"Versions: {versions}."])


def table(record: Correctness, group: str) -> str:
    """Return the table of one group."""
    tools = record.tools
    notes: dict[str, None] = {}
    lines = [
        row(group, *(each.title for each in tools)),
        "|---|" + "---|" * len(tools),
    ]
    for each in record.inputs:
        if each.group == group:
            cells = (cell(record, each, program.tool, notes) for program in tools)
            lines.append(row(each.title, *cells))
    listed = "\n".join(f"{number}. {note}" for number, note in enumerate(notes, 1))
    return "\n".join(lines) + (f"\n\n{listed}" if listed else "")


def cell(record: Correctness, given: Input, tool: str, notes: dict[str, None]) -> str:
    """Return a verdict, with the number of its note. Equal notes of a table have one number."""
    result = record.result(given.input, tool)
    if not result.note:
        return result.verdict
    notes.setdefault(result.note)
    return f"{result.verdict} ({list(notes).index(result.note) + 1})"


def row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"

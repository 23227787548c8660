"""Records as charts: the figures of a benchmark as bars, in SVG.

The picture has its own background, so that it is legible everywhere, and follows the reader's
preference for light or dark.
"""

from collections.abc import Callable
from html import escape

from bench.move.record import AFTER, BASELINE, Move
from bench.move.ways import WAYS as MOVES
from bench.record import Record
from bench.writing import WAYS, Writing

# A title, a value for each label, and a function that formats a value.
Panel = tuple[str, dict[str, float], Callable[[float], str]]
# The common part of all floors' names.
ASYNCHRONOUS = ", synchronous_commit=off"
WIDTH, MARGIN, LETTER, VALUE = 860, 24, 7, 76
BAR, STEP, HEAD, GAP = 16, 24, 30, 18
STYLE = """
  svg { font: 13px system-ui, -apple-system, "Segoe UI", "Helvetica Neue", Arial, sans-serif }
  .paper { fill: #ffffff; stroke: #d0d7de }
  text { fill: #1f2328 }
  .title { font-weight: 600 }
  .value { font-variant-numeric: tabular-nums }
  .us { fill: #0969da }
  .floor { fill: #1a7f37 }
  .psql { fill: #8c959f }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #0d1117; stroke: #30363d }
    text { fill: #e6edf3 }
    .us { fill: #4493f8 }
    .floor { fill: #3fb950 }
    .psql { fill: #656d76 }
  }
"""


def chart(panels: list[tuple[str, Record]]) -> str:
    """Return the SVG of these titles and records, each with its own scale."""
    medians = [(title, seconds(record), in_seconds) for title, record in panels]
    return drawn(medians, "Seconds of each way to load")


def writing_chart(record: Writing) -> str:
    """Return the SVG of the rows per second of each way to write batches, one panel per size."""
    panels = [
        (
            f"Batches of {rows:,} {'row' if rows == 1 else 'rows'}",
            {
                WAYS[each.way].replace("`", ""): each.rows_a_second
                for each in record.batches
                if each.rows == rows
            },
            lambda value: f"{value:,.0f} rows/s",
        )
        for rows in dict.fromkeys(each.rows for each in record.batches)
    ]
    return drawn(panels, "Rows a second of each way to write")


def move_chart(record: Move) -> str:
    """Return the SVG of the seconds of each way to partition, and of the latency in each phase."""
    panels: list[Panel] = []
    for key, words in ((False, "without a primary key"), (True, "with a primary key")):
        bars = {
            MOVES[each.way].words: each.median("seconds")
            for each in record.ways
            if MOVES[each.way].key == key
        }
        panels.append((f"Seconds to partition a table {words}", bars, in_seconds))
    phases = record.writing.phases if record.writing else []
    for name, words in (("p99_ms", "99th percentile of"), ("longest_ms", "Longest of")):
        bars = {label(each.phase): getattr(each, name) for each in phases}
        panels.append((f"{words} the writers' transactions, by phase", bars, in_milliseconds))
    title = "Seconds of each way to partition, and latency of the writers"
    return drawn([each for each in panels if each[1]], title)


def label(phase: str) -> str:
    """Return the label of a phase. The phases of the move have the color of pgsluice."""
    return phase if phase in (BASELINE, AFTER) else f"pgsluice: {phase}"


def in_seconds(value: float) -> str:
    return f"{value:.2f} s"


def in_milliseconds(value: float) -> str:
    return f"{value:,.1f} ms"


def drawn(panels: list[Panel], label: str) -> str:
    """Return the SVG of these titles and bars, each panel with its own scale."""
    parts = []
    top = MARGIN
    labels = LETTER * max(len(how) for _, bars, _ in panels for how in bars) + GAP
    for title, bars, show in panels:
        parts.append(panel(title, bars, labels, top, show))
        top += HEAD + STEP * len(bars) + GAP
    height = top - GAP + MARGIN - (STEP - BAR)
    paper = (
        f'<rect class="paper" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="6"/>'
    )
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}"'
        f' viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(label)}">'
    )
    return "\n".join([opening, f"<style>{STYLE}</style>", paper, *parts, "</svg>", ""])


def seconds(record: Record) -> dict[str, float]:
    """Return the median seconds of each way to load, the slowest first."""
    medians = {
        record.title(engine).removesuffix(ASYNCHRONOUS): record.median("seconds", engine)
        for engine, _ in record.ways
    }
    return dict(sorted(medians.items(), key=lambda bar: bar[1], reverse=True))


def panel(
    title: str, bars: dict[str, float], labels: int, top: int, show: Callable[[float], str]
) -> str:
    """Return the bars of one benchmark, below its title."""
    longest = max(bars.values())
    room = (
        WIDTH
        - 2 * MARGIN
        - labels
        - max(VALUE, LETTER * max(len(show(value)) for value in bars.values()) + 8)
    )
    lines = [text(MARGIN, top + 12, title, "title")]
    for number, (how, value) in enumerate(bars.items()):
        y = top + HEAD + STEP * number
        x, width = MARGIN + labels, max(1, room * value / longest)
        bar = (
            f'<rect class="{kind(how)}" x="{x}" y="{y}" width="{width:.1f}" height="{BAR}" rx="2"/>'
        )
        lines += [text(MARGIN, y + 12, how), bar]
        lines.append(text(round(x + width + 8), y + 12, show(value), "value"))
    return "\n".join(lines)


def kind(how: str) -> str:
    """Return the kind of bar: ours, the floor's or psql's."""
    return "us" if how.startswith("pgsluice") else "floor" if "floor" in how else "psql"


def text(x: int, y: int, words: str, style: str = "label") -> str:
    return f'<text class="{style}" x="{x}" y="{y}">{escape(words)}</text>'

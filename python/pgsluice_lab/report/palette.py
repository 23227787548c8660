"""The colours of the report, for light and dark: of the page, and of the charts in it.

Charts are made in the light ones; where the page is dark, each is put in place of its twin. So no
two light colours may be the same.
"""

LIGHT = {
    "paper": "#ffffff",
    "panel": "#f6f8fa",
    "line": "#d1d9e0",
    "text": "#1f2328",
    "quiet": "#59636e",
    "link": "#0550ae",
    "good": "#1a7f37",
    "bad": "#b35900",
    "series-1": "#0969da",
    "series-2": "#d1570b",
    "series-3": "#8250df",
    "series-4": "#0e8a6d",
    "series-5": "#bf3989",
    "series-6": "#857000",
    "series-7": "#737d88",
    "series-8": "#cf222e",
}
DARK = {
    "paper": "#0d1117",
    "panel": "#161b22",
    "line": "#343b44",
    "text": "#e6edf3",
    "quiet": "#9198a1",
    "link": "#79b8ff",
    "good": "#3fb950",
    "bad": "#e3893d",
    "series-1": "#4c9bff",
    "series-2": "#f0883e",
    "series-3": "#b58aff",
    "series-4": "#34c4a0",
    "series-5": "#f778ba",
    "series-6": "#d4b830",
    "series-7": "#8b96a2",
    "series-8": "#ff7b72",
}
SERIES = [colour for name, colour in LIGHT.items() if name.startswith("series-")]
OTHERS = LIGHT["series-7"]


def variables(colours: dict[str, str]) -> str:
    """Return the colours as declarations of a style sheet."""
    return " ".join(f"--{name}: {colour};" for name, colour in colours.items())


def twins() -> dict[str, str]:
    """Return the dark colour for each light one."""
    return {LIGHT[name]: DARK[name] for name in LIGHT}

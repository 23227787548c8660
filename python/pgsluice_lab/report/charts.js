// Draws the charts in the colours of the page, at the width of the page, and keeps both up to date.
"use strict";

const dark = matchMedia("(prefers-color-scheme: dark)");
const touch = matchMedia("(pointer: coarse)").matches;
const SETTINGS = { displayModeBar: false, responsive: false, showTips: false };
const PRINTED = 660;
const DASHES = { solid: "", dash: "6 4", dot: "2 3", dashdot: "6 3 2 3", longdash: "10 4", longdashdot: "10 3 2 3" };

const charts = [...document.querySelectorAll(".chart")].map((place) => ({
  plot: place.querySelector(".plot"),
  legend: place.querySelector(".legend"),
  source: place.querySelector("script").textContent,
  hidden: new Set(),
}));

// The data names light colours; on a dark page each gives way to its twin.
function coloured(source, isDark) {
  if (!isDark) return JSON.parse(source);
  return JSON.parse(source.replace(/#[0-9a-f]{6}\b/g, (colour) => TWINS[colour] ?? colour));
}

function height(figure, width) {
  const bars = figure.layout.meta.bars;
  if (!bars) return Math.round(Math.min(380, Math.max(280, width * 0.6)));
  const labels = figure.layout.yaxis.categoryarray.map((label) => label.split("<br>").length * 17);
  return 64 + Math.max(bars * 30, labels.reduce((sum, each) => sum + each + 10, 0));
}

// The figure of the longest bar stands behind it, and is as wide on a phone as elsewhere.
function makeRoom(axis, width) {
  axis.range[1] *= 1 + 60 / Math.max(100, width - 200);
  axis.nticks = width < 500 ? 4 : 6;
}

function draw(chart, isDark, width) {
  const figure = coloured(chart.source, isDark);
  if (figure.layout.meta.bars && figure.layout.xaxis.range) makeRoom(figure.layout.xaxis, width);
  figure.data.forEach((trace, number) => { trace.visible = !chart.hidden.has(number); });
  Object.assign(figure.layout, {
    width, height: height(figure, width), showlegend: false,
    dragmode: touch ? false : "zoom",
  });
  Plotly.react(chart.plot, figure.data, figure.layout, SETTINGS);
  if (figure.data.length > 1) name(chart, figure.data);
}

function name(chart, traces) {
  chart.legend.replaceChildren(...traces.map((trace, number) => {
    const button = document.createElement("button");
    button.type = "button";
    button.setAttribute("aria-pressed", String(!chart.hidden.has(number)));
    button.innerHTML = swatch(trace);
    button.append(trace.name);
    button.addEventListener("click", () => toggle(chart, number));
    return button;
  }));
}

function toggle(chart, number) {
  if (!chart.hidden.delete(number)) chart.hidden.add(number);
  draw(chart, dark.matches, chart.plot.clientWidth);
  chart.legend.children[number].focus();
}

function swatch(trace) {
  if (trace.type === "bar") {
    return `<svg width="12" height="12" aria-hidden="true"><rect width="12" height="12" rx="2" fill="${[trace.marker.color].flat()[0]}"/></svg>`;
  }
  const { color, dash } = trace.line;
  const line = `<path d="M0 6H28" stroke="${color}" stroke-width="2" stroke-dasharray="${DASHES[dash]}"/>`;
  return `<svg width="28" height="12" aria-hidden="true">${line}${trace.mode === "lines" ? "" : mark(trace.marker)}</svg>`;
}

function mark({ symbol, color }) {
  const shapes = {
    circle: "M10 6a4 4 0 1 0 8 0a4 4 0 1 0 -8 0",
    square: "M10.5 2.5h7v7h-7z",
    diamond: "M14 1l5 5l-5 5l-5 -5z",
    "triangle-up": "M14 1.5l4.5 8h-9z",
    cross: "M12.5 2h3v2.5h2.5v3h-2.5v2.5h-3v-2.5h-2.5v-3h2.5z",
    x: "M11 1.5l3 3l3 -3l1.5 1.5l-3 3l3 3l-1.5 1.5l-3 -3l-3 3l-1.5 -1.5l3 -3l-3 -3z",
  };
  return `<path d="${shapes[symbol]}" fill="${color}"/>`;
}

function drawAll() {
  for (const chart of charts) draw(chart, dark.matches, chart.plot.clientWidth);
}

// On paper everything is light, open, and as wide as the paper.
let opened = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("details:not([open])")];
  for (const each of opened) each.open = true;
  for (const chart of charts) draw(chart, false, PRINTED);
});
addEventListener("afterprint", () => {
  for (const each of opened) each.open = false;
  drawAll();
});

let width = innerWidth;
addEventListener("resize", () => {
  if (width === innerWidth) return;
  width = innerWidth;
  requestAnimationFrame(drawAll);
});
dark.addEventListener("change", drawAll);
drawAll();

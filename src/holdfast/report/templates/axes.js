// Scales, ticks and the frame that all charts share.

const MARGIN = { left: 58, right: 16, top: 14, bottom: 46 };
const TICK_GAP = 8; // pixels between two labels

function linearScale(low, high, from, to) {
  const span = high - low || 1;
  return (value) => from + ((value - low) / span) * (to - from);
}

function logScale(low, high, from, to) {
  const scale = linearScale(Math.log(low), Math.log(high), from, to);
  return (value) => scale(Math.log(value));
}

// About `count` round numbers between low and high.
function roundTicks(low, high, count) {
  const rough = (high - low || 1) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough * 0.999);
  const ticks = [];
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  for (let i = first; i <= last; i++) ticks.push(Number((i * step).toPrecision(12)));
  return ticks;
}

// Labels below an axis, inside the chart. Every second, third ... is shown where they would touch.
function placeTicks(values, position, format, width) {
  const ticks = values.map((value) => {
    const text = shortenText(format(value), 0.4 * width);
    const half = measureText(text).width / 2;
    return { text, half, x: Math.min(Math.max(position(value), half), width - half) };
  });
  for (let every = 1; ; every++) {
    const shown = ticks.filter((_, i) => i % every === 0);
    const touch = (tick, i) => i && tick.x - tick.half < shown[i - 1].x + shown[i - 1].half + TICK_GAP;
    if (!shown.some(touch)) return shown;
  }
}

// The inner edges of a chart: room on the left for its labels, at the top for `header` pixels more.
function plotArea(width, height, yLabels, header = 0) {
  const widest = Math.max(0, ...yLabels.map((label) => measureText(label).width));
  return {
    left: Math.max(MARGIN.left, Math.ceil(widest) + 14),
    right: width - MARGIN.right,
    top: MARGIN.top + header,
    bottom: height - MARGIN.bottom,
  };
}

// The label of the horizontal axis: below the plot, or below the whole chart where it is long.
function drawAxisLabel(label, { width, height, plot }) {
  const text = shortenText(label, width - 4);
  const half = measureText(text).width / 2 + 2;
  const x = Math.min(Math.max((plot.left + plot.right) / 2, half), width - half);
  const title = text === label ? null : svg("title", {}, label);
  return svg("text", { class: "axis", x, y: height - 6, "text-anchor": "middle" }, text, title);
}

// `size` has `width`, `height` and `plot`; `yTicks` are values and their labels.
function drawFrame(size, xTicks, yTicks, position, xLabel) {
  const { left, right, bottom } = size.plot;
  const horizontal = yTicks.map(({ value, text }) => [
    svg("line", { class: "rule", x1: left, x2: right, y1: position.y(value), y2: position.y(value) }),
    svg(
      "text",
      { class: "tick", x: left - 8, y: position.y(value) + 4, "text-anchor": "end" },
      text,
    ),
  ]);
  const vertical = placeTicks(xTicks.values, position.x, xTicks.format, size.width).map(
    ({ text, x }) => svg("text", { class: "tick", x, y: bottom + 19, "text-anchor": "middle" }, text),
  );
  const base = svg("line", { class: "base", x1: left, x2: right, y1: bottom, y2: bottom });
  const label = drawAxisLabel(xLabel, size);
  return svg("g", { "aria-hidden": "true" }, horizontal, vertical, base, label);
}

// Scales, ticks and the frame that all charts share.

const MARGIN = { left: 58, right: 16, top: 14, bottom: 44 };

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

// Leaves out ticks whose labels would touch.
function thinTicks(ticks, position, gap) {
  let last = -Infinity;
  return ticks.filter((tick) => {
    if (position(tick) - last < gap) return false;
    last = position(tick);
    return true;
  });
}

function drawFrame(size, ticks, position, spec) {
  const bottom = size.height - MARGIN.bottom;
  const right = size.width - MARGIN.right;
  const formatY = spec.y.tick || spec.y.format;
  const horizontal = ticks.y.map((value) => [
    svg("line", {
      class: "rule",
      x1: MARGIN.left,
      x2: right,
      y1: position.y(value),
      y2: position.y(value),
    }),
    svg(
      "text",
      { class: "tick", x: MARGIN.left - 8, y: position.y(value) + 4, "text-anchor": "end" },
      formatY(value),
    ),
  ]);
  const vertical = ticks.x.map((value) =>
    svg(
      "text",
      { class: "tick", x: position.x(value), y: bottom + 17, "text-anchor": "middle" },
      spec.x.format(value),
    ),
  );
  const label = svg(
    "text",
    {
      class: "axis",
      // Below the middle of the plot, or of the whole chart where a long label needs its width.
      x: spec.x.label.length * 6 > right - MARGIN.left ? size.width / 2 : (MARGIN.left + right) / 2,
      y: size.height - 6,
      "text-anchor": "middle",
    },
    spec.x.label,
  );
  const base = svg("line", { class: "base", x1: MARGIN.left, x2: right, y1: bottom, y2: bottom });
  return svg("g", { "aria-hidden": "true" }, horizontal, vertical, base, label);
}

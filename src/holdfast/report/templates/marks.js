// Colors, shapes and hatches: eight colors times four shapes tell 32 clusters apart, also in gray.

const N_COLORS = 8;
const N_SHAPES = 4;

const colorClass = (cluster) => `c${cluster % N_COLORS}`;
const shapeNumber = (cluster) => Math.floor(cluster / N_COLORS) % N_SHAPES;

// The factors make circle, square, triangle and diamond look equally large.
function shapePath(shape, radius) {
  if (shape === 0) {
    const arc = `a${radius} ${radius} 0 1 0`;
    return `M${-radius} 0${arc} ${2 * radius} 0${arc} ${-2 * radius} 0z`;
  }
  if (shape === 1) {
    const half = 0.9 * radius;
    return `M${-half} ${-half}h${2 * half}v${2 * half}h${-2 * half}z`;
  }
  if (shape === 2) {
    return `M0 ${-1.25 * radius}L${1.15 * radius} ${0.85 * radius}H${-1.15 * radius}z`;
  }
  const corner = 1.3 * radius;
  return `M0 ${-corner}L${corner} 0L0 ${corner}L${-corner} 0z`;
}

function clusterSwatch(cluster, shape = shapeNumber(cluster)) {
  return svg(
    "svg",
    {
      class: `swatch ${colorClass(cluster)}`,
      viewBox: "-10 -10 20 20",
      "aria-hidden": "true",
    },
    svg("path", { d: shapePath(shape, 6.5) }),
  );
}

function lineSwatch(series) {
  return svg(
    "svg",
    {
      class: `swatch ${colorClass(series.mark)}`,
      viewBox: "0 0 26 18",
      width: 26,
      "aria-hidden": "true",
    },
    svg("path", {
      class: series.strong ? "line strong" : "line",
      d: "M0 9H26",
      "stroke-dasharray": series.dash,
    }),
    svg("path", {
      class: "dot",
      transform: "translate(13 9)",
      d: shapePath(series.shape || 0, 4.5),
    }),
  );
}

// Hatches over blocks whose color is used a second, third or fourth time.
function hatchPatterns() {
  const lines = ["M0 6L6 0", "M0 0L6 6", "M0 6L6 0M0 0L6 6"];
  const patterns = lines.map((line, i) =>
    svg(
      "pattern",
      { id: `hatch${i + 1}`, width: 6, height: 6, patternUnits: "userSpaceOnUse" },
      svg("path", { d: line, stroke: "var(--paper)", "stroke-width": 1, fill: "none" }),
    ),
  );
  return svg("defs", {}, patterns);
}

// Colors, shapes and hatches: eight colors times four shapes tell 32 clusters apart, also in grey.
const colorOf = (cluster) => `c${cluster % 8}`;
const groupOf = (cluster) => Math.floor(cluster / 8) % 4;

function shapePath(group, r) {
  if (group === 0) return `M${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`;
  if (group === 1) { const s = 0.9 * r; return `M${-s} ${-s}h${2 * s}v${2 * s}h${-2 * s}z`; }
  if (group === 2) return `M0 ${-1.25 * r}L${1.15 * r} ${0.85 * r}H${-1.15 * r}z`;
  return `M0 ${-1.3 * r}L${1.3 * r} 0L0 ${1.3 * r}L${-1.3 * r} 0z`;
}
const swatch = (cluster) => svg("svg", { class: `swatch ${colorOf(cluster)}`, viewBox: "-10 -10 20 20", "aria-hidden": "true" },
  svg("path", { d: shapePath(groupOf(cluster), 6.5) }));

// Hatches over blocks whose color starts again.
function hatches() {
  const lines = ["", "M0 6L6 0", "M0 0L6 6", "M0 6L6 0M0 0L6 6"];
  return svg("defs", {}, [1, 2, 3].map((group) => svg("pattern",
    { id: `hatch${group}`, width: 6, height: 6, patternUnits: "userSpaceOnUse" },
    svg("path", { d: lines[group], stroke: "var(--paper)", "stroke-width": 1, fill: "none" }))));
}

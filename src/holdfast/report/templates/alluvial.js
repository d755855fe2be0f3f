// Segments of all releases beside each other, with bands for the rows that stay or move.

const BAR_WIDTH = 16;
const RELEASE_WIDTH = 34; // least distance of two releases in pixels; a wider picture scrolls
const ALLUVIAL = { left: 44, right: 44, top: 8, bottom: 34, height: 380 };
const FAINT = 0.001; // of the rows; smaller bands are thin lines
const END_GAP = 10; // pixels between a bar at an end and its name

const countRows = (size) => plural(Math.round(size), "row");

function describeBand([release, source, target, size], labels) {
  const when = `${labels[release]} → ${labels[release + 1]}`;
  const what =
    source === target
      ? `${countRows(size)} stayed in segment ${source}`
      : `${countRows(size)} moved from segment ${source} to ${target}`;
  return [html("b", {}, what), html("span", {}, when)];
}

function describeBar([release, name, low, high, event], labels, total) {
  const size = high - low;
  const notable = release > 0 && ["split", "merged", "new", "ended"].includes(event);
  const first = `Segment ${name}${notable ? ` (${event})` : ""}`;
  const text = `${labels[release]}: ${countRows(size)}, ${formatFraction(size / total)}`;
  return [html("b", {}, first), html("span", {}, text)];
}

function bandPath([release, , , size, start, end], x, y) {
  const left = x(release) + BAR_WIDTH / 2;
  const right = x(release + 1) - BAR_WIDTH / 2;
  const middle = (left + right) / 2;
  const [a, b] = [y(start), y(start + size)];
  const [c, d] = [y(end), y(end + size)];
  return (
    `M${left} ${a}C${middle} ${a} ${middle} ${c} ${right} ${c}` +
    `L${right} ${d}C${middle} ${d} ${middle} ${b} ${left} ${b}z`
  );
}

function drawBands(picture, x, y, labels) {
  // Rows that moved lie on top of those that stayed.
  const moved = (band) => Number(band[1] !== band[2]);
  const bandKind = (band) =>
    !moved(band) ? "" : band[3] < FAINT * picture.height ? "faint" : "moved";
  return [...picture.bands]
    .sort((a, b) => moved(a) - moved(b))
    .map((band) =>
      svg("path", {
        class: `flow ${colorClass(band[1])} ${bandKind(band)}`,
        d: bandPath(band, x, y),
        ...withTip(() => describeBand(band, labels)),
      }),
    );
}

function drawBars(picture, x, y, labels, totals) {
  return picture.bars.map((bar) => {
    const [release, name, low, high, event] = bar;
    const box = {
      x: x(release) - BAR_WIDTH / 2,
      y: y(high),
      width: BAR_WIDTH,
      height: Math.max(y(low) - y(high), 0.5),
    };
    const hatch = shapeNumber(name);
    const mark = release > 0 && ["split", "new"].includes(event);
    return svg(
      "g",
      {
        class: `segment-bar ${colorClass(name)}`,
        ...withTip(() => describeBar(bar, labels, totals[release])),
      },
      svg("rect", { class: "fill", ...box }),
      hatch ? svg("rect", { fill: `url(#hatch${hatch})`, ...box }) : null,
      mark ? svg("rect", { class: "notable", ...box }) : null,
    );
  });
}

// Moves labels apart, at least a line's height each, and keeps them inside. The smallest are left out
// where there is no room for all. `labels` have `y` and `size`.
function spreadLabels(labels, top, bottom) {
  const room = Math.floor((bottom - top) / LINE_HEIGHT);
  const kept = [...labels].sort((a, b) => b.size - a.size).slice(0, room);
  kept.sort((a, b) => a.y - b.y);
  const ys = [];
  kept.forEach(({ y }, i) => {
    const least = i ? ys[i - 1] + LINE_HEIGHT : top + LINE_HEIGHT / 2;
    ys.push(Math.max(y, least));
  });
  let most = bottom - LINE_HEIGHT / 2;
  for (let i = ys.length - 1; i >= 0; i--, most -= LINE_HEIGHT) ys[i] = Math.min(ys[i], most);
  return kept.map((label, i) => ({ ...label, at: ys[i] }));
}

// Names of the segments beside the bars of the first and the last release.
function drawEnds(picture, x, y, last) {
  return [...new Set([0, last])].map((release) => {
    const side = release === 0 ? -1 : 1;
    const edge = x(release) + side * (BAR_WIDTH / 2);
    const labels = picture.bars
      .filter((bar) => bar[0] === release)
      .map(([, name, low, high]) => ({ name, y: y((low + high) / 2), size: high - low }));
    return spreadLabels(labels, 0, y(0) + LINE_HEIGHT / 2).map(({ name, y: middle, at }) => [
      Math.abs(at - middle) < 2
        ? null
        : svg("line", {
            class: "leader",
            x1: edge + side,
            x2: edge + side * (END_GAP - 1),
            y1: middle,
            y2: at,
          }),
      svg(
        "text",
        { x: edge + side * END_GAP, y: at + 4, "text-anchor": side < 0 ? "end" : "start" },
        name,
      ),
    ]);
  });
}

function drawReleases(labels, x, bottom, width) {
  const ticks = placeTicks([...labels.keys()], x, (release) => labels[release], width);
  return ticks.map((tick) =>
    svg("text", { class: "tick", x: tick.x, y: bottom + 22, "text-anchor": "middle" }, tick.text),
  );
}

function drawAlluvial(picture, labels, totals, available) {
  const n = labels.length;
  const width = Math.max(
    available,
    ALLUVIAL.left + ALLUVIAL.right + RELEASE_WIDTH * Math.max(n - 1, 1),
  );
  const bottom = ALLUVIAL.height - ALLUVIAL.bottom;
  const x = linearScale(0, Math.max(n - 1, 1), ALLUVIAL.left, width - ALLUVIAL.right);
  const y = linearScale(0, picture.height, bottom, ALLUVIAL.top);
  const root = svg(
    "svg",
    {
      viewBox: `0 0 ${width} ${ALLUVIAL.height}`,
      width,
      height: ALLUVIAL.height,
      role: "group",
      tabindex: 0,
      "aria-label": "Segments of all releases. Arrow keys go from release to release.",
    },
    hatchPatterns(),
    drawBands(picture, x, y, labels),
    drawBars(picture, x, y, labels, totals),
    drawEnds(picture, x, y, n - 1),
    drawReleases(labels, x, bottom, width),
  );
  followKeys(root, n, (release) => {
    const box = root.getBoundingClientRect();
    const bars = picture.bars.filter((bar) => bar[0] === release).reverse();
    const pairs = bars.map(([, name, low, high]) => [
      `Segment ${name}`,
      `${countRows(high - low)}, ${formatFraction((high - low) / totals[release])}`,
    ]);
    const lines = [html("b", {}, labels[release]), pairTable(pairs)];
    tooltip.show(lines, box.left + (x(release) / width) * box.width, box.top + 20);
  });
  return root;
}

function followKeys(root, count, show) {
  let current = -1;
  root.addEventListener("blur", tooltip.hide);
  stepWithKeys(root, (by) => {
    current = current < 0 ? count - 1 : Math.max(0, Math.min(count - 1, current + by));
    show(current);
  });
}

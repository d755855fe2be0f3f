// The page of a lineage: what changed, segments over time, who moved and why.

const report = JSON.parse(byId("data").textContent);
const { labels, levels, releases } = report.lineage;
const last = labels.length - 1;

const levelOf = (release, k) => releases[release].levels[k] || null;
const segmentName = (name) =>
  html("span", { class: "segment-head" }, clusterSwatch(name), html("b", {}, name));
const timeAxis = { label: "release", name: "Release", format: (i) => labels[i] ?? "" };

function signed(difference) {
  if (difference === 0) return "±0";
  return `${difference > 0 ? "+" : "−"}${formatCount(Math.abs(difference))}`;
}

const formatBudget = (fraction) => `${(100 * fraction).toFixed(2)}%`; // as in describe_follow

function releaseTable(k) {
  const names = ["Rows", "Added", "Removed", "Moved", "Moved", "Held"];
  const head = ["Release", ...names.map((text) => ({ text, class: "num" })), "Events"];
  const body = releases
    .map((release, i) => {
      const at = levelOf(i, k);
      const moved = at ? at.moved : null;
      const numbers = [
        formatCount(release.n_rows),
        formatCount(release.n_new),
        formatCount(release.n_left),
        at ? formatCount(Math.round(moved * release.n_survivors)) : MISSING,
        formatFraction(moved),
        formatCount(release.n_held),
      ];
      const events = [...(at ? at.events : [])];
      if (release.budget_binds) {
        events.push(`the budget of ${formatBudget(release.budget)} binds`);
      }
      return {
        cells: [
          release.label,
          ...numbers.map((text) => ({ text, class: "num" })),
          events.join("; "),
        ],
      };
    })
    .reverse();
  return buildTable(head, body, "All releases, the latest first");
}

function listFindings(k) {
  const found = [];
  const release = releases[last];
  if (release.budget_binds) {
    found.push([
      "poor",
      `The budget of ${formatBudget(release.budget)} binds: more rows would move without it.`,
    ]);
  }
  if (release.tolerance_exceeded) {
    found.push(["poor", "The cost exceeds that of a new fit by more than the tolerance."]);
  }
  for (const event of levelOf(last, k)?.events ?? []) {
    found.push(["fair", `${event[0].toUpperCase()}${event.slice(1)}.`]);
  }
  return found.map(([tone, text]) =>
    html("li", { class: tone }, html("span", { class: "finding" }, text)),
  );
}

function makeChanges(state) {
  const switches = levels.map((k) =>
    html(
      "button",
      { type: "button", class: "switch", "data-level": k, onclick: () => state.choose(k) },
      `${k} segments`,
    ),
  );
  byId("level-switches").append(...switches);
  byId("level-switches").hidden = levels.length < 2;
  const totals = releases.map((release) => release.n_rows);
  const holder = byId("alluvial");
  const draw = (width) => drawAlluvial(report.lineage.pictures[state.k], labels, totals, width);
  state.onChange(() => {
    for (const button of switches) {
      button.setAttribute("aria-pressed", String(Number(button.dataset.level) === state.k));
    }
    byId("alluvial-title").textContent = `${state.k} segments, ${plural(labels.length, "release")}`;
    byId("release-table").replaceChildren(releaseTable(state.k));
    byId("findings").replaceChildren(...listFindings(state.k));
    if (holder.clientWidth >= MIN_WIDTH) holder.replaceChildren(draw(holder.clientWidth));
    holder.scrollLeft = holder.scrollWidth;
  });
  drawToFit(holder, draw, () => {
    holder.scrollLeft = holder.scrollWidth; // the latest release
  });
}

const isDate = (name) => report.data.dates.includes(name);

// How to write the means of each column: three digits of the largest, and the same decimals for all.
function meanFormats(clusters) {
  return report.data.names.map((_, j) => {
    const largest = Math.max(...clusters.map((one) => Math.abs(one.means.at(-1)[j] ?? 0)), 1e-9);
    const decimals = Math.min(6, Math.max(0, 2 - Math.floor(Math.log10(largest))));
    const format = isDate(report.data.names[j])
      ? formatDate
      : (mean) => formatMean(mean, decimals, largest >= 10000);
    return (mean) => (mean === null ? MISSING : format(mean));
  });
}

function segmentRow(cluster, formats) {
  const now = cluster.releases.length - 1;
  const size = cluster.sizes[now];
  const before = cluster.releases[now - 1] === last - 1 ? cluster.sizes[now - 1] : null;
  const change = last === 0 ? MISSING : before === null ? "new" : signed(size - before);
  const cells = report.data.names.map((label, j) => {
    const difference = cluster.differences[now][j];
    return {
      text: `${formats[j](cluster.means[now][j])}${heatArrow(difference)}`,
      class: `num heat h${heatLevel(difference)}`,
      title: `${label}: ${formatDifference(difference)} from the mean of all rows`,
      label,
    };
  });
  return {
    cells: [
      { class: "segment", node: segmentName(cluster.name) },
      { text: formatCount(size), class: "num", label: "Rows" },
      { text: change, class: "num", label: "Change" },
      { text: formatNumber(cluster.costs[now]), class: "num", label: "Mean distance" },
      ...cells,
    ],
  };
}

// Lines for the largest segments of the latest release, then those that ended.
function segmentChart(clusters, title, yLabel, values, format) {
  const series = clusters.map((cluster) => ({
    name: `Segment ${cluster.name}`,
    mark: cluster.name,
    shape: shapeNumber(cluster.name),
    points: cluster.releases.map((x, i) => ({ x, y: values(cluster)[i] })),
  }));
  return chartWithLegend({ title, x: timeAxis, y: { label: yLabel, format }, series });
}

function profileChart(cluster) {
  const series = report.data.names.map((name, j) => ({
    name,
    mark: j,
    shape: shapeNumber(j),
    points: cluster.releases.map((x, i) => ({ x, y: cluster.differences[i][j] })),
  }));
  const spec = {
    title: `Profile of segment ${cluster.name}`,
    x: timeAxis,
    y: {
      label: "difference from the mean of all rows, in standard deviations",
      format: (value) => formatNumber(value, 3),
      fromZero: false,
    },
    series,
  };
  return chartWithLegend(spec, "wide");
}

function makeSegments(state) {
  byId("segment-note").textContent =
    "Cells show means in the units of the table, colored by their distance from the mean of all " +
    "rows; ▲ and ▼: at least 0.8 standard deviations. Mean distance: of the rows of a segment to " +
    "its mean.";
  state.onChange(() => {
    const clusters = report.lineage.clusters[state.k];
    const present = clusters.filter((cluster) => cluster.releases.at(-1) === last);
    const head = [
      "Segment",
      ...["Rows", "Change", "Mean distance"].map((text) => ({ text, class: "num" })),
      ...report.data.names.map(columnHead),
    ];
    const caption = "Segments of the latest release";
    const formats = meanFormats(present);
    const rows = present.map((cluster) => segmentRow(cluster, formats));
    const table = buildTable(head, rows, caption, { className: "cards" });
    byId("segment-table").replaceChildren(table);
    const charts = [];
    if (last > 0) {
      const options = clusters.map((cluster) =>
        html("option", { value: cluster.name }, `Segment ${cluster.name}`),
      );
      const chosen = html("select", { id: "profile-segment" }, options);
      const holder = html("div", { class: "wide" });
      const show = () => {
        const cluster = clusters.find((one) => String(one.name) === chosen.value);
        holder.replaceChildren(profileChart(cluster));
      };
      chosen.addEventListener("change", show);
      chosen.value = String(present[0].name);
      show();
      charts.push(
        segmentChart(clusters, "Size", "rows", (one) => one.sizes, formatCount),
        segmentChart(
          clusters,
          "Mean distance",
          "of the rows to the mean of their segment",
          (one) => one.costs,
          formatNumber,
        ),
        html("p", { class: "wide axes" }, html("label", {}, "Profile of", chosen)),
        holder,
      );
    }
    byId("segment-charts").replaceChildren(...charts);
  });
}

function describeColumns(columns) {
  if (!columns.length) return "values hardly changed: the boundary moved";
  return columns
    .map(([name, ...values]) => {
      const format = isDate(name) ? formatDate : (value) => formatNumber(value);
      return `${name} ${values.map(format).join(" → ")}`;
    })
    .join(", ");
}

const MOST_PAIRS = 10;
const MOVER_HEAD = ["From", "To", "What carried it (before → now)", "Reason"];

const FIRST_MOVERS = 20;

const moverTable = (lines, caption) =>
  buildTable([report.data.id_name || "Row", ...MOVER_HEAD], lines, caption, "cards");

const describeRest = (count, noun) =>
  count > 0 ? html("p", { class: "muted small" }, `and ${plural(count, noun)}.`) : null;

function moverTables(moves) {
  const parts = [];
  const pairs = moves.pairs.slice(0, MOST_PAIRS).map(([from, to, count]) => ({
    cells: [
      { node: segmentName(from) },
      { node: segmentName(to) },
      { text: formatCount(count), class: "num" },
    ],
  }));
  const head = ["From", "To", { text: "Rows", class: "num" }];
  parts.push(
    block(
      "From where to where",
      buildTable(head, pairs, "Moves between segments"),
      describeRest(moves.pairs.length - pairs.length, "more pair"),
    ),
  );
  if (moves.shown.length) {
    const lines = moves.shown.map((move) => ({
      cells: [
        { text: move.id, class: "id", title: move.id },
        { node: segmentName(move.from), label: MOVER_HEAD[0] },
        { node: segmentName(move.to), label: MOVER_HEAD[1] },
        { text: describeColumns(move.columns), label: MOVER_HEAD[2] },
        { text: move.reason, label: MOVER_HEAD[3] },
      ],
    }));
    parts.push(
      block(
        "Rows",
        moverTable(lines.slice(0, FIRST_MOVERS), "Rows that moved"),
        lines.length > FIRST_MOVERS
          ? html(
              "details",
              { id: "more-movers" },
              html("summary", {}, `Show ${formatCount(lines.length - FIRST_MOVERS)} more`),
              moverTable(lines.slice(FIRST_MOVERS), "More rows that moved"),
            )
          : null,
        describeRest(moves.total - moves.shown.length, "more row"),
      ),
    );
  }
  return parts;
}

function makeMovers(state) {
  state.onChange(() => {
    const moves = report.moves[state.k];
    const columns = moves.columns
      .slice(0, 3)
      .map(([name, count]) => `${name} (${countRows(count)})`);
    const when = `Between ${labels[last - 1]} and ${labels[last]}`;
    byId("movers-lead").textContent = moves.total
      ? `${when}, ${plural(moves.total, "row")} changed segment.` +
        (columns.length ? ` The columns that most carried them: ${columns.join(", ")}.` : "")
      : `${when}, no row changed segment.`;
    byId("movers-tables").replaceChildren(...(moves.total ? moverTables(moves) : []));
  });
}

function makeRows() {
  for (const list of report.rows) {
    const lines = list.lines.map((cells) => ({
      cells: cells.map((cell) => ({
        text: typeof cell === "number" ? formatNumber(cell) : cell,
        class: typeof cell === "number" ? "num" : null,
      })),
    }));
    const head = list.head.map((text, j) => ({
      text,
      class: typeof list.lines[0][j] === "number" ? "num" : null,
    }));
    const text = html("p", { class: "muted small" }, list.text);
    byId("rows-tables").append(block(list.title, text, buildTable(head, lines, list.title)));
  }
}

const ratio = (a, b) => (a === null || b === null || b === 0 ? null : a / b);

function makeStaleness(state) {
  state.onChange(() => {
    const at = releases.map((_, i) => levelOf(i, state.k));
    const lines = [
      ["of a new fit", 0, (one) => ratio(one.cost, one.fresh_cost)],
      ["of nobody moving", 1, (one) => ratio(one.cost, one.cost_of_staying)],
    ];
    const series = lines
      .map(([name, mark, value]) => ({
        name,
        mark,
        shape: mark,
        points: at.flatMap((one, x) => (one && value(one) !== null ? [{ x, y: value(one) }] : [])),
      }))
      .filter((one) => one.points.length);
    const moved = {
      name: "Moved",
      mark: 0,
      points: at.flatMap((one, x) => (one && x > 0 ? [{ x, y: one.moved }] : [])),
    };
    const fresh = ratio(at[last].cost, at[last].fresh_cost);
    byId("staleness-lead").textContent =
      fresh === null
        ? "The cost of a new fit was not measured for the latest release."
        : `The latest release costs ${formatNumber(fresh)} times what a new fit would cost` +
          (at[last].fresh_moved === null
            ? "."
            : `; a new fit would move ${formatFraction(at[last].fresh_moved)} of the rows.`);
    const charts = [];
    if (series.length) {
      const y = {
        label: "cost of the release, divided by that",
        format: (value) => formatNumber(value),
        fromZero: false,
      };
      charts.push(chartWithLegend({ title: "Cost", x: timeAxis, y, series }));
    }
    if (moved.points.length) {
      const y = {
        label: "fraction of the surviving rows that changed segment",
        format: formatFraction,
        tick: formatPercentTick,
      };
      charts.push(lineChart({ title: "Movement", x: timeAxis, y, series: [moved] }));
    }
    byId("staleness-charts").replaceChildren(...charts);
  });
}

function startPage() {
  const { data, verdict, provenance } = report;
  byId("subtitle").textContent =
    `${labels[last]}: ${plural(data.n_rows, "row")}, ${plural(data.n_columns, "column")}, ` +
    `${plural(labels.length, "release")}.` +
    (data.shows_rows ? "" : " This page contains nothing about single rows.");
  byId("headline").textContent = verdict.headline;
  const listeners = [];
  const state = {
    k: report.lineage.level,
    onChange: (listener) => listeners.push(listener),
    choose(k) {
      state.k = k;
      for (const listener of listeners) listener();
    },
  };
  startPart("changes", () => makeChanges(state));
  startPart("over-time", () => makeSegments(state));
  if (last > 0) startPart("movers", () => makeMovers(state));
  if (report.rows.length) startPart("rows", makeRows);
  if (last > 0) startPart("staleness", () => makeStaleness(state));
  startPart("provenance", () => {
    byId("provenance-parts").append(definitionList("Lineage", provenance));
  });
  state.choose(state.k);
  finishPage();
}

startPage();

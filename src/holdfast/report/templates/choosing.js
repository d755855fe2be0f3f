// Rows to look at, the choice of k, and the appendix about epsilon.

const K_AXIS = { label: "number of clusters k", name: "k", format: String };
const EPSILON_AXIS = {
  label: "epsilon (logarithmic)",
  name: "epsilon",
  log: true,
  format: (value) => formatNumber(value, 3),
};

function describeRows({ rows, data, segments }) {
  const sentences = [`At k = ${rows.k}, mean of ${plural(rows.n_seeds, "random state")}.`];
  if (rows.n_measured < rows.n_rows) {
    sentences.push(
      `Measured on a sample of ${formatCount(rows.n_measured)} of ${plural(rows.n_rows, "row")}.`,
    );
  }
  const known = plural(rows.n_influence_known, "row");
  sentences.push(
    `${formatCount(rows.n_influential)} of ${known} move another row when they are removed; ` +
      `${formatCount(rows.n_unstable)} of ${plural(rows.n_measured, "row")} change cluster when ` +
      "another row is removed.",
  );
  const shown = data.columns.length + segments.categories.length;
  if (shown < data.n_columns) {
    sentences.push(
      `${shown} of ${formatCount(data.n_columns)} columns are shown: those that ` +
        "differ most between segments.",
    );
  }
  return sentences.join(" ");
}

function rowTable(list, report, scatter) {
  const head = ["Row", { text: list.head, class: "num" }, "Segment", ...valueHeads(report)];
  const body = list.entries.map((entry) => {
    const name = rowName(entry.row, entry.id);
    const button = {
      type: "button",
      class: "pick",
      title: "Show it in the scatter plot",
      onclick: () => scatter.showRow(entry.row),
    };
    const nameNode = scatter ? html("button", button, name) : html("span", {}, name);
    return {
      cells: [
        { class: "id", title: name, node: nameNode },
        { text: list.format(entry.value), class: "num", label: list.head },
        {
          node: html("span", { class: "pick" }, clusterSwatch(entry.cluster), entry.cluster),
          label: "Segment",
        },
        ...valueCells(entry, report),
      ],
    };
  });
  return buildTable(head, body, list.title, { className: "row-cards" });
}

function makeRows(report, scatter) {
  const { rows } = report;
  byId("rows-lead").textContent = keepTogether(describeRows(report));
  const lists = [
    {
      title: "Most influential",
      text: "The number of other rows that change cluster when this row is removed.",
      head: "Rows moved",
      format: (value) => formatNumber(value, 3),
      entries: rows.influential,
      empty: "No row moves another row when it is removed.",
    },
    {
      title: "Most unstable",
      text:
        "How often this row changes cluster when another row is removed " +
        `(${plural(rows.n_left_out, "removal")}, ${plural(rows.n_seeds, "random state")}).`,
      head: "Changes",
      format: formatFraction,
      entries: rows.unstable,
      empty: "No row changed cluster in any trial.",
    },
  ];
  for (const list of lists) {
    if (!list.entries.length) {
      byId("rows-tables").append(html("p", { class: "muted" }, list.empty));
      continue;
    }
    const table = rowTable(list, report, scatter);
    const text = html("p", { class: "muted small" }, list.text);
    byId("rows-tables").append(block(list.title, text, table));
  }
}

const ownSeries = (points) => [{ name: "this clustering", mark: 0, strong: true, points }];

function makeChoosing({ choosing: { k } }) {
  const spec = {
    title: "Movement against k",
    x: K_AXIS,
    y: {
      label: "fraction of the remaining rows that change cluster",
      format: formatFraction,
      tick: formatPercentTick,
    },
    series: ownSeries(k.k.map((x, i) => ({ x, y: k.mean[i], low: k.low[i], high: k.high[i] }))),
    marks: [
      { x: k.chosen, label: `used: ${k.chosen}` },
      { x: k.suggested, label: `stands out: ${k.suggested}` },
    ],
  };
  const reason = html("p", { class: "lead" }, k.reason);
  byId("choosing-parts").append(block(k.headline, reason, lineChart(spec, "wide")));
}

function makeEpsilon({ choosing: { epsilon } }) {
  const inRange = (mark) =>
    mark.x !== null && mark.x >= epsilon.epsilon[0] && mark.x <= epsilon.epsilon.at(-1);
  const marks = [
    { x: epsilon.used, label: `used: ${formatNumber(epsilon.used, 3)}` },
    { x: epsilon.suggested, label: `suggested: ${formatNumber(epsilon.suggested, 3)}` },
  ].filter(inRange);
  const movement = {
    title: "Movement against epsilon",
    x: EPSILON_AXIS,
    y: {
      label: "other rows that change cluster when one row is removed",
      format: (value) => formatNumber(value, 3),
    },
    series: ownSeries(
      epsilon.epsilon.map((x, i) => ({
        x,
        y: epsilon.moved[i],
        low: Math.max(0, epsilon.moved[i] - 2 * epsilon.standard_error[i]),
        high: epsilon.moved[i] + 2 * epsilon.standard_error[i],
      })),
    ),
    marks,
  };
  const cost = {
    title: "Cost against epsilon",
    x: EPSILON_AXIS,
    y: {
      label: "k-median cost relative to epsilon 0",
      format: formatFraction,
      tick: formatPercentTick,
      fromZero: false,
    },
    series: ownSeries(epsilon.epsilon.map((x, i) => ({ x, y: epsilon.cost_ratio[i] }))),
    marks,
  };
  byId("epsilon-lead").textContent =
    `${epsilon.reason} Measured on ${plural(epsilon.n_rows, "row")}. The curve need not fall ` +
    "steadily: rely on a difference only where it exceeds the band.";
  byId("epsilon-charts").append(lineChart(movement), lineChart(cost));
}

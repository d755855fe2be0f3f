// How stable the segments are: the verdict, and the comparison with other methods.

const MAX_BANDS = 3; // bands that a chart shows at first; more hide each other
const DASHES = [null, "7 4", "2 3", "9 3 2 3", "12 4", "4 4", "1 4", "6 2 1 2"];
const MOVED_LABEL = "fraction of the remaining rows that change cluster (lower is more stable)";

function makeVerdict({ verdict }) {
  byId("sentence").textContent = verdict.sentence;
  const findings = verdict.findings.map((finding) =>
    html("li", { class: finding.tone }, html("span", { class: "finding" }, finding.text)),
  );
  byId("findings").append(...findings);
  if (verdict.better) {
    const { text, command } = verdict.better;
    byId("better").append(html("p", {}, text));
    if (command) byId("better").append(html("pre", { tabindex: 0 }, command));
  }
  byId("better").hidden = !verdict.better;
  const cards = verdict.numbers.map((number) =>
    html(
      "div",
      { class: "card" },
      html("div", { class: "value" }, number.value),
      html("p", { class: "label" }, number.label),
      html("p", { class: "detail" }, number.detail),
    ),
  );
  byId("numbers").append(...cards);
}

// Methods differ by color, shape and dashes; those of holdfast are round.
function styleMethods(methods) {
  let others = 0;
  return methods.map((method, i) => ({
    ...method,
    mark: i % N_COLORS,
    shape: method.kind === "other" ? 1 + (others++ % 3) : 0,
    dash: DASHES[i % DASHES.length],
    strong: method.kind === "own",
  }));
}

// The method of the page, Ward linkage, and then in order: as many as bands can be told apart.
function visibleAtFirst(methods) {
  const rank = (method) => (method.kind === "own" ? 0 : method.name === "ward" ? 1 : 2);
  const ranked = [...methods].sort((a, b) => rank(a) - rank(b));
  return new Set(ranked.slice(0, MAX_BANDS).map((method) => method.name));
}

function nameDeletion({ name, rows }) {
  if (name.endsWith("%")) return name;
  return rows === 1 ? `${name} row` : `${name} rows`;
}

function methodSeries(method, xs, values, interval) {
  const { title, name, mark, shape, dash, strong } = method;
  const points = xs.map((x, i) => ({
    x,
    y: values[i],
    low: interval ? interval.low[i] : null,
    high: interval ? interval.high[i] : null,
  }));
  return { name: title, key: name, mark, shape, dash, strong, points };
}

function dotsTable(methods, title) {
  const head = ["Method", "Rows that change cluster", "95% interval", "k-median cost"].map(
    (text, i) => (i ? { text, class: "num" } : text),
  );
  const body = methods.map((method) => {
    const numbers = [
      formatFraction(method.moved),
      `${formatFraction(method.low)} to ${formatFraction(method.high)}`,
      formatFraction(method.relative_cost),
    ];
    return { cells: [method.title, ...numbers.map((text) => ({ text, class: "num" }))] };
  });
  return buildTable(head, body, title);
}

function costChart(comparison, methods, deleted) {
  const title = `Stability and cost at k = ${comparison.k}, ${deleted} removed`;
  const known = methods.filter((method) => method.relative_cost !== null);
  const dots = known.map((method) => ({
    ...method,
    name: method.title,
    x: method.relative_cost,
    y: method.moved,
    lines: [
      ["moved", formatFraction(method.moved)],
      ["95% interval", `${formatFraction(method.low)} to ${formatFraction(method.high)}`],
      ["k-median cost", formatFraction(method.relative_cost)],
    ],
  }));
  const spec = {
    title,
    x: {
      label: `k-median cost relative to ${comparison.cost_reference} (left is better)`,
      format: formatPercentTick,
    },
    y: { label: MOVED_LABEL, format: formatFraction, tick: formatPercentTick },
    dots,
  };
  const draw = (width) => drawDots(spec, width);
  return buildChart(spec, draw, () => dotsTable(methods, title)).figure;
}

function lineSpecs(comparison, methods, deleted) {
  const moved = { label: MOVED_LABEL, format: formatFraction, tick: formatPercentTick };
  const kAxis = { label: "number of clusters k", name: "k", format: String };
  const steps = comparison.deletes.map((_, i) => i);
  return [
    {
      title: `Against rows removed, k = ${comparison.k}`,
      x: {
        label: "rows removed",
        format: (i) => nameDeletion(comparison.deletes[i]),
      },
      y: moved,
      series: methods.map((method) => {
        const part = method.against_deletions;
        return methodSeries(method, steps, part.mean, part);
      }),
    },
    {
      title: `Against k, ${deleted} removed`,
      x: kAxis,
      y: moved,
      series: methods.map((method) => {
        const part = method.against_k;
        return methodSeries(method, part.k, part.mean, part);
      }),
    },
    {
      title: "Cost against k",
      x: kAxis,
      y: {
        label: `k-median cost relative to ${comparison.cost_reference} (lower is better)`,
        format: formatFraction,
        tick: formatPercentTick,
        fromZero: false,
      },
      series: methods.map((method) => {
        const part = method.against_k;
        return methodSeries(method, part.k, part.relative_cost, null);
      }),
    },
  ];
}

// One row of switches for all line charts, which is their legend too.
function methodSwitches(methods, visible, onChange) {
  const buttons = methods.map((method) => {
    const button = html(
      "button",
      {
        type: "button",
        class: "switch",
        "aria-pressed": String(visible.has(method.name)),
        onclick: () => {
          if (!visible.delete(method.name)) visible.add(method.name);
          if (!visible.size) visible.add(method.name);
          button.setAttribute("aria-pressed", String(visible.has(method.name)));
          onChange();
        },
      },
      lineSwatch(method),
      method.title,
    );
    return button;
  });
  const group = { class: "switches", role: "group", "aria-label": "Methods in the line charts" };
  return html("div", group, html("span", { class: "muted" }, "Lines:"), buttons);
}

function makeComparison({ comparison }) {
  const methods = styleMethods(comparison.methods);
  const visible = visibleAtFirst(methods);
  const main = comparison.deletes.find((deletion) => deletion.name === comparison.main);
  const deleted = nameDeletion(main);
  byId("comparison-lead").textContent =
    "Rows are removed at random, and every method is fitted again with the same random state. The " +
    "charts show how many of the remaining rows change cluster " +
    `(${plural(comparison.trials, "trial")} for each number; bands and bars are 95% intervals).`;
  const charts = lineSpecs(comparison, methods, deleted).map((spec) => {
    const draw = (width) => {
      const series = spec.series.filter((one) => visible.has(one.key));
      return drawLines({ ...spec, series }, width);
    };
    return buildChart(spec, draw, () => lineTable(spec));
  });
  const redrawAll = () => charts.forEach((chart) => chart.update());
  byId("comparison-charts").append(
    costChart(comparison, methods, deleted),
    ...charts.map((chart) => chart.figure),
  );
  if (methods.length > 1) {
    byId("method-switches").append(methodSwitches(methods, visible, redrawAll));
  }
  byId("comparison-notes").append(...comparisonNotes(comparison));
}

function comparisonNotes(comparison) {
  const notes = [];
  if (comparison.sampled_from) {
    notes.push(
      `All methods are compared on the same ${formatCount(comparison.n_rows)} of ` +
        `${plural(comparison.sampled_from, "row")}, a sample: several of them need time or memory ` +
        "that grows with the square of the number of rows.",
    );
  }
  for (const method of comparison.left_out) {
    notes.push(`${method.title} is left out: ${method.reason}`);
  }
  return notes.map((text) => html("p", { class: "note" }, text));
}

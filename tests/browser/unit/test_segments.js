test("a giant cluster earns no praise", () => {
  assertEqual(judgeJaccard(0.99, 0.98), { word: "says little", tone: "muted" });
  assertEqual(judgeJaccard(0.99, 0.3).word, "stable");
  assertEqual(judgeJaccard(0.5, 0.3).tone, "poor");
  assertEqual(judgeJaccard(null, 0.3).word, "");
});

test("words agree with the digits that are shown", () => {
  assertEqual(judgeJaccard(0.598, 0.3).word, "doubtful");
  assertEqual(judgeJaccard(0.594, 0.3).word, "not reliable");
  assertEqual(judgeSeparation(0.4951).word, "clear");
});

test("separation has three grades", () => {
  assertEqual(
    [0.6, 0.3, 0.1, null].map((value) => judgeSeparation(value).word),
    ["clear", "partial", "hardly any", ""],
  );
});

test("colors grow with the distance from the mean of all rows", () => {
  const differences = [-2, -1, -0.5, -0.1, 0, 0.1, 0.5, 1, 2];
  assertEqual(differences.map(heatLevel), [-3, -2, -1, -0, 0, 0, 1, 2, 3]);
  assertEqual([heatArrow(-1), heatArrow(0.5), heatArrow(2)], [" ▼", "", " ▲"]);
});

test("names are suggested from what distinguishes a segment", () => {
  const data = { names: ["age", "income", "engine: diesel"], indicators: [2] };
  const told = [
    [1, 1.3, 20],
    [0, -0.8, 4],
  ];
  assertEqual(suggestName(told, data), "high income, low age");
  const long = { names: ["age of the oldest member", "income"] };
  assertEqual(suggestName(told, long), "high income");
  assertEqual(suggestName([[2, 1.1, 0.9]], data), "engine: diesel");
  assertEqual(
    [suggestName([], data), suggestName(null, data)],
    ["close to average", "not described: few rows"],
  );
});

test("long names break after punctuation marks, and long words with a hyphen", () => {
  const shown = (name) => html("p", {}, breakable(name)).innerHTML.replaceAll("&shy;", "\u00ad");
  assertEqual(shown("malic_acid"), "malic_<wbr>acid<wbr>");
  assertEqual(shown("proanthocyanins"), "proantho\u00adcyanins<wbr>");
  assertEqual(shown("a few words of text"), "a few words of text<wbr>");
});

test("the step names the split and the cost relative to one segment", () => {
  assertEqual(
    describeStep({ costs: [200, 150], cost_rows: 9, sizes: [5, 4] }, [-1, 0], 2),
    "The step to k = 2 splits segment 1 off segment 0; k-median cost 150, 75% of that of one segment.",
  );
  const sampled = { costs: [20], cost_rows: 5, sizes: [9] };
  assertEqual(describeStep(sampled, [-1], 1), "All rows are one segment; k-median cost about 20.");
});

test("at most three bands at first, with the own method and Ward among them", () => {
  const methods = ["tree", "means", "medoids", "single", "ward"].map((name) => ({
    name,
    kind: name === "medoids" ? "own" : name === "ward" || name === "single" ? "other" : "holdfast",
  }));
  assertEqual([...visibleAtFirst(methods)], ["medoids", "ward", "tree"]);
  assertEqual([...visibleAtFirst(methods.slice(0, 1))], ["tree"]);
});

test("methods differ in color or shape", () => {
  const methods = [..."abcdefghij"].map((name) => ({ name, kind: "other" }));
  const styles = styleMethods(methods).map(({ mark, shape, dash }) => `${mark} ${shape} ${dash}`);
  assertEqual(new Set(styles).size, methods.length);
});

test("amounts of rows have their noun", () => {
  const named = [
    ["5%", 4],
    ["1", 1],
    ["3", 3],
  ].map(([name, rows]) => nameDeletion({ name, rows }));
  assertEqual(named, ["5%", "1 row", "3 rows"]);
});

test("32 clusters differ in color or shape", () => {
  const marks = [...Array(32).keys()].map((i) => colorClass(i) + shapePath(shapeNumber(i), 4));
  assertEqual(new Set(marks).size, 32);
});

test("a category cell shows the most frequent category and titles the next", () => {
  const column = {
    name: "town",
    levels: ["Ulm", "Bern", "Genf"],
    overall: [0.5, 0.3, 0.2],
    most: [
      [[0, 0.5]],
      [
        [1, 0.8],
        [0, 0.1],
      ],
    ],
  };
  const [cell] = categoryCells([column], { id: 1 });
  assertEqual(cell.node.textContent, "Bern 80%");
  assertEqual(cell.class, "heat category h3");
  assertEqual(cell.title, "town: Bern 80% (of all rows 30%), Ulm 10% (of all rows 50%)");
});

test("two or three rules are shown, and fewer are explained", () => {
  const rules = [
    { text: "age > 40", coverage: 0.9, others: 0.1 },
    { text: "debt > 2", coverage: 0.3, others: 0 },
  ];
  const linesOf = (some) => [...describeRules(some).children].map((line) => line.textContent);
  assertEqual(linesOf(rules), [
    "age > 40: 90% of the segment, 10% of the others",
    "or debt > 2: 30% of the segment, 0% of the others",
  ]);
  rules[1].by_other_columns = true;
  assertTrue(linesOf(rules)[1].startsWith("also debt > 2: "));
  assertEqual(linesOf(rules.slice(0, 1))[1], "No other columns tell it apart.");
  assertEqual(linesOf([]), ["No short rule tells it apart."]);
});

test("a few far points do not squeeze the others", () => {
  const near = Array.from({ length: 1000 }, (_, i) => i / 1000);
  const { low, high } = axisRange([...near, 900, null]);
  assertTrue(low <= 0 && high > 0.99 && high < 2, `${low} ${high}`);
  assertEqual(clamp(900, { low, high }), high);
  assertTrue(axisRange(near.slice(0, 20)).low < 0);
  assertEqual(axisRange([null]), { low: 0, high: 1 });
});

test("dates are days, years are not grouped", () => {
  assertEqual([formatDate(0), formatDate(null)], ["1970-01-01", MISSING]);
  assertEqual([formatValue(2005.62), formatValue(12005)], ["2005.6", "12,005"]);
  assertEqual(formatValue(2005, 0, true), "2,005"); // as 12,005 in its column
  const values = [-0.012345, 0.00004, null, 3].map((value) => formatValue(value, 1));
  assertEqual(values, ["−0.012", "0.00004", MISSING, "3"]);
  const grouped = needGrouping([{ means: [2005.6, 2005] }, null, { means: [null, -12000] }], 2);
  assertEqual(grouped, [false, true]);
  assertEqual(grouped.map((group) => formatMean(2005.6, 1, group)), ["2005.6", "2,005.6"]);
});

test("a copy of the page holds the names, escaped", () => {
  const data =
    '\u003cscript type="application/json" id="data">{"segments":{"names":{}}}\u003c/script>';
  const names = { 3: "\u003c/script>&" };
  const copy = pageWithNames(`<html>${data}</html>`, names);
  assertTrue(copy.startsWith("<!DOCTYPE html>\n<html>") && copy.endsWith("</html>"));
  assertTrue(copy.includes('"\\u003c/script\\u003e\\u0026"'), copy);
});

test("means of one column have the same decimals", () => {
  const profiles = [{ means: [1, 2.25] }, null, { means: [-0.5, null] }];
  assertEqual(countDecimals(profiles, 2), [1, 2]);
  assertEqual([formatMean(1, 1, false), formatMean(-1234.5, 1, false)], ["1.0", "−1234.5"]);
});

test("scales are linear and logarithmic", () => {
  assertEqual(linearScale(0, 10, 100, 200)(5), 150);
  assertEqual(linearScale(3, 3, 100, 200)(3), 100);
  assertEqual(Math.round(logScale(0.01, 100, 0, 40)(1)), 20);
});

test("ticks are round and inside", () => {
  assertEqual(roundTicks(0, 0.3, 5), [0, 0.1, 0.2, 0.3]);
  assertEqual(roundTicks(-4.2, 4.9, 6), [-4, -2, 0, 2, 4]);
  assertEqual(roundTicks(0, 0, 5).length > 0, true);
  for (const [low, high] of [
    [0, 1e-9],
    [0.97, 1.03],
    [1e6, 3e6],
  ]) {
    const ticks = roundTicks(low, high, 5);
    assertTrue(ticks.length >= 2 && ticks.length <= 8, `${ticks.length} ticks`);
    assertTrue(ticks.every((tick) => tick >= low - 1e-12 && tick <= high * (1 + 1e-12)));
  }
});

test("labels that would touch are left out, and all are inside", () => {
  const format = (value) => "month ".repeat(2) + value;
  const ticks = placeTicks([0, 1, 2, 3, 4], (v) => 75 * v, format, 300);
  assertTrue(ticks.length >= 2 && ticks.length < 5, `${ticks.length} ticks`);
  ticks.forEach(({ text, x }, i) => {
    const half = measureText(text).width / 2;
    assertTrue(x - half >= 0 && x + half <= 300, "outside");
    assertTrue(!i || x - half > ticks[i - 1].x + measureText(ticks[i - 1].text).width / 2, "touch");
  });
  assertEqual(shortenText("short", 300), "short");
  const cut = shortenText("a very long name of a column", 60);
  assertTrue(cut.endsWith("…") && measureText(cut).width <= 60, cut);
});

test("long labels of values get room on the left", () => {
  const { left } = plotArea(400, 300, ["1,234,567,890,123"]);
  assertTrue(left >= measureText("1,234,567,890,123").width + 8);
});

test("intervals are shown where they are known", () => {
  const format = (value) => value.toFixed(1);
  assertEqual(formatWithInterval({ y: 1, low: 0.5, high: 2 }, format), "1.0 (0.5 to 2.0)");
  assertEqual(formatWithInterval({ y: 1, low: null }, format), "1.0");
});

test("missing points are neither drawn nor listed", () => {
  const points = [
    { x: 1, y: 2 },
    { x: 2, y: null },
  ];
  const spec = {
    title: "t",
    x: { label: "x", format: String },
    y: { format: String },
    series: [{ name: "s", mark: 0, points }],
  };
  assertEqual(drawLines(spec, 400).querySelectorAll(".dot").length, 1);
  assertEqual(lineTable(spec).querySelectorAll("td")[3].textContent, "");
});

const PLOT = { left: 58, right: 384, top: 14, bottom: 256 };

test("names keep clear of marks, bars, lines and each other", () => {
  const dots = [
    { x: 120, y: 200, top: 60, bottom: 220, name: "one method", strong: true },
    { x: 190, y: 190, top: 40, bottom: 220, name: "another method" },
    { x: 192, y: 200, top: 190, bottom: 210, name: "a third method" },
    { x: 380, y: 100, name: "at the right edge" },
  ];
  const places = placeNames(dots, PLOT);
  const marks = [...dots.map(markBox), ...dots.slice(0, 3).map(barBox)];
  places.forEach(({ box, leader }, i) => {
    assertTrue(isInside(box, PLOT), "outside");
    assertTrue(!marks.some((mark) => overlaps(box, mark)), `${dots[i].name} on a mark`);
    for (const other of places.slice(0, i)) assertTrue(!conflict(places[i], other), `${i}`);
    if (leader) assertTrue(distanceTo(box, { x: leader.x2, y: leader.y2 }) < 0.01, "no end");
  });
  assertEqual(placeNames(dots, PLOT), places); // no random numbers
});

test("a name belongs to one point only", () => {
  const dots = [
    { x: 200, y: 100, name: "left" },
    { x: 211, y: 100, name: "right" },
  ];
  placeNames(dots, PLOT).forEach(({ box, leader }, i) => {
    const other = distanceTo(box, dots[1 - i]);
    assertTrue(leader !== null || other > distanceTo(box, dots[i]) + 3, `near ${other}`);
  });
});

test("lines meet where they cross or nearly touch", () => {
  const line = (x1, y1, x2, y2) => ({ x1, y1, x2, y2 });
  assertTrue(meet(line(0, 0, 50, 50), line(0, 50, 50, 0)));
  assertTrue(meet(line(0, 0, 50, 0), line(25, 2, 25, 60)));
  assertTrue(!meet(line(0, 0, 50, 0), line(0, 20, 50, 20)));
  assertTrue(!meet(line(0, 0, 50, 0), line(0, 0, 0, 50))); // from one point
  const box = { x: 10, y: 10, width: 20, height: 10 };
  assertTrue(crosses(line(0, 15, 40, 15), box) && !crosses(line(0, 5, 40, 5), box));
  assertTrue(!crosses(line(0, 0, 9, 30), box) && crosses(line(12, 0, 12, 12), box));
});

test("where names have no room, numbers refer to a list, and dots at one place share them", () => {
  const dots = Array.from({ length: 9 }, (_, i) => ({
    x: i < 3 ? 100 : 80 + 12 * i,
    y: 100,
    name: `a method with the long name ${i}`,
    mark: i,
  }));
  const { named, places, list } = nameDots(dots, PLOT);
  assertEqual(named.length, 7);
  assertEqual(named[0].name, "1–3");
  assertTrue(!places.includes(null));
  assertEqual(list.children.length, 9);
  assertEqual(list.children[8].textContent, "9 a method with the long name 8");
  assertEqual(listRanges([1, 2, 3, 5, 8, 9]), "1–3, 5, 8–9");
});

test("two lines over a plot have labels in rows that no line passes", () => {
  for (const xs of [[10, 12], [380, 390], [10, 390], [200, 210]]) {
    const marks = xs.map((x, i) => ({ x, label: `a label of a line ${i}` }));
    const plot = { left: 8, right: 392, top: 44, bottom: 256 };
    const drawn = drawMarks(marks, { x: (x) => x }, plot, 400);
    const boxes = drawn.map(([, text]) => ({
      x: Number(text.getAttribute("x")),
      y: Number(text.getAttribute("y")) - 11,
      width: measureText(text.textContent).width,
      height: LINE_HEIGHT,
    }));
    assertTrue(!overlaps(...boxes), `${xs}: overlap`);
    drawn.forEach(([line], i) => {
      const ends = ["x1", "y1", "x2", "y2"].map((name) => [name, Number(line.getAttribute(name))]);
      assertTrue(!crosses(Object.fromEntries(ends), boxes[1 - i]), `${xs}: a line through a label`);
      assertTrue(boxes[i].x >= 0 && boxes[i].x + boxes[i].width <= 400, `${xs}: outside`);
    });
  }
  assertEqual(
    mergeMarks([
      { x: 5, label: "used: 5" },
      { x: 5, label: "stands out: 5" },
      { x: null, label: "nothing" },
    ]),
    [{ x: 5, label: "used: 5, stands out: 5" }],
  );
});

test("the nearest point wins, and none that is far", () => {
  const places = [
    [10, 10],
    [20, 10],
  ];
  assertEqual([nearestPoint(places, 17, 10), nearestPoint(places, 200, 10)], [1, -1]);
});

test("one column still has two axes", () => {
  const points = { axes: [], values: [[1, 2]], rows: [0, 1] };
  const choices = axisChoices({ points }, { names: ["a"], columns: [0], dates: [] });
  assertEqual(
    choices.map((choice) => choice.values),
    [
      [1, 2],
      [0, 0],
    ],
  );
});

test("two columns are drawn on their own axes", () => {
  const points = {
    axes: [],
    values: [
      [1, 2],
      [3, 4],
    ],
    rows: [0, 1],
  };
  const choices = axisChoices({ points }, { names: ["x", "y"], columns: [0, 1], dates: [] });
  assertEqual(
    choices.map((choice) => choice.name),
    ["x", "y"],
  );
});

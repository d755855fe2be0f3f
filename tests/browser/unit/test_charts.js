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

test("labels that would touch are left out", () => {
  assertEqual(
    thinTicks([0, 1, 2, 3, 4], (v) => 10 * v, 20),
    [0, 2, 4],
  );
});

test("intervals are shown where they are known", () => {
  const format = (value) => value.toFixed(1);
  assertEqual(formatWithInterval({ y: 1, low: 0.5, high: 2 }, format), "1.0 (0.5 to 2.0)");
  assertEqual(formatWithInterval({ y: 1, low: null }, format), "1.0");
});

test("the range of values starts at zero unless told otherwise", () => {
  const points = [{ y: 2, low: 1, high: 4 }, { y: 3 }];
  assertEqual(valueRange(points, {}), { bottom: 0, top: 4 });
  assertEqual(valueRange(points, { fromZero: false, least: 5 }), { bottom: 1, top: 5 });
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

test("names of dots cover neither dots nor each other", () => {
  const dots = [
    { x: 200, y: 100, name: "one method", strong: true },
    { x: 205, y: 104, name: "another method" },
    { x: 380, y: 100, name: "at the right edge" },
  ];
  const size = { width: 400, height: 300 };
  const boxes = placeNames(dots, size).map(([dx, dy], i) => ({
    x: dots[i].x + dx,
    y: dots[i].y + dy - 11,
    width: dots[i].name.length * LETTER_WIDTH + 4,
    height: NAME_HEIGHT,
  }));
  for (let i = 0; i < 3; i++) {
    assertTrue(boxes[i].x + boxes[i].width <= size.width, "outside");
    for (let j = 0; j < i; j++) assertTrue(!overlaps(boxes[i], boxes[j]), `${i} on ${j}`);
  }
});

test("names of dots cover no bars, and lines to names cross no names", () => {
  const dots = [
    { x: 120, y: 250, top: 60, bottom: 270, name: "one method", strong: true },
    { x: 190, y: 240, top: 40, bottom: 270, name: "another method" },
    { x: 192, y: 250, top: 240, bottom: 260, name: "a third method" },
  ];
  const offsets = placeNames(dots, { width: 400, height: 320 });
  const boxes = dots.map((dot, i) => boxOf(dot, offsets[i]));
  const bars = dots.map(({ x, top, bottom }) => ({ x, y: top, width: 1, height: bottom - top }));
  for (const box of boxes) assertTrue(!bars.some((bar) => overlaps(box, bar)), "on a bar");
  dots.forEach((dot, i) => {
    const leader = leaderOf(dot, offsets[i]);
    const others = boxes.filter((_, j) => j !== i);
    assertTrue(!leader || !others.some((box) => crosses(leader, box)), "through a name");
  });
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
  const choices = axisChoices({ points }, { names: ["a"], columns: [0] });
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
  const choices = axisChoices({ points }, { names: ["x", "y"], columns: [0, 1] });
  assertEqual(
    choices.map((choice) => choice.name),
    ["x", "y"],
  );
});

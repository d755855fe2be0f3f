test("only an exact zero is 0%", () => {
  const fractions = [0, 0.00001, -0.00001, 0.0005, 0.0099, 0.0996, 1, null];
  const texts = ["0%", "<0.01%", ">−0.01%", "0.05%", "1.0%", "10%", "100%", "–"];
  assertEqual(fractions.map(formatFraction), texts);
});

test("numbers keep four digits and no false zeros", () => {
  const numbers = [1234567, 12345678, 0.5, -1234.5678, 0.00001234, -0.00006, 0.9999999, null];
  const texts = ["1,234,567", "1.235e+7", "0.5", "−1,235", "0.00001234", "−0.00006", "1", "–"];
  assertEqual(
    numbers.map((value) => formatNumber(value)),
    texts,
  );
});

test("nouns follow their number", () => {
  assertEqual(
    [plural(1, "row"), plural(0, "row"), plural(1200, "row")],
    ["1 row", "0 rows", "1,200 rows"],
  );
});

test("text never becomes markup", () => {
  const element = html("p", { title: '"><b>' }, "<b>bold</b>", null, ["&amp;"]);
  assertEqual(element.children.length, 0);
  assertEqual(element.textContent, "<b>bold</b>&amp;");
  assertEqual(element.title, '"><b>');
});

test("absent attributes are left out, listeners are attached", () => {
  let clicks = 0;
  const button = html("button", {
    id: null,
    hidden: false,
    disabled: false,
    onclick: () => clicks++,
  });
  button.click();
  assertEqual([button.attributes.length, clicks], [0, 1]);
});

test("names of rows fall back to their number", () => {
  assertEqual([rowName(7, null), rowName(7, undefined), rowName(7, "x")], ["row 7", "row 7", "x"]);
});

test("tables have a head for each column and a label in each cell", () => {
  const cells = ["x", { text: 3, class: "num", label: "b" }];
  const table = buildTable(["a", { text: "b", class: "num" }], [{ cells }], "caption");
  assertEqual(table.getAttribute("aria-label"), "caption");
  assertEqual(table.querySelectorAll("th[scope=col]").length, 2);
  assertEqual(table.querySelector("td.num").dataset.label, "b");
});

test("no line ends inside a number of clusters", () => {
  const paragraph = html("p", {}, "Stable up to k = 10, then k = 11");
  assertEqual(paragraph.textContent, "Stable up to k\u00a0=\u00a010, then k\u00a0=\u00a011");
  assertEqual(keepTogether("risk = 5, k = x"), "risk = 5, k = x");
});

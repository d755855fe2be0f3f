"""Every number on the pages is quoted from a recorded file, or was set by somebody.

`docs/figures.toml` says which, page by page:

- ``quoted``: words of the page that contain figures; the recorded file; text that stands in one line
  of it ("heading > text": in one line below that heading). All figures of the words stand in this
  line. With "largest" or "smallest", the text is a pattern, and the figure is the largest or
  smallest number in its group over all lines. The page names the command that wrote the file.
- ``set``: parameters, sizes and limits: a reason, and words of the page that contain them.
- ``defined``: sections that define an algorithm, a proof or a format, and the reason. Their plain
  integers are not looked at.

Left out everywhere: code, 0 and 1, numbers of lemmas and versions, and values of k, n, d and epsilon.
"""

import ast
import csv
import re
import tomllib
from pathlib import Path
from statistics import fmean

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCES = tomllib.loads((ROOT / "docs" / "figures.toml").read_text(encoding="utf-8"))
COMMANDS = {
    "benchmarks/results.md": "make bench",
    "benchmarks/frontier/frontier.md": "make frontier",
    "benchmarks/drift/drift.md": "make drift",
    "benchmarks/drift/year.md": "make drift",
    "benchmarks/recorded/demo.md": "make demo",
    "results/claims.md": "make reproduce",
}
"""The command that a page must name; of other files, ``benchmarks/record.py NAME``."""
_MADE = re.compile(r"/(gallery|tutorials|api|_made)/|/(commands|python|fuzzing)\.md$")
_IGNORED = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
PAGES = sorted(
    name
    for pattern in ("*.md", "docs/**/*.md", "docs/lessons/*.py", "examples/*.py")
    for path in ROOT.glob(pattern)
    if not _MADE.search(name := path.relative_to(ROOT).as_posix()) and f"/{name}" not in _IGNORED
)
"""All pages but those that `make docs` and `make fuzz` write."""

_NUMBER = r"\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?"
_UNIT = r"\s(?:s|ms|µs|[kMG]B|[MG]iB|B|bytes|seconds?|minutes?|hours?|years?)\b"
_TIME = r"\b(?:half|one|two|three|four|five|ten|twenty) (?:an? )?(?:second|minute|hour)s?\b"
_PART = r"\b(?:a|one|two|three) (?:third|quarter|fifth|sixth|eighth|tenth|sixteenth|twentieth)s?\b"
_FIGURE = re.compile(rf"(?<![\w.]){_NUMBER}(?:%|{_UNIT})?(?![\w^]|-[a-z])|{_PART}|{_TIME}")
_CITED = (
    r"(?:Alg\.|Algorithm|Theorem|Lemma|Corollary|Eq\.|Def\.|Definition|[Cc]laim|Python|SPEC|IEEE)s?"
)
_AND = r"(?:, | and | or | to | \.\. |, \.\. )"
_NUMBERS = rf"\d[\d.]*[a-z]?\b(?:{_AND}\d+(?:\.\d+|[a-z])\b)*"
_VALUES = rf"{_NUMBER}(?!%)(?:{_AND}\d+\b(?!%|\.\d| [b-z]))*"
_OTHER_NUMBERS = re.compile(
    "|".join(
        (
            rf"{_CITED} {_NUMBERS}",  # Lemmas 3.5 and 3.6
            rf"(?<![\w'])(?:[kntdm]|ε|α) ?[=<>≤≥]? ?{_VALUES}",  # k = 4 and 8
            r"\d[\d,]* [x×] \d[\d,]*",  # 1,000 x 10 rows
            r"(?<![\d.,])(?:19|20)\d\d\b(?!%|[.,]\d)",  # a year
            r"(?<![.\d])\d+ ?(?:[√·ελ²]|ln |log|[kntdmCBK]\b)",  # 6 ln n, 2m
            r"(?:[√·^/]|ln ) ?[\d.]+|[\d.]+(?:/| / |\^)\S+",  # √2, 1/n, 2^53
            r"[\d.]+ [+−] |(?<=\S) [+−] [\d.]+",  # 1 + x
            r"\b0[xo]\w+|\b[A-Za-z]\w*-\d+\b|U\+\d+|10[⁻⁰-⁹]+",  # UTF-8
        )
    )
)


def read(name):
    """Return the text of a file of the repository."""
    return (ROOT / name).read_text(encoding="utf-8")


def read_sections(text, is_script=False):
    """Return heading and words of each section, without code and what commands wrote."""
    if is_script:
        comments = re.findall(r"^# ?(.*)$", text, re.MULTILINE)
        text = "\n".join([ast.get_docstring(ast.parse(text)) or "", *comments]).replace("``", "`")
    flags = re.DOTALL | re.MULTILINE
    text = re.sub(r"<!-- written by .*?<!-- end -->", "", text, flags=flags)
    text = re.sub(r"<!--.*?-->|^ *(```+).*?^ *\1|^:+\{.*?$|^:\w+:(?: .*?)?$", "", text, flags=flags)
    text = re.sub(r"`[^`]*`|\]\([^)]*\)", "``", text)
    text = re.sub(r"^ *\d+\. ", "", text, flags=flags)
    parts = re.split(r"^#+ (.*)$", f"# \n{text}", flags=re.MULTILINE)
    pairs = zip(parts[1::2], parts[2::2], strict=True)
    return [(heading, " ".join(f"{heading} {words}".split())) for heading, words in pairs]


def find_figures(words, is_defined=False):
    """Yield where each figure is, and the figure."""
    masked = _OTHER_NUMBERS.sub(lambda found: "\0" * len(found[0]), words)
    for found in _FIGURE.finditer(masked):
        is_plain = re.fullmatch(r"[\d,]+", found[0]) is not None
        has_error = re.match(" ± ", masked[found.end() :]) is not None
        if not (is_plain and not has_error and (is_defined or found[0] in ("0", "1"))):
            yield found.start(), found[0]


def check_page(name, text, source):
    """Return what is wrong with the figures of a page."""
    entries = [entry[0] for entry in source.get("quoted", ())]
    entries += [words for group in source.get("set", {}).values() for words in group]
    sections = read_sections(text, name.endswith(".py"))
    everything = "\n".join(words for _, words in sections)
    prose = " ".join(re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE).split())
    wrong = [f"not on the page: {entry}" for entry in entries if entry not in everything]
    wrong += [
        f"no section: {heading}"
        for heading in source.get("defined", {})
        if heading not in dict(sections)
    ]
    for heading, words in sections:
        covered = set()
        for entry in entries:
            for found in re.finditer(rf"(?<![\w.,]){re.escape(entry)}(?![\w%]|[.,]\d)", words):
                covered |= set(range(*found.span()))
        for place, figure in find_figures(words, heading in source.get("defined", {})):
            if place not in covered:
                wrong.append(f"{figure}, in: {words[max(0, place - 40) : place + 40]}")
    for entry in source.get("quoted", ()):
        command = COMMANDS.get(entry[1], f"benchmarks/record.py {Path(entry[1]).stem}")
        if command not in prose:
            wrong.append(f"does not name `{command}`")
        wrong += check_quote(entry, read(entry[1]))
    return wrong


def check_quote(entry, recorded):
    """Return the figures of quoted words that are not in their line of the recorded file."""
    words, file, key, *pick = entry
    *headings, key = key.split(" > ")
    for heading in headings:
        recorded = recorded.partition(f"# {heading}\n")[2].partition("\n#")[0]
    if pick:
        parts = " ".join(re.findall(key, recorded))
        numbers = sorted(re.findall(r"-?\d[\d.]*", parts), key=float)
        known = {numbers[0] if pick == ["smallest"] else numbers[-1]} if numbers else set()
    else:
        lines = [line for line in recorded.splitlines() if key in line]
        if len(lines) != 1:
            return [f"{len(lines)} lines of {file} have: {key}"]
        known = set(re.findall(r"\d+(?:,\d{3})*(?:\.\d+)?", lines[0]))
    shown = [figure for _, figure in find_figures(words)]
    wrong = [f for f in shown if not any(rounds_to(value, f) for value in known)]
    wrong = [f"{figure} is not in {file}, {key}" for figure in wrong]
    return wrong if shown else [f"quotes no figure: {words}"]


def rounds_to(value, figure):
    """Tell whether a recorded value, rounded as on the page, is the figure."""
    value, number = (
        text.replace(",", "").strip("-%").partition(" ")[0] for text in (value, figure)
    )
    decimals = len(number.partition(".")[2])
    return value == number or (
        len(value.partition(".")[2]) > decimals and f"{float(value):.{decimals}f}" == number
    )


@pytest.mark.parametrize("name", PAGES)
def test_every_figure_of_a_page_has_a_source(name):
    wrong = check_page(name, read(name), SOURCES.get(name, {}))
    assert not wrong, "\n".join(
        [f"{name}: name the source of each figure in docs/figures.toml", *wrong]
    )


def test_every_entry_belongs_to_a_page_and_has_words():
    assert SOURCES.keys() <= set(PAGES)
    for source in SOURCES.values():
        for words in (words for group in source.get("set", {}).values() for words in group):
            assert re.search(r"[^\W\d]", words), f"a bare number covers too much: {words}"


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("README.md", "0.7% ± 0.1%", "0.8% ± 0.1%"),  # another digit
        ("docs/measured_laws.md", "in 28 of 329 pairs", "in 27 of 329 pairs"),
        ("docs/measured_laws.md", "n TV at most 1.848", "n TV at most 1.253"),  # not the largest
        ("docs/reproduction.md", "(0.0516) in 64%", "(0.0516) in 46%"),  # of another claim
        ("docs/reproduction.md", "| 18.46 | 18.44 |", "| 18.46 | 18.45 |"),
        ("docs/means.md", "Near ties between", "In 3 of 5 tables, near ties between"),
        ("docs/index.md", "hardly change", "hardly change (2%)"),  # a small number without a source
        ("docs/howto/choose_method.md", "a much higher cost", "a cost that is 1.2 times as high"),
        ("docs/tables.md", "costs nothing where", "costs 3 ms where"),
        ("docs/drift.md", "Both move fewer rows", "Both move a third of the rows"),
        ("examples/next_week.py", "far\n# fewer planes", "far\n# fewer planes (4 of 10)"),
        ("README.md", "`make demo`", "`make bench`"),  # another command
    ],
)
def test_a_figure_without_a_source_is_found(name, old, new):
    text = read(name)
    assert old in text
    assert check_page(name, text.replace(old, new), SOURCES.get(name, {}))


@pytest.mark.parametrize(
    ("words", "figures"),
    [
        ("at k = 8, 12 rows move", ["12"]),
        ("0.0201 at ε = 10 and 0.0323 at ε = 1000", ["0.0201", "0.0323"]),
        ("moves 0.1913 of the rows (2013)", ["0.1913"]),
        ("at most 2.49 k ln n / ε, in 3 of 298 pairs", ["2.49", "3", "298"]),
        ("by Lemmas 3.5 and 3.6, 7 rows of 1,000 x 10", ["7"]),
        (
            "takes 1.9 GB, 3 s and half a minute, a third of 5%",
            ["1.9 GB", "3 s", "half a minute", "a third", "5%"],
        ),
        ("1 ± 0.1 of 2^53, not 0 or 1", ["1", "0.1"]),
    ],
)
def test_figures_are_told_from_other_numbers(words, figures):
    assert [figure for _, figure in find_figures(words)] == figures


@pytest.mark.parametrize("name", ["frontier", "drift"])
def test_tables_that_a_command_wrote_are_those_of_its_file(name):
    (shown,) = re.findall(
        rf"<!-- written by make {name} -->(.*)<!-- end -->", read(f"docs/{name}.md"), re.DOTALL
    )
    lines = {line.lstrip("#") for line in read(f"benchmarks/{name}/{name}.md").splitlines()}
    assert [line for line in shown.splitlines() if line.lstrip("#") not in lines] == []


def test_no_peer_is_better_on_any_average():
    """The README says so of means."""
    assert "On no average over a group of them is a peer better" in " ".join(
        read("README.md").split()
    )
    averages = re.findall(
        r"^\| average: .*$", read("benchmarks/frontier/frontier.md"), re.MULTILINE
    )
    assert len(averages) == 5
    assert {line.split(" | ")[1] for line in averages} == {"none"}


def test_the_record_of_fuzzing_has_all_targets_and_adds_up():
    from fuzz.targets import TARGETS

    row = r"^\| (\S+) \| (.*)\| ([\d,]+) \| [\d.]+ \| (\d+) \|$"
    *rows, total = re.findall(row, read("docs/fuzzing.md"), re.MULTILINE)
    assert [row[:2] for row in rows] == [
        (f"`{t.name}`", f"{t.property} ") for t in TARGETS.values()
    ]
    runs, failures = ([int(row[i].replace(",", "")) for row in (*rows, total)] for i in (2, 3))
    assert (sum(runs[:-1]), sum(failures[:-1])) == (runs[-1], failures[-1])


def test_explanations_of_claims_quote_their_own_figures():
    for claim in re.split(r"^## ", read("results/claims.md"), flags=re.MULTILINE)[1:]:
        *given, note = claim.strip().splitlines()
        known = re.findall(r"\d+(?:\.\d+)?", " ".join(given))
        figures = [figure for _, figure in find_figures(note)]
        assert [f for f in figures if not any(rounds_to(k, f) for k in known)] == [], claim


def test_docstrings_state_no_measured_time_or_memory():
    """The reference shows docstrings; sizes of types and of the format, and waits, are set."""
    sizes = ("8 bytes per row", "padded to 64 bytes", "two seconds", "ten seconds")
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                words = " ".join((ast.get_docstring(node) or "").split())
                for size in sizes:
                    words = words.replace(size, "")
                assert not re.search(rf"(?<![\w.]){_NUMBER}{_UNIT}|{_TIME}", words), words


def test_the_table_of_protocols_follows_from_the_results():
    """The mean excess over the floor, from the CSV files of `make reproduce`."""
    named = {"growing line": "line", "CLNSS instance": "clnss", "regression": "regression"}
    methods = {"Alg. 2, ε = 1": "tree_1", "Alg. 2, ε = 10": "tree_10", "CLNSS": "clnss"}
    row = r"^\|([^|]*)\| (Alg[^|]*|CLNSS) \| ([\d.]+) \| ([\d.]+) \|$"
    shown = re.findall(row, read("docs/reproduction.md"), re.MULTILINE)
    assert len(shown) == 7
    data = ""
    for words, method, *figures in shown:
        if words.strip():
            data = next((v for k, v in named.items() if words.strip().startswith(k)), "wine")
        with (ROOT / "results" / f"{data}_protocols.csv").open(encoding="utf-8") as file:
            rows = [row for row in csv.DictReader(file) if row["method"] == methods[method]]
        deleted = "0.1" if data == "wine" else "1"
        for protocol, figure in zip(("rebuild", "fixed_tree"), figures, strict=True):
            excess = [
                float(row["sensitivity"]) - float(row["floor"])
                for row in rows
                if row["protocol"] == protocol and row["delete"] == deleted
            ]
            assert f"{fmean(excess):.2f}" == figure, (data, method, protocol)

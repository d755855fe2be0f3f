"""The examples in the help texts and the documentation run as written."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import typer

from holdfast.cli.app import app

PROGRAM = Path(sys.executable).with_name("holdfast")
COMMANDS = typer.main.get_command(app).commands


def examples_in(text: str) -> list[str]:
    found = re.findall(r"^\s*\$ (.*\bholdfast .*)$", text, flags=re.MULTILINE)
    return [line.strip() for line in found]


def run_line(line: str, holdfast) -> None:
    """Run a line: in this process where no shell is needed."""
    if "|" in line or ">" in line:
        path = f"PATH={shlex.quote(str(PROGRAM.parent))}:$PATH"
        done = subprocess.run(
            ["bash", "-c", f"{path}; {line}"], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (line, done.stderr)
        return
    program, *arguments = shlex.split(line, comments=True)
    assert program == "holdfast"
    done = holdfast(*arguments)
    assert done.code == 0, (line, done.err)


def test_examples_of_the_help_run_as_written(holdfast):
    seen = set()
    first = ["demo", "fit"]  # what the others use
    for name in [*first, *(name for name in COMMANDS if name not in first)]:
        shown = holdfast(name, "--help")
        assert shown.code == 0
        examples = examples_in(shown.out)
        assert examples, f"{name} --help shows no examples"
        assert len(examples) == COMMANDS[name].epilog.count("$ "), "an example is wrapped or cut"
        assert max(map(len, examples)) <= 76, "longer than a line of a terminal"
        for line in examples:
            run_line(line, holdfast)
            seen.update(re.findall(r"(?<![.\w])holdfast (\w+)", line))
    assert seen == set(COMMANDS)


def test_commands_of_the_readme_run_as_written(holdfast, folder):
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    section = readme.partition("## On the command line\n")[2].partition("\n## ")[0]
    (block,) = re.findall(r"```sh\n(.*?)```", section, flags=re.DOTALL)
    lines = [line for line in block.splitlines() if not line.startswith("pip ")]
    assert [line.split()[1] for line in lines] == [
        "demo", "fit", "predict", "audit", "report"
    ]  # fmt: skip
    for line in lines:
        run_line(line, holdfast)
    made = ("labels.csv", "segments.holdfast", "new-labels.csv", "wine-report.html")
    for name in made:
        assert f" {name}" in block
        assert (folder / name).stat().st_size > 0


def test_examples_of_the_main_help_run_as_written(holdfast):
    examples = examples_in(holdfast("--help").out)
    assert len(examples) == 2
    for line in examples:
        run_line(line, holdfast)


def test_every_option_is_described(holdfast):
    for name, command in COMMANDS.items():
        for parameter in command.params:
            if parameter.name != "help":
                assert parameter.help, (name, parameter.name)

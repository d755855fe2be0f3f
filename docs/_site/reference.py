"""The reference: every public name from ``__all__``, every command from its own help."""

from importlib import import_module
from pathlib import Path
from typing import Any

import typer

from holdfast.cli.app import app

# The modules whose names are public, and what they are for.
MODULES = {
    "holdfast": "What most programs need.",
    "holdfast.stability": "What is measured, how rows are perturbed, and the results.",
    "holdfast.lineage": "The releases of one segmentation.",
    "holdfast.clusterers": "Other clusterers behind one interface, and the methods by name.",
    "holdfast.report": "The report page.",
    "holdfast.distributed": "Fitting and labeling on a Dask cluster. Needs the extra `dask`.",
    "holdfast_paper": "The experiments of the paper.",
}
# Results that other names return; their modules have names that are not public as well.
RESULTS = {
    "holdfast.follow.report": ["FollowReport"],
    "holdfast.hierarchy.explain": ["Explanation", "RowExplanation", "Boundary"],
    "holdfast.hierarchy.rules": ["Rule", "Condition"],
}
_NOT_DOCUMENTED = {"__version__"}


def write_pages(folder: Path) -> None:
    """Write python.md and commands.md, if what they say has changed."""
    _write(folder / "python.md", python_page())
    _write(folder / "commands.md", commands_page())


def python_page() -> str:
    """List every public name; autosummary writes a page for each."""
    lines = ["# Python", "", "Every public name, from its docstring.", ""]
    seen: set[int] = set()
    for module, purpose in MODULES.items():
        names = []
        for name in import_module(module).__all__:
            value = getattr(import_module(module), name)
            if name not in _NOT_DOCUMENTED and id(value) not in seen:
                seen.add(id(value))
                names.append(name)
        lines += [f"## {module}", "", purpose, "", *_listing(module, names)]
    lines += ["## Results", "", "What methods of the estimator return.", ""]
    for module, names in RESULTS.items():
        lines += _listing(module, names)
    return "\n".join(lines)


def _listing(module: str, names: list[str]) -> list[str]:
    lines = ["```{eval-rst}", f".. currentmodule:: {module}", "", ".. autosummary::"]
    return [*lines, "   :toctree: api", "", *(f"   {name}" for name in names), "```", ""]


def commands_page() -> str:
    """Describe every command: its help, its arguments and options."""
    program = typer.main.get_command(app)
    lines = ["# Commands", "", "From the help of the program. "]
    lines[-1] += "[The guide](../command_line.md) says what all commands have in common."
    lines.append("")
    for name, command in sorted(program.commands.items()):  # type: ignore[attr-defined]
        lines += _command_section(name, command)
    return "\n".join(lines) + "\n"


def _command_section(name: str, command: Any) -> list[str]:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option" and not p.hidden]
    usage = " ".join(["holdfast", name, *(_metavar(a) for a in arguments), "[OPTIONS]"])
    lines = [f"## {name}", "", "```text", usage, "```", ""]
    lines += [command.help or "", ""]
    if arguments:
        lines += ["| argument | meaning |", "| --- | --- |"]
        lines += [f"| `{_metavar(a)}` | {_cell(getattr(a, 'help', '') or '')} |" for a in arguments]
        lines.append("")
    lines += ["| option | meaning |", "| --- | --- |"]
    lines += [
        f"| {_names(option)} | {_cell(option.help or '')}{_default(option)} |" for option in options
    ]
    lines.append("")
    examples = (command.epilog or "").split("\n\n")[1:]
    if examples:
        lines += ["```console", *examples, "```", ""]
    return lines


def _metavar(parameter: Any) -> str:
    return str(parameter.metavar or parameter.name.upper())


def _names(option: Any) -> str:
    shown = ", ".join(f"`{name}`" for name in [*option.opts, *option.secondary_opts])
    return shown if option.is_flag else f"{shown} `{_metavar(option)}`"


def _default(option: Any) -> str:
    if option.required:
        return " **Required.**"
    if option.is_flag or option.default in (None, "") or option.show_default is False:
        return ""
    return f" Default: `{option.default}`."


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|")


def _write(path: Path, text: str) -> None:
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")

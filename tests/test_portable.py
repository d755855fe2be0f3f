"""The same bits on every processor: no function whose last bit differs decides anything.

NumPy's and the C library's transcendental functions, and products of matrices (BLAS), round
differently on different processors. A row's key is a hash of its bits, so one last bit gives other
random numbers and other clusters.
"""

import ast
from pathlib import Path

import numpy as np
import pytest

from holdfast_paper import draws

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = ROOT / "src" / "holdfast"
TESTS = ROOT / "tests"

# Made-up rows of no benchmark and no experiment come from such draws, but for those of:
DRAWN = {
    "benchmarks/clusterers.py": "the paper's algorithm as it stands there, for a peer",
    "benchmarks/scales.py": "rules for scales are compared on its tables; they judge nothing",
}
# Each may use them, for a reason: none decides a center or a label.
ALLOWED = {
    "hierarchy/cost.py": "sums up the costs of given centers and labels",
    "report/choosing.py": "standard error of a difference, for a sentence",
    "stability/measures.py": "products of integer counts: exact; entropies and errors, for a table",
    "stability/plan.py": "noise that a test of stability adds to the rows",
    "stability/result.py": "standard errors; counts of pairs: exact",
    "stability/selection.py": "the values of epsilon that are tried",
}
# What digests, golden files, comparisons between processes and recorded results are made of.
INPUTS = [
    "../src/holdfast_paper/draws.py",
    "../src/holdfast_paper/instances.py",
    "../src/holdfast_paper/plan.py",
    "../benchmarks/inputs.py",
    "../benchmarks/drift/planted.py",
    "../benchmarks/drift/year.py",
    "../benchmarks/frontier/data.py",
    "distributed/on_cluster.py",
    "laws/configurations.py",
    "laws/digests.py",
    "laws/families.py",
    "laws/inputs.py",
    "laws/test_order.py",
    "oracles/instances.py",
    *(f"golden/{path.name}" for path in sorted((TESTS / "golden").glob("*.py"))),
    *(f"fuzz/{path.name}" for path in sorted((TESTS / "fuzz").glob("*.py"))),
]

FUNCTIONS = {
    "acos", "acosh", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh",
    "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "dot", "einsum", "erf",
    "erfc", "exp", "exp2", "expm1", "float_power", "gamma", "geomspace", "hypot", "inner",
    "lgamma", "linalg", "log", "log10", "log1p", "log2", "logaddexp", "logaddexp2", "logspace",
    "matmul", "pow", "power", "sin", "sinc", "sinh", "tan", "tanh", "tensordot", "vdot",
}  # fmt: skip
MODULES = {"np", "numpy", "math", "cmath"}
DRAWS = {
    "chisquare", "dirichlet", "exponential", "gamma", "gumbel", "laplace", "logistic",
    "lognormal", "multivariate_normal", "normal", "pareto", "poisson", "power", "rayleigh",
    "standard_cauchy", "standard_exponential", "standard_gamma", "standard_normal", "standard_t",
    "triangular", "uniform", "vonmises", "wald", "weibull",
}  # fmt: skip
MADE = {
    "make_blobs", "make_classification", "make_circles", "make_moons", "make_regression",
    "make_swiss_roll",
}  # fmt: skip


def is_exact_power(node: ast.BinOp) -> bool:
    """x ** 2 is x * x; a power of literals is a number in the program's own code."""
    try:
        exponent = ast.literal_eval(node.right)
    except ValueError:
        return False
    if not isinstance(exponent, int):
        return False
    return exponent in (1, 2) or isinstance(node.left, ast.Constant)


def unportable(source: str) -> list[str]:
    """Line and name of everything whose last bit depends on the processor."""
    found = []
    nodes = list(ast.walk(ast.parse(source)))
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    for node in nodes:
        name = None
        if isinstance(node, ast.Attribute):
            owner = ast.unparse(node.value)
            # Not every attribute of such a name is a draw: Verbosity.normal, the normal of a plane.
            draws = id(node) in called or owner.rpartition(".")[2] in ("random", "rng")
            refused = FUNCTIONS if owner in MODULES else {*DRAWS, "dot"} if draws else set()
            name = node.attr if node.attr in refused else None
        elif isinstance(node, ast.ImportFrom):
            refused = FUNCTIONS if node.module in ("math", "numpy", "cmath") else MADE
            name = next((alias.name for alias in node.names if alias.name in refused), None)
        elif isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.MatMult):
            name = "@"
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Pow):
            name = "**="
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            name = None if is_exact_power(node) else "**"
        if name is not None:
            found.append(f"{node.lineno}: {name}")
    return found


def test_the_library_decides_by_exact_operations_only():
    found = {}
    for path in sorted(LIBRARY.rglob("*.py")):
        name = path.relative_to(LIBRARY).as_posix()
        if name not in ALLOWED and (lines := unportable(path.read_text())):
            found[name] = lines
    assert found == {}


def test_every_exception_is_still_needed():
    assert [name for name in ALLOWED if not unportable((LIBRARY / name).read_text())] == []


def draws_in(source: str) -> list[str]:
    return [found for found in unportable(source) if found.partition(": ")[2] in DRAWS | MADE]


def test_recorded_results_come_from_portable_draws():
    found = {}
    for folder in ("src/holdfast_paper", "benchmarks"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if lines := draws_in(path.read_text()):
                found[path.relative_to(ROOT).as_posix()] = lines
    assert sorted(found) == sorted(DRAWN), found


@pytest.mark.parametrize("name", INPUTS)
def test_inputs_of_comparisons_are_the_same_everywhere(name: str):
    assert unportable((TESTS / name).read_text()) == []


@pytest.mark.parametrize(
    "line",
    [
        "x = np.tan(y)",
        "x = math.log2(y)",
        "from math import exp",
        "from sklearn.datasets import make_blobs",
        "x = rng.standard_normal(3)",
        "x = rng.uniform(0, 1)",
        "normal = rng.normal",
        "x = np.random.default_rng(0).normal()",
        "x = 2.0**y",
        "x = 10.0 ** -k",
        "x = y**0.5",
        "x = y**3",
        "x **= 2",
        "x = a @ b",
        "x = a.dot(b)",
        "x = np.linalg.norm(y)",
        "x = np.geomspace(1, 2, 3)",
    ],
)
def test_what_depends_on_the_processor_is_seen(line: str):
    assert len(unportable(line)) == 1


@pytest.mark.parametrize(
    "line",
    [
        "x = plane.normal",
        "x = y**2",
        "x = 2.0**-53",
        "x = 10**400",
        "f(**y)",
        "x = np.sqrt(y)",
        "x = np.ldexp(1.0, k)",
    ],
)
def test_what_does_not_is_allowed(line: str):
    assert unportable(line) == []


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_draws_have_their_law(make):
    """n = 40,000: the bounds are eight standard errors wide."""
    rng, n = make(0), 40_000
    normal = draws.normal(rng, (n, 1))
    assert normal.shape == (n, 1)
    assert abs(normal.mean()) < 0.04
    assert abs((normal**2).mean() - 1.0) < 0.06
    assert abs(np.mean(np.abs(normal) < 1.0) - 0.6827) < 0.02
    heavy = np.abs(draws.heavy_tail(rng, n))
    for far in (10.0, 100.0):
        assert abs(np.mean(heavy > far) * far - 1.0) < 8.0 * (far / n) ** 0.5
    student = np.abs(draws.student_2(rng, n))  # P(|t| > x) = 1 - x / sqrt(2 + x^2)
    for far in (1.0, 5.0):
        expected = 1.0 - far / (2.0 + far * far) ** 0.5
        assert abs(np.mean(student > far) - expected) < 8.0 * (expected / n) ** 0.5
    along = np.array([draws.direction(rng, 3) for _ in range(n // 4)])
    np.testing.assert_allclose((along**2).sum(axis=1), 1.0, rtol=1e-12)
    assert np.abs(along.mean(axis=0)).max() < 8.0 / (3.0 * n / 4) ** 0.5
    assert abs(np.mean(along[:, 2] > 0.5) - 0.25) < 8.0 * (0.1875 / (n / 4)) ** 0.5
    sizes = np.frexp(draws.scales(rng, -5, 5, n))[1]
    assert (np.unique(sizes, return_counts=True)[1] > 0.09 * n).all()
    assert sizes.min() == -4
    assert sizes.max() == 5
    assert isinstance(float(draws.scales(rng, -5, 5)), float)
    between = draws.uniform(rng, 3.0, 4.0, n)
    assert 3.0 <= between.min() < 3.01
    assert 3.99 < between.max() <= 4.0

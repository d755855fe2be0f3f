"""A fuzz target: inputs to draw, and a property that must hold for each of them."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis.strategies import SearchStrategy


@dataclass
class Target:
    """Draws inputs from `inputs` and hands them to `check`, whose docstring states the property."""

    check: Callable[[Any], None]
    inputs: SearchStrategy[Any]
    executions: int = field(default=0, init=False)

    @property
    def name(self) -> str:
        return self.check.__name__.removeprefix("check_")

    @property
    def property(self) -> str:
        """The first sentence of what is promised."""
        return inspect.cleandoc(self.check.__doc__ or "").partition("\n\n")[0].replace("\n", " ")

    def run(self, n_examples: int, with_seed: int) -> None:
        """Check new inputs; the first that fails is made small and raised."""

        def count_and_check(case: Any) -> None:
            self.executions += 1
            self.check(case)

        fuzz = settings(
            max_examples=n_examples,
            database=None,  # a run depends on its seed alone
            deadline=None,
            phases=[Phase.generate, Phase.shrink],
            print_blob=True,
            suppress_health_check=list(HealthCheck),
            verbosity=Verbosity.normal,
        )(given(self.inputs)(count_and_check))
        seed(with_seed)(fuzz)()

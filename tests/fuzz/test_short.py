"""Every fuzz target on 1,000 inputs of a fixed seed; `make fuzz` goes on with others."""

import pytest
from fuzz.targets import TARGETS

EXAMPLES = 1000
SEED = 20250801


@pytest.mark.parametrize("name", TARGETS)
def test_property_holds(name: str):
    target = TARGETS[name]
    before = target.executions
    target.run(EXAMPLES, SEED)
    assert target.executions - before >= EXAMPLES
    assert target.property.endswith(".")

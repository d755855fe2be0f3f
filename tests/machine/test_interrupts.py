"""A KeyboardInterrupt that came during a kernel is raised as one; other errors stay as they are."""

import itertools

import pytest

from holdfast._machine.jit import unwrap_interrupts


def raise_chain(*errors: BaseException) -> None:
    """Raise the last error, each caused by the one before."""
    for before, after in itertools.pairwise(errors):
        after.__cause__ = before
    with unwrap_interrupts():
        raise errors[-1]


def test_an_interrupt_comes_out_of_system_errors():
    with pytest.raises(KeyboardInterrupt):
        raise_chain(KeyboardInterrupt(), SystemError("unpickle"), SystemError("kernel"))
    with pytest.raises(KeyboardInterrupt):
        raise_chain(KeyboardInterrupt())


def test_other_errors_pass():
    with pytest.raises(SystemError, match="alone"):
        raise_chain(SystemError("alone"))
    with pytest.raises(SystemError, match="after"):
        raise_chain(ValueError(), SystemError("after"))
    with pytest.raises(ValueError, match="handled"):
        raise_chain(KeyboardInterrupt(), ValueError("handled it"))

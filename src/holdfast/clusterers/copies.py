"""Unfitted copies of scikit-learn estimators, cheap where that is safe."""

from typing import Any

from sklearn.base import clone

__all__ = ["fresh_copy"]

_PLAIN = (str, int, float, bool, type(None))


def fresh_copy(estimator: Any, **changes: Any) -> Any:
    """Copy an estimator, unfitted, with some parameters changed.

    What `sklearn.base.clone` and `set_params` give. Where all parameters are plain values nothing
    needs to be copied in depth: then the class is called, which takes a tenth of the time. Small
    data are fitted thousands of times.
    """
    parameters = estimator.get_params(deep=False)
    plain = all(isinstance(value, _PLAIN) for value in parameters.values())
    if plain and changes.keys() <= parameters.keys():
        return type(estimator)(**{**parameters, **changes})
    return clone(estimator).set_params(**changes)

"""One test over many cases that still says which case failed."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def noting(*case: object) -> Iterator[None]:
    """Name the case in the report of whatever goes wrong inside.

    A parameter of pytest would name it too, at ten milliseconds a case: more than most cases take.
    """
    try:
        yield
    except Exception as error:
        error.add_note("with " + ", ".join(map(str, case)))
        raise


def over_numbers(count: int) -> Callable[[Callable[..., None]], Callable[[str], None]]:
    """Run a test of (family, number) for each family, over all numbers below `count`."""

    def decorate(test: Callable[..., None]) -> Callable[[str], None]:
        def run(family: str) -> None:
            for number in range(count):
                with noting("number", number):
                    test(family, number)

        run.__name__, run.__doc__ = test.__name__, test.__doc__
        return run

    return decorate

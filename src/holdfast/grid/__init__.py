"""Points -> cells of a grid that is fixed by the seed alone."""

from holdfast.grid.cells import Cells, collect_cells
from holdfast.grid.place import Grid, place_grid

__all__ = ["Cells", "Grid", "collect_cells", "place_grid"]

"""Points -> cells of a grid that depends only on the seed."""

from holdfast.grid.cells import Cells, collect_cells
from holdfast.grid.place import Grid, place_grid

__all__ = ["Cells", "Grid", "collect_cells", "place_grid"]

"""How the site is made: one file for each thing that `make docs` makes or checks."""

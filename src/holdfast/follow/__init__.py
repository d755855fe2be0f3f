"""Yesterday's clusters and today's rows -> today's clusters, with as few moves as pay.

The objective J and the steps are stated in docs/follow.md.

Invariants. Every level has exactly as many clusters as asked for, none of them empty, and levels are
nested. At most a fraction `budget` of the surviving weight has another name than yesterday, at every
level and after every step. The result is a function of yesterday's model, today's rows and the
parameters: rows are put into the order of their content first, and all sums run in that order, in
blocks that depend on the number of rows only.
"""

"""Yesterday's clusters and today's rows -> today's clusters, with as few moves as pay.

Objective. The levels are the numbers of clusters that are followed, say 4, 8 and 16. Each cluster of
a level lies in one cluster of the level above. Following minimizes

    J = sum over levels l of  cost_l / ref_l  +  price * moved_l / n

where cost_l is the sum of distances from rows to the mean of their cluster, ref_l is cost_l of the
start, in which nobody moves, moved_l is the weight of the rows whose cluster has another name than
yesterday, and n is the weight of all rows.

Steps. *Match* finds yesterday's cluster of each row, by id or by content. The *start* leaves these
rows where they were, and gives new rows the cluster that raises J least. *Rows* moves single rows
while J falls. *Structure* tries to give a cluster another parent, and to merge two siblings while
another cluster is split; it keeps what lowers J after *Rows*, one change at a time.

Invariants. Every level has exactly as many clusters as asked for, none of them empty, and levels are
nested. At most a fraction `budget` of the surviving weight has another name than yesterday, at every
level and after every step. The result is a function of yesterday's model, today's rows and the
parameters: rows are put into the order of their content first, and all sums run in that order, in
blocks that depend on the number of rows only.

Names. A name belongs to one cluster of one level, and to none other later. A part that splits off gets
the next free name; of two clusters that merge, the name that more rows keep stays.
"""

"""All targets, by name."""

from fuzz import files, fits, hierarchies, inputs, tables

TARGETS = {
    target.name: target
    for target in (
        files.DAMAGED,
        files.CRAFTED,
        files.DESCRIBED,
        fits.TREE,
        fits.EUCLIDEAN,
        inputs.INPUTS,
        hierarchies.HIERARCHIES,
        tables.TABLE_FILES,
        tables.CHUNK_FILES,
    )
}

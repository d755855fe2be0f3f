"""Targets: the loader of models, on damaged files and on crafted ones with right checksums."""

import atexit
import hashlib
import json
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from fuzz.invariants import check_hierarchy, check_labels, some_ks
from fuzz.target import Target
from golden import saved, saved_models
from hypothesis import strategies as st
from storage.forge import describe, npy, pack, to_text

import holdfast
from holdfast import HierarchicalKMedian
from holdfast.storage.archive import DamagedFile, read_archive
from holdfast_paper.draws import normal

FOLDERS = (saved.FOLDER, saved_models.FOLDER)
SCRATCH = Path(tempfile.mkdtemp(prefix="holdfast-fuzz-"))
atexit.register(shutil.rmtree, SCRATCH)


FILES = {path.stem: path for folder in FOLDERS for path in folder.glob("*.holdfast")}
NAMES = sorted(FILES)
WHOLE = {name: FILES[name].read_bytes() for name in NAMES}
PARTS = {name: read_archive(FILES[name]) for name in NAMES}


def load(content: bytes) -> Any:
    """Load from bytes; None where they are refused, which must be by one kind of error."""
    path = SCRATCH / "file"
    path.write_bytes(content)
    try:
        return holdfast.load(path)
    except DamagedFile as error:
        if error.path == str(path) and str(error).startswith(f"{path} cannot be loaded: "):
            return None
        raise


@dataclass(frozen=True)
class Edit:
    """One change of some bytes; positions and lengths count modulo what there is."""

    how: str
    at: int
    length: int
    value: int

    def apply(self, content: bytes) -> bytes:
        at = self.at % (len(content) + 1)
        stop = min(at + self.length, len(content))
        block = bytes((self.value + i * (self.value >> 8)) & 255 for i in range(self.length))
        if self.how == "flip" and at < len(content):
            flipped = content[at] ^ (1 << (self.value % 8))
            return content[:at] + bytes([flipped]) + content[at + 1 :]
        if self.how == "cut":
            return content[:at]
        if self.how == "remove":
            return content[:at] + content[stop:]
        if self.how == "repeat":
            return content[:stop] + content[at:]
        if self.how == "insert":
            return content[:at] + block + content[at:]
        if self.how == "number":
            word = (self.value * 0x0101_0101_0101_0101 & (2**64 - 1)).to_bytes(8, "little")
            return content[:at] + word[: min(8, len(content) - at)] + content[at + 8 :]
        other = WHOLE[NAMES[self.value % len(NAMES)]]
        return content[:at] + other[at:stop] + content[stop:]


EDITS = st.builds(
    Edit,
    how=st.sampled_from(["flip", "cut", "remove", "repeat", "insert", "number", "other"]),
    at=st.integers(0, 2**15),
    length=st.integers(1, 300),
    value=st.integers(0, 2**16),
)


def check_damaged_file(case: tuple[str, list[Edit]]) -> None:
    """A changed file raises DamagedFile, unless it is a valid file, byte for byte."""
    name, edits = case
    content = WHOLE[name]
    for edit in edits:
        content = edit.apply(content)
    if load(content) is not None:
        assert content in WHOLE.values()


INTERESTING = [-(2**31), -2, -1, 0, 1, 2, 3, 63, 64, 65, 255, 2**31 - 1, 2**53, 2**62, 2**63]
FLOATS = [0.0, -0.0, 1.0, -1.0, 5e-324, 1e-300, 1e300, 1.0000001, float("inf"), float("nan")]
WORDS = ["cells", "splits", "cosine", "inf", "texts", "integers", "tree", "drop"]
VALUES_OF_METADATA = [*INTERESTING, 10**400, *FLOATS[:8], *WORDS, None, [], {}, True, [1], ["a", 2]]
VALUES_OF_METADATA += [["a", "b"], [2**70, 1], [1e-300, 1.0], [0.0, 1.0], [3, 99]]


@dataclass(frozen=True)
class Craft:
    """One change of an array or of the metadata, by numbers that count modulo what there is."""

    how: str
    which: int
    at: int
    value: int

    def apply(self, metadata: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        name = sorted(arrays)[self.which % len(arrays)]
        array = arrays[name]
        flat = array.reshape(-1)
        if self.how == "metadata" and metadata:
            keys = sorted(metadata)
            key = keys[self.at % len(keys)]
            if isinstance(metadata[key], dict) and self.which % 4:
                Craft(self.how, 0, self.which, self.value).apply(metadata[key], arrays)
            else:
                metadata[key] = VALUES_OF_METADATA[self.value % len(VALUES_OF_METADATA)]
        elif self.how == "set" and flat.size:
            choice = FLOATS if array.dtype.kind == "f" else INTERESTING
            with np.errstate(over="ignore"):
                flat[self.at % flat.size] = np.array(choice[self.value % len(choice)]).astype(
                    array.dtype
                )
        elif self.how == "small" and flat.size and array.dtype.kind in "iu":
            flat[self.at % flat.size] = self.value % (flat.size + 2)
        elif self.how == "swap" and flat.size:
            i, j = self.at % flat.size, self.value % flat.size
            flat[[i, j]] = flat[[j, i]]
        elif self.how == "shorten":
            arrays[name] = array[: self.at % (len(array) + 1)].copy()
        elif self.how == "shorten all":
            for other in arrays:
                arrays[other] = arrays[other][: max(len(arrays[other]) - 1 - self.at % 3, 0)].copy()
        elif self.how == "lengthen":
            arrays[name] = np.concatenate([array] * (1 + self.at % 3))
        elif self.how == "columns" and array.ndim == 2:
            arrays[name] = array[:, : self.at % (array.shape[1] + 1)].copy()
        elif self.how == "dtype":
            dtypes = ["<i4", "<i8", "<u8", "<f8", "|u1", "<f4"]
            with np.errstate(all="ignore"):
                arrays[name] = array.astype(dtypes[self.value % len(dtypes)])
        elif self.how == "shape":
            arrays[name] = flat.reshape([(-1, 1), (1, -1), (-1,), (1, 1, -1)][self.value % 4])
        elif self.how == "rename":
            arrays[sorted(arrays)[self.at % len(arrays)]] = arrays.pop(name)
        elif self.how == "reverse":
            arrays[name] = array[::-1].copy()
        elif self.how == "other file":
            other = PARTS[NAMES[self.value % len(NAMES)]].arrays
            if name in other:
                arrays[name] = other[name].copy()


HOWS = ["metadata", "set", "set", "small", "small", "swap", "shorten", "shorten all", "lengthen"]
HOWS += ["columns", "dtype", "shape", "rename", "reverse", "other file"]
CRAFTS = st.builds(
    Craft,
    how=st.sampled_from(HOWS),
    which=st.integers(0, 20),
    at=st.integers(0, 300),
    value=st.integers(0, 300),
)


def check_crafted_file(case: tuple[str, list[Craft], int]) -> None:
    """A file with valid checksums and any content raises DamagedFile, or gives a valid model."""
    name, crafts, pick = case
    metadata = json.loads(json.dumps(PARTS[name].metadata))
    arrays = {key: array.copy() for key, array in PARTS[name].arrays.items()}
    for craft in crafts:
        craft.apply(metadata, arrays)
    content = pack(
        to_text(
            describe(
                kind=PARTS[name].kind,
                metadata=metadata,
                arrays={
                    key: {
                        "dtype": arrays[key].dtype.str,
                        "shape": list(arrays[key].shape),
                        "blake2b": hashlib.blake2b(
                            arrays[key].tobytes(), digest_size=32
                        ).hexdigest(),
                    }
                    for key in sorted(arrays)
                },
            )
        ),
        {key: npy(arrays[key]) for key in sorted(arrays)},
    )
    found = load(content)
    if found is None:
        return
    hierarchy = found.hierarchy_
    if PARTS[name].kind == "model":
        check_model(found)
    ks = some_ks(hierarchy.n_centers, pick)
    check_hierarchy(hierarchy, ks)
    random = np.random.RandomState(pick)
    rows = normal(random, (6, hierarchy.locator.n_features))
    rows = np.concatenate((rows, 1e150 * rows, 1e-150 * rows, 0.0 * rows))
    check_labels(hierarchy, rows, hierarchy.n_centers)


def check_model(model: HierarchicalKMedian) -> None:
    """What a model says about its rows fits together."""
    table, n_used = model.table_, model.hierarchy_.n_rows
    assert table is not None
    assert np.count_nonzero(table.used) == n_used
    assert table.ids is None or len(table.ids) == table.used.size
    assert max(table.cuts) <= model.hierarchy_.n_centers
    prepared = table.preparation.apply(np.zeros((2, len(table.preparation.columns))))
    assert prepared.shape == (2, model.hierarchy_.locator.n_features)
    if hasattr(model, "_held"):
        assert model.rows_.shape == (n_used, prepared.shape[1])
        assert np.isfinite(model.row_weights_).all()


SIMPLE = [None, True, 0, 1, 2, 3, -1, 2**70, 1.5, "", "x", "<f8", "<i4", "hierarchy", "0" * 64]
VALUES = st.sampled_from(
    [*SIMPLE, [], {}, *([a] for a in SIMPLE), *({"x": a} for a in SIMPLE)]
    + [[a, b] for a in SIMPLE[:9] for b in SIMPLE[:9]]
    + [{"x": {"dtype": a, "shape": [b], "blake2b": "0" * 64}} for a in SIMPLE for b in SIMPLE]
)


def check_crafted_description(case: tuple[dict[str, Any], int]) -> None:
    """A file with any description raises DamagedFile."""
    fields, length = case
    data = np.arange(float(length))
    spec = {
        "dtype": "<f8",
        "shape": [length],
        "blake2b": hashlib.blake2b(data.tobytes(), digest_size=32).hexdigest(),
    }
    arrays = {"x": {**spec, **fields.get("spec", {})}}
    rest = {name: value for name, value in fields.items() if name != "spec"}
    content = pack(to_text(describe(**{"arrays": arrays, **rest})), {"x": npy(data)})
    assert load(content) is None


FIELDS = st.sampled_from(["format", "version", "kind", "holdfast", "metadata", "arrays", "more"])
SPECS = st.dictionaries(st.sampled_from(["dtype", "shape", "blake2b", "more"]), VALUES, max_size=2)
DAMAGED = Target(
    check_damaged_file, st.tuples(st.sampled_from(NAMES), st.lists(EDITS, min_size=1, max_size=3))
)
CRAFTED = Target(
    check_crafted_file,
    st.tuples(
        st.sampled_from(NAMES), st.lists(CRAFTS, min_size=1, max_size=3), st.integers(0, 100)
    ),
)
DESCRIBED = Target(
    check_crafted_description,
    st.tuples(
        st.builds(
            lambda fields, spec: {**fields, "spec": spec},
            st.dictionaries(FIELDS, VALUES, max_size=2),
            SPECS,
        ),
        st.integers(0, 3),
    ),
)

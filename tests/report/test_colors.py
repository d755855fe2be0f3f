"""Contrast (WCAG 2.2) and color-blind safety of both themes, from the style sheet itself."""

import re
from importlib.resources import files
from itertools import combinations

import numpy as np
import pytest

CSS = files("holdfast.report").joinpath("templates", "page.css").read_text(encoding="utf-8")

# Machado, Oliveira, Fernandes (2009), severity 1, on linear RGB.
SIGHT = {
    "normal": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
# Ottosson's OKLab: linear RGB -> cone responses -> (cube root) -> lightness and two hues.
CONES = [
    [0.4122214708, 0.5363325363, 0.0514459929],
    [0.2119034982, 0.6806995451, 0.1073969566],
    [0.0883024619, 0.2817188376, 0.6299787005],
]
LAB = [
    [0.2104542553, 0.7936177850, -0.0040720468],
    [1.9779984951, -2.4285922050, 0.4505937099],
    [0.0259040371, 0.7827717662, -0.8086757660],
]
LEAST_DISTANCE = 0.08  # four times a just noticeable difference


DARK = CSS.index("@media screen and (prefers-color-scheme: dark)")


def theme(start):
    block = CSS[CSS.index(":root {", start) :]
    block = block[: block.index("}")]
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block))


THEMES = {"light": theme(0), "dark": theme(DARK)}


def linear(color):
    share = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)


def contrast(a, b):
    weights = [0.2126, 0.7152, 0.0722]
    low, high = sorted(float(linear(color) @ weights) for color in (a, b))
    return (high + 0.05) / (low + 0.05)


def test_contrast_formula_on_known_pairs():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)


@pytest.mark.parametrize("name", THEMES)
def test_text_has_contrast(name):
    colors = THEMES[name]
    assert len(colors) == 32
    for ink in ("ink", "muted", "accent", "good", "fair", "poor"):
        for ground in ("paper", "panel"):
            assert contrast(colors[ink], colors[ground]) >= 4.5, (ink, ground)
    assert contrast(colors["on-accent"], colors["accent"]) >= 4.5
    for ground in (f"{side}{level}" for side in ("low", "high") for level in (1, 2, 3)):
        assert contrast(colors["ink"], colors[ground]) >= 4.5, ground
        assert contrast(colors["muted"], colors[ground]) >= 3.0, ground
    for i in range(8):
        assert contrast(colors[f"on{i}"], colors[f"c{i}"]) >= 4.5, i


@pytest.mark.parametrize("name", THEMES)
def test_marks_have_contrast(name):
    colors = THEMES[name]
    for i in range(8):
        assert contrast(colors[f"c{i}"], colors["paper"]) >= 3.0, i


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("name", THEMES)
def test_marks_stay_apart_for_every_eye(name, sight):
    seen = [linear(THEMES[name][f"c{i}"]) @ np.transpose(SIGHT[sight]) for i in range(8)]
    lab = [
        np.cbrt(np.clip(color, 0, 1) @ np.transpose(CONES)) @ np.transpose(LAB) for color in seen
    ]
    for a, b in combinations(range(8), 2):
        assert np.linalg.norm(lab[a] - lab[b]) >= LEAST_DISTANCE, (a, b)


def test_print_is_light():
    assert CSS.count("color-scheme: dark)") == 1
    assert "--paper" not in CSS[CSS.index("@media print") :].replace("var(--paper)", "")

"""Every experiment of [LHBP25], from committed configuration to figures and verdicts.

Data flow: `config` (TOML files -> panels) -> `plan` (panels -> cells) -> `cells` (cells -> stored
results; `compute` computes one) -> `records` (tables with standard errors) -> `figures` and
`claims`. `flow.reproduce` runs all of it. The benchmarks share `cells`, `style` and `label_dots`.

[LHBP25]: Li, He, Bai, Peng, *Average Sensitivity of Hierarchical k-Median Clustering*, ICML 2025.
"""

from holdfast_paper.config import PANELS, ConfigError
from holdfast_paper.flow import Reproduction, reproduce

__all__ = ["PANELS", "ConfigError", "Reproduction", "reproduce"]

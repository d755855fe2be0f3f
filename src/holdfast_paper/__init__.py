"""Every experiment of [LHBP25], from committed configuration to figures and verdicts.

Data flow: `config` (TOML files -> panels) -> `lay_out` (panels -> cells) -> `run` (cells -> stored
numbers; `compute` does one) -> `tidy` (records with standard errors) -> `figures` and `claims`.
`reproduce` is all of it.

[LHBP25]: Li, He, Bai, Peng, *Average Sensitivity of Hierarchical k-Median Clustering*, ICML 2025.
"""

from holdfast_paper.config import PANELS, ConfigError
from holdfast_paper.flow import Reproduction, reproduce

__all__ = ["PANELS", "ConfigError", "Reproduction", "reproduce"]

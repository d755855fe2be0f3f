"""Data that does not fit into memory: fit and label it chunk by chunk."""

from holdfast.chunks.fit import fit_chunks
from holdfast.chunks.label import predict_chunks

__all__ = ["fit_chunks", "predict_chunks"]

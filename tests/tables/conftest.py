from cli.conftest import folder, holdfast

__all__ = ["folder", "holdfast"]

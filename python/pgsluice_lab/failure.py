"""Errors of the lab, with a message, a detail and a hint, in PostgreSQL's style."""


class LabError(Exception):
    """An error that users can fix."""

    def __init__(self, message: str, detail: str = "", hint: str = "", status: int = 1) -> None:
        super().__init__(message)
        self.message, self.detail, self.hint = message, detail, hint
        self.status = status

    def lines(self) -> list[str]:
        """Return the lines to show."""
        more = [("detail", self.detail), ("hint", self.hint)]
        return [f"error: {self.message}", *(f"{name}: {text}" for name, text in more if text)]

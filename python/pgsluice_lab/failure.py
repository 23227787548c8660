"""What stops the lab: said in a message, a detail and a hint, as PostgreSQL words errors."""


class LabError(Exception):
    """An error that people can do something about."""

    def __init__(self, message: str, detail: str = "", hint: str = "", status: int = 1) -> None:
        super().__init__(message)
        self.message, self.detail, self.hint = message, detail, hint
        self.status = status

    def lines(self) -> list[str]:
        """Return the lines to show."""
        more = [("detail", self.detail), ("hint", self.hint)]
        return [f"error: {self.message}", *(f"{name}: {text}" for name, text in more if text)]

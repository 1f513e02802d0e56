"""The exception that reports a wrong request."""

from __future__ import annotations

from typing import NamedTuple


class Diagnostic(NamedTuple):
    """One mistake, with everything needed to fix it."""

    code: str
    """``"E201"``; docs/errors.md lists them all."""
    where: str
    """File and line, or worker and action; may be empty."""
    found: str
    needed: str
    hint: str
    """What to do; may be empty."""

    def __str__(self) -> str:
        place = f" {self.where}" if self.where else ""
        text = f"error[{self.code}]{place}: {self.found}"
        if self.needed:
            text += f" {self.needed}"
        return f"{text}; hint: {self.hint}" if self.hint else text


class Error(ValueError):
    """A request that cannot be met. Its text holds every diagnostic."""

    def __init__(self, diagnostics: list[tuple[str, str, str, str, str]]):
        self.diagnostics = [Diagnostic(*each) for each in diagnostics]
        super().__init__("\n".join(map(str, self.diagnostics)))


def refuse(code: str, found: str, needed: str, hint: str = "") -> Error:
    """An Error with one diagnostic."""
    return Error([(code, "", found, needed, hint)])

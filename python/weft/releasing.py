"""Things that hold memory or messages until they are released, by a call or at the end of a `with`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self


class Releasable(ABC):
    """Released at the end of a `with`, whatever ended it."""

    @abstractmethod
    def release(self) -> None:
        """Give back what it holds; again does nothing."""

    @abstractmethod
    def _live(self) -> object:
        """What it holds; raises UsageError once it was released."""

    def __enter__(self) -> Self:
        self._live()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


__all__ = ["Releasable"]

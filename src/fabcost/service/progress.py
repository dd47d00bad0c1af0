"""How far a server is with loading."""

from __future__ import annotations


class StoppedLoadingError(Exception):
    """Nobody waits for the models any more.

    Examples
    --------
    >>> progress = Progress()
    >>> progress.stop()
    >>> progress.begin(models=3)
    Traceback (most recent call last):
    fabcost.service.progress.StoppedLoadingError
    """


class Progress:
    """Told by the thread that loads, read and stopped by others.

    Examples
    --------
    >>> progress = Progress()
    >>> print(progress)
    loading
    >>> progress.begin(models=3)
    >>> progress.replay(after=1000, to=26000)
    >>> progress.learnt(3048)
    >>> print(progress)
    loading, 0 of 3 models, 2,048 of 25,000 impressions of the next
    >>> progress.loaded()
    >>> print(progress)
    loading, 1 of 3 models
    """

    def __init__(self) -> None:
        self._text = "loading"
        self._models = self._done = 0
        self._after = self._to = 0
        self._stopped = False

    def __str__(self) -> str:
        return self._text

    def stop(self) -> None:
        """Let the thread that loads end soon."""
        self._stopped = True

    def begin(self, *, models: int) -> None:
        """So many models are to be loaded."""
        self._models = models
        self._say()

    def replay(self, *, after: int, to: int) -> None:
        """Impressions of the next model's log are to be learnt."""
        self._after, self._to = after, to

    def learnt(self, lsn: int) -> None:
        """They were, up to one."""
        self._say(f", {lsn - self._after:,} of {self._to - self._after:,} impressions of the next")

    def loaded(self) -> None:
        """One more model is loaded."""
        self._done += 1
        self._say()

    def _say(self, more: str = "") -> None:
        if self._stopped:
            raise StoppedLoadingError
        self._text = f"loading, {self._done} of {self._models} models{more}"

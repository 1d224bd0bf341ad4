"""What `weft` says without words: what to do next, and what is missing for it here."""

from __future__ import annotations

_NEXT = """\
weft measures and predicts what messages cost, on this machine and on described ones.

  weft measure echo --on ipsc860   a ping-pong on a hypercube of 1990, in virtual time
  weft study                       this machine, in three minutes, with a report
  weft machines                    the described machines that come with weft
  weft --help                      every command, with examples"""


def say() -> None:
    """Print it."""
    print(_NEXT)
    for sentence in _missing():
        print(f"\n{sentence}")


def _missing() -> list[str]:
    """What `weft study` lacks here, each with what to do."""
    from weft import extras
    from weft._core import WeftError
    from weft.launch import mpiexec

    sentences = []
    for check in (mpiexec.command, lambda: extras.require("a report", "jinja2")):
        try:
            check()
        except WeftError as error:
            sentences.append(f"Not yet here: {error}")
    return sentences

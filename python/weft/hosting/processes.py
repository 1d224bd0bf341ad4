"""The process of a run whose ranks are processes: `python -m weft.hosting.processes REQUEST` is their hub."""

from __future__ import annotations

import ctypes
import json
import os
import sys
from typing import Any, NoReturn

from weft import files
from weft.hosting.library import path

_REPORT = ctypes.CFUNCTYPE(None, ctypes.c_char_p)
_ANNOUNCE = ctypes.CFUNCTYPE(None, ctypes.c_uint64)
_PR_SET_PDEATHSIG, _SIGKILL = 1, 9


def main() -> NoReturn:
    request = json.loads(sys.argv[1])
    parent = os.getppid()
    # Ranks end with this process, and this process with the one that has started it.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, _SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    received: dict[str, Any] = {}
    receive = _REPORT(lambda text: received.update(json.loads(text)))
    # The ranks' processes load the library themselves: what this one has is its simulator.
    library = ctypes.CDLL(os.fspath(path()), mode=ctypes.RTLD_LOCAL)
    file, name = request["trace"] or (None, "")
    announce = _ANNOUNCE(files.warning_of_large(name))
    library.weft_serve(json.dumps(request | {"trace": file}).encode(), receive, announce)
    files.write_text(json.dumps(received), request["report"])
    os._exit(received["code"] or max(received["codes"], default=0))


if __name__ == "__main__":
    main()

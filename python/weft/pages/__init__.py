"""Pages that weft writes: what may run in them, and data that stays data."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable

_ESCAPED = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


def data(value: object) -> str:
    """JSON that may stand within a script element, whatever names are in it.

    Within a script element `</` ends it and `<!--` changes how it ends; JSON may have escapes in their place.

    Raises
    ------
    ValueError
        For numbers that are not finite, which JSON does not have.
    """
    return json.dumps(value, allow_nan=False, separators=(",", ":")).translate(_ESCAPED)


def policy(scripts: Iterable[str]) -> str:
    """The Content-Security-Policy of a page that needs nothing from elsewhere.

    Parameters
    ----------
    scripts
        The text of every script of the page, exactly as it stands between its tags; nothing else runs.

    Notes
    -----
    Styles may be inline, because Plotly styles what it draws; images may be data, because it saves figures as such.
    """
    hashes = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(script: str) -> str:
    # A browser reads every end of a line as a line feed before it computes the hash.
    text = script.replace("\r\n", "\n").replace("\r", "\n")
    return base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")

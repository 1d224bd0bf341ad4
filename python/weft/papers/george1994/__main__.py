"""Print the fit of the CM-200's costs of shifts, as `machines/cm200.toml` has them, with its errors."""

from __future__ import annotations

from weft.papers.george1994 import fitting


def main() -> None:
    """Fit to all tables, then to parts of them."""
    fitted = fitting.fit()
    print(f"row_slices = {fitted.row_slices}")
    for name, seconds in (fitted.costs | fitting.front_end()).items():
        print(f"{name} = {seconds:.4g}")
    errors = fitted.errors["error"].abs().to_numpy()
    print(f"# {len(errors)} CM times, {fitting.PARAMETERS} parameters: errors {_share(errors)}")
    for held_out, cells, median, worst in fitting.left_out().rows():
        print(f"# left out {held_out}: {cells} cells, median {median:.1%}, worst {worst:.1%}")


def _share(errors: object) -> str:
    import numpy as np

    return f"median {np.median(np.asarray(errors)):.1%}, worst {np.max(np.asarray(errors)):.1%}"


if __name__ == "__main__":
    main()

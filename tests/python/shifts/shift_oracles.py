"""Two definitions of a shift to hold weft's against: ten lines of numpy, and gfortran's intrinsics."""

import ctypes
import shutil
import subprocess
from functools import cache

import numpy as np
import pytest


def reference(x, by, axis, boundary=None):
    """Fortran's CSHIFT, or EOSHIFT where there is a boundary: element i of the result is element i + by."""
    axis %= x.ndim
    extent = x.shape[axis]
    index = np.array([i + by for i in range(extent)], dtype=object)
    inside = np.array([0 <= i < extent for i in index], dtype=bool)
    moved = np.take(x, np.array([i % extent for i in index], dtype=np.intp), axis=axis) if x.size else x.copy()
    if boundary is None:
        return moved
    face = np.broadcast_to(np.expand_dims(boundary, axis) if np.ndim(boundary) else boundary, x.shape)
    shape = [extent if a == axis else 1 for a in range(x.ndim)]
    return np.where(inside.reshape(shape), moved, face).astype(x.dtype)


FORTRAN_TYPES = {
    "float32": "real(c_float)",
    "float64": "real(c_double)",
    "int8": "integer(c_int8_t)",
    "int16": "integer(c_int16_t)",
    "int32": "integer(c_int32_t)",
    "int64": "integer(c_int64_t)",
    "complex64": "complex(c_float_complex)",
    "complex128": "complex(c_double_complex)",
    "bool": "logical(c_bool)",
}

# Fortran's dimension 1 is the fastest: dimension d of a rank-k array is axis k - d here.
FORTRAN = """
subroutine circular(extents, by, along, x, out) bind(c)
  use iso_c_binding
  integer(c_int64_t), intent(in) :: extents({rank}), by, along
  {kind}, intent(in) :: x({shape})
  {kind}, intent(out) :: out({shape})
  out = cshift(x, by, int(along))
end subroutine
subroutine endoff(extents, by, along, x, out, scalar) bind(c)
  use iso_c_binding
  integer(c_int64_t), intent(in) :: extents({rank}), by, along
  {kind}, intent(in) :: x({shape}), scalar
  {kind}, intent(out) :: out({shape})
  out = eoshift(x, by, scalar, int(along))
end subroutine
"""
FORTRAN_FACE = """
subroutine endoffface(extents, by, along, x, out, face, faceextents) bind(c)
  use iso_c_binding
  integer(c_int64_t), intent(in) :: extents({rank}), by, along, faceextents({face_rank})
  {kind}, intent(in) :: x({shape}), face({face_shape})
  {kind}, intent(out) :: out({shape})
  out = eoshift(x, by, face, int(along))
end subroutine
"""


def gfortran():
    found = shutil.which("gfortran")
    if found is None:
        pytest.skip("no gfortran in PATH: CSHIFT and EOSHIFT are compared with numpy only")
    return found


@cache
def library(rank, dtype, folder):
    """The intrinsics for arrays of one rank and dtype, compiled."""
    words = {
        "rank": rank,
        "face_rank": rank - 1,
        "kind": FORTRAN_TYPES[dtype],
        "shape": ", ".join(f"extents({d})" for d in range(1, rank + 1)),
        "face_shape": ", ".join(f"faceextents({d})" for d in range(1, rank)),
    }
    source = folder / f"shifts-{rank}-{dtype}.f90"
    target = source.with_suffix(".so")
    source.write_text((FORTRAN + (FORTRAN_FACE if rank > 1 else "")).format(**words))
    command = [gfortran(), "-O1", "-ffree-line-length-none", "-shared", "-fPIC", str(source), "-o", str(target)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return ctypes.CDLL(str(target))


def integers(values):
    return (ctypes.c_int64 * max(1, len(values)))(*values)


def fortran(x, by, axis, boundary, folder):
    """What gfortran makes of it; `x` is in C order, so Fortran sees its axes reversed."""
    native = library(x.ndim, x.dtype.name, folder)
    x = np.ascontiguousarray(x)
    out = np.empty_like(x)
    common = [
        integers(x.shape[::-1]),
        ctypes.byref(ctypes.c_int64(by)),
        ctypes.byref(ctypes.c_int64(x.ndim - axis)),
        x.ctypes.data_as(ctypes.c_void_p),
        out.ctypes.data_as(ctypes.c_void_p),
    ]
    if boundary is None:
        native.circular(*common)
        return out
    face = np.ascontiguousarray(boundary, dtype=x.dtype)
    pointer = face.ctypes.data_as(ctypes.c_void_p)
    if np.ndim(boundary) == 0:
        native.endoff(*common, pointer)
    else:
        native.endoffface(*common, pointer, integers(face.shape[::-1]))
    return out

"""CuPy's names, as far as weft uses them, over arrays of the processor: kernels are compiled as C, and run in order.

What it shares with the code under test is the source of a kernel; CUDA's compiler, its scheduling and its memory are
not tried. Threads of most kernels know nothing of each other, so that any order of them is one that a device has. Where
they share memory, each runs to the next barrier in turn, on a stack of its own, and what it copies ahead is copied when
it awaits that, no earlier: who does not wait reads what was there before.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.machinery
import re
import subprocess
import tempfile
import types
from functools import lru_cache
from pathlib import Path

import numpy as np

PREFIX = r"""
#include <math.h>
#include <stdbool.h>
#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(n)
#define __noinline__
#define __shared__ _Thread_local
#define __ldg(address) (*(address))
#define __stcs(address, value) (*(address) = (value))
typedef struct { float x, y; } float2;
typedef struct { float x, y, z, w; } float4;
typedef struct { double x, y; } double2;
typedef struct { unsigned long long x, y; } ulonglong2;
static _Thread_local struct { unsigned int x, y, z; } blockIdx, threadIdx;
"""

SHARING = r"""
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#define SHARED_BYTES (227 << 10)
#define MAX_COPIES 4096
#define STACK_BYTES (64 << 10)
typedef struct {
  ucontext_t context;
  char *stack;
  int is_done;
  unsigned int x, y;
  /* Copies that were not awaited: of all groups, and how many groups were closed since. */
  struct { void *to; const void *from; size_t bytes; int group; } copies[MAX_COPIES];
  int first, last, closed;
} thread_state;
static _Thread_local thread_state *running;
static _Thread_local ucontext_t scheduler;
_Thread_local unsigned char staged[SHARED_BYTES] __attribute__((aligned(16)));
static void copy_ahead(void *to, const void *from, size_t bytes) {
  thread_state *t = running;
  if (t->last == MAX_COPIES || (unsigned char *)to < staged || (unsigned char *)to + bytes > staged + SHARED_BYTES
      || (size_t)to % bytes || (size_t)from % bytes) abort();
  t->copies[t->last].to = to, t->copies[t->last].from = from, t->copies[t->last].bytes = bytes;
  t->copies[t->last++].group = t->closed;
}
static void await_groups(int left) {
  thread_state *t = running;
  for (; t->first < t->last && t->copies[t->first].group < t->closed - left; ++t->first)
    memcpy(t->copies[t->first].to, t->copies[t->first].from, t->copies[t->first].bytes);
  if (t->first == t->last) t->first = t->last = 0;
}
static void barrier(void) {
  thread_state *t = running;
  swapcontext(&t->context, &scheduler);
  running = t, threadIdx.x = t->x, threadIdx.y = t->y;
}
#define __syncthreads() barrier()
#define COPY_AHEAD(to, from) copy_ahead(to, from, sizeof(U))
#define COPY_ELEMENT(to, from) copy_ahead(to, from, sizeof(T))
#define CLOSE_GROUP() (++running->closed)
#define AWAIT_GROUPS(left) await_groups(left)
"""

LAUNCH_SHARED = r"""
static _Thread_local void **held;
static void entry(void) { void **a = held; CALL; running->is_done = 1; swapcontext(&running->context, &scheduler); }
void launch(unsigned int blocks, unsigned int across, unsigned int down, void **a) {
  const unsigned int count = across * down;
  thread_state *all = malloc(count * sizeof *all);
  held = a;
  for (unsigned int t = 0; t < count; ++t) all[t].stack = malloc(STACK_BYTES);
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
    memset(staged, 0xA5, SHARED_BYTES);
    for (unsigned int t = 0; t < count; ++t) {
      getcontext(&all[t].context);
      all[t].context.uc_stack.ss_sp = all[t].stack, all[t].context.uc_stack.ss_size = STACK_BYTES;
      all[t].x = t % across, all[t].y = t / across;
      all[t].is_done = all[t].first = all[t].last = all[t].closed = 0;
      makecontext(&all[t].context, entry, 0);
    }
    for (unsigned int left = count; left;)
      for (unsigned int t = 0; t < count; ++t)
        if (!all[t].is_done) {
          running = all + t, threadIdx.x = all[t].x, threadIdx.y = all[t].y;
          swapcontext(&scheduler, &all[t].context);
          left -= all[t].is_done;
        }
  }
  for (unsigned int t = 0; t < count; ++t) free(all[t].stack);
  free(all);
}
"""
"""Threads of a block that share memory, in C, and how such blocks are launched."""

LAUNCH = r"""
void launch(unsigned int blocks, unsigned int across, unsigned int down, void **a) {
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x)
    for (threadIdx.y = 0; threadIdx.y < down; ++threadIdx.y)
      for (threadIdx.x = 0; threadIdx.x < across; ++threadIdx.x) CALL;
}
"""
"""How blocks are launched whose threads know nothing of each other, in C."""


ASSIGNED = ("-Werror=uninitialized", "-Werror=maybe-uninitialized")
"""Everything is assigned to before it is read or moved on: CUDA's compiler may take the rest for the same in all
threads of a warp, and what moves on from it."""


@lru_cache(maxsize=512)
def compiled(source: str, name: str) -> ctypes.CDLL:
    """A kernel as a function `launch` of blocks, threads and addresses of arguments."""
    parameters = re.search(rf"\b{name}\((.*)\) \{{", source)[1].split(",")
    kinds = [re.sub(r"\w+$", "", parameter.strip()).replace("__restrict__", "") for parameter in parameters]
    arguments = ", ".join(f"*({kind} *)a[{number}]" for number, kind in enumerate(kinds))
    shares = "extern __shared__" in source
    text = PREFIX + (SHARING if shares else "") + source.replace('extern "C" ', "").replace("#pragma unroll", "")
    text += (LAUNCH_SHARED if shares else LAUNCH).replace("CALL", f"{name}({arguments})")
    with tempfile.TemporaryDirectory() as folder:
        file, library = Path(folder) / "kernel.c", Path(folder) / "kernel.so"
        file.write_text(text)
        command = ["cc", "-O1", *ASSIGNED, "-shared", "-fPIC", "-ffp-contract=off", "-o", library, file, "-lm"]
        subprocess.run(command, check=True)
        return ctypes.CDLL(str(library))


def launch(source, name, blocks, threads, arguments):
    """Runs a kernel on arrays of numpy and numbers."""
    held = [
        ctypes.c_void_p(one.ctypes.data)
        if isinstance(one, np.ndarray)
        else ctypes.create_string_buffer(np.asarray(one).tobytes())
        for one in arguments
    ]
    addresses = (ctypes.c_void_p * len(held))(*map(ctypes.addressof, held))
    across, down = (*threads, 1)[:2]
    compiled(source, name).launch(blocks, across, down, addresses)


LAUNCHERS = r"""
typedef unsigned int count;
int launch_kernel(void (*kernel)(count, count, count, void **), count blocks, count y, count z, count across,
                  count down, count deep, count shared, void *stream, void **parameters, void **options) {
  if (y != 1 || z != 1 || deep != 1 || shared > 227 << 10 || stream || options) return 1;
  kernel(blocks, across, down, parameters);
  return 0;
}

int refuse(void) { return 7; }
"""


@lru_cache(maxsize=1)
def launchers():
    """Functions that stand in for `cuLaunchKernel`."""
    with tempfile.TemporaryDirectory() as folder:
        file, library = Path(folder) / "launchers.c", Path(folder) / "launchers.so"
        file.write_text(LAUNCHERS)
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, file], check=True)
        return ctypes.CDLL(str(library))


def launcher():
    """The address of a function that runs a compiled kernel."""
    return ctypes.cast(launchers().launch_kernel, ctypes.c_void_p).value


def refusing():
    """The address of one that fails."""
    return ctypes.cast(launchers().refuse, ctypes.c_void_p).value


class Device(contextlib.nullcontext):
    """The device that there is."""

    id = 0
    compute_capability = "90"
    attributes = types.MappingProxyType(
        {
            "MultiProcessorCount": 3,
            "MaxRegistersPerMultiprocessor": 65536,
            "MaxThreadsPerMultiProcessor": 2048,
            "L2CacheSize": 4096,
            "MaxSharedMemoryPerBlockOptin": 227 << 10,
            "MaxSharedMemoryPerMultiprocessor": 228 << 10,
        }
    )

    def __init__(self, number=0):
        super().__init__()

    def __eq__(self, other):
        return isinstance(other, Device)

    __hash__ = None

    def use(self):
        """Makes it the one that arrays are on."""

    def synchronize(self):
        """Waits for all that it does: here nothing is left."""


class ndarray:  # noqa: N801
    """An array; numpy's is in `host`."""

    def __init__(self, host):
        self.host = host

    device = property(lambda self: Device())
    data = property(lambda self: types.SimpleNamespace(ptr=self.host.ctypes.data))
    shape, dtype, ndim, size = (
        property(lambda self, name=name: getattr(self.host, name)) for name in ("shape", "dtype", "ndim", "size")
    )
    itemsize, flags = (property(lambda self, name=name: getattr(self.host, name)) for name in ("itemsize", "flags"))

    def reshape(self, *shape):
        return ndarray(self.host.reshape(*shape))

    def view(self, dtype):
        return ndarray(self.host.view(dtype))

    def copy(self):
        return ndarray(self.host.copy())

    def set(self, host):
        self.host[...] = host

    def get(self):
        return self.host.copy()

    def __setitem__(self, index, value):
        self.host[index] = value.host


ndarray.__module__ = "cupy"


class RawKernel:
    """A kernel by its source."""

    num_regs = 40
    max_dynamic_shared_size_bytes = 48 << 10

    def __init__(self, source, name):
        self.source, self.name = source, name

    @property
    def kernel(self):
        return types.SimpleNamespace(ptr=ctypes.cast(compiled(self.source, self.name).launch, ctypes.c_void_p).value)

    def __call__(self, blocks, threads, arguments, shared_mem=0):
        assert shared_mem <= self.max_dynamic_shared_size_bytes
        host = [one.host if isinstance(one, ndarray) else one for one in arguments]
        launch(self.source, self.name, *blocks, threads, host)


def module():
    """The module."""
    cupy = types.ModuleType("cupy")
    cupy.__spec__ = importlib.machinery.ModuleSpec("cupy", None)
    cupy.ndarray, cupy.RawKernel = ndarray, RawKernel
    cupy.cuda = types.SimpleNamespace(
        Device=Device, get_current_stream=Device, runtime=types.SimpleNamespace(getDeviceCount=lambda: 1)
    )
    cupy.from_dlpack = lambda x: ndarray(np.from_dlpack(x))
    cupy.empty = lambda shape, dtype: filled(np.empty(shape, dtype))
    cupy.asarray = lambda x, dtype=None: ndarray(np.asarray(x.host if isinstance(x, ndarray) else x, dtype))
    cupy.ascontiguousarray = lambda x: ndarray(np.ascontiguousarray(x.host))
    cupy.broadcast_to = lambda x, shape: ndarray(np.broadcast_to(x.host, shape))
    cupy.may_share_memory = lambda a, b: np.may_share_memory(a.host, b.host)
    return cupy


def filled(host):
    """A new array, in which what is never written shows."""
    host.view(np.uint8)[...] = 0xA5
    return ndarray(host)

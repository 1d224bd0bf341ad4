#!/bin/sh
# Runs the tests of kernels, polyshift and fghc, and the Python tests that call them, under AddressSanitizer: every access to
# memory that Rust code makes is checked against what was allocated. Code that fghc compiles while it runs is not checked, nor
# are numpy and Python themselves, but what they free and Rust still reads is found.
#
#   ./scripts/asan.sh           everything
#   ./scripts/asan.sh rust      the tests of the crates
#   ./scripts/asan.sh python    the Python tests, with a Rust core that is built for it and stays beside the usual one
#
# The sanitizer is part of Rust's stable distribution; that a stable compiler uses it is what RUSTC_BOOTSTRAP is for. Everything
# is built again in a target folder of its own. Needs gcc or clang, and python3 with weft's packages (PYTHON; .venv's unless given).
set -eu
cd "$(dirname "$0")/.."
top=$(pwd)
what="${1:-all}"
case "$what" in all | rust | python) ;; *)
    echo "asan.sh: there is no part '$what'; there are rust and python" >&2
    exit 2
    ;;
esac
host=$(rustc -vV | sed -n 's/^host: //p')
export RUSTC_BOOTSTRAP=1
export CARGO_TARGET_DIR="${ASAN_TARGET_DIR:-$top/target/asan}"
# Naming the target keeps build scripts and procedural macros without the sanitizer.
export RUSTFLAGS="${RUSTFLAGS:-} -Zsanitizer=address -Cforce-frame-pointers=yes"
# Optimised a little, as tests take long enough; assertions stay, those of unsafe functions of the standard library too.
export CARGO_PROFILE_DEV_OPT_LEVEL=1 CARGO_PROFILE_TEST_OPT_LEVEL=1

if [ "$what" != python ]; then
    ASAN_OPTIONS="${ASAN_OPTIONS:-detect_stack_use_after_return=1}" \
        cargo test --locked --target "$host" --lib --tests \
        --package weft-kernels --package weft-polyshift --package weft-fghc
fi

if [ "$what" != rust ]; then
    python="${PYTHON:-$top/.venv/bin/python}"
    PYO3_BUILD_EXTENSION_MODULE=1 PYO3_PYTHON="$python" \
        cargo build --locked --target "$host" --package weft-py
    # A Python package whose core is the checked one: the sources are those of the tree.
    package="$CARGO_TARGET_DIR/python/weft"
    rm -rf "$CARGO_TARGET_DIR/python"
    mkdir -p "$package"
    for file in "$top"/python/weft/*; do
        case "$file" in *_core*.so) ;; *) ln -s "$file" "$package/" ;; esac
    done
    cp "$CARGO_TARGET_DIR/$host/debug/lib_core.so" "$package/_core.abi3.so"
    # The runtime comes before everything else in a process; Rust's is a static library, which becomes a shared one here.
    runtime="$CARGO_TARGET_DIR/libasan_runtime.so"
    static=$(echo "$(rustc --print sysroot)/lib/rustlib/$host/lib"/librustc-*_rt.asan.a)
    "${CC:-cc}" -shared -o "$runtime" -Wl,--whole-archive "$static" -Wl,--no-whole-archive \
        -lpthread -ldl -lrt -lm -lresolv
    # Python frees little at its end: what is left is no leak. The tests that start other processes give them the same.
    LD_PRELOAD="$runtime" ASAN_OPTIONS="detect_leaks=0:allocator_may_return_null=1:handle_segv=0" \
        PYTHONMALLOC=malloc PYTHONPATH="$CARGO_TARGET_DIR/python" \
        "$python" -m pytest -q -p no:cacheprovider --numprocesses 0 \
        tests/python/primitives tests/python/pvar tests/python/shifts tests/python/stencils tests/python/fghc
fi

#!/bin/sh
# Runs the tests of kernels, polyshift and fghc, and the Python tests that call them, under AddressSanitizer: every access to
# memory that weft's Rust code makes is checked against what was allocated. Code that fghc compiles while it runs is not
# checked, nor are dependencies, numpy and Python, but what they have freed and weft still reads is found.
#
#   ./scripts/asan.sh           everything
#   ./scripts/asan.sh rust      the tests of the crates
#   ./scripts/asan.sh python    the Python tests, with a Rust core that is built for it and stays beside the usual one
#
# Needs a C compiler (CC) and ar (AR), and a Python with weft's packages (PYTHON; that of .venv unless given).
set -eu
cd "$(dirname "$0")/.."
top=$(pwd)
what="${1:-all}"
case "$what" in all | rust | python) ;; *)
    echo "asan.sh: there is no part '$what'; there are rust and python" >&2
    exit 2
    ;;
esac
python="${PYTHON:-$top/.venv/bin/python}"
# Beside the usual builds, whose dependencies serve for this one too: cargo keeps what a wrapper makes apart.
target="${CARGO_TARGET_DIR:-$top/target}"
export RUSTC_WORKSPACE_WRAPPER="$top/scripts/sanitized-rustc.sh" WEFT_SANITIZER=address
export PYO3_BUILD_EXTENSION_MODULE=1 PYO3_PYTHON="$python"

# A check that cannot fail checks nothing: an access beyond the end must be reported.
mkdir -p "$target/asan"
cat > "$target/asan/beyond.rs" <<'END'
fn main() {
    let bytes = vec![1u8; std::env::args().count() * 16];
    // SAFETY: none; this reads beyond the end, for the sanitizer to find.
    std::process::exit(i32::from(unsafe { bytes.as_ptr().add(bytes.len()).read_volatile() }));
}
END
"$RUSTC_WORKSPACE_WRAPPER" rustc --edition 2024 -o "$target/asan/beyond" "$target/asan/beyond.rs"
if "$target/asan/beyond" 2> "$target/asan/beyond.txt" || ! grep -q heap-buffer-overflow "$target/asan/beyond.txt"; then
    echo "asan.sh: an access beyond the end of memory was not reported: this compiler's sanitizer does nothing" >&2
    exit 1
fi

# The same choice for both parts, so that dependencies have the same features and are built once.
packages="--locked --lib --tests --package weft-kernels --package weft-polyshift --package weft-fghc"

if [ "$what" != python ]; then
    ASAN_OPTIONS="${ASAN_OPTIONS:-detect_stack_use_after_return=1}" cargo test --no-fail-fast $packages
fi

if [ "$what" != rust ]; then
    cargo build $packages --package weft-py
    # A Python package whose core is the checked one: the sources are those of the tree.
    folder="$target/asan/python"
    rm -rf "$folder"
    mkdir -p "$folder/weft"
    for file in "$top"/python/weft/*; do
        case "$file" in *_core*.so* | *__pycache__) ;; *) ln -s "$file" "$folder/weft/" ;; esac
    done
    mv "$target/debug/lib_core.so" "$folder/weft/_core.abi3.so"
    # The runtime comes before everything else in a process; Rust's is a static library, which becomes a shared one here.
    host=$(rustc -vV | sed -n 's/^host: //p')
    static=$(echo "$(rustc --print sysroot)/lib/rustlib/$host/lib"/librustc-*_rt.asan.a)
    # Without what makes a program initialise it before its libraries, which no shared library may have.
    cp "$static" "$target/asan/runtime.a"
    "${AR:-ar}" d "$target/asan/runtime.a" asan_preinit.cpp.o
    "${CC:-cc}" -shared -o "$target/asan/runtime.so" -Wl,--whole-archive "$target/asan/runtime.a" -Wl,--no-whole-archive \
        -lpthread -ldl -lrt -lm -lresolv
    # Python frees little at its end, so that leaks say nothing. Its own small blocks are taken from malloc, which is checked.
    LD_PRELOAD="$target/asan/runtime.so" PYTHONMALLOC=malloc PYTHONPATH="$folder" \
        ASAN_OPTIONS="${ASAN_OPTIONS:-detect_leaks=0:allocator_may_return_null=1}" \
        "$python" -m pytest -q -n0 -p no:cacheprovider tests/python/primitives tests/python/pvar \
        tests/python/shifts tests/python/stencils tests/python/fghc
fi

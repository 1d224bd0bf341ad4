#!/bin/sh
# Called by cargo in place of rustc for the crates of this workspace (RUSTC_WORKSPACE_WRAPPER), with rustc and its arguments:
# these crates are compiled with a sanitizer, their dependencies are left as they are. See asan.sh and tsan.sh.
# A stable compiler takes the option by RUSTC_BOOTSTRAP, which is set here only: cargo would build dependencies again for it.
RUSTC_BOOTSTRAP=1 exec "$@" "-Zsanitizer=${WEFT_SANITIZER:?which sanitizer is not said}" -Cforce-frame-pointers=yes

#!/bin/sh
# run.sh [PYTEST ARGUMENT ...]: set up what the tests need, build everything, run all tests.
#
# Wireshark 4.0, 4.4 and 4.6 come from Debian's bookworm, trixie and sid and are unpacked, not installed, below
# ${PGREPL_CACHE:-~/.cache/pgrepl}. As root, missing Debian packages are installed; otherwise they are named.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
cache=${PGREPL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/pgrepl}
say() { printf '%s\n' "tests/run.sh: $*" >&2; }
fail() { say "$@"; exit 1; }

# The python3 that has pytest, and what lets it use all cores.
python() {
    for candidate in python3 /usr/bin/python3; do
        "$candidate" -c 'import pytest, xdist' 2>/dev/null && { echo "$candidate"; return; }
    done
}

# What is missing, as Debian packages.
missing() {
    command -v cc >/dev/null || echo gcc libc6-dev
    command -v c++ >/dev/null || echo g++
    command -v make >/dev/null || echo make
    command -v git >/dev/null || echo git
    command -v pkg-config >/dev/null || echo pkg-config
    command -v openssl >/dev/null || echo openssl
    # Only the tests that read the header back need it.
    ls /usr/lib/llvm-*/lib/libclang*.so* >/dev/null 2>&1 || [ -n "${LIBCLANG_PATH:-}" ] || echo libclang-dev
    [ -n "$(python)" ] || echo python3 python3-pytest python3-pytest-xdist
}

command -v cargo >/dev/null || fail "a Rust toolchain is needed (cargo is not in PATH); see https://rustup.rs"
command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || fail "needs Debian's apt-get and dpkg-deb, to get three series of Wireshark"
packages=$(missing)
if [ -n "$packages" ]; then
    # shellcheck disable=SC2086 # the list is meant to be split
    if [ "$(id -u)" = 0 ]; then
        say "installing:" $packages
        export DEBIAN_FRONTEND=noninteractive
        apt-get update -q >&2
        apt-get install -q -y --no-install-recommends $packages >&2
    else
        fail "missing; ask an administrator, or as root: apt-get install" $packages
    fi
fi

trees=
for suite in bookworm trixie sid; do
    tree=$cache/wireshark/$suite
    if series=$(sh tests/wireshark.sh "$suite" "$tree"); then
        trees="$trees $series=$tree"
    elif [ "$suite" = sid ]; then
        say "****"
        say "**** Wireshark of sid could not be set up (sid moves; see above): NOT TESTED on it. The other series are."
        say "****"
    else
        fail "Wireshark of $suite could not be set up"
    fi
done

cargo build --release --lib
for tree in $trees; do
    make -s -C plugin SYSROOT="${tree#*=}"
done
cargo test --workspace
PGREPL_WIRESHARK_TREES=$trees exec "$(python)" -m pytest -q -n auto --dist loadgroup tests/c tests/tshark "$@"

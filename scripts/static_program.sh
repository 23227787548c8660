#!/usr/bin/env bash
# Builds the program for Linux without any shared library, and packs it: static_program.sh TARGET DIRECTORY,
# as in `static_program.sh x86_64-unknown-linux-musl dist`. It needs musl-gcc (Debian: musl-tools) for the
# C in zstd and ring, on a machine of the target's architecture: the program is run at the end.
set -euo pipefail

if [ $# -ne 2 ]; then
    echo "usage: static_program.sh TARGET DIRECTORY" >&2
    exit 2
fi
target=$1
mkdir -p "$2"
place=$(cd "$2" && pwd)
cd "$(dirname "$0")/.."

rustup target add "$target"
# The compiler for C is only found by itself where it has the target's whole name.
export "CC_${target//-/_}=musl-gcc"
cargo build --locked --profile dist -p pgsluice-cli --target "$target"
program=${CARGO_TARGET_DIR:-target}/$target/dist/pgsluice

if ldd "$program" >/dev/null 2>&1 && ! ldd "$program" | grep -q "statically linked"; then
    echo "static_program.sh: $program has shared libraries" >&2
    exit 1
fi
name=pgsluice-$("$program" --version | cut -d ' ' -f 2)-$target
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/$name"
cp "$program" LICENSE README.md "$folder/$name"
tar -C "$folder" -czf "$place/$name.tar.gz" "$name"
echo "$place/$name.tar.gz"

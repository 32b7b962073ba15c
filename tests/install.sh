#!/bin/sh
# Installs the build into a scratch folder, builds the example against it in both ways a user may,
# and lets it classify: tests/install.sh BUILD_DIR
set -eu
source=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "$1" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cmake --install "$build" --prefix "$scratch/prefix" >/dev/null
"$scratch/prefix/bin/shoal" zoo digits -o "$scratch/digits.onnx"
expect() {
  answer=$("$1" "$scratch/digits.onnx" "$source/shoal/zoo/digits/sample_$2.png")
  [ "$answer" = "class $2" ] || { echo "$1 answers '$answer' for a $2"; exit 1; }
}

cmake -S "$source/examples" -B "$scratch/build" -DCMAKE_PREFIX_PATH="$scratch/prefix" >/dev/null
cmake --build "$scratch/build" >/dev/null
expect "$scratch/build/classify" 7

pc=$(dirname "$(find "$scratch/prefix" -name shoal.pc)")
# shellcheck disable=SC2046  # flags are words
g++ "$source/examples/classify.cc" -o "$scratch/by_pkg_config" \
  $(PKG_CONFIG_PATH="$pc" pkg-config --define-variable=prefix="$scratch/prefix" --cflags --libs shoal)
expect "$scratch/by_pkg_config" 3
echo "installed, found both ways, answers right"

#!/bin/sh
# Installs the build into a scratch folder, and checks what a user of the library gets: headers that
# stand alone, symbols as listed, and the examples, static and shared, by CMake and by pkg-config:
# tests/install.sh BUILD_DIR
set -eu
source=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "$1" && pwd)
scratch=$(mktemp -d)
worker=
trap 'test -z "$worker" || kill "$worker"; rm -rf "$scratch"' EXIT
fail() { echo "$*" >&2; exit 1; }

prefix=$scratch/prefix
cmake --install "$build" --prefix "$prefix" >/dev/null
shoal=$prefix/bin/shoal
libraries=$(dirname "$(find "$prefix" -name libshoal.so.1)")
LD_LIBRARY_PATH=$libraries
PKG_CONFIG_PATH=$libraries/pkgconfig
export LD_LIBRARY_PATH PKG_CONFIG_PATH

# What is installed is the list of public headers. They compile together from the installed tree; alone, too:
# a header that is the first include of its source was compiled so by the build, the others are here.
headers=$(cd "$prefix/include" && find shoal -name '*.h' ! -path 'shoal/c/*' | LC_ALL=C sort)
public=$(python3 "$source/tools/check_layers.py" --public)
forwards=$(sed -n 's/^\(shoal[^ ]*\) .*/\1/p' "$source/cmake/old_headers.txt")  # one line each
[ "$headers" = "$(printf '%s\n' "$public" "$forwards" | LC_ALL=C sort)" ] ||
  fail "installed are other headers than PUBLIC and cmake/old_headers.txt list"
compiles() {  # HEADER…
  printf '#include <%s>\n' "$@" |
    g++ -std=c++20 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I "$prefix/include" -x c++ -
}
# shellcheck disable=SC2086  # a list of words
compiles $headers || fail "the installed headers do not compile"
for header in $public; do
  own=$source/${header%.h}.cc
  test -e "$own" && grep -m1 '^#include' "$own" | grep -q "\"$header\"" ||
    compiles "$header" || fail "$header does not compile alone"
done
echo "#include <shoal/c/shoal.h>" | gcc -std=c11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only \
  -I "$prefix/include" -x c - || fail "shoal/c/shoal.h is not C11"

# The shared library exports the C functions that are listed, and else C++ of namespace shoal only.
nm -D --defined-only "$libraries/libshoal.so.1" | awk '{ print $NF }' >"$scratch/symbols"
grep '^shoal_' "$scratch/symbols" | LC_ALL=C sort >"$scratch/c_symbols"
diff "$source/bindings/c/symbols.txt" "$scratch/c_symbols" ||
  fail "the C functions differ from bindings/c/symbols.txt: change that file only on purpose"
others=$(grep -v '^shoal_' "$scratch/symbols" | c++filt |
  grep -Ev '^((typeinfo|typeinfo name|vtable|guard variable) for )?shoal::' || true)
[ -z "$others" ] || fail "exported, though not of namespace shoal: $others"

# The engine alone needs Highway and the runtimes of C and C++.
needs=$(ldd "$build/libshoal_engine.so" |
  grep -Ev 'linux-vdso|ld-linux|lib(hwy|stdc\+\+|m|gcc_s|c)\.so' || true)
[ -z "$needs" ] || fail "the engine needs more than Highway: $needs"
none=$(for package in JPEG PNG ZLIB OpenSSL Protobuf CLI11 GTest; do
  echo "-DCMAKE_DISABLE_FIND_PACKAGE_$package=TRUE"
done)
# shellcheck disable=SC2086  # flags are words
cmake -S "$source" -B "$scratch/engine" -G Ninja -DSHOAL_CLUSTER=OFF -DSHOAL_DATA=OFF $none >/dev/null 2>&1 ||
  fail "the engine cannot be configured without other libraries"

# A cluster of one worker, and images to learn from.
"$shoal" zoo digits -o "$scratch/digits.onnx"
export XDG_CACHE_HOME="$scratch/cache" SHOAL_CLUSTER_DIR="$scratch/cluster"
"$shoal" cluster init >/dev/null
mkfifo "$scratch/token" "$scratch/ready"
"$shoal" cluster invite --listen 127.0.0.1:0 >"$scratch/token" 2>/dev/null &
invitation=$!
read -r token <"$scratch/token"
"$shoal" worker --dir "$scratch/worker" --name one --listen 127.0.0.1:0 --join "$token" >"$scratch/ready" &
worker=$!
read -r _ _ address <"$scratch/ready"
wait "$invitation"
"$shoal" cluster add one "$address" >/dev/null
mkdir "$scratch/digits"
cp "$source"/shoal/model/zoo/digits/sample_*.png "$scratch/digits"
for digit in 0 1 2 3 4 5 6 7 8 9; do
  echo "sample_$digit.png $((digit % 2))" >>"$scratch/digits/labels.txt"
done

classifies() {  # PROGRAM DIGIT
  answer=$("$1" "$scratch/digits.onnx" "$source/shoal/model/zoo/digits/sample_$2.png")
  [ "$answer" = "class $2" ] || fail "$1 answers '$answer' for a $2"
}
# In one folder, where what does not depend on the library's kind is compiled once.
examples=$scratch/examples
for static in ON OFF; do
  cmake -S "$source/examples" -B "$examples" -DCMAKE_PREFIX_PATH="$prefix" -DSTATIC=$static >/dev/null
  cmake --build "$examples" >/dev/null
  for program in classify classify_c cluster fine_tune; do
    found=OFF
    ldd "$examples/$program" | grep -q libshoal || found=ON
    [ $found = $static ] || fail "$program: STATIC is $static, and it is linked as if it were $found"
  done
  classifies "$examples/classify" 7
  classifies "$examples/classify_c" 2
  classifies "$examples/cluster" 5
  "$examples/fine_tune" "$scratch/digits.onnx" "$scratch/digits" 2 "$scratch/tuned_$static.onnx" >/dev/null
  "$shoal" inspect "$scratch/tuned_$static.onnx" >/dev/null
done

flags=$(pkg-config --cflags shoal)
[ "$flags" = "$(pkg-config --static --cflags shoal)" ] || fail "pkg-config has other flags for the static library"
# shellcheck disable=SC2086  # flags are words
g++ -std=c++20 -c "$source/examples/classify.cc" -o "$scratch/classify.o" $flags
# shellcheck disable=SC2046
g++ "$scratch/classify.o" -o "$scratch/shared" $(pkg-config --libs shoal)
classifies "$scratch/shared" 3
# shellcheck disable=SC2046
g++ "$scratch/classify.o" -o "$scratch/static" $(pkg-config --static --libs shoal | sed 's/-lshoal\b/-l:libshoal.a/')
ldd "$scratch/static" | grep -q libshoal && fail "the static program needs libshoal.so"
classifies "$scratch/static" 4
echo "installed: $(echo "$headers" | wc -l) headers, $(wc -l <"$scratch/c_symbols") C functions; examples answer right"

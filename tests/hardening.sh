#!/bin/sh
# hardening.sh FILE…: whether programs and libraries have what cmake/hardening.cmake asks for, read from
# the files themselves.
set -eu
failed=0

# need FILE WHAT PATTERN TEXT: the text, of readelf, has the pattern.
need() {
  printf '%s\n' "$4" | grep -E "$3" >/dev/null || { echo "$1: no $2"; failed=1; }
}

for file in "$@"; do
  header=$(readelf -hW "$file")
  segments=$(readelf -lW "$file")
  symbols=$(readelf --dyn-syms -W "$file")
  need "$file" "position-independent code" 'Type: +DYN' "$header"
  need "$file" "relocations that become read-only" 'GNU_RELRO' "$segments"
  need "$file" "stack without execution" 'GNU_STACK.* RW +0x' "$segments"
  need "$file" "binding at the start" 'BIND_NOW|Flags:.* NOW' "$(readelf -dW "$file")"
  need "$file" "guarded stacks" ' __stack_chk_fail' "$symbols"
  need "$file" "checked calls of the C library" ' __[a-z]+_chk@' "$symbols"
  need "$file" "checked containers" '__glibcxx_assert_fail' "$symbols"
  # Where jumps may land (endbr64). The file as a whole is not marked, because Debian's crt1.o is not.
  case $header in
    *X86-64*) need "$file" "guarded jumps" '^[0-9]{4}' "$(LC_ALL=C grep -oaP '\xf3\x0f\x1e\xfa' "$file" | wc -l)" ;;
  esac
done
[ $failed = 1 ] || echo "hardened: $*"
exit $failed

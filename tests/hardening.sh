#!/bin/sh
# hardening.sh FILE…: whether programs and libraries have what cmake/hardening.cmake asks for, read from
# the files themselves.
set -eu
failed=0

# need FILE WHAT PATTERN: reads what readelf says.
need() {
  grep -Eq "$3" || { echo "$1: no $2"; failed=1; }
}

for file in "$@"; do
  readelf -hW "$file" | need "$file" "position-independent code" 'Type: +DYN'
  readelf -lW "$file" | need "$file" "relocations that become read-only" 'GNU_RELRO'
  readelf -dW "$file" | need "$file" "binding at the start" 'BIND_NOW|Flags:.* NOW'
  readelf -lW "$file" | need "$file" "stack without execution" 'GNU_STACK.* RW +0x'
  readelf --dyn-syms -W "$file" | need "$file" "guarded stacks" ' __stack_chk_fail'
  readelf --dyn-syms -W "$file" | need "$file" "checked calls of the C library" ' __[a-z]+_chk@'
  readelf --dyn-syms -W "$file" | need "$file" "checked containers" '__glibcxx_assert_fail'
  case $(readelf -hW "$file") in
    # Where jumps may land (endbr64). The file as a whole is not marked, because Debian's crt1.o is not.
    *X86-64*) LC_ALL=C grep -oaP '\xf3\x0f\x1e\xfa' "$file" | wc -l | need "$file" "guarded jumps" '^[0-9]{4}' ;;
  esac
done
[ $failed = 1 ] || echo "hardened: $*"
exit $failed

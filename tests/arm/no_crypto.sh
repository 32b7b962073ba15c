#!/bin/sh
# Code for 64-bit ARM must not need the optional cryptography instructions: the Raspberry Pi 3 and 4
# lack them, and qemu's models of their cores do not. tests/arm/no_crypto.sh OBJDUMP PROGRAM
set -eu
code=$(mktemp)
trap 'rm -f "$code"' EXIT
"$1" -d --no-show-raw-insn "$2" >"$code"
if grep -E -m5 '\s(aes(e|d|mc|imc)|sha(1|256|512)[a-z0-9]+|pmull2?\s.*\.1q)\b' "$code"; then
  echo "$2 holds cryptography instructions"
  exit 1
fi
# The kernels are NEON: fused multiply-adds on four floats, many of them.
count=$(grep -c 'fmla.*\.4s' "$code" || true)
echo "no cryptography instructions; $count vector multiply-adds"
[ "$count" -gt 100 ]

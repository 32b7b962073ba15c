#!/bin/sh
# demo.sh SHOAL MAKEFILE: runs the commands of 'make demo', with this binary. They are the first that a
# newcomer sees, so they must end with 0 however busy the machine is.
set -eu
commands=$(awk '/^demo:/ { on = 1; next } /^[^\t]/ { on = 0 } on && /^\t/ { sub(/^\t/, ""); print }' "$2")
[ -n "$commands" ] || { echo "the Makefile has no demo" >&2; exit 1; }
echo "$commands" | sed "s#build/release/shoal#$1#" | while read -r command; do
  echo "$command"
  sh -c "$command" </dev/null || { echo "exit code $?: $command" >&2; exit 1; }
done

#!/bin/sh
# The bill of materials names what packages.txt does, in the versions of this machine; checksums find a
# changed file, and their signature a changed list.
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'gpgconf --homedir "$work/keys" --kill gpg-agent 2>/dev/null || true; rm -rf "$work"' EXIT
mkdir -p "$work/out" "$work/keys"
chmod 700 "$work/keys"

tools/sbom "$work/out/shoal.cdx.json"
/usr/bin/python3 - "$work/out/shoal.cdx.json" \
  "$(dpkg-query -W -f '${Version}' "libssl-dev:$(dpkg --print-architecture)")" <<'END'
import json, sys
bom = json.load(open(sys.argv[1]))
found = {one["name"]: one for one in bom["components"]}
assert bom["bomFormat"] == "CycloneDX" and bom["metadata"]["component"]["version"], bom
assert found["libssl-dev"]["version"] == sys.argv[2], found["libssl-dev"]
for name, scope in {"libssl3": "required", "libhwy1": "required", "cmake": "excluded", "g++": "excluded"}.items():
    assert found[name]["scope"] == scope, found[name]
assert len({one["bom-ref"] for one in bom["components"]}) == len(bom["components"])
END

echo package >"$work/out/shoal_1_amd64.deb"
tools/checksums "$work/out"
(cd "$work/out" && sha256sum --quiet -c SHA256SUMS && [ ! -e SHA256SUMS.asc ])
if ! command -v gpg >/dev/null; then
  echo "ok, without signatures: no gpg here"
  exit 0
fi
export GNUPGHOME="$work/keys"
gpg --batch --quiet --passphrase '' --quick-generate-key test@shoal.invalid ed25519 sign never
tools/checksums "$work/out" test@shoal.invalid
cd "$work/out"
gpg --quiet --verify SHA256SUMS.asc SHA256SUMS
echo another >shoal_1_amd64.deb
! sha256sum --quiet -c SHA256SUMS 2>/dev/null || { echo "a changed package was not noticed"; exit 1; }
sha256sum shoal_1_amd64.deb >SHA256SUMS
! gpg --quiet --verify SHA256SUMS.asc SHA256SUMS 2>/dev/null || { echo "a changed list was not noticed"; exit 1; }
echo ok

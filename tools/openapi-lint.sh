#!/usr/bin/env bash
# Lints the OpenAPI documents with the pinned redocly and spectral (tools/openapi/package-lock.json). They are installed
# into build/openapi once; a machine without network and without them fails here and says so.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
dir=$root/build/openapi
if ! cmp -s "$root/tools/openapi/package-lock.json" "$dir/package-lock.json" || [[ ! -d $dir/node_modules ]]; then
  mkdir -p "$dir"
  cp "$root/tools/openapi/package.json" "$dir/"
  cp "$root/tools/openapi/package-lock.json" "$dir/package-lock.new.json"
  mv "$dir/package-lock.new.json" "$dir/package-lock.json"
  npm ci --prefix "$dir" --no-audit --no-fund --silent || { rm -f "$dir/package-lock.json"; echo "openapi-lint: could not install the linters" >&2; exit 1; }
fi
cd "$root"
export REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true
"$dir/node_modules/.bin/redocly" lint --config openapi/redocly.yaml openapi/{coordinator,worker,snapshotter}.yaml
"$dir/node_modules/.bin/spectral" lint --quiet -r openapi/.spectral.yaml openapi/{coordinator,worker,snapshotter}.yaml

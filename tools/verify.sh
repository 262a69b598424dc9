#!/usr/bin/env bash
# make verify: everything about the tree that needs no running service. Ends on "verify: ok".
set -euo pipefail
step() { printf '%-12s %s\n' "$1" "$2"; }
fail() { echo "verify: $*" >&2; exit 1; }

step generate "every generated file is what its source gives"
# Compared with what is on disk, not with the last commit, so that it can be run before one.
before=$(git ls-files -co --exclude-standard | sort | xargs -d '\n' sha256sum 2>/dev/null || true)
make -s generate
after=$(git ls-files -co --exclude-standard | sort | xargs -d '\n' sha256sum 2>/dev/null || true)
if [[ $before != "$after" ]]; then
  diff <(echo "$before") <(echo "$after") | awk '/^[<>]/ {print $3}' | sort -u >&2
  fail "the files above were out of date: 'make generate' has mended them, commit the change"
fi

step format "gofmt"
unformatted=$(git ls-files -co --exclude-standard '*.go' | xargs gofmt -l)
[[ -z $unformatted ]] || fail "gofmt would change: $unformatted"

step vet "go vet"
go vet ./...

step lint "golangci-lint"
make -s lint

step layers "import layers, core purity, package docs"
go test -count=1 ./internal/archtest

step openapi "redocly and spectral"
tools/openapi-lint.sh

step shell "shellcheck, where it is installed"
if command -v shellcheck >/dev/null; then git ls-files '*.sh' .ci/run | xargs shellcheck; fi

echo "verify: ok"

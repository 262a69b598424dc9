#!/usr/bin/env bash
# Runs every fuzz target of the product for the given time each. Ends on "N passed, N failed".
set -uo pipefail
time=${1:-20s}
passed=0 failed=0
while IFS=: read -r file _ rest; do
  target=$(sed -E 's/^func (Fuzz[A-Za-z0-9_]+).*/\1/' <<<"$rest")
  echo "fuzz $(dirname "$file") $target for $time"
  if go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "./$(dirname "$file")"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
  fi
done < <(grep -rnE '^func Fuzz[A-Za-z0-9_]+\(' --include='*_test.go' internal services cmd 2>/dev/null)
echo "$passed passed, $failed failed"
[[ $failed == 0 ]]

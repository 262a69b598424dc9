#!/bin/sh
# Makes the secrets of compose.yaml where they are missing: random, readable by the containers' user.
set -eu
dir=$(dirname "$0")/secrets
mkdir -p "$dir"
for name in cluster_secret admin_token postgres_password; do
  if [ ! -s "$dir/$name" ]; then
    head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' > "$dir/$name"
    chmod 644 "$dir/$name"
    echo "made $dir/$name"
  fi
done

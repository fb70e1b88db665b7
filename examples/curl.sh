#!/bin/sh
# Submits a signed transaction and reads its record:  sh examples/curl.sh [0x… signed transaction]
# Without an argument it sends a transfer that user 1 of the local chain has signed, which works once.
set -eu
url=${GAS_WAIVER_URL:-http://127.0.0.1:8080}
key=${GAS_WAIVER_API_KEY:-gw_dev_local}
transaction=${1:-0xf8a78080830186a09478cf24370174180738c5b8e352b6d14c83a6c9a980b844a9059cbb0000000000000000000000003c44cdddb6a900fa2b585dd299e03d12fa4293bc0000000000000000000000000000000000000000000000000de0b6b3a7640000821155a0f048d16004aa5c545793d3660fbc381e8fef74f688e2c20ab1a429d55e3892b4a007d90b2bb03f340b962cba0145a51694f0be9383bf2556810f55db5f01c4e519}

line=$(curl --silent --show-error --no-buffer "$url/v1/submit?wait=included" \
  --header "Authorization: Bearer $key" --header 'Content-Type: application/json' \
  --data "{\"transactions\":[\"$transaction\"]}")
echo "$line"

id=$(echo "$line" | sed -n 's/.*"id":"\([^"]*\)".*/\1/p')
curl --silent --show-error --fail "$url/v1/submissions/$id" --header "Authorization: Bearer $key"
echo

#!/usr/bin/env bash
# Registers, narrows and revokes a waiver on a local chain, and shows the answers of its service and of the chain at
# each step. docs/governance.md explains the steps. The script uses free ports and a temporary folder, and stops
# everything at the end.
#
#   npm run build && bash docs/governance.sh
#
# COMMANDS names another program for all commands but those that start the chain and the service.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

program=packages/cli/bin/gas-waiver.mjs
gas_waiver() { ${COMMANDS:-node $program} "$@"; }

folder=$(mktemp -d)
mkfifo "$folder/chain.out" "$folder/service.out"
started=()
finish() {
  for pid in ${started[@]+"${started[@]}"}; do kill "$pid" 2>/dev/null || true; done
  for pid in ${started[@]+"${started[@]}"}; do wait "$pid" 2>/dev/null || true; done
  rm -rf "$folder"
}
trap finish EXIT
trap 'exit 1' INT TERM

step() { printf '\n== %s\n' "$*"; }
# Prints a command and runs it.
say() {
  printf '$ %s\n' "$(printf '%s ' "$@" | sed 's/gas_waiver/gas-waiver/')"
  "$@"
}
# Reads the output of a program up to its line "ready …". Sets $address to the URL behind the given words of that line.
ready() {
  local line
  while read -r line; do
    printf '%s\n' "$line"
    if [[ $line == ready* ]]; then address=$(sed -E "s|.*$1 (http[^ ]*).*|\\1|" <<<"$line") && return; fi
  done
  echo "it did not start" >&2 && return 1
}
# Uses Node's fetch, so that the script needs nothing but Node. curl works as well.
call() {
  node -e '
    const [url, body] = process.argv.slice(1);
    const headers = { authorization: "Bearer gw_example_4d7a0f92c6e13b85d0f7a2469c81be53", "content-type": "application/json" };
    const response = await fetch(url, body === undefined ? { headers } : { method: "POST", headers, body });
    process.stdout.write(`${(await response.text()).trimEnd()}\n`);
  ' --input-type=module -- "$@"
}
submit() { call "$service/v1/submit?wait=included" "{\"transactions\":[\"$1\"]}"; }
carry() {
  for validator in 0 1 2; do
    say gas_waiver governance vote --proposal "$1" --yes --dev-validator $validator
  done
}

# The signed transactions of six users without native coin, each with nonce 0 and gas price 0: transfers and approvals
# of one test token, and a call of balanceOf.
transfer_of_3=0xf8a78080830186a09478cf24370174180738c5b8e352b6d14c83a6c9a980b844a9059cbb000000000000000000000000a0ee7a142d267c1f36714e4a8f75612f20a797200000000000000000000000000000000000000000000000000de0b6b3a7640000821156a0ace52250580424e36b70e823bd961214875d1a291bf08d098050d503a10edb11a0689dc186f21ba56a55993bad9863fd7f6415b04cfc3052205499bfd868aa8592
transfer_of_4=0xf8a78080830186a09478cf24370174180738c5b8e352b6d14c83a6c9a980b844a9059cbb000000000000000000000000a0ee7a142d267c1f36714e4a8f75612f20a797200000000000000000000000000000000000000000000000000de0b6b3a7640000821155a0ef60185d296770724c9561c3d184a61f00d556e2e2f594ce6e480aa9d697261fa02ae06bafd04b7919168b73a13f276bf889706282cdeaaf6eea2942b15bbba4dc
approval_of_5=0xf8a78080830186a09478cf24370174180738c5b8e352b6d14c83a6c9a980b844095ea7b3000000000000000000000000a0ee7a142d267c1f36714e4a8f75612f20a797200000000000000000000000000000000000000000000000000de0b6b3a7640000821155a0895f383573b1a626c0eaf2d8dcf5a098eb0f569192ae7fc21385341eb638745ba029f8cb09af6ab933b09af459f5432e48a554f1cf8b076bd989c453f5b5c387f8
reading_of_6=0xf8868080830186a09478cf24370174180738c5b8e352b6d14c83a6c9a980a470a08231000000000000000000000000a0ee7a142d267c1f36714e4a8f75612f20a79720821156a074512f61c7d1b7126898d42eb8e3b9e23e9710689f5b98631b0c80da4f40aeada01dc9de7c7625ce3c97739fe5025b8434e2c10f3e01bf03eca7408ae0024a75b1
approval_of_7=0xf8a78080830186a09478cf24370174180738c5b8e352b6d14c83a6c9a980b844095ea7b3000000000000000000000000a0ee7a142d267c1f36714e4a8f75612f20a797200000000000000000000000000000000000000000000000000de0b6b3a7640000821155a06cebcc6bffe5242a212debf64b8f2ed02eed212dcaddfa587491b1c11df513aaa068f38b26dd6a0645beada00a89952f4b6c719a5c3513fbf0a42321b91c8d4866
transfer_of_8=0xf8a78080830186a09478cf24370174180738c5b8e352b6d14c83a6c9a980b844a9059cbb000000000000000000000000a0ee7a142d267c1f36714e4a8f75612f20a797200000000000000000000000000000000000000000000000000de0b6b3a7640000821155a02bf1826df974bf806dbc4bd6d25f90fa4c2f0c11b7e7440a0587daab8f67cf80a0777dc3deb62584e53b42070b2ef9a5ecc6caea2f23f59077b7f8b67ee6ee9ed6

# Account 12 of the devnet. Its key is public, and it is not a waiver yet.
waiver=0xFABB0ac9d68B0B445fB7357272Ff202C5651694a
# The service refuses key files that others can read.
umask 077
echo 0xa267530f49f8280200edf313ee7af6b827f2a8bce2897751d06a843f644967b1 >"$folder/waiver.key"
echo gw_example_4d7a0f92c6e13b85d0f7a2469c81be53 >"$folder/api.keys"
token=0x78Cf24370174180738C5B8E352B6D14c83a6c9A9
# The wide policy allows transfer and approve, the narrow one only approve.
echo "[{\"address\":\"$token\",\"selectors\":[\"0xa9059cbb\",\"0x095ea7b3\"]}]" >"$folder/wide.json"
echo "[{\"address\":\"$token\",\"selectors\":[\"0x095ea7b3\"]}]" >"$folder/narrow.json"

step "1. Start a chain, and a service whose waiver is not registered"
node $program dev --no-demo --port 0 --rpc-port 0 --block-time 100 --data-dir "$folder/dev" >"$folder/chain.out" &
started+=($!)
exec 3<"$folder/chain.out"
ready "JSON-RPC at" <&3
export GAS_WAIVER_RPC_URL=$address
node $program serve --chain-id 2201 --port 0 --data-dir "$folder/service" --waiver-key-file "$folder/waiver.key" \
  --api-keys-file "$folder/api.keys" --allowed-targets "$folder/wide.json" --request-timeout 2500 \
  --log-level error >"$folder/service.out" 2>>"$folder/service.log" &
started+=($!)
exec 4<"$folder/service.out"
ready "service at" <&4
service=$address
say gas_waiver governance list

step "2. Submit without a registration: the chain refuses the wrapper, and the line ends with the time-out"
answer=$(submit "$transfer_of_3")
echo "$answer"
submission=$(sed -E 's/.*"id":"([^"]*)".*/\1/' <<<"$answer")
grep -m 1 "takes no wrapper of this waiver" "$folder/service.log"

step "3. Register it: a proposal, and three of four validators"
say gas_waiver governance propose --register $waiver --targets "$folder/wide.json" --dev-validator 0
carry 1
echo "The service sends the submission that had timed out. Submitted again, it is the same submission:"
for _ in {1..20}; do
  answer=$(submit "$transfer_of_3")
  echo "$answer"
  [[ $answer == *'"success":true'* ]] && break
done
echo "Another transfer:"
submit "$transfer_of_4"
call "$service/v1/submissions/$submission"

step "4. Submit a call that the service's own policy forbids"
submit "$reading_of_6"

step "5. Narrow it: the approvals stay, the transfers go"
say gas_waiver governance propose --update $waiver --targets "$folder/narrow.json" --dev-validator 1
carry 2
echo "The service still has its own policy and accepts a transfer. The chain refuses it:"
submit "$transfer_of_8"
submit "$approval_of_5"

step "6. Revoke it"
say gas_waiver governance propose --revoke $waiver --dev-validator 2
carry 3
say gas_waiver governance show --proposal 3
: >"$folder/service.log"
submit "$approval_of_7"
grep -m 1 "takes no wrapper of this waiver" "$folder/service.log"

step "7. List the registry: it is as it was"
say gas_waiver governance list

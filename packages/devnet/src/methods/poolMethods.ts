import type { Hex } from "@gas-waiver/protocol";
import { bytesToHex } from "@gas-waiver/protocol";
import type { Chain } from "../chain/chain.js";
import type { PoolEntry } from "../pool/admission.js";
import { POOL_KINDS } from "../pool/poolKind.js";
import { invalidParams } from "../rpc/errors.js";
import type { Methods } from "../rpc/method.js";
import { address, shortJson } from "../rpc/params.js";
import { formatTransaction, toQuantity } from "./format.js";

type ByAccount = Record<Hex, Record<string, PoolEntry>>;

/**
 * Methods that show the pool as geth does: `pending` can run, `queued` waits behind a nonce gap. A wrapper is listed
 * under its waiver.
 */
export function poolMethods(chain: Chain): Methods {
  return {
    txpool_status: () => {
      const { pending, queued } = sorted(chain);
      return { pending: toQuantity(countOf(pending)), queued: toQuantity(countOf(queued)) };
    },
    txpool_content: () => {
      const { pending, queued } = sorted(chain);
      return { pending: mapEntries(pending, shown), queued: mapEntries(queued, shown) };
    },
    txpool_contentFrom: ([account]) => {
      const wanted = bytesToHex(address(account));
      const { pending, queued } = sorted(chain, wanted);
      return {
        pending: mapEntries(pending, shown)[wanted] ?? {},
        queued: mapEntries(queued, shown)[wanted] ?? {},
      };
    },
    txpool_inspect: () => {
      const { pending, queued } = sorted(chain);
      return { pending: mapEntries(pending, summary), queued: mapEntries(queued, summary) };
    },
    devnet_setPool: ([kind]) => {
      const known = POOL_KINDS.find((name) => name === kind);
      if (known === undefined)
        throw invalidParams(`pool is ${shortJson(kind)}, not ${POOL_KINDS.join(" or ")}`);
      chain.poolKind = known;
      return true;
    },
  };
}

function sorted(chain: Chain, only?: Hex): { pending: ByAccount; queued: ByAccount } {
  const pending: ByAccount = {};
  const queued: ByAccount = {};
  for (const entry of chain.pool.entries()) {
    const { signer, nonce } = entry;
    if (only !== undefined && signer !== only) continue;
    const free = chain.pool.nextNonce(signer, chain.state.account(signer)?.nonce ?? 0n);
    const part = nonce < free ? pending : queued;
    part[signer] ??= {};
    part[signer][nonce.toString()] = entry;
  }
  return { pending, queued };
}

function mapEntries<T>(part: ByAccount, show: (entry: PoolEntry) => T): Record<string, Record<string, T>> {
  return Object.fromEntries(
    Object.entries(part).map(([account, byNonce]) => [
      account,
      Object.fromEntries(Object.entries(byNonce).map(([nonce, entry]) => [nonce, show(entry)])),
    ]),
  );
}

function countOf(part: ByAccount): number {
  return Object.values(part).reduce((sum, byNonce) => sum + Object.keys(byNonce).length, 0);
}

function shown({ tx }: PoolEntry) {
  return formatTransaction(tx, undefined);
}

function summary(entry: PoolEntry): string {
  const { to, value, gas, gasPrice } = shown(entry);
  return `${to ?? "contract creation"}: ${BigInt(value)} wei + ${BigInt(gas)} gas × ${BigInt(gasPrice)} wei`;
}

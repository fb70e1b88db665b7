import type { Hex } from "@gas-waiver/protocol";
import { bytesToHex } from "@gas-waiver/protocol";
import type { Chain } from "../chain/chain.js";
import type { PoolEntry } from "../pool/admission.js";
import { POOL_KINDS } from "../pool/nonceRules.js";
import { invalidParams } from "../rpc/errors.js";
import type { Methods } from "../rpc/method.js";
import { address, hash, shortJson } from "../rpc/params.js";
import { formatTransaction, toQuantity } from "./format.js";

type ByAccount = Record<Hex, Record<string, PoolEntry>>;

/**
 * Methods that show the pool as geth does: `pending` can run, `queued` waits behind a nonce gap. A wrapper is listed
 * under its waiver.
 */
export function poolMethods(chain: Chain): Methods {
  return {
    ...droppingMethods(chain),
    txpool_status: () => {
      const { pending, queued } = splitPool(chain);
      return { pending: toQuantity(countOf(pending)), queued: toQuantity(countOf(queued)) };
    },
    txpool_content: () => {
      const { pending, queued } = splitPool(chain);
      return { pending: mapEntries(pending, transactionJson), queued: mapEntries(queued, transactionJson) };
    },
    txpool_contentFrom: ([account]) => {
      const signer = bytesToHex(address(account));
      const { pending, queued } = splitPool(chain, signer);
      return {
        pending: mapEntries(pending, transactionJson)[signer] ?? {},
        queued: mapEntries(queued, transactionJson)[signer] ?? {},
      };
    },
    txpool_inspect: () => {
      const { pending, queued } = splitPool(chain);
      return { pending: mapEntries(pending, summary), queued: mapEntries(queued, summary) };
    },
    devnet_setPool: ([kind]) => {
      const poolKind = POOL_KINDS.find((name) => name === kind);
      if (poolKind === undefined)
        throw invalidParams(`pool is ${shortJson(kind)}, not ${POOL_KINDS.join(" or ")}`);
      chain.poolKind = poolKind;
      return true;
    },
  };
}

function droppingMethods(chain: Chain): Methods {
  const drop = (entry: PoolEntry) => chain.pool.drop(entry, "DROPPED", "a client asked to drop it");
  /** Drops a transaction by its own hash, or a wrapper by its inner's. */
  const dropOne = (txHash: unknown) => {
    const found = chain.pool.find(hash(txHash));
    if (found !== undefined) drop(found.entry);
    return found?.entry.tx.hash;
  };
  const dropWhere = (condition: (entry: PoolEntry) => boolean) => {
    for (const entry of chain.pool.entries().filter(condition)) drop(entry);
    return null;
  };
  return {
    anvil_dropTransaction: ([txHash]) => dropOne(txHash) ?? null,
    hardhat_dropTransaction: ([txHash]) => dropOne(txHash) !== undefined,
    anvil_dropAllTransactions: () => dropWhere(() => true),
    anvil_removePoolTransactions: ([account]) => {
      const signer = bytesToHex(address(account));
      return dropWhere((entry) => entry.signer === signer);
    },
  };
}

function splitPool(chain: Chain, onlySigner?: Hex): { pending: ByAccount; queued: ByAccount } {
  const pending: ByAccount = {};
  const queued: ByAccount = {};
  for (const entry of chain.pool.entries()) {
    const { signer, nonce } = entry;
    if (onlySigner !== undefined && signer !== onlySigner) continue;
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

function transactionJson({ tx }: PoolEntry) {
  return formatTransaction(tx, undefined);
}

function summary(entry: PoolEntry): string {
  const { to, value, gas, gasPrice } = transactionJson(entry);
  return `${to ?? "contract creation"}: ${BigInt(value)} wei + ${BigInt(gas)} gas × ${BigInt(gasPrice)} wei`;
}

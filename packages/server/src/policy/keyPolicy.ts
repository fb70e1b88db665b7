import {
  type AllowedTarget,
  allowedTargetsToJson,
  bytesEqual,
  bytesToHex,
  intersectTargets,
  type KeyPolicy,
  MARKER_ADDRESS,
  type PolicyCaps,
  type PolicyLimits,
  uniteTargets,
  WAITS,
  type WaiverPolicy,
} from "@gas-waiver/protocol";
import type { ServedChain } from "../chain/servedChain.js";
import type { Caller, KeyCaps } from "../model/keys/caller.js";
import type { ResolvedOptions } from "../model/options/options.js";
import { UNKNOWN_GENESIS } from "../store/chains.js";
import { mapStoreErrors } from "../store/database/storeTrouble.js";
import { findDayUse } from "../store/keys/capUse.js";
import type { Store } from "../store/store.js";
import type { PolicySet } from "./policySet.js";

export interface KeyPolicyDependencies {
  readonly store: Store;
  readonly options: Pick<ResolvedOptions, "chainId" | "maxBodyBytes" | "queueCapacity">;
  /** Its first block may become known later. */
  readonly served: Pick<ServedChain, "identity">;
  /** @throws ProtocolError `CHAIN_UNAVAILABLE` while no policy is known. */
  policies(): PolicySet;
  /** @returns the waivers whose lanes may take work, and whether they take it now. */
  waivers(): readonly { readonly waiver: Uint8Array; readonly usable: boolean }[];
}

/**
 * Describes what this key may send now: the calls that the waivers permit, narrowed by the key's own scope, and the key's
 * limits and caps. Queries the store only for a key with caps.
 * @throws ProtocolError `CHAIN_UNAVAILABLE` while no policy is known, or `STORE_UNAVAILABLE`.
 */
export async function keyPolicyOf(
  caller: Caller,
  { store, options, served, policies, waivers }: KeyPolicyDependencies,
): Promise<KeyPolicy> {
  const policySet = policies();
  const { genesisHash } = served.identity;
  const { allowedTargets: scope } = caller;
  const permitted = waivers().map(({ waiver, usable }) => {
    const targets = policySet.targetsOf(waiver);
    const message = policySet.whyUnusable(waiver) ?? (usable ? undefined : "it is given no work now");
    return { waiver, targets: scope ? intersectTargets(targets, scope) : targets, message };
  });
  return {
    chainId: options.chainId,
    ...(!bytesEqual(genesisHash, UNKNOWN_GENESIS) && { genesisHash: bytesToHex(genesisHash) }),
    marker: bytesToHex(MARKER_ADDRESS),
    waits: WAITS,
    allowedTargets: allowedTargetsToJson(uniteTargets(...permitted.map(({ targets }) => targets))),
    waivers: permitted.map(waiverPolicyOf),
    limits: policyLimitsOf(caller, options),
    ...(caller.caps && { caps: await policyCapsOf(caller, caller.caps, store) }),
  };
}

async function policyCapsOf(
  { keyId, publishable }: Caller,
  caps: KeyCaps,
  store: Store,
): Promise<PolicyCaps> {
  const { all, ends } = await mapStoreErrors(() => findDayUse(store, keyId));
  const left = (limit: bigint, used: bigint) => (used < limit ? limit - used : 0n);
  const { senderTransactions, senderGas } = caps;
  // D32: what all senders have used is not for everybody to see.
  const { transactions, gas } = publishable ? {} : caps;
  return {
    ends: ends.toISOString(),
    ...(transactions !== undefined && {
      transactions: { limit: transactions, left: Number(left(BigInt(transactions), all.transactions)) },
    }),
    ...(gas !== undefined && { gas: { limit: gas.toString(), left: left(gas, all.gas).toString() } }),
    ...(senderTransactions !== undefined && { senderTransactions: { limit: senderTransactions } }),
    ...(senderGas !== undefined && { senderGas: { limit: senderGas.toString() } }),
  };
}

function waiverPolicyOf({
  waiver,
  targets,
  message,
}: {
  readonly waiver: Uint8Array;
  readonly targets: readonly AllowedTarget[];
  readonly message: string | undefined;
}): WaiverPolicy {
  return {
    address: bytesToHex(waiver),
    usable: message === undefined,
    ...(message !== undefined && { message }),
    allowedTargets: allowedTargetsToJson(targets),
  };
}

function policyLimitsOf({ limits }: Caller, options: KeyPolicyDependencies["options"]): PolicyLimits {
  const { ratePerSecond, rateBurst, queueShare, maxBatchSize, maxBodyBytes, maxGasLimit, maxDataLength } =
    limits;
  return {
    ratePerSecond,
    rateBurst,
    maxQueued: Math.ceil(options.queueCapacity * queueShare),
    maxBatchSize,
    maxBodyBytes: Math.min(maxBodyBytes ?? options.maxBodyBytes, options.maxBodyBytes),
    maxGasLimit: maxGasLimit.toString(),
    maxDataLength,
  };
}

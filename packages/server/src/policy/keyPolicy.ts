import {
  type AllowedTarget,
  allowedTargetsToJson,
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
import type { Caller, KeyCaps } from "../model/caller.js";
import type { ResolvedOptions } from "../model/options.js";
import { findDayUse } from "../store/capUse.js";
import { mapStoreErrors } from "../store/mapStoreErrors.js";
import type { Store } from "../store/store.js";
import type { PolicySet } from "./policy.js";

export interface KeyPolicyDependencies {
  readonly store: Store;
  readonly options: Pick<ResolvedOptions, "chainId" | "maxBodyBytes" | "queueCapacity">;
  /** @throws ProtocolError `CHAIN_UNAVAILABLE` while nothing is known. */
  policies(): PolicySet;
  /** The waivers whose lanes may take work, and whether they do. */
  waivers(): readonly { readonly waiver: Uint8Array; readonly usable: boolean }[];
}

/**
 * What this key may send, as it is known now: what the waivers permit, narrowed by the key's own scope. The store is
 * asked only for what is left of caps.
 * @throws ProtocolError `CHAIN_UNAVAILABLE` while nothing is known, or `STORE_UNAVAILABLE`.
 */
export async function keyPolicyOf(
  caller: Caller,
  { store, options, policies, waivers }: KeyPolicyDependencies,
): Promise<KeyPolicy> {
  const known = policies();
  const { allowedTargets: scope } = caller;
  const permitted = waivers().map(({ waiver, usable }) => {
    const targets = known.targetsOf(waiver);
    const message = known.whyUnusable(waiver) ?? (usable ? undefined : "it is given no work now");
    return { waiver, targets: scope ? intersectTargets(targets, scope) : targets, message };
  });
  return {
    chainId: options.chainId,
    marker: bytesToHex(MARKER_ADDRESS),
    waits: WAITS,
    allowedTargets: allowedTargetsToJson(uniteTargets(...permitted.map(({ targets }) => targets))),
    waivers: permitted.map(waiverPolicyOf),
    limits: limitsOf(caller, options),
    ...(caller.caps && { caps: await capsOf(caller.keyId, caller.caps, store) }),
  };
}

async function capsOf(keyId: string, caps: KeyCaps, store: Store): Promise<PolicyCaps> {
  const { all, ends } = await mapStoreErrors(() => findDayUse(store, keyId));
  const left = (limit: bigint, used: bigint) => (used < limit ? limit - used : 0n);
  const { transactions, gas, senderTransactions, senderGas } = caps;
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

function limitsOf({ limits }: Caller, options: KeyPolicyDependencies["options"]): PolicyLimits {
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

import {
  assertInnerTxFields,
  encodeTransaction,
  type InnerTx,
  intrinsicGas,
  ProtocolError,
  type UnsignedTransaction,
} from "@gas-waiver/protocol";
import type { ReadinessProbe } from "../health/readiness.js";
import { type Caller, partyOf } from "../model/keys/caller.js";
import type { ResolvedOptions } from "../model/options/options.js";
import { PRICES } from "../model/prices.js";
import { rulesFor } from "../policy/rules.js";
import type { PolicySource } from "../policy/source.js";
import type { LoopQueue } from "../util/loopQueue.js";
import { bytesAt, bytesOf, objectAt, quantityOf } from "./params.js";

export interface SponsorshipDependencies {
  readonly policies: Pick<PolicySource, "current">;
  readonly options: Pick<ResolvedOptions, "chainId" | "maxWrapperBytes">;
  readonly readiness: Pick<ReadinessProbe, "probe">;
  readonly loop: Pick<LoopQueue, "charge">;
}

/** The name that wallets show as the sponsor's policy. */
const POLICY_NAME = "gas-waiver";

/**
 * The paymaster methods of BEP-414 (https://github.com/bnb-chain/BEPs/blob/master/BEPs/BEP-414.md). The specification and
 * the published SDKs spell the members of the answer differently, so it has both spellings.
 */
export function createSponsorship({ policies, options, readiness, loop }: SponsorshipDependencies) {
  return {
    /** `pm_isSponsorable`: whether the service would waive the gas, and else the rule that refuses it. */
    isSponsorable(params: readonly unknown[], caller: Caller): Record<string, unknown> {
      const tx = unsignedTransaction(objectAt(params, 0, "the transaction"), BigInt(options.chainId));
      // Nothing else of its work waits for a turn, and calldata may take milliseconds.
      loop.charge(partyOf(caller), 2 * tx.data.length * PRICES.checkedByte);
      try {
        assertInnerTxFields(sized(tx), rulesFor(caller, options, policies.current()));
        return answer(true);
      } catch (error) {
        if (!(error instanceof ProtocolError)) throw error;
        return { ...answer(false), reason: error.reason, message: error.message };
      }
    },
    /** `pm_health`: whether the service can do its work now. */
    async health(): Promise<boolean> {
      return (await readiness.probe()).ready;
    },
    /** `wallet_getCapabilities` (EIP-5792), for clients that ask the node instead of the wallet: of the chains that they name. */
    capabilities([, chains]: readonly unknown[]): Record<string, unknown> {
      const chainId = `0x${options.chainId.toString(16)}`;
      if (Array.isArray(chains) && !chains.some((one) => isText(one, chainId))) return {};
      return {
        [chainId]: {
          atomic: { status: "unsupported" },
          paymasterService: { supported: true },
        },
      };
    },
  };
}

/** Tells whether a parameter, which may be any JSON, is this text in letters of any case. */
function isText(parameter: unknown, text: string): boolean {
  return typeof parameter === "string" && parameter.toLowerCase() === text;
}

function answer(sponsorable: boolean): Record<string, unknown> {
  return {
    sponsorable,
    sponsorPolicy: POLICY_NAME,
    sponsorName: POLICY_NAME,
    Sponsorable: sponsorable,
    SponsorPolicy: POLICY_NAME,
  };
}

/** Reads the transaction as wallets describe it before it is signed. Without a gas limit, the least one counts. */
function unsignedTransaction(request: Record<string, unknown>, chainId: bigint): UnsignedTransaction {
  const { to, gas, value, data, input } = request;
  const fields = {
    type: "legacy",
    chainId,
    nonce: 0n,
    gasPrice: 0n,
    to: to === undefined || to === null ? undefined : bytesAt([to], 0, 20, "`to`"),
    value: quantityOf(value, "`value`") ?? 0n,
    data: bytesOf(input ?? data ?? "0x", "`data`"),
  } as const;
  return { ...fields, gasLimit: quantityOf(gas, "`gas`") ?? intrinsicGas(fields) };
}

/** Takes the place of a signature, whose bytes count for the size of a wrapper. */
const PLACEHOLDER = { compact: new Uint8Array(64).fill(1), yParity: 0 } as const;

function sized(tx: UnsignedTransaction): InnerTx {
  return { ...tx, signature: PLACEHOLDER, raw: encodeTransaction(tx, PLACEHOLDER) } as InnerTx;
}

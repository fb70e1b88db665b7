import { bytesToHex, type Hex, type WaiverAccount } from "@gas-waiver/protocol";
import type { LaneSigner } from "../../src/signing/laneSigner.js";
import type { Store } from "../../src/store/store.js";
import type { ModelChain } from "./modelChain.js";

/** Watches that lanes sign no wrapper above a nonce which has none: nothing above the gap could run. */
export interface GapWatch {
  /** The waiver nonces that were signed above a gap. */
  readonly gaps: readonly string[];
  /** @returns the signer of a lane, which looks at the nonces first. */
  watch(account: WaiverAccount, signer: LaneSigner): LaneSigner;
}

export function createGapWatch({ pool }: Store, chain: ModelChain): GapWatch {
  const gaps: string[] = [];
  /** By waiver. A reorg takes nonces of the chain away again, and so does the end of a withdrawn wrapper in the store. */
  const highest = new Map<Hex, bigint>();
  /** Returns the nonce above all that the chain has had, or the store has had a wrapper for. */
  const nextOf = async (address: Uint8Array) => {
    const waiver = bytesToHex(address);
    const { rows } = await pool.query<{ next: string }>(
      `select coalesce(max(waiver_nonce) + 1, 0) as next
       from (select waiver, waiver_nonce from unfinished union all select waiver, waiver_nonce from finished
         union all select waiver, waiver_nonce from withdrawn) wrappers where waiver = $1`,
      [address],
    );
    const known = [highest.get(waiver) ?? 0n, chain.nonceOf(waiver), BigInt(rows[0]?.next ?? 0)];
    const next = known.reduce((a, b) => (a > b ? a : b));
    highest.set(waiver, next);
    return next;
  };
  return {
    gaps,
    watch: ({ address }, signer) => ({
      ...signer,
      async sign(requests) {
        let next = await nextOf(address);
        for (const { waiverNonce } of requests) {
          if (waiverNonce > next) gaps.push(`${waiverNonce} of ${bytesToHex(address)}`);
          if (waiverNonce === next) next++;
        }
        return signer.sign(requests);
      },
    }),
  };
}

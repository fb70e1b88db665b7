import type { WaiverAccount } from "@gas-waiver/protocol";
import type { ResolvedOptions } from "../model/options/options.js";
import type { Metrics } from "../model/telemetry/metrics.js";
import { CustodySigner } from "./custodySigner.js";
import { createKeySigner, type KeySigner, type KeySignerDependencies } from "./keySigner.js";
import type { LaneSigner } from "./laneSigner.js";
import { privateKeyOf } from "./privateKeyWaiver.js";
import type { WrappingOptions } from "./wrappers.js";

/**
 * Signs the wrappers of all lanes.
 *
 * Another custody is a file in `custody/` that makes a `WaiverAccount`, and a setting of the command line that calls it. Its
 * test calls `describeWaiverAccount` of the protocol package.
 */
export type Signer = ReturnType<typeof createSigner>;

export interface SignerDependencies extends KeySignerDependencies {
  readonly options: WrappingOptions & Pick<ResolvedOptions, "custodyRatePerSecond" | "custodyTimeoutMs">;
  /** Once it is aborted, no call to a custody outside of this process is waited for. */
  readonly signal: AbortSignal;
  readonly metrics?: Pick<Metrics, "custodyOf">;
}

export function createSigner(dependencies: SignerDependencies) {
  const { options, signal, metrics } = dependencies;
  const { verificationGas, innerEncoding, custodyRatePerSecond, custodyTimeoutMs } = options;
  const keySigner = createKeySigner(dependencies);
  return {
    /** Returns the signer of one lane. */
    of(account: WaiverAccount) {
      const key = privateKeyOf(account);
      if (key !== undefined) return signAtOnce(keySigner, key);
      return new CustodySigner({
        account,
        wrapping: { verificationGas, innerEncoding },
        perSecond: custodyRatePerSecond,
        timeoutMs: custodyTimeoutMs,
        signal,
        metrics,
      });
    },
    close: () => keySigner.close(),
  };
}

const NONE_BEGUN: ReadonlyMap<string, bigint> = new Map();

/** Signs all that a step plans, with a key that is in this process. */
function signAtOnce(keySigner: KeySigner, key: Uint8Array): LaneSigner {
  return {
    window: Number.POSITIVE_INFINITY,
    begun: NONE_BEGUN,
    isRefused: () => false,
    sign: (requests) => keySigner.sign(requests, key),
  };
}

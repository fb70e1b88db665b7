import { VERIFICATION_GAS, type VectorCase } from "./case.js";
import { decodingCases } from "./cases/decoding.js";
import { executionCases } from "./cases/execution.js";
import { orderCases } from "./cases/order.js";
import { policyCases } from "./cases/policy.js";
import { ruleCases } from "./cases/rules.js";
import { wrapperCases } from "./cases/wrapper.js";
import { type Contract, contracts } from "./state.js";

export interface VectorFile {
  readonly format: 1;
  readonly hardfork: "prague";
  /** The limits of the service for an InnerTx, beside the policy (D3). */
  readonly serviceLimits: {
    readonly maxGasLimit: string;
    readonly maxDataLength: number;
    readonly maxWrapperBytes: number;
  };
  /** The chain's parameter of D7, in gas. */
  readonly verificationGas: string;
  readonly contracts: Readonly<Record<string, Contract>>;
  readonly cases: readonly VectorCase[];
}

export function generate(): VectorFile {
  const cases = [
    ...executionCases(),
    ...wrapperCases(),
    ...decodingCases(),
    ...ruleCases(),
    ...policyCases(),
    ...orderCases(),
  ];
  return {
    format: 1,
    hardfork: "prague",
    // Those of a service are larger: vectors at their bounds would be, too.
    serviceLimits: { maxGasLimit: "10000000", maxDataLength: 1_024, maxWrapperBytes: 2_048 },
    verificationGas: String(VERIFICATION_GAS),
    contracts,
    cases,
  };
}

/** The text of the vector file. */
export const serialize = (file: VectorFile) => `${JSON.stringify(file, null, 1)}\n`;

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { refusal, refusalOf } from "../../test/support/fixtures.js";
import { bytesToHex, type Hex, hexToBytes } from "../encoding/hex.js";
import { type AllowedTargetJson, parseAllowedTargets } from "../policy/AllowedTarget.js";
import { compilePolicy, type Policy } from "../policy/policySets.js";
import { assertInnerTx, parseInnerTx } from "../transactions/InnerTx.js";
import { intrinsicGas } from "../transactions/intrinsicGas.js";
import { hashTransaction } from "../transactions/SignedTransaction.js";
import type { ChainView } from "./chainView.js";
import { assertWrapper } from "./validatorRules.js";

interface Vector {
  readonly name: string;
  readonly chainId: number;
  readonly registry: Record<string, AllowedTargetJson[]>;
  readonly accounts: Record<string, { nonce: string; balance: string; code?: Hex }>;
  readonly wrapper: Hex;
  readonly expect: {
    readonly verdict: "refused" | "included";
    readonly check?: string;
    readonly reason?: string;
    readonly cause?: string;
    readonly waiver?: Hex;
    readonly sender?: Hex;
    readonly wrapperHash?: Hex;
    readonly innerHash?: Hex;
    readonly wrapperGasUsed?: string;
  };
  readonly service?: {
    readonly transaction: string;
    readonly waiver: Hex;
    readonly verdict: "refused" | "accepted";
    readonly code?: string;
    readonly reason?: string;
    readonly sender?: Hex;
    readonly txHash?: Hex;
  };
}

interface VectorFile {
  readonly verificationGas: string;
  readonly serviceLimits: {
    readonly maxGasLimit: string;
    readonly maxDataLength: number;
    readonly maxWrapperBytes: number;
  };
  readonly cases: readonly Vector[];
}

const file: VectorFile = JSON.parse(
  readFileSync(new URL("../../vectors/wrappers.json", import.meta.url), "utf8"),
);

const policyOf = ({ registry }: Vector, waiver: Uint8Array): Policy =>
  compilePolicy(parseAllowedTargets(registry[bytesToHex(waiver)] ?? []));

/** The state of a case, read from its JSON and from nothing else. */
function view(vector: Vector): ChainView {
  const { registry, accounts, chainId } = vector;
  const accountOf = (address: Uint8Array) => accounts[bytesToHex(address)] ?? { nonce: "0", balance: "0" };
  return {
    chainId: BigInt(chainId),
    verificationGas: BigInt(file.verificationGas),
    isWaiver: (address) => registry[bytesToHex(address)] !== undefined,
    isAllowed: (waiver, to, data) => policyOf(vector, waiver).check(to, data),
    nonceOf: (address) => BigInt(accountOf(address).nonce),
    codeOf: (address) => hexToBytes(accountOf(address).code ?? "0x"),
    balanceOf: (address) => BigInt(accountOf(address).balance),
  };
}

const casesOf = (verdict: string) => file.cases.filter((vector) => vector.expect.verdict === verdict);

describe("the validators' rules give the verdict of the vector (D7)", () => {
  it.each(casesOf("refused"))("$expect.check, $expect.reason: $name", async (vector) => {
    const error = await refusalOf(assertWrapper(hexToBytes(vector.wrapper), view(vector)));
    const { reason, check, cause } = vector.expect;
    expect({ reason: error.reason, ...error.values }).toMatchObject({
      reason,
      check,
      ...(cause ? { cause } : {}),
    });
  });

  it.each(casesOf("included"))("no refusal: $name", async (vector) => {
    const { wrapper, waiver, inner, sender } = await assertWrapper(hexToBytes(vector.wrapper), view(vector));
    expect({
      waiver: bytesToHex(waiver),
      sender: bytesToHex(sender),
      wrapperHash: bytesToHex(hashTransaction(wrapper)),
      innerHash: bytesToHex(hashTransaction(inner)),
      wrapperGasUsed: String(intrinsicGas(wrapper)),
    }).toEqual({
      waiver: vector.expect.waiver,
      sender: vector.expect.sender,
      wrapperHash: vector.expect.wrapperHash,
      innerHash: vector.expect.innerHash,
      wrapperGasUsed: vector.expect.wrapperGasUsed,
    });
  });
});

describe("the rules on an InnerTx give the service's verdict of the vector (D3)", () => {
  const vectorsWithService = file.cases.flatMap((vector) =>
    vector.service === undefined ? [] : [{ ...vector, service: vector.service }],
  );

  it.each(vectorsWithService)("$service.verdict: $name", (vector) => {
    const { service } = vector;
    const assert = () =>
      assertInnerTx(parseInnerTx(service.transaction), {
        chainId: BigInt(vector.chainId),
        ...file.serviceLimits,
        maxGasLimit: BigInt(file.serviceLimits.maxGasLimit),
        policy: policyOf(vector, hexToBytes(service.waiver)),
      });
    if (service.verdict === "refused") {
      const { reason, code } = refusal(assert);
      expect({ reason, code }).toEqual({ reason: service.reason, code: service.code });
    } else {
      const { sender, hash } = assert();
      expect([bytesToHex(sender), bytesToHex(hash)]).toEqual([service.sender, service.txHash]);
    }
  });
});

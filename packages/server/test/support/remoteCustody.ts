import { crypto, hexToBytes, type WaiverAccount } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import {
  type ContractOptions,
  describeWaiverAccount,
} from "../../../protocol/test/support/waiverAccountContract.js";
import { CustodyError, CustodyThrottledError, WrongSignatureError } from "../../src/signing/custodyCalls.js";
import type { LaneSignRequest } from "../../src/signing/laneSigner.js";
import { createSigner } from "../../src/signing/signer.js";
import { signWrappers } from "../../src/signing/wrappers.js";
import { silent } from "./testPostgres.js";
import { innerOf, WAIVER, WAIVER_KEY } from "./user.js";

/** The ways in which a custody's backend misbehaves: it hangs, refuses, has too many calls, or signs with another key. */
export type CustodyFault = "silent" | "refuses" | "throttles" | "wrong key";

/** A custody whose signatures are made outside of the account, with {@link WAIVER_KEY}. */
export interface RemoteCustody {
  readonly account: WaiverAccount;
  /** Sets the fault of the answers from now on; undefined for good ones. */
  setFault(fault: CustodyFault | undefined): void;
  /** Has each answer take so long from now on. */
  setDelay(ms: number): void;
}

const wrapping = { verificationGas: 50_000n, innerEncoding: "envelope" as const };

export const requestsOf = (count: number, from = 1): LaneSignRequest[] =>
  Array.from({ length: count }, (_, i) => ({
    id: `submission ${from + i}`,
    innerRaw: hexToBytes(innerOf(from + i)),
    waiverNonce: BigInt(from + i - 1),
  }));

export const wrappersOf = (requests: readonly LaneSignRequest[]) =>
  signWrappers(requests, { waiverKey: WAIVER_KEY, ...wrapping });

/** Opens the signer of a lane with such an account. */
export function laneSignerOf(
  account: WaiverAccount,
  { perSecond = 10_000, timeoutMs = 10_000, signal = new AbortController().signal } = {},
) {
  const options = { ...wrapping, custodyRatePerSecond: perSecond, custodyTimeoutMs: timeoutMs };
  return createSigner({ options, log: silent, signal }).of(account);
}

/** Signs all requests, as a lane does: what is signed has left when the next call comes. */
export async function signAll(signer: ReturnType<typeof laneSignerOf>, requests: readonly LaneSignRequest[]) {
  const signed = [];
  while (signed.length < requests.length) signed.push(...(await signer.sign(requests.slice(signed.length))));
  return signed;
}

/**
 * Defines the tests that every custody outside of this process passes, beside those of `describeWaiverAccount`.
 * @param open returns a custody of {@link WAIVER_KEY} that behaves; called once for each test.
 */
export function describeRemoteCustody(
  name: string,
  open: () => Promise<RemoteCustody>,
  options: ContractOptions = {},
): void {
  describeWaiverAccount(name, async () => (await open()).account, hexToBytes(WAIVER), options);

  describe(`the lane of the custody ${name}`, () => {
    it("gets a hundred wrappers in their order, each with the waiver's signature, also from a slow backend", async () => {
      const custody = await open();
      custody.setDelay(5);
      const requests = requestsOf(100);
      expect(await signAll(laneSignerOf(custody.account), requests)).toEqual(wrappersOf(requests));
    });

    it("gets nothing from a backend that signs with another key", async () => {
      const custody = await open();
      custody.setFault("wrong key");
      await expect(signAll(laneSignerOf(custody.account), requestsOf(3))).rejects.toThrow(
        WrongSignatureError,
      );
    });

    it("learns that a backend refuses or does not answer, and goes on when it does", async () => {
      const custody = await open();
      const signer = laneSignerOf(custody.account, { timeoutMs: 200 });
      for (const fault of ["refuses", "silent"] as const) {
        custody.setFault(fault);
        await expect(signAll(signer, requestsOf(2))).rejects.toThrow(CustodyError);
      }
      custody.setFault(undefined);
      const patient = laneSignerOf(custody.account);
      expect(await signAll(patient, requestsOf(2))).toEqual(wrappersOf(requestsOf(2)));
    });

    it("waits for a backend that has too many calls", async () => {
      const custody = await open();
      custody.setFault("throttles");
      const message = new Uint8Array(32).fill(1);
      await expect(custody.account.sign(crypto.keccak256(message), message)).rejects.toThrow(
        CustodyThrottledError,
      );
      const signing = signAll(laneSignerOf(custody.account), requestsOf(1));
      custody.setFault(undefined);
      expect(await signing).toEqual(wrappersOf(requestsOf(1)));
    });
  });
}

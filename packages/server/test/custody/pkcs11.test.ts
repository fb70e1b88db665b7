import { generateKeyPairSync } from "node:crypto";
import { createRequire } from "node:module";
import { bytesToHex, decodeTransaction, hexToBytes } from "@gas-waiver/protocol";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { describeWaiverAccount } from "../../../protocol/test/support/waiverAccountContract.js";
import { openPkcs11Waivers, PinError } from "../../src/index.js";
import { installCustodyPeers } from "../support/custodyPeers.js";
import { laneSignerOf, requestsOf, signAll, wrappersOf } from "../support/remoteCustody.js";
import { PIN, pemOf, SOFT_HSM, SoftHsmToken, TOKEN } from "../support/softHsm.js";
import { SECOND_KEY, SECOND_WAIVER, WAIVER, WAIVER_KEY } from "../support/user.js";

/** @returns whether the addon of graphene-pk11 was compiled at the installation. */
function hasGraphene(): boolean {
  try {
    createRequire(import.meta.url)("graphene-pk11");
    return true;
  } catch {
    return false;
  }
}

if (SOFT_HSM !== undefined) await installCustodyPeers();
const missing = SOFT_HSM === undefined ? "SoftHSM" : hasGraphene() ? undefined : "graphene-pk11";

describe.skipIf(missing)(`PKCS#11${missing ? ` (skipped: ${missing} is not installed)` : ""}`, () => {
  let token: SoftHsmToken;
  beforeAll(() => {
    token = new SoftHsmToken();
    // The library reads it when it is initialized, once in a process.
    vi.stubEnv("SOFTHSM2_CONF", token.configuration);
    token.import("waiver-1", pemOf(WAIVER_KEY));
    token.import("waiver-2", pemOf(SECOND_KEY));
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    token.import("other", privateKey.export({ type: "pkcs8", format: "pem" }).toString());
  });
  afterAll(() => {
    vi.unstubAllEnvs();
    token.remove();
  });

  const open = (changes: object = {}) =>
    openPkcs11Waivers({ library: SOFT_HSM ?? "", token: TOKEN, pin: PIN, keys: ["waiver-1"], ...changes });
  const openOne = async () => {
    const [account] = await open();
    if (account === undefined) throw new Error("no account was opened");
    return account;
  };

  // A token that somebody has logged in to asks for no PIN, so this comes first.
  it("of a wrong PIN is refused", async () => {
    const error: unknown = await open({ pin: "87654321" }).catch((thrown: unknown) => thrown);
    const message = expect.stringContaining("cannot be used: the PIN is wrong");
    expect(error).toMatchObject({ message, cause: expect.any(PinError) });
  });

  describeWaiverAccount("of a PKCS#11 token", openOne, hexToBytes(WAIVER));

  describe("a PKCS#11 token", () => {
    it("gives a lane a hundred wrappers in their order", async () => {
      const requests = requestsOf(100);
      // A token signs with random nonces, so no two signatures of a wrapper are the same.
      const unsigned = ({ wrapperRaw }: { wrapperRaw: Uint8Array }) => {
        const { nonce, data } = decodeTransaction(wrapperRaw);
        return { nonce, data };
      };
      const signed = await signAll(laneSignerOf(await openOne()), requests);
      expect(signed.map(unsigned)).toEqual(wrappersOf(requests).map(unsigned));
    });

    it("has the keys of several waivers", async () => {
      const waivers = await open({ keys: ["waiver-1", "waiver-2"] });
      expect(waivers.map(({ address }) => bytesToHex(address))).toEqual([WAIVER, SECOND_WAIVER]);
    });

    it("refuses another PIN than the one that the process has logged in with", async () => {
      await openOne();
      await expect(open({ pin: "87654321" })).rejects.toThrow(
        "cannot be used: this process has logged in to it with another PIN",
      );
      await openOne();
    });

    it("names each key that cannot be used", async () => {
      const refused = await open({ keys: ["waiver-3", "waiver-1", "other"] }).catch((error: Error) => error);
      const problems = [
        expect.stringContaining("there is no private key"),
        expect.stringContaining("the curve"),
      ];
      expect(refused).toMatchObject({ name: "StartError", problems });
    });

    it("is refused at the start, with one reason, where no waiver can use it", async () => {
      for (const [changes, reason] of [
        [
          { keys: ["waiver-3"] },
          'the key "waiver-3" of the token "relay" .* cannot be used: there is no private key',
        ],
        [
          { keys: ["other"] },
          "it is a key of the curve 06082a8648ce3d030107 .*, and a waiver needs one of secp256k1",
        ],
        [{ token: "vault" }, 'there is no such token; there are "relay"'],
        [{ library: "/nowhere/library.so" }, "/nowhere/library.so"],
      ] as const) {
        const refused = await open(changes).catch((error: Error) => error);
        const message = expect.stringMatching(reason);
        expect(refused, reason).toMatchObject({ name: "StartError", message });
      }
    });
  });
});

import { bytesToHex, hexToBytes, type WaiverAccount } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { openKmsKey, readName } from "../../../src/custody/kms/openKms.js";
import { type KmsOptions, openKmsWaiver } from "../../../src/index.js";
import { describeRemoteCustody } from "../remoteCustody.js";
import { SECOND_WAIVER, WAIVER } from "../user.js";
import type { KeyRole, KmsBackend } from "./kmsBackend.js";

/** A model of a key management service that runs, and the names of its keys. */
export interface KmsModel {
  readonly backend: KmsBackend;
  readonly keys: Readonly<Record<KeyRole, string>>;
  readonly options: KmsOptions;
  /** Runs something where no credentials are to be found. */
  withoutCredentials<T>(run: () => Promise<T>): Promise<T>;
}

/**
 * Defines the tests that every key management service passes, beside those of every custody.
 * @param model returns the model, which has been started before the tests.
 */
export function describeKms(name: string, model: () => KmsModel): void {
  const open = (role: KeyRole, address?: string): Promise<WaiverAccount> => {
    const { keys, options } = model();
    return openKmsWaiver(keys[role], { ...options, ...(address && { address: hexToBytes(address) }) });
  };

  describeRemoteCustody(name, async () => {
    const { backend } = model();
    backend.setFault(undefined);
    backend.delayMs = 0;
    return {
      account: await open("signing", WAIVER),
      setFault: (fault) => backend.setFault(fault),
      setDelay: (ms) => {
        backend.delayMs = ms;
      },
    };
  });

  describe(`a key of ${name}`, () => {
    it("is refused at the start, with one reason, where no waiver can use it", async () => {
      const { backend, keys } = model();
      backend.setFault(undefined);
      for (const [role, reason] of [
        ["missing", /there is no such key/],
        ["disabled", /it is (disabled|not enabled)/],
        ["forbidden", /this identity may not use it/],
        ["other curve", /it is a key of .*256.*, and a waiver needs one of secp256k1/],
        ["sealing", /does not sign|a waiver needs one of secp256k1/],
      ] as const) {
        const refused = await open(role).catch((error: Error) => error);
        expect(refused, role).toMatchObject({ name: "StartError", message: expect.stringMatching(reason) });
        const message = (refused as Error).message;
        expect(message, role).toContain(`the key ${keys[role]} of ${name} cannot be used: `);
        expect(message, role).not.toContain("\n");
      }
    });

    it("is refused where it is the key of another address, or signs for another one", async () => {
      const { backend } = model();
      backend.setFault(undefined);
      await expect(open("signing", SECOND_WAIVER)).rejects.toThrow(
        `it is the key of ${WAIVER}, not of the waiver ${SECOND_WAIVER}`,
      );
      backend.setFault("wrong key");
      await expect(open("signing")).rejects.toThrow("was made by another key");
      backend.setFault(undefined);
      expect(bytesToHex((await open("signing")).address)).toBe(WAIVER);
    });

    it("gives a call up that gets no answer in its time", async () => {
      const { backend, keys, options } = model();
      const key = await openKmsKey(readName(keys.signing), { ...options, timeoutMs: 50 });
      backend.setFault("silent");
      await expect(key.sign(new Uint8Array(32))).rejects.toThrow("no answer within 50 ms");
      backend.setFault(undefined);
    });

    it("is refused where there are no credentials", async () => {
      await model().withoutCredentials(async () => {
        await expect(open("signing")).rejects.toThrow(/cannot be used: there are no credentials of/);
      });
    });
  });
}

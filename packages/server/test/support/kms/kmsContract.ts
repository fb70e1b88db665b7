import { bytesToHex, hexToBytes, type WaiverAccount } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { openKmsKey, readName } from "../../../src/custody/kms/openKms.js";
import {
  type Keystore,
  type KmsOptions,
  openKmsWaiver,
  openSealedKeystore,
  parseKeystore,
  sealKeystore,
} from "../../../src/index.js";
import { describeRemoteCustody } from "../remoteCustody.js";
import { SECOND_KEY, SECOND_WAIVER, WAIVER, WAIVER_KEY } from "../user.js";
import type { KeyRole, KmsBackend } from "./kmsBackend.js";

/** A model of a key management service that runs, and the names of its keys. */
export interface KmsModel {
  readonly backend: KmsBackend;
  readonly keys: Readonly<Record<KeyRole, string>>;
  readonly options: KmsOptions;
  /** The name of the key that encrypts, as operators give it. */
  readonly sealingKey: string;
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
        ["sealing", /does not sign|has another purpose|a waiver needs one of secp256k1/],
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
      await expect(open("signing")).rejects.toThrow(/^the key .* cannot be used: .* was made by another key/);
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

  describe(`a keystore that ${name} seals`, () => {
    const open = (keystore: Keystore) =>
      openSealedKeystore(parseKeystore(JSON.stringify(keystore)), model().options);

    it("opens to its key, shows nothing of it, and does not open with the seal of another one", async () => {
      const { sealingKey, options } = model();
      const keystore = await sealKeystore(WAIVER_KEY, sealingKey, options);
      expect(await open(keystore)).toEqual(WAIVER_KEY);
      expect(JSON.stringify(keystore)).not.toContain(bytesToHex(WAIVER_KEY).slice(2));
      const other = await sealKeystore(SECOND_KEY, sealingKey, options);
      await expect(open({ ...keystore, seal: other.seal })).rejects.toThrow(
        /the ciphertext was not made with it|the request does not fit the key|is damaged/,
      );
    });

    it("is refused where the key does not encrypt, or the workload may not use it", async () => {
      const { keys, sealingKey, options } = model();
      for (const role of ["signing", "forbidden", "missing"] as const) {
        await expect(sealKeystore(WAIVER_KEY, keys[role], options), role).rejects.toThrow(/cannot be used/);
      }
      const { seal, ...keystore } = await sealKeystore(WAIVER_KEY, sealingKey, options);
      const elsewhere = { key: keys.forbidden, passphrase: seal?.passphrase ?? "" };
      await expect(open({ ...keystore, seal: elsewhere })).rejects.toThrow("this identity may not use it");
      const cut = JSON.stringify({ ...keystore, seal: { key: sealingKey } });
      expect(() => parseKeystore(cut)).toThrow("its seal is not complete");
    });
  });
}

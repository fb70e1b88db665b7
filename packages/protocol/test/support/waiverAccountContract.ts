import { describe, expect, it } from "vitest";
import { assertCanonicalSignature } from "../../src/accounts/signature.js";
import {
  crypto,
  privateKeyAccount,
  recoverAddress,
  type Signature,
  type WaiverAccount,
} from "../../src/index.js";

/** Hashes that a custody must sign as they are, with leading zeros and above the curve's order too. */
const HASHES = [0x00, 0x01, 0x7f, 0x80, 0xff].map((byte) => new Uint8Array(32).fill(byte));
const LEADING_ZEROS = Uint8Array.from({ length: 32 }, (_, i) => (i < 4 ? 0 : i));

export interface ContractOptions {
  /** The custody hashes by itself. It then signs the hashes of the contract's hashes. */
  readonly hashes?: boolean;
}

/** So many hashes that a custody which does not lower s fails on some: every second signature has a high s. */
const MANY = Array.from({ length: 100 }, (_, i) => new Uint8Array(32).fill(i + 2));

/**
 * Defines the tests of the contract that every custody keeps (D33). Call it once in the custody's test file.
 * @param name the custody, for the tests' titles.
 * @param openAccount returns an account; called once for each test.
 * @param expected the address of the key, 20 bytes, where the test knows it.
 */
export function describeWaiverAccount(
  name: string,
  openAccount: () => WaiverAccount | Promise<WaiverAccount>,
  expected?: Uint8Array,
  { hashes: hashesItself = false }: ContractOptions = {},
): void {
  const digestOf = (hash: Uint8Array) => (hashesItself ? crypto.keccak256(hash) : hash);
  const open = async () => {
    const account = await openAccount();
    const signed = (hash: Uint8Array) => account.sign(digestOf(hash), hashesItself ? hash : undefined);
    return { account, sign: signed };
  };
  describe(`the waiver account ${name}`, () => {
    it("has an address of 20 bytes that does not change", async () => {
      const { account, sign } = await open();
      const address = Uint8Array.from(account.address);
      expect(address).toHaveLength(20);
      if (expected) expect(address).toEqual(expected);
      await sign(LEADING_ZEROS);
      expect(account.address).toEqual(address);
    });

    it("signs any hash with the key of its address", async () => {
      const { account, sign } = await open();
      for (const hash of [...HASHES, LEADING_ZEROS]) {
        const signature = await sign(hash);
        expect(recoverAddress(digestOf(hash), signature)).toEqual(account.address);
      }
    });

    it("gives 64 bytes of a low s, and the parity as 0 or 1", async () => {
      const { sign } = await open();
      for (const { compact, yParity } of await Promise.all(MANY.map(sign))) {
        expect(compact).toHaveLength(64);
        expect([0, 1]).toContain(yParity);
        assertCanonicalSignature({ compact, yParity });
      }
    });

    it("gives each of a hundred calls at once its own signature, and leaves the hashes as they are", async () => {
      const { account, sign } = await open();
      const hashes = MANY.map((hash) => Uint8Array.from(hash));
      const signatures: Signature[] = await Promise.all(hashes.map((hash) => sign(hash)));
      expect(hashes).toEqual(MANY);
      signatures.forEach((signature, i) => {
        expect(recoverAddress(digestOf(MANY[i] ?? LEADING_ZEROS), signature)).toEqual(account.address);
      });
    });

    it("shows no key of its own when it is printed", async () => {
      const { account } = await open();
      expect(Object.keys(account).filter((member) => /key|secret|mnemonic|seed/i.test(member))).toEqual([]);
    });
  });
}

/** Returns an account that signs with another key than that of its address. Its signatures must never be used. */
export function mismatchedAccount(address: Uint8Array, otherKey: Uint8Array): WaiverAccount {
  return { ...privateKeyAccount(otherKey), address };
}

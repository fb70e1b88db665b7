import { bytesToHex, hexToBytes } from "@gas-waiver/protocol";
import { Wallet } from "ethers";
import { describe, expect, it } from "vitest";
import { WAIVER, WAIVER_KEY } from "../../test/support/user.js";
import { decryptKeystore, encryptKeystore, KeystoreError, parseKeystore } from "./keystore.js";

const PASSPHRASE = "correct horse battery staple";
const CHEAP = { n: 1_024 };

/** The examples of the Web3 Secret Storage definition, of the same key. The second one has more blocks than RFC 7914 allows. */
const PUBLISHED = {
  crypto: {
    cipher: "aes-128-ctr",
    cipherparams: { iv: "6087dab2f9fdbbfaddc31a909735c1e6" },
    ciphertext: "5318b4d5bcd28de64ee5559e671353e16f075ecae9f99c7a79a38af5f869aa46",
    kdf: "pbkdf2",
    kdfparams: {
      ...{ c: 262_144, dklen: 32, prf: "hmac-sha256" },
      salt: "ae3cd4e7013836a3df6bd7241b12db061dbe2c6785853cce422d148a624ce0bd",
    },
    mac: "517ead924a9d0dc3124507e3393d175ce3ff7c1e96529c6c555ce9e51205e9b2",
  },
  id: "3198bc9c-6672-5ab3-d995-4942343ae5b6",
  version: 3,
} as const;
const PUBLISHED_SCRYPT = {
  ...PUBLISHED,
  crypto: {
    cipher: "aes-128-ctr",
    cipherparams: { iv: "83dbcc02d8ccb40e466191a123791e0e" },
    ciphertext: "d172bf743a674da9cdad04534d56926ef8358534d458fffccd4e6ad2fbde479c",
    kdf: "scrypt",
    kdfparams: {
      ...{ dklen: 32, n: 262_144, r: 1, p: 8 },
      salt: "ab0c7876052600dd703518d6fc3fe8984592145b591fc8fb5c6d43190334ba19",
    },
    mac: "2103ac29920d71da29f15d75b4a16dbe95cfd7ff8faea1056c33131d846e3097",
  },
} as const;

describe("a keystore", () => {
  it("of the published examples is read", async () => {
    for (const published of [PUBLISHED, PUBLISHED_SCRYPT]) {
      const key = await decryptKeystore(parseKeystore(JSON.stringify(published)), "testpassword");
      expect(bytesToHex(key)).toMatch(/^0x7a28b5ba57c53603.*4fe9d$/);
    }
  });

  it("goes to ethers and comes from there", async () => {
    const written = JSON.stringify(await encryptKeystore(WAIVER_KEY, PASSPHRASE, CHEAP));
    const wallet = Wallet.fromEncryptedJsonSync(written, PASSPHRASE) as Wallet;
    expect(wallet.address.toLowerCase()).toBe(WAIVER);
    const { encryptKeystoreJson } = await import("ethers");
    const account = { address: wallet.address, privateKey: wallet.privateKey };
    const theirs = await encryptKeystoreJson(account, PASSPHRASE, { scrypt: { N: 1_024 } });
    expect(await decryptKeystore(parseKeystore(theirs), PASSPHRASE)).toEqual(WAIVER_KEY);
  });

  it("opens under letters beyond ASCII, however its program encoded them", async () => {
    const typed = "motto ﬁne Å";
    const asTyped = await encryptKeystore(WAIVER_KEY, typed, CHEAP);
    const normal = await encryptKeystore(WAIVER_KEY, typed.normalize("NFKC"), CHEAP);
    for (const keystore of [asTyped, normal])
      expect(await decryptKeystore(keystore, typed)).toEqual(WAIVER_KEY);
  });

  it("is refused with a wrong passphrase, when it is damaged, and when it holds another address's key", async () => {
    const keystore = await encryptKeystore(WAIVER_KEY, PASSPHRASE, CHEAP);
    await expect(decryptKeystore(keystore, "wrong")).rejects.toThrow(
      "the passphrase is wrong, or the file is damaged",
    );
    const ciphertext = "00".repeat(32);
    const damaged = { ...keystore, crypto: { ...keystore.crypto, ciphertext } };
    await expect(decryptKeystore(damaged, PASSPHRASE)).rejects.toThrow(KeystoreError);
    const other = { ...keystore, address: "11".repeat(20) };
    await expect(decryptKeystore(other, PASSPHRASE)).rejects.toThrow(`holds the key of ${WAIVER}`);
    expect(JSON.stringify(keystore)).not.toContain(bytesToHex(WAIVER_KEY).slice(2));
  });

  it("is refused before it costs anything where it is no keystore", async () => {
    const keystore = await encryptKeystore(WAIVER_KEY, PASSPHRASE, CHEAP);
    const changed = (changes: object) =>
      JSON.stringify({ ...keystore, crypto: { ...keystore.crypto, ...changes } });
    const params = keystore.crypto.kdfparams;
    for (const [text, problem] of [
      ["0x1234", "it is not JSON"],
      ["[]", "its version is"],
      [JSON.stringify({ ...keystore, version: 1 }), "its version is 1, not 3"],
      [changed({ cipher: "aes-256-gcm" }), "its cipher"],
      [changed({ ciphertext: "00" }), "its ciphertext"],
      [changed({ kdf: "argon2id" }), "neither scrypt nor pbkdf2"],
      [changed({ kdfparams: { ...params, n: 1_000 } }), "its scrypt parameters are wrong"],
      [changed({ kdfparams: { ...params, n: 2 ** 30 } }), "too much work"],
    ] as const) {
      expect(() => parseKeystore(text), text).toThrow(problem);
    }
    expect(hexToBytes(`0x${parseKeystore(JSON.stringify(keystore)).address}`)).toHaveLength(20);
  });
});

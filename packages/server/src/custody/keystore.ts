import {
  createCipheriv,
  createDecipheriv,
  pbkdf2,
  randomBytes,
  randomUUID,
  scrypt,
  timingSafeEqual,
} from "node:crypto";
import { promisify } from "node:util";
import { bytesToHex, concatBytes, crypto, privateKeyToAddress } from "@gas-waiver/protocol";

/** An encrypted private key as geth, ethers and Web3Signer read and write it: Web3 Secret Storage, version 3. */
export interface Keystore {
  readonly version: 3;
  readonly id: string;
  /** 40 hex digits; some programs leave it out. */
  readonly address?: string | undefined;
  readonly crypto: {
    readonly cipher: "aes-128-ctr";
    readonly cipherparams: { readonly iv: string };
    readonly ciphertext: string;
    readonly kdf: "scrypt" | "pbkdf2";
    readonly kdfparams: Readonly<Record<string, unknown>>;
    readonly mac: string;
  };
  /** Present where a key management service keeps the passphrase. Other programs overlook it. */
  readonly seal?: KeystoreSeal | undefined;
}

/** A keystore's random passphrase, encrypted by a key management service. */
export interface KeystoreSeal {
  /** The name of the key that decrypts the passphrase. */
  readonly key: string;
  /** In base64. */
  readonly passphrase: string;
}

/** A keystore cannot be opened. The message continues a sentence that begins with the file: "is not a keystore". */
export class KeystoreError extends Error {
  override readonly name = "KeystoreError";
}

/** The work of a guess at the passphrase, as geth sets it: a second, and 256 MiB. */
const SCRYPT_N = 262_144;
const SCRYPT_R = 8;
/** A file that asks for more is no keystore of a usual program. */
const MAX_SCRYPT_BYTES = 2 ** 30;
const MAX_SCRYPT_WORK = 2 ** 31;
const MAX_ITERATIONS = 10_000_000;
const KEY_BYTES = 32;

type Bytes = Buffer<ArrayBufferLike>;
const scryptOf = promisify<string, Bytes, number, object, Bytes>(scrypt);
const pbkdf2Of = promisify(pbkdf2);

/**
 * Encrypts a private key under a passphrase.
 * @param n the work factor of scrypt, a power of two; tests set a low one.
 * @example
 * ```ts
 * await writeFile("waiver.json", JSON.stringify(await encryptKeystore(privateKey, passphrase)), { mode: 0o600 });
 * ```
 */
export async function encryptKeystore(
  privateKey: Uint8Array,
  passphrase: string,
  { n = SCRYPT_N }: { readonly n?: number } = {},
): Promise<Keystore> {
  const salt = randomBytes(KEY_BYTES);
  const iv = randomBytes(16);
  const derived = await deriveScrypt(passphrase, salt, { n, r: SCRYPT_R, p: 1 });
  const cipher = createCipheriv("aes-128-ctr", derived.subarray(0, 16), iv);
  const ciphertext = Buffer.concat([cipher.update(privateKey), cipher.final()]);
  return {
    version: 3,
    id: randomUUID(),
    address: bytesToHex(privateKeyToAddress(privateKey)).slice(2),
    crypto: {
      cipher: "aes-128-ctr",
      cipherparams: { iv: iv.toString("hex") },
      ciphertext: ciphertext.toString("hex"),
      kdf: "scrypt",
      kdfparams: { dklen: KEY_BYTES, n, r: SCRYPT_R, p: 1, salt: salt.toString("hex") },
      mac: macOf(derived, ciphertext).toString("hex"),
    },
  };
}

/**
 * Decrypts a private key, 32 bytes.
 * @throws {@link KeystoreError} if the passphrase is wrong, or the keystore is damaged.
 * @example
 * ```ts
 * const waiver = privateKeyWaiver(await decryptKeystore(parseKeystore(text), passphrase));
 * ```
 */
export async function decryptKeystore(keystore: Keystore, passphrase: string): Promise<Uint8Array> {
  const ciphertext = Buffer.from(keystore.crypto.ciphertext, "hex");
  const mac = Buffer.from(keystore.crypto.mac, "hex");
  // Programs encode letters beyond ASCII in two ways: as they were typed, or in the normal form of ethers.
  for (const text of new Set([passphrase, passphrase.normalize("NFKC")])) {
    const derived = await derive(keystore, text);
    if (timingSafeEqual(macOf(derived, ciphertext), mac)) return open(keystore, derived, ciphertext);
  }
  throw new KeystoreError("cannot be opened: the passphrase is wrong, or the file is damaged");
}

/**
 * Reads a keystore without opening it.
 * @throws {@link KeystoreError} if the text is not one.
 * @example
 * ```ts
 * const { address } = parseKeystore(await readFile("waiver.json", "utf8"));
 * ```
 */
export function parseKeystore(text: string): Keystore {
  let json: Record<string, unknown>;
  try {
    json = JSON.parse(text.replace(/"Crypto"/, '"crypto"'));
  } catch {
    throw new KeystoreError("is not a keystore: it is not JSON");
  }
  const problem = problemOf(json);
  if (problem !== undefined) throw new KeystoreError(`is not a keystore that can be used: ${problem}`);
  const { address } = json as { address?: string };
  return { ...json, address: address?.toLowerCase().replace(/^0x/, "") } as unknown as Keystore;
}

function problemOf(json: Record<string, unknown>): string | undefined {
  const { version, address, crypto: parts, seal } = json ?? {};
  const { cipher, cipherparams, ciphertext, kdf, kdfparams, mac } = (parts ?? {}) as Record<string, unknown>;
  const isHex = (value: unknown, bytes: number) =>
    typeof value === "string" && value.length === 2 * bytes && /^[0-9a-f]*$/i.test(value);
  const isText = (value: unknown) => typeof value === "string" && value !== "";
  const { key, passphrase } = (seal ?? {}) as Record<string, unknown>;
  if (version !== 3) return `its version is ${JSON.stringify(version)}, not 3`;
  if (address !== undefined && !/^(0x)?[0-9a-f]{40}$/i.test(String(address))) return "its address is none";
  if (cipher !== "aes-128-ctr") return `its cipher is ${JSON.stringify(cipher)}, not aes-128-ctr`;
  if (!isHex((cipherparams as { iv?: unknown } | undefined)?.iv, 16)) return "its iv is not 16 bytes of hex";
  if (!isHex(ciphertext, KEY_BYTES)) return "its ciphertext is not 32 bytes of hex";
  if (!isHex(mac, 32)) return "its mac is not 32 bytes of hex";
  if (seal !== undefined && !(isText(key) && isText(passphrase))) return "its seal is not complete";
  return problemOfDerivation(kdf, (kdfparams ?? {}) as Record<string, unknown>);
}

function problemOfDerivation(
  kdf: unknown,
  { dklen, salt, ...params }: Record<string, unknown>,
): string | undefined {
  const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0;
  if (dklen !== KEY_BYTES || typeof salt !== "string" || !/^([0-9a-f]{2})+$/i.test(salt)) {
    return "its parameters of the key derivation are not complete";
  }
  if (kdf === "scrypt") {
    const { n, r, p } = params;
    if (!isCount(n) || !isCount(r) || !isCount(p) || (n & (n - 1)) !== 0)
      return "its scrypt parameters are wrong";
    if (128 * n * r > MAX_SCRYPT_BYTES || 128 * n * r * p > MAX_SCRYPT_WORK)
      return "its scrypt parameters ask for too much work";
    return undefined;
  }
  if (kdf !== "pbkdf2" || params.prf !== "hmac-sha256")
    return "its key derivation is neither scrypt nor pbkdf2";
  return isCount(params.c) && params.c <= MAX_ITERATIONS ? undefined : "its pbkdf2 parameters are wrong";
}

interface ScryptParameters {
  readonly n: number;
  readonly r: number;
  readonly p: number;
}

async function deriveScrypt(passphrase: string, salt: Buffer, { n, r, p }: ScryptParameters): Promise<Bytes> {
  const maxmem = 128 * n * r + 128 * r * p + 2 ** 20;
  // RFC 7914 allows no such n, and OpenSSL computes none; keystores of other programs have it all the same.
  if (n >= 2 ** (16 * r)) {
    const { scryptAsync } = await import("@noble/hashes/scrypt.js");
    return Buffer.from(await scryptAsync(passphrase, salt, { N: n, r, p, dkLen: KEY_BYTES, maxmem }));
  }
  return scryptOf(passphrase, salt, KEY_BYTES, { N: n, r, p, maxmem });
}

function derive({ crypto: { kdf, kdfparams } }: Keystore, passphrase: string): Promise<Bytes> {
  const salt = Buffer.from(String(kdfparams.salt), "hex");
  if (kdf === "scrypt") return deriveScrypt(passphrase, salt, kdfparams as unknown as ScryptParameters);
  return pbkdf2Of(passphrase, salt, Number(kdfparams.c), KEY_BYTES, "sha256");
}

function macOf(derived: Bytes, ciphertext: Bytes): Buffer {
  return Buffer.from(crypto.keccak256(concatBytes(derived.subarray(16, 32), ciphertext)));
}

function open(
  { address, crypto: { cipherparams } }: Keystore,
  derived: Bytes,
  ciphertext: Bytes,
): Uint8Array {
  const decipher = createDecipheriv(
    "aes-128-ctr",
    derived.subarray(0, 16),
    Buffer.from(cipherparams.iv, "hex"),
  );
  const privateKey = Uint8Array.from(Buffer.concat([decipher.update(ciphertext), decipher.final()]));
  let own: string;
  try {
    own = bytesToHex(privateKeyToAddress(privateKey)).slice(2);
  } catch {
    throw new KeystoreError("holds no private key of secp256k1");
  }
  if (address !== undefined && address !== own) {
    throw new KeystoreError(`holds the key of 0x${own}, and says that it is that of 0x${address}`);
  }
  return privateKey;
}

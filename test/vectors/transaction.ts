// Builds the transactions of the vectors with ethers' primitives alone, independently of the protocol package. Every
// field can have an encoding that no library would produce.
import { decodeRlp, HDNodeWallet, keccak256, Mnemonic, SigningKey, toBeHex } from "ethers";

/** An RLP item. The bytes of `raw` are written unchanged. */
export type Item = string | readonly Item[] | { readonly raw: string };

export interface AccessListEntry {
  readonly address: string;
  readonly storageKeys: readonly string[];
}

export interface Fields {
  /** 0 legacy, 1 EIP-2930, 2 EIP-1559, 3 EIP-4844, 4 EIP-7702. */
  readonly type: 0 | 1 | 2 | 3 | 4;
  /** Null: a legacy signature from before EIP-155. */
  readonly chainId: bigint | null;
  readonly nonce: bigint;
  readonly gasPrice: bigint;
  readonly maxPriorityFeePerGas: bigint;
  readonly maxFeePerGas: bigint;
  readonly gasLimit: bigint;
  readonly to: string | null;
  readonly value: bigint;
  readonly data: string;
  readonly accessList: readonly AccessListEntry[];
}

export interface Signed {
  readonly bytes: string;
  readonly hash: string;
  /** The signer's address. */
  readonly from: string;
  readonly fields: Fields;
}

export const CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

const MNEMONIC = Mnemonic.fromPhrase("test test test test test test test test test test test junk");
const wallets = new Map<number, HDNodeWallet>();

/** Account i of the devnet's mnemonic. */
function wallet(index: number): HDNodeWallet {
  const account = wallets.get(index) ?? HDNodeWallet.fromMnemonic(MNEMONIC, `m/44'/60'/0'/0/${index}`);
  wallets.set(index, account);
  return account;
}

export const addressOf = (index: number) => wallet(index).address.toLowerCase();

/** An unsigned integer as an RLP string, which is empty for 0. */
export const integer = (value: bigint) => (value === 0n ? "0x" : toBeHex(value));

const hexByte = (byte: number) => byte.toString(16).padStart(2, "0");

function header(length: number, offset: number): string {
  if (length < 56) return hexByte(offset + length);
  const digits = toBeHex(length).slice(2);
  return hexByte(offset + 55 + digits.length / 2) + digits;
}

/** The signed bytes in a wrapper's data: the data itself, or the content of its RLP string (D1). */
export function signedBytesOf(data: string): string {
  if (!/^0x[89ab]/.test(data)) return data;
  const content = decodeRlp(data);
  if (typeof content !== "string") throw new Error(`${data} is not an RLP string`);
  return content;
}

/** RLP without 0x. It is canonical except for `raw` items. */
export function encode(item: Item): string {
  if (typeof item === "string") {
    const bytes = item.slice(2);
    if (bytes.length === 2 && Number.parseInt(bytes, 16) < 0x80) return bytes;
    return header(bytes.length / 2, 0x80) + bytes;
  }
  if ("raw" in item) return item.raw.slice(2);
  const payload = item.map(encode).join("");
  return header(payload.length / 2, 0xc0) + payload;
}

/** The fields of each type in wire order, before the signature. */
function unsignedItems(f: Fields): Item[] {
  const call = [integer(f.gasLimit), f.to ?? "0x", integer(f.value), f.data];
  if (f.type === 0) return [integer(f.nonce), integer(f.gasPrice), ...call];
  const list = f.accessList.map(({ address, storageKeys }) => [address, storageKeys]);
  const chain = integer(f.chainId ?? 0n);
  if (f.type === 1) return [chain, integer(f.nonce), integer(f.gasPrice), ...call, list];
  const fees = [integer(f.maxPriorityFeePerGas), integer(f.maxFeePerGas)];
  const items = [chain, integer(f.nonce), ...fees, ...call, list];
  if (f.type === 3) return [...items, "0x01", [`0x01${"00".repeat(31)}`]];
  return f.type === 4 ? [...items, []] : items;
}

const FIELD_NAMES = {
  0: ["nonce", "gasPrice", "gasLimit", "to", "value", "data", "v", "r", "s"],
  1: ["chainId", "nonce", "gasPrice", "gasLimit", "to", "value", "data", "accessList", "v", "r", "s"],
  2: [
    ...["chainId", "nonce", "maxPriorityFeePerGas", "maxFeePerGas", "gasLimit", "to", "value", "data"],
    ...["accessList", "v", "r", "s"],
  ],
} as const;
type Name = (typeof FIELD_NAMES)[0 | 1 | 2][number];

/** Changes the signed fields before they are encoded. */
export type Edit = (items: Item[], fields: Fields) => Item[];

/** Replaces one field. For a typed transaction, `v` is its parity. */
export function set(name: Name, item: Item): Edit {
  return (items, { type }) => {
    const names: readonly string[] = FIELD_NAMES[type === 1 || type === 2 ? type : 0];
    const at = names.indexOf(name);
    if (at < 0) throw new Error(`type ${type} has no ${name}`);
    return items.map((old, i) => (i === at ? item : old));
  };
}

/** Signs a transaction. `edit` changes the fields afterwards, so that the signature is that of the original fields. */
export function sign(fields: Fields, signer: number, edit: Edit = (items) => items): Signed {
  const envelope = (items: readonly Item[]) =>
    `0x${fields.type === 0 ? "" : hexByte(fields.type)}${encode(items)}`;
  const items = unsignedItems(fields);
  const replayProtected = fields.type === 0 && fields.chainId !== null;
  const digest = keccak256(
    envelope(replayProtected ? [...items, integer(fields.chainId ?? 0n), "0x", "0x"] : items),
  );
  const { r, s, yParity } = new SigningKey(wallet(signer).privateKey).sign(digest);
  const parity = BigInt(yParity);
  const unprotected = fields.chainId === null ? 27n : 35n + 2n * fields.chainId;
  const v = fields.type === 0 ? parity + unprotected : parity;
  const signed = [...items, integer(v), integer(BigInt(r)), integer(BigInt(s))];
  const bytes = envelope(edit(signed, fields));
  return { bytes, hash: keccak256(bytes), from: addressOf(signer), fields };
}

/** Replaces the signature by its high-s form, which anybody can compute. */
export const highS: Edit = (items, { type, chainId }) => {
  const [v, r, s] = items.slice(-3) as [string, string, string];
  const base = type !== 0 ? 0n : chainId === null ? 27n : 35n + 2n * chainId;
  const parity = BigInt(v === "0x" ? 0 : v) - base;
  return [...items.slice(0, -3), integer(base + 1n - parity), r, integer(CURVE_ORDER - BigInt(s))];
};

/** Flips the parity of the signature, which then recovers to another address. */
export const otherParity: Edit = (items, fields) => {
  const [v, r, s] = highS(items, fields).slice(-3);
  return [...items.slice(0, -3), v ?? "0x", r ?? "0x", items.at(-1) ?? s ?? "0x"];
};

/**
 * The gas of a transaction. 21,000, plus 4 for each zero byte of calldata and 16 for each other byte (EIP-2028), plus the
 * access list (EIP-2930), plus `execution`; or 21,000 plus 10 and 40 for the bytes, if that is more (EIP-7623).
 */
export function gasOf({ data, accessList, type }: Fields, execution = 0n): bigint {
  const bytes = data.slice(2).match(/../g) ?? [];
  const zeros = bytes.filter((byte) => byte === "00").length;
  const tokens = BigInt(zeros + 4 * (bytes.length - zeros));
  const listed = accessList.reduce((gas, { storageKeys }) => gas + 2_400 + 1_900 * storageKeys.length, 0);
  const standard = 4n * tokens + (type === 0 ? 0n : BigInt(listed)) + execution;
  return 21_000n + (standard > 10n * tokens ? standard : 10n * tokens);
}

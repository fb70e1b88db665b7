import type { AccessList, Signature, UnsignedTransaction } from "@gas-waiver/protocol";
import { MARKER_ADDRESS } from "@gas-waiver/protocol";
import fc from "fast-check";

/** The order of secp256k1, and the highest s of a canonical signature (D2). */
export const CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
export const HIGHEST_S = CURVE_ORDER / 2n;

/** Integers around which encodings change their length, and the ends of the range. */
function edges(max: bigint): bigint[] {
  const around = [0n, 1n, 0x7fn, 0x80n, 0xffn, 0x100n, 2n ** 32n - 1n, 2n ** 53n - 1n, 2n ** 64n - 2n, max];
  return around.filter((edge) => edge <= max);
}

/** An unsigned integer of any magnitude up to `max`. A third of them are edges. */
export function uint(max: bigint): fc.Arbitrary<bigint> {
  const bits = max.toString(2).length;
  const anyMagnitude = fc
    .tuple(fc.nat({ max: bits }), fc.bigInt({ min: 0n, max }))
    .map(([shift, value]) => value >> BigInt(shift));
  return fc.oneof(
    { weight: 1, arbitrary: fc.constantFrom(...edges(max)) },
    { weight: 2, arbitrary: anyMagnitude },
  );
}

export const UINT64 = 2n ** 64n - 1n;
export const UINT256 = 2n ** 256n - 1n;

export function bytes(minLength: number, maxLength = minLength): fc.Arbitrary<Uint8Array> {
  return fc.uint8Array({ minLength, maxLength });
}

export const address = fc.oneof(
  { weight: 4, arbitrary: bytes(20) },
  { weight: 1, arbitrary: fc.constantFrom(MARKER_ADDRESS, new Uint8Array(20), new Uint8Array(20).fill(255)) },
);

/** Calldata, short or of a length around which its RLP header changes. */
export const calldata = fc.oneof(
  { weight: 6, arbitrary: bytes(0, 72) },
  { weight: 1, arbitrary: fc.constantFrom(54, 55, 56, 57, 255, 256, 257).chain((length) => bytes(length)) },
);

export const accessList: fc.Arbitrary<AccessList> = fc.array(
  fc.record({ address: bytes(20), storageKeys: fc.array(bytes(32), { maxLength: 3 }) }),
  { maxLength: 3 },
);

/** The ranges of a transaction's numbers. */
export interface Domain {
  readonly nonce: bigint;
  readonly minChainId: bigint;
  readonly maxChainId: bigint;
  /** True if the priority fee may be above the maximum fee. The protocol ignores their order, because both must be 0. */
  readonly tipAboveFee: boolean;
}

/** The ranges of D2. An EIP-155 `v` must fit 256 bits, so a chain id has at most 254 bits. */
export const WHOLE_DOMAIN: Domain = {
  nonce: UINT64 - 1n,
  minChainId: 0n,
  maxChainId: 2n ** 254n,
  tipAboveFee: true,
};

/** The ranges that viem and ethers support: nonces and chain ids that fit a `number`, no chain 0, ordered fees. */
export const ORACLE_DOMAIN: Domain = {
  nonce: 2n ** 53n - 1n,
  minChainId: 1n,
  maxChainId: 2n ** 51n,
  tipAboveFee: false,
};

export type Type = UnsignedTransaction["type"];

/** An unsigned transaction of any type that the protocol decodes, including legacy ones from before EIP-155. */
export function transaction(domain: Domain): fc.Arbitrary<UnsignedTransaction> {
  const chainId = fc.oneof(
    fc.constantFrom(2201n, 988n),
    uint(domain.maxChainId - domain.minChainId).map((offset) => domain.minChainId + offset),
  );
  const price = fc.oneof(fc.constant(0n), uint(UINT256));
  const common = {
    nonce: uint(domain.nonce),
    gasLimit: uint(UINT64),
    to: fc.option(address, { nil: undefined, freq: 6 }),
    value: uint(UINT256),
    data: calldata,
  };
  const fees = fc.tuple(price, price).map(([a, b]) => {
    const [low, high] = a < b ? [a, b] : [b, a];
    return domain.tipAboveFee ? [a, b] : [low, high];
  });
  return fc.oneof(
    fc.record({ type: fc.constant("legacy" as const), chainId, gasPrice: price, ...common }),
    fc.record({
      type: fc.constant("legacy" as const),
      chainId: fc.constant(undefined),
      gasPrice: price,
      ...common,
    }),
    fc.record({ type: fc.constant("eip2930" as const), chainId, gasPrice: price, accessList, ...common }),
    fc
      .record({ type: fc.constant("eip1559" as const), chainId, fees, accessList, ...common })
      .map(({ fees: [maxPriorityFeePerGas = 0n, maxFeePerGas = 0n], ...rest }) => ({
        ...rest,
        maxPriorityFeePerGas,
        maxFeePerGas,
      })),
  );
}

function word(value: bigint): Uint8Array {
  return Uint8Array.from(Buffer.from(value.toString(16).padStart(64, "0"), "hex"));
}

export function compact(r: bigint, s: bigint): Uint8Array {
  return Uint8Array.from([...word(r), ...word(s)]);
}

/** A signature within the ranges of D2. About half of them recover to some address. */
export const signature: fc.Arbitrary<Signature> = fc
  .tuple(uint(CURVE_ORDER - 2n), uint(HIGHEST_S - 1n), fc.constantFrom(0 as const, 1 as const))
  .map(([r, s, yParity]) => ({ compact: compact(r + 1n, s + 1n), yParity }));

export const privateKey: fc.Arbitrary<Uint8Array> = uint(CURVE_ORDER - 2n).map((key) => word(key + 1n));

/** One change to a byte string, as a faulty connection or client may make it. */
export type Mutation = (bytes: Uint8Array) => Uint8Array;

const splice = (at: number, remove: number, insert: Uint8Array) => (bytes: Uint8Array) => {
  const start = bytes.length === 0 ? 0 : at % (bytes.length + 1);
  return Uint8Array.from([...bytes.subarray(0, start), ...insert, ...bytes.subarray(start + remove)]);
};

const change = (at: number, mask: number) => (bytes: Uint8Array) => {
  const copy = Uint8Array.from(bytes);
  if (copy.length > 0) copy[at % copy.length] = (copy[at % copy.length] ?? 0) ^ mask;
  return copy;
};

const somewhere = fc.nat({ max: 2 ** 20 });

export const mutation: fc.Arbitrary<Mutation> = fc.oneof(
  // Change one bit, or one byte.
  { weight: 3, arbitrary: fc.tuple(somewhere, fc.nat({ max: 7 })).map(([at, bit]) => change(at, 1 << bit)) },
  {
    weight: 3,
    arbitrary: fc.tuple(somewhere, fc.integer({ min: 1, max: 255 })).map(([at, mask]) => change(at, mask)),
  },
  // Insert, delete or replace bytes.
  { weight: 1, arbitrary: fc.tuple(somewhere, bytes(1, 3)).map(([at, added]) => splice(at, 0, added)) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(somewhere, fc.integer({ min: 1, max: 4 }))
      .map(([at, n]) => splice(at, n, new Uint8Array(0))),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(somewhere, bytes(1, 4))
      .map(([at, replacement]) => splice(at, replacement.length, replacement)),
  },
  // Cut off the end, or append bytes.
  {
    weight: 1,
    arbitrary: somewhere.map((length) => (from: Uint8Array) => from.slice(0, length % (from.length + 1))),
  },
  {
    weight: 1,
    arbitrary: bytes(1, 8).map((appended) => (from: Uint8Array) => Uint8Array.from([...from, ...appended])),
  },
);

/** Bytes that look like the start of a transaction: type bytes, huge lengths, deep nesting; or random bytes. */
export const hostileBytes: fc.Arbitrary<Uint8Array> = fc.oneof(
  bytes(0, 200),
  // A type byte, the header of a list, a long form with a length of up to 2^64.
  fc
    .tuple(
      fc.constantFrom([], [1], [2], [3], [4]),
      fc.constantFrom(0xb8, 0xbb, 0xbf, 0xc0, 0xf8, 0xfb, 0xff),
      bytes(0, 40),
    )
    .map(([type, prefix, rest]) => Uint8Array.from([...type, prefix, ...rest])),
  // Deeply nested lists with short headers, or a row of long headers.
  fc
    .tuple(fc.nat({ max: 3000 }), fc.constantFrom(0xc1, 0xf8, 0xf9))
    .map(([depth, byte]) => new Uint8Array(depth).fill(byte)),
);

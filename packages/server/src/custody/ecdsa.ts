import { createPublicKey } from "node:crypto";
import { bytesEqual, recoverAddress, type Signature } from "@gas-waiver/protocol";
import { secp256k1 } from "@noble/curves/secp256k1.js";

const { Signature: EcdsaSignature, Point } = secp256k1;
const CURVE_ORDER = Point.Fn.ORDER;

/** Reads a signature in DER, the form of most services. Returns r and s, 64 bytes. */
export function compactOfDer(der: Uint8Array): Uint8Array {
  return EcdsaSignature.fromBytes(der, "der").toBytes("compact");
}

/**
 * Returns the uncompressed point of a public key, 64 bytes.
 * @param key as SubjectPublicKeyInfo, in DER or PEM.
 * @throws if it is on another curve than secp256k1.
 */
export function pointOfPublicKey(key: Uint8Array | string): Uint8Array {
  const publicKey =
    typeof key === "string"
      ? createPublicKey(key)
      : createPublicKey({ key: Buffer.from(key), format: "der", type: "spki" });
  const { asymmetricKeyType, asymmetricKeyDetails } = publicKey;
  const kind = asymmetricKeyDetails?.namedCurve ?? asymmetricKeyType ?? "unknown";
  if (kind !== "secp256k1") throw otherCurve(kind);
  const { x = "", y = "" } = publicKey.export({ format: "jwk" });
  return Buffer.concat([Buffer.from(x, "base64url"), Buffer.from(y, "base64url")]);
}

export function otherCurve(kind: string): Error {
  return new Error(`it is a key of ${kind}, and a waiver needs one of secp256k1`);
}

/**
 * Completes r and s to the signature of a waiver: the low s of the two, and the parity under which it recovers to the
 * address. If neither parity does, the signature is returned all the same, because the caller refuses it with its reason.
 * @param compact r and s, 64 bytes.
 */
export function waiverSignature(compact: Uint8Array, hash: Uint8Array, address: Uint8Array): Signature {
  const { r, s } = EcdsaSignature.fromBytes(compact, "compact");
  const isHigh = s > CURVE_ORDER / 2n;
  const low = isHigh ? new EcdsaSignature(r, CURVE_ORDER - s).toBytes("compact") : compact;
  const even: Signature = { compact: low, yParity: 0 };
  if (recovers(even, hash, address)) return even;
  const odd: Signature = { compact: low, yParity: 1 };
  return recovers(odd, hash, address) ? odd : even;
}

function recovers(signature: Signature, hash: Uint8Array, address: Uint8Array): boolean {
  try {
    return bytesEqual(recoverAddress(hash, signature), address);
  } catch {
    return false;
  }
}

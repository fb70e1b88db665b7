import { createPublicKey, generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { isIP } from "node:net";

// The few forms of DER (X.690) that a certificate of RFC 5280 needs. Libraries for them bring dozens of packages.

const der = (tag: number, ...parts: readonly Uint8Array[]): Buffer => {
  const content = Buffer.concat(parts);
  const { length } = content;
  const head = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...head]), content]);
};
const sequence = (...parts: readonly Uint8Array[]) => der(0x30, ...parts);
const oid = (hex: string) => der(0x06, Buffer.from(hex, "hex"));
const generalizedTime = (date: Date) =>
  der(0x18, Buffer.from(date.toISOString().replace(/[-:T]|\.\d+/g, "")));

const COMMON_NAME = oid("550403");
const SUBJECT_ALT_NAME = oid("551d11");
const ECDSA_WITH_SHA256 = sequence(oid("2a8648ce3d040302"));

export interface CertificateOptions {
  /** The names and IPv4 addresses of the server. */
  readonly names?: readonly string[];
  readonly validFrom?: Date;
  readonly validTo?: Date;
}

const DAY_MS = 86_400_000;

/** Makes a certificate that vouches for itself, with its key, both as PEM. A client trusts it if it is in its `ca`. */
export function makeCertificate({
  names = ["127.0.0.1"],
  validFrom = new Date(Date.now() - DAY_MS),
  validTo = new Date(Date.now() + 90 * DAY_MS),
}: CertificateOptions = {}) {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const name = sequence(der(0x31, sequence(COMMON_NAME, der(0x0c, Buffer.from(names[0] ?? "test")))));
  const altNames = names.map((text) =>
    isIP(text) === 4 ? der(0x87, Uint8Array.from(text.split("."), Number)) : der(0x82, Buffer.from(text)),
  );
  const extensions = sequence(sequence(SUBJECT_ALT_NAME, der(0x04, sequence(...altNames))));
  const toBeSigned = sequence(
    der(0xa0, der(0x02, Uint8Array.of(2))),
    der(0x02, Buffer.concat([Uint8Array.of(1), randomBytes(8)])),
    ECDSA_WITH_SHA256,
    name,
    sequence(generalizedTime(validFrom), generalizedTime(validTo)),
    name,
    createPublicKey(privateKey).export({ type: "spki", format: "der" }),
    der(0xa3, extensions),
  );
  const signature = der(0x03, Uint8Array.of(0), sign("sha256", toBeSigned, privateKey));
  const certificate = sequence(toBeSigned, ECDSA_WITH_SHA256, signature);
  const lines = certificate.toString("base64").replace(/.{64}/g, "$&\n");
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

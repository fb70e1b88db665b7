import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";

/** A certificate for TLS with its private key, both as PEM. The certificates of its issuers may follow in `cert`. */
export interface TlsCertificate {
  readonly cert: string;
  readonly key: string;
}

/** The time before the end of a certificate at which the service begins to warn, in ms. */
const WARNING_MS = 14 * 86_400_000;

/** @returns one sentence for each problem of the certificate and its key. They never repeat the key. */
export function certificateProblems({ cert, key }: TlsCertificate, nowMs = Date.now()): string[] {
  const certificate = parsed(() => new X509Certificate(cert));
  const privateKey = parsed(() => createPrivateKey(key));
  const problems: string[] = [];
  if (certificate === undefined) problems.push("tls.cert is no certificate as PEM");
  if (privateKey === undefined) problems.push("tls.key is no private key as PEM without a passphrase");
  if (certificate && privateKey && !certificate.checkPrivateKey(privateKey)) {
    problems.push("tls.key is not the key of the certificate tls.cert");
  }
  if (certificate && nowMs > Date.parse(certificate.validTo)) {
    problems.push(`tls.cert has expired at ${certificate.validTo}: clients refuse it`);
  }
  return problems.length > 0 ? problems : problemsOfUse({ cert, key });
}

/** OpenSSL also refuses keys that are too weak, and issuers' certificates that it cannot read. */
function problemsOfUse({ cert, key }: TlsCertificate): string[] {
  try {
    createSecureContext({ cert, key });
    return [];
  } catch (error) {
    return [`tls.cert and tls.key cannot be used: ${(error as Error).message}`];
  }
}

function parsed<T extends KeyObject | X509Certificate>(parse: () => T): T | undefined {
  try {
    return parse();
  } catch {
    return undefined;
  }
}

/** @returns the time after which clients refuse the certificate. */
export function certificateEnd({ cert }: Pick<TlsCertificate, "cert">): Date {
  return new Date(new X509Certificate(cert).validTo);
}

/** @returns a sentence if clients refuse the certificate for its time now, or soon will. */
export function certificateWarning(cert: string, nowMs: number): string | undefined {
  const { validFrom, validTo } = new X509Certificate(cert);
  if (nowMs > Date.parse(validTo)) return `the TLS certificate has expired at ${validTo}: clients refuse it`;
  if (nowMs < Date.parse(validFrom)) {
    return `the TLS certificate is not valid before ${validFrom}: clients refuse it`;
  }
  if (nowMs > Date.parse(validTo) - WARNING_MS) return `the TLS certificate expires at ${validTo}`;
  return undefined;
}

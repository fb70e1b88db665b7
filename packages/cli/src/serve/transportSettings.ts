import { isLoopbackHost } from "@gas-waiver/server";
import { withForm } from "../settings/form.js";
import { fileOf, switchedOn, text } from "../settings/parsers.js";
import { readSecretFile } from "../settings/secretFile.js";
import type { Values } from "../settings/setting.js";

/** The settings of TLS on the service's own ports. */
export const TRANSPORT_SETTINGS = {
  tlsCert: {
    flag: "tls-cert",
    env: "GAS_WAIVER_TLS_CERT",
    placeholder: "FILE",
    help: "Certificate of the service as PEM, with its issuers' behind it; all ports then serve HTTPS.",
    defaultText: "none; the ports serve HTTP",
    parse: withForm({ kind: "path" }, (path) => ({ path, pem: fileOf(text)(path) })),
  },
  tlsKey: {
    flag: "tls-key",
    env: "GAS_WAIVER_TLS_KEY",
    placeholder: "FILE",
    help: "Private key of --tls-cert as PEM, without a passphrase.",
    parse: withForm({ kind: "path" }, (path) => ({ path, pem: readSecretFile(path) })),
  },
  behindProxy: {
    flag: "behind-proxy",
    env: "GAS_WAIVER_BEHIND_PROXY",
    help: "A proxy in front of the service ends TLS, so it may listen on public addresses without. Name it in --trusted-proxies, or all of its clients count as one address.",
    parse: switchedOn,
  },
} as const;

type TransportValues = Values<typeof TRANSPORT_SETTINGS>;

/** Separates the settings of the certificate from the others. */
export function splitCertificate<V extends TransportValues>(values: V) {
  const { tlsCert, tlsKey, ...otherValues } = values;
  const tls = tlsCert && tlsKey && { cert: tlsCert.pem, key: tlsKey.pem };
  return { tls, otherValues };
}

/** The addresses of the ports. A port that is not opened has none. */
interface Hosts {
  readonly host?: string | undefined;
  readonly metricsHost?: string | undefined;
  readonly adminHost?: string | undefined;
}

/** A certificate needs its key, and an address that other machines reach needs TLS. */
export function problemsOfTransport(
  { tlsCert, tlsKey, behindProxy }: Partial<TransportValues>,
  { host, metricsHost, adminHost }: Hosts,
): string[] {
  if (tlsCert && !tlsKey) return ["--tls-cert is given without --tls-key"];
  if (tlsKey && !tlsCert) return ["--tls-key is given without --tls-cert"];
  if (tlsCert || behindProxy) return [];
  const hosts = { host, "metrics-host": metricsHost, "admin-host": adminHost };
  return Object.entries(hosts).flatMap(([flag, address]) =>
    address === undefined || isLoopbackHost(address)
      ? []
      : `--${flag} ${address} can be reached from other machines: give --tls-cert and --tls-key, or --behind-proxy if a proxy in front of the service ends TLS`,
  );
}

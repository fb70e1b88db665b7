import { isLoopbackHost } from "@gas-waiver/server";
import { withForm } from "../settings/form.js";
import { fileOf, port, text } from "../settings/parsers.js";
import { readSecretFile } from "../settings/secretFile.js";
import { serviceSettings, splitValues, type Values } from "../settings/setting.js";

/** The address of the service, and its certificate. */
export const LISTEN_SETTINGS = serviceSettings({
  host: {
    placeholder: "ADDRESS",
    help: "Address that the service listens on.",
    defaultValue: "127.0.0.1",
    parse: text,
  },
  port: {
    placeholder: "PORT",
    help: "Port that the service listens on; 0 picks a free one.",
    defaultValue: "8080",
    parse: port,
  },
  tlsCert: {
    placeholder: "FILE",
    help: "Certificate of the service as PEM, with its issuers' behind it; all ports then serve HTTPS.",
    defaultText: "none; the ports serve HTTP",
    reload: "while given",
    parse: withForm({ kind: "path" }, (path) => ({ path, pem: fileOf(text)(path) })),
  },
  tlsKey: {
    placeholder: "FILE",
    help: "Private key of --tls-cert as PEM, without a passphrase.",
    reload: "while given",
    parse: withForm({ kind: "path" }, (path) => ({ path, pem: readSecretFile(path) })),
  },
});

/** The ports of the operators. */
export const OPERATORS_SETTINGS = serviceSettings({
  metricsPort: {
    placeholder: "PORT",
    help: "Port for GET /metrics (Prometheus), /livez and /readyz (probes), without an API key; 0 picks a free one.",
    defaultText: "none",
    parse: port,
  },
  metricsHost: {
    placeholder: "ADDRESS",
    help: "Address that the metrics and the probes listen on.",
    defaultValue: "127.0.0.1",
    parse: text,
  },
  adminPort: {
    placeholder: "PORT",
    help: "Port for the admin API, which manages API keys. It needs --admin-token-file or GAS_WAIVER_ADMIN_TOKEN.",
    defaultText: "none",
    parse: port,
  },
  adminHost: {
    placeholder: "ADDRESS",
    help: "Address that the admin API listens on.",
    defaultValue: "127.0.0.1",
    parse: text,
  },
});

type ListenValues = Values<typeof LISTEN_SETTINGS>;
type OperatorsValues = Values<typeof OPERATORS_SETTINGS>;
type PortValues = ListenValues & OperatorsValues & { readonly behindProxy: boolean | undefined };

/** Returns the certificate of the service; undefined without one. */
export function certificateOf({ tlsCert, tlsKey }: Pick<ListenValues, "tlsCert" | "tlsKey">) {
  return tlsCert && tlsKey && { cert: tlsCert.pem, key: tlsKey.pem };
}

/** Reads the files of the certificate again. @throws if one of them cannot be read. */
export function reread<V extends Pick<ListenValues, "tlsCert" | "tlsKey">>(values: V): V {
  const { tlsCert, tlsKey } = values;
  if (!tlsCert || !tlsKey) return values;
  const { tlsCert: cert, tlsKey: key } = LISTEN_SETTINGS;
  return { ...values, tlsCert: cert.parse(tlsCert.path), tlsKey: key.parse(tlsKey.path) };
}

/** Separates the settings of ports and certificate from the options of the service. */
export function withoutPorts<V extends ListenValues & OperatorsValues>(values: V) {
  const [, others] = splitValues({ ...LISTEN_SETTINGS, ...OPERATORS_SETTINGS }, values);
  return others;
}

/** Finds ports that exclude each other, and addresses that other machines reach without TLS. */
export function problemsOfListening(values: Partial<PortValues>): string[] {
  const { host, metricsHost, adminHost, port: listenPort, metricsPort, adminPort } = values;
  // Only the addresses of ports that are opened count.
  const places = [
    { name: "", host, port: listenPort },
    ...(metricsPort === undefined ? [] : [{ name: "metrics-", host: metricsHost, port: metricsPort }]),
    ...(adminPort === undefined ? [] : [{ name: "admin-", host: adminHost, port: adminPort }]),
  ];
  return [...problemsOfTransport(values, places), ...problemsOfPorts(places)];
}

interface PlaceOfPort {
  readonly name: string;
  readonly host: string | undefined;
  readonly port: number | undefined;
}

/** A certificate needs its key, and an address that other machines reach needs TLS. */
function problemsOfTransport(
  { tlsCert, tlsKey, behindProxy }: Partial<PortValues>,
  places: readonly PlaceOfPort[],
): string[] {
  if (tlsCert && !tlsKey) return ["--tls-cert is given without --tls-key"];
  if (tlsKey && !tlsCert) return ["--tls-key is given without --tls-cert"];
  if (tlsCert || behindProxy) return [];
  return places.flatMap(({ name, host }) =>
    host === undefined || isLoopbackHost(host)
      ? []
      : `--${name}host ${host} can be reached from other machines: give --tls-cert and --tls-key, or --behind-proxy if a proxy in front of the service ends TLS`,
  );
}

/** Addresses that stand for every address of the machine. */
const EVERY_ADDRESS: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);

/** Two ports cannot be opened with one number, unless on different addresses. */
function problemsOfPorts(places: readonly PlaceOfPort[]): string[] {
  const ports = places.filter(({ port }) => port !== undefined && port !== 0);
  return ports.flatMap((one, i) =>
    ports.slice(i + 1).flatMap((other) => {
      const meet = one.host === other.host || [one, other].some(({ host = "" }) => EVERY_ADDRESS.has(host));
      if (one.port !== other.port || !meet) return [];
      return `--${other.name}port and --${one.name}port are both ${one.port}: each needs a port of its own`;
    }),
  );
}

import { addressBlocks } from "../settings/addressBlocks.js";
import { origins } from "../settings/origins.js";
import { oneOf, port, text } from "../settings/parsers.js";

/** The addresses that the service listens on. */
export const LISTEN_SETTINGS = {
  host: {
    flag: "host",
    env: "GAS_WAIVER_HOST",
    placeholder: "ADDRESS",
    help: "Address that the service listens on.",
    defaultValue: "127.0.0.1",
    parse: text,
  },
  port: {
    flag: "port",
    env: "GAS_WAIVER_PORT",
    placeholder: "PORT",
    help: "Port that the service listens on; 0 picks a free one.",
    defaultValue: "8080",
    parse: port,
  },
  metricsPort: {
    flag: "metrics-port",
    env: "GAS_WAIVER_METRICS_PORT",
    placeholder: "PORT",
    help: "Port for GET /metrics (Prometheus), /livez and /readyz (probes), without an API key; 0 picks a free one.",
    defaultText: "none",
    parse: port,
  },
  metricsHost: {
    flag: "metrics-host",
    env: "GAS_WAIVER_METRICS_HOST",
    placeholder: "ADDRESS",
    help: "Address that the metrics and the probes listen on.",
    defaultValue: "127.0.0.1",
    parse: text,
  },
  corsOrigins: {
    flag: "cors-origins",
    env: "GAS_WAIVER_CORS_ORIGINS",
    placeholder: "ORIGINS",
    help: "Origins whose pages may call the service from a browser, separated by commas; or loopback, or *.",
    defaultText: "none",
    parse: origins,
  },
  trustedProxies: {
    flag: "trusted-proxies",
    env: "GAS_WAIVER_TRUSTED_PROXIES",
    placeholder: "ADDRESSES",
    help: "Proxies in front of the service, as addresses or CIDR blocks, separated by commas. They alone name a client's address.",
    defaultText: "none",
    parse: addressBlocks,
  },
  proxyHeader: {
    flag: "proxy-header",
    env: "GAS_WAIVER_PROXY_HEADER",
    placeholder: "NAME",
    help: "Header field that the trusted proxies append a client's address to: x-forwarded-for or forwarded.",
    defaultText: "x-forwarded-for",
    parse: oneOf("x-forwarded-for", "forwarded"),
  },
  adminPort: {
    flag: "admin-port",
    env: "GAS_WAIVER_ADMIN_PORT",
    placeholder: "PORT",
    help: "Port for the admin API, which manages API keys. It needs --admin-token-file or GAS_WAIVER_ADMIN_TOKEN.",
    defaultText: "none",
    parse: port,
  },
  adminHost: {
    flag: "admin-host",
    env: "GAS_WAIVER_ADMIN_HOST",
    placeholder: "ADDRESS",
    help: "Address that the admin API listens on.",
    defaultValue: "127.0.0.1",
    parse: text,
  },
} as const;

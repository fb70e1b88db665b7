import type { FastifyInstance } from "fastify";
import { InvalidOptionsError } from "../../model/errors.js";
import type { ResolvedOptions } from "../../model/options/options.js";
import {
  certificateProblems,
  certificateWarning,
  type TlsCertificate,
} from "../../model/options/tlsCertificate.js";
import type { Logger } from "../../model/telemetry/log.js";
import { replaceCertificate } from "./tls.js";

/** The warning of a service behind a proxy that it does not know. */
const NAMELESS_PROXY =
  "behindProxy is set without trustedProxies (--trusted-proxies): all clients of the proxy count as one address, and share its connections (maxAddressConnections), its attempts at unknown keys and its refusals; name the proxy's address there";

/** Warns of a certificate that ends soon, and of a proxy that the service does not know. */
export function warnOfTransport(
  { tls, behindProxy, trustedProxies }: Pick<ResolvedOptions, "tls" | "behindProxy" | "trustedProxies">,
  log: Logger,
): void {
  if (tls) warnOfCertificate(tls, log);
  if (behindProxy && trustedProxies.length === 0) log.warn(NAMELESS_PROXY);
}

function warnOfCertificate({ cert }: TlsCertificate, log: Logger): void {
  const warning = certificateWarning(cert, Date.now());
  if (warning !== undefined) log.warn(warning);
}

/**
 * Uses another certificate on all ports for new connections.
 * @throws {@link InvalidOptionsError} if it is not valid, or if the service started without one. Then nothing changes.
 */
export function replaceCertificates(
  apps: readonly FastifyInstance[],
  options: Pick<ResolvedOptions, "tls">,
  tls: TlsCertificate,
  log: Logger,
): void {
  const problems = options.tls === undefined ? ["the service started without TLS"] : certificateProblems(tls);
  if (problems.length > 0) throw new InvalidOptionsError(problems);
  warnOfCertificate(tls, log);
  for (const { server } of apps) replaceCertificate(server, tls);
}

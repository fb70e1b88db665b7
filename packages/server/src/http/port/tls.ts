import type { Server, ServerOptions } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type SecureContextOptions, TLSSocket, Server as TlsServer } from "node:tls";
import type { FastifyInstance } from "fastify";
import { InvalidOptionsError } from "../../model/errors.js";
import type { ResolvedOptions } from "../../model/options/options.js";
import {
  certificateProblems,
  certificateWarning,
  type TlsCertificate,
} from "../../model/options/tlsCertificate.js";
import type { Logger } from "../../model/telemetry/log.js";

/** The options of a listener for Fastify: of HTTPS with a certificate, else of HTTP. */
export function serverOptions(
  http: ServerOptions,
  tls: TlsCertificate | undefined,
): { readonly http: ServerOptions } {
  if (tls === undefined) return { http };
  // A client has as long for its handshake as for the head of its request.
  const handshake = http.headersTimeout === undefined ? {} : { handshakeTimeout: http.headersTimeout };
  const https = { ...http, ...handshake, ...secureContext(tls) };
  // Fastify types servers of HTTPS apart, although they have all members of those of HTTP.
  return { https } as unknown as { http: ServerOptions };
}

function secureContext({ cert, key }: TlsCertificate): SecureContextOptions {
  return { cert, key, minVersion: "TLSv1.2" };
}

/** Uses another certificate for new connections. Those that are open go on. */
function replaceCertificate(server: Server, tls: TlsCertificate): void {
  if (server instanceof TlsServer) server.setSecureContext(secureContext(tls));
}

/** The TCP connections below the sockets of TLS. */
const belowTls = new WeakMap<Duplex, Duplex>();

/**
 * Lets {@link tcpConnectionOf} find the TCP connections of this server. Node announces a connection twice under TLS: at
 * once, and as another object after the handshake, without a link between the two. Only the first covers all connections.
 */
export function followTlsConnections(server: Server): void {
  if (!(server instanceof TlsServer)) return;
  const handshaking = new Map<string, Socket>();
  server.on("connection", (socket: Socket) => {
    const ends = endsOf(socket);
    handshaking.set(ends, socket);
    socket.once("close", () => handshaking.delete(ends));
  });
  server.on("secureConnection", (socket: TLSSocket) => {
    const ends = endsOf(socket);
    const connection = handshaking.get(ends);
    // A declined upgrade starts its connection again.
    if (connection === undefined) return;
    handshaking.delete(ends);
    belowTls.set(socket, connection);
  });
}

/** @returns the TCP connection of a request's socket: the one below it under TLS, else the socket itself. */
export function tcpConnectionOf(socket: Duplex): Duplex {
  return belowTls.get(socket) ?? socket;
}

/** Gives a connection to its server once more, as new. */
export function restartConnection(server: Server, socket: Duplex): void {
  server.emit(socket instanceof TLSSocket ? "secureConnection" : "connection", socket);
}

/** Both ends of a connection: no other open one has the same. */
function endsOf({ localAddress, localPort, remoteAddress, remotePort }: Socket): string {
  return `${localAddress} ${localPort} ${remoteAddress} ${remotePort}`;
}

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

import type { Server, ServerOptions } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type SecureContextOptions, TLSSocket, Server as TlsServer } from "node:tls";
import type { TlsCertificate } from "../../model/options/tlsCertificate.js";

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
export function replaceCertificate(server: Server, tls: TlsCertificate): void {
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

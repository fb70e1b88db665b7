import type { FastifyReply } from "fastify";

/** Adds a request field to `Vary`: the response depends on it (RFC 9110, 12.5.5). */
export function addVary(reply: FastifyReply, field: string): void {
  const before = reply.getHeader("vary");
  reply.header("vary", before === undefined ? field : `${before}, ${field}`);
}

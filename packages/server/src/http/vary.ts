import type { FastifyReply } from "fastify";

/** Says that the answer depends on this field of the request too (RFC 9110, 12.5.5). */
export function addVary(reply: FastifyReply, field: string): void {
  const before = reply.getHeader("vary");
  reply.header("vary", before === undefined ? field : `${before}, ${field}`);
}

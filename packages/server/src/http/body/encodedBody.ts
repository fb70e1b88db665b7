import { ProtocolError } from "@gas-waiver/protocol";
import type { onRequestHookHandler } from "fastify";

/** Refuses bodies with a content encoding such as gzip (D21), before any of the body is read. */
export const refuseEncodedBody: onRequestHookHandler = (request, _reply, done) => {
  const encoding = request.headers["content-encoding"];
  if (encoding === undefined || encoding.toLowerCase() === "identity") return done();
  const message = "the body has a content encoding; send the JSON as it is";
  done(new ProtocolError("UNSUPPORTED_MEDIA_TYPE", message));
};

import type { EndpointReply } from "../net.js";
import type { Reaction } from "../nodes/reaction.js";

/** The reaction of an endpoint as the network delivers it. */
export function replyOf(reaction: Reaction): EndpointReply {
  switch (reaction.kind) {
    case "no connection":
      return { is: "refused", code: reaction.code };
    case "reset":
      return { is: "reset" };
    case "hang":
      return { is: "hung" };
    case "answer": {
      const { status, body, retryAfter, isCut, delayMs } = reaction;
      const headers = retryAfter === undefined ? {} : { "retry-after": String(retryAfter) };
      return isCut
        ? { is: "cut", status, body, bytes: Buffer.byteLength(body), delayMs }
        : { is: "answer", status, body, headers, delayMs };
    }
  }
}

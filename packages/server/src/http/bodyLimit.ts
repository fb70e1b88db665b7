import type { IncomingHttpHeaders } from "node:http";
import { Transform, type TransformCallback } from "node:stream";
import { ProtocolError } from "@gas-waiver/protocol";
import type { RequestPayload } from "fastify";
import type { Caller } from "../caller.js";

/**
 * Holds a body to the limit of its key, where that is narrower than the service's: before it is read if it says how
 * long it is, and else as it comes.
 * @throws {@link ProtocolError} `BODY_TOO_LARGE`, here or as the stream's error.
 */
export function limitBody(
  { limits: { maxBodyBytes } }: Caller,
  headers: IncomingHttpHeaders,
  payload: RequestPayload,
): RequestPayload {
  if (maxBodyBytes === undefined) return payload;
  if (Number(headers["content-length"] ?? 0) > maxBodyBytes) throw tooLarge(maxBodyBytes);
  const limited = new LimitedBody(maxBodyBytes);
  payload.on("error", (error) => limited.destroy(error));
  return payload.pipe(limited);
}

class LimitedBody extends Transform {
  readonly #most: number;
  /** What the framework compares with the header Content-Length. */
  receivedEncodedLength = 0;

  constructor(most: number) {
    super();
    this.#most = most;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.receivedEncodedLength += chunk.length;
    if (this.receivedEncodedLength > this.#most) done(tooLarge(this.#most));
    else done(null, chunk);
  }
}

function tooLarge(maxBodyBytes: number): ProtocolError {
  return new ProtocolError(
    "BODY_TOO_LARGE",
    `the body is larger than the ${maxBodyBytes} bytes of this key`,
    {
      maxBodyBytes,
    },
  );
}

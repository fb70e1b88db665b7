import { assertFewValues, ProtocolError } from "@gas-waiver/protocol";
import type { FastifyInstance, FastifyRequest, RequestPayload } from "fastify";
import type { Caller } from "../../model/caller.js";
import type { BodyMemoryBudget, MemoryReservation } from "../limits/bodyMemoryBudget.js";
import { onResponseClosed } from "./onResponseClosed.js";

export interface JsonBodyOptions {
  /** Of any body; a key may have a narrower limit. */
  readonly maxBodyBytes: number;
  /** Where the bodies of callers count; none on a listener without callers. */
  readonly memory: BodyMemoryBudget | undefined;
}

/** What a body begins with that does not say how long it is, or says that it is longer. */
const FIRST_BYTES = 65_536;
/** A body in more pieces than this has so many bytes in each on average, or costs more than it can be worth. */
export const FREE_PIECES = 16_384;
export const LEAST_BYTES_OF_PIECE = 64;

/**
 * Reads bodies of JSON, and no others, into one block of bytes that grows. The framework would keep each piece as it
 * arrives, and a body that comes a byte a piece would take a hundred times its size.
 */
export function registerJsonParser(app: FastifyInstance, { maxBodyBytes, memory }: JsonBodyOptions): void {
  const parse = app.getDefaultJsonParser("error", "error");
  app.removeAllContentTypeParsers();
  app.decorateRequest("held");
  app.addHook("preParsing", (request, reply, payload, done) => {
    const { caller } = request as { readonly caller?: Caller };
    if (memory !== undefined && caller !== undefined && request.method === "POST") {
      const held = memory.openReservation(caller);
      request.held = held;
      // The request's texts are as large as its body, and are there until it is answered.
      onResponseClosed(request.raw, reply.raw, () => held.release());
    }
    done(null, payload);
  });
  app.addContentTypeParser("application/json", async (request: FastifyRequest, payload: RequestPayload) => {
    const text = await readText(request, payload, maxBodyBytes);
    assertFewValues(text);
    return await new Promise((resolve, reject) => {
      parse(request, text, (error, body) => (error ? reject(error) : resolve(body)));
    });
  });
}

/** @throws {@link ProtocolError} `BODY_TOO_LARGE` or `BODIES_AT_CAPACITY`; the rest of the body is thrown away. */
async function readText(
  { headers, caller, held }: FastifyRequest & { caller?: Caller },
  payload: RequestPayload,
  maxBodyBytes: number,
): Promise<string> {
  const ofKey = caller?.limits.maxBodyBytes ?? maxBodyBytes;
  const limit = Math.min(ofKey, maxBodyBytes);
  const whose = limit < maxBodyBytes ? "of this key" : "that are taken";
  const declared = headers["content-length"];
  if (Number(declared ?? 0) > limit) throw tooLarge(limit, whose);
  const block = new GrowingBuffer(Math.min(Number(declared ?? limit), FIRST_BYTES), limit, held);
  return await new Promise((resolve, reject) => {
    // Once one does not fit, the rest is read and thrown away.
    let fits = true;
    payload.on("data", (piece: Buffer) => {
      if (!fits) return;
      try {
        fits = block.add(piece);
        if (!fits) reject(tooLarge(limit, whose));
      } catch (error) {
        fits = false;
        reject(error);
      }
    });
    payload.once("end", () => resolve(block.text()));
    payload.once("error", reject);
  });
}

/** Bytes that come in pieces of any size. */
class GrowingBuffer {
  readonly #limit: number;
  readonly #held: MemoryReservation | undefined;
  #bytes: Buffer;
  #length = 0;
  #pieces = 0;

  constructor(first: number, limit: number, held: MemoryReservation | undefined) {
    held?.grow(first);
    this.#bytes = Buffer.allocUnsafe(first);
    this.#limit = limit;
    this.#held = held;
  }

  /**
   * Is there room for it?
   * @throws {@link ProtocolError} for a body of very many small pieces.
   */
  add(piece: Buffer): boolean {
    const length = this.#length + piece.length;
    if (++this.#pieces > FREE_PIECES + length / LEAST_BYTES_OF_PIECE) {
      throw new ProtocolError("MALFORMED_BODY", "the body comes in too many small pieces");
    }
    if (length > this.#limit) return false;
    if (length > this.#bytes.length) this.#grow(length);
    piece.copy(this.#bytes, this.#length);
    this.#length = length;
    return true;
  }

  text(): string {
    return this.#bytes.toString("utf8", 0, this.#length);
  }

  #grow(least: number): void {
    const size = Math.min(this.#limit, Math.max(least, this.#bytes.length * 2));
    this.#held?.grow(size - this.#bytes.length);
    const larger = Buffer.allocUnsafe(size);
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}

function tooLarge(maxBodyBytes: number, whose: string): ProtocolError {
  const message = `the body is larger than the ${maxBodyBytes} bytes ${whose}`;
  return new ProtocolError("BODY_TOO_LARGE", message, { maxBodyBytes });
}

declare module "fastify" {
  interface FastifyRequest {
    /** What the body holds, on listeners that bound it. */
    held: MemoryReservation | undefined;
  }
}

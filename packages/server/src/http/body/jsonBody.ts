import { ProtocolError } from "@gas-waiver/protocol";
import type { FastifyInstance, FastifyRequest, onRequestHookHandler, RequestPayload } from "fastify";
import { partyOf } from "../../model/keys/caller.js";
import type { MemoryReservation } from "../../model/memoryReservation.js";
import { PRICES } from "../../model/prices.js";
import type { LoopQueue } from "../../util/loopQueue.js";
import { parseJson, type RunSlice } from "../../util/slicedJson.js";
import type { AuthenticatedRequest } from "../authenticator.js";
import type { BodyMemoryBudget } from "../limits/bodyMemoryBudget.js";
import { partOfBody } from "../limits/requestTurns.js";
import { onResponseClosed } from "./sendChunks.js";

interface JsonBodyOptions {
  /** The limit of every body. A key may have a narrower one. */
  readonly maxBodyBytes: number;
  /** Counts the bodies of callers. Undefined on a listener whose requests have no caller. */
  readonly memory: BodyMemoryBudget | undefined;
  /** Gives large bodies their turns. */
  readonly loop: LoopQueue;
}

/** The memory of a request's body, until the response is sent. Only authenticated requests have it. */
export interface HeldBody {
  bodyMemory?: MemoryReservation | undefined;
}

/** A request with a body, of which only authenticated ones have a caller. */
type BodyRequest = FastifyRequest & Partial<Pick<AuthenticatedRequest, "caller">> & HeldBody;

/** The first block for a body that does not declare its length, or declares a larger one. */
const INITIAL_BYTES = 65_536;

/**
 * Replaces the framework's body parsers by one for JSON, which reads the body into one block of memory that grows. The
 * framework would keep each chunk as it arrives, and a body of one-byte chunks would take a hundred times its size.
 */
export function registerJsonParser(
  app: FastifyInstance,
  { maxBodyBytes, memory, loop }: JsonBodyOptions,
): void {
  // Removes members named `__proto__` and `constructor`. Unknown members are ignored, and none becomes a prototype.
  const parse = app.getDefaultJsonParser("remove", "remove");
  app.removeAllContentTypeParsers();
  app.decorateRequest("bodyMemory");
  app.addHook("preParsing", (request: BodyRequest, reply, payload, done) => {
    if (memory !== undefined && request.caller !== undefined && request.method === "POST") {
      const reservation = memory.openReservation(request.caller, () => request.raw.destroy());
      request.bodyMemory = reservation;
      // The parsed texts are as large as the body, and live with the other values until the response is sent.
      onResponseClosed(request.raw, reply.raw, () => reservation.release());
    }
    done(null, payload);
  });
  const parseText = (request: FastifyRequest, text: string): unknown => {
    let [failure, body]: [Error | null, unknown] = [null, undefined];
    // It calls back before it returns.
    parse(request, text, (...parsed) => {
      [failure, body] = parsed;
    });
    if (failure !== null) throw failure;
    return body;
  };
  app.addContentTypeParser("application/json", async (request: FastifyRequest, payload: RequestPayload) => {
    const bytes = await readBytes(request, payload, maxBodyBytes);
    const run = slicesOf(loop, partyIn(request), partOfBody(bytes.length));
    const { bodyMemory } = request as BodyRequest;
    const reserve = (more: number) => bodyMemory?.grow(more);
    return await parseJson(bytes, run, reserve, (text) => parseText(request, text));
  });
}

/** @throws {@link ProtocolError} `BODY_TOO_LARGE`, `BODIES_AT_CAPACITY` or `MALFORMED_BODY`; the rest is dropped. */
async function readBytes(
  { headers, caller, bodyMemory }: BodyRequest,
  payload: RequestPayload,
  maxBodyBytes: number,
): Promise<Buffer> {
  const limit = Math.min(caller?.limits.maxBodyBytes ?? maxBodyBytes, maxBodyBytes);
  const limitedBy = limit < maxBodyBytes ? "of this key" : "that the service accepts";
  const declared = headers["content-length"];
  if (Number(declared ?? 0) > limit) throw tooLarge(limit, limitedBy);
  const buffer = growingBuffer(Math.min(Number(declared ?? limit), INITIAL_BYTES), limit, bodyMemory);
  return await new Promise((resolve, reject) => {
    // After the first chunk that does not fit, the rest is read and dropped.
    let fits = true;
    payload.on("data", (chunk: Buffer) => {
      if (!fits) return;
      try {
        fits = buffer.add(chunk);
        if (!fits) reject(tooLarge(limit, limitedBy));
      } catch (error) {
        fits = false;
        reject(error);
      }
    });
    payload.once("end", () => resolve(buffer.bytes()));
    payload.once("error", reject);
    payload.resume();
  });
}

/** Parses in the turns of a party, or of a part of it. */
export function slicesOf(loop: LoopQueue, party: string, part = ""): RunSlice {
  return (bytes, slice) => loop.run(party, bytes * PRICES.parsedByte, slice, part);
}

/** The party of an authenticated request. The others are of operators. */
function partyIn({ caller }: BodyRequest): string {
  return caller === undefined ? "" : partyOf(caller);
}

function tooLarge(maxBodyBytes: number, limitedBy: string): ProtocolError {
  const message = `the body is larger than the ${maxBodyBytes} bytes ${limitedBy}`;
  return new ProtocolError("BODY_TOO_LARGE", message, { maxBodyBytes });
}

/** A body may come in this many chunks of any size. Beyond them, the average size of a chunk has a minimum. */
export const FREE_CHUNKS = 16_384;
export const MIN_AVERAGE_CHUNK_BYTES = 64;

/**
 * Collects a body that arrives in chunks of any size, in one block of memory that grows.
 * @param reservation counts the block's size, if given.
 */
function growingBuffer(initialBytes: number, maxBytes: number, reservation: MemoryReservation | undefined) {
  reservation?.grow(initialBytes);
  let block = Buffer.allocUnsafe(initialBytes);
  let length = 0;
  let chunks = 0;
  const grow = (minBytes: number) => {
    const size = Math.min(maxBytes, Math.max(minBytes, block.length * 2));
    reservation?.grow(size - block.length);
    const larger = Buffer.allocUnsafe(size);
    block.copy(larger, 0, 0, length);
    block = larger;
  };
  return {
    /**
     * @returns false, and adds nothing, if the body would be larger than `maxBytes`.
     * @throws {@link ProtocolError} for a body of very many small chunks, or `BODIES_AT_CAPACITY`.
     */
    add(chunk: Buffer): boolean {
      const total = length + chunk.length;
      if (++chunks > FREE_CHUNKS + total / MIN_AVERAGE_CHUNK_BYTES)
        throw new ProtocolError("MALFORMED_BODY", "the body comes in too many small chunks");
      if (total > maxBytes) return false;
      if (total > block.length) grow(total);
      chunk.copy(block, length);
      length = total;
      return true;
    },
    bytes: () => block.subarray(0, length),
  };
}

/** Refuses bodies with a content encoding such as gzip (D21), before any of the body is read. */
export const refuseEncodedBody: onRequestHookHandler = (request, _reply, done) => {
  const encoding = request.headers["content-encoding"];
  if (encoding === undefined || encoding.toLowerCase() === "identity") return done();
  const message = "the body has a content encoding; send the JSON as it is";
  done(new ProtocolError("UNSUPPORTED_MEDIA_TYPE", message));
};

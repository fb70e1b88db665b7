import { constants, crc32, deflateRawSync } from "node:zlib";

/** Does the request name gzip as an encoding that it takes (RFC 9110, 12.5.3)? `*` asks for nothing. */
export function acceptsGzip(acceptEncoding: string | string[] | undefined): boolean {
  return String(acceptEncoding ?? "")
    .split(",")
    .some((item) => {
      const [coding = "", ...parameters] = item.split(";").map((part) => part.trim().toLowerCase());
      const weight = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2);
      return (coding === "gzip" || coding === "x-gzip") && (weight === undefined || Number(weight) > 0);
    });
}

/** Method deflate, no name, no time, unknown system (RFC 1952, 2.3). */
const HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);
/** The last block, an empty one (RFC 1951, 3.2.6). */
const LAST_BLOCK = Buffer.from([3, 0]);
/** What the next chunk may repeat: a line looks much like the one before. */
const WINDOW_BYTES = 1_024;
const DEFLATE_OPTIONS = {
  finishFlush: constants.Z_SYNC_FLUSH,
  level: 1,
  windowBits: 10,
  memLevel: 1,
  chunkSize: 1_024,
};

/**
 * The chunks as one gzip stream, each decodable as soon as it is there. Each is deflated by itself, with the one before
 * as its dictionary: a stream that waits for its next line costs one line of memory. zlib's own streams keep 80 to
 * 235 kB each for as long as they are open, which thousands of waiting requests would add up; a line takes 16 µs
 * either way.
 */
export async function* gzipChunks(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let before: Uint8Array = Buffer.alloc(0);
  let checksum = 0;
  let length = 0;
  let head = HEADER;
  for await (const chunk of chunks) {
    const dictionary = before.length > 0 && { dictionary: before };
    checksum = crc32(chunk, checksum);
    length += chunk.length;
    before = chunk.subarray(-WINDOW_BYTES);
    yield Buffer.concat([head, deflateRawSync(chunk, { ...DEFLATE_OPTIONS, ...dictionary })]);
    head = Buffer.alloc(0);
  }
  const sums = Buffer.alloc(8);
  sums.writeUInt32LE(checksum, 0);
  sums.writeUInt32LE(length % 2 ** 32, 4);
  yield Buffer.concat([head, LAST_BLOCK, sums]);
}

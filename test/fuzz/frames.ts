import { upgradeRequest } from "../../packages/server/test/support/upgradeRequest.js";
import type { SeededRandom } from "../support/seededRandom.js";
import { KEY, KNOWN_ID, type Probe } from "./probe.js";
import { body, inPieces, json, mutated, transaction } from "./values.js";

const HANDSHAKE = `${upgradeRequest(KEY).join("\r\n")}\r\n\r\n`;

const [CONTINUED, TEXT, BINARY, CLOSE, PING, PONG] = [0, 1, 2, 8, 9, 10] as const;

interface FrameOptions {
  readonly opcode?: number;
  readonly fin?: boolean;
  readonly rsv?: number;
  readonly masked?: boolean;
  /** The length in the frame's head, if it differs from the payload's. */
  readonly length?: number;
}

function frame(payload: Buffer | string, options: FrameOptions = {}): Buffer {
  const bytes = Buffer.from(payload);
  const { opcode = TEXT, fin = true, rsv = 0, masked = true, length = bytes.length } = options;
  const first = (fin ? 0x80 : 0) | (rsv << 4) | opcode;
  const mask = masked ? 0x80 : 0;
  // A mask of zeros does not change the payload.
  return Buffer.concat([Buffer.of(first), size(length, mask), Buffer.alloc(masked ? 4 : 0), bytes]);
}

function size(length: number, mask: number): Buffer {
  if (length < 126) return Buffer.of(mask | length);
  const isShort = length < 65_536;
  const bytes = Buffer.alloc(isShort ? 3 : 9);
  bytes[0] = mask | (isShort ? 126 : 127);
  if (isShort) bytes.writeUInt16BE(length, 1);
  else bytes.writeBigUInt64BE(BigInt(length), 1);
  return bytes;
}

/** A WebSocket with well-formed, unusual and broken frames. */
export function socketProbe(random: SeededRandom): Probe {
  const handshake = Buffer.from(HANDSHAKE);
  const frames = Array.from({ length: random.between(1, 8) }, () => oneFrame(random)).flat();
  const opening = random.chance(0.95) ? handshake : mutated(handshake, random);
  const whole = Buffer.concat([opening, ...frames]);
  return { pieces: inPieces(random.chance(0.9) ? whole : mutated(whole, random), random) };
}

function oneFrame(random: SeededRandom): Buffer[] {
  const text = Buffer.from(request(random));
  switch (random.between(0, 14)) {
    case 0:
      return [frame(mutated(text, random))];
    case 1:
      return [frame(text, { opcode: random.between(0, 15), fin: random.chance(0.5) })];
    case 2:
      return [frame(text, { rsv: random.between(1, 7) })];
    case 3:
      return [frame(text, { masked: false })];
    case 4:
      return [
        frame(text, { length: random.pick([0, text.length + 1, 65_535, 2 ** 31, Number.MAX_SAFE_INTEGER]) }),
      ];
    case 5:
      return [frame(text, { opcode: BINARY })];
    case 6:
      return [frame(Buffer.alloc(random.between(0, 130)), { opcode: random.pick([PING, PONG]) })];
    case 7:
      return [frame(Buffer.from([random.between(0, 19), random.between(0, 255)]), { opcode: CLOSE })];
    case 8:
      return [frame(Buffer.from([0xff, 0xfe, 0xc0]))];
    case 9:
    case 10:
      return fragments(text, random);
    default:
      return [frame(text)];
  }
}

function fragments(text: Buffer, random: SeededRandom): Buffer[] {
  const middle = random.between(0, text.length);
  const interrupting = random.chance(0.5) ? [frame("", { opcode: PING })] : [];
  const last = random.chance(0.8) ? [frame(text.subarray(middle), { opcode: CONTINUED })] : [];
  return [frame(text.subarray(0, middle), { fin: false }), ...interrupting, ...last];
}

function request(random: SeededRandom): string {
  const id = random.chance(0.8) ? String(random.between(1, 3)) : json(random, 1);
  const wait = random.chance(0.3) ? `,"wait":${random.pick(['"included"', '"broadcast"', '"x"', "1"])}` : "";
  switch (random.between(0, 3)) {
    case 0:
      return `{"id":${id},"transactions":[${JSON.stringify(transaction(random))}]${wait}}`;
    case 1:
      return `{"id":${id},"watch":["${KNOWN_ID}",${json(random, 1)}]${wait}}`;
    case 2:
      return `{"id":${id},${body(random).slice(1)}`;
    default:
      return json(random);
  }
}

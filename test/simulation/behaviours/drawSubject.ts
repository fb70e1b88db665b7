import type { SeededRandom } from "../../support/seededRandom.js";
import type { Subject } from "./behaviour.js";
import { type Frame, namedSenders } from "./frame.js";

const METHODS = [
  "eth_sendRawTransaction",
  "eth_getTransactionCount",
  "eth_getTransactionReceipt",
  "eth_getTransactionByHash",
  "eth_getBlockByNumber",
  "eth_blockNumber",
  "eth_chainId",
];
const SENDERS_METHODS = [...METHODS.slice(0, 4), "eth_sendRawTransaction"];
const LOOK_UPS = ["eth_getTransactionReceipt", "eth_getTransactionByHash"];

/** An endpoint; undefined for all of them. Where one stays honest, it is another. */
export function drawEndpoint(
  random: SeededRandom,
  { endpoints, honest, honestEndpoint }: Frame,
): number | undefined {
  if (honest === "an endpoint") return (honestEndpoint + random.between(1, endpoints - 1)) % endpoints;
  return random.chance(0.5) ? random.between(0, endpoints - 1) : undefined;
}

/** One endpoint, or all of them. */
export function drawPlace(random: SeededRandom, frame: Frame): Subject {
  const isEverywhere = frame.honest === "most senders" && random.chance(0.6);
  const endpoint = isEverywhere ? undefined : drawEndpoint(random, frame);
  return endpoint === undefined ? {} : { endpoint };
}

/** A sender, perhaps with one InnerTx, perhaps with its first wrapper alone. */
export function drawSender(random: SeededRandom, frame: Frame): Subject {
  const { submissions } = frame;
  const sender = random.pick(namedSenders(frame));
  if (random.chance(0.5)) return { sender };
  const nonce = random.between(0, Math.min(submissions - 1, 4));
  return { sender, nonce, ...(random.chance(0.3) && { firstWrapper: true }) };
}

/** Lists that are too long, or look-ups of what no node has: subjects that cost nobody anything. */
function drawTolerable(random: SeededRandom): Subject {
  const kind = random.between(0, 3);
  if (kind <= 1) return { method: random.pick(LOOK_UPS), unknown: true };
  const moreThan = random.pick([1, 2, 3, 5, 8, 20]);
  return kind === 2 ? { moreThan, method: random.pick(METHODS) } : { moreThan };
}

/** The subject of a deed that strikes requests or calls. */
export function drawSubject(random: SeededRandom, frame: Frame): Subject {
  const isAboutSender = frame.honest === "most senders" ? random.chance(0.6) : random.chance(0.25);
  const place = drawPlace(random, frame);
  if (isAboutSender)
    return {
      ...place,
      ...drawSender(random, frame),
      ...(random.chance(0.6) && { method: random.pick(SENDERS_METHODS) }),
    };
  if (frame.honest === "most senders" || random.chance(0.15)) return { ...place, ...drawTolerable(random) };
  if (random.chance(0.05)) return { ...place, block: random.between(100, 160) };
  return { ...place, ...(random.chance(0.6) && { method: random.pick(METHODS) }) };
}

// The package uuid, whose version 7 never goes back in time: its module remembers the last moment. The replicas of a world share
// the module and must not share their clocks, so that each simulated process has a memory of its own here.
import { v7 as original } from "uuid";

export * from "uuid";

const memories = new WeakMap();
const NOBODY = {};

export function v7() {
  const process = globalThis[Symbol.for("simulation: current process")]?.() ?? NOBODY;
  const random = crypto.getRandomValues(new Uint8Array(16));
  const { msecs, seq } = memories.get(process) ?? { msecs: Number.NEGATIVE_INFINITY, seq: 0 };
  const now = Date.now();
  const memory =
    now > msecs ? { msecs: now, seq: new DataView(random.buffer).getUint32(6) >>> 1 } : next(msecs, seq);
  memories.set(process, memory);
  return original({ ...memory, random });
}

/** The id after another one of the same moment. */
function next(msecs, seq) {
  const following = (seq + 1) | 0;
  return { msecs: following === 0 ? msecs + 1 : msecs, seq: following };
}

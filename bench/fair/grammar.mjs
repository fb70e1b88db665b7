// The grammar of attackers: whatever the interface admits, with numbers from small to as many as a client can send.

/** A generator of numbers by a seed (mulberry32). */
export function createRandom(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const among = (list) => list[Math.floor(next() * list.length)];
  return { next, among };
}

/** The parts of an attacker, each with the values that it may have. */
const GRAMMAR = {
  by: ["post", "post", "post", "socket", "raw"],
  key: ["secret", "secret", "public", "public", "public", "none", "bad"],
  keyIndex: [0, 1, 2, 3],
  /** The addresses that it has: of its own connection, or as a proxy names them, alike or one for each connection. */
  from: ["one IPv4", "many IPv4", "one site of IPv6", "own connection"],
  connections: [1, 4, 16, 64, 200],
  /** Requests a second of all its connections; 0 for as fast as answers come. */
  rate: [0, 0, 5, 50, 500],
  action: [
    ...["submit", "submit", "submit", "check", "rpc", "rpc", "read", "json", "watch", "subscribe"],
    ...["half open", "slow body", "frames", "keyed"],
  ],
  size: [1, 5, 25, 100],
  calldata: [68, 68, 1_000, 20_000, 118_000],
  gas: [60_000, 100_000, 2_000_000, 10_000_000],
  nonces: ["fresh senders", "one sender", "ahead", "the same again", "conflicts"],
  encoding: ["good", "good", "good", "half bad", "bad signature", "no hex"],
  method: [
    ...["eth_chainId", "eth_getTransactionCount", "eth_getTransactionReceipt", "eth_call", "eth_getLogs"],
    ...["eth_sendRawTransaction", "eth_blockNumber", "no_such_method"],
  ],
  id: ["small", "beyond a double", "beyond a double", "long text", "absent"],
  path: ["/v1/submissions?limit=100", "/v1/policy", "/v1/openapi.json", "/v1/health", "/v1/nothing", "/docs"],
  /** The bytes of a body of JSON without sense, and of an RPC batch that is filled up to it. */
  bytes: [1_000, 60_000, 250_000, 4_000_000, 31_000_000],
  json: ["many values", "one text", "deep", "escapes", "spaces"],
  reads: ["all", "all", "all", "slowly", "nothing"],
  wait: ["broadcast", "included"],
  /** Requests that raw bytes have in one packet, and whether each packet comes on a connection of its own. */
  atOnce: [16, 16, 2_500],
  anew: [false, false, true],
};

export function drawAttacker(random) {
  return Object.fromEntries(Object.entries(GRAMMAR).map(([part, values]) => [part, random.among(values)]));
}

export function drawMixture(random, attackers) {
  return Array.from({ length: attackers }, () => drawAttacker(random));
}

/** Changes some attackers: a part of one, one for another, or one copied over another. */
export function changed(mixture, random) {
  const result = mixture.map((attacker) => ({ ...attacker }));
  const changes = 1 + Math.floor(random.next() * Math.max(1, mixture.length / 4));
  for (let i = 0; i < changes; i++) {
    const at = Math.floor(random.next() * result.length);
    const kind = random.next();
    if (kind < 0.4) {
      const part = random.among(Object.keys(GRAMMAR));
      result[at] = { ...result[at], [part]: random.among(GRAMMAR[part]) };
    } else if (kind < 0.7) result[at] = drawAttacker(random);
    else result[at] = { ...random.among(result) };
  }
  return result;
}

const PARTS_OF = {
  submit: ["size", "calldata", "gas", "nonces", "encoding", "wait"],
  check: ["size", "calldata", "encoding"],
  keyed: ["size", "encoding"],
  rpc: ["method", "size", "id", "bytes"],
  read: ["path"],
  json: ["json", "bytes"],
  "slow body": ["bytes"],
};

/** Says an attacker in a line. */
export function describe(attacker) {
  const { by, action, key, connections, rate, from, reads, atOnce, anew } = attacker;
  const parts = (PARTS_OF[action] ?? []).map((part) => `${part} ${attacker[part]}`).join(", ");
  const pace = rate === 0 ? "at full speed" : `${rate}/s`;
  const slow = reads === "all" ? "" : `, reads ${reads}`;
  const packets = by === "raw" ? `, ${atOnce} at once${anew ? " on new connections" : ""}` : "";
  return `${action} by ${by}${packets}${parts && ` (${parts})`}: ${key} key, ${connections} connections from ${from}, ${pace}${slow}`;
}

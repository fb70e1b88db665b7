import { SEND } from "../../nodeZoo/exchange.js";
import { PERSONALITIES } from "../../nodeZoo/personalities.js";
import type { Refusal } from "../../nodeZoo/personality.js";
import { randomReply } from "../../nodeZoo/troubleWords.js";
import type { SeededRandom } from "../../support/seededRandom.js";
import type { CallError } from "../chain/reads.js";
import type { Json } from "./behaviour.js";

/** Sentences of hosted nodes, gateways and starting nodes, which say nothing of a transaction. */
const HOSTED: readonly CallError[] = [
  { code: -32_000, message: "Insufficient balance: top up your account" },
  { code: -32_001, message: "402 Payment Required: the balance of this account is exhausted" },
  { code: -32_003, message: "batch response too large" },
  { code: -32_014, message: "too many RPC calls in batch request" },
  { code: -32_020, message: "backend response too large" },
  { code: -32_007, message: "batch limit exceeded" },
  { code: -32_005, message: "daily request count exceeded, request rate limited" },
  { code: 429, message: "Your app has exceeded its compute units per second capacity" },
  { code: -32_002, message: "project ID does not have access to archive state" },
  { code: -32_000, message: "transaction indexing is in progress" },
  { code: -32_000, message: "missing trie node 5f2e (path ) state is not available" },
  { code: -32_000, message: "header not found" },
  { code: -32_603, message: "Internal error" },
  { code: -32_603, message: "upstream connect error or disconnect/reset before headers" },
  { code: -32_601, message: "the method is not available on this plan" },
  { code: -32_700, message: "parse error" },
  { code: 403, message: "access denied: blocked by policy" },
];
/** The reasons that validators name for a refusal (D7), most of which no later block changes. */
const RULES = [
  ...["TARGET_NOT_ALLOWED", "SELECTOR_NOT_ALLOWED", "INSUFFICIENT_BALANCE", "GAS_LIMIT_TOO_LOW"],
  ...[
    "WRAPPER_GAS_LIMIT_TOO_LOW",
    "WAIVER_NOT_REGISTERED",
    "NONCE_TOO_LOW",
    "NONCE_GAP",
    "WRAPPER_NONCE_GAP",
  ],
];
const VALUES = { nonce: "3", expected: "7", hash: "0x" };

/** An error with words of a real node or gateway, or of a dictionary. Half of those to a send are refusals by a rule. */
export function drawError(random: SeededRandom, method?: string): CallError {
  const kind = method === SEND && random.chance(0.5) ? 4 : random.between(0, 4);
  const personality = random.pick(PERSONALITIES);
  switch (kind) {
    case 0:
      return random.pick(HOSTED);
    case 1:
      return random.pick(personality.troubles);
    case 2:
      return personality.words[random.pick(Object.keys(personality.words) as Refusal[])](VALUES);
    case 3:
      return drawUnknownWords(random);
    default: {
      const reason = random.pick(RULES);
      return { code: -32_000, message: `refused: ${reason}`, data: { reason } };
    }
  }
}

function drawUnknownWords(random: SeededRandom): CallError {
  const reply = randomReply(random);
  const { code, message } = ("error" in reply ? reply.error : {}) as Partial<CallError>;
  return {
    code: typeof code === "number" ? code : -32_000,
    message: typeof message === "string" ? message : "",
  };
}

const PLAIN_VALUES: readonly Json[] = [
  ...[null, "", "0x", "0x0", "0x1", {}, [], false, true, 0, 1, -1, 1e30, "null", "ok"],
  ...[`0x${"00".repeat(32)}`, `0x${"ab".repeat(32)}`, { hash: null }, [null], { result: "0x1" }],
];

export function drawValue(random: SeededRandom): Json {
  return random.pick(PLAIN_VALUES);
}

/** The codes of connections that are never made. */
const NO_CONNECTION = [
  ...["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "ETIMEDOUT"],
  ...["CERT_HAS_EXPIRED", "ERR_TLS_CERT_ALTNAME_INVALID", "SELF_SIGNED_CERT_IN_CHAIN"],
];

export function drawConnectError(random: SeededRandom): string {
  return random.chance(0.5) ? "ECONNREFUSED" : random.pick(NO_CONNECTION);
}

export const STATUSES = [
  200, 204, 301, 400, 401, 402, 403, 404, 408, 413, 429, 500, 501, 502, 503, 504, 520, 524,
];

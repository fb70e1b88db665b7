import { classifySendError } from "@gas-waiver/protocol";
import type { SeededRandom } from "../support/seededRandom.js";
import type { Reply } from "./exchange.js";

const WORDS = [
  ...["gossip", "quorum", "vault", "epoch", "witness", "shard", "ledger", "kelp", "turbine", "moss", "relay"],
  ...["exhausted", "not ready", "denied", "pending", "stale", "lost", "overdue", "frozen", "unavailable"],
  ...["E1043", "0x2a", "[retry]", "ошибка", "错误", "—", "💥", "%!s(<nil>)", "<nil>", "null", "undefined"],
  // Words by which the service classifies the errors of nodes (nodeErrors.ts), out of their context.
  ...["nonce", "known", "pool", "full", "gas", "limit", "low", "high", "transaction", "sequence"],
];
const CODES = [0, 1, 3, -1, -32_000, -32_001, -32_003, -32_010, -32_015, -32_603, -38_001, 1_001, 429, 503];

/** An answer in words that `nodeErrors.ts` does not know, or in a form that no client expects. */
export function randomReply(random: SeededRandom): Reply {
  const message = randomMessage(random);
  const code = random.pick(CODES);
  const unusualReplies: readonly (() => Reply)[] = [
    () => ({ error: { code, message, data: { reason: message } } }),
    () => ({ error: { code, message, data: message } }),
    () => ({ error: { code: String(code), message: { text: message } } }),
    () => ({ error: { message } }),
    () => ({ error: message }),
    () => ({ error: {} }),
    () => ({ error: { code, message: "" } }),
    () => ({}),
  ];
  return random.chance(0.6) ? { error: { code, message } } : random.pick(unusualReplies)();
}

/** Draws words until the service does not know their wording: "known transaction" would be one that it knows. */
function randomMessage(random: SeededRandom): string {
  for (;;) {
    const message = Array.from({ length: random.between(1, 7) }, () => random.pick(WORDS)).join(" ");
    if (classifySendError({ code: 0, message }).kind === "disputed") return message;
  }
}

const PAGE = "<html>\r\n<head><title>502</title></head>\r\n<body><center><h1>";

/** The page of a proxy in front of a node: nginx, HAProxy, Envoy, Cloudflare. */
export function gatewayPage(random: SeededRandom): { status: number; body: string; contentType: string } {
  const status = random.pick([500, 502, 503, 504, 520, 521, 524]);
  const text = random.pick([
    `${PAGE}${status} Bad Gateway</h1></center><hr><center>nginx</center></body></html>`,
    "<html><body><h1>503 Service Unavailable</h1>\nNo server is available to handle this request.\n</body></html>",
    "no healthy upstream",
    "upstream connect error or disconnect/reset before headers. reset reason: connection timeout",
    "upstream request timeout",
    `error code: ${status}`,
    "",
  ]);
  return { status, body: text, contentType: "text/html" };
}

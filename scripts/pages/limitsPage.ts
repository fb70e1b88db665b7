import { MAX_IDEMPOTENCY_KEY_LENGTH, MAX_JSON_VALUES } from "@gas-waiver/protocol";
import { TERM_SETTINGS } from "../../packages/cli/src/keys/keySettings.js";
import { flagOfOption } from "../../packages/cli/src/serve/optionSettings.js";
import { SERVE_SETTINGS } from "../../packages/cli/src/serve/serveSettings.js";
import { MAX_REQUEST_BYTES } from "../../packages/server/src/chain/rpc/endpointLimits.js";
import { MAX_RESPONSE_BYTES } from "../../packages/server/src/chain/rpc/httpPoster.js";
import { MAX_BATCH_CALLS } from "../../packages/server/src/chain/rpc/rpcOutcome.js";
import {
  MAX_CONCURRENT,
  MAX_CONCURRENT_PER_KEY,
  MAX_WAITING,
  MAX_WAITING_PER_KEY,
} from "../../packages/server/src/check/check.js";
import {
  MAX_ADDRESS_SUBSCRIPTIONS,
  MAX_KEY_SUBSCRIPTIONS,
  MAX_SUBSCRIPTIONS,
} from "../../packages/server/src/gateway/feed/subscriptionLimits.js";
import { MAX_GATEWAY_CALLS } from "../../packages/server/src/gateway/jsonRpc.js";
import { GATEWAY_BODY_BYTES } from "../../packages/server/src/http/authenticator.js";
import { MAX_HEAD_BYTES } from "../../packages/server/src/http/base.js";
import { FREE_CHUNKS, MIN_AVERAGE_CHUNK_BYTES } from "../../packages/server/src/http/body/jsonBody.js";
import { NOTIFIED_BYTES } from "../../packages/server/src/http/gateway/buildGateway.js";
import { ADDRESS_BYTES } from "../../packages/server/src/http/limits/bodyMemoryBudget.js";
import { KEYLESS_MS, OPERATORS_CONNECTIONS } from "../../packages/server/src/http/limits/connections.js";
import {
  MAX_CONCURRENT_READS,
  MAX_CONCURRENT_READS_PER_KEY,
  MAX_WAITING_READS,
  MAX_WAITING_READS_PER_ADDRESS,
  MAX_WAITING_READS_PER_KEY,
  RECORDS_PER_READ,
} from "../../packages/server/src/http/limits/readLimiter.js";
import { MAX_WAITING_BYTES, WAITING_BYTES } from "../../packages/server/src/http/limits/requestTurns.js";
import { IDLE_SCRAPER_MS } from "../../packages/server/src/http/operatorsApp.js";
import { STALLED_CLIENT_MS } from "../../packages/server/src/http/port/port.js";
import { MAX_UNREAD_BYTES } from "../../packages/server/src/http/socket/connection.js";
import { MAX_CONTROL_FRAMES, MAX_FRAMES } from "../../packages/server/src/http/socket/frameGuard.js";
import { MAX_ADDRESS_SOCKETS } from "../../packages/server/src/http/socket/limits.js";
import { MESSAGE_LIMITS } from "../../packages/server/src/http/socket/socket.js";
import { PUBLISHABLE_LIMITS } from "../../packages/server/src/keys/directory.js";
import { RESERVED } from "../../packages/server/src/lane/sign/plan.js";
import { PUBLISHABLE_SHARE } from "../../packages/server/src/model/keys/caller.js";
import {
  DEFAULT_ADDRESS_LIMITS,
  DEFAULT_PUBLISHABLE_CAPS,
  DEFAULT_SENDER_CAPS,
} from "../../packages/server/src/model/keys/keyTerms.js";
import { SHARES_OF_SITE } from "../../packages/server/src/model/options/networkAddress.js";
import { type Option, withNames } from "../../packages/server/src/model/options/option.js";
import { DEFAULTS } from "../../packages/server/src/model/options/options.js";
import { OPTION_SUBJECTS } from "../../packages/server/src/model/options/optionTable.js";
import { REFUSALS_OF_KEY, REFUSALS_OF_REPLICA } from "../../packages/server/src/results/refusals.js";
import { code, page, table } from "./markdown.js";

type Row = readonly [limit: string, byDefault: string, setting: string, beyond: string];
type Setting = keyof typeof SERVE_SETTINGS;
type KeySetting = keyof typeof TERM_SETTINGS;

const HEAD = ["limit", "default", "setting", "beyond it"];

const count = (value: number | bigint) => value.toLocaleString("en");

function bytes(value: number): string {
  if (value % 2 ** 20 === 0) return `${value / 2 ** 20} MiB`;
  return value % 1024 === 0 ? `${value / 1024} KiB` : `${count(value)} bytes`;
}

function time(ms: number): string {
  if (ms % 3_600_000 === 0) return `${ms / 3_600_000} h`;
  return ms >= 120_000 && ms % 60_000 === 0 ? `${ms / 60_000} min` : `${ms / 1_000} s`;
}

type CapName = "transactions" | "gas" | "senderTransactions" | "senderGas";

/** The flags of a key's caps. */
function capsOf(...names: readonly CapName[]): string {
  return `a key's caps: ${names.map((name) => code(`--${TERM_SETTINGS[name].flag}`)).join(", ")}`;
}

/** The flag of the service's setting. */
const flag = (name: Setting) => code(`--${"flag" in SERVE_SETTINGS[name] ? SERVE_SETTINGS[name].flag : ""}`);
/** The flag that sets it for one key: `gas-waiver keys update`. */
const ofKey = (name: KeySetting) => `a key's ${code(`--${TERM_SETTINGS[name].flag}`)}`;

/** The settings that change an option: the service's, and that of one key. */
function settingsFor(name: string): string {
  const ofService = name in SERVE_SETTINGS ? [code(flagOfOption(name))] : [];
  const key = name === "keyQueueShare" ? "queueShare" : name;
  return [...ofService, ...(key in TERM_SETTINGS ? [ofKey(key as KeySetting)] : [])].join("; ");
}

function shown(name: string, value: unknown): string {
  if (name.endsWith("Ms")) return time(Number(value));
  return name.endsWith("Bytes") ? bytes(Number(value)) : count(value as number | bigint);
}

/** The options of a subject that are limits for callers. */
const rowsOf = (subject: keyof typeof OPTION_SUBJECTS): Row[] =>
  Object.entries<Option<unknown>>(OPTION_SUBJECTS[subject]).flatMap(([name, option]): Row[] => {
    const { sentence, beyond } = option;
    if (beyond === undefined) return [];
    const limit = withNames(sentence, (other) => code(flagOfOption(other))).replace(/(, in ms)?\.$/, "");
    return [[limit, shown(name, option.default), settingsFor(name), beyond]];
  });

const REQUESTS: readonly Row[] = [
  ["header fields together", bytes(MAX_HEAD_BYTES), "", "431 `HEAD_TOO_LARGE`"],
  ["values in the JSON of a body or frame", count(MAX_JSON_VALUES), "", "400 `MALFORMED_BODY`"],
  [
    "chunks in which a body comes",
    `${count(FREE_CHUNKS)}, and one more for each ${MIN_AVERAGE_CHUNK_BYTES} bytes`,
    "",
    "400 `MALFORMED_BODY`, connection closed",
  ],
  ["`Idempotency-Key`", `${MAX_IDEMPOTENCY_KEY_LENGTH} characters`, "", "400 `INVALID_IDEMPOTENCY_KEY`"],
];

const RATES: readonly Row[] = [
  [
    "transactions of dry runs a second, and at once",
    "as many again as those of submits",
    "the same",
    "429 `RATE_EXCEEDED`, with `Retry-After`",
  ],
  [
    "reads at work, and of one key",
    `${MAX_CONCURRENT_READS}, and ${MAX_CONCURRENT_READS_PER_KEY}`,
    "",
    "they wait",
  ],
  [
    "reads that wait, and of one key",
    `${MAX_WAITING_READS}, and ${MAX_WAITING_READS_PER_KEY}`,
    "",
    "503 `QUEUE_AT_CAPACITY`",
  ],
  [
    "refused lines of a key that are kept for a day, at once and then a second",
    `${count(REFUSALS_OF_KEY.rateBurst)}, and ${count(REFUSALS_OF_KEY.ratePerSecond)}`,
    "",
    "404 `NO_SUCH_SUBMISSION` for the `id` of the line",
  ],
  [
    "the same of all keys, on each replica",
    `${count(REFUSALS_OF_REPLICA.rateBurst)}, and ${count(REFUSALS_OF_REPLICA.ratePerSecond)}`,
    "",
    "the same",
  ],
  [
    "requests for a dry run at work, and of one key",
    `${MAX_CONCURRENT}, and ${MAX_CONCURRENT_PER_KEY}`,
    "",
    "they wait",
  ],
  [
    "requests for a dry run that wait, and of one key",
    `${MAX_WAITING}, and ${MAX_WAITING_PER_KEY}`,
    "",
    "503 `QUEUE_AT_CAPACITY`",
  ],
  ["transactions and gas a day, of a key", "none", capsOf("transactions", "gas"), "line `CAP_EXCEEDED`"],
  [
    "transactions and gas a day, of a sender under a new key",
    `${count(DEFAULT_SENDER_CAPS.senderTransactions)}, and ${count(Number(DEFAULT_SENDER_CAPS.senderGas))}`,
    capsOf("senderTransactions", "senderGas"),
    "line `CAP_EXCEEDED`",
  ],
  [
    "wrappers of one sender, and of one key, that wait for a block of a waiver",
    `${100 * (1 - 2 * RESERVED)} %, and ${100 * (1 - RESERVED)} % of it`,
    "",
    "they wait",
  ],
];

const GATEWAY: readonly Row[] = [
  ["Most calls of one batch", count(MAX_GATEWAY_CALLS), "", "`-32600` in JSON-RPC"],
];

const CONNECTIONS: readonly Row[] = [
  [
    "connections of one IPv6 network of 48 bits, and its rates under a publishable key",
    `${count(SHARES_OF_SITE)} times as many as of one address`,
    "",
    "the same",
  ],
  [
    "a connection that has shown no good key",
    time(DEFAULTS.headTimeoutMs + KEYLESS_MS),
    flag("headTimeoutMs"),
    "closed",
  ],
  [
    "fragments of one frame; frames without content",
    `${count(MESSAGE_LIMITS.maxFragments)}; ${count(MAX_FRAMES)}`,
    "",
    "closed with 1008",
  ],
  ["packets in which one frame comes", count(MESSAGE_LIMITS.maxBufferedChunks), "", "closed with 1008"],
  [
    `pings and pongs of a client in ${time(DEFAULTS.socketPingMs)}`,
    count(MAX_CONTROL_FRAMES),
    "",
    "closed with 1008",
  ],
  [
    `requests that wait for their turns, ${bytes(WAITING_BYTES)} each, and bytes that wait to be read`,
    `${bytes(MAX_WAITING_BYTES / 2)} of an API key or address, ${bytes(MAX_WAITING_BYTES)} of all without a secret key`,
    "",
    "connection closed",
  ],
  ["answers that a WebSocket does not read", bytes(MAX_UNREAD_BYTES), "", "nothing more is read from it"],
  [
    "message of the gateway",
    bytes(GATEWAY_BODY_BYTES),
    "",
    "413 `BODY_TOO_LARGE`; WebSocket closed with 1009",
  ],
];

const PUBLISHABLE: readonly Row[] = [
  [
    "transactions a second of an address, on each replica",
    count(DEFAULT_ADDRESS_LIMITS.addressRatePerSecond),
    ofKey("addressRatePerSecond"),
    "429 `RATE_EXCEEDED`, with `Retry-After`",
  ],
  [
    "transactions at once of an address after a pause",
    count(DEFAULT_ADDRESS_LIMITS.addressRateBurst),
    ofKey("addressRateBurst"),
    "the same",
  ],
  ["reads of an address that wait", count(MAX_WAITING_READS_PER_ADDRESS), "", "503 `QUEUE_AT_CAPACITY`"],
  ["WebSockets of an address", count(MAX_ADDRESS_SOCKETS), "", "503 `SOCKETS_AT_CAPACITY`"],
  [
    "WebSockets, queue, and bodies, frames and answers in memory, of all publishable keys",
    `${100 * PUBLISHABLE_SHARE} %`,
    "",
    "503 `SOCKETS_AT_CAPACITY`, `KEY_SHARE_EXHAUSTED`, `BODIES_AT_CAPACITY`",
  ],
  [
    "subscriptions of a connection, an address and a key",
    [MAX_SUBSCRIPTIONS, MAX_ADDRESS_SUBSCRIPTIONS, MAX_KEY_SUBSCRIPTIONS].map(count).join(", "),
    "",
    "error -32005; of a key that has all, the address with most leaves room to one with few: closed with 1013",
  ],
  [
    "notifications a second, and at once, to an address",
    `${bytes(NOTIFIED_BYTES.ofAddress.ratePerSecond)}, and ${bytes(NOTIFIED_BYTES.ofAddress.rateBurst)}`,
    "",
    "they wait",
  ],
  [
    "bodies, frames and answers of an address in memory at once, or one body with the largest answer",
    bytes(ADDRESS_BYTES),
    "",
    "503 `BODIES_AT_CAPACITY`; WebSocket closed with 1013",
  ],
  [
    "transactions in a request or frame",
    count(PUBLISHABLE_LIMITS.maxBatchSize),
    ofKey("maxBatchSize"),
    "413 `BATCH_TOO_LARGE`",
  ],
  [
    "body, or frame of a WebSocket",
    bytes(PUBLISHABLE_LIMITS.maxBodyBytes),
    ofKey("maxBodyBytes"),
    "413 `BODY_TOO_LARGE`; WebSocket closed with 1009",
  ],
  [
    "transactions and gas a day, of a sender",
    `${count(DEFAULT_PUBLISHABLE_CAPS.senderTransactions)}, and ${count(DEFAULT_PUBLISHABLE_CAPS.senderGas)}`,
    capsOf("senderTransactions", "senderGas"),
    "line `CAP_EXCEEDED`",
  ],
  [
    "transactions and gas a day, of all senders",
    `${count(DEFAULT_PUBLISHABLE_CAPS.transactions)}, and ${count(DEFAULT_PUBLISHABLE_CAPS.gas)}`,
    capsOf("transactions", "gas"),
    "line `CAP_EXCEEDED`",
  ],
];

const { maxConnections, maxAddressConnections, keylessMs } = OPERATORS_CONNECTIONS;
const OPERATORS: readonly Row[] = [
  [
    "connections to the admin API",
    count(maxConnections),
    "",
    "takes the place of the oldest without a good token; closed at once if there is none",
  ],
  ["an admin connection that has shown no good token", time(keylessMs), "", "closed"],
  [
    "connections to the metrics and probes",
    count(maxConnections),
    "",
    "takes the place of the one that has been silent for longest",
  ],
  ["a connection to the metrics without a request", time(IDLE_SCRAPER_MS), "", "closed"],
  [
    "connections of one address to either of the two, but of trusted proxies",
    count(maxAddressConnections),
    "",
    "the same, among those of the address",
  ],
];

const NODES: readonly Row[] = [
  ["calls in one request to a node", count(MAX_BATCH_CALLS), "", "the next request"],
  [
    "bytes of one request to a node",
    bytes(MAX_REQUEST_BYTES),
    "",
    "the next request; one call may be larger",
  ],
  ["bytes of a node's answer", bytes(MAX_RESPONSE_BYTES), "", "cut, and asked again in halves"],
];

const TIMES: readonly Row[] = [
  [
    "a client that takes nothing of its answer",
    `${time(STALLED_CLIENT_MS)} and ${flag("requestTimeoutMs")}`,
    "",
    "cut off",
  ],
  ["a connection between two requests", "72 s", "", "closed"],
  ["a WebSocket without a sign of life", `two pings, ${time(DEFAULTS.socketPingMs)} apart`, "", "cut off"],
  ["an answer of the node", time(DEFAULTS.rpcTimeoutMs), "", "asked again, or another node"],
  [
    "the end of the service",
    `${time(DEFAULTS.shutdownMs)}, and 5 s in any case, after the delay`,
    `${flag("shutdownDelayMs")} is the delay`,
    "calls in flight are given up, and open lines end",
  ],
];

/** docs/limits.md */
export function limitsPage(): string {
  return page(
    "the defaults in packages/server/src and the flags in packages/cli/src",
    "Limits",
    "Each limit of the service with its default, the setting that changes it, and what a client gets beyond it. Times are milliseconds on the command line. [Errors](errors.md) has the reasons, and [What attacks cost](design/abuse.md) what attacks cost with these defaults.",
    `## Requests\n\n${table(HEAD, [...rowsOf("Requests"), ...REQUESTS])}`,
    "A body counts towards the bytes in memory from its first byte until its request is answered, a frame until its transactions are in the store. A body that says how long it is, and is too long, is refused before it is read. Where no key is needed or none is good, a body is never kept.",
    `## Rates and queues\n\n${table(HEAD, [...rowsOf("Rates and queues"), ...RATES])}`,
    `The rate counts transactions. Dry runs have a rate of their own, which is as high. Reads have another, which each replica counts by itself; a page, or a \`watch\` of many, counts one more for each ${RECORDS_PER_READ} records. \`GET /v1/ready\` has none: it asks the store once a second at most, and no node.`,
    `## The gateway\n\n${table(HEAD, [...rowsOf("The gateway"), ...GATEWAY])}`,
    `## Publishable keys\n\n${table(HEAD, PUBLISHABLE)}`,
    "The limits of each address come before those of its key, so that an address that is too fast takes nothing from the others. On the gateway, the addresses of a key also share its reads: none may have used more than are left, so one that floods leaves half of those at once to the others, and is refused first. A network of IPv6 (64 bits) counts as one address.",
    `## Connections\n\n${table(HEAD, [...rowsOf("Connections"), ...CONNECTIONS])}`,
    "Each connection needs a file descriptor: `ulimit -n` must be above `--max-connections` by some hundred, for the database and the node. Backends share addresses, so an address may have many connections unless you lower `--max-address-connections`. The connections of a proxy that `--trusted-proxies` names count for nobody: let it limit those of its clients.",
    `## Ports of operators\n\n${table(HEAD, OPERATORS)}`,
    `## Nodes\n\n${table(HEAD, NODES)}`,
    "A request that a node, or a proxy before it, refuses for its size goes again in halves, down to the one call that is too large alone. What each node takes is remembered, and larger requests are tried again now and then. A call that is refused alone says nothing of the others, whose requests stay as large as they were.",
    `## Times\n\n${table(HEAD, [...rowsOf("Times"), ...TIMES])}`,
    "A slow request is noticed within a second of its time.",
  );
}

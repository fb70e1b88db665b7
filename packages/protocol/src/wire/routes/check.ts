import { define } from "../../define.js";
import { describeValue } from "../../describeValue.js";
import { ProtocolError } from "../../protocolError.js";
import { LINE_ERROR_SCHEMA, orderedErrorBody, parseLineError } from "../errorBody.js";
import { NDJSON } from "../resultLine.js";
import { GAS_PRICE_SAMPLE, SIGNED_SAMPLE, TX_HASH_SAMPLE } from "../samples.js";
import { objectSchema, type Schema } from "../schema.js";
import { fits, type Members, type TypeOf } from "../shape.js";
import submitRequest, { SUBMIT_REQUEST_SCHEMA } from "../submitRequest.js";
import { isHash } from "../values.js";
import { WireError } from "../wireError.js";
import { defineRoute, type Route } from "./routeDefinition.js";

export const CHECK_ROUTE = {
  method: "POST",
  path: "/v1/check",
  authenticated: true,
} as const satisfies Route;

/** The values of the query parameter `simulate`. */
export const SIMULATE = ["true", "false"] as const;
export type Simulate = (typeof SIMULATE)[number];

/**
 * The ways in which a simulated call fails: an error text of the contract (`error`), a check of its compiler (`panic`),
 * a custom error (`custom`), a revert without data (`empty`), or an end that is no revert, such as out of gas
 * (`halted`).
 */
export const SIMULATION_FAILURES = ["error", "panic", "custom", "empty", "halted"] as const;

const SIMULATED_SUCCESS = { success: ["const", true] } as const satisfies Members;

const SIMULATED_FAILURE = {
  success: ["const", false],
  kind: ["enum", SIMULATION_FAILURES],
  /** The contract's error text, or a description of the failure, for a person. */
  message: "text",
  /** The data of the revert as 0x-prefixed hex, if there is any. */
  data: "text?",
} as const satisfies Members;

/** The result of running the call on the state of the latest block. */
export type Simulation = SimulatedSuccess | SimulatedFailure;

/** The call succeeds. */
interface SimulatedSuccess extends TypeOf<typeof SIMULATED_SUCCESS> {}

/** The call fails, for the reason that `kind` and `message` tell. */
interface SimulatedFailure extends TypeOf<typeof SIMULATED_FAILURE> {}

const ACCEPTABLE = {
  /** The position in the request's `transactions`. */
  index: "count",
  success: ["const", true],
  /** The InnerTx's hash (D6). */
  txHash: "txHash",
} as const satisfies Members;

/** The line of a transaction that the service would accept. */
interface AcceptableLine extends TypeOf<typeof ACCEPTABLE> {
  /** Present if the request asked for it. */
  readonly simulation?: Simulation;
}

const REFUSED = {
  index: "count",
  success: ["const", false],
  /** The rule that refuses the transaction. */
  error: parseLineError,
} as const satisfies Members;

/** The line of a transaction that the service would refuse. */
interface RefusedLine extends TypeOf<typeof REFUSED> {}

/** One line of the response: whether the service would accept the transaction. It has no id of a submission. */
export type CheckLine = AcceptableLine | RefusedLine;

/**
 * Reads the query parameter `simulate`; false if it is absent.
 * @throws {@link ProtocolError} `MALFORMED_QUERY` if the value is not one of {@link SIMULATE}.
 * @example
 * ```ts
 * parseSimulate(undefined); // false
 * parseSimulate("true"); // true
 * ```
 */
export function parseSimulate(value: unknown): boolean {
  if (value === undefined) return false;
  const known = SIMULATE.find((one) => one === value);
  if (known !== undefined) return known === "true";
  const message = `simulate is ${describeValue(value)}; it can be ${SIMULATE.join(" or ")}`;
  throw new ProtocolError("MALFORMED_QUERY", message, { parameter: "simulate" });
}

/**
 * Writes a line of a check as JSON text without a newline, with its members in a fixed order.
 * @example
 * ```ts
 * encodeCheckLine({ index: 0, success: true, txHash: "0x…" }); // {"index":0,"success":true,"txHash":"0x…"}
 * ```
 */
export function encodeCheckLine(line: CheckLine): string {
  if (line.success) {
    const { index, success, txHash, simulation } = line;
    return JSON.stringify({ index, success, txHash, simulation: simulation && inOrder(simulation) });
  }
  return JSON.stringify({ index: line.index, success: false, error: orderedErrorBody(line.error) });
}

function inOrder(simulation: Simulation): object {
  if (simulation.success) return { success: true };
  const { kind, message, data } = simulation;
  return { success: false, kind, message, data };
}

/**
 * Reads a line of a check. Members that this library does not know are left out.
 * @throws {@link WireError} if the value is not such a line.
 * @example
 * ```ts
 * const line = parseCheckLine(JSON.parse(text));
 * if (!line.success) console.error(line.error.reason, line.error.message);
 * ```
 */
export function parseCheckLine(value: unknown): CheckLine {
  const problem = "the line is not the check of a transaction";
  if (fits(ACCEPTABLE, value) && isHash(value.txHash)) {
    const { index, success, txHash, simulation }: AcceptableLine = value;
    if (simulation === undefined) return { index, success, txHash };
    if (isSimulation(simulation)) return { index, success, txHash, simulation };
  }
  if (!fits(REFUSED, value)) throw new WireError(problem, value);
  const { index, success, error } = value;
  return { index, success, error: parseLineError(error, problem, value) };
}

function isSimulation(value: unknown): value is Simulation {
  return fits(SIMULATED_SUCCESS, value) || fits(SIMULATED_FAILURE, value);
}

const SIMULATE_SCHEMA: Schema = /* @__PURE__ */ define(() => ({
  type: "string",
  enum: SIMULATE,
  description: "Whether each acceptable call also runs on the state of the latest block.",
}));

const CHECK_LINE_SCHEMA: Schema = /* @__PURE__ */ define(() => {
  const index = "The position in the request's `transactions`.";
  const simulation: Schema = {
    description:
      "The result of the call on the state of the latest block. Present if the request asked for it.",
    oneOf: [
      objectSchema(SIMULATED_SUCCESS),
      objectSchema(SIMULATED_FAILURE, undefined, {
        kind: "`error`: an error text of the contract. `panic`: a check of its compiler. `custom`: a custom error. `empty`: a revert without data. `halted`: an end that is no revert, such as out of gas.",
        message: "The contract's error text, or a description of the failure.",
        data: "The data of the revert, as hex.",
      }),
    ],
  };
  return {
    description: "One line of a check: whether the service would accept the transaction.",
    oneOf: [
      objectSchema({ ...ACCEPTABLE, simulation: ["optional", isSimulation] }, undefined, {
        index,
        simulation,
      }),
      objectSchema(REFUSED, undefined, { index, error: LINE_ERROR_SCHEMA }),
    ],
  };
});

export default /* @__PURE__ */ defineRoute(() => ({
  summary: "Check transactions without submitting them",
  text: [
    "The dry run of a submit: it has the same body and answers with a line for each transaction, in their order. Nothing is accepted, queued or sent. A line says whether the service would accept the transaction now, or which rule refuses it: its encoding, the rules of the chain, the policies of the waivers and of this key, the sender's account, nonce and balance, and the key's daily caps.",
    "Transactions of one sender are checked together, in the order of their nonces. A nonce counts as used if a submission in flight has it, or an acceptable transaction of the same request. A transaction ahead of its turn is refused with `NONCE_GAP`, where a submit would wait a while for its predecessor. The `value`s of a sender add up against its balance.",
    "With `simulate=true` each acceptable call also runs alone on the latest block, from its sender and with its gas limit. A revert shows in `simulation`; the line's `success` still says that the service would accept the transaction.",
    "A check is not counted against the rate of submits: it has a rate of its own, of the same height. Its result may no longer hold when the transaction is submitted.",
  ],
  parameters: [
    {
      in: "query",
      name: "simulate",
      description: `${SIMULATE_SCHEMA.description} \`false\` if it is absent.`,
      schema: SIMULATE_SCHEMA,
    },
  ],
  body: SUBMIT_REQUEST_SCHEMA,
  responses: {
    200: {
      description: "Each line of the body is the check of one transaction.",
      contentType: NDJSON,
      schema: CHECK_LINE_SCHEMA,
      headers: ["RateLimit", "RateLimit-Policy", "Cache-Control"],
    },
  },
  refusals: [
    "MALFORMED_JSON",
    "MALFORMED_BODY",
    "EMPTY_BATCH",
    "UNSUPPORTED_MEDIA_TYPE",
    "BODY_TOO_LARGE",
    "BATCH_TOO_LARGE",
    "RATE_EXCEEDED",
    "QUEUE_AT_CAPACITY",
    "BODIES_AT_CAPACITY",
    "STORE_UNAVAILABLE",
    "CHAIN_UNAVAILABLE",
    "SHUTTING_DOWN",
  ],
  curl: `curl "$URL/v1/check?simulate=true" \\
  -H "Authorization: Bearer $API_KEY" -H 'Content-Type: application/json' \\
  -d '{"transactions":["${SIGNED_SAMPLE}"]}'`,
  sdk: `const [line] = await client.check([signed], { simulate: true });
if (!line.success) console.error(line.error.reason, line.error.message);`,
  schemas: {
    ...submitRequest,
    CheckLine: {
      schema: CHECK_LINE_SCHEMA,
      examples: [
        { index: 0, success: true, txHash: TX_HASH_SAMPLE, simulation: { success: true } },
        {
          index: 1,
          success: true,
          txHash: TX_HASH_SAMPLE,
          simulation: {
            success: false,
            kind: "error",
            message: "insufficient balance",
            data: "0x08c379a0",
          },
        },
        { index: 2, success: false, error: GAS_PRICE_SAMPLE },
      ],
      read: parseCheckLine,
      write: encodeCheckLine,
    },
    Simulate: { schema: SIMULATE_SCHEMA, examples: SIMULATE, read: parseSimulate },
  },
}));

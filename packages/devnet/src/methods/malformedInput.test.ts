import fc from "fast-check";
import { expect, it } from "vitest";
import { BYTECODE } from "../../test/support/bytecode.js";
import { methodNames } from "../../test/support/methodNames.js";
import { addressOf } from "../../test/support/testNode.js";
import { useTestNode } from "../../test/support/useTestNode.js";
import { TEST_TOKEN_ADDRESS } from "../presets/constants.js";
import { toRpcError } from "../rpc/errors.js";

const node = useTestNode();

/** Methods that set faults, that take long, or whose effect outlives the test. */
const EXCLUDED = /^devnet_|mine$|IntervalMining$/i;

const atom = fc.oneof(
  fc.constantFrom(
    null,
    0,
    1,
    -1,
    1.5,
    1e300,
    "",
    "0x",
    "0x0",
    "0x1",
    "0x00",
    "latest",
    "pending",
    true,
    false,
  ),
  fc.constantFrom(`0x${"f".repeat(64)}`, `0x${"ab".repeat(32)}`, "callTracer", "newHeads", "logs", "strict"),
  fc.constantFrom(addressOf(0), addressOf(13), TEST_TOKEN_ADDRESS, `0x${"f333".padStart(40, "0")}`),
  fc.constantFrom(...Object.values(BYTECODE)),
);
const key = fc.oneof(
  fc.constantFrom(
    "from",
    "to",
    "data",
    "input",
    "value",
    "gas",
    "gasPrice",
    "nonce",
    "accessList",
    "address",
  ),
  fc.constantFrom("topics", "fromBlock", "toBlock", "blockHash", "blockNumber", "tracer", "tracerConfig"),
  fc.constantFrom(
    "withLog",
    "stateOverrides",
    "balance",
    "code",
    "state",
    "stateDiff",
    "storageKeys",
    "time",
  ),
  fc.constantFrom("__proto__", "constructor", addressOf(1), TEST_TOKEN_ADDRESS, `0x${"01".repeat(32)}`),
);
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    atom,
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(key, tie("value"), { maxKeys: 5 }),
  ),
}));

it("a method answers any parameters with a result or an error, and never with an internal error", async () => {
  const names = methodNames().filter((name) => !EXCLUDED.test(name));
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...names), fc.array(value, { maxLength: 4 }), async (method, params) => {
      const error = await node.rpc(method, ...params).then(() => undefined, toRpcError);
      expect(error?.message ?? "").not.toMatch(/^internal error/);
      JSON.stringify(error?.data ?? null);
    }),
    { numRuns: 2_000 },
  );
  await node.devnet.mine();
});

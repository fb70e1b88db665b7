// A law: the block after it has whatever the pool took (D8). A chain whose pool takes what its blocks must refuse stands still.
import { bytesToHex, concatBytes, type Hex, hexToBytes } from "@gas-waiver/protocol";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  addressOf,
  createTestNode,
  hashOf,
  signInner,
  signOrdinary,
  type TestNode,
  transferData,
  wrap,
} from "../../test/support/testNode.js";
import type { SealedBlock } from "../block/block.js";
import { TEST_TOKEN } from "../presets/constants.js";

const DELEGATION = hexToBytes("0xef0100");
const [SENDER, WAIVER, PAYING] = [0, 10, 13];

const bytes = (most: number) => fc.uint8Array({ maxLength: most });
const code = fc.oneof(
  fc.constant(new Uint8Array(0)),
  fc.constant(concatBytes(DELEGATION, TEST_TOKEN)),
  fc.uint8Array({ minLength: 20, maxLength: 20 }).map((target) => concatBytes(DELEGATION, target)),
  bytes(24),
  bytes(4).map((rest) => concatBytes(DELEGATION, rest)),
);
const amount = fc.oneof(
  fc.constantFrom(0n, 1n, 10n ** 18n, 2n ** 256n - 1n),
  fc.bigInt({ min: 0n, max: 2n ** 70n }),
);
const gas = fc.oneof(
  fc.constantFrom(21_000n, 30_000n, 100_000n, 10n ** 9n, 2n ** 50n, 2n ** 64n - 1n),
  fc.bigInt({ min: 20_000n, max: 200_000n }),
);
const calldata = fc.oneof(
  fc.constant(transferData(addressOf(9), 10n ** 18n)),
  fc.constant(transferData(addressOf(9), 2n ** 255n)),
  bytes(600).map((rest) => concatBytes(hexToBytes("0xa9059cbb"), rest)),
);
const account = fc.record({
  code,
  balance: amount,
  nonce: fc.constantFrom(0n, 1n, 2n ** 63n, 2n ** 64n - 2n),
});
const transaction = fc.record({ gasLimit: gas, value: amount, data: calldata });

describe("whatever the pool takes is in the next block", () => {
  let node: TestNode;
  beforeAll(async () => {
    node = await createTestNode({ pool: "strict" });
  });
  afterAll(() => node.devnet.close());

  const setAccount = async (index: number, wanted: { code: Uint8Array; balance: bigint; nonce: bigint }) => {
    await node.rpc("anvil_setCode", addressOf(index), bytesToHex(wanted.code));
    await node.rpc("anvil_setBalance", addressOf(index), `0x${wanted.balance.toString(16)}`);
    await node.rpc("anvil_setNonce", addressOf(index), `0x${wanted.nonce.toString(16)}`);
  };

  /** Sends a transaction, and asserts that it is refused or in the next block. @returns whether it was taken. */
  async function sendAndAssert(raw: Hex): Promise<boolean> {
    try {
      await node.send(raw);
    } catch {
      return false;
    }
    const dropped = node.devnet.drops().length;
    const { transactions } = (await node.devnet.mine()) as SealedBlock;
    expect(node.devnet.drops().slice(dropped)).toEqual([]);
    expect(transactions[0]?.tx.hash).toBe(hashOf(raw));
    return true;
  }

  /** Runs a property in a state that each run leaves as it was, and asserts that both verdicts occurred. */
  async function holds<T>(input: fc.Arbitrary<T>, send: (value: T) => Promise<boolean>): Promise<void> {
    const verdicts = new Set<boolean>();
    const property = fc.asyncProperty(input, async (value) => {
      const snapshot = await node.rpc("evm_snapshot");
      verdicts.add(await send(value));
      await node.rpc("evm_revert", snapshot);
    });
    await fc.assert(property, { numRuns: 300 });
    expect(verdicts).toEqual(new Set([true, false]));
  }

  it("for a wrapper of any sender and any InnerTx", () =>
    holds(
      fc.record({
        sender: account,
        inner: transaction,
        extraGas: fc.constantFrom(0n, 9_999n, 10_000n, 50_000n),
      }),
      async ({ sender, inner, extraGas }) => {
        await setAccount(SENDER, sender);
        const signed = signInner(SENDER, { ...inner, nonce: sender.nonce });
        const wrapped = wrap(signed, { waiver: WAIVER });
        const gasLimit = inner.gasLimit + 60_000n + extraGas;
        return sendAndAssert(gasLimit < 2n ** 64n ? wrap(signed, { waiver: WAIVER, gasLimit }) : wrapped);
      },
    ));

  it("for a transaction that pays, calls or creates", () =>
    holds(
      fc.record({
        sender: account,
        tx: transaction,
        gasPrice: fc.constantFrom(0n, 10n ** 9n, 2n ** 200n),
        to: fc.constantFrom(TEST_TOKEN, hexToBytes(addressOf(9)), undefined),
      }),
      async ({ sender, tx, gasPrice, to }) => {
        await setAccount(PAYING, sender);
        return sendAndAssert(signOrdinary(PAYING, { ...tx, gasPrice, to, nonce: sender.nonce }));
      },
    ));
});

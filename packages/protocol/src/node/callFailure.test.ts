import { describe, expect, it } from "vitest";
import { callFailureOf } from "./callFailure.js";

const PANIC = `0x4e487b71${"12".padStart(64, "0")}`;

describe("a node's error to a call", () => {
  it.each([
    // geth, cosmos/evm
    ["execution reverted", undefined, { kind: "empty" }],
    ["execution reverted", PANIC, { kind: "panic", panic: "0x12", data: PANIC }],
    ["execution reverted", "0x01020304", { kind: "custom", data: "0x01020304" }],
    // Besu nests nothing, others do.
    ["Execution reverted", { data: "0x01020304" }, { kind: "custom" }],
    ["out of gas", undefined, { kind: "out_of_gas" }],
    ["out of gas: gas required exceeds: 50000", undefined, { kind: "out_of_gas" }],
    ["EVM error: OutOfGas", undefined, { kind: "out_of_gas" }],
    ["invalid opcode: INVALID", undefined, { kind: "halted" }],
    ["EVM error: InvalidJump", undefined, { kind: "halted" }],
    ["stack underflow (0 <=> 2)", undefined, { kind: "halted" }],
    ["execution failed: static state change", undefined, { kind: "halted" }],
    // The node has not run the call.
    ["missing trie node 0123 (path ) state 0x45 is not available", undefined, undefined],
    ["header not found", undefined, undefined],
    ["Internal error", undefined, undefined],
    ["insufficient funds for gas * price + value", undefined, undefined],
    ["method handler crashed", undefined, undefined],
  ])("%s with %s means %o", (message, data, expected) => {
    const failure = callFailureOf({ message, data });
    if (expected === undefined) expect(failure).toBeUndefined();
    else expect(failure).toMatchObject(expected);
  });
});

import { Interface } from "ethers";
import { describe, expect, it } from "vitest";
import { Abi, abiEntries, decodedText } from "./abi.js";

const SOURCE = [
  "function set(address to, int16 delta, bool on, bytes4 tag, string name, bytes data)",
  "function nest((uint256 id, string[] names)[2] pairs, uint8[][] rows, (address a, bool b) fixed)",
  "error Short(uint256 has, uint256 needs)",
  "event Ignored(uint256 value)",
];
const oracle = new Interface(SOURCE);
const ALICE = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
const parse = (content: string) => new Abi(abiEntries(content));
const abi = parse(oracle.formatJson());

describe("an ABI", () => {
  it("decodes calls and errors as ethers encodes them", () => {
    const set = oracle.encodeFunctionData("set", [ALICE, -5, true, "0x01020304", 'a "b" é', "0xff"]);
    expect(decodedText(abi.decode("function", set as `0x${string}`) ?? ({} as never))).toBe(
      `set(to: ${ALICE}, delta: -5, on: true, tag: 0x01020304, name: "a \\"b\\" é", data: 0xff)`,
    );
    const pairs = [
      [1, ["x", "yy"]],
      [2n ** 255n, []],
    ];
    const nest = oracle.encodeFunctionData("nest", [pairs, [[1], [2, 3], []], [ALICE, false]]);
    expect(abi.decode("function", nest as `0x${string}`)).toEqual({
      signature: "nest((uint256,string[])[2],uint8[][],(address,bool))",
      arguments: [
        {
          name: "pairs",
          value: [
            ["1", ['"x"', '"yy"']],
            [String(2n ** 255n), []],
          ],
        },
        { name: "rows", value: [["1"], ["2", "3"], []] },
        { name: "fixed", value: [ALICE, "false"] },
      ],
    });
    const error = oracle.encodeErrorResult("Short", [1, 2]) as `0x${string}`;
    expect(abi.decode("error", error)?.signature).toBe("Short(uint256,uint256)");
    expect(abi.decode("function", error)).toBeUndefined();
  });

  it("gives nothing for data that are cut, and for few bytes that stand for very many values", () => {
    const set = oracle.encodeFunctionData("set", [ALICE, 1, true, "0x01020304", "name", "0xff"]);
    for (let end = 10; end < set.length - 64; end += 32)
      expect(abi.decode("function", set.slice(0, end) as `0x${string}`)).toBeUndefined();
    const type = `uint8${"[]".repeat(12)}`;
    const bomb = new Interface([`function bomb(${type} x)`]);
    // Each of the 8 elements of a list leads to the same next list.
    const word = (value: number) => value.toString(16).padStart(64, "0");
    const list = `${word(8)}${word(8 * 32).repeat(8)}`;
    const data = `${bomb.getFunction("bomb")?.selector}${word(32)}${list.repeat(12)}`;
    expect(parse(bomb.formatJson()).decode("function", data as `0x${string}`)).toBeUndefined();
  });

  it("of somebody else neither ends the command, nor writes to the terminal what is not text", () => {
    const uint = (dimensions: number) => `{"type": "uint8${"[1]".repeat(dimensions)}"}`;
    const tuple = `${'{"type": "tuple", "components": ['.repeat(5_000)}${uint(0)}${"]}".repeat(5_000)}`;
    const inputs = [
      "null",
      '"uint8"',
      tuple,
      uint(9_000),
      '{"type": "uint8", "name": "\\u001b[2J"}',
      uint(1),
    ];
    const entries = inputs.map((input) => `{"type": "function", "name": "f", "inputs": [${input}]}`);
    expect(abiEntries(`[null, 1, [], ${entries}]`)).toEqual([JSON.parse(entries.at(-1) ?? "")]);
  });

  it("is read from a list, or from a compiler's output, and refused where there is none", () => {
    expect(abiEntries(`{"abi": ${oracle.formatJson()}, "bytecode": "0x"}`)).toHaveLength(3);
    expect(() => abiEntries("{}")).toThrow("has no ABI");
    expect(() => abiEntries("{")).toThrow("is not JSON");
  });
});

// Compiles the devnet's contracts and writes src/contracts/artifacts.ts.
// The output is committed, so that building and running the devnet needs no compiler. A test compiles the contracts
// and compares the bytes.

import { readFileSync, realpathSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const here = new URL(".", import.meta.url);
const CONTRACTS = ["NativeToken", "TestToken", "WaiverRegistry"];

/**
 * Compiles every contract.
 * @returns {Promise<Record<string, { abi: unknown[], bytecode: string, runtimeBytecode: string, slots: Record<string, number> }>>}
 *   by contract name; bytecode as 0x-prefixed hex, `slots` the storage slot of each state variable.
 * @throws {Error} with the compiler's own messages, warnings included.
 */
export async function compile() {
  const { default: solc } = await import("solc");
  const sources = {};
  for (const name of CONTRACTS) {
    sources[`${name}.sol`] = { content: readFileSync(new URL(`${name}.sol`, here), "utf8") };
  }
  const input = {
    language: "Solidity",
    sources,
    settings: {
      optimizer: { enabled: true, runs: 200 },
      evmVersion: "cancun",
      // No metadata hash: the bytecode then depends on the code alone, not on comments or file names.
      metadata: { bytecodeHash: "none", appendCBOR: false },
      outputSelection: {
        "*": { "*": ["abi", "evm.bytecode.object", "evm.deployedBytecode.object", "storageLayout"] },
      },
    },
  };
  const output = JSON.parse(solc.compile(JSON.stringify(input)));
  if (output.errors?.length > 0) throw new Error(output.errors.map((e) => e.formattedMessage).join("\n"));
  const artifacts = {};
  for (const name of CONTRACTS) {
    const contract = output.contracts[`${name}.sol`][name];
    artifacts[name] = {
      abi: contract.abi,
      bytecode: `0x${contract.evm.bytecode.object}`,
      runtimeBytecode: `0x${contract.evm.deployedBytecode.object}`,
      slots: Object.fromEntries(
        contract.storageLayout.storage.map((item) => [item.label, Number(item.slot)]),
      ),
    };
  }
  return artifacts;
}

/** Writes an artifact as code, with one part of its ABI a line. From a constant, viem infers the arguments of each method. */
function toCode(name, { abi, ...rest }) {
  const parts = abi.map((part) => `    ${JSON.stringify(part)},`).join("\n");
  const members = Object.entries(rest).map(([member, value]) => `  ${member}: ${JSON.stringify(value)},`);
  return `export const ${name} = {\n  abi: [\n${parts}\n  ],\n${members.join("\n")}\n} as const;\n`;
}

async function main() {
  const artifacts = await compile();
  const code = Object.entries(artifacts).map(
    ([name, artifact]) =>
      `/** The devnet's ${name}: its ABI, its code, and the storage slots of its variables. */\n${toCode(name, artifact)}`,
  );
  const head = "// Written by contracts/compile.mjs (npm run contracts). Do not edit.\n";
  writeFileSync(new URL("../src/contracts/artifacts.ts", here), [head, ...code].join("\n"));
  for (const [name, { runtimeBytecode }] of Object.entries(artifacts)) {
    console.log(`${name}: ${(runtimeBytecode.length - 2) / 2} bytes`);
  }
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) await main();

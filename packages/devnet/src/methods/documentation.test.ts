import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { methodNames } from "../../test/support/methodNames.js";

const text = readFileSync(join(import.meta.dirname, "../../../../docs/devnet.md"), "utf8");
const NAMESPACES = ["anvil", "debug", "devnet", "eth", "evm", "hardhat", "net", "rpc", "txpool", "web3"];
const documented = [...text.matchAll(/`([a-z0-9]+_[A-Za-z0-9]+)`/g)]
  .map(([, name = ""]) => name)
  .filter((name) => NAMESPACES.includes(name.split("_")[0] ?? ""));

describe("docs/devnet.md", () => {
  it("names every method there is, and none that there is not", () => {
    expect([...new Set(documented)].sort()).toEqual(methodNames().sort());
  });
});

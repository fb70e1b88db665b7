import type { Hex } from "@gas-waiver/protocol";
import artifacts from "./artifacts.json" with { type: "json" };

interface Code {
  readonly bytecode: Hex;
  readonly runtimeBytecode: Hex;
}

/** The devnet's contracts: their ABIs, their code, and the storage slots of their variables. `npm run contracts` compiles them. */
export const { TestToken, WaiverRegistry } = artifacts as typeof artifacts &
  Readonly<Record<keyof typeof artifacts, Code>>;

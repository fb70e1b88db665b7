import { testArrows } from "./testArrows.js";

// A request comes in at the top. The EVM and the state are at the bottom.
testArrows("devnet", {
  server: ["faults", "rpc"],
  methods: ["block", "chain", "evm", "pool", "presets", "rpc", "state"],
  faults: ["block", "chain", "governance", "pool", "rpc"],
  governance: ["block", "chain", "presets", "registry"],
  storage: ["block", "chain", "reports", "state"],
  rpc: ["pool"],
  chain: ["block", "contracts", "evm", "pool", "presets", "registry", "state"],
  pool: ["block", "evm", "registry", "reports", "state"],
  block: ["evm", "state"],
  evm: ["presets", "state"],
  registry: ["contracts", "presets", "state"],
  contracts: [],
  presets: [],
  state: [],
});

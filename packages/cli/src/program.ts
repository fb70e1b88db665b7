import type { Command, CommandEntry, CommandGroup } from "./command.js";

/**
 * The commands of a group by their names, with their summaries. Their module exports each by its name, and is imported when one of
 * them is called.
 */
function commandsOf<Name extends string>(
  load: () => Promise<Readonly<Record<NoInfer<Name>, Command>>>,
  summaries: Readonly<Record<Name, string>>,
): Record<Name, CommandEntry> {
  const names = Object.keys(summaries) as Name[];
  const entryOf = (name: Name) => ({ summary: summaries[name], load: async () => (await load())[name] });
  return Object.fromEntries(names.map((name) => [name, entryOf(name)])) as Record<Name, CommandEntry>;
}

const GOVERNANCE: CommandGroup = {
  summary: "Propose, vote on and list which waivers may send gas-waived transactions, on any chain.",
  introduction:
    "The WaiverRegistry of a chain: its waivers, what each may send, and the validators who vote on both.",
  commands: commandsOf(() => import("./commands/governance.js"), {
    list: "List the waivers with their targets, the validators, and the open proposals.",
    show: "Show one proposal: its subject, its votes, the missing votes, its expiry.",
    propose: "Propose to register, update or revoke a waiver, or to add or remove a validator.",
    vote: "Vote on a proposal.",
    allow: "Let a waiver call a further contract, beside what it may call already.",
  }),
};

const LANES: CommandGroup = {
  summary: "List, check and control the lanes of a service.",
  introduction: "The lanes of a service: each sends the wrappers of one waiver key.",
  commands: commandsOf(() => import("./commands/lanes.js"), {
    list: "List the lanes: their state, the replica that works each, and their load.",
    doctor: "Compare the lanes' unfinished submissions, nonces and newest blocks with the chain.",
    drain: "Let a lane finish its work, then retire it.",
    stop: "Stop a lane at once.",
    open: "Let a lane accept work again.",
    cancel: "Free a nonce that a wrapper holds which blocks leave out, by a transaction that pays.",
  }),
};

const WAIVERS: CommandGroup = {
  summary: "Create, import, export and list the encrypted keystores of waivers' keys, and rotate keys.",
  introduction:
    "The waivers' keys as encrypted keystores, which geth, ethers and Web3Signer read and write too.",
  commands: commandsOf(() => import("./commands/waivers.js"), {
    create: "Make a key, and write it encrypted under a passphrase.",
    import: "Encrypt a private key that lies in a file.",
    export: "Write the private key of a keystore to a file, unencrypted.",
    list: "List the keystores of a folder with their addresses.",
    reload: "Have all running replicas read their waivers' keys again.",
    rotate: "Replace a waiver's key under a running service: create, register, open, drain, revoke.",
  }),
};

const NODE: CommandGroup = {
  summary: "Check whether the chain's nodes are as a service needs them.",
  introduction: "The nodes of the chain that a service works with.",
  commands: commandsOf(() => import("./commands/node.js"), {
    check:
      "Check each node by reads alone: chain, lookups by hash, batches, history, finality, clock, waivers.",
  }),
};

const CONFIG: CommandGroup = {
  summary: "Check and print the configuration of a service.",
  introduction: "The configuration of a service: its file, the environment, and flags.",
  commands: commandsOf(() => import("./commands/config.js"), {
    check: "Find every problem of a configuration at once, and try all that can be tried without sending.",
    print: "Print the settings in force, and where each came from.",
    schema: "Print the JSON Schema of the configuration file.",
  }),
};

const KEYS: CommandGroup = {
  summary: "Create, list, change and revoke the API keys of a service, and read their audit log.",
  introduction:
    "The API keys of a service: who may submit, how much, and what. A change reaches all replicas within a second.",
  commands: commandsOf(() => import("./commands/keys.js"), {
    create: "Create a key and print it, this once.",
    list: "List the keys with their state and their own limits.",
    show: "Show one key.",
    update: "Change a key's label, expiry, limits, scope or caps.",
    rotate: "Give a key a new secret; the old one stays valid for a while.",
    disable: "Refuse a key until it is enabled again.",
    enable: "Accept a disabled key again.",
    revoke: "Revoke a key for good.",
    audit: "Show who changed which key, when, and how.",
  }),
};

/** All commands of `gas-waiver`. */
export const PROGRAM: CommandGroup = {
  summary: "",
  introduction:
    "A relay for gas-waived transactions: users sign with gas price 0, a waiver carries them on chain.",
  commands: {
    dev: {
      summary: "Start a local chain and the service together, and send one gasless transfer.",
      load: async () => (await import("./commands/dev.js")).dev,
    },
    accounts: {
      summary: "Print the devnet's accounts: addresses, private keys, roles, and what they hold.",
      load: async () => (await import("./commands/accounts.js")).accounts,
    },
    devnet: {
      summary: "Start a local chain alone, optionally kept in a folder, with faults on request.",
      load: async () => (await import("./commands/devnet.js")).devnet,
    },
    serve: {
      summary: "Start the submission service alone.",
      load: async () => (await import("./commands/serve.js")).serve,
    },
    submit: {
      summary: "Send a file of signed transactions through a service, resumably.",
      load: async () => (await import("./commands/submit.js")).submit,
    },
    check: {
      summary: "Tell whether signed transactions would be taken, by a service or by the rules alone.",
      load: async () => (await import("./commands/check.js")).check,
    },
    status: {
      summary: "Show the record of a submission, or how the service, its lanes and its nodes are.",
      load: async () => (await import("./commands/status.js")).status,
    },
    wrap: {
      summary: "Wrap signed transactions with a waiver's key and send them, without a service.",
      load: async () => (await import("./commands/wrap.js")).wrap,
    },
    explain: {
      summary: "Explain one transaction: what became of it, why, and what to do next.",
      load: async () => (await import("./commands/explain.js")).explain,
    },
    why: {
      summary: "For operators: tell what a submission of any API key waits for, and what to do.",
      load: async () => (await import("./commands/why.js")).why,
    },
    stuck: {
      summary: "For operators: list the submissions that no block has for some time, with their causes.",
      load: async () => (await import("./commands/why.js")).stuck,
    },
    config: CONFIG,
    node: NODE,
    keys: KEYS,
    audit: {
      summary: "Show or follow the audit of a service: changes, commands to lanes, failed authentications.",
      load: async () => (await import("./commands/audit.js")).audit,
    },
    export: {
      summary: "Export the outcomes of whole days to a file or to standard output.",
      load: async () => (await import("./commands/export.js")).exportOutcomes,
    },
    lanes: LANES,
    waivers: WAIVERS,
    governance: GOVERNANCE,
    completion: {
      summary: "Print the completion of commands and flags for bash, zsh or fish.",
      load: async () => (await import("./commands/completion.js")).completionOf(PROGRAM),
    },
  },
};

import type { CommandGroup } from "./command.js";

const GOVERNANCE: CommandGroup = {
  summary: "Propose, vote on and list which waivers may send gas-waived transactions, on any chain.",
  introduction:
    "The WaiverRegistry of a chain: its waivers, what each may send, and the validators who vote on both.",
  commands: {
    list: {
      summary: "List the waivers with their targets, the validators, and the open proposals.",
      load: async () => (await import("./commands/governance/list.js")).list,
    },
    show: {
      summary: "Show one proposal: its subject, its votes, the missing votes, its expiry.",
      load: async () => (await import("./commands/governance/show.js")).show,
    },
    propose: {
      summary: "Propose to register, update or revoke a waiver, or to add or remove a validator.",
      load: async () => (await import("./commands/governance/propose.js")).propose,
    },
    vote: {
      summary: "Vote on a proposal.",
      load: async () => (await import("./commands/governance/vote.js")).vote,
    },
    allow: {
      summary: "Let a waiver call a further contract, beside what it may call already.",
      load: async () => (await import("./commands/governance/allow.js")).allow,
    },
  },
};

const LANES: CommandGroup = {
  summary: "List, check and control the lanes of a service.",
  introduction: "The lanes of a service: each sends the wrappers of one waiver key.",
  commands: {
    list: {
      summary: "List the lanes: their state, the replica that works each, and their load.",
      load: async () => (await import("./commands/lanes/list.js")).list,
    },
    doctor: {
      summary: "Compare the lanes' unfinished submissions, nonces and newest blocks with the chain.",
      load: async () => (await import("./commands/lanes/doctor.js")).doctor,
    },
    drain: {
      summary: "Let a lane finish its work, then retire it.",
      load: async () => (await import("./commands/lanes/state.js")).drain,
    },
    stop: {
      summary: "Stop a lane at once.",
      load: async () => (await import("./commands/lanes/state.js")).stop,
    },
    open: {
      summary: "Let a lane accept work again.",
      load: async () => (await import("./commands/lanes/state.js")).open,
    },
    cancel: {
      summary: "Free a nonce that a wrapper holds which blocks leave out, by a transaction that pays.",
      load: async () => (await import("./commands/lanes/cancel.js")).cancel,
    },
  },
};

const WAIVERS: CommandGroup = {
  summary: "Create, import, export and list the encrypted keystores of waivers' keys, and rotate keys.",
  introduction:
    "The waivers' keys as encrypted keystores, which geth, ethers and Web3Signer read and write too.",
  commands: {
    create: {
      summary: "Make a key, and write it encrypted under a passphrase.",
      load: async () => (await import("./commands/waivers/create.js")).create,
    },
    import: {
      summary: "Encrypt a private key that lies in a file.",
      load: async () => (await import("./commands/waivers/import.js")).importKey,
    },
    export: {
      summary: "Write the private key of a keystore to a file, unencrypted.",
      load: async () => (await import("./commands/waivers/export.js")).exportKey,
    },
    list: {
      summary: "List the keystores of a folder with their addresses.",
      load: async () => (await import("./commands/waivers/list.js")).list,
    },
    reload: {
      summary: "Have all running replicas read their waivers' keys again.",
      load: async () => (await import("./commands/waivers/reload.js")).reload,
    },
    rotate: {
      summary: "Replace a waiver's key under a running service: create, register, open, drain, revoke.",
      load: async () => (await import("./commands/waivers/rotate.js")).rotate,
    },
  },
};

const NODE: CommandGroup = {
  summary: "Check whether the chain's nodes are as a service needs them.",
  introduction: "The nodes of the chain that a service works with.",
  commands: {
    check: {
      summary:
        "Check each node by reads alone: chain, lookups by hash, batches, history, finality, clock, waivers.",
      load: async () => (await import("./commands/node/check.js")).check,
    },
  },
};

const CONFIG: CommandGroup = {
  summary: "Check and print the configuration of a service.",
  introduction: "The configuration of a service: its file, the environment, and flags.",
  commands: {
    check: {
      summary:
        "Find every problem of a configuration at once, and try all that can be tried without sending.",
      load: async () => (await import("./commands/config/check.js")).check,
    },
    print: {
      summary: "Print the settings in force, and where each came from.",
      load: async () => (await import("./commands/config/print.js")).print,
    },
    schema: {
      summary: "Print the JSON Schema of the configuration file.",
      load: async () => (await import("./commands/config/schema.js")).schema,
    },
  },
};

const KEYS: CommandGroup = {
  summary: "Create, list, change and revoke the API keys of a service, and read their audit log.",
  introduction:
    "The API keys of a service: who may submit, how much, and what. A change reaches all replicas within a second.",
  commands: {
    create: {
      summary: "Create a key and print it, this once.",
      load: async () => (await import("./commands/keys/create.js")).create,
    },
    list: {
      summary: "List the keys with their state and their own limits.",
      load: async () => (await import("./commands/keys/list.js")).list,
    },
    show: {
      summary: "Show one key.",
      load: async () => (await import("./commands/keys/show.js")).show,
    },
    update: {
      summary: "Change a key's label, expiry, limits, scope or caps.",
      load: async () => (await import("./commands/keys/update.js")).update,
    },
    rotate: {
      summary: "Give a key a new secret; the old one stays valid for a while.",
      load: async () => (await import("./commands/keys/rotate.js")).rotate,
    },
    disable: {
      summary: "Refuse a key until it is enabled again.",
      load: async () => (await import("./commands/keys/access.js")).disable,
    },
    enable: {
      summary: "Accept a disabled key again.",
      load: async () => (await import("./commands/keys/access.js")).enable,
    },
    revoke: {
      summary: "Revoke a key for good.",
      load: async () => (await import("./commands/keys/access.js")).revoke,
    },
    audit: {
      summary: "Show who changed which key, when, and how.",
      load: async () => (await import("./commands/keys/audit.js")).audit,
    },
  },
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
      load: async () => (await import("./commands/stuck.js")).stuck,
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

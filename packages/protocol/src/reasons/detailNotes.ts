import { define } from "../define.js";
import type { DetailName } from "./details.js";

/** The type and the meaning of each value of an error's details, for the reference. */
export const DETAIL_NOTES: Readonly<Record<DetailName, { readonly type: string; readonly meaning: string }>> =
  /* @__PURE__ */ define(() => ({
    allowedSelectors: {
      type: "array of selectors",
      meaning:
        "The methods of the target that may be called; at most 100 are listed, and none where no method of it may be.",
    },
    asked: { type: "decimal text", meaning: "The amount that was asked for, in the unit of the limit." },
    balance: { type: "decimal text", meaning: "The sender's balance in wei." },
    blockNumber: { type: "decimal text", meaning: "The block of the transaction." },
    burst: { type: "number", meaning: "The number of tokens that can be used at once." },
    bytes: { type: "number", meaning: "The length of the calldata, or of the signed transaction." },
    cap: {
      type: "text",
      meaning: "The cap that is used up: `transactions`, `gas`, `senderTransactions` or `senderGas`.",
    },
    capacity: { type: "number", meaning: "The number, or the bytes, that fit." },
    cause: {
      type: "text",
      meaning:
        "The kind of the revert: `error` (a text of the contract), `panic` (a check of the compiler), `custom` (an error of the contract's own), `empty` (no data), `out_of_gas`, or `halted` (another exceptional halt). Absent where no node could run the transaction again.",
    },
    causeFrom: {
      type: "text",
      meaning:
        "The way in which the cause was found. `call`: the transaction ran alone on the state of the block before, so that earlier transactions of its block may explain a difference. `trace`: it ran at its place in the block.",
    },
    causeMessage: {
      type: "text",
      meaning: "The contract's text, or a description of the cause in a sentence's words.",
    },
    chainId: { type: "decimal text", meaning: "The chain that the transaction is signed for." },
    ends: { type: "ISO 8601", meaning: "The end of the cap's day." },
    expected: {
      type: "decimal text",
      meaning: "The chain id, or the sender's next nonce, that would have been right.",
    },
    gasLimit: { type: "decimal text", meaning: "The transaction's gas limit." },
    gasPrice: { type: "decimal text", meaning: "The gas price, or the higher one of the two fees, in wei." },
    gasUsed: { type: "decimal text", meaning: "The gas that the transaction used." },
    held: { type: "number", meaning: "The number of submissions in the queue, or in the key's share of it." },
    index: { type: "number", meaning: "The position in the array of the first element of another type." },
    intrinsicGas: { type: "decimal text", meaning: "The least gas limit of this transaction." },
    limit: { type: "decimal text", meaning: "The cap." },
    maxBatchSize: { type: "number", meaning: "The most transactions of one request." },
    maxBodyBytes: { type: "number", meaning: "The longest body." },
    maxDataLength: { type: "number", meaning: "The longest calldata in bytes." },
    maxGasLimit: { type: "decimal text", meaning: "The highest gas limit." },
    maxWrapperBytes: { type: "number", meaning: "The longest wrapper." },
    missing: { type: "decimal text", meaning: "The sender's nonce that did not come." },
    missingHolder: {
      type: "text",
      meaning:
        "Who has the missing nonce. `failed`: a submission of this key, which failed; `submission` names it. `unknown`: the service holds no transaction with it.",
    },
    needed: { type: "decimal text", meaning: "The least gas limit of the wrapper." },
    nodeCode: { type: "number", meaning: "The code of the node's JSON-RPC error." },
    nodeMessage: { type: "text", meaning: "The node's own words." },
    nonce: { type: "decimal text", meaning: "The transaction's nonce." },
    panic: {
      type: "text",
      meaning: "The code of a panic as 0x hex, such as `0x11` for an arithmetic overflow.",
    },
    parameter: { type: "text", meaning: "The parameter of the query." },
    ratePerSecond: { type: "number", meaning: "The rate that is allowed in the long run." },
    remaining: { type: "number", meaning: "The tokens that are left." },
    retryAfterSeconds: {
      type: "number",
      meaning: "The pause after which the same request passes; `Retry-After` has it too.",
    },
    revertData: {
      type: "0x hex",
      meaning:
        "The data of a contract's own error, selector first, up to 1,024 bytes. An ABI decodes it: `revertOf` of the SDK's entries for viem and ethers.",
    },
    selector: {
      type: "selector or null",
      meaning: "The method that the transaction calls; null if its calldata has none.",
    },
    submission: {
      type: "text",
      meaning:
        "The id of the submission that has the nonce; with `NONCE_GAP`, of the last one that failed with the missing nonce.",
    },
    target: { type: "address", meaning: "The contract that the transaction calls." },
    txHash: { type: "hash", meaning: "The hash of the transaction that reverted." },
    unit: { type: "text", meaning: "The things that the rate counts: `transactions` or `reads`." },
    used: { type: "decimal text", meaning: "The part of the cap that is used." },
    usedBy: { type: "hash", meaning: "The transaction that used the nonce." },
    value: { type: "decimal text", meaning: "The value that the transaction carries, in wei." },
    wrapperBytes: { type: "number", meaning: "The length of the wrapper." },
  }));

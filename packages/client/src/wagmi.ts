/**
 * Gasless transactions for wagmi: a chain whose RPC URL is the gateway's, and hooks on TanStack Query. The user's wallet
 * signs and sends; it needs no account that the page holds.
 */
export { type GaslessChain, gaslessChain, gaslessTransport, readGaslessChain } from "./hooks/gaslessChain.js";
export { gaslessWriteContract, useGaslessWriteContract } from "./hooks/gaslessWriteContract.js";
export {
  type SponsorableCall,
  type SponsorableOptions,
  type Sponsorship,
  sponsorableQueryOptions,
  type UseSponsorableParameters,
  useSponsorable,
} from "./hooks/sponsorable.js";
export {
  type SubmissionOptions,
  type SubmissionRecord,
  submissionQueryOptions,
  type UseSubmissionParameters,
  useSubmission,
} from "./hooks/submission.js";

import { useSubmission } from "@gas-waiver/client/wagmi";
import { formatUnits, type Hash, parseEventLogs } from "viem";
import { useTransactionReceipt } from "wagmi";
import { token } from "./token.js";

const STEPS = ["queued", "signed", "broadcast", "included"] as const;

/** Follows a transaction, and reads the event of its block. */
export function Submission({ hash }: { readonly hash: Hash }) {
  const { data: submission } = useSubmission({ hash });
  const isIncluded = submission?.state === "included";
  const { data: receipt } = useTransactionReceipt({ hash, query: { enabled: isIncluded, retry: true } });
  if (submission?.state === "failed") return <p role="alert">It failed: {submission.error?.message}.</p>;
  const reached = submission ? STEPS.indexOf(submission.state) : -1;
  const [transfer] = receipt
    ? parseEventLogs({ abi: token.abi, eventName: "Transfer", logs: receipt.logs })
    : [];
  return (
    <section>
      <h2>Transaction</h2>
      <p className="hash">{hash}</p>
      <ol>
        {STEPS.map((step, i) => (
          <li key={step} data-reached={i <= reached}>
            {step}
          </li>
        ))}
      </ol>
      {submission?.reverted && <p role="alert">The contract refused it. Nothing was moved.</p>}
      {receipt && transfer && (
        <p role="status">
          {formatUnits(transfer.args.amount, 18)} token arrived in block {String(receipt.blockNumber)}, at a
          gas price of {String(receipt.effectiveGasPrice)}.
        </p>
      )}
    </section>
  );
}

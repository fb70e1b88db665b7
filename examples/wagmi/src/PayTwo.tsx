import { encodeFunctionData, parseUnits } from "viem";
import { useSendCalls, useWaitForCallsStatus } from "wagmi";
import { explain } from "./explain.js";
import { token } from "./token.js";

const RECIPIENTS = [
  "0x90F79bf6EB2c4f870365E785982E1f101E93b906",
  "0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc",
] as const;

/** Sends two calls by EIP-5792. The gasless provider makes a transaction of each. */
export function PayTwo() {
  const { mutate: send, data, error, isPending } = useSendCalls();
  const { data: bundle } = useWaitForCallsStatus({ id: data?.id });
  const calls = RECIPIENTS.map((to) => ({
    to: token.address,
    data: encodeFunctionData({ abi: token.abi, functionName: "transfer", args: [to, parseUnits("1", 18)] }),
  }));
  return (
    <section>
      <h2>Send 1 token to each of two</h2>
      <button type="button" disabled={isPending} onClick={() => send({ calls })}>
        Send both without gas
      </button>
      {error && <p role="alert">{explain(error)}</p>}
      {bundle && (
        <p role="status">
          {bundle.status}: {bundle.receipts?.length ?? 0} of {calls.length} in a block
        </p>
      )}
    </section>
  );
}

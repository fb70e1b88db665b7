import { useConnect, useConnectors } from "wagmi";
import { explain } from "./explain.js";

/** Lists the wallets that have announced themselves to the page (EIP-6963). */
export function Wallets() {
  const connectors = useConnectors();
  const { mutate: connect, error, isPending } = useConnect();
  return (
    <section>
      <h2>Connect a wallet</h2>
      {connectors.length === 0 && <p>No wallet found in this browser.</p>}
      {connectors.map((connector) => (
        <button key={connector.uid} type="button" disabled={isPending} onClick={() => connect({ connector })}>
          {connector.name}
        </button>
      ))}
      {error && <p role="alert">{explain(error)}</p>}
    </section>
  );
}

import { formatUnits } from "viem";
import { useBalance, useConnection, useDisconnect, useReadContract, useSwitchChain } from "wagmi";
import { chain, GASLESS_WALLET } from "./gateway.js";
import { PayTwo } from "./PayTwo.js";
import { Transfer } from "./Transfer.js";
import { token } from "./token.js";
import { Wallets } from "./Wallets.js";

export function App() {
  const { isConnected, connector } = useConnection();
  return (
    <main>
      <h1>Gasless transfer</h1>
      {isConnected ? <Account /> : <Wallets />}
      {isConnected && <Transfer />}
      {isConnected && connector?.id === GASLESS_WALLET && <PayTwo />}
    </main>
  );
}

/** The user's account: it holds tokens, and no coin to pay gas with. */
function Account() {
  const { address, chainId } = useConnection();
  const { mutate: disconnect } = useDisconnect();
  const { mutate: switchChain } = useSwitchChain();
  const { data: coins } = useBalance({ address, chainId: chain.id });
  const owner = address ?? "0x";
  const { data: tokens } = useReadContract({
    ...{ ...token, functionName: "balanceOf", args: [owner], chainId: chain.id },
    query: { enabled: address !== undefined, refetchInterval: 1000 },
  });
  return (
    <section>
      <p className="hash">{address}</p>
      <dl>
        <dt>Tokens</dt>
        <dd>{tokens === undefined ? "…" : formatUnits(tokens, 18)}</dd>
        <dt>Coins to pay gas with</dt>
        <dd>{coins === undefined ? "…" : formatUnits(coins.value, coins.decimals)}</dd>
      </dl>
      {chainId !== chain.id && (
        <button type="button" onClick={() => switchChain({ chainId: chain.id })}>
          Add the network to the wallet
        </button>
      )}
      <button type="button" onClick={() => disconnect()}>
        Disconnect
      </button>
    </section>
  );
}

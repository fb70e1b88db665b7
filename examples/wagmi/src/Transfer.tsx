import { useGaslessWriteContract, useSponsorable } from "@gas-waiver/client/wagmi";
import { type FormEvent, useState } from "react";
import { type Address, isAddress, parseUnits } from "viem";
import { explain } from "./explain.js";
import { Submission } from "./Submission.js";
import { token } from "./token.js";

/** Sends test tokens through the connected wallet, without gas. */
export function Transfer() {
  const [to, setTo] = useState("0x90F79bf6EB2c4f870365E785982E1f101E93b906");
  const { mutate: write, data: hash, error, isPending } = useGaslessWriteContract();
  const call = isAddress(to) ? transferTo(to) : undefined;
  const { data: sponsorship } = useSponsorable({ call });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (call) write(call);
  };
  return (
    <>
      <form onSubmit={submit}>
        <h2>Send 1 token</h2>
        <label>
          To <input value={to} onChange={({ target }) => setTo(target.value)} />
        </label>
        <button type="submit" disabled={call === undefined || isPending}>
          {isPending ? "See your wallet…" : "Send without gas"}
        </button>
        {sponsorship?.sponsorable && <span className="free">free of gas</span>}
        {sponsorship?.sponsorable === false && <p role="alert">Not free of gas: {sponsorship.message}.</p>}
        {error && <p role="alert">{explain(error)}</p>}
      </form>
      {hash && <Submission hash={hash} />}
    </>
  );
}

function transferTo(to: Address) {
  return { ...token, functionName: "transfer", args: [to, parseUnits("1", 18)] } as const;
}

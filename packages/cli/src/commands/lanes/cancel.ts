import { bytesEqual, bytesToHex } from "@gas-waiver/protocol";
import { defineCommand } from "../../command.js";
import { CommandFailedError } from "../../errorMessage.js";
import { JsonRpcClient } from "../../jsonRpcClient.js";
import { NODE_SETTING, withLanes } from "../../lanes/withLanes.js";
import { address, wholeNumber } from "../../settings/parsers.js";
import { STORE_ALTERNATIVES, STORE_SETTINGS } from "../../store/withStore.js";
import { CUSTODIES, CUSTODY_SETTINGS, problemsOfCustody, splitCustody } from "../../waivers/custodies.js";
import { openWaivers } from "../../waivers/openWaivers.js";

const wei = (text: string) => BigInt(wholeNumber(1)(text));

export const cancel = defineCommand({
  description:
    "A transaction of the waiver to itself, which pays, takes the place of a wrapper that blocks leave out and that the pools\n" +
    "keep. The waiver needs the gas token for it. Nothing accepted is lost: what waited in the lane goes on, and what the\n" +
    "wrapper carried gets another one. The service may run meanwhile.",
  examples: [
    "gas-waiver lanes cancel --waiver 0xBcd4042DE499D14e55001CcbB24a551F3b954096 --gas-price 2000000000 --waiver-keystore keystore --rpc-url http://127.0.0.1:8545",
  ],
  settings: {
    ...CUSTODY_SETTINGS,
    waiver: {
      placeholder: "ADDRESS",
      help: "Address of the lane's waiver.",
      required: true,
      parse: address,
    },
    gasPrice: {
      placeholder: "WEI",
      help: "What the transaction pays for a unit of gas.",
      required: true,
      parse: wei,
    },
    nonce: {
      placeholder: "N",
      help: "The nonce that you mean. If it is not the waiver's next one, nothing is sent.",
      defaultText: "the waiver's next one",
      parse: (text: string) => BigInt(wholeNumber(0)(text)),
    },
    ...NODE_SETTING,
    ...STORE_SETTINGS,
  },
  rules: { alternatives: [...STORE_ALTERNATIVES, CUSTODIES], check: problemsOfCustody },
  async run(values, context) {
    const { custody } = splitCustody(values);
    const { rpcUrl, gasPrice, nonce } = values;
    const chainId = await new JsonRpcClient(rpcUrl, context.signal).quantity("eth_chainId");
    const waivers = await openWaivers({ ...custody, chainId: Number(chainId) }, context);
    const account = waivers.find((one) => bytesEqual(one.address, values.waiver));
    const waiver = bytesToHex(values.waiver);
    if (account === undefined) throw new CommandFailedError(`the custody has no key of ${waiver}`);
    const cancelled = await withLanes(values, (admin) =>
      admin.cancelNonce(account, rpcUrl, { gasPrice, nonce }),
    );
    const hash = bytesToHex(cancelled.hash);
    context.print(
      values.json
        ? JSON.stringify({ waiver, nonce: cancelled.nonce.toString(), hash })
        : `${waiver} uses its nonce ${cancelled.nonce} for ${hash}; its lane goes on once that is in a block`,
    );
  },
});

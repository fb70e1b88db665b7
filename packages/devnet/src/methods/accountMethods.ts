import { createTx, type TxOptions, type TypedTransaction } from "@ethereumjs/tx";
import { Address } from "@ethereumjs/util";
import { bytesEqual, bytesToHex, type Hex, hexToBytes, MARKER_ADDRESS } from "@gas-waiver/protocol";
import { chainTransaction } from "../block/transaction.js";
import type { Chain } from "../chain/chain.js";
import { common } from "../evm/common.js";
import { devnetAccounts } from "../presets/accounts.js";
import { invalidParams, RPC_CODES, RpcError } from "../rpc/errors.js";
import type { Method, Methods } from "../rpc/method.js";
import { address, boolean, type Members, object, optional, quantity, uint64 } from "../rpc/params.js";
import { type CallRequest, estimateGas, readCallRequest, toEvmAccessList } from "./call.js";

/**
 * Sending without a signature. The devnet's own accounts can always be sent from, because everybody has their
 * keys: the node signs for them. Any other has to be impersonated first.
 */
export function accountMethods(chain: Chain): Methods {
  const impersonated = new Set<Hex>();
  let anybody = false;
  /** One after the other, or two at once would take the same nonce. */
  let sending: Promise<unknown> = Promise.resolve();
  const send = async (members: Members): Promise<Hex> => {
    const from = bytesToHex(address(members.from, "from"));
    const forged = impersonated.has(from) || anybody;
    const key = KEYS.get(from);
    if (!forged && key === undefined) {
      throw new RpcError(
        RPC_CODES.refused,
        `unknown account: ${from} is neither the devnet's nor impersonated`,
      );
    }
    const unsigned = await complete(chain, members, from);
    if (key !== undefined) return chain.send(unsigned.sign(hexToBytes(key)).serialize());
    return chain.sendImpersonated(chainTransaction(forge(unsigned, from), hexToBytes(from)));
  };
  const start: Method = ([account]) => {
    impersonated.add(bytesToHex(address(account)));
    return null;
  };
  const stop: Method = ([account]) => {
    impersonated.delete(bytesToHex(address(account)));
    return null;
  };
  return {
    eth_accounts: () => [...KEYS.keys(), ...[...impersonated].filter((account) => !KEYS.has(account))],
    eth_sendTransaction: ([param]) => {
      const sent = sending.then(() => send(object(param, "the transaction")));
      sending = sent.catch(() => undefined);
      return sent;
    },
    anvil_impersonateAccount: start,
    hardhat_impersonateAccount: start,
    anvil_stopImpersonatingAccount: stop,
    hardhat_stopImpersonatingAccount: stop,
    anvil_autoImpersonateAccount: ([on]) => {
      anybody = boolean(on, "the parameter");
      return null;
    },
  };
}

const KEYS: ReadonlyMap<Hex, Hex> = new Map(
  devnetAccounts.map(({ address: account, privateKey }) => [account.toLowerCase() as Hex, privateKey]),
);

/** Fills in what was left out: the nonce after what waits, the least price, the gas that it takes. */
async function complete(chain: Chain, members: Members, from: Hex): Promise<TypedTransaction> {
  const request = readCallRequest(members);
  if (request.to !== undefined && bytesEqual(request.to, MARKER_ADDRESS)) {
    throw invalidParams("a wrapper has to be signed by its waiver: send it with eth_sendRawTransaction");
  }
  const next = chain.pool.nextNonce(from, chain.state.account(from)?.nonce ?? 0n);
  const fees = readFees(chain, members);
  const price = fees.maxFeePerGas ?? fees.gasPrice ?? 0n;
  const gas =
    request.gas ?? (await estimateGas(chain, { ...request, gasPrice: price }, chain.head, chain.state));
  const fields = {
    ...fees,
    chainId: common.chainId(),
    nonce: optional(members.nonce, next, (value) => uint64(value, "nonce")),
    gasLimit: gas,
    ...(request.to && { to: new Address(request.to) }),
    value: request.value,
    data: request.data,
    ...(request.accessList && { accessList: toEvmAccessList(request.accessList) }),
  };
  return createTx({ ...fields, type: typeFor(request, fees) }, OPTIONS);
}

interface Fees {
  readonly gasPrice?: bigint;
  readonly maxFeePerGas?: bigint;
  readonly maxPriorityFeePerGas?: bigint;
}

function readFees(chain: Chain, { gasPrice, maxFeePerGas, maxPriorityFeePerGas: tip }: Members): Fees {
  const floor = chain.options.minGasPrice;
  if (gasPrice !== undefined && gasPrice !== null) {
    if (maxFeePerGas !== undefined || tip !== undefined) {
      throw invalidParams("the transaction has both a gasPrice and fees of EIP-1559");
    }
    return { gasPrice: quantity(gasPrice, "gasPrice") };
  }
  const cap = optional(maxFeePerGas, undefined, (value) => quantity(value, "maxFeePerGas"));
  const priority = optional(tip, cap ?? floor, (value) => quantity(value, "maxPriorityFeePerGas"));
  return { maxFeePerGas: cap ?? priority, maxPriorityFeePerGas: priority };
}

function typeFor({ accessList }: CallRequest, { gasPrice }: Fees): number {
  if (gasPrice === undefined) return 2;
  return accessList === undefined ? 0 : 1;
}

const OPTIONS: TxOptions = { common, freeze: false };

/**
 * The bytes of a transaction that nobody signed. The signature's r is the sender, so that two senders' bytes,
 * and hashes, differ; it recovers to somebody else, if to anybody.
 */
function forge(unsigned: TypedTransaction, from: Hex): Uint8Array {
  const legacy = unsigned.type === 0;
  const v = legacy ? common.chainId() * 2n + 35n : 0n;
  const signed = { ...unsigned.toJSON(), type: unsigned.type, v, r: BigInt(from), s: 1n };
  return createTx(signed, OPTIONS).serialize();
}

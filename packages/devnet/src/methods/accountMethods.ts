import { createTx, type TxOptions, type TypedTransaction } from "@ethereumjs/tx";
import { Address } from "@ethereumjs/util";
import { bytesEqual, bytesToHex, type Hex, hexToBytes, MARKER_ADDRESS } from "@gas-waiver/protocol";
import { chainTransaction } from "../block/transaction.js";
import type { Chain } from "../chain/chain.js";
import { commonOf } from "../evm/common.js";
import { devnetAccounts } from "../presets/accounts.js";
import { invalidParams, RPC_CODES, RpcError } from "../rpc/errors.js";
import { inNamespaces, type Methods } from "../rpc/method.js";
import { address, boolean, type Members, object, optional, quantity, uint64 } from "../rpc/params.js";
import { type CallRequest, readCallRequest, toEvmAccessList } from "./callRequest.js";
import { estimateGas } from "./estimateGas.js";

/**
 * Methods that send transactions without a signature. The node signs for the devnet's own accounts, whose keys are
 * public. Any other account has to be impersonated first.
 */
export function accountMethods(chain: Chain): Methods {
  const impersonated = new Set<Hex>();
  let impersonatesAll = false;
  /** Transactions are sent one after the other, or two concurrent ones would get the same nonce. */
  let sending: Promise<unknown> = Promise.resolve();
  const send = async (members: Members, asAnyone: boolean): Promise<Hex> => {
    const from = bytesToHex(address(members.from, "from"));
    const isImpersonated = asAnyone || impersonated.has(from) || impersonatesAll;
    const key = KEYS.get(from);
    if (!isImpersonated && key === undefined) {
      throw new RpcError(
        RPC_CODES.refused,
        `unknown account: ${from} is neither the devnet's nor impersonated`,
      );
    }
    const unsigned = await complete(chain, members, from);
    if (key !== undefined) return chain.send(unsigned.sign(hexToBytes(key)).serialize());
    return chain.admit(chainTransaction(forge(chain, unsigned, from), hexToBytes(from)));
  };
  const inTurn = (param: unknown, asAnyone: boolean) => {
    const sent = sending.then(() => send(object(param, "the transaction"), asAnyone));
    sending = sent.catch(() => undefined);
    return sent;
  };
  return {
    eth_accounts: () => [...KEYS.keys(), ...[...impersonated].filter((account) => !KEYS.has(account))],
    eth_sendTransaction: ([param]) => inTurn(param, false),
    eth_sendUnsignedTransaction: ([param]) => inTurn(param, true),
    ...inNamespaces(["anvil", "hardhat"], {
      impersonateAccount: ([account]) => {
        impersonated.add(bytesToHex(address(account)));
        return null;
      },
      stopImpersonatingAccount: ([account]) => {
        impersonated.delete(bytesToHex(address(account)));
        return null;
      },
    }),
    anvil_autoImpersonateAccount: ([on]) => {
      impersonatesAll = boolean(on, "the parameter");
      return null;
    },
  };
}

const KEYS: ReadonlyMap<Hex, Hex> = new Map(
  devnetAccounts.map(({ address: account, privateKey }) => [account.toLowerCase() as Hex, privateKey]),
);

/** Fills in missing fields: the next nonce after the pool, the minimum price, and an estimate of the gas. */
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
    chainId: chain.options.chainId,
    nonce: optional(members.nonce, next, (value) => uint64(value, "nonce")),
    gasLimit: gas,
    ...(request.to && { to: new Address(request.to) }),
    value: request.value,
    data: request.data,
    ...(request.accessList && { accessList: toEvmAccessList(request.accessList) }),
  };
  return createTx({ ...fields, type: typeFor(request, fees) }, optionsOf(chain));
}

interface Fees {
  readonly gasPrice?: bigint;
  readonly maxFeePerGas?: bigint;
  readonly maxPriorityFeePerGas?: bigint;
}

function readFees(chain: Chain, { gasPrice, maxFeePerGas, maxPriorityFeePerGas: tip }: Members): Fees {
  const floor = chain.options.baseFee || chain.options.minGasPrice;
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

const optionsOf = ({ options }: Chain): TxOptions => ({ common: commonOf(options.chainId), freeze: false });

/**
 * The bytes of an unsigned transaction. The signature is forged: its r is the sender, so that the bytes and hashes of
 * two senders differ. It does not recover to the sender.
 */
function forge(chain: Chain, unsigned: TypedTransaction, from: Hex): Uint8Array {
  const legacy = unsigned.type === 0;
  const v = legacy ? chain.options.chainId * 2n + 35n : 0n;
  const signed = { ...unsigned.toJSON(), type: unsigned.type, v, r: BigInt(from), s: 1n };
  return createTx(signed, optionsOf(chain)).serialize();
}

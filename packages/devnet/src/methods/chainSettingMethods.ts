import type { Chain } from "../chain/chain.js";
import { invalidParams } from "../rpc/errors.js";
import { inNamespaces, type Method, type Methods } from "../rpc/method.js";
import { address, boolean, bytes, quantity, shortJson, uint64 } from "../rpc/params.js";

const LEAST_BLOCK_GAS = 21_000n;

/** Methods that change how blocks are made and what transactions pay, under the names of hardhat and anvil. */
export function chainSettingMethods(chain: Chain): Methods {
  return {
    ...inNamespaces(["anvil", "hardhat"], {
      setCoinbase: ([account]) => {
        chain.blockSettings.coinbase = address(account);
        return null;
      },
      setMinGasPrice: ([price]) => {
        chain.changeRules({ minGasPrice: uint64(price, "the minimum gas price") });
        return null;
      },
      setNextBlockBaseFeePerGas: setNextBaseFee,
      setLoggingEnabled: setLogging,
    }),
    hardhat_setPrevRandao: ([value]) => {
      chain.blockSettings.nextPrevRandao = bytes(value, "prevRandao", 32);
      return null;
    },
    ...inNamespaces(["evm", "anvil"], {
      setBlockGasLimit: ([limit]) => {
        const blockGasLimit = uint64(limit, "the block's gas limit");
        if (blockGasLimit < LEAST_BLOCK_GAS)
          throw invalidParams(`the block's gas limit is ${blockGasLimit}, which is below ${LEAST_BLOCK_GAS}`);
        chain.changeRules({ blockGasLimit });
        return true;
      },
    }),
  };
}

/** A transaction with a price of 0 could not run under any other base fee. */
const setNextBaseFee: Method = ([fee]) => {
  if (quantity(fee, "the base fee") === 0n) return null;
  throw invalidParams(
    `the base fee is ${shortJson(fee)}: this chain's is always 0; anvil_setMinGasPrice sets the price floor`,
  );
};

/** The devnet logs nothing, so there is nothing to switch. */
const setLogging: Method = ([on]) => {
  boolean(on, "the parameter");
  return null;
};

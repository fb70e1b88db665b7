// The addresses of `npm start`. The variables below name another service and node.
const { GAS_WAIVER_URL, GAS_WAIVER_API_KEY, RPC_URL } = process.env;

export const url = GAS_WAIVER_URL ?? "http://127.0.0.1:8080";
export const apiKey = GAS_WAIVER_API_KEY ?? "gw_dev_local";
export const rpcUrl = RPC_URL ?? "http://127.0.0.1:8545";

/** The local chain's test token. */
export const token = "0x78Cf24370174180738C5B8E352B6D14c83a6c9A9";

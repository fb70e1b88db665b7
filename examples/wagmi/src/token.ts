import { parseAbi } from "viem";

/** The test token of the local chain. */
export const token = {
  address: "0x78Cf24370174180738C5B8E352B6D14c83a6c9A9",
  abi: parseAbi([
    "function transfer(address to, uint256 amount) returns (bool)",
    "function balanceOf(address owner) view returns (uint256)",
    "event Transfer(address indexed from, address indexed to, uint256 amount)",
  ]),
} as const;

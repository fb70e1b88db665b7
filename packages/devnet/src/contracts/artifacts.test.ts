import type { ContractFunctionArgs, ContractFunctionName } from "viem";
import { expect, expectTypeOf, it } from "vitest";
import { NativeToken, TestToken, WaiverRegistry } from "./artifacts.js";

interface Compiled {
  readonly bytecode: string;
  readonly runtimeBytecode: string;
  readonly slots: Record<string, number>;
  readonly abi: readonly unknown[];
}

it("the committed contracts equal what their sources compile to", async () => {
  const script = new URL("../../contracts/compile.mjs", import.meta.url).href;
  const { compile } = (await import(script)) as { compile(): Promise<Record<string, Compiled>> };
  const compiled = await compile();
  expect(Object.keys(compiled)).toEqual(["NativeToken", "TestToken", "WaiverRegistry"]);
  expect(NativeToken).toEqual(compiled.NativeToken);
  expect(TestToken).toEqual(compiled.TestToken);
  expect(WaiverRegistry).toEqual(compiled.WaiverRegistry);
}, 120_000);

it("the types of the ABIs tell viem each method with its arguments", () => {
  type Transfer = ContractFunctionArgs<typeof TestToken.abi, "nonpayable", "transfer">;
  expectTypeOf<Transfer>().toEqualTypeOf<readonly [`0x${string}`, bigint]>();
  expectTypeOf<"getProposal">().toExtend<ContractFunctionName<typeof WaiverRegistry.abi, "view">>();
  expectTypeOf<"transfer">().not.toExtend<ContractFunctionName<typeof WaiverRegistry.abi>>();
});

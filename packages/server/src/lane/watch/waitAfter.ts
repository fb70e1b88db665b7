import { NodeRpcError, RpcUnavailableError } from "../../chain/rpc/rpc.js";
import type { LaneWait } from "../../model/submission/waitCauses.js";
import { CustodyError } from "../../signing/custodyErrors.js";
import { isRefusedStatement } from "../../store/database/driverTrouble.js";
import { isVague, troubleOf } from "../../store/database/storeTrouble.js";
import { NotBroadcastError } from "../send/applyAnswers.js";

/**
 * Names the wait of a lane one of whose loops has failed; undefined if the store answers nothing, which its own monitor tells. A
 * store that refuses one thing may well take the lane's wait.
 */
export function waitAfter(error: unknown): LaneWait | undefined {
  if (!(error instanceof Error)) return undefined;
  const trouble = troubleOf(error);
  if (trouble) return isVague(trouble) ? undefined : { cause: "store", sentence: trouble.message };
  if (isRefusedStatement(error)) return { cause: "store", sentence: "the store refuses a statement" };
  if (error instanceof CustodyError) return { cause: "custody", sentence: error.message };
  const isByNodes = [NotBroadcastError, RpcUnavailableError, NodeRpcError].some(
    (kind) => error instanceof kind,
  );
  return isByNodes ? { cause: "nodes", sentence: error.message } : undefined;
}

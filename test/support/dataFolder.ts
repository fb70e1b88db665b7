import { prepareDataFolder } from "../../packages/server/test/support/clusterTemplate.js";
import { freshFolder } from "./freshFolder.js";

/** Creates a data folder whose cluster is made already, for a test of what comes after. It is removed after the file's tests. */
export async function dataFolder(): Promise<string> {
  const folder = freshFolder();
  await prepareDataFolder(folder);
  return folder;
}

import { accessCommand } from "../../keys/accessCommand.js";

export const revoke = accessCommand(
  "revoke",
  "All replicas refuse the key within a second and end its open connections and streams. A revoked key stays\n" +
    "revoked. Submissions that were accepted go on.",
);

import { accessCommand } from "../../keys/accessCommand.js";

export const disable = accessCommand(
  "disable",
  "All replicas refuse the key within a second and end its open connections and streams.\n" +
    "Submissions that were accepted go on.",
);

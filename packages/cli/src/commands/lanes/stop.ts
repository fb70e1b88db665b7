import { laneStateCommand } from "../../lanes/laneStateCommand.js";

export const stop = laneStateCommand(
  "stopped",
  "The lane signs and sends nothing until it is opened again.",
  "is stopped",
);

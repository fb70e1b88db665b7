import { laneStateCommand } from "../../lanes/laneStateCommand.js";

export const open = laneStateCommand(
  "open",
  "It also opens a lane that the service has stopped by itself; remove the cause first.",
  "takes work again",
);

import { laneStateCommand } from "../../lanes/laneStateCommand.js";

export const drain = laneStateCommand(
  "draining",
  "The lane finishes the work of its present senders and gives the rest to other lanes. Then it is retired.",
  "takes nothing new, and is retired when it is done",
);

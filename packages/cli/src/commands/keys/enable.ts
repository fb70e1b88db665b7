import { accessCommand } from "../../keys/accessCommand.js";

export const enable = accessCommand("enable", "All replicas accept the key again within a second.");

export { createServer, type Server } from "./createServer.js";
export { InvalidOptionsError, StartError } from "./errors.js";
export { DEFAULTS, type ServerOptions } from "./options.js";

export * from "./errorBody.js";
export * from "./health.js";
export * from "./ready.js";
export * from "./routes.js";
export * from "./socket.js";
export * from "./submission.js";
export * from "./submit.js";
export * from "./WireError.js";

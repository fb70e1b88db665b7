// Asks the service in this container whether it serves. The status is 0 if it does.
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";

const { GAS_WAIVER_METRICS_PORT: port = "9090", GAS_WAIVER_TLS_CERT: certificate = "" } = process.env;
const request = certificate === "" ? requestHttp : requestHttps;
// The certificate is for the service's name and not for loopback, where nobody else listens.
request(
  { host: "127.0.0.1", port, path: "/livez", timeout: 4_000, rejectUnauthorized: false },
  (response) => {
    response.resume();
    process.exitCode = response.statusCode === 200 ? 0 : 1;
  },
)
  .on("timeout", function stop() {
    this.destroy(new Error("no answer within 4 s"));
  })
  .on("error", ({ message }) => {
    process.stderr.write(`${message}\n`);
    process.exitCode = 1;
  })
  .end();

import type { SharedValues } from "./serveSettings.js";

/** Returns the addresses of the operators' ports; undefined for a port that stays closed. */
export function operatorsPorts(
  values: Pick<SharedValues, "metricsPort" | "metricsHost" | "adminPort" | "adminHost">,
) {
  const { metricsPort, metricsHost, adminPort, adminHost } = values;
  return {
    metrics: metricsPort === undefined ? undefined : { host: metricsHost, port: metricsPort },
    admin: adminPort === undefined ? undefined : { host: adminHost, port: adminPort },
  };
}

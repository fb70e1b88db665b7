import type { Server } from "@gas-waiver/server";
import type { Context } from "../command.js";
import type { SharedValues } from "./serveSettings.js";
import { type CertificateFiles, certificateFiles, readCertificate } from "./transportSettings.js";

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

/** Reads the files of the certificate again at each SIGHUP, if the service has one. */
export function rereadCertificateOnHangup(
  values: Parameters<typeof certificateFiles>[0],
  server: Pick<Server, "setCertificate">,
  { print, onHangup }: Pick<Context, "print" | "onHangup">,
): void {
  const files = certificateFiles(values);
  if (files) onHangup?.(() => rereadCertificate(files, server, print));
}

/** Replaces the service's certificate by the one in the files. An unusable one changes nothing. */
function rereadCertificate(
  files: CertificateFiles,
  server: Pick<Server, "setCertificate">,
  print: (line: string) => void,
): void {
  try {
    server.setCertificate(readCertificate(files));
    print("the TLS certificate is read again");
  } catch (error) {
    print(`the TLS certificate stays as it was: ${files.cert} and ${files.key}: ${(error as Error).message}`);
  }
}

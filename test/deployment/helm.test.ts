// deploy/helm: the chart as Helm renders it, checked against the types that were made from Kubernetes' own description.
import { execFileSync } from "node:child_process";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Deployment } from "kubernetes-types/apps/v1.js";
import type { Service } from "kubernetes-types/core/v1.js";
import type { NetworkPolicy } from "kubernetes-types/networking/v1.js";
import { describe, expect, it } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { NETWORK_SETTINGS, SERVE_SETTINGS } from "../../packages/cli/src/serve/serveSettings.js";
import { freshFolder } from "../support/freshFolder.js";
import { root } from "../support/program.js";
import { readDockerfile } from "./dockerfile.js";
import { hasHelm, helm } from "./helm.js";

const CHART = join(root, "deploy", "helm", "gas-waiver");
const REQUIRED = [
  "image.repository=registry.example.com/gas-waiver",
  "rpcUrl=https://node.example.com",
  "chainId=988",
];
const SECRET = "secretName=gas-waiver";
const EVERYTHING = [
  "tlsSecretName=tls",
  "trustedProxies=10.0.0.0/8",
  "settings.GAS_WAIVER_RETENTION=30d",
  "serviceMonitor.enabled=true",
  "serviceMonitor.labels.release=prometheus",
  "prometheusRule.enabled=true",
  "keystores={first.json,second.json}",
  "serviceAccountName=relay",
  "imagePullSecrets[0].name=registry",
  "podAnnotations.team=relay",
  "networkPolicy.clients[0].namespaceSelector.matchLabels.name=ingress",
  "networkPolicy.operators[0].podSelector.matchLabels.app=prometheus",
  "nodeSelector.disk=ssd",
  "tolerations[0].key=relay",
];

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly spec: unknown;
}

function render(...values: readonly string[]): Manifest[] {
  const flags = [...REQUIRED, SECRET, ...values].flatMap((value) => ["--set", value]);
  const rendered = helm("template", "relay", CHART, "--kube-version", "1.30.0", ...flags);
  return parseAllDocuments(rendered).map((document) => document.toJS());
}

/** The module of `kubernetes-types` for an API version. */
const moduleOf = (apiVersion: string) =>
  `kubernetes-types/${apiVersion === "v1" ? "core/v1" : apiVersion.replace(".k8s.io", "")}`;

/** Checks manifests with the compiler, which refuses unknown fields as well. @returns its complaints. */
function problemsOf(manifests: readonly Manifest[]): string {
  const folder = freshFolder();
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  const lines = manifests.map(
    (one, i) =>
      `export const m${i}: import("${moduleOf(one.apiVersion)}").${one.kind} = ${JSON.stringify(one, null, 1)};`,
  );
  writeFileSync(join(folder, "manifests.ts"), lines.join("\n"));
  const compilerOptions = { strict: true, noEmit: true, module: "preserve", types: [], skipLibCheck: true };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["manifests.ts"] }));
  const compiler = join(root, "node_modules", "typescript", "bin", "tsc");
  try {
    return execFileSync(process.execPath, [compiler, "-p", folder, "--pretty", "false"], {
      encoding: "utf8",
    });
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
}

function oneOf<T>(manifests: readonly Manifest[], kind: string): T {
  const found = manifests.find((one) => one.kind === kind);
  if (found === undefined) throw new Error(`there is no ${kind}`);
  return found as T;
}

describe.runIf(hasHelm)("the chart", () => {
  it("passes Helm's own check", () => {
    const flags = [...REQUIRED, SECRET].flatMap((value) => ["--set", value]);
    expect(helm("lint", "--strict", CHART, ...flags)).toContain("0 chart(s) failed");
  });

  it("says which value is missing or wrong", () => {
    const flags = REQUIRED.flatMap((value) => ["--set", value]);
    expect(() => helm("template", CHART, ...flags)).toThrow("secretName");
    expect(() => helm("template", CHART, ...flags, "--set", SECRET, "--set", "chainId=1")).toThrow(
      "988, 2201",
    );
    expect(() => helm("template", CHART, ...flags, "--set", SECRET, "--set", "replcas=3")).toThrow("replcas");
    const keys = "settings.GAS_WAIVER_KEYS=0x1";
    expect(() => helm("template", CHART, ...flags, "--set", SECRET, "--set", keys)).toThrow(
      "GAS_WAIVER_KEYS",
    );
  });

  it("gives manifests of which Kubernetes knows each field, with all values and with few", () => {
    const all = render(...EVERYTHING);
    const kinds = [
      "Deployment",
      "NetworkPolicy",
      "PodDisruptionBudget",
      "PrometheusRule",
      "Service",
      "Service",
      "ServiceMonitor",
    ];
    expect(all.map(({ kind }) => kind).sort()).toEqual(kinds);
    const known = all.filter(({ kind }) => kind !== "ServiceMonitor" && kind !== "PrometheusRule");
    const few = render("networkPolicy.enabled=false");
    const wrong = { ...oneOf<Manifest>(few, "PodDisruptionBudget"), spec: { maxUnavailible: 1 } };
    expect(problemsOf([...known, ...few, wrong])).toMatch(
      /^\S*manifests\.ts\(\d+,\d+\): error [^\n]*maxUnavailible[^\n]*\n$/,
    );
  });

  it("lets a pod serve on for the delay, and waits longer for its end than the service takes", () => {
    const [defaults, longer] = [render(), render("shutdownDelay=12500")].map(
      (manifests) => oneOf<Deployment>(manifests, "Deployment").spec,
    );
    expect(defaults?.strategy?.rollingUpdate).toEqual({ maxSurge: 1, maxUnavailable: 0 });
    expect(defaults?.template.spec?.terminationGracePeriodSeconds).toBe(20);
    expect(longer?.template.spec?.terminationGracePeriodSeconds).toBeGreaterThan(12.5 + 5);
  });

  it("hands settings on as they stand in a file of values, large numbers too", () => {
    const settings = {
      ...{ GAS_WAIVER_MAX_BODY_BYTES: 33_554_432, GAS_WAIVER_KEY_QUEUE_SHARE: 0.5 },
      ...{ GAS_WAIVER_RETENTION: "30d", GAS_WAIVER_RPC_WS_URL: 'wss://x/"', GAS_WAIVER_BEHIND_PROXY: true },
    };
    const file = join(freshFolder(), "values.json");
    writeFileSync(file, JSON.stringify({ settings }));
    const flags = [...REQUIRED, SECRET].flatMap((value) => ["--set", value]);
    const rendered = helm("template", "relay", CHART, "--kube-version", "1.30.0", "--values", file, ...flags);
    const manifests = parseAllDocuments(rendered).map((document) => document.toJS());
    const { env = [] } = oneOf<Deployment>(manifests, "Deployment").spec?.template.spec?.containers[0] ?? {};
    for (const [name, value] of Object.entries(settings))
      expect(env).toContainEqual({ name, value: `${value}` });
  });

  it("gives each keystore a lane, and a start the time that it may take", () => {
    const { spec } = oneOf<Deployment>(render(...EVERYTHING), "Deployment");
    const { env = [], startupProbe } = spec?.template.spec?.containers[0] ?? {};
    const keystores = env.find(({ name }) => name === "GAS_WAIVER_KEYSTORE")?.value;
    expect(keystores).toBe("/secrets/first.json,/secrets/second.json");
    const startS = (startupProbe?.failureThreshold ?? 0) * (startupProbe?.periodSeconds ?? 0);
    expect(spec?.progressDeadlineSeconds).toBeGreaterThan(startS);
    expect(() => render("keystores={../other}")).toThrow("keystores");
  });

  it("serves several networks by a configuration file of the Secret, and refuses one beside the values of a network", () => {
    const values = ["image.repository=registry.example.com/gas-waiver", SECRET, "config=gas-waiver.yaml"];
    const flags = values.flatMap((value) => ["--set", value]);
    const manifests = parseAllDocuments(
      helm("template", "relay", CHART, "--kube-version", "1.30.0", ...flags),
    ).map((one) => one.toJS());
    const { spec } = oneOf<Deployment>(manifests, "Deployment");
    const { env = [] } = spec?.template.spec?.containers[0] ?? {};
    // Variables win over the file, and a variable of a network is none of a service with several.
    const ofNetworks = new Set<string | undefined>(
      Object.values(NETWORK_SETTINGS).map((setting) => ("env" in setting ? setting.env : undefined)),
    );
    expect(env.filter(({ name }) => ofNetworks.has(name))).toEqual([]);
    expect(env).toContainEqual({ name: "GAS_WAIVER_CONFIG", value: "/secrets/gas-waiver.yaml" });
    expect(() => render("config=gas-waiver.yaml")).toThrow("rpcUrl");
  });

  it("has the alarms of the documents as rules of the Prometheus operator, for the job that reads the pods", () => {
    const manifests = render(...EVERYTHING);
    const rule = oneOf<Manifest>(manifests, "PrometheusRule");
    const alarms = readFileSync(join(root, "docs", "alarms.yaml"), "utf8");
    const job = alarms.replaceAll('job="gas-waiver"', 'job="relay-gas-waiver-operators"');
    expect(rule.spec).toEqual(parse(job));
  });

  it("asks and opens the ports of the image, and mounts what its settings name", () => {
    const manifests = render(...EVERYTHING);
    const pod = oneOf<Deployment>(manifests, "Deployment").spec?.template.spec;
    const container = pod?.containers[0];
    const image = readDockerfile().stages.at(-1)?.settings;
    expect(container?.ports?.map(({ containerPort }) => containerPort).join(" ")).toBe(image?.EXPOSE);
    expect(`${pod?.securityContext?.runAsUser}:${pod?.securityContext?.runAsGroup}`).toBe(image?.USER);
    const known = new Set(Object.values(SERVE_SETTINGS).map((one) => ("env" in one ? one.env : "")));
    const env = container?.env ?? [];
    expect(env.filter(({ name }) => !known.has(name as never))).toEqual([]);
    const mounts = container?.volumeMounts?.map(({ mountPath }) => mountPath) ?? [];
    const files = env.flatMap(({ value = "" }) => (value.startsWith("/") ? [value] : []));
    expect(files.filter((file) => !mounts.some((mount) => file.startsWith(`${mount}/`)))).toEqual([]);
    const probes = [container?.startupProbe, container?.livenessProbe, container?.readinessProbe];
    expect(probes.map((probe) => [probe?.httpGet?.port, probe?.httpGet?.scheme])).toEqual(
      Array(3).fill(["operators", "HTTPS"]),
    );
  });

  it("opens the operators' port to those alone whom its values name", () => {
    const ingressOf = (...values: string[]) =>
      oneOf<NetworkPolicy>(render(...values), "NetworkPolicy").spec?.ingress?.map(({ ports, from }) => [
        ports?.map(({ port }) => port).join(),
        from?.length ?? "everybody",
      ]);
    expect(ingressOf()).toEqual([["api", "everybody"]]);
    expect(ingressOf(...EVERYTHING)).toEqual([
      ["api", 1],
      ["operators", 1],
    ]);
    expect(() => render("serviceMonitor.enabled=true")).toThrow("networkPolicy.operators names nobody");
  });

  it("selects its pods alone, and has Prometheus read the operators' port", () => {
    const manifests = render(...EVERYTHING);
    const { spec } = oneOf<Deployment>(manifests, "Deployment");
    const selector = spec?.selector.matchLabels;
    expect(spec?.template.metadata?.labels).toMatchObject(selector ?? {});
    const services = manifests.filter(({ kind }) => kind === "Service") as Service[];
    for (const service of services) expect(service.spec?.selector).toEqual(selector);
    const monitor = oneOf<{ spec: { selector: { matchLabels: object }; endpoints: { port: string }[] } }>(
      manifests,
      "ServiceMonitor",
    ).spec;
    const { matchLabels } = monitor.selector;
    const read = services.filter(({ metadata }) =>
      Object.entries(matchLabels).every(([name, value]) => metadata?.labels?.[name] === value),
    );
    expect(read.map(({ metadata }) => metadata?.name)).toEqual(["relay-gas-waiver-operators"]);
    expect(read[0]?.spec?.ports?.map(({ name }) => name)).toEqual(monitor.endpoints.map(({ port }) => port));
  });
});

import { type Form, formOf } from "../settings/form.js";
import { fileKeyOf, RELOADABLE, type Setting, type Settings } from "../settings/setting.js";
import { FILE_SETTINGS } from "./serveFile.js";

type Schema = Readonly<Record<string, unknown>>;

/** The JSON Schema of a configuration file (draft 7, which editors know best), made from the settings. */
export function configSchema(): Schema {
  const { shared, network, place } = FILE_SETTINGS;
  const networkProperties = properties(network);
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "gas-waiver.yaml",
    description:
      "The settings of `gas-waiver serve`. Environment variables win over them, and flags over both.",
    type: "object",
    additionalProperties: false,
    properties: {
      ...properties(shared),
      ...networkProperties,
      networks: {
        description:
          "Several networks in one service: each entry has the settings of its chain, which then stand nowhere else.",
        type: "array",
        minItems: 1,
        items: {
          type: "object",
          additionalProperties: false,
          required: ["name"],
          properties: { ...properties(place), ...networkProperties },
        },
      },
    },
    // With a list of networks, the settings of a chain are in its entries alone.
    if: { required: ["networks"] },
    // biome-ignore lint/suspicious/noThenProperty: it is a keyword of JSON Schema
    then: { properties: Object.fromEntries(Object.keys(networkProperties).map((key) => [key, false])) },
  };
}

function properties(settings: Settings): Record<string, Schema> {
  const entries = Object.values(settings).flatMap((setting) => {
    const key = fileKeyOf(setting);
    return key === undefined ? [] : [[key, propertyOf(setting)] as const];
  });
  return Object.fromEntries(entries);
}

function propertyOf(setting: Setting<unknown>): Schema {
  const { help, defaultValue, defaultText = defaultValue, reload } = setting;
  const notes = [
    ...(defaultText === undefined ? [] : [`Default: ${defaultText}.`]),
    ...(reload ? [RELOADABLE] : []),
  ];
  const description = [help, ...notes].join(" ");
  return { description, ...schemaOf(formOf(setting)) };
}

function schemaOf(form: Form): Schema {
  switch (form.kind) {
    case "path":
      return { type: "string", minLength: 1 };
    case "text":
      return {
        type: "string",
        minLength: 1,
        ...(form.pattern && { pattern: form.pattern }),
        ...(form.choices && { enum: form.choices }),
      };
    case "integer":
      return { type: "integer", minimum: form.minimum, ...(form.maximum && { maximum: form.maximum }) };
    case "number":
      return { type: "number", exclusiveMinimum: form.above, maximum: form.maximum };
    case "boolean":
      return { type: "boolean" };
    case "list":
      return {
        anyOf: [
          { type: "array", items: schemaOf(form.items) },
          { type: "string", minLength: 1 },
        ],
      };
    case "targets":
      return {
        anyOf: [
          { type: "string", minLength: 1 },
          { type: "array", items: TARGET },
        ],
      };
  }
}

const TARGET: Schema = {
  type: "object",
  additionalProperties: false,
  required: ["address"],
  properties: {
    address: { type: "string", pattern: "^(0x[0-9a-fA-F]{40}|\\*)$" },
    selectors: { type: "array", minItems: 1, items: { type: "string", pattern: "^0x[0-9a-fA-F]{8}$" } },
  },
};

// The complete configuration file of the guide.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv } from "ajv";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { configSchema } from "../../packages/cli/src/serve/configSchema.js";
import { resolveServeConfig } from "../../packages/cli/src/serve/serveConfig.js";
import { freshFolder } from "../support/freshFolder.js";
import { allBlocks } from "./codeBlocks.js";

const examples = allBlocks().filter(({ text }) => text.startsWith("# yaml-language-server: $schema="));

describe("the configuration file of the guide", () => {
  it("is there", () => expect(examples.length).toBeGreaterThan(0));

  it.each(examples.map(({ file, line, text }) => [`${file}:${line}`, text]))(
    "at %s has settings without a mistake, but for the files that it names",
    (_place, text) => {
      const path = join(freshFolder(), "gas-waiver.yaml");
      writeFileSync(path, text);
      const { config, problems } = resolveServeConfig(["--config", path], {});
      expect(problems.filter((problem) => !problem.endsWith("there is no such file"))).toEqual([]);
      expect(config.networks[0]?.values.chainId).toBe(988);
      const validate = new Ajv().compile(configSchema());
      expect(validate(parse(text)), JSON.stringify(validate.errors)).toBe(true);
    },
  );
});

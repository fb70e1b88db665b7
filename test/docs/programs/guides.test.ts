import { describePrograms } from "./documentedPrograms.js";

describePrograms(/^docs\/guides\//);

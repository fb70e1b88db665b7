/** The site's pages in reading order. A test compares this list with the files. */
export const sidebar = [
  {
    text: "Start",
    items: [
      { text: "What it is", link: "/" },
      { text: "Five minutes to a gasless transfer", link: "/getting-started" },
    ],
  },
  {
    text: "Guides: send",
    items: [
      { text: "Send with viem", link: "/guides/viem" },
      { text: "Send with ethers", link: "/guides/ethers" },
      { text: "Send from React with wagmi", link: "/guides/wagmi" },
      { text: "Send from a browser page", link: "/guides/browser" },
      { text: "Go gasless by an RPC URL", link: "/guides/gateway" },
      { text: "Send from Python, Go and others", link: "/guides/languages" },
      { text: "Send batches", link: "/guides/batches" },
      { text: "Retry without sending twice", link: "/guides/retries" },
      { text: "Check before sending", link: "/guides/check" },
      { text: "Tell users what went wrong", link: "/guides/errors-for-users" },
      { text: "Debug a revert", link: "/guides/debugging-a-revert" },
      { text: "Follow a submission", link: "/guides/follow" },
      { text: "Use one WebSocket", link: "/guides/websocket" },
      { text: "Send without a service", link: "/guides/self-hosted" },
    ],
  },
  {
    text: "Guides: operate",
    items: [
      { text: "Set up for production", link: "/guides/production" },
      { text: "Harden it", link: "/guides/hardening" },
      { text: "Check the chain's nodes", link: "/guides/nodes" },
      { text: "Plan capacity", link: "/guides/capacity" },
      { text: "Run on several machines", link: "/guides/several-machines" },
      { text: "Run PostgreSQL for the service", link: "/guides/database" },
      { text: "Keep and export outcomes", link: "/guides/retention" },
      { text: "Issue API keys and set caps", link: "/guides/api-keys" },
      { text: "Decide what may be sent", link: "/guides/policy" },
      { text: "Steer the lanes", link: "/guides/lanes" },
      { text: "Monitor the service", link: "/guides/monitoring" },
      { text: "Upgrade", link: "/guides/upgrades" },
      { text: "Release the packages", link: "/guides/releasing" },
      { text: "Troubleshoot by symptom", link: "/guides/troubleshooting" },
    ],
  },
  {
    text: "Recipes",
    items: [
      { text: "A backend that decides", link: "/recipes/backend" },
      { text: "Next.js", link: "/recipes/nextjs" },
      { text: "A resumable airdrop", link: "/recipes/airdrop" },
    ],
  },
  {
    text: "Reference",
    items: [
      { text: "Client functions", link: "/reference/client" },
      { text: "HTTP routes", link: "/reference/http" },
      { text: "WebSocket frames", link: "/reference/websocket" },
      { text: "Admin API", link: "/reference/admin" },
      { text: "Commands", link: "/reference/commands" },
      { text: "Settings", link: "/reference/settings" },
      { text: "Errors", link: "/errors" },
      { text: "Limits", link: "/limits" },
      { text: "Metrics", link: "/reference/metrics" },
    ],
  },
  {
    text: "Concepts",
    items: [
      { text: "The protocol", link: "/protocol" },
      { text: "The life of a submission", link: "/concepts/life" },
      { text: "Guarantees", link: "/concepts/guarantees" },
    ],
  },
  {
    text: "The devnet",
    items: [
      { text: "The local chain", link: "/devnet" },
      { text: "Governance", link: "/governance" },
    ],
  },
  {
    text: "Design and measurements",
    items: [
      { text: "Decisions", link: "/decisions" },
      { text: "Performance", link: "/performance" },
      { text: "What attacks cost", link: "/design/abuse" },
      { text: "Custody", link: "/design/custody" },
      { text: "What a submission writes", link: "/design/store" },
      { text: "Days of outcomes", link: "/design/days" },
      { text: "The gateway's chain", link: "/design/gateway" },
      { text: "The threat model", link: "/design/threats" },
      { text: "Chaos", link: "/chaos" },
    ],
  },
];

/** The groups for those who build applications; the others are for operators and maintainers. */
export const APPLICATION_GROUPS = ["Start", "Send", "Recipes"];

/** The site's pages in reading order. A test compares this list with the files. */
export const sidebar = [
  {
    text: "Start",
    items: [
      { text: "What it is", link: "/" },
      { text: "Five minutes to a gasless transaction", link: "/getting-started" },
    ],
  },
  {
    text: "Send",
    items: [
      { text: "Send a transaction", link: "/guides/send" },
      { text: "Follow, retry and batch", link: "/guides/follow" },
      { text: "Go gasless by an RPC URL", link: "/guides/gateway" },
      { text: "Check before sending", link: "/guides/check" },
      { text: "Explain failures", link: "/guides/failures" },
      { text: "Use one WebSocket", link: "/guides/websocket" },
      { text: "Send without a service", link: "/guides/self-hosted" },
    ],
  },
  {
    text: "Recipes",
    items: [
      { text: "A backend that decides", link: "/recipes/backend" },
      { text: "Next.js", link: "/recipes/nextjs" },
      { text: "A mobile wallet by URL", link: "/recipes/mobile-wallet" },
      { text: "A resumable airdrop", link: "/recipes/airdrop" },
      { text: "Tests with a chain of their own", link: "/recipes/testing" },
      { text: "Hardhat", link: "/recipes/hardhat" },
      { text: "Foundry", link: "/recipes/foundry" },
    ],
  },
  {
    text: "Operate: the path",
    items: [
      { text: "Run it in production", link: "/guides/production" },
      { text: "Configure it", link: "/guides/configuration" },
      { text: "Keep the waivers' keys", link: "/guides/custody" },
      { text: "Check the chain's nodes", link: "/guides/nodes" },
      { text: "Run PostgreSQL for it", link: "/guides/database" },
      { text: "Deploy it", link: "/guides/deployment" },
      { text: "Harden it", link: "/guides/hardening" },
      { text: "Monitor it", link: "/guides/monitoring" },
    ],
  },
  {
    text: "Operate: day by day",
    items: [
      { text: "Issue API keys and set caps", link: "/guides/api-keys" },
      { text: "Decide what may be sent", link: "/guides/policy" },
      { text: "Steer the lanes", link: "/guides/lanes" },
      { text: "Plan capacity", link: "/guides/capacity" },
      { text: "Back up and restore", link: "/guides/backup" },
      { text: "Keep and export outcomes", link: "/guides/retention" },
      { text: "Serve several networks", link: "/guides/networks" },
      { text: "Upgrade", link: "/guides/upgrades" },
      { text: "Use the command line", link: "/guides/command-line" },
      { text: "Runbooks, alarm by alarm", link: "/guides/runbooks" },
      { text: "Troubleshoot by symptom", link: "/guides/troubleshooting" },
    ],
  },
  {
    text: "Understand",
    items: [
      { text: "The protocol", link: "/protocol" },
      { text: "The life of a submission", link: "/concepts/life" },
      { text: "Guarantees", link: "/concepts/guarantees" },
      { text: "Fairness", link: "/concepts/fairness" },
      { text: "Decisions", link: "/decisions" },
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
    text: "Reference",
    items: [
      { text: "Client functions", link: "/reference/client" },
      { text: "HTTP routes", link: "/reference/http" },
      { text: "WebSocket frames", link: "/reference/websocket" },
      { text: "Admin API", link: "/reference/admin" },
      { text: "Commands", link: "/reference/commands" },
      { text: "Exit statuses", link: "/reference/exit-statuses" },
      { text: "Settings", link: "/reference/settings" },
      { text: "Errors", link: "/errors" },
      { text: "Limits", link: "/limits" },
      { text: "Metrics", link: "/reference/metrics" },
    ],
  },
  {
    text: "For maintainers",
    collapsed: true,
    items: [
      { text: "Performance", link: "/performance" },
      { text: "Speed: what was tried", link: "/design/speed" },
      { text: "What attacks cost", link: "/design/abuse" },
      { text: "Slow and remote custodies", link: "/design/custody" },
      { text: "What a submission writes", link: "/design/store" },
      { text: "Days of outcomes", link: "/design/days" },
      { text: "The gateway's chain", link: "/design/gateway" },
      { text: "The threat model", link: "/design/threats" },
      { text: "Chaos", link: "/chaos" },
      { text: "Independent nonce channels", link: "/design/nonce-channels" },
    ],
  },
];

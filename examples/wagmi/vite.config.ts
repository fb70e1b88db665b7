import { defineConfig } from "vite";

// The hooks' types need no plugin; @vitejs/plugin-react adds fast refresh.
export default defineConfig({ build: { target: "es2022" } });

import { defineConfig } from "vite";

// Vite compiles JSX by itself. With @vitejs/plugin-react, components keep their state while you edit.
export default defineConfig({ build: { target: "es2022" } });

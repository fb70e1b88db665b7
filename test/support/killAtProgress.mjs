// Loaded before a program (`node --import`): kills its process when it has written to its output so many times.
const limit = Number(process.env.KILL_AT ?? "Infinity");
const write = process.stdout.write;
let writes = 0;

process.stdout.write = function (...args) {
  if (writes >= limit) process.kill(process.pid, "SIGKILL");
  writes += 1;
  return write.apply(this, args);
};

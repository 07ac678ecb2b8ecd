/** Tells pages that records changed, so that they show the present state by themselves. The tabs of a browser share one
 *  stream: the one that holds the lock reads it and tells the others. */

import { address, get, headers, onSessionLost, online } from "./api.js";
import { phase } from "./session.js";
import { effect } from "./ui.js";

/** @typedef {import("./contract.js").Change} Change */

const AGAIN_MS = 1000;
const MOST_MS = 30_000;
/** How often is asked whether the service is reached again. */
const ASK_MS = 3000;
/** @type {Set<(change: Change) => void>} */
const listeners = new Set();
const tabs = new BroadcastChannel("relayboard.changes");
/** What a tab says when it opens, and the others answer: nothing is told to nobody, which costs as much as a small request. */
const OPENED = "opened";
const THERE = "there";
let hasOthers = false;
tabs.onmessage = (/** @type {MessageEvent} */ { data }) => {
  hasOthers = true;
  if (data === OPENED) tabs.postMessage(THERE);
  else if (data !== THERE) announce(data);
};
tabs.postMessage(OPENED);

/** Calls back at each change until the returned function is called. @param {(change: Change) => void} listener */
export function onChange(listener) {
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
  };
}

/** @param {Change} change */
function announce(change) {
  for (const listener of listeners) listener(change);
}

/** Follows the changes while somebody is signed in. */
export function startLive() {
  startAsking();
  let stop = new AbortController();
  effect(() => {
    stop.abort();
    if (phase.value !== "in") return;
    stop = new AbortController();
    const signal = stop.signal;
    const name = `relayboard.stream.${headers.always["X-Workspace"] ?? ""}`;
    const lead = () => follow(signal);
    // Without a secure context there are no locks: each tab then has a stream of its own.
    if (navigator.locks) navigator.locks.request(name, { signal }, lead).catch(() => {});
    else void lead();
  });
}

/** Asks, while the service is not reached, whether it is: the stream may live on though a request was lost. */
function startAsking() {
  effect(() => {
    if (online.value || phase.value !== "in") return;
    const ask = () => void get("account").catch(() => {});
    const again = setInterval(ask, ASK_MS);
    window.addEventListener("online", ask);
    return () => {
      clearInterval(again);
      window.removeEventListener("online", ask);
    };
  });
}

/** Reads the stream again and again, from where it ended. @param {AbortSignal} stop */
async function follow(stop) {
  let last = "";
  let pause = AGAIN_MS;
  while (!stop.aborted) {
    try {
      const response = await fetch(address("v2/stream"), {
        headers: { ...headers.always, Accept: "text/event-stream", ...(last ? { "Last-Event-ID": last } : {}) },
        credentials: "same-origin",
        signal: stop,
      });
      if (response.status === 401) return onSessionLost.call();
      if (!response.ok || !response.body) throw new Error();
      if (!last) tell({ kind: "reset" });
      online.value = true;
      pause = AGAIN_MS;
      for await (const { id, change } of events(response.body)) {
        if (id) last = id;
        if (change.kind !== "ready") tell(change);
      }
    } catch {
      if (stop.aborted) return;
      pause = Math.min(pause * 2, MOST_MS);
      last = last || "";
      tell({ kind: "reset" });
    }
    await waitForNetwork(pause);
  }
}

/** Waits so long, or until the browser says that it has a network again. @param {number} most in milliseconds */
const waitForNetwork = (most) =>
  new Promise((done) => {
    const end = () => {
      clearTimeout(timer);
      window.removeEventListener("online", end);
      done(undefined);
    };
    const timer = setTimeout(end, most);
    window.addEventListener("online", end);
  });

/** Tells this browser's tabs of what the service tells nobody. @param {Change} change */
export function tell(change) {
  announce(change);
  if (hasOthers) tabs.postMessage(change);
}

/**
 * The events of a stream of server-sent events.
 * @param {ReadableStream<Uint8Array>} body
 */
async function* events(body) {
  const [reader, decoder] = [body.getReader(), new TextDecoder()];
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (rest + decoder.decode(value, { stream: true })).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const lines = block.split("\n").map((line) => /** @type {[string, string]} */ (line.split(/: ?(.*)/s).slice(0, 2)));
      const found = Object.fromEntries(lines);
      if (found.event) yield { id: found.id, change: /** @type {Change | {kind: "ready"}} */ ({ kind: found.event, record: JSON.parse(found.data || "{}") }) };
    }
  }
}

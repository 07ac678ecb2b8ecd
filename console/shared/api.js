/** Requests to the API. Names of resources, parameters and bodies are checked against the contract. */

import { signal } from "./ui.js";

/** @import { Deletable, DeleteKeys, Filters, Found, Keys, Readable, Sent, Writable, Written } from "./contract.js" */

/** Headers that each request carries, and those of requests that write. The session sets them. */
export const headers = {
  /** @type {Record<string, string>} */ always: {},
  /** @type {Record<string, string>} */ writing: {},
};
/** Called when the service no longer knows the session. */
export const onSessionLost = { call: () => {} };
/** Whether the last request reached the service. */
export const online = signal(true);

const PATIENCE_MS = 30_000;

/** The service was not reached: what was asked for may be asked again. */
export class NotReached extends Error {}

/** The service refused a request: its status, its text, and its messages by property. */
export class Refused extends Error {
  /** @param {number} status @param {string} text @param {Record<string, string[]>} fields @param {string} [code] */
  constructor(status, text, fields, code = "") {
    super(text);
    this.status = status;
    this.fields = fields;
    this.code = code;
  }
}

/**
 * @template {Readable} N
 * @param {N} name
 * @param {Filters<N>} [query]
 * @param {AbortSignal} [stop]
 * @returns {Promise<Found<N>>}
 */
export const get = (name, query, stop) => request("GET", `v2/${name}.json`, { query, stop });

/**
 * Writes once, however often it is called with the same key.
 * @template {Writable} N
 * @param {N} name
 * @param {Sent<N>} body
 * @param {Keys<N>} [query]
 * @param {string} [key]
 * @returns {Promise<Written<N>>}
 */
export const post = (name, body, query, key = newKey()) =>
  request("POST", `v2/${name}.json`, { query, body, extra: { "Idempotency-Key": key } });

/**
 * @template {Deletable} N
 * @param {N} name
 * @param {DeleteKeys<N>} query
 * @returns {Promise<undefined>}
 */
export const remove = (name, query) => request("DELETE", `v2/${name}.json`, { query });

/**
 * Stores a file: for messages, or another resource that is made of one.
 * @template {"media" | "contact_imports"} N
 * @param {File} file
 * @param {N} [name]
 * @returns {Promise<Written<N>>}
 */
export const upload = (file, name = /** @type {N} */ ("media")) => {
  const form = new FormData();
  form.append("file", file, file.name);
  return request("POST", `v2/${name}.json`, { body: form, extra: { "Idempotency-Key": newKey() } });
};

/** @returns {string} */
export const newKey = () =>
  globalThis.crypto.randomUUID?.() ?? Array.from(crypto.getRandomValues(new Uint32Array(4)), (n) => n.toString(16)).join("-");

/**
 * The cursor in the link to another page of a list, or null.
 * @param {string | null | undefined} link
 */
export const cursorOf = (link) => (link ? new URL(link, document.baseURI).searchParams.get("cursor") : null);

/**
 * The absolute address of a path below `/api/`.
 * @param {string} path
 * @param {object} [query]
 */
export function address(path, query) {
  const url = new URL(`api/${path}`, document.baseURI);
  url.hash = "";
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined && value !== null && value !== "") url.searchParams.set(name, String(value));
  }
  return url;
}

/**
 * @param {string} method
 * @param {string} path
 * @param {{query?: object, body?: unknown, extra?: Record<string, string>, stop?: AbortSignal}} options
 * @returns {Promise<any>}
 */
export async function request(method, path, { query, body, extra, stop } = {}) {
  /** @type {Record<string, string>} */
  const sent = { Accept: "application/json", ...headers.always, ...(method === "GET" ? {} : headers.writing), ...extra };
  const isForm = body instanceof FormData;
  if (body !== undefined && !isForm) sent["Content-Type"] = "application/json";
  const limit = AbortSignal.timeout(isForm ? 20 * PATIENCE_MS : PATIENCE_MS);
  let response;
  try {
    response = await fetch(address(path, query), {
      method,
      headers: sent,
      body: body === undefined ? undefined : isForm ? body : JSON.stringify(body),
      credentials: "same-origin",
      signal: stop ? AbortSignal.any([stop, limit]) : limit,
    });
  } catch (error) {
    if (stop?.aborted) throw error;
    online.value = false;
    throw new NotReached();
  }
  online.value = true;
  const text = await response.text();
  if (response.ok) return text ? JSON.parse(text) : undefined;
  const refused = refusal(response.status, text);
  if (refused.status === 401) onSessionLost.call();
  throw refused;
}

/** What is said of a property, or of the parts of one by their names. @param {unknown} said @returns {string[]} */
function sentences(said) {
  if (Array.isArray(said)) return said.flatMap(sentences);
  if (said === null || typeof said !== "object") return [String(said)];
  return Object.entries(said).flatMap(([name, inner]) => sentences(inner).map((each) => (/^\d+$/.test(name) ? each : `${name.replaceAll("_", " ")}: ${each}`)));
}

/** @param {number} status @param {string} text */
function refusal(status, text) {
  /** @type {Record<string, string[]>} */
  const fields = {};
  let detail = "";
  let code = "";
  try {
    const said = JSON.parse(text);
    for (const [name, value] of Object.entries(said)) {
      if (name === "detail") detail = String(value);
      else if (name === "code" && typeof value === "string") code = value; // the word for programs
      else fields[name] = sentences(value);
    }
  } catch {
    detail = "";
  }
  return new Refused(status, detail || Object.values(fields).flat().join(" "), fields, code);
}

/** Types of requests and responses, derived from those that are generated from the contract. */

import type { components, paths } from "contract/v2";

export type Schemas = components["schemas"];

type Named = { [P in keyof paths as P extends `/${infer N}.json` ? N : never]: paths[P] };
type Json<R> = R extends { content: { "application/json": infer B } } ? B : undefined;
type Operation<N extends keyof Named, M extends string> = M extends keyof Named[N] ? NonNullable<Named[N][M]> : never;
type With<M extends string> = { [N in keyof Named]: [Operation<N, M>] extends [never] ? never : N }[keyof Named];
type Parameters<O> = O extends { parameters: { query?: infer Q } } ? NonNullable<Q> : never;
type Result<O> = O extends { responses: infer R }
  ? { [S in keyof R]: S extends 200 | 201 ? Json<R[S]> : S extends 204 ? undefined : never }[keyof R]
  : never;

/** Resources by the names they have in their paths. */
export type Readable = With<"get">;
export type Writable = With<"post">;
export type Deletable = With<"delete">;
export type Filters<N extends Readable> = Partial<Parameters<Operation<N, "get">>>;
export type Found<N extends Readable> = Result<Operation<N, "get">>;
export type Keys<N extends Writable> = Partial<Parameters<Operation<N, "post">>>;
export type Sent<N extends Writable> =
  Operation<N, "post"> extends { requestBody?: { content: { "application/json": infer B } } } ? B : never;
export type Written<N extends Writable> = Result<Operation<N, "post">>;
export type DeleteKeys<N extends Deletable> = Parameters<Operation<N, "delete">>;

export type Listed<N extends Readable> = Found<N> extends { results: (infer I)[] } ? I : never;

/** What the events of the stream contain, by kind. */
export type Records = {
  message: Listed<"messages">;
  run: Listed<"runs">;
  ticket: Listed<"tickets">;
  participant: Listed<"participants">;
  conversation: Pick<Listed<"conversations">, "uuid" | "folder" | "unread_count" | "snoozed_until" | "snoozed_by"> & { contact?: undefined };
  /** Of a conversation in which somebody wrote. */
  row: Omit<Listed<"conversations">, "contact" | "last_message"> & { contact?: undefined };
  channel: Listed<"channels">;
  contact: { uuid: string };
  channel_gone: { uuid: string };
  flow_start: Listed<"flow_starts">;
  broadcast: Listed<"broadcasts">;
  deletion: Listed<"deletions"> & { contact?: undefined };
  /** Somebody read a conversation in this browser, or marked it as unread. */
  mark: { uuid: string; contact?: { uuid: string }; unread: boolean };
};
/** A change of one record, or `reset`: load everything again. */
export type Change = { kind: "reset" } | { [K in keyof Records]: { kind: K; record: Records[K] } }[keyof Records];

// Uses the types that openapi-typescript made, with openapi-fetch. Prints what it got, as JSON.
// Arguments: the URL of the service, a token. Compiled and run by test_made_clients_in_node.py.
import createClient from "openapi-fetch";
import type { components, paths } from "./helpdesk";

declare const process: { argv: string[] };
const [url, token] = process.argv.slice(2);

function client(token: string) {
  return createClient<paths>({ baseUrl: url, headers: { Authorization: `Bearer ${token}` } });
}

function got<Data>(answer: { data?: Data; error?: unknown }): Data {
  if (answer.data === undefined) throw new Error(JSON.stringify(answer.error));
  return answer.data;
}

async function main() {
  const api = client(token);
  const me = got(await api.GET("/rest/workers/me.json"));
  const groups = got(await api.GET("/rest/records/group/search.json", { params: { query: { limit: 50 } } }));
  const group_id = groups.results![0].id;
  const fields: components["schemas"]["TicketCreate"] = { subject: "Kiln of fetch", group_id };
  const ticket = got(await api.POST("/rest/records/ticket/create.json", { body: { fields } }));
  const path = { id: ticket.id };
  const read = got(await api.GET("/rest/records/ticket/{id}.json", { params: { path, query: { expand: "group_" } } }));
  const closed = got(
    await api.PUT("/rest/records/ticket/{id}.json", { params: { path }, body: { fields: { status: "closed" } } }),
  );
  const q = `id:${ticket.id}`;
  const found = got(
    await api.GET("/rest/records/ticket/search.json", { params: { query: { q, limit: 5, show_meta: true } } }),
  );
  const counted = got(
    await api.POST("/rest/records/ticket/search.json", { body: { q, subtotals: ["status"], show_results: false } }),
  );
  const content = btoa("glaze\n");
  const file = got(
    await api.POST("/rest/attachments/upload.json", {
      body: { file_name: "glaze.txt", mime_type: "text/plain", encoding: "base64", content },
    }),
  );
  const bytes = got(
    await api.GET("/rest/attachments/{id}/download.json", { params: { path: { id: file.file_id } }, parseAs: "text" }),
  );
  const composed = got(
    await api.POST("/rest/tickets/compose.json", {
      body: { group_id, to: "ana@kiln.example", subject: "Kiln of fetch", content: "Hot.", dont_send: true },
    }),
  );
  if (!("initial_message_id" in composed)) throw new Error("a draft");
  const message_id = Number(composed.initial_message_id);
  const replied = got(
    await api.POST("/rest/tickets/reply.json", {
      body: { message_id, content: "Cool.", file_id: [file.file_id], dont_send: true },
    }),
  );
  const query = { q: "type:worklist.subtotals of:ticket by:[status]" };
  const asked = got(await api.GET("/rest/data/query.json", { params: { query } }));
  const misspelt = { ...fields, subjct: "Kiln" };
  const wrong = await api.POST("/rest/records/ticket/create.json", { body: { fields: misspelt } });
  const refused = await client("wrong").GET("/rest/workers/me.json");
  console.log(
    JSON.stringify({
      me: me._type,
      created: ticket.subject,
      read: [read.subject, read.group_id === group_id],
      updated: closed.status,
      found: found.results!.map((each) => each.subject),
      counted: counted.subtotals!.status.map((each) => each.hits),
      file: [file.name, file.mime_type],
      bytes,
      composed: composed.delivery.state,
      replied: [replied.id === composed.id, "num_messages" in replied && replied.num_messages],
      asked: asked._["type"],
      wrong: [wrong.response.status, wrong.error?.__error],
      refused: [refused.response.status, refused.error?.__error],
    }),
  );
}

main();

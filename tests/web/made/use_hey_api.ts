// Uses the client that @hey-api/openapi-ts made. Prints what it got, as JSON.
// Arguments: the URL of the service, a token. Compiled and run by test_made_clients_in_node.py.
import * as api from "./helpdesk-client";
import { client } from "./helpdesk-client/client.gen";
import type { TicketCreate } from "./helpdesk-client";

declare const process: { argv: string[] };
const [baseUrl, token] = process.argv.slice(2);

function got<Data>(answer: { data?: Data; error?: unknown }): Data {
  if (answer.data === undefined) throw new Error(JSON.stringify(answer.error));
  return answer.data;
}

async function main() {
  client.setConfig({ baseUrl, auth: token });
  const me = got(await api.workersMe());
  const groups = got(await api.recordsGroupSearch({ query: { limit: 50 } }));
  const group_id = groups.results![0].id;
  const fields: TicketCreate = { subject: "Kiln of hey", group_id };
  const ticket = got(await api.recordsTicketCreate({ body: { fields } }));
  const path = { id: ticket.id };
  const read = got(await api.recordsTicketRetrieve({ path, query: { expand: "group_" } }));
  const closed = got(await api.recordsTicketUpdate({ path, body: { fields: { status: "closed" } } }));
  const q = `id:${ticket.id}`;
  const found = got(await api.recordsTicketSearch({ query: { q, limit: 5, show_meta: true } }));
  const counted = got(
    await api.recordsTicketSearchByPost({ body: { q, subtotals: ["status"], show_results: false } }),
  );
  const content = btoa("glaze\n");
  const file = got(
    await api.attachmentsUpload({
      body: { file_name: "glaze.txt", mime_type: "text/plain", encoding: "base64", content },
    }),
  );
  const bytes = got(await api.attachmentsDownload({ path: { id: file.file_id }, parseAs: "text" }));
  const composed = got(
    await api.ticketsCompose({
      body: { group_id, to: "ana@kiln.example", subject: "Kiln of hey", content: "Hot.", dont_send: true },
    }),
  );
  if (!("initial_message_id" in composed)) throw new Error("a draft");
  const message_id = Number(composed.initial_message_id);
  const replied = got(
    await api.ticketsReply({ body: { message_id, content: "Cool.", file_id: [file.file_id], dont_send: true } }),
  );
  const asked = got(await api.dataQuery({ query: { q: "type:worklist.subtotals of:ticket by:[status]" } }));
  const misspelt = { ...fields, subjct: "Kiln" };
  const wrong = await api.recordsTicketCreate({ body: { fields: misspelt } });
  client.setConfig({ auth: "wrong" });
  const refused = await api.workersMe();
  console.log(
    JSON.stringify({
      operations: Object.values(api).filter((each) => typeof each === "function").length,
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
      wrong: [wrong.response?.status, wrong.error?.__error],
      refused: [refused.response?.status, refused.error?.__error],
    }),
  );
}

main();

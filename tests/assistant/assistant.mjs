// What an assistant does that is given this service by its URL, through the
// client of the protocol's own authors: it finds out how to get access, sends
// its person to the page, exchanges the code, and uses the tools, in the latest
// revision of the protocol and in the one before.
//
// assistant.mjs ORIGIN CLIENT_ID CONNECTION. It says `open ADDRESS` where its
// person has to go, and at last what it has seen as JSON.

import { createServer } from "node:http";
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from "@modelcontextprotocol/client";

const [origin, clientId, connection] = process.argv.slice(2);
const url = new URL(`${origin}/mcp`);

// The port is free: the description of the program names none.
const callback = await new Promise((resolve) => {
  let answered;
  const parameters = new Promise((done) => (answered = done));
  const server = createServer((request, response) => {
    response.end("You can close this page.");
    answered(new URL(request.url, "http://127.0.0.1").searchParams);
    server.close();
  });
  server.listen(0, "127.0.0.1", () => resolve({ port: server.address().port, parameters }));
});

const kept = {};
const provider = {
  redirectUrl: `http://127.0.0.1:${callback.port}/back`,
  clientMetadata: { client_name: "Planner", redirect_uris: [`http://127.0.0.1:${callback.port}/back`] },
  // As it would be with clientMetadataUrl, which has to be https.
  clientInformation: () => ({ client_id: clientId }),
  state: () => "a state",
  tokens: () => kept.tokens,
  saveTokens: (tokens) => void (kept.tokens = tokens),
  saveCodeVerifier: (verifier) => void (kept.verifier = verifier),
  codeVerifier: () => kept.verifier,
  saveDiscoveryState: (state) => void (kept.discovery = state),
  discoveryState: () => kept.discovery,
  redirectToAuthorization: (address) => console.log(`open ${address}`),
};

async function connected(mode) {
  const client = new Client({ name: "planner", version: "1.0.0" }, { versionNegotiation: { mode } });
  const transport = new StreamableHTTPClientTransport(url, { authProvider: provider });
  try {
    await client.connect(transport);
    return client;
  } catch (error) {
    if (!(error instanceof UnauthorizedError) || kept.tokens) throw error;
    await transport.finishAuth(await callback.parameters);
    return connected(mode);
  }
}

async function call(client, name, args) {
  const result = await client.callTool({ name, arguments: args });
  const [sentence, json] = result.content.map((it) => it.text);
  return { is_error: result.isError ?? false, sentence, value: json ? JSON.parse(json) : null };
}

const seen = { revisions: [], calls: {} };
for (const mode of ["legacy", { pin: "2026-07-28" }]) {
  const client = await connected(mode);
  const { tools } = await client.listTools();
  seen.revisions.push({ version: client.getNegotiatedProtocolVersion(), tools });
  const draft = { idempotency_key: "once", content: "A draft" };
  const first = await call(client, "create_post", draft);
  const again = await call(client, "create_post", draft);
  seen.calls.draft = first;
  seen.calls.same = first.value.id === again.value.id;
  await client.close();
}
seen.scope = kept.tokens.scope;

const client = await connected("auto");
const post = { content: "Hello from an assistant", platforms: [{ connected_account_id: Number(connection) }] };
const late = { ...post, scheduled_at: "2031-01-01T00:00:00Z", idempotency_key: "late" };
seen.calls.platforms = await call(client, "list_platforms", {});
seen.calls.platform = await call(client, "list_platforms", { platform: "sandbox" });
seen.calls.connections = await call(client, "list_connections", {});
seen.calls.connection = await call(client, "list_connections", { connection: Number(connection) });
seen.calls.validated = await call(client, "validate_post", post);
seen.calls.refused = await call(client, "validate_post", { ...post, platforms: [{ connected_account_id: 1 }] });
seen.calls.mistyped = await call(client, "create_post", { ...late, schedule_at: "now" });
seen.calls.scheduled = await call(client, "create_post", late);
const id = seen.calls.scheduled.value.id;
const thread = [{ content: "This is the crew" }, { content: "And this is the boat" }];
seen.calls.thread = await call(client, "create_post", { ...late, thread, idempotency_key: "thread" });
seen.calls.changed = await call(client, "change_post", { post: id, content: "Hello once more" });
seen.calls.listed = await call(client, "list_posts", { status: "scheduled" });
seen.calls.retried = await call(client, "retry_post", { post: id });
seen.calls.cancelled = await call(client, "cancel_post", { post: id });
seen.calls.shown = await call(client, "get_post", { post: id });
seen.calls.deleted = await call(client, "cancel_post", { post: id, then: "delete" });
seen.calls.missing = await call(client, "get_post", { post: id });
seen.calls.explained = await call(client, "explain_error", { status: 422 });
seen.calls.file = await call(client, "upload_media_from_url", {
  source_url: clientId.replace("client.json", "good.png"),
  mime_type: "image/png",
});
await client.close();

console.log(JSON.stringify(seen));

// What an assistant does that starts `social mcp` on its person's machine.
//
// local.mjs PROGRAM. It writes what it has seen as JSON.

import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const seen = [];
for (const mode of ["legacy", { pin: "2026-07-28" }]) {
  const client = new Client({ name: "planner", version: "1.0.0" }, { versionNegotiation: { mode } });
  await client.connect(new StdioClientTransport({ command: process.argv[2], args: ["mcp"], env: process.env }));
  const { tools } = await client.listTools();
  const draft = { idempotency_key: "once", content: "A draft" };
  const created = await client.callTool({ name: "create_post", arguments: draft });
  seen.push({ tools: tools.length, said: created.content[0].text, id: JSON.parse(created.content[1].text).id });
  await client.close();
}
console.log(JSON.stringify(seen));

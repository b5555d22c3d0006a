// Connects an account of a Bluesky server to a client in Chromium: signs in on the server's pages, allows or
// denies, and goes where that leads. Says on one line where that was:
//   {"redirected_to": the first address away from the server, "ended_at", "status", "text" of the page there}
// `status` and `text` are null where nothing answers.
//
// Where `node_modules` is (see start.mjs):
//   node sign-in.mjs --url URL --handle HANDLE --password PASSWORD [--deny] [--screenshots FOLDER]
//     [--email ADDRESS] [--fill NAME=VALUE]... [--client-origin ORIGIN --client-target ORIGIN] [--chromium PATH]
//
// URL is the server's authorization page. With --fill it is a page of the client that leads there: its fields
// are filled in and the button of their form is pressed. Where the client asks for a sign-in first, that is done with
// the address.
import { parseArgs } from 'node:util';
import { OPTIONS, asPerson } from './person.mjs';

const { values: options } = parseArgs({
  options: {
    ...OPTIONS,
    deny: { type: 'boolean', default: false },
    email: { type: 'string' },
    fill: { type: 'string', multiple: true, default: [] },
    // The origin that the client is known by, and where it is in truth.
    'client-origin': { type: 'string' },
    'client-target': { type: 'string' },
  },
});

await asPerson(options, async (person) => {
  const { page } = person;
  if (options['client-origin']) await answerFor(person, options['client-origin'], options['client-target']);
  await page.goto(options.url);
  const email = page.locator('input[name="email"]');
  if (options.email && (await email.count())) {
    await email.fill(options.email);
    await person.button('Sign in').click();
    await page.waitForURL((url) => url.pathname.startsWith('/connect/'));
  }
  if (options.fill.length) await fillIn(person);
  await page.waitForURL((url) => url.pathname === '/oauth/authorize');
  const server = new URL(page.url()).origin;
  await person.signIn();
  await person.button('Authorize').waitFor();
  await person.photograph('consent');

  const leaving = page.waitForRequest((it) => it.isNavigationRequest() && new URL(it.url()).origin !== server);
  await person.button(options.deny ? 'Deny access' : 'Authorize').click();
  const redirect = await leaving;
  const redirectedTo = redirect.url();
  if (!(await redirect.response().catch(() => null))) {
    return { redirected_to: redirectedTo, ended_at: redirectedTo, status: null, text: null };
  }
  await page.waitForURL((url) => url.origin !== server);
  await person.photograph('redirected');
  let last = redirect;
  while (last.redirectedTo()) last = last.redirectedTo();
  const status = (await last.response())?.status() ?? null;
  return { redirected_to: redirectedTo, ended_at: page.url(), status, text: await page.locator('body').innerText() };
});

async function fillIn(person) {
  const { page } = person;
  let field;
  for (const it of options.fill) {
    const [name, ...value] = it.split('=');
    field = page.locator(`input[name="${name}"]`);
    await field.fill(value.join('='));
  }
  await person.photograph('client');
  await page.locator('form').filter({ has: field }).getByRole('button').first().click();
}

// Responds to requests for `origin` with the responses of `target`. No proxy could, because none has a
// certificate of that origin; and Playwright's own routes are not asked about redirects.
async function answerFor({ page, complaints }, origin, target) {
  const session = await page.context().newCDPSession(page);
  // What was compressed or came in pieces is whole here.
  const ofTheConnection = ['connection', 'content-encoding', 'content-length', 'keep-alive', 'transfer-encoding'];
  session.on('Fetch.requestPaused', async ({ requestId, request }) => {
    try {
      const response = await fetch(target + request.url.slice(origin.length), {
        method: request.method,
        headers: request.headers,
        body: request.postData,
        redirect: 'manual',
      });
      const headers = [...response.headers].filter(([name]) => !ofTheConnection.includes(name));
      await session.send('Fetch.fulfillRequest', {
        requestId,
        responseCode: response.status,
        responseHeaders: headers.map(([name, value]) => ({ name, value })),
        body: Buffer.from(await response.arrayBuffer()).toString('base64'),
      });
    } catch (error) {
      complaints.push(`${request.url}: ${error.message}`);
      await session.send('Fetch.failRequest', { requestId, errorReason: 'ConnectionRefused' }).catch(() => {});
    }
  });
  await session.send('Fetch.enable', { patterns: [{ urlPattern: `${origin}/*` }] });
}

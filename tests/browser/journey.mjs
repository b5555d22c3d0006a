// The whole journey in a real browser: sign in with a device code, connect an
// account, upload a picture, write a post due in five seconds, and see it on the
// timeline. Every page is also photographed on a desktop and on a phone.
//
//   node journey.mjs --ready-file FILE --screenshots FOLDER [--chromium PATH]

import { readFileSync, mkdirSync } from 'node:fs';
import zlib from 'node:zlib';
import { parseArgs } from 'node:util';
import { postEverywhere, reelAndCarousel } from './everywhere.mjs';
import { connectLink } from './links.mjs';
import { ownApproval, ownComposer, ownConnections, ownFrames, ownPlatforms, ownPosts, ownWebhooks } from './own.mjs';
import { DESKTOP, accessibilityFindings, openPage } from './page.mjs';
import { approveProgram } from './program.mjs';
import { tiktokConsent, tiktokConsentByLink } from './tiktok.mjs';

const { values: options } = parseArgs({
  options: {
    'ready-file': { type: 'string' },
    screenshots: { type: 'string' },
    chromium: { type: 'string', default: '/usr/bin/chromium' },
    help: { type: 'boolean' },
  },
});
if (options.help || !options['ready-file'] || !options.screenshots) {
  console.log('node journey.mjs --ready-file FILE --screenshots FOLDER [--chromium PATH]');
  process.exit(options.help ? 0 : 2);
}

const ready = JSON.parse(readFileSync(options['ready-file'], 'utf8'));
mkdirSync(options.screenshots, { recursive: true });

const PHONE = { width: 375, height: 812 };
const run = Date.now();
let passed = 0;
let failed = 0;

// Evaluated scripts have no time limit of their own, so each step has one.
function withTimeLimit(promise) {
  let timer;
  const limit = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error('not finished after ten minutes')), 600_000);
  });
  return Promise.race([promise, limit]).finally(() => clearTimeout(timer));
}

async function step(name, body) {
  const started = Date.now();
  try {
    const result = await withTimeLimit(body());
    passed += 1;
    console.log(`ok   ${((Date.now() - started) / 1000).toFixed(1).padStart(6)} s  ${name}`);
    return result;
  } catch (error) {
    failed += 1;
    console.log(`FAIL ${((Date.now() - started) / 1000).toFixed(1).padStart(6)} s  ${name}\n     ${error.message}\n     at ${page.url()}`);
    await page.screenshot({ path: `${options.screenshots}/failed-${failed}.png` }).catch(() => {});
    return undefined;
  }
}

function ensure(condition, words) {
  if (!condition) throw new Error(words);
}

async function call(method, path, body, token) {
  const response = await fetch(path.startsWith('http') ? path : ready.base_url + path, {
    method,
    headers: {
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(token ? { authorization: `Bearer ${token}` } : {}),
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, body: text ? JSON.parse(text) : undefined };
}

async function must(status, method, path, body, token) {
  const answer = await call(method, path, body, token);
  ensure(answer.status === status, `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}

function png(width, height) {
  const chunk = (kind, data) => {
    const content = Buffer.concat([Buffer.from(kind), data]);
    const frame = Buffer.alloc(8);
    frame.writeUInt32BE(data.length, 0);
    frame.writeUInt32BE(crc(content), 4);
    return Buffer.concat([frame.subarray(0, 4), content, frame.subarray(4)]);
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2, 0, 0, 0], 8);
  const rows = Buffer.alloc(height * (1 + width * 3));
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const at = y * (1 + width * 3) + 1 + x * 3;
      rows[at] = Math.round((255 * x) / width);
      rows[at + 1] = Math.round((160 * y) / height) + 60;
      rows[at + 2] = 180;
    }
  }
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', header),
    chunk('IDAT', zlib.deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

// Older versions of node have no crc32 in zlib.
function crc(data) {
  if (zlib.crc32) return zlib.crc32(data);
  let sum = 0xffffffff;
  for (const byte of data) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit += 1) sum = (sum >>> 1) ^ (0xedb88320 & -(sum & 1));
  }
  return (sum ^ 0xffffffff) >>> 0;
}

const { browser, page, complaints } = await openPage({
  executablePath: options.chromium,
  // A page that is answered with 4xx on purpose is reported by the browser as well.
  isExpected: (text) => text.includes('the server responded with a status of 4'),
});

// Does something that leads to another page, and waits for that.
async function leads(action) {
  await Promise.all([page.waitForEvent('load'), action()]);
}

// By page and finding, so that each is reported once.
const findings = new Set();

// Photographs a page as it is, wide and narrow, and looks whether it fits and is accessible, light and dark.
async function photograph(name, shown = page, fullPage = true) {
  for (const [device, size] of [['phone', PHONE], ['desktop', DESKTOP]]) {
    await shown.setViewportSize(size);
    await shown.screenshot({ path: `${options.screenshots}/${name}-${device}.png`, fullPage });
    const width = await shown.evaluate(() => document.documentElement.scrollWidth);
    ensure(width <= size.width, `${name} is ${width} wide on a ${device} of ${size.width}`);
    for (const colorScheme of ['dark', 'light']) {
      await shown.emulateMedia({ colorScheme });
      for (const it of await accessibilityFindings(shown, colorScheme)) findings.add(`${name}: ${it}`);
    }
  }
}

async function signIn(email, shown = page) {
  await shown.locator('input[type=email], input[name=email]').first().fill(email);
  await shown.getByRole('button', { name: 'Sign in' }).click();
}

// Presses Tab until the element that matches has the focus.
async function tabTo(selector) {
  for (let presses = 0; presses < 60; presses += 1) {
    await page.keyboard.press('Tab');
    if (await page.evaluate((it) => document.activeElement?.matches(it), selector)) {
      const visible = await page.evaluate(() => {
        const style = getComputedStyle(document.activeElement);
        return style.outlineStyle !== 'none' || style.boxShadow !== 'none';
      });
      ensure(visible, `the focus on ${selector} cannot be seen`);
      return;
    }
  }
  throw new Error(`${selector} cannot be reached with Tab`);
}

const buttonNamed = (words) =>
  page.getByRole('button', { name: words, exact: true });

let token;
let connection;

await step('a page asks to sign in and continues with the code', async () => {
  const device = await must(201, 'POST', '/auth/device/code', { client_name: 'Planner on my laptop' });
  await page.goto(device.verification_uri_complete);
  await photograph('sign-in');
  await signIn(`journey-${run}@example.com`);
  await page.waitForURL((it) => it.pathname === '/device');
  await leads(() => buttonNamed('Continue').click());
  await page.getByText(device.user_code).first().waitFor();
  await photograph('device-approve');
  await leads(() => buttonNamed('Approve').click());
  await photograph('device-approved');
  const granted = await must(200, 'POST', '/auth/device/token', { device_code: device.device_code });
  token = granted.access_token;
});

await step('an account is connected through the consent page', async () => {
  const request = await must(201, 'POST', '/connections/connect/sandbox', undefined, token);
  await page.goto(request.authorization_url);
  await photograph('sandbox-consent');
  await leads(() => buttonNamed('Allow').click());
  await photograph('connected');
  const status = await must(200, 'GET', request.poll_url, undefined, token);
  ensure(status.status === 'completed', `the connect flow is ${status.status}`);
  connection = status.connection;
});

await step('several accounts of one grant are connected at once', async () => {
  const request = await must(201, 'POST', '/connections/connect/sandbox', undefined, token);
  await page.goto(request.authorization_url);
  await page.getByText('Allow access to other accounts too').click();
  for (const handle of ['meadow', 'ferry']) await page.locator(`input[name="also.${handle}"]`).check();
  await photograph('sandbox-consent-several');
  await leads(() => buttonNamed('Allow').click());
  await leads(() => buttonNamed('Connect selected').click());
  await page.getByText('Select at least one account.').waitFor();
  await photograph('choose-nothing');
  await page.getByLabel('Meadow').check();
  await photograph('choose');
  await leads(() => buttonNamed('Connect all 3').click());
  await photograph('connected-several');
  const { data } = await must(200, 'GET', '/connections', undefined, token);
  ensure(data.length === 3, `there are ${data.length} connections`);
});

await step('a refused connect flow shows the refusal', async () => {
  const request = await must(201, 'POST', '/connections/connect/sandbox', undefined, token);
  await page.goto(request.authorization_url);
  await leads(() => buttonNamed('Deny').click());
  await photograph('not-connected');
  const status = await must(200, 'GET', request.poll_url, undefined, token);
  ensure(status.status === 'failed', `the connect flow is ${status.status}`);
});

await step('another user sees who started a connect flow', async () => {
  const request = await must(201, 'POST', '/connections/connect/mastodon', undefined, token);
  const context = await browser.newContext();
  const other = await context.newPage();
  await other.goto(request.authorization_url);
  await signIn(`other-${run}@example.com`, other);
  await other.getByText(`journey-${run}@example.com`).first().waitFor();
  await photograph('another-user', other);
  await context.close();
});

await step('the connect page asks for what a platform needs', async () => {
  for (const [platform, title, field] of [['bluesky', 'Bluesky', 'handle'], ['mastodon', 'Mastodon', 'server']]) {
    const request = await must(201, 'POST', `/connections/connect/${platform}`, undefined, token);
    await page.goto(request.authorization_url);
    await photograph(`ask-${platform}`);
    await page.locator(`input[name="${field}"]`).fill('no such thing at all');
    await leads(() => buttonNamed(`Continue to ${title}`).click());
    const told = page.locator(`#${field}-error`);
    ensure(await told.count() === 1, `nothing is said of the wrong ${field}`);
    await photograph(`ask-${platform}-wrong`);
    await leads(() => buttonNamed('Cancel').click());
    await page.getByText(`${title} is not connected`).first().waitFor();
  }
});

// Uploads a file, a picture unless another is given; the path by which posts name it.
async function upload(type = 'image/png', body = png(320, 200)) {
  const filename = `sunset.${type.split('/')[1]}`;
  const target = await must(201, 'POST', '/media', { mime_type: type, filename }, token);
  const put = await fetch(target.upload_url, { method: 'PUT', headers: target.upload_headers, body });
  ensure(put.ok, `the upload was answered ${put.status}`);
  return target.path;
}

await step('a post due in five seconds appears on the timeline with its picture', async () => {
  const media = await upload();
  const words = `Hello from the journey ${run}`;
  const post = await must(
    201,
    'POST',
    '/posts',
    {
      content: words,
      platforms: [{ connected_account_id: connection.id }],
      media: [media],
      scheduled_at: new Date(Date.now() + 5000).toISOString(),
    },
    token,
  );
  ensure(post.status === 'scheduled', `the post is ${post.status}`);
  await page.goto(`${ready.origin}/sandbox`);
  ensure((await page.getByText(words).count()) === 0, 'the post is there too early');

  const end = Date.now() + 60_000;
  while ((await page.getByText(words).count()) === 0) {
    ensure(Date.now() < end, 'the post does not appear');
    await page.waitForTimeout(500);
    await page.reload();
  }

  ensure((await page.getByText(words).count()) === 1, 'the post is there more than once');
  const loaded = await page.waitForFunction(
    (text) => {
      const entries = [...document.querySelectorAll('article, li, section, div')];
      const entry = entries.reverse().find((it) => it.textContent.includes(text) && it.querySelector('img'));
      return entry && entry.querySelector('img').naturalWidth;
    },
    words,
  );
  ensure((await loaded.jsonValue()) === 320, 'the picture is not the one that was uploaded');
  await photograph('sandbox-timeline');
  const shown = await must(200, 'GET', `/posts/${post.id}`, undefined, token);
  ensure(shown.status === 'published', `the post is ${shown.status}`);
});

await step('the timeline updates itself until its reader leaves or pauses it', async () => {
  const context = await browser.newContext({ locale: 'en-US' });
  const reader = await context.newPage();
  reader.setDefaultTimeout(60_000);
  await reader.goto(`${ready.origin}/sandbox`);
  await reader.waitForEvent('load');
  // This takes longer than the time between two updates.
  const slow = async (route) => {
    await reader.waitForTimeout(6000);
    await route.continue();
  };
  await reader.route('**/sandbox/switches', slow, { times: 1 });
  await reader.getByRole('link', { name: 'Faults' }).click();
  await reader.waitForURL('**/sandbox/switches');
  await reader.goto(`${ready.origin}/sandbox`);
  await reader.getByRole('button', { name: 'Pause updates' }).click();
  let loads = 0;
  reader.on('load', () => (loads += 1));
  await reader.waitForTimeout(11_000);
  // One may have begun before the pause.
  ensure(loads < 2, 'the page updates itself although it is paused');
  await context.close();
});

await step('a fault is switched on with the keyboard alone, and the attempts can be read', async () => {
  const words = `Lost on the journey ${run}`;
  await page.goto(`${ready.origin}/sandbox/switches`);
  await photograph('sandbox-faults');
  await tabTo('input[name=kind][value=lose_answer]');
  await tabTo('select[name=account]');
  await page.keyboard.type(`@${connection.username}`);
  await tabTo('main button.primary');
  await leads(() => page.keyboard.press('Enter'));
  const armed = page.locator('#armed');
  for (const wanted of ['lose_answer', `@${connection.username}`, '1 more call']) {
    ensure((await armed.innerText()).includes(wanted), `${wanted} is not armed: ${await armed.innerText()}`);
  }
  await photograph('sandbox-faults-armed');

  const post = await must(
    201,
    'POST',
    '/posts',
    {
      content: words,
      platforms: [{ connected_account_id: connection.id }],
      scheduled_at: new Date(Date.now() + 2000).toISOString(),
    },
    token,
  );
  const end = Date.now() + 60_000;
  for (;;) {
    const shown = await must(200, 'GET', `/posts/${post.id}`, undefined, token);
    if (shown.status === 'published') break;
    ensure(Date.now() < end, `the post is ${shown.status}`);
    await page.waitForTimeout(300);
  }

  await page.goto(`${ready.origin}/account/posts?show=published`);
  await tabTo(`a[href="/account/posts/${post.id}/attempts"]`);
  await leads(() => page.keyboard.press('Enter'));
  const told = await page.locator('main').innerText();
  for (const wanted of [words, 'Published once', 'Publish call: Unknown outcome', 'Look-up: Found']) {
    ensure(told.includes(wanted), `“${wanted}” is not on the page: ${told}`);
  }
  await photograph('own-attempts');
  await page.goto(`${ready.origin}/sandbox`);
  ensure((await page.getByText(words).count()) === 1, 'the post is not on the timeline once');
});

const tools = { page, must, leads, photograph, ensure, ready };
await step('a user writes a post on its page, schedules, changes and publishes it', () => ownComposer(tools, token, connection));

await step('a post can be written with the keyboard alone', async () => {
  await page.goto(`${ready.origin}/account/posts/new`);
  await page.keyboard.type(`From the keyboard ${run}. ${'Too long. '.repeat(60)}`);
  await tabTo(`input[name="to.${connection.id}"]`);
  await page.keyboard.press('Space');
  await page.locator('#preview').getByText('Sandbox accepts at most 500 characters').waitFor();
  for (const value of ['schedule', 'publish_now', 'check']) await tabTo(`button[value=${value}]:not([hidden])`);
  await leads(() => page.keyboard.press('Enter'));
  await page.getByRole('link', { name: /Sandbox accepts at most 500 characters/ }).waitFor();
  await photograph('own-composer-too-long');
  await tabTo('button[value=save]:not([hidden])');
  await leads(() => page.keyboard.press('Enter'));
  await page.getByText('Saved as a draft').waitFor();
});

await step('a user cancels a post, and retries a failed one', () => ownPosts(tools, token, connection));
await step('a user publishes the draft of an assistant, and corrects what was refused', () =>
  ownApproval(tools, token, connection));
await step('a user reconnects an account with a lost grant', () => ownConnections(tools, token, connection));
await step('a customer connects an account with a link', () => connectLink(tools, token));
await step('a user sees the responses of a webhook endpoint', () => ownWebhooks(tools, token));

const everywhere = await step('one post goes to an account on every fake', () =>
  // Google Business Profile accepts no smaller picture.
  postEverywhere(tools, token, upload, png(320, 250)));

await step('a user writes a post for three platforms', () => ownPlatforms(tools, token, everywhere ?? []));
await step('a user agrees to the terms of TikTok for each post', () =>
  tiktokConsent(tools, token, everywhere.find((it) => it.provider === 'tiktok'), upload));
await step('a customer agrees to the terms of TikTok with a link', () => tiktokConsentByLink(tools, token, upload));

const instagram = everywhere?.find((it) => it.provider === 'instagram');

await step('a reel and a carousel are on Instagram', () => {
  ensure(instagram, 'Instagram is not connected');
  return reelAndCarousel(tools, token, instagram, upload);
});

await step('the preview shows borders and crop, and a form survives the end of its session', () => {
  ensure(instagram, 'Instagram is not connected');
  return ownFrames(tools, instagram, png, async (tab) => {
    await signIn(`journey-${run}@example.com`, tab);
    await tab.waitForURL((it) => it.pathname === '/account');
  });
});

await step('/device can be used with the keyboard alone', async () => {
  const device = await must(201, 'POST', '/auth/device/code', { scopes: ['posts:read'] });
  await page.goto(`${ready.origin}/device`);
  await photograph('device');
  if (!(await page.evaluate(() => document.activeElement?.matches('input[name=user_code]')))) {
    await tabTo('input[name=user_code]');
  }
  await page.keyboard.type(device.user_code.toLowerCase().replace('-', ''));
  await page.keyboard.press('Enter');
  await buttonNamed('Approve').waitFor();
  for (let presses = 0; ; presses += 1) {
    ensure(presses < 25, 'Approve cannot be reached with Tab');
    await page.keyboard.press('Tab');
    if ((await page.evaluate(() => document.activeElement?.textContent.trim())) === 'Approve') break;
  }
  await leads(() => page.keyboard.press('Enter'));
  await must(200, 'POST', '/auth/device/token', { device_code: device.device_code });
});

await step('a denied device is rejected', async () => {
  const device = await must(201, 'POST', '/auth/device/code', {});
  await page.goto(device.verification_uri_complete);
  await leads(() => buttonNamed('Continue').click());
  await leads(() => buttonNamed('Deny').click());
  await photograph('device-denied');
  const answer = await call('POST', '/auth/device/token', { device_code: device.device_code });
  ensure(answer.body.error === 'access_denied', `the exchange says ${JSON.stringify(answer.body)}`);
});

await step('a wrong code is explained', async () => {
  await page.goto(`${ready.origin}/device?user_code=BBBB-BBBB`);
  if (await buttonNamed('Continue').count()) await leads(() => buttonNamed('Continue').click());
  await photograph('device-wrong-code');
  ensure((await buttonNamed('Approve').count()) === 0, 'a wrong code can be approved');
});

await step('a program is approved for drafts, and another time denied', () => approveProgram(tools));

await step('access is revoked on /account', async () => {
  await page.goto(`${ready.origin}/account`);
  await photograph('account');
  await must(200, 'GET', '/user', undefined, token);
  const revoke = page.getByRole('button', { name: /^Revoke .*, approved / });
  const rows = await revoke.count();
  ensure(rows === 4, `${rows} devices and programs are listed instead of 4`);
  while (await revoke.count()) await leads(() => revoke.first().click());
  await must(401, 'GET', '/user', undefined, token);
  await photograph('account-empty');
});

await step('the documentation works without the network', async () => {
  await page.context().route((url) => url.origin !== new URL(ready.origin).origin, (route) => {
    complaints.push(`/docs asks for ${route.request().url()}`);
    return route.abort();
  });
  await page.goto(`${ready.origin}/docs`);
  await page.locator('h3 .path', { hasText: '/posts' }).first().waitFor();
  const sections = page.locator('.docs section:visible');
  const all = await sections.count();
  await page.getByLabel('Search').fill('If-Match 428');
  const found = await sections.count();
  ensure(0 < found && found < all / 2, `${found} of ${all} sections are found`);
  await page.getByLabel('Search').fill('no such words');
  await page.getByText('Nothing matches.').waitFor();
  await page.getByLabel('Search').fill('');
  // Chromium often crashes on a picture of all of it, 100,000 pixels high.
  await photograph('docs', page, false);
});

await step('an address that does not exist has a page', async () => {
  const response = await page.goto(`${ready.origin}/no-such-page`);
  ensure(response.status() === 404, `it is answered ${response.status()}`);
  await photograph('not-found');
});

await step('everything works without scripts', async () => {
  const plain = await browser.newContext({ javaScriptEnabled: false, viewport: PHONE });
  const other = await plain.newPage();
  other.setDefaultTimeout(60_000);
  const device = await must(201, 'POST', '/auth/device/code', {});
  await other.goto(device.verification_uri_complete);
  await signIn(`plain-${run}@example.com`, other);
  await other.getByRole('button', { name: 'Continue' }).click();
  await other.getByRole('button', { name: 'Approve', exact: true }).click();
  await other.waitForLoadState();
  await must(200, 'POST', '/auth/device/token', { device_code: device.device_code });
  await plain.close();
});

await step('axe finds nothing on any page', async () => {
  ensure(findings.size === 0, [...findings].join('\n     '));
});

await step('no page logged an error', async () => {
  ensure(complaints.length === 0, complaints.join('\n     '));
});

await browser.close();
console.log(`\n${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

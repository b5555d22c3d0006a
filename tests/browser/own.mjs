// The pages on which people look after what is theirs: posts, connections, webhooks.

const LONG = 'Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft'.repeat(3);

async function arm(ready, fault) {
  const response = await fetch(`${ready.origin}/sandbox/faults`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(fault),
  });
  if (!response.ok) throw new Error(`the fault is answered ${response.status}`);
}

// Asks until `done(answer)`.
async function until({ must, page, ensure }, path, token, done) {
  const end = Date.now() + 60_000;
  for (;;) {
    const shown = await must(200, 'GET', path, undefined, token);
    if (done(shown)) return shown;
    ensure(Date.now() < end, `${path} stays ${JSON.stringify(shown)}`);
    await page.waitForTimeout(300);
  }
}

function post({ must }, token, content, account, seconds) {
  const body = {
    content,
    platforms: [{ connected_account_id: account.id }],
    scheduled_at: new Date(Date.now() + seconds * 1000).toISOString(),
  };
  return must(201, 'POST', '/posts', body, token);
}

// What comes is cancelled, and what failed is tried again.
export async function ownPosts(tools, token, account) {
  const { page, leads, photograph, ensure, ready } = tools;
  const run = Date.now();
  for (const [words, days] of [[`Tomorrow ${run}`, 1], [`The same day\n\n${'and more of it. '.repeat(30)}`, 1], [LONG, 3]]) {
    await post(tools, token, words, account, 86_400 * days);
  }
  await arm(ready, { account: account.username, kind: 'refuse' });
  const refused = await post(tools, token, `Refused at first ${run}`, account, 1);
  await until(tools, `/posts/${refused.id}`, token, (it) => it.status === 'failed');

  await page.goto(`${ready.origin}/account/posts`);
  await photograph('own-posts');
  await leads(() => page.getByRole('link', { name: 'Calendar' }).click());
  await page.getByRole('link', { name: /Refused at first/ }).waitFor();
  await photograph('own-calendar');
  await page.goto(`${ready.origin}/account/posts`);
  const rows = page.locator('main li.row');
  const comes = await rows.count();
  await leads(() => rows.first().getByRole('button', { name: 'Cancel' }).click());
  await page.getByText('Cancelled. The post is now a draft.').waitFor();
  ensure((await rows.count()) === comes - 1, 'the post that was cancelled still comes');
  await photograph('own-posts-cancelled');

  await leads(() => page.getByRole('link', { name: 'See why' }).click());
  await photograph('own-posts-failed');
  await leads(() => page.getByRole('button', { name: 'Try again' }).first().click());
  await until(tools, `/posts/${refused.id}`, token, (it) => it.status === 'published');
  await page.goto(`${ready.origin}/account/posts?show=published`);
  await page.getByText(`Refused at first ${run}`).waitFor();
  await photograph('own-posts-published');
}

const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64',
);

// A post is written, refused for what is missing, scheduled and changed on its page.
export async function ownComposer(tools, token, account) {
  const { must, page, leads, photograph, ensure, ready } = tools;
  const words = `Written on the page ${Date.now()}\n\nwith two lines`;
  const press = (name) => leads(() => page.getByRole('button', { name, exact: true }).click());
  await page.goto(`${ready.origin}/account/posts`);
  await leads(() => page.getByRole('link', { name: 'New post' }).first().click());
  await page.getByLabel('Text', { exact: true }).fill(words);
  await press('Schedule');
  await page.getByRole('link', { name: 'Choose at least one account.' }).waitFor();
  await photograph('own-composer-refused');
  await page.locator(`input[name="to.${account.id}"]`).check();
  const files = ['one.png', 'two.png'].map((name) => ({ name, mimeType: 'image/png', buffer: PIXEL }));
  await leads(() => page.getByLabel('Add files').setInputFiles(files));
  await page.getByLabel('Alt text of image 1').fill('A harbour');
  await page.locator('input[name="media.1.remove"]').check();
  await press('Add a reply');
  await page.getByLabel('Reply 1', { exact: true }).fill(`A reply ${LONG}`);
  const adjusted = page.locator('.account').filter({ has: page.locator(`input[name="to.${account.id}"]`) });
  await adjusted.locator('summary').click();
  await adjusted.locator('select[name$=".options.board"]').selectOption('tides');
  await photograph('own-composer');
  await page.getByLabel('Date and time (UTC)').fill('2029-01-02T12:00');
  await press('Schedule');
  await page.getByText('Scheduled for 2 January 2029, 12:00 UTC').waitFor();
  ensure((await page.getByLabel('Text', { exact: true }).inputValue()) === words, 'the text is another one');

  await page.locator('input[name="thread.0.remove"]').check();
  await press('Save changes');
  await page.getByText('Saved.').waitFor();
  const id = Number(new URL(page.url()).pathname.split('/').pop());
  const changed = await must(200, 'GET', `/posts/${id}`, undefined, token);
  const alone = changed.media.length === 1 && changed.media[0].alt_text === 'A harbour';
  const isOnBoard = changed.platforms[0].options.board === 'tides';
  ensure(changed.content === words && changed.thread.length === 0 && alone && isOnBoard, `stored: ${JSON.stringify(changed)}`);
  await page.locator('#labels').evaluate((it) => it.closest('details').open = true);
  await page.locator('#labels').fill('spring');
  // Enter in a field presses the first button of the form.
  await page.locator('#external_id').fill('order-1');
  await leads(() => page.keyboard.press('Enter'));
  const { labels } = await must(200, 'GET', `/posts/${id}`, undefined, token);
  ensure(labels[0] === 'spring', `labels: ${labels}`);
  await press('Publish now');
  await until(tools, `/posts/${id}`, token, (it) => it.status === 'published');
  await page.reload();
  await page.getByRole('link', { name: 'View post' }).waitFor();
  await photograph('own-composer-published');
  await page.goto(`${ready.origin}/account/connections/${account.id}/choices/board`);
  await page.getByText('Tides and weather').waitFor();
  await photograph('own-choices');
}

// A post with two pictures for accounts of three platforms is written, scheduled, changed and published on its page.
export async function ownPlatforms(tools, token, accounts) {
  const { page, leads, photograph, ensure, ready } = tools;
  const chosen = accounts.filter((it) => ['bluesky', 'linkedin', 'mastodon'].includes(it.provider));
  ensure(chosen.length === 3, `${chosen.length} of three platforms are connected`);
  const words = `On three platforms ${Date.now()}`;
  const press = (name) => leads(() => page.getByRole('button', { name, exact: true }).click());
  await page.goto(`${ready.origin}/account/posts/new`);
  await page.getByLabel('Text', { exact: true }).fill(`${words} https://example.com/a/very/long/path/of/a/page`);
  for (const { id } of chosen) await page.locator(`input[name="to.${id}"]`).check();
  const files = ['one.png', 'two.png'].map((name) => ({ name, mimeType: 'image/png', buffer: PIXEL }));
  await leads(() => page.getByLabel('Add files').setInputFiles(files));
  for (const number of [1, 2]) await page.getByLabel(`Alt text of image ${number}`).first().fill(`Picture ${number}`);
  const preview = (title) => page.locator('#preview article').filter({ hasText: title });
  await preview('Bluesky').getByText('example.com/a/very/long/...').waitFor();
  await preview('Mastodon').getByText('https://example.com/a/very/long/path/of/a/page').waitFor();
  ensure((await page.locator('#preview article').count()) === 3, 'the preview has not three accounts');
  await photograph('own-platforms');

  // One account gets the second picture only.
  const mastodon = chosen.find((it) => it.provider === 'mastodon').id;
  const adjusted = page.locator('.account').filter({ has: page.locator(`input[name="to.${mastodon}"]`) });
  await adjusted.locator('summary').click();
  await leads(() => adjusted.getByLabel('Other files for this account').check());
  await page.locator(`input[name="to.${mastodon}.media.0.remove"]`).check();
  await page.getByLabel('Date and time (UTC)').fill('2029-01-02T12:00');
  await press('Schedule');
  await page.getByText('Scheduled for 2 January 2029, 12:00 UTC').waitFor();
  ensure((await preview('Mastodon').locator('.images img').count()) === 1, 'Mastodon would get both pictures');
  ensure((await preview('Bluesky').locator('.images img').count()) === 2, 'Bluesky would not get both pictures');
  await page.getByLabel('Text', { exact: true }).fill(words);
  await press('Save changes');
  await page.getByText('Saved.').waitFor();
  await press('Publish now');
  const id = Number(new URL(page.url()).pathname.split('/').pop());
  await until(tools, `/posts/${id}`, token, (it) => it.status === 'published');
  await page.reload();
  await photograph('own-platforms-published');
  for (const { provider } of chosen) {
    await page.goto(`${ready.origin}/fakes/${provider}`);
    const shown = page.locator('article', { hasText: words });
    ensure((await shown.count()) === 1, `the post is not on ${provider} once`);
    const pictures = provider === 'mastodon' ? 1 : 2;
    ensure((await shown.locator('img').count()) === pictures, `${provider} has not ${pictures} pictures`);
  }
}

// Files of a carousel get borders and are cropped in the preview. The session ends, and the entries survive a sign-in in
// another tab.
export async function ownFrames(tools, account, png, signIn) {
  const { page, leads, photograph, ensure, ready } = tools;
  const words = `Two ratios ${Date.now()}`;
  await page.goto(`${ready.origin}/account/posts/new`);
  await page.getByLabel('Text', { exact: true }).fill(words);
  const box = page.locator(`input[name="to.${account.id}"]`);
  await box.check();
  const chosen = page.locator('.account').filter({ has: box });
  await chosen.locator('summary').click();
  await chosen.getByLabel('Fit', { exact: true }).selectOption('borders');
  const files = [png(180, 320), png(320, 320)].map((buffer, index) => ({ name: `${index}.png`, mimeType: 'image/png', buffer }));
  await leads(() => page.getByLabel('Add files').setInputFiles(files));
  for (const note of ['File 1 gets white borders.', 'File 2 is cropped to the aspect ratio of file 1.']) {
    await page.locator('#preview').getByText(note).waitFor();
  }
  ensure((await page.locator('#preview .images > svg').count()) === 2, 'the preview does not frame both images');
  await photograph('own-frames');

  await page.context().clearCookies();
  await leads(() => page.getByRole('button', { name: 'Save draft', exact: true }).click());
  await page.getByRole('heading', { name: 'You are signed out' }).waitFor();
  await photograph('own-signed-out');
  const [tab] = await Promise.all([
    page.context().waitForEvent('page'),
    page.getByRole('link', { name: 'Sign in in a new tab' }).click(),
  ]);
  await signIn(tab);
  await tab.close();
  await leads(() => page.getByRole('button', { name: 'Continue', exact: true }).click());
  const kept = await page.getByLabel('Text', { exact: true }).inputValue();
  ensure(kept === words, `the text is now ${kept}`);
  ensure((await page.locator('#preview .images > svg').count()) === 2, 'the files or options are lost');
  await photograph('own-signed-in-again');
}

// An assistant with access to drafts only writes a draft; its user reads it and publishes it. The platform refuses it,
// and the user corrects it.
export async function ownApproval(tools, token, account) {
  const { must, page, leads, photograph, ensure, ready } = tools;
  const press = (name) => leads(() => page.getByRole('button', { name, exact: true }).click());
  const body = { client_name: 'Assistant', scopes: ['posts:draft'] };
  const device = await must(201, 'POST', '/auth/device/code', body);
  await page.goto(device.verification_uri_complete);
  await press('Continue');
  await press('Approve');
  const grant = { device_code: device.device_code };
  const { access_token: drafts } = await must(200, 'POST', '/auth/device/token', grant);
  const words = `From an assistant ${Date.now()}`;
  const platforms = [{ connected_account_id: account.id }];
  const { id } = await must(201, 'POST', '/posts', { content: words, platforms }, drafts);

  await page.goto(`${ready.origin}/account/posts?show=drafts`);
  await photograph('own-drafts');
  await leads(() => page.locator('li', { hasText: words }).getByRole('link', { name: 'Review and schedule' }).click());
  await page.getByText('An app that can only write drafts wrote this draft.').waitFor();
  await photograph('own-draft');
  await arm(ready, { account: account.username, kind: 'refuse' });
  await press('Publish now');
  await until(tools, `/posts/${id}`, token, (it) => it.status === 'failed');
  await page.reload();
  const reason = await page.locator('.account .error').first().innerText();
  ensure(reason.length > 10, `the reason is “${reason}”`);
  await photograph('own-refused');
  await page.getByLabel('Text', { exact: true }).fill(`${words}, corrected`);
  await press('Publish again now');
  await until(tools, `/posts/${id}`, token, (it) => it.status === 'published');
  await page.goto(`${ready.origin}/sandbox`);
  ensure((await page.getByText(`${words}, corrected`).count()) === 1, 'the corrected post is not public once');
}

// An account whose grant is gone is connected again, and what waited for it goes out.
export async function ownConnections(tools, token, account) {
  const { page, leads, photograph, ensure, ready } = tools;
  await arm(ready, { account: account.username, kind: 'revoke' });
  const waits = await post(tools, token, `Waits for its account ${Date.now()}`, account, 1);
  await until(tools, `/connections/${account.id}`, token, (it) => it.needs_reconnection);
  await page.goto(`${ready.origin}/account/posts`);
  await photograph('own-posts-waiting');
  await leads(() => page.getByRole('link', { name: 'Reconnect' }).first().click());
  await photograph('own-connections-lost');
  await page.getByRole('button', { name: /^Reconnect/ }).first().click();
  await page.waitForURL((it) => it.pathname.includes('/sandbox/'));
  // One grant covers them all.
  await page.locator(`input[name=account][value=${account.username}]`).check();
  await page.getByText('Allow access to other accounts too').click();
  for (const handle of ['meadow', 'ferry']) await page.locator(`input[name="also.${handle}"]`).check();
  await leads(() => page.getByRole('button', { name: 'Allow', exact: true }).click());
  await leads(() => page.getByRole('button', { name: 'Connect all 3', exact: true }).click());
  await leads(() => page.getByRole('link', { name: 'Go to your connections' }).click());
  const lost = await page.getByText('Reconnect needed').count();
  ensure(lost === 0, `${lost} accounts need to be reconnected`);
  await page.locator('main summary').first().click();
  await photograph('own-connections');
  await until(tools, `/posts/${waits.id}`, token, (it) => it.status === 'published');
}

// An unreachable endpoint is reported.
export async function ownWebhooks(tools, token) {
  const { leads, must, page, photograph, ready } = tools;
  await page.goto(`${ready.origin}/account/webhooks`);
  await photograph('own-webhooks-none');
  await page.getByRole('link', { name: 'New webhook' }).click();
  await page.getByLabel('URL').fill('https://hooks.example.org/new');
  await page.getByLabel('post.failed').check();
  await photograph('own-new-webhook');
  await leads(() => page.getByRole('button', { name: 'Create webhook' }).click());
  await page.getByLabel('Secret').waitFor();
  await photograph('own-webhook-secret');
  for (const url of [`https://hooks.example.com/${LONG}`, 'https://hooks.example.net/short']) {
    const made = await must(201, 'POST', '/webhooks', { url }, token);
    await must(202, 'POST', `/webhooks/${made.id}/test`, {}, token);
    const path = `/webhooks/${made.id}/deliveries`;
    await until(tools, path, token, ({ data }) => data.length !== 0 && data[0].attempts.length !== 0);
  }
  await page.goto(`${ready.origin}/account/webhooks`);
  await page.getByText('the host of this URL was not found').first().waitFor();
  await photograph('own-webhooks');
}

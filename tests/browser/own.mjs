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
  await page.locator('main summary').first().click();
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
  ensure(changed.content === words && changed.thread.length === 0 && alone, `stored: ${JSON.stringify(changed)}`);
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

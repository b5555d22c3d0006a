// An account on every stand-in, connected by hand, and one post to all of them.

// What stands on the page of stand-ins: each platform, and what to type for it.
async function standIns(page) {
  return page.locator('main section.card').evaluateAll((cards) => cards.map((card) => ({
    name: card.id,
    title: card.querySelector('h2').textContent,
    answers: [...card.querySelectorAll('dl div')].map((it) => [
      it.querySelector('dt').textContent,
      it.querySelector('dd').textContent,
    ]),
  })));
}

// Goes on with a hand-off until it has ended, as a person would; its connection.
async function connect({ page, must, leads, photograph, ensure, ready }, { name, title, answers }, token) {
  const request = await must(201, 'POST', `/connections/connect/${name}`, undefined, token);
  await page.goto(request.authorization_url);
  for (let pages = 0; pages < 6; pages += 1) {
    const status = await must(200, 'GET', request.poll_url, undefined, token);
    if (status.status === 'completed') {
      await photograph(`connected-${name}`);
      return status.connection;
    }
    ensure(status.status === 'pending', `${title}: the hand-off is ${JSON.stringify(status)}`);
    const isOurs = new URL(page.url()).origin === ready.origin;
    // Another form of our pages signs out.
    const form = page.locator(isOurs ? 'form[action^="/connect/"]' : 'form').first();
    if (isOurs && !(await form.count())) {
      // It leads to the platform by itself.
      await page.waitForURL((it) => it.origin !== ready.origin);
      continue;
    }
    if (isOurs) await photograph(pages === 0 ? `ask-${name}` : `ask-${name}-${pages}`);
    for (const [field, value] of answers) {
      const input = form.locator(`[name="${field}"]`);
      if (isOurs && (await input.count())) await input.fill(value);
    }
    const choice = form.locator('input[type=radio], input[type=checkbox]');
    if (await choice.count()) await choice.first().check();
    await leads(() => form.locator('button, input[type=submit]').first().click());
  }
  throw new Error(`${title}: the hand-off does not end: ${await page.locator('body').innerText()}`);
}

// The entry of a post for this account: what its platform requires is chosen from
// what it offers.
async function entry({ must }, platforms, account, token) {
  const { options: described } = platforms.find((it) => it.name === account.provider);
  const options = {};
  for (const name of described.required ?? []) {
    const { data } = await must(200, 'GET', `/connections/${account.id}/choices/${name}`, undefined, token);
    options[name] = data[0].value;
  }
  return { connected_account_id: account.id, options };
}

export async function postEverywhere(tools, token, picture) {
  const { page, must, photograph, ensure, ready } = tools;
  await page.goto(`${ready.origin}/stand-ins`);
  const all = await standIns(page);
  const accounts = [];
  for (const it of all) accounts.push(await connect(tools, it, token));
  await page.goto(`${ready.origin}/stand-ins`);
  await photograph('stand-ins');

  const { data: platforms } = await must(200, 'GET', '/platforms', undefined, token);
  const entries = [];
  for (const it of accounts) entries.push(await entry(tools, platforms, it, token));

  const words = `Everywhere at once ${Date.now()}`;
  const media = await picture();
  const post = await must(201, 'POST', '/posts', {
    content: words,
    platforms: entries,
    media: [media],
    scheduled_at: new Date(Date.now() + 3000).toISOString(),
  }, token);
  const end = Date.now() + 40_000;
  for (;;) {
    const shown = await must(200, 'GET', `/posts/${post.id}`, undefined, token);
    if (shown.status === 'published') break;
    ensure(shown.status !== 'failed' && Date.now() < end, `the post is ${JSON.stringify(shown)}`);
    await page.waitForTimeout(300);
  }
  for (const { name, title } of all) {
    await page.goto(`${ready.origin}/stand-ins/${name}`);
    ensure((await page.getByText(words).count()) === 1, `the post is not on ${title} once`);
    const width = await page.locator('article img').first().evaluate((it) => it.decode().then(() => it.naturalWidth));
    ensure(0 < width, `the picture is not on ${title}`);
    await photograph(`stand-in-${name}`);
  }
  console.log(`     one post on ${all.map((it) => it.title).join(', ')}`);
}

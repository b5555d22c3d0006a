// An account on every fake, connected by hand, and one post to all of them; and what
// Instagram alone makes of files: a reel and a carousel.

// The page of fakes lists each platform, and what to type for it.
async function fakes(page) {
  return page.locator('main section.card').evaluateAll((cards) => cards.map((card) => ({
    name: card.id,
    title: card.querySelector('h2').textContent,
    answers: [...card.querySelectorAll('dl div')].map((it) => [
      it.querySelector('dt').textContent,
      it.querySelector('dd').textContent,
    ]),
  })));
}

// The page on which a fake asks names the platform, says that it is a fake, and has an account selected.
async function looksLikeAFake({ page, ensure }, title) {
  const heading = await page.locator('h1').first().innerText();
  for (const text of [heading, await page.title()]) {
    ensure(text.includes(`Fake of ${title}`), `the page of ${title} is titled ${text}`);
  }
  ensure(await page.evaluate(() => document.documentElement.lang === 'en'), `the page of ${title} has no language`);
  const radios = page.locator('input[type=radio]');
  if (await radios.count()) ensure(await radios.first().isChecked(), `no account of ${title} is selected`);
}

// Links and pictures of accounts and posts stay in the local stack.
async function staysHere({ page, ensure, ready }, path) {
  await page.goto(ready.origin + path);
  const urls = await page.evaluate(() => [
    ...[...document.querySelectorAll('main a[href]')].map((it) => it.href),
    ...[...document.querySelectorAll('main img')].map((it) => it.src),
  ]);
  const elsewhere = urls.filter((it) => new URL(it).origin !== ready.origin);
  ensure(elsewhere.length === 0, `${path} leads to ${elsewhere.join(', ')}`);
  const broken = await page.locator('main img').evaluateAll((all) =>
    Promise.all(all.map((it) => {
      // Otherwise a picture below the window is never loaded.
      it.loading = 'eager';
      return it.decode().then(() => null, () => it.src);
    })));
  ensure(broken.every((it) => it === null), `${path} has broken pictures: ${broken.filter(Boolean).join(', ')}`);
}

// Completes a connect flow as a user would; returns its connection.
async function connect(tools, { name, title, answers }, token) {
  const { page, must, leads, photograph, ensure, ready } = tools;
  const request = await must(201, 'POST', `/connections/connect/${name}`, undefined, token);
  await page.goto(request.authorization_url);
  for (let pages = 0; pages < 6; pages += 1) {
    const status = await must(200, 'GET', request.poll_url, undefined, token);
    if (status.status === 'completed') {
      await photograph(`connected-${name}`);
      return status.connection;
    }
    ensure(status.status === 'pending', `${title}: the connect flow is ${JSON.stringify(status)}`);
    const isOurs = new URL(page.url()).origin === ready.origin;
    // Another form of our pages signs out.
    const form = page.locator(isOurs ? 'form[action^="/connect/"]' : 'form').first();
    if (isOurs && !(await form.count())) {
      // It leads to the platform automatically.
      await page.waitForURL((it) => it.origin !== ready.origin);
      continue;
    }
    if (!isOurs) {
      await looksLikeAFake(tools, title);
      await photograph(`consent-${name}`);
      await leads(() => form.locator('button, input[type=submit]').first().click());
      continue;
    }
    await photograph(pages === 0 ? `ask-${name}` : `ask-${name}-${pages}`);
    for (const [field, value] of answers) {
      const input = form.locator(`[name="${field}"]`);
      if (await input.count()) await input.fill(value);
    }
    const choice = form.locator('input[type=radio], input[type=checkbox]');
    if (await choice.count()) await choice.first().check();
    await leads(() => form.locator('button, input[type=submit]').first().click());
  }
  throw new Error(`${title}: the connect flow does not end: ${await page.locator('body').innerText()}`);
}

// The entry of a post for this account: what its platform requires is chosen from
// what it offers. Where every post needs a video, it has one instead of the picture.
async function entry({ must }, platforms, account, token, upload) {
  const { options: described, rules } = platforms.find((it) => it.name === account.provider);
  const options = {};
  const applies = ({ when }) => !when || when.or_absent;
  const required = rules.filter((it) => it.name === 'required_options' && applies(it)).flatMap((it) => it.value);
  for (const name of [...(described.required ?? []), ...required]) {
    const { data } = await must(200, 'GET', `/connections/${account.id}/choices/${name}`, undefined, token);
    options[name] = data[0].value;
  }
  const needsVideo = rules.some((it) => it.name === 'min_videos' && !it.when);
  const media = needsVideo ? [await upload('video/mp4', video())] : undefined;
  return { connected_account_id: account.id, options, media };
}

export async function postEverywhere(tools, token, upload, picture) {
  const { page, must, photograph, ensure, ready } = tools;
  await page.goto(`${ready.origin}/fakes`);
  const all = await fakes(page);
  const accounts = [];
  for (const it of all) accounts.push(await connect(tools, it, token));
  await page.goto(`${ready.origin}/fakes`);
  await photograph('fakes');

  const { data: platforms } = await must(200, 'GET', '/platforms', undefined, token);
  const entries = [];
  for (const it of accounts) entries.push(await entry(tools, platforms, it, token, upload));

  const words = `Everywhere at once ${Date.now()}`;
  const media = await upload('image/png', picture);
  const post = await must(201, 'POST', '/posts', {
    content: words,
    platforms: entries,
    media: [media],
    scheduled_at: new Date(Date.now() + 3000).toISOString(),
  }, token);
  const end = Date.now() + 120_000;
  for (;;) {
    const shown = await must(200, 'GET', `/posts/${post.id}`, undefined, token);
    if (shown.status === 'published') break;
    ensure(shown.status !== 'failed' && Date.now() < end, `the post is ${JSON.stringify(shown)}`);
    await page.waitForTimeout(300);
  }
  for (const { name, title } of all) {
    await page.goto(`${ready.origin}/fakes/${name}`);
    ensure((await page.getByText(words).count()) === 1, `the post is not on ${title} once`);
    if (!(await page.locator('article video').count())) {
      const width = await page.locator('article img').first().evaluate((it) => it.decode().then(() => it.naturalWidth));
      ensure(0 < width, `the picture is not on ${title}`);
    }
    await photograph(`fake-${name}`);
  }
  const { platforms: targets } = await must(200, 'GET', `/posts/${post.id}`, undefined, token);
  for (const { provider, platform_post_url: url } of targets) {
    ensure(url?.startsWith(`${ready.origin}/fakes/${provider}`), `the post on ${provider} is at ${url}`);
    await page.goto(url);
    ensure((await page.getByText(words).count()) === 1, `the post is not at ${url}`);
  }
  await photograph('fake-post');
  await page.goto(`${ready.origin}/account/posts/${post.id}/attempts`);
  const named = await page.locator('main h2').allInnerTexts();
  for (const { title } of all) {
    // An account without a username has the name of its platform alone.
    const isNamed = (it) => it.trim() === title || it.trim().startsWith(`${title}, `);
    ensure(named.some(isNamed), `no attempt names ${title}: ${named.join(', ')}`);
  }
  await photograph('own-attempts-everywhere');
  for (const part of ['posts?show=published', 'connections']) {
    await staysHere(tools, `/account/${part}`);
    await photograph(`own-${part.split('?')[0]}-fakes`);
  }
  console.log(`     one post on ${all.map((it) => it.title).join(', ')}`);
  return accounts;
}

// The boxes of a video, without any frames: as much as is looked at.
export function video() {
  const box = (name, content) => {
    const head = Buffer.alloc(8);
    head.writeUInt32BE(content.length + 8);
    head.write(name, 4, 'latin1');
    return Buffer.concat([head, content]);
  };
  const brand = Buffer.from('isom\0\0\x02\0isom', 'latin1');
  return Buffer.concat([box('ftyp', brand), box('moov', Buffer.alloc(32)), box('mdat', Buffer.alloc(2048, 7))]);
}

// One video as a reel, and several files as a carousel, on Instagram. Its fake fetches
// them by their public addresses and works on them for a while.
export async function reelAndCarousel({ page, must, photograph, ensure, ready }, token, account, upload) {
  const film = () => upload('video/mp4', video());
  const run = Date.now();
  const posts = [
    {
      words: `A reel ${run}`,
      media: [await film()],
      options: { kind: 'reel', cover_ms: 0, share_to_feed: false, first_comment: 'The first to say so' },
      shown: { video: 1, img: 0 },
    },
    {
      words: `A carousel ${run}`,
      media: [{ path: await upload(), alt_text: 'a plain picture' }, await film(), await upload()],
      options: { fit: 'borders', user_tags: ['keeper_ada 0.25 0.75'] },
      shown: { video: 1, img: 2 },
    },
  ];
  for (const post of posts) {
    post.id = (await must(201, 'POST', '/posts', {
      content: post.words,
      platforms: [{ connected_account_id: account.id, options: post.options }],
      media: post.media,
      scheduled_at: new Date(Date.now() + 3000).toISOString(),
    }, token)).id;
  }
  const end = Date.now() + 180_000;
  for (const { id } of posts) {
    for (;;) {
      const shown = await must(200, 'GET', `/posts/${id}`, undefined, token);
      if (shown.status === 'published') break;
      ensure(shown.status !== 'failed' && Date.now() < end, `the post is ${JSON.stringify(shown)}`);
      await page.waitForTimeout(500);
    }
  }
  await page.goto(`${ready.origin}/fakes/instagram`);
  for (const { words, shown } of posts) {
    const article = page.locator('article', { hasText: words });
    ensure((await article.count()) === 1, `“${words}” is not on Instagram once`);
    for (const [kind, count] of Object.entries(shown)) {
      ensure((await article.locator(kind).count()) === count, `“${words}” has not ${count} of ${kind}`);
    }
  }
  await photograph('instagram-reel-and-carousel');
}

// The page of consent, as TikTok's audit requires it: the points of docs/platforms/review/tiktok.md, in their order.

import { video } from './everywhere.mjs';

// Checks each point, then what the service refuses without its script. `send` is the name of the button. The page ends with
// a visibility and a text that can be sent.
async function meetsTheList({ page, must, leads, photograph, ensure, ready }, token, { id, words, send, name }) {
  const box = (name) => page.locator(`form.consent [name="${name}"]`);
  const shows = async (text, what = true) => {
    const isShown = await page.getByText(text).first().isVisible();
    ensure(isShown === what, `“${text}” is ${isShown ? '' : 'not '}shown`);
  };
  // 1. The creator.
  await page.getByRole('heading', { name: 'Post to TikTok' }).waitFor();
  await shows('Ada Keeper');
  await page.locator('.creator img').evaluate((it) => it.decode());
  // 2. The settings.
  ensure((await page.getByLabel('Title', { exact: true }).inputValue()) === words, 'the title is another one');
  const visibility = box('visibility');
  ensure((await visibility.inputValue()) === '', 'a visibility is preselected');
  const offered = await visibility.locator('option').allInnerTexts();
  ensure(offered.join() === 'Choose,Everyone,Friends,Only you', `the visibilities are ${offered}`);
  for (const name of ['comments', 'duet', 'stitch', 'disclose', 'brand_organic', 'brand_content']) {
    ensure(!(await box(name).isChecked()), `${name} is on`);
  }
  // 3. The disclosure.
  const button = page.getByRole('button', { name: send, exact: true });
  await shows('Your brand', false);
  ensure(await button.isEnabled(), 'the button is disabled without a disclosure');
  await photograph(name, page);
  await box('disclose').check();
  await shows('You are promoting yourself or your own business.');
  await shows('You are promoting another brand or a third party.');
  ensure(await button.isDisabled(), 'the button is enabled before a brand is chosen');
  const why = 'You need to indicate if your content promotes yourself, a third party, or both.';
  ensure((await button.getAttribute('title')) === why, 'the button does not say why it is disabled');
  await shows(why);
  await shows('Promotional content', false);
  await box('brand_organic').check();
  await shows('Your video will be labeled as “Promotional content”.');
  ensure(await button.isEnabled(), 'the button is disabled with a brand');
  await visibility.selectOption('SELF_ONLY');
  await box('brand_content').check();
  await shows('Promotional content', false);
  await shows('Your video will be labeled as “Paid partnership”.');
  await shows('Branded content visibility cannot be set to private.');
  ensure(await visibility.locator('[value=SELF_ONLY]').isDisabled(), 'branded content can be private');
  // 4. The consent.
  await shows('By posting, you agree to TikTok’s Branded Content Policy and Music Usage Confirmation.');
  await box('brand_content').uncheck();
  await shows('By posting, you agree to TikTok’s Music Usage Confirmation.');
  await shows('Branded Content Policy', false);
  const links = page.locator('form.consent a[href^="https://www.tiktok.com/legal/page/global/"]');
  ensure((await links.count()) === 3, 'the terms are not linked');
  // 5. The control.
  const source = await page.locator('form.consent video').getAttribute('src');
  ensure((await page.request.get(ready.origin + source)).status() === 200, 'the video is not in the preview');
  await shows('It may take a few minutes until the post is visible on your profile.');
  await photograph(`${name}-disclosed`, page);

  // Without its script, the page is returned with what was chosen. Nothing is sent before the consent.
  const sendAs = async (value, branded) => {
    await visibility.evaluate((it, value) => {
      for (const option of it.options) option.disabled = false;
      it.required = false;
      it.value = value;
    }, value);
    await box('brand_content').evaluate((it, branded) => { it.checked = branded; }, branded);
    await leads(() => page.locator('form.consent').evaluate((it) => it.submit()));
  };
  await sendAs('SELF_ONLY', true);
  await page.getByRole('alert').getByText('Branded content visibility cannot be set to private.').waitFor();
  ensure(await box('brand_content').isChecked(), 'the disclosure is lost');
  await sendAs('', false);
  await page.getByRole('alert').getByText('Choose who can see this post.').waitFor();
  const waiting = await must(200, 'GET', `/posts/${id}`, undefined, token);
  ensure(waiting.status === 'draft' && !waiting.platforms[0].consented_at, `nobody agreed: ${JSON.stringify(waiting)}`);

  await visibility.selectOption('MUTUAL_FOLLOW_FRIENDS');
  await box('stitch').check();
  await page.getByLabel('Title', { exact: true }).fill(`${words}, retitled`);
}

// What the person has chosen is stored, and nothing that a program has set.
function isStored(ensure, target, words) {
  const stored = JSON.stringify(target.options);
  ensure(stored === '{"brand_organic":true,"stitch":true,"visibility":"MUTUAL_FOLLOW_FRIENDS"}', `the options are ${stored}`);
  ensure(target.content === `${words}, retitled` && target.consented_at, `stored: ${JSON.stringify(target)}`);
}

// A draft with a video. What a program chose is not preselected.
async function draft({ must }, token, account, upload) {
  const words = `A boat ${Date.now()}`;
  const options = { visibility: 'PUBLIC_TO_EVERYONE', comments: true, stitch: true, brand_content: true };
  const { id } = await must(201, 'POST', '/posts', {
    content: words,
    media: [await upload('video/mp4', video())],
    platforms: [{ connected_account_id: account.id, options }],
  }, token);
  return { id, words };
}

export async function tiktokConsent(tools, token, account, upload) {
  const { must, page, leads, ensure, ready } = tools;
  const { id, words } = await draft(tools, token, account, upload);
  const show = () => must(200, 'GET', `/posts/${id}`, undefined, token);
  const press = (name) => leads(() => page.getByRole('button', { name, exact: true }).click());
  await page.goto(`${ready.origin}/account/posts/${id}`);
  await page.getByText('A page asks for both when you schedule or publish.').first().waitFor();
  await press('Schedule');
  await page.getByRole('link', { name: 'Enter a date and a time.' }).waitFor();
  await page.getByLabel('Date and time (UTC)').fill('2029-01-02T12:00');
  await press('Schedule');

  await meetsTheList(tools, token, { id, words, send: 'Schedule', name: 'tiktok-consent' });
  await press('Schedule');
  await page.getByText('Scheduled for 2 January 2029, 12:00 UTC').waitFor();
  await page.getByText('You agreed to TikTok’s terms').waitFor();
  isStored(ensure, (await show()).platforms[0], words);

  // A consent is for one version of the post. A change of the time needs no other.
  await page.getByLabel('Date and time (UTC)').fill('2029-01-03T12:00');
  await press('Save changes');
  await page.getByText('Scheduled for 3 January 2029, 12:00 UTC').waitFor();
  await page.locator(`textarea[name="to.${account.id}.content"]`).fill(`${words}, changed`);
  await press('Save changes');
  await page.getByRole('heading', { name: 'Post to TikTok' }).waitFor();
  const changed = await show();
  ensure(changed.status === 'draft' && !changed.platforms[0].consented_at, `changed: ${JSON.stringify(changed)}`);
  await leads(() => page.getByRole('link', { name: 'Back to the post' }).click());
  await press('Publish now');
  await page.locator('form.consent [name=visibility]').selectOption('PUBLIC_TO_EVERYONE');
  await press('Publish now');
  const end = Date.now() + 120_000;
  for (;;) {
    const { status } = await show();
    if (status === 'published') break;
    ensure(status !== 'failed' && Date.now() < end, `the post is ${status}`);
    await page.waitForTimeout(300);
  }
  await page.goto(`${ready.origin}/fakes/tiktok`);
  ensure((await page.getByText(`${words}, changed`).count()) === 1, 'the post is not public once');
}

// A customer without an account of the service connects TikTok and agrees to a post, each with a link. Then a program
// schedules the post.
export async function tiktokConsentByLink(tools, token, upload) {
  const { must, photograph, ensure, ready } = tools;
  const context = await tools.page.context().browser().newContext({ locale: 'en-US' });
  const page = await context.newPage();
  const leads = (action) => Promise.all([page.waitForEvent('load'), action()]);
  const press = (name) => page.getByRole('button', { name, exact: true }).click();
  const profile = await must(201, 'POST', '/profiles', { name: 'The Harbor' }, token);
  const open = async (fields) => {
    const body = { profile_id: profile.id, return_url: `${ready.origin}/docs`, ...fields };
    const link = await must(201, 'POST', '/connect-links', body, token);
    await page.goto(link.url);
    return link;
  };
  const returns = ({ id }) => page.waitForURL(`${ready.origin}/docs?connect_link=${id}&status=completed`);

  const connecting = await open({ platforms: ['tiktok'] });
  await press('Continue');
  await page.getByRole('button', { name: 'TikTok' }).click();
  await page.waitForURL((it) => it.origin !== ready.origin);
  await leads(() => page.locator('form button').first().click());
  await press('Done');
  await returns(connecting);
  const { data: [account] } = await must(200, 'GET', `/connections?profile_id=${profile.id}`, undefined, token);

  const { id, words } = await draft(tools, token, account, upload);
  const agreeing = await open({ post_id: id });
  await page.getByRole('heading', { name: 'Agree to a post' }).waitFor();
  await photograph('tiktok-consent-link', page);
  await press('Continue');
  ensure((await page.title()).endsWith('Acme Boats'), `the title is ${await page.title()}`);
  ensure((await page.locator('a[href^="/account"], form[action="/sign-out"]').count()) === 0, 'there is a navigation');
  const customer = { ...tools, page, leads };
  await meetsTheList(customer, token, { id, words, send: 'Agree', name: 'tiktok-consent-customer' });
  await press('Agree');
  await returns(agreeing);
  await context.close();

  const agreed = await must(200, 'GET', `/posts/${id}`, undefined, token);
  ensure(agreed.status === 'draft', `the post is ${agreed.status}`);
  isStored(ensure, agreed.platforms[0], words);
  const scheduled = await must(200, 'PATCH', `/posts/${id}`, { scheduled_at: '2029-01-02T12:00:00Z' }, token);
  ensure(scheduled.platforms[0].consented_at === agreed.platforms[0].consented_at, 'scheduling voids the consent');
}

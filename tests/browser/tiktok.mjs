// The page of consent, as TikTok's audit requires it: the points of docs/platforms/review/tiktok.md, in their order.

import { video } from './everywhere.mjs';

export async function tiktokConsent(tools, token, account, upload) {
  const { must, page, leads, photograph, ensure, ready } = tools;
  const words = `A boat ${Date.now()}`;
  // What a program chose is not preselected.
  const options = { visibility: 'PUBLIC_TO_EVERYONE', comments: true, stitch: true, brand_content: true };
  const { id } = await must(201, 'POST', '/posts', {
    content: words,
    media: [await upload('video/mp4', video())],
    platforms: [{ connected_account_id: account.id, options }],
  }, token);
  const show = () => must(200, 'GET', `/posts/${id}`, undefined, token);
  const press = (name) => leads(() => page.getByRole('button', { name, exact: true }).click());
  const box = (name) => page.locator(`form.consent [name="${name}"]`);
  const shows = async (text, what = true) => {
    const isShown = await page.getByText(text).first().isVisible();
    ensure(isShown === what, `“${text}” is ${isShown ? '' : 'not '}shown`);
  };
  await page.goto(`${ready.origin}/account/posts/${id}`);
  await shows('A page asks for both when you schedule or publish.');
  await press('Schedule');
  await page.getByRole('link', { name: 'Enter a date and a time.' }).waitFor();
  await page.getByLabel('Date and time (UTC)').fill('2029-01-02T12:00');
  await press('Schedule');

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
  const button = page.getByRole('button', { name: 'Schedule', exact: true });
  await shows('Your brand', false);
  ensure(await button.isEnabled(), 'the button is disabled without a disclosure');
  await photograph('tiktok-consent');
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
  await photograph('tiktok-consent-disclosed');

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
  const waiting = await show();
  ensure(waiting.status === 'draft' && !waiting.platforms[0].consented_at, `nobody agreed: ${JSON.stringify(waiting)}`);

  await visibility.selectOption('MUTUAL_FOLLOW_FRIENDS');
  await box('stitch').check();
  await page.getByLabel('Title', { exact: true }).fill(`${words}, retitled`);
  await press('Schedule');
  await page.getByText('Scheduled for 2 January 2029, 12:00 UTC').waitFor();
  await page.getByText('You agreed to TikTok’s terms').waitFor();
  const [scheduled] = (await show()).platforms;
  const stored = JSON.stringify(scheduled.options);
  ensure(stored === '{"brand_organic":true,"stitch":true,"visibility":"MUTUAL_FOLLOW_FRIENDS"}', `the options are ${stored}`);
  ensure(scheduled.content === `${words}, retitled` && scheduled.consented_at, `stored: ${JSON.stringify(scheduled)}`);

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
  await visibility.selectOption('PUBLIC_TO_EVERYONE');
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

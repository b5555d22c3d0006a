// A connect link in the browser of a customer. Its pages for accounts have no scripts: their policy permits none.

export async function connectLink({ page, must, photograph, ensure, ready }, token) {
  const profile = await must(201, 'POST', '/profiles', { name: 'The Harbor' }, token);
  const body = { profile_id: profile.id, return_url: `${ready.origin}/docs` };
  const { id, url } = await must(201, 'POST', '/connect-links', body, token);
  const context = await page.context().browser().newContext({ locale: 'en-US' });
  const customer = await context.newPage();
  const press = (name) => customer.getByRole('button', { name }).click();
  await customer.goto(url);
  ensure((await customer.title()).endsWith('Acme Boats'), `the title is ${await customer.title()}`);
  await customer.getByText('What you allow').click();
  await photograph('connect-link', customer);
  await press('Continue');
  await photograph('connect-link-platforms', customer);
  const color = await customer.getByRole('button', { name: 'Sandbox' }).evaluate(() =>
    getComputedStyle(document.documentElement).getPropertyValue('--brand').trim());
  ensure(color === '#7a2f8f', `the color of the brand is ${color}`);

  // A platform refuses, then grants.
  await press('Sandbox');
  await press('Deny');
  await customer.getByRole('heading', { name: 'Sandbox is not connected' }).waitFor();
  await photograph('connect-link-refused', customer);
  await customer.getByRole('link', { name: 'Back' }).click();
  await press('Sandbox');
  await press('Allow');
  await customer.getByRole('heading', { name: 'Connected' }).waitFor();
  await photograph('connect-link-connected', customer);
  await press('Done');
  await customer.waitForURL(`${ready.origin}/docs?connect_link=${id}&status=completed`);
  await context.close();

  // This browser is another one.
  await page.goto(url);
  await page.getByRole('heading', { name: 'This link is open in another browser' }).waitFor();
  await photograph('connect-link-taken');
}

// Chromium on one page, and everything that its pages complain of.
import axe from 'axe-core';
import { chromium } from 'playwright-core';

export const DESKTOP = { width: 1280, height: 800 };

// Errors of scripts and of the console are in `complaints`, each with the address of its page, unless
// `isExpected(text)`.
export async function openPage({ executablePath, isExpected = () => false }) {
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  // Pages may be in the language of the browser.
  const context = await browser.newContext({ viewport: DESKTOP, locale: 'en-US' });
  // A page of the sandbox that reloads itself would interrupt what a test does on it.
  await context.addInitScript(() => {
    if (location.protocol.startsWith('http')) sessionStorage.setItem('paused', 'true');
  });
  const page = await context.newPage();
  // Generous: the other tests run at the same time.
  page.setDefaultTimeout(60_000);
  const complaints = [];
  page.on('pageerror', (error) => complaints.push(`${page.url()}: ${error.message}`));
  page.on('console', (message) => {
    if (message.type() === 'error' && !isExpected(message.text())) complaints.push(`${page.url()}: ${message.text()}`);
  });
  return { browser, page, complaints };
}

// The rules of axe that depend on colors.
const OF_COLORS = ['color-contrast', 'link-in-text-block'];

// What axe finds on a page, by WCAG 2.2 level AA and best practices: each rule with the first elements. In the dark,
// only what depends on colors.
export async function accessibilityFindings(page, colorScheme) {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe.source);
  const rules = colorScheme === 'dark' ? { runOnly: OF_COLORS } : {};
  const run = (it) => window.axe.run(document, { resultTypes: ['violations'], ...it });
  const { violations } = await page.evaluate(run, rules);
  return violations.map((it) => {
    const elements = it.nodes.slice(0, 3).map((node) => `${node.target.join(' ')} ${node.any[0]?.message ?? ''}`);
    return `${it.id} (${it.help}): ${elements.join('; ')}`;
  });
}
